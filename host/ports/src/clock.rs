//! Clock and random numbers, which come in from outside.

use jiff::Timestamp;

/// Wall time. Durations and deadlines use tokio's clock, which tests can pause.
pub trait Clock: Send + Sync {
    /// Now.
    fn now(&self) -> Timestamp;
}

/// Random numbers for jitter.
pub trait Jitter: Send + Sync {
    /// A number in `[0, 1)`.
    fn unit(&self) -> f64;
}

/// Random bits for ids.
pub trait RandomBits: Send + Sync {
    /// 64 of them, each time others.
    fn next(&self) -> u64;
}
