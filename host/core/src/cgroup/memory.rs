//! Memory that is kept for pods (gate `MemoryQoS`, version 2 only) and from the lower classes (gate `QOSReserved`)
//! (`cm/helpers_linux.go`, `cm/qos_container_manager_linux.go`).

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::Pod;

use super::resources::ResourceConfig;
use super::tier::{Tier, TierPod};
use crate::pod::resources::{self, MEMORY, QosClass};

/// The file of version 2 with the memory that is never reclaimed.
pub const MEMORY_MIN: &str = "memory.min";
pub(crate) const MEMORY_LOW: &str = "memory.low";

/// What is kept of memory that pods ask for (`memoryReservationPolicy`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MemoryReservation {
    #[default]
    None,
    /// For Guaranteed pods under all circumstances (`memory.min`), for Burstable ones as long as others have memory to give
    /// (`memory.low`).
    Tiered,
}

/// What the gate `MemoryQoS` makes of requests and limits of memory.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MemoryQos {
    pub reservation: MemoryReservation,
    /// From which part of the way from its request to its limit on a container is slowed down (`memoryThrottlingFactor`),
    /// above 0 to 1.
    pub throttling_factor: f64,
    /// Size of a page of memory in bytes.
    pub page_bytes: i64,
}

impl MemoryQos {
    /// Files of a pod's own cgroup.
    pub fn of_pod(&self, pod: &Pod) -> BTreeMap<String, String> {
        let request = resources::requests(pod).get(MEMORY).copied().unwrap_or_default();
        let file = match resources::qos(pod) {
            QosClass::Guaranteed => MEMORY_MIN,
            // The overhead of a BestEffort pod's sandbox is kept, too.
            QosClass::Burstable | QosClass::BestEffort => MEMORY_LOW,
        };
        match self.reservation {
            MemoryReservation::Tiered if request > 0 => [(file.to_owned(), request.to_string())].into(),
            MemoryReservation::Tiered | MemoryReservation::None => BTreeMap::new(),
        }
    }

    /// From how many bytes on a container is slowed down; none if it never is. `limit` of 0 is none, and `allocatable`, what all
    /// pods may use, takes its place.
    pub fn throttled_from(&self, request: i64, limit: i64, allocatable: i64) -> Option<i64> {
        if request == limit {
            return None;
        }
        let most = if limit == 0 { allocatable } else { limit };
        let page = self.page_bytes.max(1);
        // As upstream reckons, in floating point.
        #[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation, reason = "upstream's figures")]
        let pages = {
            let (request, most, page) = (request as f64, most as f64, page as f64);
            ((request + (most - request) * self.throttling_factor) / page).floor() as i64
        };
        let high = pages.saturating_mul(page);
        (most > 0 && high > request).then_some(high)
    }
}

/// How memory is divided among the classes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TierMemory {
    /// What is kept; none without the gate, or on version 1.
    pub reservation: Option<MemoryReservation>,
    /// Percents of what a class asks for that lower ones can't have (`qosReserved`), and the bytes that all pods may use.
    pub reserved: Option<QosReserved>,
}

/// Memory that pods of a class are kept together, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KeptMemory {
    /// Of Guaranteed ones, under all circumstances.
    pub guaranteed: i64,
    /// Of Burstable ones, as long as others have memory to give.
    pub burstable: i64,
}

/// `qosReserved` of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QosReserved {
    /// 0 to 100.
    pub percent: i64,
    /// Bytes that all pods may use; 0 reserves nothing.
    pub allocatable: i64,
}

impl TierMemory {
    /// Returns what these pods are kept; none without the gate, or on version 1.
    pub fn kept(&self, pods: &[TierPod]) -> Option<KeptMemory> {
        Some(match self.reservation? {
            MemoryReservation::Tiered => KeptMemory {
                guaranteed: requested(Tier::Guaranteed, pods),
                burstable: requested(Tier::Burstable, pods),
            },
            MemoryReservation::None => KeptMemory::default(),
        })
    }

    /// Adds the part of memory to what the tiers are set to.
    pub(super) fn add_to(&self, tiers: &mut [(Tier, ResourceConfig); 3], pods: &[TierPod]) {
        if let Some(KeptMemory { guaranteed, burstable }) = self.kept(pods) {
            for (tier, config) in tiers.iter_mut() {
                let (file, bytes) = match tier {
                    // What is kept for a cgroup holds only as far as the one above it is kept as much.
                    Tier::Guaranteed => (MEMORY_MIN, guaranteed.saturating_add(burstable)),
                    Tier::Burstable => (MEMORY_LOW, burstable),
                    Tier::BestEffort => continue,
                };
                config.unified.insert(file.to_owned(), bytes.to_string());
            }
        }
        let Some(QosReserved { percent, allocatable }) = self.reserved.filter(|r| r.allocatable > 0) else {
            return;
        };
        let part =
            |bytes: i64| i64::try_from(i128::from(bytes) * i128::from(percent) / 100).unwrap_or(i64::MAX);
        let burstable_limit = allocatable.saturating_sub(part(requested(Tier::Guaranteed, pods)));
        let best_effort_limit = burstable_limit.saturating_sub(part(requested(Tier::Burstable, pods)));
        for (tier, config) in tiers.iter_mut() {
            config.memory_bytes = match tier {
                Tier::Guaranteed => None,
                Tier::Burstable => Some(burstable_limit),
                Tier::BestEffort => Some(best_effort_limit),
            };
        }
    }
}

/// Bytes that the pods of a class ask for together.
fn requested(tier: Tier, pods: &[TierPod]) -> i64 {
    let of_tier = pods.iter().filter(|pod| pod.tier == tier);
    of_tier.fold(0_i64, |sum, pod| sum.saturating_add(pod.memory_bytes))
}

/// The percents in a value of `qosReserved`, such as `50%`.
///
/// # Errors
/// In upstream's words, when it is none.
pub fn percentage(text: &str) -> Result<i64, String> {
    let Some(number) = text.strip_suffix('%') else {
        return Err(format!("percentage expected, got '{text}'"));
    };
    let percent: i64 = number.parse().map_err(|_| format!("failed to convert percentage '{text}' to int"))?;
    match percent {
        0..=100 => Ok(percent),
        _ => Err("percentage must be between 0 and 100".to_owned()),
    }
}
