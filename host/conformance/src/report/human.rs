//! A report for people: what failed first, then what was skipped, and one line that sums up.

use std::fmt::Write as _;

use super::{Count, Report};
use crate::check::{Check, CheckResult, Finding};
use crate::plan::Layer;

impl Report {
    /// The report for people. `command` examines the component as it was examined; what repeats a finding is added to it.
    pub fn human(&self, command: &str) -> String {
        let mut text = String::new();
        let mut write = |line: String| {
            // Writing to a text doesn't fail.
            let written = writeln!(text, "{line}");
            debug_assert!(written.is_ok());
        };
        for (check, finding) in self.checks.iter().filter_map(|check| match &check.result {
            CheckResult::Failed(finding) => Some((check, finding)),
            CheckResult::Passed | CheckResult::Skipped { .. } => None,
        }) {
            write(failed(check, finding, command));
        }
        let skipped = skipped(&self.checks);
        if !skipped.is_empty() {
            write("Not tried".to_owned());
            for line in skipped {
                write(format!("  {line}"));
            }
            write(String::new());
        }
        if !self.figures.is_empty() {
            write("Measured".to_owned());
            for figure in &self.figures {
                write(format!("  {:<34} {}", figure.name, value(figure.value, figure.unit)));
            }
            write(String::new());
        }
        write(self.table());
        write(self.summary());
        text
    }

    /// How many checks of each layer came to what.
    fn table(&self) -> String {
        let mut rows = Vec::new();
        for layer in Layer::ALL {
            let count = self.count(layer);
            if count.passed + count.failed + count.skipped > 0 {
                rows.push(format!(
                    "  {:<12} {:>4} passed {:>4} failed {:>4} not tried",
                    layer.as_str(),
                    count.passed,
                    count.failed,
                    count.skipped
                ));
            }
        }
        format!("Layers\n{}\n", rows.join("\n"))
    }

    /// The whole report in one line.
    pub fn summary(&self) -> String {
        let Count { passed, failed, skipped } = Count::of(&self.checks);
        let roles: Vec<String> =
            self.roles.iter().map(|role| format!("{} {}", role.role, role.version)).collect();
        let verdict = if self.passed() { "passed" } else { "FAILED" };
        let name = &self.component.name;
        let roles = if roles.is_empty() { "no role".to_owned() } else { roles.join(", ") };
        format!(
            "{verdict}: {name} ({roles}): {passed} checks passed, {failed} failed, {skipped} not tried; seed {}",
            self.seed
        )
    }
}

fn failed(check: &Check, finding: &Finding, command: &str) -> String {
    let Finding { input, seen, contract, repeat } = finding;
    let role = check.role.map(|role| format!(" [{role}]")).unwrap_or_default();
    let mut text = format!("FAILED {}{role}: {}\n", check.id, printable(&check.title));
    let mut part = |name: &str, words: &str| {
        let words = printable(words).replace('\n', "\n             ");
        text.push_str(&format!("  {name:<10} {words}\n"));
    };
    part("input", input);
    part("seen", seen);
    part("contract", contract);
    let arguments = repeat.clone().unwrap_or_else(|| format!("--only {}", check.layer));
    part("repeat", &format!("{command} {arguments}"));
    text
}

/// What plugins say must not reach a terminal as commands: control characters but ends of lines are escaped.
pub(crate) fn printable(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for letter in text.chars() {
        if letter.is_control() && letter != '\n' {
            shown.extend(letter.escape_default());
        } else {
            shown.push(letter);
        }
    }
    shown
}

/// Returns what wasn't tried, with why; the same reason of one check is reported once.
fn skipped(checks: &[Check]) -> Vec<String> {
    let mut counted: Vec<(String, usize)> = Vec::new();
    for check in checks {
        let CheckResult::Skipped { why } = &check.result else { continue };
        let role = check.role.map(|role| format!(" [{role}]")).unwrap_or_default();
        let line = format!("{}{role}: {}", check.id, printable(why));
        match counted.iter_mut().find(|(known, _)| *known == line) {
            Some((_, count)) => *count += 1,
            None => counted.push((line, 1)),
        }
    }
    let line = |(line, count)| if count > 1 { format!("{line} ({count} times)") } else { line };
    counted.into_iter().map(line).collect()
}

/// A number with its unit, as people write it.
fn value(value: f64, unit: &str) -> String {
    match unit {
        "s" if value < 0.001 => format!("{:.1} µs", value * 1e6),
        "s" if value < 1.0 => format!("{:.2} ms", value * 1e3),
        "s" => format!("{value:.2} s"),
        "bytes" if value >= 1_048_576.0 => format!("{:.1} MiB", value / 1_048_576.0),
        "bytes" if value >= 1024.0 => format!("{:.1} KiB", value / 1024.0),
        "bytes" => format!("{value} bytes"),
        other if value.fract() == 0.0 => format!("{value} {other}"),
        other => format!("{value:.2} {other}"),
    }
}
