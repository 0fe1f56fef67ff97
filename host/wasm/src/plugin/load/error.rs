//! Why a plugin couldn't be loaded.

use std::path::PathBuf;

use thiserror::Error;
use witlet_core::error::one_line;
use witlet_core::text::shortened;
use witlet_ports::FetchError;

use super::super::async_engine::AsyncStartError;
use super::super::call::CallError;
use super::super::conformance::ConformanceError;
use super::super::signatures::SignatureError;
use crate::compile::CompileError;
use crate::limits::NeedsError;
use crate::manifest::Mismatch;

/// Longest list of what in a configuration doesn't fit.
const WORDS_BYTES_MAX: usize = 2048;

/// Why a plugin couldn't be loaded.
#[derive(Debug, Error)]
pub enum LoadError {
    /// The file can't be read.
    #[error("failed to read {}", path.display())]
    Read {
        path: PathBuf,
        #[source]
        cause: std::io::Error,
    },
    /// The registry didn't bring it.
    #[error(transparent)]
    Fetch(#[from] FetchError),
    /// Its component is in a registry, and this program has no one who asks registries.
    #[error("this program pulls no components from registries")]
    NoFetcher,
    /// It is granted a folder of its own, and this program has no place for it.
    #[error("this program has no folder for a plugin's state (grants.state)")]
    NoStateFolder,
    /// The folder for its state can't be made.
    #[error("failed to make the folder for its state {}", path.display())]
    StateFolder {
        path: PathBuf,
        #[source]
        cause: std::io::Error,
    },
    /// What it is granted of the node isn't a folder that is there.
    #[error("failed to open the folder {}, which grants.files names", path.display())]
    Folder {
        path: PathBuf,
        #[source]
        cause: std::io::Error,
    },
    /// The engine of probes and pod sources can't be started.
    #[error("failed to start the engine of probes and pod sources")]
    Engine(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// Loading it ended before it was done, by a fault of the host's.
    #[error("loading it ended early, which is a fault of the host's")]
    Interrupted,
    /// The configuration demands a report on it that isn't there, or isn't good enough.
    #[error("requireConformance does not allow it")]
    Conformance(#[source] Box<ConformanceError>),
    /// The configuration demands a signature of it that isn't there, or isn't good enough.
    #[error("requireSignature does not allow it")]
    Signature(#[source] Box<SignatureError>),
    /// The component doesn't compile, or its code doesn't load.
    #[error("the component can't be compiled")]
    Compile(#[source] CompileError),
    /// It is for another world, or imports what it can't have. All obstacles in one message.
    #[error("the component can't be loaded: {}", obstacles.join("; "))]
    Refused {
        /// Each in one clause.
        obstacles: Vec<String>,
    },
    /// Its imports or exports have the right names and the wrong types.
    #[error("the component doesn't fit the contract: {message}")]
    Mismatch { message: String },
    /// It needs more to start than it may have.
    #[error("the component is too large for its limits")]
    Needs(#[source] NeedsError),
    /// Its entry names what isn't there (yet).
    #[error("{what}")]
    Missing { what: String },
    /// Its configuration isn't what the component's manifest says that it takes.
    #[error(
        "the configuration does not fit the component's manifest (plugin.yaml in its project): {}",
        one_clause(found)
    )]
    Schema {
        /// What of it, one at least.
        found: Vec<Mismatch>,
    },
    /// It refused its configuration.
    #[error("the plugin refuses its configuration: {words}")]
    Configuration {
        /// The plugin's own words.
        words: String,
    },
    /// It failed while it was asked about its configuration.
    #[error("the plugin failed while it validated its configuration")]
    Validate(#[source] CallError),
}

fn one_clause(found: &[Mismatch]) -> String {
    shortened(found.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "), WORDS_BYTES_MAX)
}

impl LoadError {
    pub(super) fn refused(obstacle: String) -> Self {
        Self::Refused { obstacles: vec![obstacle] }
    }

    pub(super) fn of_validate(error: CallError) -> Self {
        match error {
            CallError::Refused { words } => Self::Configuration { words },
            // Types are compared when an instance is there.
            CallError::Mismatch { message } => Self::Mismatch { message },
            other => Self::Validate(other),
        }
    }

    pub(super) fn of_async(error: AsyncStartError) -> Self {
        match error {
            AsyncStartError::Mismatch { message } => Self::Mismatch { message },
            other @ (AsyncStartError::Engine(_)
            | AsyncStartError::Ticker(_)
            | AsyncStartError::Threads { .. }
            | AsyncStartError::Linker { .. }) => Self::Engine(other.into()),
        }
    }

    /// Returns the message with its causes.
    pub fn sentence(&self) -> String {
        one_line(self)
    }
}
