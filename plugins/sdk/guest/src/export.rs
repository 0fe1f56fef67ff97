//! What the export macros of all roles share.

/// Asks a plugin with the host's configuration, which an instance decodes once. What follows are the values that only the
/// question needs.
#[cfg(target_family = "wasm")]
#[doc(hidden)]
#[macro_export]
macro_rules! __ask {
    ($plugin:ty as $role:path, |$config:ident| $question:expr $(, $given:ident)*) => {{
        ::std::thread_local! {
            static CONFIG: ::std::cell::OnceCell<<$plugin as $role>::Config> =
                const { ::std::cell::OnceCell::new() };
        }
        $crate::__with_config(&CONFIG, |$config| $question)
    }};
}

/// On other targets there is no host, which alone would call this.
#[cfg(not(target_family = "wasm"))]
#[doc(hidden)]
#[macro_export]
macro_rules! __ask {
    ($plugin:ty as $role:path, |$config:ident| $question:expr $(, $given:ident)*) => {{
        $(let _ = $given;)*
        ::std::result::Result::Err(::std::string::String::from(
            "there is no host here: the plugin is asked through facts",
        ))
    }};
}
