//! What the clean-up ends, removes and forgets (upstream: `HandlePodCleanups`).
//!
//! Pods end and are forgotten only once every source was read: before, a pod that no source has may only be unread.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use jiff::{SignedDuration, Timestamp};

use super::lifecycle::Need;
use super::{PodFullName, PodUid};
use crate::container::gc::{Garbage, GcInput, GcPolicy, PodNeed, collect};
use crate::runtime::{ContainerId, ObservedPod, RuntimePod, SandboxId};

#[cfg(test)]
mod tests;

/// A container that was made so lately may be about to start, and isn't counted as dead: upstream collects every minute and
/// seldom meets one.
const ABOUT_TO_START: SignedDuration = SignedDuration::from_secs(10);
/// Pods that are remembered as added while a source can't be read. Beyond that, folders of pods that ended meanwhile stay until it
/// can be.
const ADDED_MAX: usize = 10_000;

/// How much is known of what sources want.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SourcesRead {
    /// One of the agent's own sources has sent no set yet.
    #[default]
    None,
    /// A source has a part that can't be read, or a plugin's has sent no set yet: pods that no source added since the agent's start
    /// are left alone.
    Partly,
    /// Pods that no source has are not desired.
    All,
}

/// One pod, as its record has it.
#[derive(Clone, Copy, Debug)]
pub struct PodFacts {
    /// What may be removed of it.
    pub need: Need,
    /// A source has it.
    pub has_source: bool,
    /// A worker has it.
    pub has_worker: bool,
    /// A source added it since the agent's start.
    pub was_added: bool,
    /// The last inspection, if there was one, found nothing of it in the runtime.
    pub is_absent: bool,
}

/// What a clean-up is decided on.
#[derive(Clone, Copy, Debug)]
pub struct CleanUpInput<'a> {
    pub pods: &'a BTreeMap<PodUid, PodFacts>,
    /// All pods of the runtime.
    pub runtime: &'a [RuntimePod],
    /// What is known of the sources.
    pub sources: SourcesRead,
    /// The node needs the capacity of what ended pods have left.
    pub evict_ended: bool,
    /// How many dead containers stay.
    pub policy: GcPolicy,
    pub now: Timestamp,
}

/// What is done to a pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// End it: feed [`super::lifecycle::Event::Undesired`] in.
    End(PodUid),
    /// End what only the runtime has of it: feed [`super::lifecycle::Event::Orphaned`] in.
    KillOrphan(PodUid, PodFullName),
    /// Let it begin again: feed [`super::lifecycle::Event::RemainsGone`] in.
    BringBack(PodUid),
    /// Treat it as one that no source added since the agent's start.
    ForgetAdded(PodUid),
    Forget(PodUid),
}

/// What a clean-up does.
#[derive(Clone, Debug, Default)]
pub struct CleanUp {
    /// In order.
    pub effects: Vec<Effect>,
    /// What the runtime removes. Containers that go with their sandbox aren't named.
    pub garbage: Garbage,
    /// Of which pods what stays.
    pub retained: Retained,
}

/// The pods of which something stays.
#[derive(Clone, Debug, Default)]
pub struct Retained {
    known: BTreeSet<PodUid>,
    in_runtime: BTreeSet<PodUid>,
    added: BTreeSet<PodUid>,
    sources: SourcesRead,
}

impl Retained {
    /// Whether the pod's status and probes stay.
    pub fn is_known(&self, uid: &PodUid) -> bool {
        self.sources == SourcesRead::None || self.known.contains(uid)
    }

    /// Whether what the pod was allocated stays.
    pub fn keeps_allocation(&self, uid: &PodUid) -> bool {
        self.is_known(uid) || (self.sources == SourcesRead::Partly && !self.added.contains(uid))
    }

    /// Whether the pod's folders and cgroup, and the ids of its user namespace, stay.
    pub fn keeps_folders(&self, uid: &PodUid) -> bool {
        self.keeps_allocation(uid) || self.in_runtime.contains(uid)
    }
}

