//! What many hostile inputs have found, in one check.

use crate::check::{CheckResult, Finding};
use crate::plugin_response::Fault;

/// After so many inputs without an answer in time the others aren't tried: each would take its whole time.
const UNANSWERED_MAX: usize = 3;
const OTHERS_MAX: usize = 12;

/// What was found, input by input.
#[derive(Debug, Default)]
pub(super) struct InputFindings {
    faults: Vec<FoundFault>,
    /// Why some couldn't be tried.
    untried: Option<String>,
    tried: usize,
}

#[derive(Debug)]
struct FoundFault {
    name: String,
    is_late: bool,
    finding: Finding,
}

impl InputFindings {
    /// What came of one input, called `name` and shown as `input`.
    pub(super) fn add(&mut self, name: &str, input: &str, fault: Option<Fault>) {
        self.tried += 1;
        let Some(fault) = fault else { return };
        let (name, is_late, finding) = (name.to_owned(), fault.is_late, Finding::of(input, fault));
        self.faults.push(FoundFault { name, is_late, finding });
    }

    /// One that couldn't be tried.
    pub(super) fn untried(&mut self, why: String) {
        self.untried.get_or_insert(why);
    }

    /// How many had no answer in time.
    fn unanswered(&self) -> usize {
        self.faults.iter().filter(|fault| fault.is_late).count()
    }

    /// Whether enough had no answer in time to say so.
    pub(super) fn gives_up(&self) -> bool {
        self.unanswered() >= UNANSWERED_MAX
    }

    /// One finding, with the names of the other inputs that found something. Nothing was tried: that is no pass.
    pub(super) fn result(self) -> CheckResult {
        let (unanswered, gave_up) = (self.unanswered(), self.gives_up());
        let Self { mut faults, untried, tried } = self;
        // Whatever is wrong besides says more than a late answer, which a busy machine makes more of.
        faults.sort_by_key(|fault| fault.is_late);
        let mut faults = faults.into_iter();
        let Some(FoundFault { mut finding, .. }) = faults.next() else {
            let nothing = || (tried == 0).then(|| "there was nothing to try".to_owned());
            return match untried.or_else(nothing) {
                Some(why) => CheckResult::Skipped { why },
                None => CheckResult::Passed,
            };
        };
        let more = faults.len().saturating_sub(OTHERS_MAX);
        let others: Vec<String> = faults.take(OTHERS_MAX).map(|fault| fault.name).collect();
        if !others.is_empty() {
            let more = if more > 0 { format!(", and {more} more") } else { String::new() };
            finding.seen = format!("{}. Also found with: {}{more}", finding.seen, others.join(", "));
        }
        if gave_up {
            let rest = "further inputs weren't tried";
            finding.seen = format!("{}. After {unanswered} without an answer in time {rest}", finding.seen);
        }
        CheckResult::Failed(finding)
    }
}

#[cfg(test)]
mod tests;
