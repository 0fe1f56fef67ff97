//! Which pods end so that a critical one fits (upstream: `preemption/preemption.go`).
//!
//! What a plugin's pod source brings is never critical to the node, whatever it says of itself: no one ends for it, and it
//! ends for anyone who is critical.

use std::fmt;

use k8s_openapi::api::core::v1::{Node, Pod};

use super::{AdmissionRequest, AdmittedPod, Operation, Shortage};
use crate::pod::resources::{self, Amounts, CPU, MEMORY, QosClass};
use crate::pod::static_pod::is_critical;
use crate::pod::{PodUid, SourceName};

#[cfg(test)]
mod tests;

/// `status.reason` of a pod that was ended to free resources, and the reason of the event that says it; the critical pod waits
/// with it too (`events/event.go`).
pub const REASON: &str = "Preempting";
/// `status.message` of the ended pod, and the event's message.
pub const MESSAGE: &str = "Preempted in order to admit critical pod";
/// Message of the ended pod's condition `DisruptionTarget`; the condition's reason is `TerminationByKubelet`.
pub const CONDITION_MESSAGE: &str = "Pod was preempted by Kubelet to accommodate a critical pod.";

/// The resource that counts pods.
const PODS: &str = "pods";

/// The sources of the node itself; all others are plugins'.
const OWN_SOURCES: [&str; 3] = ["file", "http", "api"];

/// All pods that may be ended together don't have as much as lacks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotEnough {
    /// Resource and how much of it would still lack. Units as in [`Shortage`].
    pub lacking: Vec<(String, i64)>,
}

impl fmt::Display for NotEnough {
    // Upstream's words, down to the last comma: they are what people search for.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("no set of running pods found to reclaim resources: [")?;
        for (resource, amount) in &self.lacking {
            write!(f, "(res: {resource}, q: {amount}), ")?;
        }
        f.write_str("]")
    }
}

impl std::error::Error for NotEnough {}

/// Whether others may be ended for this pod: it is critical, comes from no plugin, and isn't running yet.
pub fn may_preempt(request: &AdmissionRequest) -> bool {
    match request.operation {
        Operation::Add => is_critical(&request.pod) && is_own(&request.source),
        // A running pod keeps what it has and goes on waiting, and an admitted one has its place.
        Operation::Resize
        | Operation::Update
        | Operation::Ephemeral
        | Operation::ImageResolved
        | Operation::Readmit
        | Operation::Recheck => false,
    }
}

/// Whether `other` may be ended for `preemptor`: a plugin brought it, it is less critical, or it is of lower priority where
/// both state one (upstream: `Preemptable`).
pub fn is_preemptable(preemptor: &Pod, other: &AdmittedPod) -> bool {
    let priority = |pod: &Pod| pod.spec.as_ref().and_then(|spec| spec.priority);
    if is_critical(preemptor) && !(is_critical(&other.pod) && is_own(&other.source)) {
        return true;
    }
    matches!((priority(preemptor), priority(&other.pod)), (Some(own), Some(theirs)) if own > theirs)
}

/// Whether a source is the node's own, no plugin's.
pub fn is_own(source: &SourceName) -> bool {
    OWN_SOURCES.contains(&source.as_str())
}

/// Whether the node lacks this resource for the pod by the agent's own figures. A handler may say what it likes; no one is ended on
/// its word alone.
pub fn is_lacking(resource: &str, preemptor: &Pod, others: &[AdmittedPod], node: &Node) -> bool {
    let of = |pod: &Pod| {
        if resource == PODS { 1 } else { resources::requests(pod).get(resource).copied().unwrap_or(0) }
    };
    let allocatable = node.status.as_ref().and_then(|status| status.allocatable.as_ref());
    let capacity = allocatable
        .and_then(|amounts| amounts.get(resource))
        .and_then(|quantity| resources::amount(resource, quantity).ok())
        .unwrap_or(0);
    let used = others.iter().fold(0_i64, |sum, other| sum.saturating_add(of(&other.pod)));
    of(preemptor) > 0 && of(preemptor).saturating_add(used) > capacity
}

