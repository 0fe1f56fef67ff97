//! The status manager: what the agent knows of pods, written to the API server.
//!
//! One PATCH for each change and no GET before it: the base is the newest that the watch or an answer brought. Of a pod at
//! most one write is under way, and the newest report goes next; many pods are written about at the same time. What can't be
//! reported now is reported later, however long that takes, because only the newest counts.

mod metrics;
mod queue;
pub(crate) mod wire;

use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::FutureExt;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Node, Pod};
use kube::Client;
use tokio::sync::{Notify, watch};
use tokio::task::{JoinError, JoinSet};
use tokio::time::{Instant, MissedTickBehavior};
use tokio_util::sync::CancellationToken;
use witlet_core::pod::mirror::{StaticPod, is_mirror_of};
use witlet_core::pod::static_pod::is_static;
use witlet_core::pod::{PodFullName, PodUid};
use witlet_core::stats::exposition::Exposition;
use witlet_core::status::patch;
use witlet_core::status::write::{AtNode, AtServer, Next, Write, backoff, can_be_deleted, next_write};
use witlet_ports::{Clock, Jitter, MetricsSource, PodReport, StatusSink};

use self::metrics::StatusMetrics;
use self::queue::{Done, End, InFlightWrite, Memory, NEWS_WAIT_MAX, Object, PATCH_GAP, StatusQueue};
use self::wire::{Failure, ServerPod};
use crate::mirror::Mirrors;
use crate::pods::KnownPods;
use crate::pods::MirrorPods;
use crate::timer::until;

#[cfg(test)]
pub(crate) mod tests;

/// What the server has is compared with what was reported this often (upstream: `syncPeriod`).
const RECONCILE_PERIOD: Duration = Duration::from_secs(10);
/// What is left to tell when the manager ends may take this long.
const FLUSH_MAX: Duration = Duration::from_secs(2);

/// Reports pods' statuses to the API server, deletes the objects of those that are gone from the node, and keeps the mirrors of static
/// pods. Made before the agent, which reports to it; nothing is sent until [`StatusManager::run`].
pub struct StatusManager {
    client: Client,
    known: Arc<KnownPods>,
    mirrors: MirrorPods,
    mirror_manager: Mirrors,
    clock: Arc<dyn Clock>,
    jitter: Arc<dyn Jitter>,
    queue: Mutex<StatusQueue>,
    /// Lists that the known pods were compared with.
    lists: AtomicU64,
    wake: Notify,
    metrics: StatusMetrics,
}

impl StatusManager {
    /// A manager that has reported no pod. `known` and `mirrors` are what the watch of pods brought, `node` the API's object of
    /// this node.
    pub fn new(
        client: Client,
        known: Arc<KnownPods>,
        mirrors: MirrorPods,
        node: watch::Receiver<Option<Arc<Node>>>,
        clock: Arc<dyn Clock>,
        jitter: Arc<dyn Jitter>,
    ) -> Arc<Self> {
        let mirror_manager = Mirrors::new(client.clone(), known.clone(), mirrors.clone(), node);
        Arc::new(Self {
            client,
            known,
            mirrors,
            mirror_manager,
            clock,
            jitter,
            queue: Mutex::default(),
            lists: AtomicU64::new(0),
            wake: Notify::new(),
            metrics: StatusMetrics::default(),
        })
    }

    /// Writes until `stop` is cancelled; what can be reported at once then still is.
    pub async fn run(self: Arc<Self>, stop: CancellationToken) {
        let mirrored = self.mirror_manager.run(|| self.statics(), stop.clone());
        tokio::join!(self.clone().write_statuses(stop.clone()), mirrored);
    }

