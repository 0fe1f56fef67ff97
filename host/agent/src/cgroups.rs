//! The container manager: the cgroup of all pods, the tiers of classes, and limits of the system's own cgroups (upstream:
//! `cm/container_manager_linux.go`, `cm/qos_container_manager_linux.go`, `cm/node_container_manager_linux.go`).

mod metrics;
mod node;
mod system;
#[cfg(test)]
pub(crate) mod tests;
mod tiers;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use k8s_openapi::api::core::v1::Pod;
pub(crate) use metrics::CgroupMetrics;
use metrics::MeasuredCgroups;
use thiserror::Error;
use tokio::sync::watch;
use tokio::time::MissedTickBehavior;
use tokio_util::sync::CancellationToken;
use witlet_core::cgroup::{CgroupLayout, CpuQuotaPolicy, MemoryQos, Tier, TierPod};
use witlet_core::container::spec::{PodCgroups, SwapBehavior};
use witlet_core::error::one_line;
use witlet_core::node::NodeFacts;
use witlet_core::node::allocatable::{Enforcement, ExcessiveReservation, Reservations};
use witlet_core::node::tunables::TunablePolicy;
use witlet_core::pod::PodUid;
use witlet_core::runtime::CgroupDriver;
use witlet_ports::{CgroupDrivers, CgroupError, Cgroups, EventSink, RuntimeInfo};

/// The tiers are set again this often (upstream: `periodicQOSCgroupUpdateInterval`), and the limit of all pods until it holds.
const UPDATE_INTERVAL: Duration = Duration::from_secs(60);
/// Before the first time, pods of an earlier life of the agent become known again: their class must not weigh nothing meanwhile.
const FIRST_UPDATE: Duration = Duration::from_secs(10);
/// A runtime that doesn't say who makes cgroups, because it isn't there, is asked again after this.
const DRIVER_RETRY: Duration = Duration::from_secs(2);

/// Whether pods have cgroups of their own.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum CgroupMode {
    /// They have (`cgroupsPerQOS`).
    Kept,
    /// The operator wants none.
    Off,
    /// They can't have any here.
    #[default]
    Unsupported,
}

/// What the kubelet's configuration says about cgroups.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CgroupSettings {
    /// Whether pods have cgroups of their own.
    pub mode: CgroupMode,
    /// Who makes cgroups, if the runtime doesn't say (`cgroupDriver`); none is `cgroupfs`.
    pub driver: Option<CgroupDriver>,
    /// The cgroup that the one of all pods is in (`cgroupRoot`), written as a path of the cgroup file system.
    pub root: String,
    /// Whether and how CPU limits become quotas (`cpuCFSQuota`, `cpuCFSQuotaPeriod`).
    pub cpu_quota: CpuQuotaPolicy,
    /// How many processes a pod may have (`podPidsLimit`); none is no limit.
    pub pod_pids_max: Option<i64>,
    /// Whether running out of memory ends one process of a container and not all (`singleProcessOOMKill`).
    pub single_process_oom_kill: bool,
    /// Who may swap (`memorySwap.swapBehavior`).
    pub swap: SwapBehavior,
    /// What is made of requests and limits of memory, version 2 only; none without the gate `MemoryQoS`.
    pub memory_qos: Option<MemoryQos>,
    /// Percents of the memory that a class asks for which lower classes can't have (`qosReserved`); none without the gate
    /// `QOSReserved`.
    pub qos_reserved_percent: Option<i64>,
    /// What is done about tunables of the kernel (`protectKernelDefaults`).
    pub tunables: TunablePolicy,
    /// The cgroup that the agent itself is kept in (`kubeletCgroups`), in the file system with either driver.
    pub own_cgroup: Option<String>,
    /// The cgroup that the system's processes are kept in (`systemCgroups`), in the file system with either driver.
    pub system_processes: Option<String>,
    /// How readily the kernel may end the agent (`oomScoreAdj`); none leaves it as it is.
    pub oom_score: Option<i32>,
    /// What pods can't have.
    pub reservations: Reservations,
    /// What limits are set on (`enforceNodeAllocatable`).
    pub enforce: BTreeSet<Enforcement>,
    /// `systemReservedCgroup`
    pub system_cgroup: String,
    /// `kubeReservedCgroup`
    pub kube_cgroup: String,
    /// How many processes the machine takes; none if it isn't known.
    pub node_pids: Option<i64>,
    /// CPUs that are online, in the kernel's list form.
    pub cpus: String,
}

