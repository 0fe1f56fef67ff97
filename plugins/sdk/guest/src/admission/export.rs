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

            impl $crate::admission::bindings::exports::witlet::admission::handler::Guest for Component {
                fn validate(
                    config: ::std::string::String,
                ) -> ::std::result::Result<(), ::std::string::String> {
                    $crate::__parse_config(&config)
                        .and_then(|config| <$handler as $crate::AdmissionHandler>::validate(&config))
                        .map_err(|error| $crate::__describe(&error))
                }

                fn admit(
                    request: &$crate::admission::bindings::witlet::admission::types::Request,
                ) -> ::std::result::Result<$crate::Verdict, ::std::string::String> {
                    $crate::__ask!(
                        $handler as $crate::AdmissionHandler,
                        |config| {
                            <$handler as $crate::AdmissionHandler>::admit(
                                &$crate::Request::__from_host(request),
                                config,
                            )
                        },
                        request
                    )
                }
            }

            // Only the host calls it: without this it would be dead code.
            #[cfg(not(target_family = "wasm"))]
            const _: () = {
                let _ = <$handler as $crate::AdmissionHandler>::admit;
            };

            #[cfg(target_family = "wasm")]
            #[allow(unsafe_code, reason = "the functions of the canonical ABI take raw pointers")]
            const _: () = {
                $crate::admission::bindings::export_admission_handler! {
                    Component with_types_in $crate::admission::bindings
                }
            };
        };
    };
}
