//! The agent's settings, with upstream's values where upstream has the same thing.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use witlet_core::container::gc::GcPolicy;
use witlet_core::eviction::EvictionConfig;
use witlet_core::image::gc::ImageGcPolicy;
use witlet_core::image::records::VerificationPolicy;
use witlet_core::pod::user_namespace::IdRange;
use witlet_core::pod::worker::RequeueIntervals;

use crate::cgroups::CgroupSettings;

/// How many events of the PLEG may wait for the loop; more are dropped and counted (upstream: 1000).
pub const PLEG_EVENTS_MAX: usize = 1000;
/// How many pods may wait for a check on demand; a pod that doesn't fit is seen at the next relist
/// (upstream: 200).
pub const RELIST_REQUESTS_MAX: usize = 200;
/// How many pods the PLEG inspects at the same time.
pub const INSPECTIONS_MAX: usize = 16;
/// How many probe results may wait for the loop (upstream: 20).
pub const PROBE_RESULTS_MAX: usize = 20;
/// How many events that the runtime tells by itself may wait; the runtime waits, too, while the queue is full.
pub const RUNTIME_EVENTS_MAX: usize = 256;
/// How many pods are put to the admission handlers at the same time, if the first of them is slow.
pub const ADMISSIONS_MAX: usize = 16;
/// How many remembered events are kept.
pub const EVENTS_MAX: usize = 2000;
/// A clean-up that takes longer than this is reported (upstream: `housekeepingWarningDuration`).
pub(crate) const CLEAN_UP_WARNING: Duration = Duration::from_secs(1);
/// One round of removals may take this long; what isn't done by then is decided again. A runtime that hangs on one call
/// must not keep the leftovers of all other pods.
pub(crate) const CLEAN_UP_MAX: Duration = Duration::from_secs(30);
/// How many removals of dead pods' leftovers run at the same time.
pub const REMOVALS_MAX: usize = 8;

/// How images are fetched (upstream: `serializeImagePulls`, `maxParallelImagePulls`, `registryPullQPS`,
/// `registryBurst`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ImagePullLimits {
    /// One after the other, in the order in which pods ask. Upstream's default.
    pub serialize: bool,
    /// At the same time, at least 1, where they aren't serialized; none is no limit, as upstream has it.
    pub parallel_max: Option<usize>,
    /// Pulls begun per second in the long run; 0 is no limit.
    pub per_second: u32,
    /// Pulls begun at once after a while without any.
    pub burst: u32,
}

impl Default for ImagePullLimits {
    fn default() -> Self {
        Self { serialize: true, parallel_max: None, per_second: 5, burst: 10 }
    }
}

/// What configurations of pods draw from in addition to the pod and the node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HostSettings {
    /// Folder that `localhostProfile` of a seccomp profile is relative to: `<root>/seccomp`.
    pub seccomp_root: PathBuf,
    /// Whether containers without a seccomp profile get the runtime's own instead of none (`seccompDefault`).
    pub seccomp_default: bool,
    /// Name servers of the cluster; empty without a cluster.
    pub cluster_dns: Vec<IpAddr>,
    /// Domain of the cluster, such as `cluster.local`; empty without a cluster.
    pub cluster_domain: String,
    /// Handlers of the runtime by the names of runtime classes.
    pub runtime_classes: Arc<BTreeMap<String, String>>,
    /// Whether the kernel counts swap by cgroup.
    pub swap_controller: bool,
    /// Whether the runtime is asked to label what pods mount, as SELinux wants it.
    pub selinux: bool,
}

