//! What a reader is shown of a log, line by line.

use jiff::Timestamp;

use super::{LogEntry, LogRequest, LogStream};

#[cfg(test)]
mod tests;

/// Whether a reader wants more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FilterProgress {
    GoesOn,
    /// It has all the bytes that it asked for.
    Full,
}

/// Shows what a request wants of the lines that it is given.
#[derive(Clone, Debug)]
pub struct LogFilter {
    since: Option<Timestamp>,
    timestamps: bool,
    stream: Option<LogStream>,
    /// Bytes that may still be shown.
    left: Option<u64>,
    /// Whether what comes next begins a line of the process.
    begins_line: bool,
}

impl LogFilter {
    /// Creates the state of one request; `sinceSeconds` counts back from `now`.
    pub fn new(request: &LogRequest, now: Timestamp) -> Self {
        Self {
            since: request.since(now),
            timestamps: request.timestamps,
            stream: request.stream,
            left: request.limit_bytes,
            begins_line: true,
        }
    }

    /// Adds what is shown of a line to `shown`. What isn't in the format shows nothing, as upstream has it.
    pub fn take(&mut self, line: &[u8], shown: &mut Vec<u8>) -> FilterProgress {
        let Some(entry) = LogEntry::parse(line) else { return FilterProgress::GoesOn };
        let begins_line = std::mem::replace(&mut self.begins_line, entry.ends_line);
        let too_old = self.since.is_some_and(|since| entry.at < since);
        if too_old || self.stream.is_some_and(|stream| entry.stream != stream) {
            return FilterProgress::GoesOn;
        }
        let begin = shown.len();
        if self.timestamps && begins_line {
            shown.extend_from_slice(entry.shown_time().as_bytes());
            shown.push(b' ');
        }
        shown.extend_from_slice(entry.text);
        shown.extend(entry.ends_line.then_some(b'\n'));
        let Some(left) = &mut self.left else { return FilterProgress::GoesOn };
        let most = usize::try_from(*left).unwrap_or(usize::MAX);
        shown.truncate(begin.saturating_add(most));
        *left = left.saturating_sub(u64::try_from(shown.len() - begin).unwrap_or(u64::MAX));
        if *left == 0 { FilterProgress::Full } else { FilterProgress::GoesOn }
    }
}
