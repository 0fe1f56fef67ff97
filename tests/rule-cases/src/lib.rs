//! Random rules for the handler `cel`, and questions about pods for them. What is made follows from the seed alone.
//!
//! Most of the rules are right, some are damaged, and some take more than they may: what takes them must answer with a verdict or an
//! error that names the rule.
#![forbid(unsafe_code)]

mod expressions;
mod questions;
mod rules;

use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};

pub use questions::{Image, PodQuestion};
pub use rules::rules;

/// Where choices come from.
#[derive(Debug)]
pub struct Choices(SmallRng);

impl Choices {
    /// Those of a seed.
    pub fn new(seed: u64) -> Self {
        Self(SmallRng::seed_from_u64(seed))
    }

    /// A number below this one; 0 if there is none.
    fn below(&mut self, end: usize) -> usize {
        self.0.random_range(0..end.max(1))
    }

    /// True once in so many times.
    fn one_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }

    /// One of several texts; none of them if there are none.
    fn of<'a>(&mut self, all: &[&'a str]) -> &'a str {
        all.get(self.below(all.len())).copied().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests;
