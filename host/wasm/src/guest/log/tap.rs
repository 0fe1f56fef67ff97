//! A copy of a plugin's log lines, for tools that try plugins out.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use serde::Serialize;
use tracing::Level;

use super::{FIELD_BYTES_MAX, FIELDS_MAX, Line, MESSAGE_BYTES_MAX, printable};

/// How many lines are kept; the oldest go first.
pub const CAPTURED_LINES_MAX: usize = 1024;

/// A line of a plugin's, within the bounds that the node's log has for it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CapturedLine {
    /// `trace`, `debug`, `info`, `warn` or `error`, as the contract names them.
    pub level: &'static str,
    /// At most 2 KiB, control characters escaped.
    pub message: String,
    /// Names and values, as they were given.
    pub fields: Vec<(String, String)>,
}

/// Keeps the newest lines. Clones receive the same lines.
#[derive(Clone, Debug, Default)]
pub struct LogTap(Arc<Mutex<VecDeque<CapturedLine>>>);

impl LogTap {
    /// Lines since this was last called, at most [`CAPTURED_LINES_MAX`] lines.
    pub fn take(&self) -> Vec<CapturedLine> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner)).into()
    }

    pub(super) fn observe(&self, line: &Line) {
        let field = |text: &str| printable(text, FIELD_BYTES_MAX);
        let fields = line.fields.iter().take(FIELDS_MAX);
        let captured = CapturedLine {
            level: level(line.level),
            message: printable(&line.message, MESSAGE_BYTES_MAX),
            fields: fields.map(|(name, value)| (field(name), field(value))).collect(),
        };
        let mut lines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if lines.len() == CAPTURED_LINES_MAX {
            lines.pop_front();
        }
        lines.push_back(captured);
    }
}

fn level(level: Level) -> &'static str {
    match level {
        Level::TRACE => "trace",
        Level::DEBUG => "debug",
        Level::INFO => "info",
        Level::WARN => "warn",
        Level::ERROR => "error",
    }
}
