//! Trace and span IDs.

use std::fmt;
use std::num::{NonZeroU64, NonZeroU128};

/// A trace: 16 bytes, not all of them zero. Displays as 32 hexadecimal digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TraceId(NonZeroU128);

/// A span: 8 bytes, not all of them zero. Displays as 16 hexadecimal digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SpanId(NonZeroU64);

impl TraceId {
    /// Returns `None` for zero, which is invalid.
    pub fn new(number: u128) -> Option<Self> {
        NonZeroU128::new(number).map(Self)
    }

    /// Made of random bits.
    pub fn of_random(bits: [u64; 2]) -> Self {
        let number = u128::from(bits[0]) << 64 | u128::from(bits[1]);
        Self(NonZeroU128::new(number).unwrap_or(NonZeroU128::MIN))
    }

    /// As they travel.
    pub fn bytes(self) -> [u8; 16] {
        self.0.get().to_be_bytes()
    }

    /// The half that decides on sampling.
    pub(super) fn low(self) -> u64 {
        self.0.get() as u64
    }
}

impl SpanId {
    /// Returns `None` for zero, which is no span.
    pub fn new(number: u64) -> Option<Self> {
        NonZeroU64::new(number).map(Self)
    }

    /// Made of random bits.
    pub fn of_random(bits: u64) -> Self {
        Self(NonZeroU64::new(bits).unwrap_or(NonZeroU64::MIN))
    }

    /// As they travel.
    pub fn bytes(self) -> [u8; 8] {
        self.0.get().to_be_bytes()
    }
}

impl fmt::Display for TraceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

impl fmt::Display for SpanId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}
