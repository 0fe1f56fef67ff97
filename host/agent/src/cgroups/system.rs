//! The machine around pods: tunables of the kernel at the start, then the agent's own process and the system's, each minute
//! (`ensureStateFunc` in `cm/container_manager_linux.go`).

use std::convert::Infallible;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::MissedTickBehavior;
use witlet_core::error::aggregate;
use witlet_core::event::EventType;
use witlet_core::node::oom::{OomReader, SYSTEM_OOM};
use witlet_core::node::tunables::{TUNABLES, TunablePolicy, tunables_to_write};
use witlet_ports::NodeSystem;

use super::{CgroupManager, CgroupStartError};

/// Processes are put where they belong this often.
const INTERVAL: Duration = Duration::from_secs(60);
/// An agent that no cgroup is named for sets its score with each fifth time.
const SCORE_EVERY: u32 = 5;
/// Messages of the kernel that may wait; its log keeps the others meanwhile.
const KERNEL_MESSAGES_MAX: usize = 64;
/// Upstream's reason and words.
const MEMORY_MAY_BE_SWAPPED: &str = "PossibleMemoryBackedVolumesOnDisk";
const MEMORY_MAY_BE_SWAPPED_MESSAGE: &str = "The tmpfs noswap option is not supported. Memory-backed volumes (e.g. secrets, \
                                             emptyDirs, etc.) might be swapped to disk and should no longer be considered secure.";

impl CgroupManager {
    /// Reads the kernel's tunables, and refuses or writes what differs.
    pub(super) async fn tune(&self) -> Result<(), CgroupStartError> {
        let Some(system) = &self.drivers.system else { return Ok(()) };
        let policy = self.settings.tunables;
        if policy == TunablePolicy::Leave {
            return Ok(());
        }
        let refused = |problems: Vec<String>| CgroupStartError::Tunables(aggregate(problems));
        let mut found = Vec::with_capacity(TUNABLES.len());
        for (name, _) in TUNABLES {
            found.push((name, system.tunable(name).await.map_err(|error| error.to_string())));
        }
        let mut problems = Vec::new();
        for (name, value) in tunables_to_write(policy, &found).map_err(refused)? {
            tracing::info!(name, value, "Updating kernel flag");
            if let Err(error) = system.set_tunable(name, value).await {
                problems.push(error.to_string());
            }
        }
        if problems.is_empty() { Ok(()) } else { Err(refused(problems)) }
    }

    /// Says that secrets may get to the disk.
    pub(super) async fn warn_of_swap(&self) {
        if let Some(system) = &self.drivers.system
            && system.swaps_memory_volumes().await
        {
            let message = MEMORY_MAY_BE_SWAPPED_MESSAGE.to_owned();
            self.record_node_event(EventType::Warning, MEMORY_MAY_BE_SWAPPED, message);
        }
    }

    /// Reports for good that the machine was out of memory. Where the kernel's log can't be read it isn't known.
    pub(super) async fn watch_oom(&self) -> Infallible {
        let Some(system) = &self.drivers.system else { return std::future::pending().await };
        let (sender, mut messages) = mpsc::channel::<String>(KERNEL_MESSAGES_MAX);
        let report = async {
            let mut reader = OomReader::default();
            while let Some(message) = messages.recv().await {
                if let Some(oom) = reader.read(&message) {
                    self.record_node_event(EventType::Warning, SYSTEM_OOM, oom.message());
                }
            }
        };
        let (read, ()) = tokio::join!(system.kernel_messages(sender), report);
        if let Err(error) = read {
            tracing::warn!(%error, "Failed to read the kernel's log: system OOMs aren't reported");
        }
        std::future::pending().await
    }

    /// Keeps processes where they belong for good. What fails is logged, and tried again a minute later.
    pub(super) async fn keep_system(&self) -> Infallible {
        let Some(system) = &self.drivers.system else { return std::future::pending().await };
        let mut ticks = tokio::time::interval(INTERVAL);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut round = 0_u32;
        loop {
            ticks.tick().await;
            self.place_processes(&**system, round.is_multiple_of(SCORE_EVERY)).await;
            round = round.wrapping_add(1);
        }
    }

    async fn place_processes(&self, system: &dyn NodeSystem, sets_score: bool) {
        if let Some(cgroup) = &self.settings.system_processes
            && let Err(error) = system.move_system(cgroup).await
        {
            tracing::warn!(cgroup, %error, "Failed to move the system's processes");
        }
        let own = self.settings.own_cgroup.as_ref();
        if let Some(cgroup) = own
            && let Err(error) = system.move_agent(cgroup).await
        {
            tracing::warn!(cgroup, %error, "Failed to move the agent");
            return;
        }
        if let Some(score) = self.settings.oom_score.filter(|_| sets_score || own.is_some())
            && let Err(error) = system.set_oom_score(score).await
        {
            tracing::warn!(score, %error, "Failed to set the OOM score of the agent");
        }
    }
}