    async fn write_statuses(self: Arc<Self>, stop: CancellationToken) {
        let mut writes = JoinSet::new();
        let mut mirrors = self.mirrors.clone();
        let mut ticks = tokio::time::interval(RECONCILE_PERIOD);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            let next_due = self.begin_writes(&mut writes);
            tokio::select! {
                () = stop.cancelled() => break,
                () = self.wake.notified() => {}
                Some(ended) = writes.join_next() => self.ended(ended),
                _ = ticks.tick() => self.reconsider(),
                Ok(()) = mirrors.changed() => {
                    mirrors.mark_unchanged();
                    self.reconsider();
                }
                () = until(next_due) => {}
            }
        }
        if tokio::time::timeout(FLUSH_MAX, self.flush(writes)).await.is_err() {
            tracing::info!("Some pod statuses were not written before the exit; the next start writes them");
        }
    }

    /// Ends the writes that are under way, and those that are due at once.
    async fn flush(self: &Arc<Self>, mut writes: JoinSet<Sent>) {
        loop {
            let soon = Instant::now() + PATCH_GAP;
            let next_due = self.begin_writes(&mut writes).filter(|next| *next <= soon);
            tokio::select! {
                Some(ended) = writes.join_next() => self.ended(ended),
                () = until(next_due), if next_due.is_some() => {}
                else => return,
            }
        }
    }

    /// Begins as many writes as may be; says when there may be more.
    fn begin_writes(self: &Arc<Self>, writes: &mut JoinSet<Sent>) -> Option<Instant> {
        loop {
            let now = Instant::now();
            let mut queue = self.queue();
            let Some(in_flight) = queue.take_due(now) else { return queue.next_due() };
            drop(queue);
            self.begin_in_flight(in_flight, now, writes);
        }
    }

    fn begin_in_flight(self: &Arc<Self>, in_flight: InFlightWrite, now: Instant, writes: &mut JoinSet<Sent>) {
        let InFlightWrite { number, uid, report, version, memory, deleted_at } = in_flight;
        let done = Done { in_flight: number, uid, version, began: now };
        let Some(object) = self.newest(&report) else {
            return self.queue().end(&done, End::Idle(None), now);
        };
        let from_watch = AtServer::of(&object);
        let from_answer = memory.answer.as_deref().map(ServerPod::at_server);
        let at = from_answer.filter(|answer| answer.is_newer_than(&from_watch)).unwrap_or(from_watch);
        if memory.answer.is_some() && at == from_watch {
            self.queue().drop_answer(&done.uid);
        }
        let at_node = AtNode {
            status: report.status.as_deref(),
            may_run: report.may_run,
            is_finished: report.is_finished,
            is_static: is_static(&report.pod),
        };
        let name = PodFullName::of(&report.pod);
        let seen = Object::of(at);
        let write = match next_write(at, at_node, self.clock.now()) {
            // The server doesn't take that over. A pod that is over isn't held up by it.
            Write::Patch { body, .. } if memory.leftover.as_deref() == Some(&body) => {
                if can_be_deleted(at, at_node) { Write::Delete } else { Write::Nothing }
            }
            write => write,
        };
        let end = match write {
            Write::Patch { body, desired } => {
                let client = self.client.clone();
                return begin_write(writes, done, name.clone(), seen, async move {
                    let answer = wire::patch_status(&client, &name, &body).await?;
                    let at = answer.at_server();
                    let leftover = patch(at.uid, at.status, &desired).map(Arc::new);
                    let object = Object::of(at);
                    Ok(End::Patched(object, Memory { answer: Some(Arc::new(answer)), leftover }))
                });
            }
            Write::Delete => match deleted_at.map(|at| at + NEWS_WAIT_MAX).filter(|again| *again > now) {
                Some(again) => End::Later(Some(seen), again),
                None => {
                    let (client, object_uid) = (self.client.clone(), at.uid.to_owned());
                    return begin_write(writes, done, name.clone(), seen.clone(), async move {
                        wire::delete(&client, &name, &object_uid).await.map(|()| End::Deleted(seen))
                    });
                }
            },
            Write::Nothing => End::Idle(Some(seen)),
        };
        self.queue().end(&done, end, now);
    }

    fn ended(&self, ended: Result<Sent, JoinError>) {
        // A write's panic is caught where it happens, and none is aborted before the manager ends.
        let Ok(Sent { done, name, seen, end }) = ended else { return };
        let now = Instant::now();
        let mut queue = self.queue();
        let end = end.unwrap_or_else(|failure| self.failed(&mut queue, &done, &name, seen, &failure, now));
        if matches!(end, End::Patched(..)) {
            queue
                .take_latency(&done, self.clock.now())
                .into_iter()
                .for_each(|latency| self.metrics.started(latency));
            queue.take_change(&done, now).into_iter().for_each(|took| self.metrics.written(took));
        }
        queue.end(&done, end, now);
    }

    fn failed(
        &self,
        queue: &mut StatusQueue,
        done: &Done,
        name: &PodFullName,
        seen: Object,
        failure: &Failure,
        now: Instant,
    ) -> End {
        let Failure { next, code, message } = failure;
        let jitter = self.jitter.unit();
        match next {
            Next::AwaitNews => {
                tracing::debug!(pod = %name, ?code, error = %message, "Pod does not exist in the API server any more");
                End::AwaitNews(Some(seen))
            }
            Next::Retry => {
                let failures = queue.failures(&done.uid).saturating_add(1);
                if failures == 1 {
                    tracing::warn!(pod = %name, ?code, error = %message, "Failed to update status for pod, retrying");
                }
                End::Failed(now + backoff(failures, jitter))
            }
            Next::Pause(asked) => {
                let is_new = queue.pause(done.began, now, |failures| backoff(failures, jitter).max(*asked));
                if is_new {
                    tracing::warn!(pod = %name, ?code, error = %message, "Failed to update pod statuses, retrying");
                }
                End::Troubled
            }
        }
    }

    /// The server's object that the report is about: of a static pod its mirror, if there is one.
    fn newest(&self, report: &PodReport) -> Option<Arc<Pod>> {
        if !is_static(&report.pod) {
            return self.known.get(&PodUid::of(&report.pod));
        }
        let mirrors = self.mirrors.borrow();
        let mirror = mirrors.get(&PodFullName::of(&report.pod));
        mirror.filter(|mirror| is_mirror_of(mirror, &report.pod)).cloned()
    }

    fn reconsider(&self) {
        let newest = |report: &PodReport| Some(Object::of(AtServer::of(&*self.newest(report)?)));
        let lists = self.known.lists();
        let mut queue = self.queue();
        if self.lists.swap(lists, Ordering::Relaxed) != lists {
            queue.forget_versions();
        }
        queue.reconsider(newest, Instant::now());
    }

    fn statics(&self) -> Vec<StaticPod> {
        let queue = self.queue();
        let statics = queue.reports().filter(|report| is_static(&report.pod)).map(|report| StaticPod {
            pod: report.pod.clone(),
            has_status: report.status.is_some(),
            may_run: report.may_run,
            is_ending: report.is_ending,
        });
        statics.collect()
    }

    fn queue(&self) -> MutexGuard<'_, StatusQueue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A write that was answered, or wasn't.