/// Settings of an agent.
#[derive(Clone, Debug, PartialEq)]
pub struct AgentSettings {
    /// Pods that are due are checked this often.
    pub sync_tick: Duration,
    /// Clean-up of what no pod needs any more runs this often.
    pub housekeeping: Duration,
    /// How many dead containers are kept, and from which age on they may go (the kubelet's `--maximum-dead-containers`,
    /// `--maximum-dead-containers-per-container`, `--minimum-container-ttl-duration`).
    pub container_gc: GcPolicy,
    /// The runtime is asked for all its pods this often.
    pub relist: Duration,
    /// A last successful relist older than this makes the runtime unhealthy.
    pub relist_age_max: Duration,
    /// The runtime is asked how it is this often.
    pub runtime_check: Duration,
    /// When pods are checked again.
    pub requeue: RequeueIntervals,
    /// After a start no new pod is judged until every source was seen, but not for longer than this: so that the
    /// pods that ran before the start are counted first, and a dead source doesn't hold up the others for good.
    pub sources_wait_max: Duration,
    /// A pod that the admission handlers take longer for than this no longer holds up those behind it.
    pub admission_timeout: Duration,
    /// How images are fetched.
    pub image_pulls: ImagePullLimits,
    /// For which images that are there already a pod has to show credentials (`imagePullCredentialsVerificationPolicy`).
    pub image_verification: VerificationPolicy,
    /// When images that nothing uses are removed (`imageGCHighThresholdPercent`, `imageGCLowThresholdPercent`,
    /// `imageMinimumGCAge`, `imageMaximumGCAge`).
    pub image_gc: ImageGcPolicy,
    /// How large the logs of containers get.
    pub logs: LogLimits,
    /// When pods end so that the node doesn't run out of anything.
    pub eviction: EvictionConfig,
    /// The end of the agent waits this long for work that runs, then drops it.
    pub stop_wait_max: Duration,
    /// Whether pods that were admitted before a restart are put to the admission handlers again. The kubelet does
    /// that; a pod that runs is then ended if the handlers changed their mind.
    pub readmit_on_restart: bool,
    /// Host ids that pods with user namespaces of their own get.
    pub user_namespace_ids: IdRange,
    /// Cgroups of the node and of pods.
    pub cgroups: CgroupSettings,
    /// Whether the end of the agent is the end of its pods. The kubelet's pods survive it.
    pub stop_pods_on_exit: bool,
    /// With `stop_pods_on_exit`, pods have this long to end, whatever grace they have.
    pub stop_pods_wait_max: Duration,
}

impl Default for AgentSettings {
    fn default() -> Self {
        Self {
            sync_tick: Duration::from_secs(1),
            housekeeping: Duration::from_secs(2),
            container_gc: GcPolicy::default(),
            relist: Duration::from_secs(1),
            relist_age_max: Duration::from_secs(180),
            runtime_check: Duration::from_secs(5),
            requeue: RequeueIntervals::default(),
            sources_wait_max: Duration::from_secs(10),
            admission_timeout: Duration::from_millis(20),
            image_pulls: ImagePullLimits::default(),
            image_verification: VerificationPolicy::default(),
            image_gc: ImageGcPolicy::default(),
            logs: LogLimits::default(),
            eviction: EvictionConfig::default(),
            stop_wait_max: Duration::from_secs(5),
            readmit_on_restart: false,
            user_namespace_ids: IdRange::default(),
            cgroups: CgroupSettings::default(),
            stop_pods_on_exit: false,
            stop_pods_wait_max: Duration::from_secs(60),
        }
    }
}

/// How large logs get, and how many of them are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogLimits {
    /// A log of this many bytes is rotated (`containerLogMaxSize`).
    pub bytes_max: u64,
    /// Files that a container's log has at most, the live one among them (`containerLogMaxFiles`).
    pub files_max: usize,
    /// Logs are checked this often (`containerLogMonitorInterval`).
    pub check_interval: Duration,
}

impl Default for LogLimits {
    fn default() -> Self {
        Self {
            bytes_max: witlet_core::logs::LOG_BYTES_MAX_DEFAULT,
            files_max: witlet_core::logs::LOG_FILES_MAX_DEFAULT,
            check_interval: witlet_core::logs::LOG_CHECK_INTERVAL,
        }
    }
}
