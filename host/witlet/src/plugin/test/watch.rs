//! How far an examination is, on standard error, where that is a terminal.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use witlet_conformance::{Check, CheckResult, Layer, Progress};

/// Between two frames of the spinner.
const FRAME: Duration = Duration::from_millis(120);

/// A line for each layer; nothing where standard error is no terminal.
pub(super) struct Watch(ProgressBar);

impl Watch {
    pub(super) fn start() -> Self {
        let bar = ProgressBar::new_spinner();
        // A template that can't be read leaves the spinner's own.
        if let Ok(style) = ProgressStyle::with_template("{spinner} {msg} ({pos} checks)") {
            bar.set_style(style);
        }
        Self(bar)
    }

    /// Takes the spinner away; the lines of the layers stay.
    pub(super) fn finish(&self) {
        self.0.finish_and_clear();
    }
}

impl Progress for Watch {
    fn begin(&self, layer: Layer) {
        self.0.set_position(0);
        self.0.set_message(layer.as_str());
        self.0.enable_steady_tick(FRAME);
    }

    fn check(&self, _check: &Check) {
        self.0.inc(1);
    }

    fn end(&self, layer: Layer, checks: &[Check], took: Duration) {
        self.0.println(line(layer, checks, took));
    }
}

/// Returns what came of a layer, in one line.
fn line(layer: Layer, checks: &[Check], took: Duration) -> String {
    let count = |is_counted: fn(&CheckResult) -> bool| {
        checks.iter().filter(|check| is_counted(&check.result)).count()
    };
    let failed = count(|result| matches!(result, CheckResult::Failed(_)));
    let skipped = count(|result| matches!(result, CheckResult::Skipped { .. }));
    let passed = checks.len() - failed - skipped;
    let mut summary = format!("{:<12} {passed} passed", layer.as_str());
    if failed > 0 {
        summary.push_str(&format!(", {failed} FAILED"));
    }
    if skipped > 0 {
        summary.push_str(&format!(", {skipped} not tried"));
    }
    format!("{summary}  {:.1}s", took.as_secs_f64())
}

#[cfg(test)]
mod tests;
