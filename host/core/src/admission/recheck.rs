//! When pods that run are put to the handlers again, and which of those that are rejected are ended.
//!
//! Each pod is asked about once in the interval, at a time of its own, so that the pods of a node are never asked about together, the
//! first time after half of it at least; and all within a minute once something changed that handlers look at. A few at a time are
//! asked about, and of those that are rejected a part is ended in an interval: a handler that rejects every pod doesn't empty the
//! node before people see it.
//!
//! The first time after a restart of the agent is spread over the interval, too: verdicts stand, and nothing is asked sooner or
//! otherwise than without the restart. Handlers that are loaded and what becomes known of the node at the start are no change.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use k8s_openapi::api::core::v1::{NodeCondition, Taint};

use super::Decision;
use crate::node::NodeFacts;
use crate::pod::PodUid;

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
/// What changes sooner after the agent's start only becomes known then.
const SETTLED_AFTER: Duration = Duration::from_secs(120);
/// What changes about a machine all the time, by how its key ends.
const READINGS: [&str; 2] = [".available", ".inodesFree"];

/// What a decision about a pod that runs comes to: its rejection, with reason and message, or nothing.
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
    /// Kind and status.
    conditions: BTreeMap<String, String>,
    facts: BTreeMap<String, String>,
}

impl NodeTraits {
    /// Of the node as handlers see it.
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

/// The pods that run, and when each is asked about. Times are since the agent's start, of a clock that isn't set.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rechecks {
    /// None if nothing is asked.
    every: Option<Duration>,
    pods: BTreeMap<PodUid, PodRecheck>,
    /// When pods were ended within the last interval.
    ended: VecDeque<Duration>,
    /// The node when it was looked at last.
    node: Option<NodeTraits>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct PodRecheck {
    due: Duration,
    asked: Option<Duration>,
}

impl Rechecks {
    /// Whether pods are asked about.
    pub fn is_on(&self) -> bool {
        self.every.is_some()
    }

    /// The interval is this from now on; none if nothing is to be asked. Another one begins again from now.
    pub fn set_interval(&mut self, every: Option<Duration>) {
        let every = every.map(|every| every.clamp(INTERVAL_MIN, INTERVAL_MAX));
        if self.every != every {
            *self = Self { every, ended: std::mem::take(&mut self.ended), ..Self::default() };
        }
    }

    /// The pods to ask about now, those first that are due for longest; at most `room`. `running` are all that may be asked about, and
    /// `chance` gives numbers from 0 to 1.
    pub fn take_due(
        &mut self,
        running: &BTreeSet<&PodUid>,
        room: usize,
        now: Duration,
        mut chance: impl FnMut() -> f64,
    ) -> Vec<PodUid> {
        let Some(every) = self.every else { return Vec::new() };
        self.pods.retain(|uid, _| running.contains(uid));
        for uid in running {
            if !self.pods.contains_key(*uid) {
                let half = every / 2;
                let due = now.saturating_add(half).saturating_add(part(half, chance()));
                self.pods.insert(PodUid::clone(uid), PodRecheck { due, asked: None });
            }
        }
        let due = self.pods.iter().filter(|(_, pod)| pod.due <= now);
        let mut due: Vec<(Duration, PodUid)> = due.map(|(uid, pod)| (pod.due, uid.clone())).collect();
        due.sort();
        due.truncate(room);
        for (_, uid) in &due {
            let next = PodRecheck { due: now.saturating_add(every), asked: Some(now) };
            self.pods.insert(uid.clone(), next);
        }
        due.into_iter().map(|(_, uid)| uid).collect()
    }

    /// The handlers, or what they look at, changed: all pods are asked about soon, but none again within the shortest interval.
    pub fn ask_soon(&mut self, now: Duration, mut chance: impl FnMut() -> f64) {
        if now < SETTLED_AFTER {
            return;
        }
        for pod in self.pods.values_mut() {
            let earliest = pod.asked.map_or(now, |asked| now.max(asked.saturating_add(INTERVAL_MIN)));
            pod.due = pod.due.min(earliest.saturating_add(part(INTERVAL_MIN, chance())));
        }
    }

    /// The node is this now. If it isn't as it was, pods are asked about soon.
    pub fn node_changed(&mut self, node: &NodeFacts, now: Duration, chance: impl FnMut() -> f64) {
        if self.every.is_none() {
            return;
        }
        let traits = NodeTraits::of(node);
        let before = self.node.replace(traits);
        if before.is_some() && before != self.node {
            self.ask_soon(now, chance);
        }
    }

    /// Whether a pod that was rejected is ended, which counts then. `running` is how many run.
    pub fn may_end(&mut self, running: usize, now: Duration) -> bool {
        let Some(every) = self.every else { return false };
        self.ended.retain(|at| now.saturating_sub(*at) < every);
        let may = self.ended.len() < running.div_ceil(ENDED_OF).max(1);
        if may {
            self.ended.push_back(now);
        }
        may
    }
}

fn part(of: Duration, chance: f64) -> Duration {
    of.mul_f64(chance.clamp(0.0, 1.0))
}
