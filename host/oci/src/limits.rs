//! Deadlines of exchanges with a registry.

use std::time::Duration;

use witlet_egress::SendLimits;

/// From the first request of a push to its last answer, waits for the registry among them.
pub const PUSH_TIME_MAX: Duration = Duration::from_secs(1800);
/// From the first request to the last byte, waits for the registry among them.
pub const PULL_TIME_MAX: Duration = Duration::from_secs(600);
/// How long a registry may take to accept, to begin its answer, and between two parts of it.
pub const LIMITS: SendLimits = SendLimits {
    connect: Duration::from_secs(15),
    first_byte: Duration::from_secs(30),
    between_bytes: Duration::from_secs(30),
};
