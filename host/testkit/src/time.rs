//! Clock and chance that tests control.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use jiff::{SignedDuration, Timestamp};
use tokio::time::Instant;
use witlet_ports::{Clock, Jitter};

/// Midnight of 1 January 2030 (UTC), when every test begins.
const BEGINNING: i64 = 1_893_456_000;

/// Wall time that goes as tokio's time goes: on paused time, only when everything waits.
#[derive(Clone, Debug)]
pub struct ManualClock {
    begun: Instant,
    /// Seconds by which it was set forward or back.
    shift: Arc<AtomicI64>,
}

impl ManualClock {
    /// A clock that stands at the beginning.
    pub fn new() -> Self {
        Self { begun: Instant::now(), shift: Arc::default() }
    }

    /// Sets the clock, by so many seconds, back if they are negative.
    pub fn jump(&self, seconds: i64) {
        self.shift.fetch_add(seconds, Ordering::Relaxed);
    }

    /// Time since the beginning.
    pub fn elapsed(&self) -> std::time::Duration {
        self.begun.elapsed()
    }
}

impl Default for ManualClock {
    fn default() -> Self {
        Self::new()
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Timestamp {
        let beginning = Timestamp::from_second(BEGINNING).expect("2030 is a time");
        let elapsed = SignedDuration::try_from(self.elapsed()).expect("no test runs for eons");
        let shift = SignedDuration::from_secs(self.shift.load(Ordering::Relaxed));
        let elapsed = elapsed.checked_add(shift).expect("no test runs for eons");
        beginning.checked_add(elapsed).expect("no test runs for eons")
    }
}

/// The same number again and again.
#[derive(Clone, Copy, Debug, Default)]
pub struct FixedJitter(pub f64);

impl Jitter for FixedJitter {
    fn unit(&self) -> f64 {
        self.0
    }
}
