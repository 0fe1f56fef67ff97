//! Between the host's vocabulary and `witlet:admission@0.1.0`'s.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Node, Pod};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use witlet_core::admission::{Operation, Shortage, Verdict};
use witlet_core::pod::resources::{self, Amounts, HostPort, QosClass};

use super::super::Reply;
use super::super::facts::PodFacts;
use super::super::refusal::{deferral, rejection, shortages};
use super::super::values::since_epoch;
use super::bindings::witlet::admission::types as wit;

/// The verdict as the host takes it. Messages are cut to their bound; a refusal stays one, whatever is wrong with its texts.
pub(super) fn verdict(verdict: wit::Verdict) -> Reply<Verdict> {
    match verdict {
        wit::Verdict::Admit => Reply::Answer(Verdict::Admit),
        wit::Verdict::Reject(wit::Rejection { reason, message }) => rejection(reason, &message),
        wit::Verdict::Defer(wit::Deferral { reason, message, retry_after_milliseconds }) => {
            deferral(reason, &message, Duration::from_millis(retry_after_milliseconds))
        }
        wit::Verdict::Shortage(list) => shortages(list.into_iter().map(shortage).collect()),
    }
}

fn shortage(shortage: wit::Shortage) -> Shortage {
    let wit::Shortage { resource, requested, used, capacity } = shortage;
    Shortage { resource, requested, used, capacity }
}

pub(super) fn operation(operation: Operation) -> wit::Operation {
    match operation {
        // Handlers of this contract aren't asked about any but new pods and resizes.
        Operation::Add
        | Operation::Update
        | Operation::Ephemeral
        | Operation::ImageResolved
        | Operation::Readmit
        | Operation::Recheck => wit::Operation::Add,
        Operation::Resize => wit::Operation::Resize,
    }
}

pub(super) fn datetime(now: Timestamp) -> wit::Datetime {
    let (seconds, nanoseconds) = since_epoch(now);
    wit::Datetime { seconds, nanoseconds }
}

pub(super) fn pod_ref(pod: &PodFacts) -> wit::PodRef {
    let metadata = &pod.pod.metadata;
    wit::PodRef {
        namespace: metadata.namespace.clone().unwrap_or_default(),
        name: metadata.name.clone().unwrap_or_default(),
        uid: pod.uid().to_owned(),
    }
}

pub(super) fn containers(pod: &Pod) -> Vec<wit::Container> {
    let Some(spec) = &pod.spec else { return Vec::new() };
    let init = spec.init_containers.iter().flatten().map(|container| wit::Container {
        name: container.name.clone(),
        kind: if resources::is_sidecar(container) {
            wit::ContainerKind::Sidecar
        } else {
            wit::ContainerKind::Init
        },
        image: container.image.clone().unwrap_or_default(),
    });
    let app = spec.containers.iter().map(|container| wit::Container {
        name: container.name.clone(),
        kind: wit::ContainerKind::App,
        image: container.image.clone().unwrap_or_default(),
    });
    let ephemeral = spec.ephemeral_containers.iter().flatten().map(|container| wit::Container {
        name: container.name.clone(),
        kind: wit::ContainerKind::Ephemeral,
        image: container.image.clone().unwrap_or_default(),
    });
    init.chain(app).chain(ephemeral).collect()
}

pub(super) fn quantities(amounts: &Amounts) -> Vec<wit::Quantity> {
    amounts
        .iter()
        .map(|(resource, amount)| wit::Quantity { resource: resource.clone(), amount: *amount })
        .collect()
}

/// A quantity that isn't one counts as zero, as it does for pods.
pub(super) fn resource_list(list: Option<&BTreeMap<String, Quantity>>) -> Vec<wit::Quantity> {
    list.into_iter()
        .flatten()
        .map(|(resource, quantity)| wit::Quantity {
            resource: resource.clone(),
            amount: resources::amount(resource, quantity).unwrap_or(0),
        })
        .collect()
}

pub(super) fn host_port(port: &HostPort) -> wit::HostPort {
    wit::HostPort {
        ip: port.ip.map_or_else(|| "0.0.0.0".to_owned(), |ip| ip.to_string()),
        protocol: port.protocol.as_str().to_owned(),
        port: port.port,
    }
}

pub(super) fn qos(class: QosClass) -> wit::QosClass {
    match class {
        QosClass::Guaranteed => wit::QosClass::Guaranteed,
        QosClass::Burstable => wit::QosClass::Burstable,
        QosClass::BestEffort => wit::QosClass::BestEffort,
    }
}

pub(super) fn taints(node: &Node) -> Vec<wit::Taint> {
    let taints = node.spec.as_ref().and_then(|spec| spec.taints.as_ref());
    taints
        .into_iter()
        .flatten()
        .map(|taint| wit::Taint {
            key: taint.key.clone(),
            value: taint.value.clone().unwrap_or_default(),
            effect: taint.effect.clone(),
        })
        .collect()
}

pub(super) fn conditions(node: &Node) -> Vec<wit::Condition> {
    let conditions = node.status.as_ref().and_then(|status| status.conditions.as_ref());
    conditions
        .into_iter()
        .flatten()
        .map(|condition| wit::Condition {
            kind: condition.type_.clone(),
            status: condition.status.clone(),
            reason: condition.reason.clone().unwrap_or_default(),
            message: condition.message.clone().unwrap_or_default(),
        })
        .collect()
}

#[cfg(test)]
mod tests;
