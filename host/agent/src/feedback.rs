//! Sends plugins' sources the statuses of their pods: once a second at most, each pod's newest status.
//!
//! The store is the queue: it holds the newest status of each pod and nothing else, so that a source which is slow or fails
//! misses what was in between and never what is. That a pod is gone is reported to each source that may know it from this
//! agent, also to one that is away for a while.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use witlet_core::pod::{PodFullName, PodUid, SourceName};
use witlet_ports::{PodSourceSet, PodStatusUpdate, SourceNotifyError};

use crate::pod_status_store::{PodStatusStore, PodSummary};
use crate::tasks::ticker;

#[cfg(test)]
mod tests;

/// How often a source gets statuses at most: the contract's bound.
const TELL_EVERY: Duration = Duration::from_secs(1);
/// Of a pod that the source may know, and that is reported again whatever its status is; no status has it.
const OUTDATED: u64 = u64::MAX;

/// Versions of statuses by pod, with the names of pods for when they are gone.
type Versions = HashMap<PodUid, (PodFullName, u64)>;

/// What one source knows.
#[derive(Debug, Default)]
struct SourceFeedback {
    reported: Versions,
    /// As it was when it was last tried to tell it.
    tried: Versions,
    busy: bool,
    /// In a row.
    failures: u32,
    retry: Retry,
}

/// What follows a failure.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Retry {
    /// A further change is a reason to try again.
    #[default]
    WithNextChange,
    /// It is tried again then, and not before.
    At(Instant),
}

impl SourceFeedback {
    /// Returns what to tell, if anything changed since the last try, or that is to be repeated now.
    fn news(&mut self, shown: &[PodSummary], now: Instant) -> Option<(Vec<PodStatusUpdate>, Versions)> {
        let repeats = match self.retry {
            Retry::WithNextChange => false,
            Retry::At(at) if now < at => return None,
            Retry::At(_) => true,
        };
        let newest: Versions =
            shown.iter().map(|pod| (pod.uid.clone(), (pod.full_name.clone(), pod.version))).collect();
        if self.busy || (newest == self.tried && !repeats) {
            return None;
        }
        self.tried.clone_from(&newest);
        let gone = self.reported.iter().filter(|(uid, _)| !newest.contains_key(*uid));
        let gone = gone.map(|(uid, (full_name, _))| PodStatusUpdate {
            full_name: full_name.clone(),
            uid: uid.clone(),
            status: None,
        });
        let is_news = |pod: &&PodSummary| {
            self.reported.get(&pod.uid).is_none_or(|(_, version)| *version != pod.version)
                && pod.status.is_some()
        };
        let changed = shown.iter().filter(is_news).map(|pod| PodStatusUpdate {
            full_name: pod.full_name.clone(),
            uid: pod.uid.clone(),
            status: pod.status.clone(),
        });
        let updates: Vec<PodStatusUpdate> = gone.chain(changed).collect();
        if updates.is_empty() {
            self.retry = Retry::WithNextChange;
            return None;
        }
        self.busy = true;
        Some((updates, newest))
    }

    fn ended(&mut self, versions: Versions, result: &Result<(), SourceNotifyError>, now: Instant) {
        self.busy = false;
        let delay = match result {
            Ok(()) => {
                self.reported = versions;
                self.failures = 0;
                None
            }
            Err(error) => {
                // It may know them since before it failed.
                for (uid, (full_name, _)) in versions {
                    self.reported.entry(uid).or_insert((full_name, OUTDATED));
                }
                self.failures = self.failures.saturating_add(1);
                error.retry.delay(self.failures)
            }
        };
        self.retry = delay.map_or(Retry::WithNextChange, |delay| Retry::At(now + delay));
    }

    /// The source is away. Once it is back it may be another instance, and receives all again.
    fn left(&mut self, now: Instant) {
        self.reported.values_mut().for_each(|(_, version)| *version = OUTDATED);
        (self.failures, self.retry) = (0, Retry::At(now));
    }
}

/// Runs until `stop` is cancelled.
pub(crate) async fn run(set: Arc<dyn PodSourceSet>, statuses: Arc<PodStatusStore>, stop: CancellationToken) {
    let mut known: BTreeMap<SourceName, SourceFeedback> = BTreeMap::new();
    let mut names = set.names();
    let mut ticks = ticker(TELL_EVERY);
    let mut calls: JoinSet<(SourceName, Versions, Result<(), SourceNotifyError>)> = JoinSet::new();
    loop {
        tokio::select! {
            () = stop.cancelled() => return,
            _ = ticks.tick() => {}
            Some(ended) = calls.join_next() => {
                let (source, versions, result) = match ended {
                    Ok(ended) => ended,
                    // It would never be reported again.
                    Err(error) => match error.try_into_panic() {
                        Ok(panic) => std::panic::resume_unwind(panic),
                        Err(_) => continue,
                    },
                };
                if let Err(error) = &result {
                    tracing::warn!(source = source.as_str(), %error, "Failed to report pod statuses to a pod source");
                }
                if let Some(knowledge) = known.get_mut(&source) {
                    knowledge.ended(versions, &result, Instant::now());
                }
                continue;
            }
        }
        let listeners = set.listeners();
        let configured = names.borrow_and_update().clone();
        known.retain(|source, knowledge| configured.contains(source) || knowledge.busy);
        let now = Instant::now();
        for (source, knowledge) in &mut known {
            if !listeners.contains(source) && !knowledge.busy {
                knowledge.left(now);
            }
        }
        if listeners.is_empty() {
            continue;
        }
        for (source, shown) in by_source(statuses.of_sources(&listeners), &listeners) {
            let knowledge = known.entry(source.clone()).or_default();
            if let Some((updates, versions)) = knowledge.news(&shown, now) {
                let set = set.clone();
                calls.spawn(async move {
                    let result = set.tell(&source, updates).await;
                    (source, versions, result)
                });
            }
        }
    }
}

/// Groups pods by source; a listener without pods gets an empty list.
fn by_source(
    shown: Vec<(SourceName, PodSummary)>,
    listeners: &BTreeSet<SourceName>,
) -> BTreeMap<SourceName, Vec<PodSummary>> {
    let mut sorted: BTreeMap<SourceName, Vec<PodSummary>> =
        listeners.iter().map(|source| (source.clone(), Vec::new())).collect();
    for (source, pod) in shown {
        sorted.entry(source).or_default().push(pod);
    }
    sorted
}