/// Why the agent doesn't start: upstream ends its start for the same.
#[derive(Debug, Error)]
pub enum CgroupStartError {
    /// Tunables of the kernel that can't be read or written, or have other values than they are to.
    #[error("{0}")]
    Tunables(String),
    /// `cgroupRoot` isn't there.
    #[error("invalid configuration: {0}")]
    Root(CgroupError),
    /// More is reserved than there is.
    #[error(transparent)]
    Reservation(#[from] ExcessiveReservation),
    /// The cgroup of all pods can't be made or set.
    #[error("failed to create the cgroup of all pods {name}: {cause}")]
    Kubepods { name: String, cause: CgroupError },
    /// A controller is missing.
    #[error(transparent)]
    Controllers(CgroupError),
    /// The cgroup of all pods lacks something.
    #[error("error validating root container {name} : {cause}")]
    Incomplete { name: String, cause: CgroupError },
    /// The cgroup of a class can't be made or set.
    #[error("failed to {action} top level {tier:?} QOS cgroup : {cause}")]
    Tier {
        /// `create` or `update`.
        action: &'static str,
        tier: Tier,
        cause: CgroupError,
    },
    /// Limits of the system's own cgroup can't be set.
    #[error("{0}")]
    Enforcement(String),
}

/// How far the manager has come.
#[derive(Clone)]
pub(crate) enum CgroupState {
    /// The runtime hasn't said yet who makes cgroups.
    Starting,
    Kept(Arc<Kept>),
    /// The operator wants none.
    Off,
    /// There can't be any here.
    Unsupported,
}

/// What cgroups are made with.
pub(crate) struct Kept {
    pub(crate) layout: CgroupLayout,
    pub(crate) port: Arc<dyn Cgroups>,
}

impl CgroupState {
    /// Who makes cgroups; where there are none it makes no difference.
    pub(crate) fn driver(&self) -> CgroupDriver {
        match self {
            Self::Kept(kept) => kept.layout.driver(),
            Self::Starting | Self::Off | Self::Unsupported => CgroupDriver::Cgroupfs,
        }
    }

    /// Returns what configurations of pods take.
    pub(crate) fn facts(&self) -> PodCgroups<'_> {
        match self {
            Self::Kept(kept) => PodCgroups::Kept(&kept.layout),
            Self::Off => PodCgroups::Off,
            Self::Starting | Self::Unsupported => PodCgroups::Unsupported,
        }
    }
}

/// Keeps the cgroups above those of pods, and knows which pods count for them.
pub(crate) struct CgroupManager {
    pub(crate) settings: CgroupSettings,
    drivers: CgroupDrivers,
    runtime: Arc<dyn RuntimeInfo>,
    node: watch::Receiver<Arc<NodeFacts>>,
    events: Arc<dyn EventSink>,
    state: watch::Sender<CgroupState>,
    active: Mutex<BTreeMap<PodUid, TierPod>>,
    metrics: Arc<CgroupMetrics>,
    /// One update of the tiers at a time, so that an older one never replaces a newer one.
    updating: tokio::sync::Mutex<()>,
}

impl CgroupManager {
    pub(crate) fn new(
        settings: CgroupSettings,
        drivers: CgroupDrivers,
        runtime: Arc<dyn RuntimeInfo>,
        node: watch::Receiver<Arc<NodeFacts>>,
        events: Arc<dyn EventSink>,
        metrics: Arc<CgroupMetrics>,
    ) -> Self {
        let version = drivers.cgroupfs.as_ref().or(drivers.systemd.as_ref()).map(|any| any.facts().version);
        metrics.update(|stats| stats.version = version);
        let state = match settings.mode {
            CgroupMode::Kept => CgroupState::Starting,
            CgroupMode::Off => CgroupState::Off,
            CgroupMode::Unsupported => CgroupState::Unsupported,
        };
        let (state, active, updating) =
            (watch::Sender::new(state), Mutex::default(), tokio::sync::Mutex::default());
        Self { settings, drivers, runtime, node, events, state, active, metrics, updating }
    }

