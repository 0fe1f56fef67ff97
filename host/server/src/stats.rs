//! What the node and its pods use, measured when it is asked for: `/stats/summary` and `/metrics/resource`.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use futures::{StreamExt as _, stream};
use hyper::body::Bytes;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Pod;
use thiserror::Error;
use tokio::sync::Mutex;
use tokio::time::{Instant, timeout};
use witlet_core::pod::PodUid;
use witlet_core::runtime::{ContainerId, RuntimePod};
use witlet_core::stats::cadvisor::Scrape;
use witlet_core::stats::cgroup_usage::CgroupUsage;
use witlet_core::stats::rates::Rates;
use witlet_core::stats::summary::{
    ContainerMeasurement, FsMeasurement, Measurements, PodMeasurement, Scope, VolumeMeasurement,
};
use witlet_core::stats::system_containers::{self, SystemContainer};
use witlet_core::stats::{FsUsage, LocalStorage, NewestUsages, newest};
use witlet_ports::{
    AgentView, Clock, ImageFilesystem, ImageStore, KernelCounts, KernelMeter, MetricsSource, PodCounts,
    PodView, RunningPod, RuntimeError, RuntimeStats, ShownPod, StorageMeter,
};

mod background;
mod cadvisor;
mod containers;
mod newest;
mod storage_metrics;
#[cfg(test)]
pub(crate) mod tests;

use background::Background;
pub use containers::CgroupContainerStats;
use newest::Newest;
use storage_metrics::StorageMetrics;

/// Requests within this time get the same measurements, of pods that the runtime listed within it.
const FRESH: Duration = Duration::from_secs(1);
/// Folders of pods are added up this often at most, unless the operator says otherwise (upstream: `volumeStatsAggPeriod`).
pub const VOLUME_STATS_PERIOD: Duration = Duration::from_secs(60);
/// So many passes later what one found isn't shown to monitoring any more: passes begin only while someone asks.
const OLD_PASSES: u32 = 3;
/// Writable layers are asked of the runtime this often at most: it measures them itself only now and then (containerd: every 10 s), and
/// takes its time to list them.
const LAYERS_PERIOD: Duration = Duration::from_secs(10);
/// Pods whose folders are added up at the same time: one whose file system hangs holds up only a part of the others.
const MEASURED_AT_ONCE: usize = 4;
/// While the kernel doesn't answer, figures are shown that are at most so old.
const OLD_MAX: Duration = Duration::from_secs(60);
/// What images take is asked of the runtime for so long.
const IMAGES_TIMEOUT: Duration = Duration::from_secs(10);

/// What usage is measured with.
#[derive(Clone)]
pub struct StatsPorts {
    /// The pods as their sources have them.
    pub view: Arc<dyn AgentView>,
    /// The pods as the runtime has them.
    pub pods: Arc<dyn PodView>,
    /// What the runtime measures: writable layers, and all of containers that have no cgroup.
    pub runtime: Arc<dyn RuntimeStats>,
    pub images: Arc<dyn ImageStore>,
    /// What the kernel counts.
    pub kernel: Arc<dyn KernelMeter>,
    /// What pods' folders take.
    pub storage: Arc<dyn StorageMeter>,
    /// The time of measurements.
    pub clock: Arc<dyn Clock>,
    pub node_name: String,
    /// The agent's own folder.
    pub root: PathBuf,
}

/// Whose processor time is compared with what it was.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Measured {
    Node,
    System(SystemContainer),
    Pod(PodUid),
    Container(ContainerId),
}

/// Measures on demand. All requests share what was measured a moment before.
pub(crate) struct StatsProvider {
    ports: StatsPorts,
    started_at: Timestamp,
    state: Mutex<State>,
    /// Apart from the rest: a slow file system delays no one who doesn't ask for it.
    filesystems: Mutex<Option<(Instant, Filesystems)>>,
    /// Apart, too: it takes longest of all.
    cgroups: Mutex<Option<(Instant, Arc<Scrape>)>>,
    /// Whether volumes are measured.
    has_volumes: bool,
    /// What pods' folders take.
    storage: Background<BTreeMap<PodUid, LocalStorage>>,
    storage_metrics: Arc<StorageMetrics>,
    /// What writable layers take.
    layers: Background<NewestUsages>,
}

#[derive(Default)]
struct State {
    rates: Rates<Measured>,
    newest: Option<Newest>,
}

