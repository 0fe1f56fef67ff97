//! A log's bytes, however they are cut, as lines and what is shown of them.

use super::{FilterProgress, LogFilter};

#[cfg(test)]
mod tests;

/// Bytes of the longest line; runtimes cut theirs at 16 KiB. What is longer isn't shown.
pub const LINE_BYTES_MAX: usize = 1024 * 1024;

/// Cuts what is read of a log into lines and shows what a request wants of them. Where the reads begin and end changes nothing.
#[derive(Clone, Debug)]
pub struct LogLines {
    filter: LogFilter,
    /// A line that has no end yet.
    begun: Vec<u8>,
    /// The line that is being read is too long.
    skips: bool,
    is_full: bool,
}

impl LogLines {
    /// Shows what this filter lets through.
    pub fn new(filter: LogFilter) -> Self {
        Self { filter, begun: Vec::new(), skips: false, is_full: false }
    }

    /// Whether the request has all the bytes that it asked for, so that nothing more is shown.
    pub fn is_full(&self) -> bool {
        self.is_full
    }

    /// Takes the bytes that follow: returns what is shown of the lines that end in them, and keeps the rest.
    pub fn take(&mut self, bytes: &[u8]) -> Vec<u8> {
        let mut shown = Vec::new();
        for part in bytes.split_inclusive(|byte| *byte == b'\n') {
            if self.is_full {
                break;
            }
            let ends = part.ends_with(b"\n");
            if self.skips {
                self.skips = !ends;
                continue;
            }
            if self.begun.len() + part.len() > LINE_BYTES_MAX {
                self.begun = Vec::new();
                self.skips = !ends;
                continue;
            }
            if !ends {
                self.begun.extend_from_slice(part);
                continue;
            }
            let taken = if self.begun.is_empty() {
                self.filter.take(part, &mut shown)
            } else {
                self.begun.extend_from_slice(part);
                let taken = self.filter.take(&self.begun, &mut shown);
                self.begun.clear();
                taken
            };
            self.is_full = taken == FilterProgress::Full;
        }
        shown
    }

    /// Returns what is shown of a last line that never got its end.
    pub fn rest(&mut self) -> Option<Vec<u8>> {
        let mut shown = Vec::new();
        if !self.is_full && !self.skips {
            let line = std::mem::take(&mut self.begun);
            self.filter.take(&line, &mut shown);
        }
        self.begun.clear();
        (!shown.is_empty()).then_some(shown)
    }

    /// Forgets a line that was begun: what follows is of another file.
    pub fn restart(&mut self) {
        self.begun.clear();
        self.skips = false;
    }
}