    /// Makes what has to be there before any pod, then keeps it as it should be until `stop`.
    ///
    /// # Errors
    /// When upstream wouldn't start either.
    pub(crate) async fn run(&self, stop: CancellationToken) -> Result<(), CgroupStartError> {
        // Upstream checks this first, and also where pods have no cgroups (`validateNodeAllocatable`).
        self.settings.reservations.check(&self.capacity())?;
        self.tune().await?;
        self.warn_of_swap().await;
        tokio::select! {
            ended = self.keep(stop) => ended,
            never = self.keep_system() => match never {},
            never = self.watch_oom() => match never {},
        }
    }

    async fn keep(&self, stop: CancellationToken) -> Result<(), CgroupStartError> {
        let kept = match self.settings.mode {
            CgroupMode::Kept => tokio::select! {
                () = stop.cancelled() => None,
                kept = self.start() => Some(kept?),
            },
            CgroupMode::Off | CgroupMode::Unsupported => None,
        };
        let Some(kept) = kept else {
            stop.cancelled().await;
            return Ok(());
        };
        let mut limited = self.limit_pods(&kept).await;
        let mut ticks = tokio::time::interval_at(tokio::time::Instant::now() + FIRST_UPDATE, UPDATE_INTERVAL);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                () = stop.cancelled() => return Ok(()),
                _ = ticks.tick() => {}
            }
            self.update_tiers().await;
            if !limited {
                limited = self.limit_pods(&kept).await;
            }
        }
    }

    /// Asks the runtime who makes cgroups, and makes those above pods.
    async fn start(&self) -> Result<Arc<Kept>, CgroupStartError> {
        let driver = self.driver().await;
        let port = self.drivers.of(driver).ok_or(CgroupStartError::Controllers(CgroupError::NoMounts))?;
        let port = Arc::new(MeasuredCgroups { driver: port, metrics: self.metrics.clone() });
        let layout = CgroupLayout::new(driver, &self.settings.root);
        let kept = Arc::new(Kept { layout, port });
        self.set_up_node(&kept).await?;
        self.state.send_replace(CgroupState::Kept(kept.clone()));
        Ok(kept)
    }

    /// The runtime's word goes before the operator's. One that isn't there is waited for: nothing can be made without it.
    async fn driver(&self) -> CgroupDriver {
        loop {
            match self.runtime.cgroup_driver().await {
                Ok(said) => {
                    self.metrics.update(|stats| stats.runtime_names_no_driver = said.is_none());
                    return said.or(self.settings.driver).unwrap_or(CgroupDriver::Cgroupfs);
                }
                Err(error) => {
                    let error = one_line(&error);
                    tracing::debug!(error, "Failed to read the cgroup driver from the runtime, retrying");
                    tokio::time::sleep(DRIVER_RETRY).await;
                }
            }
        }
    }

    /// Waits until it is known whether pods have cgroups.
    pub(crate) async fn ready(&self) -> CgroupState {
        let mut state = self.state.subscribe();
        let ready = state.wait_for(|state| !matches!(state, CgroupState::Starting)).await;
        // The sender is this manager's own.
        ready.map_or(CgroupState::Unsupported, |state| state.clone())
    }

    /// Returns the current state.
    pub(crate) fn state(&self) -> CgroupState {
        self.state.borrow().clone()
    }

    fn active(&self) -> MutexGuard<'_, BTreeMap<PodUid, TierPod>> {
        self.active.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The pod counts for its class from now on, with the resources that it was allocated.
    pub(crate) fn register(&self, uid: &PodUid, pod: &Pod) {
        self.active().insert(uid.clone(), TierPod::of(pod));
    }

    /// The pod doesn't count any more.
    pub(crate) fn forget(&self, uid: &PodUid) {
        self.active().remove(uid);
    }

    /// Pods that have a cgroup, with its path.
    pub(crate) async fn pods(&self) -> BTreeMap<PodUid, String> {
        let mut found = BTreeMap::new();
        let CgroupState::Kept(kept) = self.state() else { return found };
        for tier in Tier::ALL {
            let path = kept.layout.path(&kept.layout.tier(tier));
            match kept.port.children(&path).await {
                Ok(children) => {
                    let pods =
                        children.into_iter().filter_map(|child| Some((kept.layout.pod_at(&child)?, child)));
                    found.extend(pods);
                }
                Err(error) => {
                    tracing::warn!(cgroup = path, %error, "Failed to get list of pods that still exist on cgroup mounts")
                }
            }
        }
        found
    }
}