/// The pods to be ended so that `preemptor` finds what lacks: guaranteed ones only for what all burstable and best-effort
/// ones together don't have, burstable ones only for what is missing then, and of each class those that come nearest to
/// what lacks. Best-effort ones come first in the answer. Empty if nothing lacks.
///
/// # Errors
/// When even all that may be ended don't suffice; then no one should be.
pub fn victims(
    preemptor: &Pod,
    others: &[AdmittedPod],
    shortages: &[Shortage],
) -> Result<Vec<PodUid>, NotEnough> {
    let candidates: Vec<Candidate> = others
        .iter()
        .filter(|other| is_preemptable(preemptor, other))
        .map(|other| Candidate::new(&other.pod))
        .collect();
    let of_class = |class| candidates.iter().filter(move |candidate| candidate.class == class);
    let (best_effort, burstable, guaranteed): (Vec<_>, Vec<_>, Vec<_>) = (
        of_class(QosClass::BestEffort).collect(),
        of_class(QosClass::Burstable).collect(),
        of_class(QosClass::Guaranteed).collect(),
    );
    let lacks = MissingResources::new(shortages);
    let of_guaranteed = nearest(guaranteed, lacks.without(&best_effort).without(&burstable))?;
    let of_burstable = nearest(burstable, lacks.without(&best_effort).without(&of_guaranteed))?;
    let of_best_effort = nearest(best_effort, lacks.without(&of_burstable).without(&of_guaranteed))?;
    let chosen = of_best_effort.iter().chain(&of_burstable).chain(&of_guaranteed);
    Ok(chosen.map(|candidate| candidate.uid.clone()).collect())
}

/// A pod that may be ended.
struct Candidate {
    uid: PodUid,
    class: QosClass,
    requests: Amounts,
}

impl Candidate {
    fn new(pod: &Pod) -> Self {
        Self { uid: PodUid::of(pod), class: resources::qos(pod), requests: resources::requests(pod) }
    }

    fn has(&self, resource: &str) -> i64 {
        if resource == PODS { 1 } else { self.requests.get(resource).copied().unwrap_or(0) }
    }

    /// Memory counts before CPU.
    fn size(&self) -> (i64, i64) {
        (self.has(MEMORY), self.has(CPU))
    }
}

/// What lacks still: each resource once, more than zero of it.
#[derive(Clone, Debug, PartialEq)]
struct MissingResources(Vec<(String, i64)>);

impl MissingResources {
    /// Adds shortages up; of a resource that several handlers find short, the most counts.
    fn new(shortages: &[Shortage]) -> Self {
        let mut lacks: Vec<(String, i64)> = Vec::new();
        for Shortage { resource, requested, used, capacity } in shortages {
            let lack = requested.saturating_sub(capacity.saturating_sub(*used));
            match lacks.iter_mut().find(|(known, _)| known == resource) {
                Some((_, most)) => *most = lack.max(*most),
                None => lacks.push((resource.clone(), lack)),
            }
        }
        lacks.retain(|(_, amount)| *amount > 0);
        Self(lacks)
    }

    /// What lacks if these were gone.
    fn without(&self, gone: &[&Candidate]) -> Self {
        let left = self.0.iter().map(|(resource, amount)| {
            let amount = gone.iter().fold(*amount, |left, pod| left.saturating_sub(pod.has(resource)));
            (resource.clone(), amount)
        });
        Self(left.filter(|(_, amount)| *amount > 0).collect())
    }

    /// How far a pod is from giving all that lacks: every resource counts the same, whatever its unit.
    fn distance(&self, pod: &Candidate) -> f64 {
        let parts = self.0.iter().map(|(resource, amount)| {
            let missing = amount.saturating_sub(pod.has(resource)).max(0);
            (missing as f64 / *amount as f64).powi(2)
        });
        parts.sum()
    }
}

/// Takes the nearest pod again and again until nothing lacks; of equally near ones the one that asks for less, the later
/// one if they ask for the same.
fn nearest(mut pods: Vec<&Candidate>, mut lacks: MissingResources) -> Result<Vec<&Candidate>, NotEnough> {
    let mut chosen = Vec::new();
    while !lacks.0.is_empty() {
        let best = pods.iter().enumerate().reduce(|best, next| {
            let (far, near) = (lacks.distance(best.1), lacks.distance(next.1));
            if near < far || (near == far && next.1.size() <= best.1.size()) { next } else { best }
        });
        let Some((index, _)) = best else { return Err(NotEnough { lacking: lacks.0 }) };
        let pod = pods.swap_remove(index);
        lacks = lacks.without(&[pod]);
        chosen.push(pod);
    }
    Ok(chosen)
}
