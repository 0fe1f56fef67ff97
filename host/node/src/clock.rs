//! The machine's wall clock and random numbers.

use jiff::Timestamp;
use rand::Rng as _;
use witlet_ports::{Clock, Jitter, RandomBits};

#[cfg(test)]
mod tests;

/// The kernel's wall clock.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "this is the one place where wall time comes in")]
    fn now(&self) -> Timestamp {
        Timestamp::now()
    }
}

/// The thread's random numbers.
#[derive(Clone, Copy, Debug, Default)]
pub struct ThreadJitter;

impl Jitter for ThreadJitter {
    fn unit(&self) -> f64 {
        rand::rng().random_range(0.0..1.0)
    }
}

impl RandomBits for ThreadJitter {
    fn next(&self) -> u64 {
        rand::rng().random()
    }
}
