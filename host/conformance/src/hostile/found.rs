//! What many hostile inputs have found, in one check.

use crate::check::{CheckResult, Finding};

/// What repeats a finding of this layer.
const REPEAT: &str = "--only hostile";
/// After so many inputs without an answer in time the others aren't tried: each would take its whole time.
const UNANSWERED_MAX: usize = 3;
/// How many other inputs are named.
const OTHERS_MAX: usize = 12;

/// The first finding, and which other inputs found something.
#[derive(Debug, Default)]
pub(super) struct Found {
    first: Option<Finding>,
    others: Vec<String>,
    /// Why some couldn't be tried.
    untried: Option<String>,
    tried: usize,
    /// How many had no answer in time.
    unanswered: usize,
}

impl Found {
    /// What came of one input, called `name`.
    pub(super) fn add(&mut self, name: &str, finding: Option<Finding>) {
        self.tried += 1;
        let is_late = |finding: &Finding| finding.seen.contains("no answer within");
        self.unanswered += usize::from(finding.as_ref().is_some_and(is_late));
        match (finding, &self.first) {
            (None, _) => {}
            (Some(finding), None) => self.first = Some(finding),
            (Some(_), Some(_)) => self.others.push(name.to_owned()),
        }
    }

    /// One that couldn't be tried.
    pub(super) fn untried(&mut self, why: String) {
        self.untried.get_or_insert(why);
    }

    /// Whether enough had no answer in time to say so.
    pub(super) fn gives_up(&self) -> bool {
        self.unanswered >= UNANSWERED_MAX
    }

    /// Nothing was tried: that is no pass.
    pub(super) fn result(self) -> CheckResult {
        let gave_up = self.gives_up();
        let Self { first, others, untried, tried, unanswered } = self;
        let Some(mut finding) = first.map(|finding| finding.repeated_by(REPEAT)) else {
            let nothing = || (tried == 0).then(|| "there was nothing to try".to_owned());
            return match untried.or_else(nothing) {
                Some(why) => CheckResult::Skipped { why },
                None => CheckResult::Passed,
            };
        };
        if !others.is_empty() {
            let named: Vec<&str> = others.iter().take(OTHERS_MAX).map(String::as_str).collect();
            let more = others.len().saturating_sub(OTHERS_MAX);
            let more = if more > 0 { format!(", and {more} more") } else { String::new() };
            finding.seen = format!("{}. Not content with either: {}{more}", finding.seen, named.join(", "));
        }
        if gave_up {
            let rest = "further inputs weren't tried";
            finding.seen = format!("{}. After {unanswered} without an answer in time {rest}", finding.seen);
        }
        CheckResult::Failed(finding)
    }
}

/// Text in a finding that is shown as far as it says what it is.
pub(super) fn short(text: &str) -> String {
    const SHOWN_MAX: usize = 200;
    let end = text.floor_char_boundary(SHOWN_MAX);
    if end < text.len() { format!("{}… ({} bytes)", &text[..end], text.len()) } else { text.to_owned() }
}

#[cfg(test)]
mod tests;
