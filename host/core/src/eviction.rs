//! Eviction: pods end so that the node doesn't run out of memory, disk or process ids (upstream: `pkg/kubelet/eviction`).
//!
//! [`EvictionManager`] decides round by round; what it is made of, thresholds, observations, ranks, limits and messages, is in
//! modules of their own.

mod filesystems;
#[cfg(test)]
mod fixtures;
mod limits;
mod manager;
mod message;
mod notification;
mod observation;
mod rank;
mod signal;
mod threshold;

pub use filesystems::{Filesystems, Measured, NodeReclaim};
pub use limits::{StorageLimit, has_limits};
pub use manager::{
    Eviction, EvictionConfig, EvictionManager, Found, IMMEDIATE_GRACE_SECONDS, MONITORING_PERIOD,
    NOTIFIED_PERIOD, Outcome, POD_CLEANUP_TIMEOUT, PRESSURE_TRANSITION_PERIOD, Step, ThresholdState,
};
pub use message::{
    OFFENDING_CONTAINERS, OFFENDING_CONTAINERS_USAGE, OFFENDING_POD, OFFENDING_POD_USAGE, STARVED_RESOURCE,
};
pub use notification::{MemoryScope, MemoryWatch};
pub use observation::{Observation, Observations, missing, observations};
pub use rank::{Candidate, rank};
pub use signal::{SIGNALS, Signal, StarvedResource};
pub use threshold::{
    DEFAULT_EVICTION_HARD, Threshold, ThresholdConfig, ThresholdError, ThresholdValue, ignored, ineffective,
};

/// `status.reason` of an evicted pod, and the reason of the event.
pub const REASON: &str = "Evicted";
/// Reason of the node's event when something is about to be reclaimed.
pub const THRESHOLD_MET: &str = "EvictionThresholdMet";
/// Reason of a pod's event when its containers don't end within the grace of its eviction.
pub const EXCEEDED_GRACE_PERIOD: &str = "ExceededGracePeriod";
/// Message of that event.
pub const EXCEEDED_GRACE_PERIOD_MESSAGE: &str =
    "Container runtime did not kill the pod within specified grace period.";
