//! Why a handler has no verdict.

/// Why a handler has no verdict, or refuses its configuration.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The configuration doesn't decode to the handler's type.
    #[error("configuration")]
    Config {
        /// What doesn't fit.
        #[source]
        cause: serde_json::Error,
    },
    /// There is a configuration, and the handler's type is `()`.
    #[error("the plugin takes no configuration")]
    ConfigNotTaken,
    /// A part of the pod or the node doesn't decode to the type that the handler expects there.
    #[error("decode {field}")]
    Decode {
        /// JSON pointer of the part.
        field: String,
        /// What doesn't fit.
        #[source]
        cause: serde_json::Error,
    },
    /// A value that decodes, but makes no sense to the handler.
    #[error("{field}: {problem}")]
    Invalid {
        /// Where it stands: a JSON pointer, or a key of the configuration.
        field: String,
        /// What is wrong with it.
        problem: String,
    },
}

impl Error {
    /// A value that decodes, but makes no sense to the handler.
    pub fn invalid(field: impl Into<String>, problem: impl Into<String>) -> Self {
        Self::Invalid { field: field.into(), problem: problem.into() }
    }
}

/// The error with its causes in one line, as it goes to the host.
pub fn describe(error: &Error) -> String {
    let mut text = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(inner) = cause {
        text.push_str(": ");
        text.push_str(&inner.to_string());
        cause = inner.source();
    }
    text
}

#[cfg(test)]
mod tests;
