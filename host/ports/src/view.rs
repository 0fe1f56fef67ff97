//! The port that shows the agent to people: the local API, and programs that embed the agent.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Node, Pod, PodStatus};
use tokio::sync::watch;
use tokio::time::Instant;
use witlet_core::cgroup::{CgroupVersion, KeptMemory};
use witlet_core::event::Event;
use witlet_core::eviction::ThresholdState;
use witlet_core::pod::working::WorkingPod;
use witlet_core::pod::{PodFullName, PodUid};

use crate::description::PodDescription;
use crate::metrics::Histogram;
use crate::probes::ProbeCounts;

/// An event as the agent remembers it: repeats are counted, not kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordedEvent {
    pub event: Arc<Event>,
    /// How often, at least 1.
    pub count: u32,
    pub first_seen: Timestamp,
    pub last_seen: Timestamp,
    /// Larger than that of every event recorded before, also by an agent before this one.
    pub version: u64,
}

/// Events that were recorded after others.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EventPage {
    pub events: Vec<RecordedEvent>,
    /// The version of the newest event of all; 0 before the first.
    pub version: u64,
    /// Events in between were forgotten, because only a bounded number is remembered.
    pub has_gap: bool,
}

/// A pod and its newest status. They are two objects, because one of both is a copy of the pod.
#[derive(Clone, Debug, PartialEq)]
pub struct ShownPod {
    /// As its source has it.
    pub pod: Arc<Pod>,
    /// The status; none if the pod's own is the newest.
    pub status: Option<Arc<PodStatus>>,
}

impl ShownPod {
    /// Both in one object.
    pub fn into_pod(self) -> Arc<Pod> {
        let Some(status) = self.status else { return self.pod };
        let mut shown = Arc::unwrap_or_clone(self.pod);
        shown.status = Some(Arc::unwrap_or_clone(status));
        Arc::new(shown)
    }
}

/// Pods that came or changed after others.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PodPage {
    /// Ordered by namespace and name.
    pub changed: Vec<ShownPod>,
    /// All that there are, if any went meanwhile.
    pub left: Option<BTreeSet<PodUid>>,
    /// The version of the newest change of all; 0 before the first.
    pub version: u64,
}

/// How often probes were carried out, by their kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProbeTotals {
    pub startup: ProbeCounts,
    pub readiness: ProbeCounts,
    pub liveness: ProbeCounts,
}

/// Numbers about the agent itself.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AgentStats {
    /// The longest time that the event loop spent on one event.
    pub longest_pause: Duration,
    /// Events that the loop handled.
    pub events_handled: u64,
    /// When it handled the last one; none before the first.
    pub last_event: Option<Instant>,
    /// PLEG events that were dropped because the loop didn't keep up.
    pub pleg_events_dropped: u64,
    /// Pods that wait for admission, deferred ones not counted.
    pub admission_queue: usize,
    /// Pods that a handler deferred, and that wait as `Blocked`.
    pub deferred: usize,
    /// Pods whose rejection waits for its time, as `Blocked`.
    pub rejections_waiting: usize,
    /// Rejections since the agent began that had to wait, because others for the same controller were published before.
    pub rejections_delayed: u64,
    /// Whether every source was seen.
    pub sources_ready: bool,
    /// Sources whose pods can't be read, and for how long.
    pub unread_sources: BTreeMap<String, Duration>,
    /// When the first sync finished, if one did.
    pub first_sync: Option<Timestamp>,
    /// Probes since the agent began.
    pub probes: ProbeTotals,
    /// Pods that admission refused since the agent began, by reason; reasons beyond a bounded number count as `Other`.
    pub rejections: BTreeMap<String, u64>,
    /// Pods that were ended since the agent began to free capacity for a critical one, by the first resource that it lacked; resources beyond a
    /// bounded number count as `Other` (upstream: `kubelet_preemptions`).
    pub preemptions: BTreeMap<String, u64>,
    /// Pods that admission handlers see as the node's (upstream: `kubelet_active_pods`).
    pub active_pods: ActivePods,
    /// Pods that sources want here, whether they were admitted or not (upstream: `kubelet_desired_pods`).
    pub desired_pods: ActivePods,
    /// Pods that have workers (upstream: `kubelet_working_pods`).
    pub working_pods: BTreeMap<WorkingPod, u64>,
    /// Pods that were evicted since the agent began, by signal (upstream: `kubelet_evictions`).
    pub evictions: BTreeMap<&'static str, u64>,
    /// How old the figures were for which pods were evicted, by signal, in seconds (upstream: `kubelet_eviction_stats_age_seconds`).
    pub eviction_stats_ages: BTreeMap<&'static str, Histogram>,
    /// What the agent does with cgroups.
    pub cgroups: CgroupStats,
    /// Images that the image garbage collection removed since the agent began.
    pub images_removed: ImageRemovals,
}

