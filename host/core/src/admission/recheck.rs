//! When pods that run are put to the handlers again, and which of those that are rejected are ended.
//!
//! Each handler is asked about each pod once in its own interval, at a time of the pod's own, so that the pods of a node are never asked about
//! together, the first time after half of it at least; and all within a minute once something changed that handlers check. Handlers that
//! are due together are asked together. A few pods at a time are asked about, and of those that are rejected a part is ended in an interval:
//! a handler that rejects every pod doesn't empty the node before people see it.
//!
//! The first time after a restart of the agent is spread over the interval, too: verdicts stand, and nothing is asked sooner or
//! otherwise than without the restart, and what was ended before it counts. Handlers that are loaded and what becomes known of the node at the start are no change.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1::{NodeCondition, Taint};

use super::{Decision, readmit};
use crate::node::NodeFacts;
use crate::pod::PodUid;

pub mod ends;
#[cfg(test)]
mod tests;

/// The shortest interval, and the shortest time between two questions about a pod.
pub const INTERVAL_MIN: Duration = Duration::from_secs(60);
/// The longest interval.
pub const INTERVAL_MAX: Duration = Duration::from_secs(24 * 3600);
/// So many pods are asked about at the same time.
pub const ASKED_MAX: usize = 4;
/// One pod of so many may be ended in an interval, and one at least.
const ENDED_OF: usize = 10;
/// So many ends are remembered, the newest ones: more than count on any node.
const ENDS_MAX: usize = 4096;
/// What changes sooner after the agent's start only becomes known then.
const SETTLED_AFTER: Duration = Duration::from_secs(120);
/// What changes about a machine all the time, by how its key ends.
const READINGS: [&str; 2] = [".available", ".inodesFree"];

/// How often each handler is asked about running pods, by the handlers' names.
pub type RecheckIntervals = BTreeMap<Arc<str>, Duration>;

/// Returns what a decision about a pod that runs comes to: its rejection, with reason and message, or nothing.
pub fn rejection(decision: &Decision) -> Option<(&str, &str)> {
    match decision {
        Decision::Reject { reason, message, .. } => Some((reason.as_str(), message.as_str())),
        Decision::Admit | Decision::Defer { .. } | Decision::Preempt { .. } => None,
    }
}

/// What of the node has pods asked about when it changes: what policies are about, without readings that change all the time.
#[derive(Clone, Debug, PartialEq)]
pub struct NodeTraits {
    labels: BTreeMap<String, String>,
    taints: Vec<Taint>,
    conditions: BTreeMap<String, String>,
    facts: BTreeMap<String, String>,
}

impl NodeTraits {
    /// Extracts the facts whose change triggers a recheck.
    pub fn of(facts: &NodeFacts) -> Self {
        let node = &facts.node;
        let conditions = node.status.iter().flat_map(|status| status.conditions.iter().flatten());
        let condition = |condition: &NodeCondition| (condition.type_.clone(), condition.status.clone());
        let lasting = facts.facts.iter().filter(|(key, _)| !READINGS.iter().any(|end| key.ends_with(end)));
        Self {
            labels: node.metadata.labels.clone().unwrap_or_default(),
            taints: node.spec.as_ref().and_then(|spec| spec.taints.clone()).unwrap_or_default(),
            conditions: conditions.map(condition).collect(),
            facts: lasting.map(|(key, value)| (key.clone(), value.clone())).collect(),
        }
    }
}

/// The pods that run, and when which handler is asked about each. Times are since the agent's start, of a clock that isn't set.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rechecks {
    /// How often each handler is asked; empty if nothing is.
    handlers: RecheckIntervals,
    pods: BTreeMap<PodUid, PodRecheck>,
    /// When pods were ended within [`INTERVAL_MAX`]. It is counted from that long before the agent's start, so that ends before it have a time.
    ended: VecDeque<Duration>,
    /// The node when it was checked last.
    node: Option<NodeTraits>,
}

#[derive(Clone, Debug, Default, PartialEq)]
struct PodRecheck {
    /// When each handler is asked next.
    due: BTreeMap<Arc<str>, Duration>,
    asked: Option<Duration>,
    /// Those that the question is for that waits.
    waiting: BTreeSet<Arc<str>>,
}

impl PodRecheck {
    /// Since when it is due: as long as its first handler, but not so soon after the last question.
    fn due_since(&self, now: Duration) -> Option<Duration> {
        let earliest = self.asked.map_or(Duration::ZERO, |asked| asked.saturating_add(INTERVAL_MIN));
        self.due.values().min().map(|due| *due.max(&earliest)).filter(|due| *due <= now)
    }
}

impl Rechecks {
    /// Whether pods are asked about.
    pub fn is_on(&self) -> bool {
        !self.handlers.is_empty()
    }

    /// These handlers are asked this often from now on. One that has another interval than before begins again from now.
    pub fn set_handlers(&mut self, handlers: RecheckIntervals) {
        let bounded = |every: Duration| every.clamp(INTERVAL_MIN, INTERVAL_MAX);
        let handlers: RecheckIntervals =
            handlers.into_iter().map(|(name, every)| (name, bounded(every))).collect();
        if self.handlers == handlers {
            return;
        }
        let is_same = |name: &Arc<str>| handlers.get(name) == self.handlers.get(name);
        for pod in self.pods.values_mut() {
            pod.due.retain(|name, _| is_same(name));
            pod.waiting.retain(|name| is_same(name));
        }
        if handlers.is_empty() {
            self.pods.clear();
            self.node = None;
        }
        self.handlers = handlers;
    }

