//! The macros that make a source the component's export.

#[cfg(target_family = "wasm")]
use super::bindings::witlet::pod_source::source_types as types;
#[cfg(target_family = "wasm")]
use super::{Change, PodSource, Setup};
#[cfg(target_family = "wasm")]
use crate::Error;
#[cfg(target_family = "wasm")]
use crate::bindings::witlet::host::{config, errors};

/// A call of a source asks once in an instance's life or once in seconds: it is made of its configuration each time.
#[cfg(target_family = "wasm")]
fn made<S: PodSource>(config: &str) -> Result<S, Error> {
    Ok(witlet_plugin_sdk_base::parse(config)?)
}

/// `source.validate` of the contract.
///
/// # Errors
/// When the source can't be made of its configuration, or refuses it.
#[cfg(target_family = "wasm")]
pub fn validate<S: PodSource>(setup: &types::Setup, config: &str) -> Result<(), errors::Error> {
    Ok(made::<S>(config).and_then(|source| source.validate(&Setup::new(setup)))?)
}

/// `source.poll` of the contract.
///
/// # Errors
/// When the source can't tell what it has.
#[cfg(target_family = "wasm")]
pub fn poll<S: PodSource>(cursor: Option<&str>, answer: &types::Answer) -> Result<(), errors::Error> {
    let poll = made::<S>(&config::get()).and_then(|source| source.poll(cursor))?;
    poll.say(answer);
    Ok(())
}

/// `feedback.notify` of the contract.
///
/// # Errors
/// When the source didn't take the news.
#[cfg(target_family = "wasm")]
pub fn notify<S: PodSource>(news: &types::News) -> Result<(), errors::Error> {
    let changes: Vec<Change> =
        std::iter::from_fn(|| news.next().map(|change| Change::of_host(&change))).collect();
    Ok(made::<S>(&config::get()).and_then(|source| source.notify(&changes))?)
}

/// Exports a type with [`PodSource`](crate::source::PodSource) as this component's pod source. Once per component, in a crate of
/// `crate-type = ["cdylib"]`.
///
/// On other targets than wasm it only checks that the type is a source. The exported functions need `unsafe`: a crate may
/// `deny(unsafe_code)`, but not `forbid` it on wasm.
#[macro_export]
macro_rules! export_source {
    ($source:ty) => {
        // Only the host calls it: without this it would be dead code.
        #[cfg(not(target_family = "wasm"))]
        const _: () = {
            let _ = <$source as $crate::source::PodSource>::validate;
            let _ = <$source as $crate::source::PodSource>::poll;
        };

        #[cfg(target_family = "wasm")]
        #[allow(unsafe_code, reason = "the functions of the canonical ABI take raw pointers")]
        const _: () = {
            use $crate::bindings::witlet::host::errors;
            use $crate::source::bindings::witlet::pod_source::source_types as types;

            struct Component;

            impl $crate::source::bindings::exports::witlet::pod_source::source::Guest for Component {
                fn validate(
                    setup: &types::Setup,
                    config: ::std::string::String,
                ) -> ::std::result::Result<(), errors::Error> {
                    $crate::source::__validate::<$source>(setup, &config)
                }

                fn poll(
                    cursor: ::std::option::Option<::std::string::String>,
                    answer: &types::Answer,
                ) -> ::std::result::Result<(), errors::Error> {
                    $crate::source::__poll::<$source>(cursor.as_deref(), answer)
                }
            }

            $crate::source::bindings::export_source! {
                Component with_types_in $crate::source::bindings
            }
        };
    };
}

/// Exports what a type with [`PodSource`](crate::source::PodSource) does with news of its pods, in addition to
/// [`export_source!`](crate::export_source).
#[macro_export]
macro_rules! export_feedback {
    ($source:ty) => {
        // Only the host calls it: without this it would be dead code.
        #[cfg(not(target_family = "wasm"))]
        const _: () = {
            let _ = <$source as $crate::source::PodSource>::notify;
        };

        #[cfg(target_family = "wasm")]
        #[allow(unsafe_code, reason = "the functions of the canonical ABI take raw pointers")]
        const _: () = {
            use $crate::bindings::witlet::host::errors;
            use $crate::source::bindings::witlet::pod_source::source_types as types;

            struct Component;

            impl $crate::source::bindings::feedback::exports::witlet::pod_source::feedback::Guest for Component {
                fn notify(news: &types::News) -> ::std::result::Result<(), errors::Error> {
                    $crate::source::__notify::<$source>(news)
                }
            }

            $crate::source::bindings::feedback::export_source_feedback! {
                Component with_types_in $crate::source::bindings::feedback
            }
        };
    };
}
