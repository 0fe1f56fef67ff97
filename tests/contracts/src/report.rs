//! How the suite went.

use std::fmt;

/// How one case went.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The promise holds.
    Passed,
    /// It can't be seen on this runtime, and why.
    Skipped(String),
    /// The promise is broken, and how.
    Failed(String),
}

/// How all cases went, in their order.
#[derive(Clone, Debug, Default)]
pub struct Report {
    outcomes: Vec<(&'static str, Outcome)>,
}

impl Report {
    /// Notes one case.
    pub fn add(&mut self, case: &'static str, outcome: Outcome) {
        self.outcomes.push((case, outcome));
    }

    /// Each case with its outcome.
    pub fn outcomes(&self) -> &[(&'static str, Outcome)] {
        &self.outcomes
    }

    /// Whether some case ran and none failed.
    pub fn is_success(&self) -> bool {
        let passed = self.outcomes.iter().any(|(_, outcome)| *outcome == Outcome::Passed);
        passed && !self.outcomes.iter().any(|(_, outcome)| matches!(outcome, Outcome::Failed(_)))
    }
}

/// A line for each case, and a last one that counts.
impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (mut passed, mut skipped, mut failed) = (0, 0, 0);
        for (case, outcome) in &self.outcomes {
            match outcome {
                Outcome::Passed => {
                    passed += 1;
                    writeln!(f, "passed  {case}")?;
                }
                Outcome::Skipped(reason) => {
                    skipped += 1;
                    writeln!(f, "SKIPPED {case}: {reason}")?;
                }
                Outcome::Failed(violation) => {
                    failed += 1;
                    writeln!(f, "FAILED  {case}: {violation}")?;
                }
            }
        }
        write!(f, "{passed} passed, {failed} failed, {skipped} skipped")
    }
}

#[cfg(test)]
mod tests;
