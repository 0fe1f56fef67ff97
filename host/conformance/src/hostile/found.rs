//! What many hostile inputs have found, in one check.

use crate::check::{CheckResult, Finding};
use crate::plugin_response::Fault;

const REPEAT: &str = "--only hostile";
/// After so many inputs without an answer in time the others aren't tried: each would take its whole time.
const UNANSWERED_MAX: usize = 3;
const OTHERS_MAX: usize = 12;

/// The first finding, and which other inputs found something.
#[derive(Debug, Default)]
pub(super) struct Found {
    first: Option<First>,
    others: Vec<String>,
    /// Why some couldn't be tried.
    untried: Option<String>,
    tried: usize,
    /// How many had no answer in time.
    unanswered: usize,
}

/// The finding that is shown.
#[derive(Debug)]
struct First {
    name: String,
    is_late: bool,
    finding: Finding,
}

impl Found {
    /// What came of one input, called `name` and shown as `input`.
    pub(super) fn add(&mut self, name: &str, input: &str, fault: Option<Fault>) {
        self.tried += 1;
        let Some(fault) = fault else { return };
        self.unanswered += usize::from(fault.is_late);
        let mut added =
            First { name: name.to_owned(), is_late: fault.is_late, finding: Finding::of(input, fault) };
        let Some(first) = &mut self.first else {
            self.first = Some(added);
            return;
        };
        // Whatever is wrong besides says more than a late answer, which a busy machine makes more of.
        if first.is_late && !added.is_late {
            std::mem::swap(first, &mut added);
        }
        self.others.push(added.name);
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
        let Some(mut finding) = first.map(|first| first.finding.repeated_by(REPEAT)) else {
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
            finding.seen = format!("{}. Also found with: {}{more}", finding.seen, named.join(", "));
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
