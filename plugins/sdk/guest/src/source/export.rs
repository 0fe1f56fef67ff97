//! The macros that make a source the component's export.

/// Exports a type with [`PodSource`](crate::source::PodSource) as this component's pod source. Once per component, in a
/// crate of `crate-type = ["cdylib"]`.
///
/// On other targets than wasm it only checks that the type is a source. The exported functions need `unsafe`: a crate may
/// `deny(unsafe_code)`, but not `forbid` it on wasm.
///
/// ```
/// use witlet_plugin_sdk::export_pod_source;
/// use witlet_plugin_sdk::source::{PodSource, Poll, SourceError};
///
/// struct Nothing;
///
/// impl PodSource for Nothing {
///     type Config = ();
///
///     fn poll(_: Option<&str>, (): &()) -> Result<Poll, SourceError> {
///         Ok(Poll::all(Vec::new()))
///     }
/// }
///
/// export_pod_source!(Nothing);
/// ```
#[macro_export]
macro_rules! export_pod_source {
    ($source:ty) => {
        const _: () = {
            struct Component;

            impl $crate::source::bindings::exports::witlet::pod_source::source::Guest for Component {
                fn validate(
                    config: ::std::string::String,
                ) -> ::std::result::Result<(), ::std::string::String> {
                    $crate::__parse_config(&config)
                        .and_then(|config| <$source as $crate::source::PodSource>::validate(&config))
                        .map_err(|error| $crate::__describe(&error))
                }

                fn poll(
                    cursor: ::std::option::Option<::std::string::String>,
                ) -> ::std::result::Result<$crate::source::Poll, $crate::source::SourceError> {
                    // The two kinds of errors: the source's own, and one of its configuration.
                    $crate::__ask!(
                        $source as $crate::source::PodSource,
                        |config| {
                            ::std::result::Result::Ok(<$source as $crate::source::PodSource>::poll(
                                cursor.as_deref(),
                                config,
                            ))
                        },
                        cursor
                    )
                    .unwrap_or_else(|message: ::std::string::String| {
                        ::std::result::Result::Err($crate::source::SourceError::new("Invalid", message))
                    })
                }
            }

            // Only the host calls it: without this it would be dead code.
            #[cfg(not(target_family = "wasm"))]
            const _: () = {
                let _ = <$source as $crate::source::PodSource>::poll;
            };

            #[cfg(target_family = "wasm")]
            #[allow(unsafe_code, reason = "the functions of the canonical ABI take raw pointers")]
            const _: () = {
                $crate::source::bindings::export_source! {
                    Component with_types_in $crate::source::bindings
                }
            };
        };
    };
}

/// Exports what a type with [`StatusFeedback`](crate::source::StatusFeedback) does with the status of its pods, in addition to
/// [`export_pod_source!`](crate::export_pod_source).
///
/// ```
/// use witlet_plugin_sdk::source::{PodSource, PodStatus, Poll, SourceError, StatusFeedback};
/// use witlet_plugin_sdk::{Error, export_pod_source, export_status_feedback, info};
///
/// struct Nothing;
///
/// impl PodSource for Nothing {
///     type Config = ();
///
///     fn poll(_: Option<&str>, (): &()) -> Result<Poll, SourceError> {
///         Ok(Poll::all(Vec::new()))
///     }
/// }
///
/// impl StatusFeedback for Nothing {
///     fn statuses(changed: &[PodStatus], (): &()) -> Result<(), Error> {
///         info!("{} pods changed", changed.len());
///         Ok(())
///     }
/// }
///
/// export_pod_source!(Nothing);
/// export_status_feedback!(Nothing);
/// ```
#[macro_export]
macro_rules! export_status_feedback {
    ($source:ty) => {
        const _: () = {
            struct Component;

            impl $crate::source::bindings::feedback::exports::witlet::pod_source::feedback::Guest for Component {
                fn statuses(
                    changed: ::std::vec::Vec<$crate::source::PodStatus>,
                ) -> ::std::result::Result<(), ::std::string::String> {
                    $crate::__ask!($source as $crate::source::PodSource, |config| {
                        <$source as $crate::source::StatusFeedback>::statuses(&changed, config)
                    }, changed)
                }
            }

            // Only the host calls it: without this it would be dead code.
            #[cfg(not(target_family = "wasm"))]
            const _: () = {
                let _ = <$source as $crate::source::StatusFeedback>::statuses;
            };

            #[cfg(target_family = "wasm")]
            #[allow(unsafe_code, reason = "the functions of the canonical ABI take raw pointers")]
            const _: () = {
                $crate::source::bindings::feedback::export_source_feedback! {
                    Component with_types_in $crate::source::bindings::feedback
                }
            };
        };
    };
}
