//! Classes of pods, and what a pod weighs in its own.

use k8s_openapi::api::core::v1::Pod;

use crate::pod::resources::{self, CPU, MEMORY, QosClass};

/// Classes that have a cgroup of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Tier {
    /// `kubepods` itself, where Guaranteed pods are.
    Guaranteed,
    Burstable,
    /// `besteffort`
    BestEffort,
}

impl Tier {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Guaranteed, Self::Burstable, Self::BestEffort];

    /// Returns the tier of the pod's QoS class.
    pub fn of(pod: &Pod) -> Self {
        match resources::qos(pod) {
            QosClass::Guaranteed => Self::Guaranteed,
            QosClass::Burstable => Self::Burstable,
            QosClass::BestEffort => Self::BestEffort,
        }
    }

    pub(super) fn part(self) -> Option<&'static str> {
        match self {
            Self::Guaranteed => None,
            Self::Burstable => Some("burstable"),
            Self::BestEffort => Some("besteffort"),
        }
    }
}

/// A pod as the tiers count it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TierPod {
    pub tier: Tier,
    /// What it asks for, in milli-CPU.
    pub cpu_milli: i64,
    /// What it asks for, in bytes.
    pub memory_bytes: i64,
}

impl TierPod {
    /// Returns the tier of a pod with the resources that it was allocated.
    pub fn of(pod: &Pod) -> Self {
        let requests = resources::requests(pod);
        let of = |name: &str| requests.get(name).copied().unwrap_or_default();
        Self { tier: Tier::of(pod), cpu_milli: of(CPU), memory_bytes: of(MEMORY) }
    }
}
