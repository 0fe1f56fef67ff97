//! WASI 0.2 for guests that must not wait: everything links, nothing is granted, nothing blocks.
//!
//! Toolchains import WASI whether a guest uses it or not, so refusing the imports would refuse the languages. Here
//! the environment and the preopens are empty, stdin is closed, stdout and stderr are lines of the log, sockets and
//! HTTP answer that access is denied, clocks stand still, and random numbers follow from the seed. Waiting for
//! something that isn't ready ends the guest with [`WouldBlock`].

pub(crate) mod async_host;
pub(crate) mod async_link;
mod denied;
mod refused;
mod stdio;
pub(crate) mod sync_link;

#[cfg(test)]
mod tests;

pub(crate) use denied::{ANSWER_SIZE_MAX, ITEMS_MAX, LinkedResources, define_denied, fits, refusal};
pub(crate) use refused::define_refused;

use std::time::Duration;

use jiff::Timestamp;
use sha2::{Digest, Sha256};
use thiserror::Error;
use wasmtime_wasi::random::Deterministic;
use wasmtime_wasi::{HostMonotonicClock, HostWallClock, WasiCtx, WasiCtxBuilder};

use crate::guest::log::GuestLog;
use stdio::LogStream;
use tracing::Level;

/// How many random bytes a guest may ask for at once.
const RANDOM_BYTES_MAX: u64 = 64 << 10;
/// How many bytes the sequence of random numbers has before it repeats.
const RANDOM_PERIOD_BYTES: usize = 4 << 10;
/// A guest waited for something that wasn't ready.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("the plugin waited in {call}, and in admission nothing may wait")]
pub(crate) struct WouldBlock {
    pub(crate) call: &'static str,
}

/// Clocks that show one moment.
struct StoppedClock(Duration);

impl HostWallClock for StoppedClock {
    fn resolution(&self) -> Duration {
        Duration::from_nanos(1)
    }

    fn now(&self) -> Duration {
        self.0
    }
}

impl HostMonotonicClock for StoppedClock {
    fn resolution(&self) -> u64 {
        1
    }

    /// Never 0, even in 1970: Go's runtime takes that for a clock that is broken, and doesn't start.
    fn now(&self) -> u64 {
        u64::try_from(self.0.as_nanos()).unwrap_or(u64::MAX).max(1)
    }
}

/// A guest's WASI at `now`, with random numbers that follow from `seed`.
pub(crate) fn nothing_granted(now: Timestamp, seed: &str, log: &GuestLog) -> WasiCtx {
    let since_epoch = Duration::try_from(now.as_duration()).unwrap_or_default();
    WasiCtxBuilder::new()
        .stdout(LogStream::new(log.clone(), Level::INFO))
        .stderr(LogStream::new(log.clone(), Level::WARN))
        .wall_clock(StoppedClock(since_epoch))
        .monotonic_clock(StoppedClock(since_epoch))
        .secure_random(Deterministic::new(random_bytes(seed, "secure")))
        .insecure_random(Deterministic::new(random_bytes(seed, "insecure")))
        .insecure_random_seed(random_seed(seed))
        .max_random_size(RANDOM_BYTES_MAX)
        .allow_tcp(false)
        .allow_udp(false)
        .allow_ip_name_lookup(false)
        .build()
}

fn random_bytes(seed: &str, purpose: &str) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(RANDOM_PERIOD_BYTES);
    let mut block = 0_u32;
    while bytes.len() < RANDOM_PERIOD_BYTES {
        let mut hasher = Sha256::new();
        hasher.update(purpose.as_bytes());
        hasher.update(block.to_be_bytes());
        hasher.update(seed.as_bytes());
        bytes.extend_from_slice(&hasher.finalize());
        block += 1;
    }
    bytes
}

fn random_seed(seed: &str) -> u128 {
    random_bytes(seed, "seed").iter().take(16).fold(0, |number, byte| (number << 8) | u128::from(*byte))
}
