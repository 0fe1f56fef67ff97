//! How far long transfers are: a bar on a terminal, a line now and then anywhere else; and on a terminal what takes its time otherwise. On standard error, for standard output
//! belongs to the answer.

use std::io::{IsTerminal as _, Write as _};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

/// What is smaller is there before a line is read.
const LINES_BYTES_MIN: u64 = 4 << 20;
/// How many lines a transfer has at most.
const LINES_MAX: u64 = 4;
/// How often what is shown moves.
const TICK: Duration = Duration::from_millis(200);

/// One transfer.
pub(crate) struct Transfer {
    verb: &'static str,
    bar: Option<ProgressBar>,
    /// How many lines were written.
    lines: AtomicU64,
}

impl Transfer {
    /// Begins to tell; `verb` is what is done, such as `pushing`.
    pub(crate) fn start(verb: &'static str) -> Self {
        let bar = std::io::stderr().is_terminal().then(|| {
            let style = ProgressStyle::with_template("{msg} {bar:30} {bytes}/{total_bytes} {bytes_per_sec}");
            let bar = ProgressBar::new(0).with_message(verb);
            // The template is a constant; a bar without it would still be one.
            style.map_or(bar.clone(), |style| bar.with_style(style))
        });
        Self { verb, bar, lines: AtomicU64::new(0) }
    }

    /// So many of all bytes are there.
    pub(crate) fn at(&self, bytes: u64, total: u64) {
        if let Some(bar) = &self.bar {
            bar.set_length(total);
            bar.set_position(bytes);
            return;
        }
        let due = lines_due(bytes, total);
        if self.lines.fetch_max(due, Ordering::Relaxed) < due {
            let line = format!("{}: {bytes} of {total} bytes\n", self.verb);
            // Anyone who closed it doesn't want to know.
            let _ = std::io::stderr().lock().write_all(line.as_bytes());
        }
    }

    /// Takes the bar away.
    pub(crate) fn done(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

/// Something whose end can't be foreseen, such as the compiling of components: shown on a terminal until this is dropped.
pub(crate) struct Wait(Option<ProgressBar>);

impl Wait {
    /// Begins to show it; `what` is a sentence without its end, such as `Compiling components`.
    pub(crate) fn start(what: &'static str) -> Self {
        let bar = std::io::stderr().is_terminal().then(|| ProgressBar::new_spinner().with_message(what));
        if let Some(bar) = &bar {
            bar.enable_steady_tick(TICK);
        }
        Self(bar)
    }
}

impl Drop for Wait {
    fn drop(&mut self) {
        if let Some(bar) = &self.0 {
            bar.finish_and_clear();
        }
    }
}

/// How many lines belong to so much of a transfer.
fn lines_due(bytes: u64, total: u64) -> u64 {
    if total < LINES_BYTES_MIN { 0 } else { bytes.min(total) * LINES_MAX / total }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_transfers_are_silent_and_large_ones_have_four_lines() {
        let lines = |total: u64| (0..=16).map(|part| lines_due(total * part / 16, total)).max();
        assert_eq!(lines(4 << 10), Some(0));
        assert_eq!(lines(64 << 20), Some(4));
        assert_eq!(lines_due(0, 0), 0);
        assert_eq!(lines_due(32 << 20, 64 << 20), 2);
        assert_eq!(lines_due(u64::from(u32::MAX), 64 << 20), 4, "more bytes than announced");
    }
}
