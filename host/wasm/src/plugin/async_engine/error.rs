//! Why there is nothing to call, and what a call that failed is called.

use std::io;

use thiserror::Error;

use crate::engine::EngineError;
use crate::limits::TickerError;

/// A plugin can't be run on the engine of probes and pod sources.
#[derive(Debug, Error)]
pub(crate) enum AsyncStartError {
    /// The engine couldn't be made.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// The epoch thread couldn't be started.
    #[error(transparent)]
    Ticker(#[from] TickerError),
    /// The threads couldn't be started.
    #[error("failed to start the threads of probes and pod sources")]
    Threads {
        #[source]
        cause: io::Error,
    },
    /// The contracts couldn't be linked to the engine.
    #[error("failed to link the host's functions: {message}")]
    Linker { message: String },
    /// The component's imports or exports have the right names and the wrong types.
    #[error("{message}")]
    Mismatch { message: String },
}
