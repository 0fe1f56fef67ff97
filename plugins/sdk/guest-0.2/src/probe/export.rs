//! The macro that makes a probe type the component's export.

#[cfg(target_family = "wasm")]
use std::cell::OnceCell;
#[cfg(target_family = "wasm")]
use std::thread::LocalKey;

#[cfg(target_family = "wasm")]
use super::bindings::witlet::probe::probe_types as types;
#[cfg(target_family = "wasm")]
use super::{Check, ProbeType, Setup, Target};
#[cfg(target_family = "wasm")]
use crate::Error;
#[cfg(target_family = "wasm")]
use crate::bindings::witlet::host::{config, errors};

/// `prober.validate` of the contract.
///
/// # Errors
/// When the type can't be made of its configuration, or refuses it.
#[cfg(target_family = "wasm")]
pub fn validate<P: ProbeType>(setup: &types::Setup, config: &str) -> Result<(), errors::Error> {
    let made: P = witlet_plugin_sdk_base::parse(config).map_err(Error::from)?;
    Ok(made.validate(&Setup::new(setup))?)
}

/// An instance makes its type once: it never sees another configuration, because a changed one is a new load of the plugin.
#[cfg(target_family = "wasm")]
fn with<P: ProbeType, T>(
    kept: &'static LocalKey<OnceCell<P>>,
    asked: impl FnOnce(&P) -> Result<T, Error>,
) -> Result<T, errors::Error> {
    let answered = kept.with(|cell| {
        let probe_type = match cell.get() {
            Some(probe_type) => probe_type,
            None => {
                let made = witlet_plugin_sdk_base::parse(&config::get())?;
                cell.get_or_init(|| made)
            }
        };
        asked(probe_type)
    });
    Ok(answered?)
}

/// `prober.check-parameters` of the contract.
///
/// # Errors
/// When parameters don't decode, or the type refuses them.
#[cfg(target_family = "wasm")]
pub fn check_parameters<P: ProbeType>(
    kept: &'static LocalKey<OnceCell<P>>,
    check: &types::Check,
    parameters: &str,
) -> Result<(), errors::Error> {
    with(kept, |probe_type| {
        let parameters = crate::error::parameters(parameters)?;
        probe_type.check_parameters(&parameters, &Check::new(check))
    })
}

/// `prober.probe` of the contract.
///
/// # Errors
/// When nothing was found out.
#[cfg(target_family = "wasm")]
pub fn probe<P: ProbeType>(
    kept: &'static LocalKey<OnceCell<P>>,
    target: &types::Target,
    parameters: &str,
    answer: &types::Answer,
) -> Result<(), errors::Error> {
    with(kept, |probe_type| {
        let parameters = crate::error::parameters(parameters)?;
        probe_type.probe(&Target::new(target), &parameters)?.say(answer);
        Ok(())
    })
}

/// Exports a type with [`ProbeType`](crate::probe::ProbeType) as this component's probe type. Once per component, in a crate of
/// `crate-type = ["cdylib"]`.
///
/// On other targets than wasm it only checks that the type is a probe type. The exported functions need `unsafe`: a crate may
/// `deny(unsafe_code)`, but not `forbid` it on wasm.
#[macro_export]
macro_rules! export_probe {
    ($probe:ty) => {
        // Only the host calls it: without this it would be dead code.
        #[cfg(not(target_family = "wasm"))]
        const _: () = {
            let _ = <$probe as $crate::probe::ProbeType>::validate;
            let _ = <$probe as $crate::probe::ProbeType>::check_parameters;
            let _ = <$probe as $crate::probe::ProbeType>::probe;
        };

        #[cfg(target_family = "wasm")]
        #[allow(unsafe_code, reason = "the functions of the canonical ABI take raw pointers")]
        const _: () = {
            use $crate::bindings::witlet::host::errors;
            use $crate::probe::bindings::witlet::probe::probe_types as types;

            ::std::thread_local! {
                static PROBE_TYPE: ::std::cell::OnceCell<$probe> = const { ::std::cell::OnceCell::new() };
            }

            struct Component;

            impl $crate::probe::bindings::exports::witlet::probe::prober::Guest for Component {
                fn validate(
                    setup: &types::Setup,
                    config: ::std::string::String,
                ) -> ::std::result::Result<(), errors::Error> {
                    $crate::probe::__validate::<$probe>(setup, &config)
                }

                fn check_parameters(
                    check: &types::Check,
                    parameters: ::std::string::String,
                ) -> ::std::result::Result<(), errors::Error> {
                    $crate::probe::__check_parameters(&PROBE_TYPE, check, &parameters)
                }

                fn probe(
                    target: &types::Target,
                    parameters: ::std::string::String,
                    answer: &types::Answer,
                ) -> ::std::result::Result<(), errors::Error> {
                    $crate::probe::__probe(&PROBE_TYPE, target, &parameters, answer)
                }
            }

            $crate::probe::bindings::export_probe_type! {
                Component with_types_in $crate::probe::bindings
            }
        };
    };
}
