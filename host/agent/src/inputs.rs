//! Everything that the event loop receives, as one closed set of events.

use std::collections::BTreeSet;
use std::sync::Arc;

use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;
use tokio::time::{Instant, Interval};
use tokio_util::sync::CancellationToken;
use witlet_core::admission::Decision;
use witlet_core::node::NodeFacts;
use witlet_core::pleg::PlegEvent;
use witlet_core::pod::worker::Task;
use witlet_core::pod::{PodUid, SourceName};
use witlet_ports::{ClusterObjects, SourceEvent};

use crate::admission_queue::AskId;
use crate::eviction::EvictionRequest;
use crate::executor::{End, PodMemory, Saved};
use crate::health::Health;
use crate::prober::ProbeUpdate;
use crate::tasks::until;

/// A piece of a pod's work has ended.
#[derive(Debug)]
pub(crate) struct WorkEnd {
    pub(crate) uid: PodUid,
    pub(crate) task: Task,
    pub(crate) memory: PodMemory,
    pub(crate) saved: Saved,
    pub(crate) end: End,
}

/// What the loop receives.
#[derive(Debug)]
pub(crate) enum Event {
    /// A source said something of its pods.
    Source(SourceEvent),
    /// Sources of plugins came or went: these are there now.
    Sources(Arc<BTreeSet<SourceName>>),
    Pleg(PlegEvent),
    /// The result of a probe changed.
    Probe(ProbeUpdate),
    /// The admission handlers answered.
    Verdict(AskId, Decision),
    /// A pod's work ended.
    WorkEnded(Box<WorkEnd>),
    /// What was kept of a pod that is gone was removed.
    Forgotten,
    /// The clean-up next to the loop ended, and this is why it couldn't list what is on the disk, if it couldn't.
    CleanedUp(Option<String>),
    /// The runtime is well, or isn't any more.
    Health(Health),
    Node,
    /// The admission handlers changed.
    Handlers,
    /// What these pods draw from the cluster changed.
    Objects(Vec<PodUid>),
    /// The eviction manager wants something.
    Eviction(EvictionRequest),
    /// Time to check which pods are due.
    SyncTick,
    /// Time to clean up.
    Housekeeping,
    /// The time came that the admission queue waits for.
    AdmissionDue,
    /// The agent is to end.
    Stop,
    /// The time for pods to end at the agent's end is over.
    StopOverdue,
}

/// Which inputs are read now.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Gates {
    /// The runtime is well: without it nothing new is begun, and what comes in waits in its bounded queue.
    pub(crate) runtime_ready: bool,
    /// The agent ends, and until when its pods may end.
    pub(crate) stopping: Option<Instant>,
    /// What the admission queue waits for.
    pub(crate) admission_due: Option<Instant>,
}

/// The ends of all queues that lead to the loop.
pub(crate) struct Inputs {
    pub(crate) sources: mpsc::Receiver<SourceEvent>,
    pub(crate) plugin_sources: PluginSources,
    pub(crate) pleg: mpsc::Receiver<PlegEvent>,
    pub(crate) probes: mpsc::Receiver<ProbeUpdate>,
    pub(crate) health: watch::Receiver<Health>,
    pub(crate) node: watch::Receiver<Arc<NodeFacts>>,
    pub(crate) handlers: watch::Receiver<u64>,
    pub(crate) objects: Arc<dyn ClusterObjects>,
    pub(crate) evictions: mpsc::Receiver<EvictionRequest>,
    pub(crate) sync_ticks: Interval,
    pub(crate) housekeeping: Interval,
    pub(crate) stop: CancellationToken,
}

/// Which sources of plugins there are.
pub(crate) struct PluginSources(Option<watch::Receiver<Arc<BTreeSet<SourceName>>>>);

impl PluginSources {
    /// None, for good.
    pub(crate) fn none() -> Self {
        Self(None)
    }

    /// Those, and whatever becomes of them.
    pub(crate) fn of(names: watch::Receiver<Arc<BTreeSet<SourceName>>>) -> Self {
        Self(Some(names))
    }

    /// Returns those that are there now.
    pub(crate) fn now(&mut self) -> BTreeSet<SourceName> {
        self.0.as_mut().map(|names| BTreeSet::clone(&names.borrow_and_update())).unwrap_or_default()
    }

    /// Waits until others are there.
    async fn changed(&mut self) -> Arc<BTreeSet<SourceName>> {
        if let Some(names) = &mut self.0
            && names.changed().await.is_ok()
        {
            return names.borrow_and_update().clone();
        }
        std::future::pending().await
    }
}

impl Inputs {
    /// The next event. In an order, so that a run can be repeated; nothing starves, because what comes first comes
    /// seldom.
    pub(crate) async fn next(&mut self, tasks: &mut JoinSet<Event>, gates: Gates) -> Event {
        let open = gates.runtime_ready && gates.stopping.is_none();
        let working = gates.runtime_ready || gates.stopping.is_some();
        tokio::select! {
            biased;
            () = self.stop.cancelled(), if gates.stopping.is_none() => Event::Stop,
            () = until(gates.stopping) => Event::StopOverdue,
            Ok(()) = self.health.changed() => Event::Health(self.health.borrow_and_update().clone()),
            _ = self.sync_ticks.tick(), if working => Event::SyncTick,
            _ = self.housekeeping.tick(), if open => Event::Housekeeping,
            () = until(gates.admission_due), if open => Event::AdmissionDue,
            Ok(()) = self.node.changed() => {
                self.node.mark_unchanged();
                Event::Node
            }
            Ok(()) = self.handlers.changed() => {
                self.handlers.mark_unchanged();
                Event::Handlers
            }
            // A few each ten seconds, and while the node is short of something they matter more than what comes in.
            Some(request) = self.evictions.recv(), if working => Event::Eviction(request),
            Some(Ok(event)) = tasks.join_next() => event,
            Some(update) = self.probes.recv(), if open => Event::Probe(update),
            Some(event) = self.pleg.recv(), if working => Event::Pleg(event),
            // Before the sets: one of a source that is new or gone is known as such.
            names = self.plugin_sources.changed(), if open => Event::Sources(names),
            uids = self.objects.changed(), if open => Event::Objects(uids),
            Some(event) = self.sources.recv(), if open => Event::Source(event),
        }
    }
}
