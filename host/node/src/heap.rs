//! The process's memory: kept as small as what it holds.
//!
//! The C library's allocator gives each thread an arena of its own and returns little of what was freed. For a daemon that
//! sleeps most of the time, and whose bursts come with the node's, that is memory taken from pods.
#![allow(unsafe_code, reason = "these are C functions; each call has its proof")]

use std::time::Duration;

use tokio::time::MissedTickBehavior;
use tokio_util::sync::CancellationToken;

/// How often what is free is given back.
const TRIM_INTERVAL: Duration = Duration::from_secs(10);

/// Has all threads share one arena. To be called before threads are started. Does nothing where the C library isn't glibc.
pub fn share_one_arena() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: mallopt takes any two integers, checks them, and locks the allocator's state itself (mallopt(3)).
    unsafe {
        libc::mallopt(libc::M_ARENA_MAX, 1)
    };
}

/// Gives free memory back to the kernel now and then, until it is stopped.
pub async fn trim_regularly(stop: CancellationToken) {
    let mut ticks = tokio::time::interval(TRIM_INTERVAL);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            () = stop.cancelled() => return,
            _ = ticks.tick() => trim(),
        }
    }
}

fn trim() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: malloc_trim takes any number of bytes to keep, touches free memory only, and locks the allocator's state
    // itself (malloc_trim(3)).
    unsafe {
        libc::malloc_trim(0)
    };
}
