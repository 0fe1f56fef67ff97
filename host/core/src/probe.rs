//! Probes: what is checked, and what was found out about running containers.

pub mod custom;
pub mod desired;
pub mod facts;
pub mod handler;
pub(crate) mod target;
pub mod worker;

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1::{Container, Pod, Probe};

use crate::runtime::ContainerId;

pub use target::TargetError;

/// The three probes that a container may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ProbeKind {
    /// Whether it has started. Gates the other two.
    Startup,
    /// Whether it can serve.
    Readiness,
    /// Whether it should live on.
    Liveness,
}

impl ProbeKind {
    /// All of them, in the order in which upstream makes their workers.
    pub const ALL: [Self; 3] = [Self::Startup, Self::Readiness, Self::Liveness];

    /// Returns the name as events have it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Startup => "Startup",
            Self::Readiness => "Readiness",
            Self::Liveness => "Liveness",
        }
    }

    /// Returns what counts until the first probe of a new container.
    pub fn initial(self) -> ProbeResult {
        match self {
            Self::Startup => ProbeResult::Unknown,
            Self::Readiness => ProbeResult::Failure,
            Self::Liveness => ProbeResult::Success,
        }
    }

    /// Whether the pod is synced when this becomes the result. That its container lives on changes nothing.
    pub fn needs_sync(self, result: ProbeResult) -> bool {
        match self {
            Self::Startup | Self::Readiness => true,
            Self::Liveness => result == ProbeResult::Failure,
        }
    }

    /// The container's probe of this kind.
    pub fn of(self, container: &Container) -> Option<&Probe> {
        match self {
            Self::Startup => container.startup_probe.as_ref(),
            Self::Readiness => container.readiness_probe.as_ref(),
            Self::Liveness => container.liveness_probe.as_ref(),
        }
    }
}

/// What a probe has found out so far, after thresholds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ProbeResult {
    Unknown,
    Success,
    Failure,
}

/// The results of one container's probes; none where the spec has no such probe, or no one works on it yet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ContainerProbes {
    /// Whether it has started. Gates the other two.
    pub startup: Option<ProbeResult>,
    /// Whether it can serve.
    pub readiness: Option<ProbeResult>,
    /// Whether it should live on.
    pub liveness: Option<ProbeResult>,
}

impl ContainerProbes {
    /// The result of one probe.
    pub fn get(&self, kind: ProbeKind) -> Option<ProbeResult> {
        match kind {
            ProbeKind::Startup => self.startup,
            ProbeKind::Readiness => self.readiness,
            ProbeKind::Liveness => self.liveness,
        }
    }

    /// Replaces the result of one probe, and gives the old one.
    pub fn set(&mut self, kind: ProbeKind, result: Option<ProbeResult>) -> Option<ProbeResult> {
        let place = match kind {
            ProbeKind::Startup => &mut self.startup,
            ProbeKind::Readiness => &mut self.readiness,
            ProbeKind::Liveness => &mut self.liveness,
        };
        std::mem::replace(place, result)
    }
}

/// The results of a pod's probes, by container instance.
pub type ProbeResults = BTreeMap<ContainerId, ContainerProbes>;

/// One probe, as its type is asked to carry it out.
#[derive(Clone, Debug)]
pub struct ProbeRequest {
    /// Name of the type: `exec`, `httpGet`, `tcpSocket`, `grpc`, or what a pod's annotation names.
    pub probe_type: Arc<str>,
    /// A JSON object as text, with variables expanded and names of ports replaced by numbers; `null` if an annotation gives
    /// none. Of the four types that a spec can name, what stands there.
    pub parameters: Arc<str>,
    pub pod: Arc<Pod>,
    /// Name of the container in its spec.
    pub container: String,
    /// The instance that is probed.
    pub container_id: ContainerId,
    /// How often it was restarted.
    pub restarts: u32,
    /// The pod's addresses, the primary one first.
    pub pod_ips: Vec<IpAddr>,
    /// The node's addresses, the primary one first.
    pub host_ips: Vec<IpAddr>,
    /// Which of the container's probes.
    pub kind: ProbeKind,
    /// How long it may take.
    pub timeout: Duration,
}

/// What one probe found, before thresholds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProbeOutcome {
    /// It passed; the text is what the probed process said.
    Success(String),
    /// It passed, with something that someone should know (event `ProbeWarning`).
    Warning(String),
    /// It failed, and why.
    Failure(String),
}
