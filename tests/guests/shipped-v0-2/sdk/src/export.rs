//! Makes a component of a handler.

use crate::bindings::witlet::admission::admission_types as wit;
use crate::bindings::witlet::host::config;
use crate::bindings::witlet::host::errors::Error as HostError;
use crate::{AdmissionHandler, Error, Rejection, Request, Shortage, Verdict};

/// Exports a handler as the component that the crate becomes.
#[macro_export]
macro_rules! export_admission {
    ($handler:ty) => {
        const _: () = {
            struct Component;

            impl $crate::bindings::exports::witlet::admission::handler::Guest for Component {
                fn validate(
                    setup: &$crate::bindings::witlet::admission::admission_types::Setup,
                    config: ::std::string::String,
                ) -> ::std::result::Result<(), $crate::bindings::witlet::host::errors::Error> {
                    $crate::__validate::<$handler>(setup, &config)
                }

                fn admit(
                    request: &$crate::bindings::witlet::admission::admission_types::Request,
                    answer: &$crate::bindings::witlet::admission::admission_types::Answer,
                ) -> ::std::result::Result<(), $crate::bindings::witlet::host::errors::Error> {
                    $crate::__admit::<$handler>(request, answer)
                }
            }

            #[cfg(target_family = "wasm")]
            #[allow(unsafe_code, reason = "the functions of the canonical ABI take raw pointers")]
            const _: () = {
        $crate::bindings::export_admission_handler!(Component with_types_in $crate::bindings);
            };
        };
    };
}

/// As the SDK of 0.1: without a configuration it is made of null, or else of an object without fields.
fn parse<H: AdmissionHandler>(text: &str) -> Result<H::Config, HostError> {
    let text = if text.is_empty() { "null" } else { text };
    let config = serde_json::from_str(text).or_else(|_| serde_json::from_str("{}"));
    config.map_err(|error| HostError::new("BadConfiguration", &format!("config: {error}")))
}

fn failed(Error { field, problem }: &Error) -> HostError {
    HostError::new("Failed", &format!("{field}: {problem}"))
}

pub fn __validate<H: AdmissionHandler>(setup: &wit::Setup, config: &str) -> Result<(), HostError> {
    setup.subscribe("add");
    setup.subscribe("resize");
    H::validate(&parse::<H>(config)?).map_err(|error| failed(&error))
}

pub fn __admit<H: AdmissionHandler>(request: &wit::Request, answer: &wit::Answer) -> Result<(), HostError> {
    let config = parse::<H>(&config::get())?;
    match H::admit(&Request::new(request), &config).map_err(|error| failed(&error))? {
        Verdict::Admit => answer.admit(),
        Verdict::Reject(Rejection { reason, message }) => answer.reject(&reason, &message),
        Verdict::Shortage(shortages) => {
            for Shortage { resource, requested, used, capacity } in shortages {
                answer.shortage(&resource, requested, used, capacity);
            }
        }
    }
    Ok(())
}
