//! A report as JUnit's XML, which every CI reads.

use super::{Count, Report};
use crate::check::{Check, CheckResult, Finding};
use crate::plan::Layer;

impl Report {
    /// The report as JUnit's XML: a suite for each layer, a case for each check.
    pub fn junit(&self) -> String {
        let seconds =
            |checks: &[&Check]| -> f64 { checks.iter().map(|check| check.took.as_secs_f64()).sum() };
        let all: Vec<&Check> = self.checks.iter().collect();
        let count = Count::of(&self.checks);
        let mut text = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
        text.push_str(&format!(
            "<testsuites name=\"{}\" tests=\"{}\" failures=\"{}\" skipped=\"{}\" time=\"{:.3}\">\n",
            escaped(&self.component.name),
            all.len(),
            count.failed,
            count.skipped,
            seconds(&all)
        ));
        for layer in Layer::ALL {
            let checks: Vec<&Check> = all.iter().copied().filter(|check| check.layer == layer).collect();
            if checks.is_empty() {
                continue;
            }
            let count = self.count(layer);
            text.push_str(&format!(
                "  <testsuite name=\"{layer}\" tests=\"{}\" failures=\"{}\" skipped=\"{}\" time=\"{:.3}\">\n",
                checks.len(),
                count.failed,
                count.skipped,
                seconds(&checks)
            ));
            for check in checks {
                text.push_str(&case(check));
            }
            text.push_str("  </testsuite>\n");
        }
        text.push_str("</testsuites>\n");
        text
    }
}

fn case(check: &Check) -> String {
    let role = check.role.map(|role| format!("{role}: ")).unwrap_or_default();
    let head = format!(
        "    <testcase classname=\"{}\" name=\"{}\" time=\"{:.3}\"",
        escaped(check.id),
        escaped(&format!("{role}{}", check.title)),
        check.took.as_secs_f64()
    );
    match &check.result {
        CheckResult::Passed => format!("{head}/>\n"),
        CheckResult::Skipped { why } => {
            format!("{head}>\n      <skipped message=\"{}\"/>\n    </testcase>\n", escaped(why))
        }
        CheckResult::Failed(Finding { input, seen, contract, repeat }) => {
            let repeat = repeat.as_ref().map(|repeat| format!("\nrepeat: {repeat}")).unwrap_or_default();
            let body = format!("input: {input}\nseen: {seen}\ncontract: {contract}{repeat}");
            format!(
                "{head}>\n      <failure message=\"{}\">{}</failure>\n    </testcase>\n",
                escaped(seen.lines().next().unwrap_or_default()),
                escaped(&body)
            )
        }
    }
}

/// Escapes a text for XML; what XML 1.0 has no place for is replaced.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\n' => escaped.push_str("&#10;"),
            '\t' => escaped.push_str("&#9;"),
            '\u{0}'..='\u{1f}' | '\u{7f}'..='\u{9f}' | '\u{fffe}' | '\u{ffff}' => escaped.push('\u{fffd}'),
            other => escaped.push(other),
        }
    }
    escaped
}