/// Why there is no summary.
#[derive(Debug, Error)]
pub(crate) enum SummaryError {
    /// The runtime doesn't say which pods run.
    #[error(transparent)]
    Runtime(#[from] RuntimeError),
    /// It can't be written.
    #[error("the summary can't be written: {0}")]
    Write(#[from] io::Error),
}

/// What is listed and counted at a time.
struct Round {
    listed: Arc<Vec<RuntimePod>>,
    specs: BTreeMap<PodUid, ShownPod>,
    running: Vec<RunningPod>,
    counts: KernelCounts,
}

/// A file system, where it is known, and what is used of it.
type UsedFilesystem = (Option<FsMeasurement>, FsUsage);

#[derive(Clone, Copy, Default)]
struct Filesystems {
    node: Option<FsMeasurement>,
    images: Option<UsedFilesystem>,
    containers: Option<UsedFilesystem>,
}

impl StatsProvider {
    /// `volumes` is how often volumes are measured; none if never.
    pub(crate) fn new(ports: StatsPorts, volumes: Option<Duration>) -> Self {
        let started_at = ports.clock.now();
        let period = volumes.unwrap_or(VOLUME_STATS_PERIOD);
        Self {
            ports,
            started_at,
            state: Mutex::default(),
            filesystems: Mutex::default(),
            cgroups: Mutex::default(),
            has_volumes: volumes.is_some(),
            storage: Background::new(period),
            storage_metrics: Arc::new(StorageMetrics::new(period.saturating_mul(OLD_PASSES))),
            layers: Background::new(LAYERS_PERIOD),
        }
    }

    /// What is used now, or was within the last second.
    ///
    /// # Errors
    /// When the runtime doesn't say which pods run.
    pub(crate) async fn measurements(&self, scope: Scope) -> Result<Arc<Measurements>, RuntimeError> {
        Ok(self.newest(scope).await?.measured)
    }

    /// The same with its summary as JSON, which all requests of a second share.
    ///
    /// # Errors
    /// When the runtime doesn't say which pods run.
    pub(crate) async fn summary(&self, scope: Scope) -> Result<(Arc<Measurements>, Bytes), SummaryError> {
        let newest = self.newest(scope).await?;
        let written = newest.summary(scope).await?;
        Ok((newest.measured, written))
    }

    async fn newest(&self, scope: Scope) -> Result<Newest, RuntimeError> {
        let disk = match scope {
            Scope::All => Some((self.filesystems().await, self.storage().await)),
            Scope::CpuAndMemory => None,
        };
        let mut state = self.state.lock().await;
        let State { rates, newest } = &mut *state;
        let known = |age| newest.as_ref().filter(|known| known.serves(scope, age)).cloned();
        if let Some(known) = known(FRESH) {
            return Ok(known);
        }
        let round = self.round(scope).await?;
        // The runtime's figures are of other moments than the kernel's, so that no rate comes of them.
        if round.counts.has_timed_out
            && let Some(known) = known(OLD_MAX)
        {
            return Ok(known);
        }
        let (filesystems, storage) = disk.unwrap_or_default();
        let measured = Newest::new(
            scope,
            Measurements {
                nodefs: filesystems.node,
                imagefs: filesystems.images,
                containerfs: filesystems.containers,
                ..self.measure(rates, scope, &round, &storage).await
            },
        );
        *newest = Some(measured.clone());
        Ok(measured)
    }

    async fn round(&self, scope: Scope) -> Result<Round, RuntimeError> {
        let listed = self.ports.pods.list_pods_within(FRESH).await?;
        let specs = self.specs();
        let running: Vec<RunningPod> =
            listed.iter().filter_map(|pod| running(pod, specs.get(&pod.uid))).collect();
        let counts = self.ports.kernel.counts(running.clone(), scope).await;
        Ok(Round { listed, specs, running, counts })
    }

    /// Without file systems.
    async fn measure(
        &self,
        rates: &mut Rates<Measured>,
        scope: Scope,
        round: &Round,
        storage: &BTreeMap<PodUid, LocalStorage>,
    ) -> Measurements {
        let Round { listed, specs, running, counts } = round;
        let by_runtime = self.by_runtime(running, counts, scope).await;
        let pods: Vec<PodMeasurement> = listed
            .iter()
            .map(|pod| {
                let spec = specs.get(&pod.uid).map(|shown| &shown.pod);
                self.pod(rates, pod, spec, counts, &by_runtime, storage.get(&pod.uid))
            })
            .collect();
        let measured = self.node(rates, counts, pods);
        forget(rates, listed);
        measured
    }

    /// The pods as their sources have them, without copies of them.
    fn specs(&self) -> BTreeMap<PodUid, ShownPod> {
        let shown = self.ports.view.pods_after(0).changed;
        shown.into_iter().map(|shown| (PodUid::of(&shown.pod), shown)).collect()
    }

    fn node(
        &self,
        rates: &mut Rates<Measured>,
        counts: &KernelCounts,
        pods: Vec<PodMeasurement>,
    ) -> Measurements {
        let system = system_containers::measurements(&counts.system, self.started_at, |of, usage| {
            nanocores(rates, Measured::System(of), usage)
        });
        Measurements {
            at: self.ports.clock.now(),
            node_name: self.ports.node_name.clone(),
            booted_at: counts.booted_at,
            node: counts.node,
            node_nanocores: counts.node.and_then(|usage| nanocores(rates, Measured::Node, &usage)),
            system,
            network: counts.network.clone(),
            nodefs: None,
            imagefs: None,
            containerfs: None,
            pids: counts.pids,
            pods,
        }
    }

    fn pod(
        &self,
        rates: &mut Rates<Measured>,
        pod: &RuntimePod,
        spec: Option<&Arc<Pod>>,
        counts: &KernelCounts,
        by_runtime: &NewestUsages,
        storage: Option<&LocalStorage>,
    ) -> PodMeasurement {
        let none = PodCounts::default();
        let counted = counts.pods.get(&pod.uid).unwrap_or(&none);
        let now = self.ports.clock.now();
        let containers = pod.running_containers().filter_map(|container| {
            let counts = counted.containers.get(&container.id);
            let measured = by_runtime.get(&(pod.uid.clone(), container.name.clone())).map(|(_, usage)| usage);
            let usage = match counts {
                Some(counts) => counts.usage,
                None => measured?.as_cgroup(now)?,
            };
            let logs = storage.and_then(|storage| storage.logs.get(&container.name));
            Some(ContainerMeasurement {
                name: container.name.clone(),
                started_at: container.created_at,
                nanocores: nanocores(rates, Measured::Container(container.id.clone()), &usage),
                usage,
                rootfs: measured.map(|measured| measured.rootfs).unwrap_or_default(),
                logs: logs.copied().unwrap_or_default(),
                processes: counts.and_then(|counts| counts.processes),
            })
        });
        let containers = containers.collect();
        let volumes = storage.into_iter().flat_map(LocalStorage::measured_volumes);
        PodMeasurement {
            name: pod.name.clone(),
            namespace: pod.namespace.clone(),
            uid: pod.uid.to_string(),
            started_at: pod.sandboxes.first().map_or(now, |sandbox| sandbox.created_at),
            containers,
            nanocores: counted
                .usage
                .and_then(|usage| nanocores(rates, Measured::Pod(pod.uid.clone()), &usage)),
            usage: counted.usage,
            network: counted.network.clone(),
            pod: spec.cloned(),
            volumes: volumes
                .map(|(name, usage, system)| VolumeMeasurement { name: name.to_owned(), usage, system })
                .collect(),
            own: storage.map(|storage| storage.own).unwrap_or_default(),
        }
    }

    /// What the runtime measures, by pod and name of the container: for writable layers, and where a cgroup is missing.
    async fn by_runtime(
        &self,
        running: &[RunningPod],
        counts: &KernelCounts,
        scope: Scope,
    ) -> Arc<NewestUsages> {
        let is_counted = |pod: &RunningPod| {
            let counted = counts.pods.get(&pod.uid);
            pod.containers.iter().all(|id| counted.is_some_and(|pod| pod.containers.contains_key(id)))
        };
        if !running.iter().all(is_counted) {
            return Arc::new(usages_of(&*self.ports.runtime).await.unwrap_or_default());
        }
        if scope == Scope::CpuAndMemory {
            return Arc::default();
        }
        let runtime = self.ports.runtime.clone();
        self.layers.begin(|| async move { usages_of(&*runtime).await }).await;
        self.layers.newest().await.unwrap_or_default()
    }

    /// What pods' folders took at the last pass. Begins the next one if it is time.
    async fn storage(&self) -> Arc<BTreeMap<PodUid, LocalStorage>> {
        self.begin_pass().await;
        self.storage.newest().await.unwrap_or_default()
    }

    /// Adds up pods' folders, if it is time.
    async fn begin_pass(&self) {
        self.storage.begin(|| self.pass()).await;
    }

    /// The same before monitoring sees what the last pass found, which it does only of pods that are there.
    pub(crate) async fn refresh_metrics(&self) {
        self.begin_pass().await;
        let shown = self.ports.view.pods_after(0).changed;
        let uids: BTreeSet<PodUid> = shown.iter().map(|shown| PodUid::of(&shown.pod)).collect();
        self.storage_metrics.keep(|uid| uids.contains(uid));
    }

    /// What the last pass found, for monitoring.
    pub(crate) fn metrics(&self) -> Arc<dyn MetricsSource> {
        self.storage_metrics.clone()
    }

    fn pass(&self) -> impl Future<Output = Option<BTreeMap<PodUid, LocalStorage>>> + Send + 'static {
        let (ports, metrics, has_volumes) =
            (self.ports.clone(), self.storage_metrics.clone(), self.has_volumes);
        async move {
            let system = ports.kernel.filesystem(&ports.root).await;
            let pods = stream::iter(ports.view.pods_after(0).changed);
            let (ports, metrics, system) = (&ports, &metrics, system.as_ref());
            let measure = |ShownPod { pod, .. }: ShownPod| async move {
                let begun = Instant::now();
                let pod = if has_volumes { pod } else { Arc::new(without_volumes(&pod)) };
                let used = ports.storage.measure(&pod).await;
                metrics.measured(&pod, &used, system, ports.clock.now(), begun.elapsed());
                (PodUid::of(&pod), used)
            };
            let measured: BTreeMap<PodUid, LocalStorage> =
                pods.map(measure).buffer_unordered(MEASURED_AT_ONCE).collect().await;
            metrics.keep(|uid| measured.contains_key(uid));
            Some(measured)
        }
    }

    /// What the runtime doesn't say stays unknown.
    async fn filesystems(&self) -> Filesystems {
        let mut newest = self.filesystems.lock().await;
        if let Some((at, known)) = &*newest
            && at.elapsed() < FRESH
        {
            return *known;
        }
        let found = timeout(IMAGES_TIMEOUT, self.ports.images.filesystems()).await;
        let found = found.ok().and_then(Result::ok).unwrap_or_default();
        let known = Filesystems {
            node: self.ports.kernel.filesystem(&self.ports.root).await,
            images: self.filesystem(found.images.first()).await,
            containers: self.filesystem(found.containers.first()).await,
        };
        *newest = Some((Instant::now(), known));
        known
    }

    async fn filesystem(&self, of: Option<&ImageFilesystem>) -> Option<UsedFilesystem> {
        let of = of?;
        let used = FsUsage { bytes: of.used_bytes, inodes: of.inodes_used };
        Some((self.ports.kernel.filesystem(&of.mountpoint).await, used))
    }
}

/// The pod as far as its logs and its own files are found.
fn without_volumes(pod: &Pod) -> Pod {
    let mut pod = pod.clone();
    if let Some(spec) = &mut pod.spec {
        spec.volumes = None;
    }
    pod
}

/// Returns `None` if the runtime doesn't answer.
async fn usages_of(runtime: &dyn RuntimeStats) -> Option<NewestUsages> {
    match runtime.containers().await {
        Ok(stats) => Some(newest(stats.into_iter().map(|stats| (stats.uid, stats.attempt, stats.usage)))),
        Err(error) => {
            tracing::debug!(%error, "Failed to get container stats of the runtime");
            None
        }
    }
}

/// Forgets what isn't there any more.
fn forget(rates: &mut Rates<Measured>, listed: &[RuntimePod]) {
    let pods: HashSet<&PodUid> = listed.iter().map(|pod| &pod.uid).collect();
    let containers: HashSet<&str> =
        listed.iter().flat_map(|pod| &pod.containers).map(|container| container.id.as_str()).collect();
    rates.retain(|measured| match measured {
        Measured::Node | Measured::System(_) => true,
        Measured::Pod(uid) => pods.contains(uid),
        Measured::Container(id) => containers.contains(id.as_str()),
    });
}

/// Returns `None` for a pod of which nothing runs.
fn running(pod: &RuntimePod, spec: Option<&ShownPod>) -> Option<RunningPod> {
    let host_network = spec.and_then(|shown| shown.pod.spec.as_ref()?.host_network).unwrap_or(false);
    RunningPod::of(pod, host_network)
}

fn nanocores(rates: &mut Rates<Measured>, of: Measured, usage: &CgroupUsage) -> Option<u64> {
    rates.measured(of, usage.cpu_nanoseconds?, usage.at)
}
