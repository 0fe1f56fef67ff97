//! What is known of a pod beyond its object: how admission went, and what its probes found.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use witlet_core::admission::verdicts::HandlerVerdict;
use witlet_core::probe::worker::ProbeSettings;
use witlet_core::probe::{ProbeKind, ProbeResult};

use crate::probes::ProbeCounts;

/// What is known of a pod beyond its object, since the agent started.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PodDescription {
    /// The newest verdict of each admission handler, a bounded number.
    pub verdicts: Vec<HandlerVerdict>,
    /// Its probes, by container and kind.
    pub probes: Vec<ProbeReport>,
}

/// A probe of one container.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProbeReport {
    pub container: String,
    /// Which of its probes.
    pub kind: ProbeKind,
    /// Name of the type, such as `httpGet`; none if what the pod says of the probe can't be put to any.
    pub probe_type: Option<Arc<str>>,
    /// Its times and thresholds.
    pub settings: ProbeSettings,
    /// What counts now, after thresholds; none before there is an instance of the container.
    pub result: Option<ProbeResult>,
    /// The latest probe; none before the first.
    pub last: Option<LastProbe>,
    /// Probes since its begin.
    pub counts: ProbeCounts,
}

/// The latest probe of a container.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LastProbe {
    pub at: Timestamp,
    /// How long it took.
    pub took: Duration,
    pub outcome: LastOutcome,
    /// In the words of the probed process or of the type, within a bound; may be empty.
    pub message: String,
}

/// What the latest probe found, before thresholds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LastOutcome {
    Success,
    /// It passed, with something that someone should know.
    Warning,
    Failure,
    /// It could not be carried out, which changes no result.
    Unknown,
}

impl LastOutcome {
    /// The word for people and programs.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Success => "Success",
            Self::Warning => "Warning",
            Self::Failure => "Failure",
            Self::Unknown => "Unknown",
        }
    }
}
