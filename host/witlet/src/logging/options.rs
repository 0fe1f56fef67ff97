//! The log's format, how much is in it, and where it goes.

use std::time::Duration;

use thiserror::Error;

use crate::cli::{LogArgs, LogFormat};
use crate::logging::vmodule::FileVerbosity;

/// Upstream's default.
pub(crate) const FLUSH_FREQUENCY: Duration = Duration::from_secs(5);

/// What a command line or a configuration asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LogOptions {
    /// The format of lines.
    pub(crate) format: LogFormat,
    /// How much is logged, by klog's numbers.
    pub(crate) verbosity: u32,
    /// Files of which more is logged.
    pub(crate) vmodule: Vec<FileVerbosity>,
    /// Whether information goes to standard output, in place of standard error.
    pub(crate) split: bool,
    /// How much information is held back before it is written, with `split`; 0 for none.
    pub(crate) info_buffer_bytes: usize,
    /// How long information is held back at most.
    pub(crate) flush_frequency: Duration,
    /// Whether lines have the fields of what goes on around them.
    pub(crate) contextual: bool,
}

impl Default for LogOptions {
    fn default() -> Self {
        Self {
            format: LogFormat::Text,
            verbosity: 0,
            vmodule: Vec::new(),
            split: false,
            info_buffer_bytes: 0,
            flush_frequency: FLUSH_FREQUENCY,
            contextual: true,
        }
    }
}

/// Flags of the log that don't go together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("--vmodule is only supported for --log-format text")]
pub(crate) struct VmoduleError;

impl TryFrom<&LogArgs> for LogOptions {
    type Error = VmoduleError;

    fn try_from(args: &LogArgs) -> Result<Self, VmoduleError> {
        let vmodule = args.vmodule.0.clone();
        if args.log_format != LogFormat::Text && !vmodule.is_empty() {
            return Err(VmoduleError);
        }
        Ok(Self { format: args.log_format, verbosity: args.verbosity, vmodule, ..Self::default() })
    }
}
