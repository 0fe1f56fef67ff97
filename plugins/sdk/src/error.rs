//! Why a plugin has no answer.

use crate::probe::ExecError;
use crate::secret::SecretError;
use crate::{http, net};

/// Why a plugin has no answer, or refuses its configuration or parameters. The host gets it with its causes in one line.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The configuration doesn't decode to the plugin's type.
    #[error("configuration")]
    Config {
        /// What doesn't fit.
        #[source]
        cause: serde_json::Error,
    },
    /// There is a configuration, and the plugin's type is `()`.
    #[error("the plugin takes no configuration")]
    ConfigNotTaken,
    /// The parameters don't decode to the probe type's type.
    #[error("parameters")]
    Parameters {
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
    /// A probe found nothing out, in words of its own.
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

    /// A probe found nothing out: it is tried again, and then its result stays what it was.
    pub fn nothing_found(problem: impl Into<String>) -> Self {
        Self::NothingFound { problem: problem.into() }
    }
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
