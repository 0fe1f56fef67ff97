//! Generated inputs from a seed, and the smallest of those that fail.
//!
//! Whoever judges an input waits for a plugin, so that the search is asked for the next input and told what came of it,
//! instead of calling. Each input is made from the seed, its number and the steps that led to it, which is slow for long
//! searches and keeps nothing between two calls but numbers.

use std::fmt::Debug;

use proptest::strategy::{BoxedStrategy, Strategy as _, ValueTree as _};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

use crate::Finding;

/// How many steps are made from an input that fails to a smaller one.
pub(crate) const SHRINK_STEPS_MAX: usize = 96;

/// Looks for an input that fails.
#[derive(Debug)]
pub(crate) struct Search<T> {
    strategy: fn() -> BoxedStrategy<T>,
    seed: u64,
    cases: u32,
    index: u32,
    steps: Vec<Step>,
    /// The smallest input that failed, and how.
    found: Option<(T, Finding)>,
}

/// How a smaller input is made of the one before (proptest, `ValueTree`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    /// The one before failed too: smaller still.
    Simplify,
    /// The one before passed: half of the way back.
    Complicate,
}

impl<T: Clone + Debug> Search<T> {
    /// Tries so many inputs.
    pub(crate) fn new(seed: u64, cases: u32, strategy: fn() -> BoxedStrategy<T>) -> Self {
        Self { strategy, seed, cases, index: 0, steps: Vec::new(), found: None }
    }

    /// The input to judge next; none when there is nothing more to try.
    pub(crate) fn next(&self) -> Option<T> {
        let more = self.index < self.cases && self.steps.len() <= SHRINK_STEPS_MAX;
        more.then(|| replay(self.strategy, self.seed, self.index, &self.steps)).flatten()
    }

    /// What came of judging `input`, which is what [`Self::next`] gave.
    pub(crate) fn told(&mut self, input: T, finding: Option<Finding>) {
        match (finding, &self.found) {
            (Some(finding), _) => {
                self.found = Some((input, finding));
                self.steps.push(Step::Simplify);
            }
            (None, Some(_)) => self.steps.push(Step::Complicate),
            (None, None) => self.index += 1,
        }
    }

    /// The smallest input that failed, and how.
    pub(crate) fn found(self) -> Option<(T, Finding)> {
        self.found
    }
}

/// The input at the end of these steps; none if there is no such step.
fn replay<T: Debug>(strategy: fn() -> BoxedStrategy<T>, seed: u64, index: u32, steps: &[Step]) -> Option<T> {
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    bytes[8..12].copy_from_slice(&index.to_le_bytes());
    let random = TestRng::from_seed(RngAlgorithm::ChaCha, &bytes);
    let mut runner = TestRunner::new_with_rng(Config::default(), random);
    // A strategy that rejects too much has no input here.
    let mut tree = strategy().new_tree(&mut runner).ok()?;
    for step in steps {
        let moved = match step {
            Step::Simplify => tree.simplify(),
            Step::Complicate => tree.complicate(),
        };
        if !moved {
            return None;
        }
    }
    Some(tree.current())
}

#[cfg(test)]
mod tests;