    /// The pods to ask about now, those first that are due for longest; at most `capacity`. `running` are all that may be asked about, and
    /// `chance` gives numbers from 0 to 1. Which handlers are asked about one says [`Self::take_waiting`].
    pub fn take_due(
        &mut self,
        running: &BTreeSet<&PodUid>,
        capacity: usize,
        now: Duration,
        mut chance: impl FnMut() -> f64,
    ) -> Vec<PodUid> {
        if !self.is_on() {
            return Vec::new();
        }
        self.pods.retain(|uid, _| running.contains(uid));
        for uid in running {
            if !self.pods.contains_key(*uid) {
                self.pods.insert(PodUid::clone(uid), PodRecheck::default());
            }
            let Some(pod) = self.pods.get_mut(*uid) else { continue };
            for (name, every) in &self.handlers {
                if !pod.due.contains_key(name) {
                    let half = *every / 2;
                    let due = now.saturating_add(half).saturating_add(part(half, chance()));
                    pod.due.insert(name.clone(), due);
                }
            }
        }
        let due = self.pods.iter().filter_map(|(uid, pod)| Some((pod.due_since(now)?, uid.clone())));
        let mut due: Vec<(Duration, PodUid)> = due.collect();
        due.sort();
        due.truncate(capacity);
        for (_, uid) in &due {
            let Some(pod) = self.pods.get_mut(uid) else { continue };
            pod.asked = Some(now);
            for (name, due) in pod.due.iter_mut().filter(|(_, due)| **due <= now) {
                let every = self.handlers.get(name).copied().unwrap_or(INTERVAL_MAX);
                *due = now.saturating_add(every);
                pod.waiting.insert(name.clone());
            }
        }
        due.into_iter().map(|(_, uid)| uid).collect()
    }

    /// The handlers that are asked about a pod now that its question has its turn.
    pub fn take_waiting(&mut self, uid: &PodUid) -> BTreeSet<Arc<str>> {
        self.pods.get_mut(uid).map(|pod| std::mem::take(&mut pod.waiting)).unwrap_or_default()
    }

    /// The handlers, or what they check, changed: all pods are asked about soon, but none again within the shortest interval.
    pub fn ask_soon(&mut self, now: Duration, mut chance: impl FnMut() -> f64) {
        if now < SETTLED_AFTER {
            return;
        }
        for pod in self.pods.values_mut() {
            let earliest = pod.asked.map_or(now, |asked| now.max(asked.saturating_add(INTERVAL_MIN)));
            let soon = earliest.saturating_add(part(INTERVAL_MIN, chance()));
            for due in pod.due.values_mut() {
                *due = (*due).min(soon);
            }
        }
    }

    /// The node is this now. If it isn't as it was, pods are asked about soon.
    pub fn node_changed(&mut self, node: &NodeFacts, now: Duration, chance: impl FnMut() -> f64) {
        if !self.is_on() {
            return;
        }
        let traits = NodeTraits::of(node);
        let before = self.node.replace(traits);
        if before.is_some() && before != self.node {
            self.ask_soon(now, chance);
        }
    }

    /// Pods were ended this long before the agent's start.
    pub fn restore_ends(&mut self, mut ages: Vec<Duration>) {
        ages.sort();
        let times = ages.iter().rev().filter_map(|age| INTERVAL_MAX.checked_sub(*age));
        self.ended = times.collect();
    }

    /// Whether a pod that this handler rejects is ended, which counts then. `running` is how many run. Counted are all that were ended
    /// within the handler's interval, by any handler; within the longest where no one handler decided.
    pub fn may_end(&mut self, handler: Option<&str>, running: usize, now: Duration) -> bool {
        let Some(longest) = self.handlers.values().max().copied() else { return false };
        let every = handler.and_then(|handler| self.handlers.get(handler)).copied().unwrap_or(longest);
        self.may_end_within(every, running, now)
    }

    /// The same of a pod that a handler rejects after the agent's start ([`readmit`]).
    pub fn may_end_readmitted(&mut self, running: usize, now: Duration) -> bool {
        self.may_end_within(readmit::ASK_AGAIN_AFTER, running, now)
    }

    fn may_end_within(&mut self, every: Duration, running: usize, now: Duration) -> bool {
        let now = now.saturating_add(INTERVAL_MAX);
        self.ended.retain(|at| now.saturating_sub(*at) < INTERVAL_MAX);
        let lately = self.ended.iter().filter(|at| now.saturating_sub(**at) < every).count();
        let may = lately < running.div_ceil(ENDED_OF).max(1);
        if may {
            self.ended.push_back(now);
            if self.ended.len() > ENDS_MAX {
                self.ended.pop_front();
            }
        }
        may
    }
}

fn part(of: Duration, chance: f64) -> Duration {
    of.mul_f64(chance.clamp(0.0, 1.0))
}
