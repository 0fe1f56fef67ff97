//! Which dead containers and sandboxes the runtime needn't keep any more (upstream: `kuberuntime_gc.go`).
//!
//! Dead containers tell why they ended, so the last one of each container of a pod is kept as long as the pod is desired.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};

use crate::error::aggregate;
use crate::pod::PodUid;
use crate::runtime::{
    ContainerId, ContainerRunState, ListedContainer, ListedSandbox, RuntimePod, SandboxId, SandboxState,
};

/// Reason of the event that says that the collection fails.
pub const FAILED: &str = "ContainerGCFailed";
/// A failure is reported this often at most: upstream collects, and fails, each minute (`ContainerGCPeriod`).
const FAILURE_REPORT_PERIOD: SignedDuration = SignedDuration::from_mins(1);

/// When it is reported that the collection fails.
#[derive(Clone, Debug, Default)]
pub struct FailureReports {
    last: Option<Timestamp>,
}

impl FailureReports {
    /// The message of the event about a collection that failed with these errors; none if none failed, and while the last report isn't
    /// a minute old. A clock that was set doesn't silence it.
    pub fn next(&mut self, errors: Vec<String>, now: Timestamp) -> Option<String> {
        let is_due = self.last.is_none_or(|last| now.duration_since(last).abs() >= FAILURE_REPORT_PERIOD);
        if errors.is_empty() || !is_due {
            return None;
        }
        self.last = Some(now);
        Some(aggregate(errors))
    }
}

/// How many dead containers are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GcPolicy {
    /// Younger ones are kept in any case.
    pub age_min: SignedDuration,
    /// At most so many of each container of a pod; none is no bound.
    pub per_container_max: Option<usize>,
    /// At most so many in all; none is no bound. Kept evenly among containers, then the newest.
    pub total_max: Option<usize>,
}

impl Default for GcPolicy {
    /// The kubelet's: one of each container, whatever its age.
    fn default() -> Self {
        Self { age_min: SignedDuration::ZERO, per_container_max: Some(1), total_max: None }
    }
}

/// How the agent stands to a pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PodNeed {
    /// It is desired, and may run.
    Desired,
    /// It is desired, but none of its containers runs again: it was evicted, or has ended (upstream:
    /// `ShouldPodRuntimeBeRemoved`).
    Ended,
    /// No one wants it, and none of its containers runs (upstream: `ShouldPodContentBeRemoved`).
    Gone,
}

/// The facts that a collection is made from.
#[derive(Clone, Copy, Debug)]
pub struct GcInput<'a> {
    /// All that the runtime has.
    pub pods: &'a [RuntimePod],
    /// How the agent stands to them; a pod that isn't there is `Gone`.
    pub needs: &'a BTreeMap<PodUid, PodNeed>,
    /// Every source has been seen: only then is anything known to be `Gone`.
    pub sources_ready: bool,
    /// The node needs the capacity: what `Ended` pods have left goes as well.
    pub evict_ended: bool,
    /// How many are kept.
    pub policy: GcPolicy,
    pub now: Timestamp,
}

/// What is to be removed, containers first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Garbage {
    /// Dead containers, the oldest of each container first.
    pub containers: Vec<DeadContainer>,
    /// Dead sandboxes in which nothing is left once these containers are removed.
    pub sandboxes: Vec<SandboxId>,
}

/// A container that goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeadContainer {
    pub id: ContainerId,
    /// No one knows whether it runs: it is stopped first.
    pub stop_first: bool,
}

/// A dead container with what it is one of.
#[derive(Clone, Copy)]
struct Candidate<'a> {
    uid: &'a PodUid,
    container: &'a ListedContainer,
}

/// Returns what the runtime needn't keep any more.
pub fn collect(input: GcInput<'_>) -> Garbage {
    let removed = containers(input);
    let gone: BTreeSet<&ContainerId> = removed.iter().map(|candidate| &candidate.container.id).collect();
    let sandboxes = input.pods.iter().flat_map(|pod| sandboxes(input, pod, &gone)).collect();
    let containers = removed
        .iter()
        .map(|candidate| DeadContainer {
            id: candidate.container.id.clone(),
            stop_first: candidate.container.state == ContainerRunState::Unknown,
        })
        .collect();
    Garbage { containers, sandboxes }
}

