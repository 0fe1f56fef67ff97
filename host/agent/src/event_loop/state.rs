//! What the loop keeps apart from its pods, by subject.

use std::collections::BTreeSet;
use std::sync::Arc;

use k8s_openapi::api::core::v1::Node;
use tokio::sync::oneshot;
use tokio::time::Instant;
use witlet_core::admission::AdmittedPod;
use witlet_core::admission::readmit::Readmissions;
use witlet_core::admission::recheck::Rechecks;
use witlet_core::admission::rejections::RejectionHistory;
use witlet_core::container::gc::FailureReports;
use witlet_core::node::conditions::Pressures;
use witlet_core::pod::SourceName;
use witlet_core::pod::clean_up::SourcesRead;
use witlet_core::sources::MergedPods;

use crate::admission_queue::AdmissionQueue;
use crate::health::Health;

/// The sources of pods and what they brought.
#[derive(Default)]
pub(super) struct Sources {
    /// The agent's own, which have to be seen before anything is cleaned up.
    pub(super) own: BTreeSet<SourceName>,
    /// Those of plugins: until they are seen, pods that may be theirs are left alone.
    pub(super) of_plugins: BTreeSet<SourceName>,
    /// Those of which a part could never be read.
    pub(super) partial: BTreeSet<SourceName>,
    pub(super) merged: MergedPods,
}

impl Sources {
    /// Every source of the agent's own has sent a set: what none of them has may be removed.
    pub(super) fn own_are_seen(&self) -> bool {
        self.own.iter().all(|source| self.merged.is_seen(source))
    }

    /// Every source of a plugin has, too.
    pub(super) fn all_are_seen(&self) -> bool {
        self.own_are_seen() && self.of_plugins.iter().all(|source| self.merged.is_seen(source))
    }

    /// How far they were read.
    pub(super) fn read(&self) -> SourcesRead {
        if !self.own_are_seen() {
            SourcesRead::None
        } else if !self.partial.is_empty() || !self.all_are_seen() {
            SourcesRead::Partly
        } else {
            SourcesRead::All
        }
    }
}

/// Who is to be put to the admission handlers, and when.
#[derive(Default)]
pub(super) struct AdmissionState {
    pub(super) queue: AdmissionQueue,
    /// When the queue wants to be asked again.
    pub(super) due: Option<Instant>,
    /// Rejections of pods that a controller makes again.
    pub(super) rejections: RejectionHistory,
    /// When running pods are asked about again.
    pub(super) rechecks: Rechecks,
    /// Which handlers were asked about pods that ran before the start.
    pub(super) readmissions: Readmissions,
    /// How many pods were admitted.
    pub(super) admitted: u64,
    /// The admitted pods, as handlers see them; none after a change.
    pub(super) others: Option<Arc<[AdmittedPod]>>,
}

impl AdmissionState {
    /// What handlers see of the node's pods has changed.
    pub(super) fn others_changed(&mut self) {
        self.others = None;
    }

    /// A pod was admitted, or got what it asked for: verdicts that were made meanwhile are outdated.
    pub(super) fn note_admitted(&mut self) {
        self.admitted += 1;
    }
}

/// The clean-up that runs, and who waits for it.
#[derive(Default)]
pub(super) struct CleanUps {
    pub(super) is_running: bool,
    /// Why the last one couldn't list what is on the disk, if it couldn't.
    pub(super) failure: Option<String>,
    pub(super) gc_failures: FailureReports,
    /// Who waits for one that hasn't begun to take what ended pods have left: one at most, because the eviction manager waits for each.
    pub(super) removals_requested: Vec<oneshot::Sender<()>>,
    /// Who waits for the one that runs.
    pub(super) removals_running: Vec<oneshot::Sender<()>>,
}

impl CleanUps {
    /// Whether the clean-up that is decided now takes what ended pods have left.
    pub(super) fn removes_ended(&self) -> bool {
        !self.removals_requested.is_empty()
    }

    /// A clean-up begins, unless one runs. Says whether it does.
    pub(super) fn begin(&mut self) -> bool {
        if std::mem::replace(&mut self.is_running, true) {
            return false;
        }
        self.removals_running.append(&mut self.removals_requested);
        true
    }

    /// The clean-up has ended.
    pub(super) fn end(&mut self, failure: Option<String>) {
        self.is_running = false;
        self.failure = failure;
        for done in self.removals_running.drain(..) {
            // Who asked may have stopped waiting.
            let _gone = done.send(());
        }
    }
}

/// The node as it is reported.
pub(super) struct NodeState {
    pub(super) health: Health,
    pub(super) object: Arc<Node>,
    pub(super) pressures: Option<Pressures>,
}

impl NodeState {
    /// Nothing is known of it yet.
    pub(super) fn unknown() -> Self {
        Self { health: Health::unknown(), object: Arc::default(), pressures: None }
    }
}
