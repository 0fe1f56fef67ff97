//! The lines that a guest writes, bounded, on the node's log.

mod rate;
mod tap;

use std::sync::{Arc, Mutex, PoisonError};

use tokio::time::Instant;
use tracing::Level;

use rate::{LineDecision, Rate};
pub use tap::{CAPTURED_LINES_MAX, CapturedLine, LogTap};

/// How many bytes of a message are kept.
pub(crate) const MESSAGE_BYTES_MAX: usize = 2 << 10;
/// How many fields of a line are kept.
pub(crate) const FIELDS_MAX: usize = 16;
/// How many bytes of a field's name or value are kept.
pub(crate) const FIELD_BYTES_MAX: usize = 256;
/// How many lines one call may write.
pub(crate) const LINES_PER_CALL_MAX: u32 = 64;

/// One line as a guest wrote it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Line {
    pub(crate) level: Level,
    pub(crate) message: String,
    pub(crate) fields: Vec<(String, String)>,
}

/// A guest's log. Clones write to the same budget.
#[derive(Clone, Debug)]
pub(crate) struct GuestLog {
    plugin: Arc<str>,
    budget: Arc<Mutex<Budget>>,
    /// Of all instances of the plugin.
    rate: Arc<Mutex<Rate>>,
    tap: Option<LogTap>,
}

#[derive(Debug, Default)]
struct Budget {
    lines: u32,
    dropped: u64,
}

impl GuestLog {
    /// `tap` receives each line that a call may write, whatever the rate limit leaves out of the node's log.
    pub(crate) fn new(plugin: Arc<str>, tap: Option<LogTap>) -> Self {
        Self { plugin, budget: Arc::default(), rate: Arc::default(), tap }
    }

    /// Returns the log for another instance of the plugin.
    pub(crate) fn of_instance(&self) -> Self {
        let (plugin, rate, tap) = (self.plugin.clone(), self.rate.clone(), self.tap.clone());
        Self { plugin, budget: Arc::default(), rate, tap }
    }

    pub(crate) fn plugin(&self) -> &str {
        &self.plugin
    }

    /// Starts a call's budget.
    pub(crate) fn begin(&self) {
        *self.budget.lock().unwrap_or_else(PoisonError::into_inner) = Budget::default();
    }

    /// Tells what the call's budget cut, and how many lines that were.
    pub(crate) fn end(&self) -> u64 {
        let dropped = self.budget.lock().unwrap_or_else(PoisonError::into_inner).dropped;
        if dropped > 0 && self.may_write() {
            tracing::warn!(
                plugin = &*self.plugin,
                dropped,
                limit = LINES_PER_CALL_MAX,
                "Plugin exceeded the log lines of one call"
            );
        }
        dropped
    }

    /// Whether a line of this level has someone who reads it.
    pub(crate) fn is_enabled(&self, level: Level) -> bool {
        let is_logged = match level {
            Level::TRACE => tracing::enabled!(target: "plugin", Level::TRACE),
            Level::DEBUG => tracing::enabled!(target: "plugin", Level::DEBUG),
            Level::INFO => tracing::enabled!(target: "plugin", Level::INFO),
            Level::WARN => tracing::enabled!(target: "plugin", Level::WARN),
            Level::ERROR => tracing::enabled!(target: "plugin", Level::ERROR),
        };
        self.tap.is_some() || is_logged
    }

    /// Writes a line, cut to its bounds, or counts it as dropped.
    pub(crate) fn write(&self, line: Line) {
        {
            let mut budget = self.budget.lock().unwrap_or_else(PoisonError::into_inner);
            if budget.lines >= LINES_PER_CALL_MAX {
                budget.dropped += 1;
                return;
            }
            budget.lines += 1;
        }
        if let Some(tap) = &self.tap {
            tap.observe(&line);
        }
        if !self.may_write() {
            return;
        }
        let plugin = &*self.plugin;
        let message = printable(&line.message, MESSAGE_BYTES_MAX);
        let fields = fields(&line.fields);
        // Levels are part of an event's static description.
        match line.level {
            Level::TRACE => tracing::trace!(target: "plugin", plugin, %fields, "{message}"),
            Level::DEBUG => tracing::debug!(target: "plugin", plugin, %fields, "{message}"),
            Level::INFO => tracing::info!(target: "plugin", plugin, %fields, "{message}"),
            Level::WARN => tracing::warn!(target: "plugin", plugin, %fields, "{message}"),
            Level::ERROR => tracing::error!(target: "plugin", plugin, %fields, "{message}"),
        }
    }
}

impl GuestLog {
    /// Whether the plugin hasn't written too much lately. Tells now and then what was left out.
    fn may_write(&self) -> bool {
        let taken = self.rate.lock().unwrap_or_else(PoisonError::into_inner).take(Instant::now());
        match taken {
            LineDecision::LeftOut => false,
            LineDecision::Written { left_out: None } => true,
            LineDecision::Written { left_out: Some(left_out) } => {
                tracing::warn!(plugin = &*self.plugin, left_out, "Plugin logs too much, dropped lines");
                true
            }
        }
    }
}

/// Cut, and with letters escaped that [mislead](misleads): a guest can't forge lines of others or drive a terminal.
pub(crate) fn printable(text: &str, bytes_max: usize) -> String {
    let end = text.floor_char_boundary(bytes_max);
    let mut shown = String::with_capacity(end);
    for letter in text[..end].chars() {
        if misleads(letter) { shown.extend(letter.escape_default()) } else { shown.push(letter) }
    }
    if end < text.len() {
        shown.push('…');
    }
    shown
}

/// Whether a letter isn't shown but changes how others are: controls, ends of lines, and what reverses the direction.
pub(crate) fn misleads(letter: char) -> bool {
    letter.is_control()
        || matches!(letter, '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

fn fields(fields: &[(String, String)]) -> String {
    let mut shown: Vec<String> = fields
        .iter()
        .take(FIELDS_MAX)
        .map(|(key, value)| {
            format!("{}={}", printable(key, FIELD_BYTES_MAX), printable(value, FIELD_BYTES_MAX))
        })
        .collect();
    if fields.len() > FIELDS_MAX {
        shown.push(format!("…{} more", fields.len() - FIELDS_MAX));
    }
    shown.join(" ")
}

#[cfg(test)]
mod tests;