/// Whether nothing dead of the pod is to be kept.
fn loses_all(input: GcInput<'_>, uid: &PodUid) -> bool {
    match input.needs.get(uid).copied().unwrap_or(PodNeed::Gone) {
        PodNeed::Desired => false,
        PodNeed::Ended => input.evict_ended,
        PodNeed::Gone => true,
    }
}

fn containers<'a>(input: GcInput<'a>) -> Vec<Candidate<'a>> {
    let born_before = input.now.checked_sub(input.policy.age_min).unwrap_or(Timestamp::MIN);
    let mut units: BTreeMap<(&PodUid, &str), Vec<Candidate<'a>>> = BTreeMap::new();
    for pod in input.pods {
        let dead = pod.containers.iter().filter(|container| {
            // One that was made after now is older than a clock that was set back.
            let is_old = container.created_at <= born_before || container.created_at > input.now;
            container.state != ContainerRunState::Running && is_old
        });
        for container in dead {
            let unit = units.entry((&pod.uid, &container.name)).or_default();
            unit.push(Candidate { uid: &pod.uid, container });
        }
    }
    for unit in units.values_mut() {
        unit.sort_by_key(|candidate| Reverse(candidate.container.created_at));
    }
    let mut removed = Vec::new();
    if input.sources_ready {
        units.retain(|(uid, _), unit| {
            let lost = loses_all(input, uid);
            if lost {
                keep_newest(unit, 0, &mut removed);
            }
            !lost
        });
    }
    if let Some(most) = input.policy.per_container_max {
        units.values_mut().for_each(|unit| keep_newest(unit, most, &mut removed));
    }
    if let Some(most) = input.policy.total_max {
        keep_in_all(&mut units, most, &mut removed);
    }
    removed
}

/// The same number of each container, at least one; then the newest of all.
fn keep_in_all<'a>(
    units: &mut BTreeMap<(&'a PodUid, &'a str), Vec<Candidate<'a>>>,
    most: usize,
    removed: &mut Vec<Candidate<'a>>,
) {
    let count = |units: &BTreeMap<_, Vec<Candidate<'a>>>| units.values().map(Vec::len).sum::<usize>();
    if count(units) <= most {
        return;
    }
    let each = (most / units.len().max(1)).max(1);
    units.values_mut().for_each(|unit| keep_newest(unit, each, removed));
    if count(units) > most {
        let mut all: Vec<Candidate<'a>> = units.values().flatten().copied().collect();
        all.sort_by_key(|candidate| Reverse((candidate.container.created_at, candidate.uid)));
        keep_newest(&mut all, most, removed);
    }
}

/// Keeps the first ones of a list that has the newest first, and removes the others, the oldest first.
fn keep_newest<'a>(unit: &mut Vec<Candidate<'a>>, most: usize, removed: &mut Vec<Candidate<'a>>) {
    let keep = most.min(unit.len());
    removed.extend(unit.drain(keep..).rev());
}

/// Dead sandboxes without containers: all but the newest sandbox of a pod, or all if nothing of the pod is to be kept.
fn sandboxes(input: GcInput<'_>, pod: &RuntimePod, gone: &BTreeSet<&ContainerId>) -> Vec<SandboxId> {
    let holds_any = |sandbox: &ListedSandbox| {
        let left = pod.containers.iter().filter(|container| !gone.contains(&container.id));
        left.into_iter().any(|container| container.sandbox_id == sandbox.id)
    };
    let mut sandboxes: Vec<&ListedSandbox> = pod.sandboxes.iter().collect();
    sandboxes.sort_by_key(|sandbox| Reverse(sandbox.created_at));
    let keep = if input.sources_ready && loses_all(input, &pod.uid) { 0 } else { 1 };
    let old = sandboxes.into_iter().skip(keep);
    let dead = old.filter(|sandbox| sandbox.state == SandboxState::NotReady && !holds_any(sandbox));
    dead.map(|sandbox| sandbox.id.clone()).collect()
}

#[cfg(test)]
mod tests;
