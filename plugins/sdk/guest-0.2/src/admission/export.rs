//! The macro that makes a handler the component's export.

#[cfg(target_family = "wasm")]
use std::cell::OnceCell;
#[cfg(target_family = "wasm")]
use std::thread::LocalKey;

#[cfg(target_family = "wasm")]
use super::handler::set_up;
#[cfg(target_family = "wasm")]
use crate::bindings::witlet::admission::admission_types as types;
#[cfg(target_family = "wasm")]
use crate::bindings::witlet::host::{config, errors};
#[cfg(target_family = "wasm")]
use crate::{AdmissionHandler, Error, Request, Setup};

/// Makes a handler of its configuration.
#[cfg(target_family = "wasm")]
fn made<H: AdmissionHandler>(config: &str) -> Result<H, Error> {
    Ok(witlet_plugin_sdk_base::parse(config)?)
}

/// `handler.validate` of the contract.
///
/// # Errors
/// When the handler can't be made of its configuration, or refuses it.
#[cfg(target_family = "wasm")]
pub fn validate<H: AdmissionHandler>(setup: &types::Setup, config: &str) -> Result<(), errors::Error> {
    Ok(made::<H>(config).and_then(|handler| set_up(&handler, &Setup::new(setup)))?)
}

/// `handler.admit` of the contract. An instance makes its handler once: it never sees another configuration, because a changed one is a
/// new load of the plugin.
///
/// # Errors
/// When the handler has no verdict.
#[cfg(target_family = "wasm")]
pub fn admit<H: AdmissionHandler>(
    handler: &'static LocalKey<OnceCell<H>>,
    request: &types::Request,
    answer: &types::Answer,
) -> Result<(), errors::Error> {
    handler.with(|cell| {
        let handler = match cell.get() {
            Some(handler) => handler,
            None => {
                let handler = made(&config::get())?;
                cell.get_or_init(|| handler)
            }
        };
        handler.admit(&Request::new(request))?.say(answer);
        Ok(())
    })
}

/// Exports a type with [`AdmissionHandler`](crate::AdmissionHandler) as this component's admission handler. Once per component,
/// in a crate of `crate-type = ["cdylib"]`.
///
/// On other targets than wasm it only checks that the type is a handler. The exported functions need `unsafe`: a crate may
/// `deny(unsafe_code)`, but not `forbid` it on wasm.
#[macro_export]
macro_rules! export_admission {
    ($handler:ty) => {
        // Only the host calls it: without this it would be dead code.
        #[cfg(not(target_family = "wasm"))]
        const _: () = {
            let _ = <$handler as $crate::AdmissionHandler>::admit;
        };

        #[cfg(target_family = "wasm")]
        #[allow(unsafe_code, reason = "the functions of the canonical ABI take raw pointers")]
        const _: () = {
            use $crate::bindings::witlet::admission::admission_types as types;
            use $crate::bindings::witlet::host::errors;

            ::std::thread_local! {
                static HANDLER: ::std::cell::OnceCell<$handler> = const { ::std::cell::OnceCell::new() };
            }

            struct Component;

            impl $crate::bindings::exports::witlet::admission::handler::Guest for Component {
                fn validate(
                    setup: &types::Setup,
                    config: ::std::string::String,
                ) -> ::std::result::Result<(), errors::Error> {
                    $crate::__validate::<$handler>(setup, &config)
                }

                fn admit(
                    request: &types::Request,
                    answer: &types::Answer,
                ) -> ::std::result::Result<(), errors::Error> {
                    $crate::__admit(&HANDLER, request, answer)
                }
            }

            $crate::bindings::export_admission_handler! {
                Component with_types_in $crate::bindings
            }
        };
    };
}
