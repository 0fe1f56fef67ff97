//! Spans of the work on pods.

use std::borrow::Cow;

use super::span::{Attribute, SpanKind, SpanStart};
use crate::admission::Decision;
use crate::pod::worker::{Task, UpdateKind};
use crate::pod::{PodFullName, PodUid};

/// The span of a piece of work on a pod (upstream: `SyncPod`, `SyncTerminatingPod`, `SyncTerminatedPod`).
pub fn work(task: Task, kind: UpdateKind, pod: &PodFullName, uid: &PodUid) -> SpanStart {
    let name = match task {
        Task::Sync => "syncPod",
        Task::Terminate { .. } => "syncTerminatingPod",
        Task::Settle => "syncTerminatedPod",
    };
    let mut attributes = attributes(pod, uid);
    if task == Task::Sync {
        attributes.push(Attribute::text("k8s.pod.update_type", update_type(kind)));
    }
    SpanStart { name: Cow::Borrowed(name), kind: SpanKind::Internal, attributes }
}

/// The span of a pod's way through the admission handlers, which a kubelet doesn't have.
pub fn admission(pod: &PodFullName, uid: &PodUid) -> SpanStart {
    SpanStart { name: Cow::Borrowed("admitPod"), kind: SpanKind::Internal, attributes: attributes(pod, uid) }
}

/// Returns what the handlers decided, with the reason of a refusal.
pub fn decision(decision: &Decision) -> Vec<Attribute> {
    let (word, reason) = match decision {
        Decision::Admit => ("admit", None),
        Decision::Reject { reason, .. } => ("reject", Some(&**reason)),
        Decision::Defer { reason, .. } => ("defer", Some(&**reason)),
        Decision::Preempt { .. } => ("preempt", None),
    };
    let reason = reason.map(|reason| Attribute::text("witlet.admission.reason", reason));
    std::iter::once(Attribute::text("witlet.admission.decision", word)).chain(reason).collect()
}

fn attributes(pod: &PodFullName, uid: &PodUid) -> Vec<Attribute> {
    vec![
        Attribute::text("k8s.pod.uid", uid.to_string()),
        Attribute::text("k8s.pod", format!("{}/{}", pod.namespace, pod.name)),
        Attribute::text("k8s.pod.name", &*pod.name),
        Attribute::text("k8s.namespace.name", &*pod.namespace),
    ]
}

/// Returns the text as upstream's `SyncPodType` prints.
fn update_type(kind: UpdateKind) -> &'static str {
    match kind {
        UpdateKind::Create => "create",
        UpdateKind::Update => "update",
        UpdateKind::Sync => "sync",
        UpdateKind::Kill => "kill",
    }
}
