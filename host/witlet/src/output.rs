//! The only place that writes to standard output, and remarks to standard error.

use std::io::{ErrorKind, Write};

use serde::Serialize;
use thiserror::Error;

use crate::cli::OutputFormat;

/// Why an answer couldn't be shown.
#[derive(Debug, Error)]
pub(crate) enum OutputError {
    /// Standard output is gone.
    #[error("failed to write to standard output")]
    Write(#[source] std::io::Error),
    /// The value has no JSON form.
    #[error("failed to encode as JSON")]
    Json(#[source] serde_json::Error),
    /// The value has no YAML form.
    #[error("failed to encode as YAML: {message}")]
    Yaml { message: String },
}

/// Writes text as it is. A reader that has gone away (`witlet get pods | head -1`) is no error.
pub(crate) fn print(text: &str) -> Result<(), OutputError> {
    print_on(text).map(drop)
}

/// Writes text that others may follow. Says whether there is still a reader.
pub(crate) fn print_on(text: &str) -> Result<bool, OutputError> {
    print_bytes(text.as_bytes())
}

/// The same for what may be no text.
pub(crate) fn print_bytes(bytes: &[u8]) -> Result<bool, OutputError> {
    let mut out = std::io::stdout().lock();
    match out.write_all(bytes).and_then(|()| out.flush()) {
        Ok(()) => Ok(true),
        Err(cause) if cause.kind() == ErrorKind::BrokenPipe => Ok(false),
        Err(cause) => Err(OutputError::Write(cause)),
    }
}

/// Writes a line to standard error, next to the answer.
pub(crate) fn note(line: &str) {
    // An answer is worth having without its notes.
    let _ = writeln!(std::io::stderr().lock(), "{line}");
}

/// A value as JSON or YAML; tables are made by anyone who knows the columns, so they count as JSON here.
pub(crate) fn structured<T: Serialize>(value: &T, format: OutputFormat) -> Result<String, OutputError> {
    match format {
        OutputFormat::Yaml => {
            serde_saphyr::to_string(value).map_err(|cause| OutputError::Yaml { message: cause.to_string() })
        }
        OutputFormat::Json | OutputFormat::Table | OutputFormat::Wide => {
            let mut text = serde_json::to_string_pretty(value).map_err(OutputError::Json)?;
            text.push('\n');
            Ok(text)
        }
    }
}

/// Writes a line for people to standard error, where it isn't taken for the answer.
pub(crate) fn remark(line: &str) {
    // With standard error gone, there is no one to read it.
    let _ = std::io::stderr().lock().write_all(format!("{line}\n").as_bytes());
}
