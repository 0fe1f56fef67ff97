//! The macro that makes a handler the component's export.

/// Exports a type with [`AdmissionHandler`](crate::AdmissionHandler) as this component's admission handler. Once per
/// component, in a crate of `crate-type = ["cdylib"]`.
///
/// On other targets than wasm it only checks that the type is a handler. The exported functions need `unsafe`: a
/// crate may `deny(unsafe_code)`, but not `forbid` it on wasm.
///
/// ```
/// use witlet_plugin_sdk::{AdmissionHandler, Error, Request, Verdict, export_admission};
///
/// struct Anyone;
///
/// impl AdmissionHandler for Anyone {
///     type Config = ();
///
///     fn admit(_: &Request, _: &()) -> Result<Verdict, Error> {
///         Ok(Verdict::Admit)
///     }
/// }
///
/// export_admission!(Anyone);
/// ```
#[macro_export]
macro_rules! export_admission {
    ($handler:ty) => {
        const _: () = {
            struct Component;

            impl $crate::bindings::exports::witlet::admission::handler::Guest for Component {
                fn validate(
                    config: ::std::string::String,
                ) -> ::std::result::Result<(), ::std::string::String> {
                    $crate::__parse_config(&config)
                        .and_then(|config| <$handler as $crate::AdmissionHandler>::validate(&config))
                        .map_err(|error| $crate::__describe(&error))
                }

                fn admit(
                    request: &$crate::bindings::witlet::admission::types::Request,
                ) -> ::std::result::Result<$crate::Verdict, ::std::string::String> {
                    $crate::__admit!($handler, request)
                }
            }

            #[cfg(target_family = "wasm")]
            #[allow(unsafe_code, reason = "the functions of the canonical ABI take raw pointers")]
            const _: () = {
                $crate::bindings::export_admission_handler! { Component with_types_in $crate::bindings }
            };
        };
    };
}

/// Asks the handler, with the configuration decoded once per instance: an instance never sees another one, for a
/// changed configuration is a new load of the plugin.
#[cfg(target_family = "wasm")]
#[doc(hidden)]
#[macro_export]
macro_rules! __admit {
    ($handler:ty, $request:ident) => {{
        type Config = <$handler as $crate::AdmissionHandler>::Config;
        ::std::thread_local! {
            static CONFIG: ::std::cell::OnceCell<Config> = const { ::std::cell::OnceCell::new() };
        }
        CONFIG.with(|cell| {
            let config = match cell.get() {
                ::std::option::Option::Some(config) => config,
                ::std::option::Option::None => {
                    let config = $crate::__parse_config(&$crate::bindings::witlet::host::config::get())
                        .map_err(|error| $crate::__describe(&error))?;
                    cell.get_or_init(|| config)
                }
            };
            <$handler as $crate::AdmissionHandler>::admit(&$crate::Request::__from_host($request), config)
                .map_err(|error| $crate::__describe(&error))
        })
    }};
}

/// There is no host to ask on other targets, and nobody who would call this.
#[cfg(not(target_family = "wasm"))]
#[doc(hidden)]
#[macro_export]
macro_rules! __admit {
    ($handler:ty, $request:ident) => {{
        let _ = $request;
        ::std::result::Result::Err(::std::string::String::from(
            "handlers are asked through `RequestFacts` here",
        ))
    }};
}