struct Sent {
    done: Done,
    name: PodFullName,
    /// What the server was thought to have.
    seen: Object,
    end: Result<End, Failure>,
}

/// Writes next to the others. A panic counts as a failure: a write that never ends would keep its pod from being reported.
fn begin_write(
    writes: &mut JoinSet<Sent>,
    done: Done,
    name: PodFullName,
    seen: Object,
    writing: impl Future<Output = Result<End, Failure>> + Send + 'static,
) {
    writes.spawn(async move {
        let end = AssertUnwindSafe(writing).catch_unwind().await;
        let end = end.unwrap_or_else(|_| Err(Failure::odd("the write panicked".to_owned())));
        Sent { done, name, seen, end }
    });
}

impl StatusSink for StatusManager {
    fn report(&self, report: PodReport) {
        let is_static = is_static(&report.pod);
        self.queue().report(report, Instant::now());
        self.wake.notify_one();
        if is_static {
            self.mirror_manager.wake();
        }
    }

    fn forget(&self, uid: &PodUid) {
        self.queue().forget(uid);
        // It may have been a static one.
        self.mirror_manager.wake();
    }

    fn pulled(&self, uid: &PodUid, from: Timestamp, to: Timestamp) {
        self.queue().pulled(uid, from, to);
    }

    fn sources_seen(&self, all: bool) {
        self.mirror_manager.sources_seen(all);
    }
}

impl MetricsSource for StatusManager {
    fn write(&self, to: &mut Exposition) {
        self.metrics.write(to);
    }
}
