//! How long each kind of call may take.

use std::time::Duration;

/// Deadlines of calls. The default is upstream's, with `runtimeRequestTimeout` at its 2 minutes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deadlines {
    /// `Version` and `Status`: they only say how the runtime is, and a runtime that needs longer isn't well.
    /// Shorter than upstream's 2 minutes, so that a hung runtime is noticed soon.
    pub health: Duration,
    /// Whatever isn't named here: upstream's `runtimeRequestTimeout`. `StopContainer` gets it on top of the grace.
    pub request: Duration,
    /// `RunPodSandbox`: twice the request's, because it may pull the pause image (`remote_runtime.go`).
    pub run_sandbox: Duration,
    /// `PullImage`. Upstream sets none and trusts the runtime to end pulls that make no progress; this is the last
    /// resort.
    pub pull: Duration,
}

impl Deadlines {
    /// Deadlines derived from a `runtimeRequestTimeout`, as upstream derives them.
    pub const fn of_request_timeout(request: Duration) -> Self {
        Self {
            health: Duration::from_secs(10),
            request,
            run_sandbox: request.saturating_mul(2),
            pull: Duration::from_hours(1),
        }
    }
}

impl Default for Deadlines {
    fn default() -> Self {
        Self::of_request_timeout(Duration::from_mins(2))
    }
}
