//! Between the host's vocabulary and `witlet:admission@0.2.1`'s.

use std::time::Duration;

use k8s_openapi::api::core::v1::{Container, Pod};
use thiserror::Error;
use witlet_core::admission::{Operation, Verdict};
use witlet_core::pod::SourceName;

use super::super::facts::PodFacts;
use super::super::{MESSAGE_BYTES_MAX, REASON_BYTES_MAX};
use super::bindings::witlet::admission::types as wit;
use crate::worlds::{WordFault, sentence, word};

/// How many reasons a rejection may have.
const REJECTIONS_MAX: usize = 64;

/// A verdict that the contract doesn't allow.
#[derive(Debug, PartialEq, Eq, Error)]
pub(super) enum VerdictFault {
    #[error(transparent)]
    Word(#[from] WordFault),
    #[error("the list of rejections is empty")]
    NoRejection,
    #[error("{0} rejections are more than {REJECTIONS_MAX}")]
    ManyRejections(usize),
}

/// The verdict, or what is wrong with it. Of several reasons the first is the pod's, and all are reported.
pub(super) fn verdict(verdict: wit::Verdict) -> Result<Verdict, VerdictFault> {
    match verdict {
        wit::Verdict::Admit => Ok(Verdict::Admit),
        wit::Verdict::Reject(rejection) => reject(vec![rejection]),
        wit::Verdict::RejectAll(rejections) => reject(rejections),
        wit::Verdict::Defer(wit::Deferral { reason, message, retry_after_seconds }) => Ok(Verdict::Defer {
            reason: word(reason, REASON_BYTES_MAX)?,
            message: sentence(&message, MESSAGE_BYTES_MAX),
            retry_after: Duration::from_secs(retry_after_seconds.into()),
        }),
    }
}

fn reject(rejections: Vec<wit::Rejection>) -> Result<Verdict, VerdictFault> {
    if rejections.len() > REJECTIONS_MAX {
        return Err(VerdictFault::ManyRejections(rejections.len()));
    }
    let (mut reasons, mut messages) = (Vec::new(), Vec::new());
    for wit::Rejection { reason, message } in rejections {
        reasons.push(word(reason, REASON_BYTES_MAX)?);
        messages.push(message);
    }
    let reason = reasons.into_iter().next().ok_or(VerdictFault::NoRejection)?;
    Ok(Verdict::Reject { reason, message: sentence(&messages.join("; "), MESSAGE_BYTES_MAX) })
}

pub(super) fn operation(operation: Operation) -> wit::Operation {
    match operation {
        Operation::Add => wit::Operation::Add,
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