/// Decides on a clean-up.
pub fn clean_up(input: CleanUpInput<'_>) -> CleanUp {
    let in_runtime: BTreeSet<PodUid> = input.runtime.iter().map(|pod| pod.uid.clone()).collect();
    let (needs, orphans) = needs(input);
    let garbage = garbage(input, &needs);
    let mut retained = Retained { in_runtime, sources: input.sources, ..Retained::default() };
    if input.sources == SourcesRead::None {
        return CleanUp { effects: Vec::new(), garbage, retained };
    }
    let mut effects = Vec::new();
    retained.known.extend(orphans.iter().map(|(uid, _)| uid.clone()));
    for (uid, pod) in input.pods {
        if pod.has_worker && !pod.has_source {
            effects.push(Effect::End(uid.clone()));
        }
        if pod.has_worker || pod.has_source {
            retained.known.insert(uid.clone());
        }
    }
    effects.extend(orphans.into_iter().map(|(uid, full_name)| Effect::KillOrphan(uid, full_name)));
    let mut forgotten = Vec::new();
    let too_many = input.pods.values().filter(|pod| pod.was_added).count() > ADDED_MAX;
    let keeps_added = input.sources == SourcesRead::Partly && !too_many;
    for (uid, pod) in input.pods {
        let (is_known, is_listed) = (retained.known.contains(uid), retained.in_runtime.contains(uid));
        // A pod that came and went between two lists is only known from its inspection.
        if pod.need == Need::Returning && !is_listed && pod.is_absent {
            effects.push(Effect::BringBack(uid.clone()));
        }
        if pod.was_added && (is_known || is_listed || keeps_added) {
            retained.added.insert(uid.clone());
        } else if !is_known && input.sources == SourcesRead::All {
            forgotten.push(Effect::Forget(uid.clone()));
        } else if pod.was_added {
            forgotten.push(Effect::ForgetAdded(uid.clone()));
        }
    }
    effects.extend(forgotten);
    CleanUp { effects, garbage, retained }
}

/// How the collection of garbage treats the pods of the runtime, and those that run though no source wants them.
fn needs(input: CleanUpInput<'_>) -> (BTreeMap<PodUid, PodNeed>, Vec<(PodUid, PodFullName)>) {
    let (mut needs, mut orphans) = (BTreeMap::new(), Vec::new());
    for pod in input.runtime {
        let need = match (need(input, &pod.uid), pod.is_alive()) {
            (Need::Kept, _) | (Need::Ended | Need::Returning, true) => PodNeed::Desired,
            (Need::Ended, false) => PodNeed::Ended,
            (Need::Undesired, true) => {
                orphans.push((pod.uid.clone(), PodFullName::new(&pod.namespace, &pod.name)));
                PodNeed::Desired
            }
            (Need::Undesired | Need::Returning, false) => PodNeed::Gone,
        };
        needs.insert(pod.uid.clone(), need);
    }
    (needs, orphans)
}

fn need(input: CleanUpInput<'_>, uid: &PodUid) -> Need {
    let pod = input.pods.get(uid);
    let is_known = pod.is_some_and(|pod| pod.has_source || pod.has_worker);
    match input.sources {
        SourcesRead::None => Need::Kept,
        SourcesRead::Partly if !is_known && !pod.is_some_and(|pod| pod.was_added) => Need::Kept,
        SourcesRead::Partly | SourcesRead::All => pod.map_or(Need::Undesired, |pod| pod.need),
    }
}

fn garbage(input: CleanUpInput<'_>, needs: &BTreeMap<PodUid, PodNeed>) -> Garbage {
    let CleanUpInput { runtime: pods, evict_ended, policy, now, .. } = input;
    let policy = GcPolicy { age_min: policy.age_min.max(ABOUT_TO_START), ..policy };
    // Before the sources were read each pod is one that is kept.
    let mut garbage = collect(GcInput { pods, needs, sources_ready: true, evict_ended, policy, now });
    let going: BTreeSet<&SandboxId> = garbage.sandboxes.iter().collect();
    let all = pods.iter().flat_map(|pod| &pod.containers);
    let in_going = all.filter(|container| going.contains(&container.sandbox_id)).map(|c| &c.id);
    let in_going: BTreeSet<&ContainerId> = in_going.collect();
    garbage.containers.retain(|dead| !in_going.contains(&dead.id));
    garbage
}

/// Where the logs of the containers are that go, be it with their sandbox: a pod may come back with its UID, and keeps its folders
/// then.
pub fn logs_of(garbage: &Garbage, inspected: &ObservedPod) -> Vec<(ContainerId, PathBuf)> {
    let goes = inspected.containers.iter().filter(|container| {
        let sandbox = container.sandbox_id.as_ref();
        garbage.containers.iter().any(|dead| dead.id == container.id)
            || sandbox.is_some_and(|id| garbage.sandboxes.contains(id))
    });
    let logs = goes.filter(|container| !container.log_path.is_empty());
    logs.map(|container| (container.id.clone(), container.log_path.clone().into())).collect()
}