/// Pods by where they come from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ActivePods {
    /// Of the API server.
    pub of_api_server: u64,
    /// Of every other source.
    pub of_node: u64,
}

impl ActivePods {
    /// Counts one more, of the API server or, if it is static, of another source.
    pub fn add(&mut self, is_static: bool) {
        let count = if is_static { &mut self.of_node } else { &mut self.of_api_server };
        *count += 1;
    }
}

/// What the agent does with cgroups.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CgroupStats {
    /// The kernel's; none where there are no cgroups (upstream: `kubelet_cgroup_version`).
    pub version: Option<CgroupVersion>,
    /// How long making, setting and removing cgroups took (upstream: `kubelet_cgroup_manager_duration_seconds`).
    pub durations: CgroupDurations,
    /// Memory that classes are kept, in bytes; none without the gate `MemoryQoS`, or on version 1 (upstream:
    /// `kubelet_memory_qos_node_memory_min_bytes` and `_low_bytes`).
    pub kept_memory: Option<KeptMemory>,
    /// The runtime doesn't say which driver it uses, which later releases need (upstream: `kubelet_cri_losing_support`).
    pub runtime_names_no_driver: bool,
}

/// By what was done, whether it succeeded or not, in seconds.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CgroupDurations {
    pub create: Histogram,
    pub update: Histogram,
    pub destroy: Histogram,
}

/// Removed images by reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ImageRemovals {
    /// They were unused for longer than the maximum age.
    pub age: u64,
    pub space: u64,
}

/// A view of the agent that never waits: each call answers from the newest published state.
pub trait AgentView: Send + Sync {
    /// Returns all pods that a source has or that still end, with their newest status; ordered by namespace and name.
    fn pods(&self) -> Vec<Arc<Pod>>;
    /// One of them by its name; where several have it, one that isn't deleted yet, if there is one.
    fn pod(&self, namespace: &str, name: &str) -> Option<Arc<Pod>> {
        let named = |pod: &Arc<Pod>| PodFullName::of(pod) == PodFullName::new(namespace, name);
        let found = self.pods().into_iter().filter(named);
        found.min_by_key(|pod| pod.metadata.deletion_timestamp.is_some())
    }
    /// Remembered events, oldest first.
    fn events(&self) -> Vec<RecordedEvent>;
    /// Returns those after this version: all, if it is 0 or none of this agent's. A repeated event has the version of its latest time.
    fn events_after(&self, version: u64) -> EventPage {
        let events: Vec<RecordedEvent> =
            self.events().into_iter().filter(|event| event.version > version).collect();
        let newest = events.last().map_or(version, |event| event.version);
        EventPage { events, version: newest, has_gap: false }
    }
    /// Changes with each event that is recorded; closed where no one says so.
    fn event_changes(&self) -> watch::Receiver<u64> {
        watch::channel(0).1
    }
    /// The pods that came or changed after this version: at least those, and all if it is 0.
    fn pods_after(&self, _version: u64) -> PodPage {
        let changed: Vec<ShownPod> =
            self.pods().into_iter().map(|pod| ShownPod { pod, status: None }).collect();
        let left = changed.iter().map(|shown| PodUid::of(&shown.pod)).collect();
        PodPage { changed, left: Some(left), version: 0 }
    }
    /// Changes with each pod that comes, changes or goes; closed where no one says so.
    fn pod_changes(&self) -> watch::Receiver<u64> {
        watch::channel(0).1
    }
    /// Returns what is known of the pod with this UID beyond its object; empty if nothing is.
    fn describe_pod(&self, _uid: &PodUid) -> PodDescription {
        PodDescription::default()
    }
    /// The node, with its Ready condition as the agent sees it.
    fn node(&self) -> Arc<Node>;
    /// Why the agent isn't healthy; empty if it is.
    fn unhealthy(&self) -> Vec<String>;
    /// Numbers about the agent.
    fn stats(&self) -> AgentStats;
    /// The thresholds of evictions, and how far away each is; empty before the first check of the node.
    fn thresholds(&self) -> Vec<ThresholdState> {
        Vec::new()
    }
}
