//! Why a plugin has no answer.

use crate::{ExecError, SecretError, http, net};

/// Why a plugin has no answer, or refuses its configuration or parameters. The host gets it with its causes in one line.
/// Errors of [`net`], [`http`](mod@http) and commands become one with `?`; words of a plugin's own go into [`Error::invalid`] and
/// [`Error::nothing_found`].
///
/// ```
/// # use witlet_plugin_sdk_base::Error;
/// assert_eq!(Error::invalid("port", "may not be 0").to_string(), "port: may not be 0");
/// assert_eq!(Error::nothing_found("the file is being written").to_string(), "the file is being written");
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The configuration doesn't decode to the plugin's type.
    #[error("configuration{}", within(field))]
    Config {
        /// Which part of it, such as `allow[1]`; empty for the whole.
        field: String,
        /// What doesn't fit.
        #[source]
        cause: serde_json::Error,
    },
    /// There is a configuration, and the plugin's type is `()`.
    #[error("the plugin takes no configuration")]
    ConfigNotTaken,
    /// The parameters don't decode to the probe type's type.
    #[error("parameters{}", within(field))]
    Parameters {
        /// Which of them, such as `port`; empty for all.
        field: String,
        /// What doesn't fit.
        #[source]
        cause: serde_json::Error,
    },
    /// There are parameters, and the probe type's type is `()`.
    #[error("the probe type takes no parameters")]
    ParametersNotTaken,
    /// A part of the pod or the node doesn't decode to the type that the plugin expects there.
    #[error("decode {field}")]
    Decode {
        /// JSON pointer of the part.
        field: String,
        /// What doesn't fit.
        #[source]
        cause: serde_json::Error,
    },
    /// A value that decodes, but makes no sense to the plugin.
    #[error("{field}: {problem}")]
    Invalid {
        /// Where it stands: a JSON pointer, or a key of the configuration or the parameters.
        field: String,
        /// What is wrong with it.
        problem: String,
    },
    /// The pod has no address (yet), and nothing names another host.
    #[error("the pod has no IP address")]
    NoAddress,
    /// There is no answer for a reason that only the plugin knows, in its own words.
    #[error("{problem}")]
    NothingFound {
        /// One sentence.
        problem: String,
    },
    /// The runtime couldn't run a command in the container.
    #[error(transparent)]
    Exec(#[from] ExecError),
    /// A secret isn't there.
    #[error("secret {name}")]
    Secret {
        /// Its name.
        name: String,
        /// Why not.
        #[source]
        cause: SecretError,
    },
    /// A request over HTTP got no answer.
    #[error(transparent)]
    Http(#[from] http::Error),
    /// A connection failed.
    #[error(transparent)]
    Net(#[from] net::Error),
}

impl Error {
    /// A value that decodes, but makes no sense to the plugin.
    pub fn invalid(field: impl Into<String>, problem: impl Into<String>) -> Self {
        Self::Invalid { field: field.into(), problem: problem.into() }
    }

    /// Nothing was found out, for a reason of the plugin's own: a probe is tried again and keeps its result, a source keeps its
    /// pods, and for a handler the failure policy decides.
    pub fn nothing_found(problem: impl Into<String>) -> Self {
        Self::NothingFound { problem: problem.into() }
    }

    /// A word for programs: what wasn't found out (requests, connections) is `Unavailable`, a secret that isn't there `Denied`, everything
    /// else `Invalid`.
    pub fn reason(&self) -> &'static str {
        match self {
            Self::Http(_) | Self::Net(_) | Self::Exec(_) | Self::NothingFound { .. } => "Unavailable",
            Self::Secret { .. } => "Denied",
            Self::Config { .. }
            | Self::ConfigNotTaken
            | Self::Parameters { .. }
            | Self::ParametersNotTaken
            | Self::Decode { .. }
            | Self::Invalid { .. }
            | Self::NoAddress => "Invalid",
        }
    }
}

/// A part of a configuration or of parameters, behind their name.
fn within(field: &str) -> String {
    if field.is_empty() { String::new() } else { format!(": {field}") }
}

/// The error with its causes in one line, as it goes to the host.
pub fn describe(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        text.push_str(": ");
        text.push_str(&inner.to_string());
        cause = inner.source();
    }
    text
}

#[cfg(test)]
mod tests;
