//! Why there is nothing to show.

use thiserror::Error;
use witlet_server::ClientError;

use crate::names::LookupError;
use crate::output::OutputError;

/// Why there is nothing to show.
#[derive(Debug, Error)]
pub(crate) enum GetError {
    /// The daemon couldn't be asked.
    #[error(transparent)]
    Client(#[from] ClientError),
    /// The answer couldn't be written.
    #[error(transparent)]
    Output(#[from] OutputError),
    /// No pod or container is meant.
    #[error(transparent)]
    Lookup(#[from] LookupError),
    /// The terminal can't be written to.
    #[error("failed to write to the terminal")]
    Terminal(#[source] std::io::Error),
    /// There is no such thing.
    #[error("{kind} {name:?} not found{place}")]
    NotFound {
        /// `pod`, `plugin`.
        kind: &'static str,
        /// What was asked for.
        name: String,
        /// ` in namespace "x"`, or nothing.
        place: String,
    },
}
