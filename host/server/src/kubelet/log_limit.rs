//! Limits messages that unauthenticated clients can cause: logged now and then, and counted in between.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

#[cfg(test)]
mod tests;

/// Least time between two messages.
const APART: Duration = Duration::from_secs(10);

/// The limit of one message.
#[derive(Default)]
pub(super) struct LogLimit {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    last: Option<Instant>,
    left_out: u64,
}

impl LogLimit {
    /// Returns how many messages were left out before this one; none if this one is to be left out.
    pub(super) fn next(&self) -> Option<u64> {
        let now = Instant::now();
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.last.is_some_and(|last| now.duration_since(last) < APART) {
            state.left_out += 1;
            return None;
        }
        state.last = Some(now);
        Some(std::mem::take(&mut state.left_out))
    }
}
