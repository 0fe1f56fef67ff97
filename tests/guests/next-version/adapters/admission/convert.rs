//! Between the host's vocabulary and `witlet:admission@0.3.1`'s.

use std::time::Duration;

use k8s_openapi::api::core::v1::{Container, Pod};
use witlet_core::admission::{Operation, Verdict};
use witlet_core::pod::SourceName;

use super::super::Reply;
use super::super::facts::PodFacts;
use super::super::refusal::{deferral, rejection};
use super::bindings::witlet::admission::types as wit;

/// How many reasons a rejection may have.
const REJECTIONS_MAX: usize = 64;

/// The verdict as the host takes it. Of several reasons the first is the pod's, and the messages of all are reported.
pub(super) fn verdict(verdict: wit::Verdict) -> Reply<Verdict> {
    match verdict {
        wit::Verdict::Admit => Reply::Answer(Verdict::Admit),
        wit::Verdict::Reject(wit::Rejection { reason, message }) => rejection(reason, &message),
        wit::Verdict::RejectAll(rejections) => reject_all(rejections),
        wit::Verdict::Defer(wit::Deferral { reason, message, retry_after_seconds }) => {
            deferral(reason, &message, Duration::from_secs(retry_after_seconds.into()))
        }
    }
}

fn reject_all(rejections: Vec<wit::Rejection>) -> Reply<Verdict> {
    let count = rejections.len();
    if count > REJECTIONS_MAX {
        return Reply::Malformed(format!("{count} rejections are more than {REJECTIONS_MAX}"));
    }
    let (reasons, messages): (Vec<_>, Vec<_>) =
        rejections.into_iter().map(|rejection| (rejection.reason, rejection.message)).unzip();
    match reasons.into_iter().next() {
        Some(first) => rejection(first, &messages.join("; ")),
        None => Reply::Malformed("the list of rejections is empty".to_owned()),
    }
}

pub(super) fn operation(operation: Operation) -> wit::Operation {
    match operation {
        Operation::Add
        | Operation::Update
        | Operation::Ephemeral
        | Operation::ImageResolved
        | Operation::Readmit
        | Operation::Recheck => wit::Operation::Add,
        Operation::Resize => wit::Operation::Resize,
    }
}

pub(super) fn pod_ref(pod: &PodFacts) -> wit::PodRef {
    let metadata = &pod.pod.metadata;
    wit::PodRef {
        namespace: metadata.namespace.clone().unwrap_or_default(),
        name: metadata.name.clone().unwrap_or_default(),
        uid: pod.uid().to_owned(),
    }
}

/// Init containers first; none of the ephemeral ones.
pub(super) fn containers(pod: &Pod) -> Vec<wit::Container> {
    let Some(spec) = &pod.spec else { return Vec::new() };
    let reported = |container: &Container| wit::Container {
        name: container.name.clone(),
        image: container.image.clone().unwrap_or_default(),
        command: container.command.clone().unwrap_or_default(),
    };
    spec.init_containers.iter().flatten().chain(&spec.containers).map(reported).collect()
}

pub(super) fn origin(source: &SourceName) -> wit::Origin {
    match source.to_string().as_str() {
        "file" => wit::Origin::File,
        "http" => wit::Origin::Http,
        "api" => wit::Origin::Api,
        _ => wit::Origin::Plugin,
    }
}
