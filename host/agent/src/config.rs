//! The agent's settings, with upstream's values where upstream has the same thing.

use std::time::Duration;

use witlet_core::pod::worker::RequeueIntervals;

/// How many events of the PLEG may wait for the loop; more are dropped and counted (upstream: 1000).
pub const PLEG_EVENTS_MAX: usize = 1000;
/// How many pods may wait for a look on demand; a pod that finds no room is seen at the next relist
/// (upstream: 200).
pub const RELIST_REQUESTS_MAX: usize = 200;
/// How many pods the PLEG looks at closely at the same time.
pub const INSPECTIONS_MAX: usize = 16;
/// How many probe results may wait for the loop (upstream: 20).
pub const PROBE_RESULTS_MAX: usize = 20;
/// How many pods are put to the admission handlers at the same time, if the first of them is slow.
pub const ADMISSIONS_MAX: usize = 16;
/// How many remembered events are kept.
pub const EVENTS_MAX: usize = 2000;
/// One round of removals may take this long; what isn't done by then is decided anew. A runtime that hangs on one call
/// must not keep the leftovers of all other pods.
pub(crate) const CLEAN_UP_MAX: Duration = Duration::from_secs(30);
/// How many removals of dead pods' leftovers run at the same time.
pub const REMOVALS_MAX: usize = 8;

/// Settings of an agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentConfig {
    /// Pods that are due are looked at this often.
    pub sync_tick: Duration,
    /// Clean-up of what no pod needs any more runs this often.
    pub housekeeping: Duration,
    /// The runtime is asked for all its pods this often.
    pub relist: Duration,
    /// A last successful relist older than this makes the runtime unhealthy.
    pub relist_age_max: Duration,
    /// The runtime is asked how it is this often.
    pub runtime_check: Duration,
    /// When pods are looked at again.
    pub requeue: RequeueIntervals,
    /// After a start no new pod is judged until every source was seen, but not for longer than this: so that the
    /// pods that ran before the start are counted first, and a dead source doesn't hold up the others for good.
    pub sources_wait_max: Duration,
    /// A pod that the admission handlers take longer for than this no longer holds up those behind it.
    pub admission_patience: Duration,
    /// A failed write of the admitted pods is tried again after this.
    pub save_retry: Duration,
    /// How many images are fetched at the same time, at least 1.
    pub image_pulls_max: usize,
    /// The end of the agent waits this long for work that runs, then drops it.
    pub stop_wait_max: Duration,
    /// Whether pods that were admitted before a restart are put to the admission handlers again. The kubelet does
    /// that; a pod that runs is then ended if the handlers changed their mind.
    pub readmit_on_restart: bool,
    /// Whether the end of the agent is the end of its pods. The kubelet's pods survive it.
    pub stop_pods_on_exit: bool,
    /// With `stop_pods_on_exit`, pods have this long to end, whatever grace they have.
    pub stop_pods_wait_max: Duration,
}

impl Default for AgentConfig {
    fn default() -> Self {
        Self {
            sync_tick: Duration::from_secs(1),
            housekeeping: Duration::from_secs(2),
            relist: Duration::from_secs(1),
            relist_age_max: Duration::from_secs(180),
            runtime_check: Duration::from_secs(5),
            requeue: RequeueIntervals::default(),
            sources_wait_max: Duration::from_secs(10),
            admission_patience: Duration::from_millis(20),
            save_retry: Duration::from_secs(1),
            image_pulls_max: 4,
            stop_wait_max: Duration::from_secs(5),
            readmit_on_restart: false,
            stop_pods_on_exit: false,
            stop_pods_wait_max: Duration::from_secs(60),
        }
    }
}
