//! The macro that makes a probe type the component's export.

/// Exports a type with [`ProbeType`](crate::probe::ProbeType) as this component's probe type. Once per component, in a
/// crate of `crate-type = ["cdylib"]`.
///
/// On other targets than wasm it only checks that the type is a probe type. The exported functions need `unsafe`: a crate
/// may `deny(unsafe_code)`, but not `forbid` it on wasm.
///
/// ```
/// use witlet_plugin_sdk::probe::{Outcome, ProbeType, Target};
/// use witlet_plugin_sdk::{Error, export_probe};
///
/// struct Always;
///
/// impl ProbeType for Always {
///     type Config = ();
///     type Parameters = ();
///
///     fn probe(_: &Target<'_>, (): &(), (): &()) -> Result<Outcome, Error> {
///         Ok(Outcome::Success(String::new()))
///     }
/// }
///
/// export_probe!(Always);
/// ```
#[macro_export]
macro_rules! export_probe {
    ($probe:ty) => {
        const _: () = {
            struct Component;

            impl $crate::probe::bindings::exports::witlet::probe::prober::Guest for Component {
                fn validate(
                    config: ::std::string::String,
                ) -> ::std::result::Result<(), ::std::string::String> {
                    $crate::__parse_config(&config)
                        .and_then(|config| <$probe as $crate::probe::ProbeType>::validate(&config))
                        .map_err(|error| $crate::__describe(&error))
                }

                fn check_parameters(
                    parameters: ::std::string::String,
                ) -> ::std::result::Result<(), ::std::string::String> {
                    $crate::__ask!(
                        $probe as $crate::probe::ProbeType,
                        |config| {
                            let parameters = $crate::__parse_parameters(&parameters)?;
                            <$probe as $crate::probe::ProbeType>::check_parameters(&parameters, config)
                        },
                        parameters
                    )
                }

                fn probe(
                    target: &$crate::probe::bindings::witlet::probe::types::Target,
                    parameters: ::std::string::String,
                ) -> ::std::result::Result<$crate::probe::Outcome, ::std::string::String> {
                    $crate::__ask!(
                        $probe as $crate::probe::ProbeType,
                        |config| {
                            let parameters = $crate::__parse_parameters(&parameters)?;
                            let target = $crate::probe::Target::__from_host(target);
                            <$probe as $crate::probe::ProbeType>::probe(&target, &parameters, config)
                        },
                        target,
                        parameters
                    )
                }
            }

            // Only the host calls it: without this it would be dead code.
            #[cfg(not(target_family = "wasm"))]
            const _: () = {
                let _ = <$probe as $crate::probe::ProbeType>::check_parameters;
                let _ = <$probe as $crate::probe::ProbeType>::probe;
            };

            #[cfg(target_family = "wasm")]
            #[allow(unsafe_code, reason = "the functions of the canonical ABI take raw pointers")]
            const _: () = {
                $crate::probe::bindings::export_probe_type! {
                    Component with_types_in $crate::probe::bindings
                }
            };
        };
    };
}
