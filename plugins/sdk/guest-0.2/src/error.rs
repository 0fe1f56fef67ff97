//! Why a handler has no answer.

use std::time::Duration;

use serde::de::DeserializeOwned;

/// The code of an error of the configuration.
const INVALID_CONFIGURATION: &str = "InvalidConfiguration";
/// The code of an error of a probe's parameters.
const INVALID_PARAMETERS: &str = "InvalidParameters";
/// The code of a value at a pointer that isn't of the type that the handler expects.
const UNEXPECTED_TYPE: &str = "UnexpectedType";

/// Why a handler has no answer, or refuses its configuration: a code for programs, a sentence for people, and what else is known.
/// The host cuts the code at 128 bytes and the sentence at 4 KiB, and keeps 16 details.
///
/// ```
/// # use std::time::Duration;
/// # use witlet_plugin_sdk_0_2::Error;
/// let error = Error::new("NoTable", "the table can't be read")
///     .retry_after(Duration::from_secs(30))
///     .detail("rows", "7");
/// assert_eq!(error.to_string(), "NoTable: the table can't be read (rows: 7)");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{code}: {message}{}", shown(.details))]
pub struct Error {
    code: String,
    message: String,
    retry_after: Option<Duration>,
    details: Vec<(String, String)>,
}

impl Error {
    /// With a CamelCase word and a sentence.
    pub fn new(code: impl Into<String>, message: impl Into<String>) -> Self {
        Self { code: code.into(), message: message.into(), retry_after: None, details: Vec::new() }
    }

    /// A value of the configuration that decodes, but makes no sense to the handler.
    ///
    /// ```
    /// # use witlet_plugin_sdk_0_2::Error;
    /// let error = Error::invalid("registries", "name one at least");
    /// assert_eq!(error.to_string(), "InvalidConfiguration: registries: name one at least");
    /// ```
    pub fn invalid(field: &str, problem: &str) -> Self {
        Self::new(INVALID_CONFIGURATION, format!("{field}: {problem}"))
    }

    /// Another try makes sense after this time: a pod that waits is asked about again then, within a second and an hour.
    #[must_use]
    pub fn retry_after(mut self, time: Duration) -> Self {
        self.retry_after = Some(time);
        self
    }

    /// Says something more.
    #[must_use]
    pub fn detail(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.details.push((key.into(), value.into()));
        self
    }

    /// The word for programs.
    pub fn code(&self) -> &str {
        &self.code
    }

    /// The sentence for people.
    pub fn message(&self) -> &str {
        &self.message
    }
}

/// Details behind the message, as the host shows them.
fn shown(details: &[(String, String)]) -> String {
    let details: Vec<String> = details.iter().map(|(key, value)| format!("{key}: {value}")).collect();
    if details.is_empty() { String::new() } else { format!(" ({})", details.join(", ")) }
}

/// Of a configuration that doesn't decode.
impl From<witlet_plugin_sdk_base::Error> for Error {
    fn from(error: witlet_plugin_sdk_base::Error) -> Self {
        Self::new(INVALID_CONFIGURATION, witlet_plugin_sdk_base::describe(&error))
    }
}

/// Decodes what a pointer has led to.
pub(crate) fn decode<T: DeserializeOwned>(text: Option<String>, path: &str) -> Result<Option<T>, Error> {
    let Some(text) = text else { return Ok(None) };
    serde_json::from_str(&text)
        .map_err(|cause| Error::new(UNEXPECTED_TYPE, format!("decode {path}: {cause}")))
}

/// The parameters of a probe.
pub(crate) fn parameters<P: DeserializeOwned + 'static>(text: &str) -> Result<P, Error> {
    let decoded = witlet_plugin_sdk_base::parse_parameters(text);
    decoded.map_err(|error| Error::new(INVALID_PARAMETERS, witlet_plugin_sdk_base::describe(&error)))
}

#[cfg(target_family = "wasm")]
mod host {
    use std::time::Duration;

    use super::Error;
    use crate::bindings::witlet::host::errors;

    impl From<Error> for errors::Error {
        fn from(error: Error) -> Self {
            let made = Self::new(&error.code, &error.message);
            if let Some(time) = error.retry_after {
                made.set_retry_after_milliseconds(u64::try_from(time.as_millis()).unwrap_or(u64::MAX));
            }
            error.details.iter().for_each(|(key, value)| made.set_detail(key, value));
            made
        }
    }

    impl From<errors::Error> for Error {
        fn from(error: errors::Error) -> Self {
            let retry_after = error.retry_after_milliseconds().map(Duration::from_millis);
            Self { retry_after, ..Self::new(error.code(), error.message()) }
        }
    }
}
