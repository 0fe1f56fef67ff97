//! Mirror pods: what the API shows of static pods.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::StreamExt;
use k8s_openapi::api::core::v1::{Node, Pod};
use kube::Client;
use tokio::sync::{Notify, watch};
use tokio::time::{Instant, MissedTickBehavior};
use tokio_util::sync::CancellationToken;
use witlet_core::pod::PodFullName;
use witlet_core::pod::mirror::{MirrorStep, StaticPod, mirror_of, plan};
use witlet_core::pod::static_pod::CONFIG_HASH;
use witlet_core::status::write::Next;

use crate::pods::{KnownPods, MirrorPods};
use crate::status::wire::{self, Failure};
use crate::timer::until;

#[cfg(test)]
mod tests;

/// Mirrors are checked this often, should nothing change.
const POLL_PERIOD: Duration = Duration::from_secs(10);
/// So many are made or deleted at the same time.
const STEPS_MAX: usize = 8;
/// What was done about a mirror isn't done again before the watch shows it, but for this long at most.
const SHOWN_WITHIN_MAX: Duration = Duration::from_secs(10);
/// After a failure it takes this long until the next try; each further one doubles it.
const RETRY_MIN: Duration = Duration::from_secs(1);
/// And at most this long (upstream tries at each sync of the pod).
const RETRY_MAX: Duration = Duration::from_secs(60);

/// Keeps the mirrors of static pods.
pub(crate) struct Mirrors {
    client: Client,
    known: Arc<KnownPods>,
    mirrors: MirrorPods,
    node: watch::Receiver<Option<Arc<Node>>>,
    all_seen: AtomicBool,
    wake: Notify,
    tries: Mutex<BTreeMap<PodFullName, MirrorAttempt>>,
}

/// What was last tried for a name.
struct MirrorAttempt {
    what: MirrorAction,
    failures: u32,
    /// The same isn't tried again before.
    again_at: Instant,
}

/// What a step is about: the mirror that goes, and the hash of the pod that gets one.
#[derive(Clone, PartialEq, Eq)]
struct MirrorAction {
    delete: Option<String>,
    create: Option<String>,
}

impl MirrorAction {
    fn of(step: &MirrorStep) -> Self {
        let hash = |pod: &Arc<Pod>| pod.metadata.annotations.as_ref()?.get(CONFIG_HASH).cloned();
        Self { delete: step.delete.clone(), create: step.create.as_ref().and_then(hash) }
    }
}

impl Mirrors {
    pub(crate) fn new(
        client: Client,
        known: Arc<KnownPods>,
        mirrors: MirrorPods,
        node: watch::Receiver<Option<Arc<Node>>>,
    ) -> Self {
        Self {
            client,
            known,
            mirrors,
            node,
            all_seen: AtomicBool::new(false),
            wake: Notify::new(),
            tries: Mutex::default(),
        }
    }

    /// Something about static pods changed.
    pub(crate) fn wake(&self) {
        self.wake.notify_one();
    }

    /// Whether every source was seen, so that a mirror without a static pod is left over.
    pub(crate) fn sources_seen(&self, all: bool) {
        self.all_seen.store(all, Ordering::Relaxed);
        self.wake();
    }

    /// Keeps them until `stop` is cancelled. `statics` gives the static pods as they are.
    pub(crate) async fn run(&self, statics: impl Fn() -> Vec<StaticPod>, stop: CancellationToken) {
        let (mut mirrors, mut node) = (self.mirrors.clone(), self.node.clone());
        let mut ticks = tokio::time::interval(POLL_PERIOD);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            let again = self.next_try();
            tokio::select! {
                () = stop.cancelled() => return,
                () = self.wake.notified() => {}
                () = until(again) => {}
                _ = ticks.tick() => {}
                Ok(()) = mirrors.changed() => mirrors.mark_unchanged(),
                Ok(()) = node.changed() => node.mark_unchanged(),
            }
            let statics = statics();
            tokio::select! {
                () = stop.cancelled() => return,
                () = self.reconcile(&statics) => {}
            }
        }
    }

    async fn reconcile(&self, statics: &[StaticPod]) {
        // Before the first list every mirror would be made again.
        if !self.known.is_synced() {
            return;
        }
        let (mirrors, node) = (self.mirrors.borrow().clone(), self.node.borrow().clone());
        let steps = plan(statics, &mirrors, node.as_deref(), self.all_seen.load(Ordering::Relaxed));
        self.tries().retain(|name, _| steps.iter().any(|step| step.full_name == *name));
        let now = Instant::now();
        let due: Vec<MirrorStep> = steps.into_iter().filter(|step| self.is_due(step, now)).collect();
        let node = node.as_deref();
        futures::stream::iter(due)
            .for_each_concurrent(STEPS_MAX, |step| async move { self.carry_out(step, node).await })
            .await;
    }

    /// When the first of those that failed is tried again.
    fn next_try(&self) -> Option<Instant> {
        let tries = self.tries();
        tries.values().filter(|last| last.failures > 0).map(|last| last.again_at).min()
    }

    fn is_due(&self, step: &MirrorStep, now: Instant) -> bool {
        let what = MirrorAction::of(step);
        let tries = self.tries();
        let Some(last) = tries.get(&step.full_name) else { return true };
        // The watch shows that the old one is gone before it shows the new one.
        let is_made = last.failures == 0 && what.delete.is_none() && last.what.create == what.create;
        last.again_at <= now || !(is_made || last.what == what)
    }

    async fn carry_out(&self, step: MirrorStep, node: Option<&Node>) {
        let result = self.try_step(&step, node).await;
        let name = &step.full_name;
        let what = MirrorAction::of(&step);
        let mut tries = self.tries();
        let last = tries.get(name).filter(|last| last.what == what);
        let failures = match &result {
            Ok(()) => 0,
            Err(_) => last.map_or(0, |last| last.failures).saturating_add(1),
        };
        let wait = match &result {
            Ok(()) => SHOWN_WITHIN_MAX,
            Err(Failure { next, .. }) => {
                let asked = if let Next::Pause(asked) = next { *asked } else { Duration::ZERO };
                RETRY_MIN.saturating_mul(1 << (failures - 1).min(16)).min(RETRY_MAX).max(asked)
            }
        };
        if let (Err(Failure { code, message, .. }), 1) = (&result, failures) {
            tracing::warn!(pod = %name, ?code, error = %message, "Failed to create or delete mirror pod, retrying");
        }
        tries.insert(name.clone(), MirrorAttempt { what, failures, again_at: Instant::now() + wait });
    }

    /// A mirror that is gone already is as good as one that this step deleted.
    async fn try_step(&self, step: &MirrorStep, node: Option<&Node>) -> Result<(), Failure> {
        if let Some(uid) = &step.delete {
            match wire::delete(&self.client, &step.full_name, uid).await {
                Ok(()) => {}
                Err(failure) if failure.code == Some(404) => {}
                Err(failure) => return Err(failure),
            }
        }
        let mirror = step.create.as_ref().zip(node).and_then(|(pod, node)| mirror_of(pod, node));
        match mirror {
            Some(mirror) => wire::create(&self.client, &mirror).await,
            None => Ok(()),
        }
    }

    fn tries(&self) -> MutexGuard<'_, BTreeMap<PodFullName, MirrorAttempt>> {
        self.tries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
