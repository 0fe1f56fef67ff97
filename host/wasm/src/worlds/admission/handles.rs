//! What guests hold of a question, whatever version of the contract they were built against.

use std::sync::{Arc, Weak};

use k8s_openapi::api::core::v1::{NodeCondition, Taint};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use wasmtime::component::Resource;
use witlet_core::admission::facts::{ContainerFacts, MountFacts, PodImage, PortFacts, VolumeFacts};
use witlet_core::image::ResolvedImage;
use witlet_core::node::observed::ObservedNode;
use witlet_core::pod::resources::HostPort;

use super::facts::{PodFacts, RequestFacts};
use crate::guest::GuestState;

/// The question that the store holds. Its handles carry the number of the question, so that a handle which a warm
/// guest kept from an earlier one is noticed.
#[derive(Debug)]
#[allow(unreachable_pub, reason = "the generated bindings re-export it")]
pub struct RequestHandle;
/// A pod of the question.
#[derive(Debug)]
#[allow(unreachable_pub, reason = "the generated bindings re-export it")]
pub struct PodHandle;
/// The node of the question.
#[derive(Debug)]
#[allow(unreachable_pub, reason = "the generated bindings re-export it")]
pub struct NodeHandle;

/// Where a handler says what it makes of the question. It is lent for the call alone.
#[derive(Debug)]
#[allow(unreachable_pub, reason = "the generated bindings re-export it")]
pub struct AnswerHandle;
/// Where a handler says what it is to be asked about. It is lent for the call alone.
#[derive(Debug)]
#[allow(unreachable_pub, reason = "the generated bindings re-export it")]
pub struct SetupHandle;

/// A part of the question, in the store's table. The question has it: a handle that a warm guest kept keeps nothing of an earlier
/// one.
#[derive(Debug)]
#[allow(unreachable_pub, reason = "the generated bindings re-export it")]
pub struct Part<T> {
    serial: u16,
    /// Of the pod whose it is, as in [`handle`].
    pod: usize,
    value: Weak<T>,
}

macro_rules! parts {
    ($($name:ident of $facts:ident),* $(,)?) => {$(
        #[doc = concat!("A handle of `", stringify!($facts), "`.")]
        #[allow(unreachable_pub, reason = "the generated bindings re-export it")]
        pub type $name = Part<$facts>;
    )*};
}

parts!(
    ImagePart of PodImage,
    ResolvedImagePart of ResolvedImage,
    ContainerPart of ContainerFacts,
    ContainerPortPart of PortFacts,
    MountPart of MountFacts,
    VolumePart of VolumeFacts,
    OwnerPart of OwnerReference,
    HostPortPart of HostPort,
    TaintPart of Taint,
    ConditionPart of NodeCondition,
);

/// Bits of a handle that say which pod; the rest says which question.
const INDEX_BITS: u32 = 16;
/// See [`INDEX_BITS`].
const INDEX_MASK: u32 = (1 << INDEX_BITS) - 1;
/// How many pods a question may have. The kubelet's own limit is 110, large nodes go to 500.
pub(super) const PODS_MAX: usize = (1 << INDEX_BITS) - 1;
/// The index of the pod as it runs, behind those of all others.
pub(super) const OLD_POD: usize = PODS_MAX;

/// Returns the handle of a pod in a question, or of the question or the node.
pub(super) fn handle(serial: u16, index: usize) -> u32 {
    // `other_pods` hands out less than PODS_MAX.
    (u32::from(serial) << INDEX_BITS) | (index as u32 & INDEX_MASK)
}

/// Which pod a handle is of.
pub(super) fn index(pod: &Resource<PodHandle>) -> usize {
    (pod.rep() & INDEX_MASK) as usize
}

impl GuestState {
    pub(super) fn request(&self, rep: u32) -> wasmtime::Result<&Arc<RequestFacts>> {
        match &self.request {
            Some(request) if rep >> INDEX_BITS == u32::from(self.serial()) => Ok(request),
            Some(_) | None => wasmtime::bail!("the handle belongs to an earlier request, which is over"),
        }
    }

    pub(super) fn pod(&self, pod: &Resource<PodHandle>) -> wasmtime::Result<&PodFacts> {
        self.request(pod.rep())?;
        self.pod_at(index(pod))
    }

    fn pod_at(&self, index: usize) -> wasmtime::Result<&PodFacts> {
        let request = self.request(handle(self.serial(), index))?;
        let found = match index {
            OLD_POD => request.old_pod.as_ref(),
            index => request.pods.get(index),
        };
        match found {
            Some(pod) => Ok(pod),
            None => wasmtime::bail!("the request has no such pod"),
        }
    }

    /// Hands a part out; `pod` says whose it is.
    pub(super) fn hand_out<T: Send + Sync + 'static>(
        &mut self,
        pod: usize,
        value: &Arc<T>,
    ) -> wasmtime::Result<Resource<Part<T>>> {
        let part = Part { serial: self.serial(), pod, value: Arc::downgrade(value) };
        Ok(self.table.push(part)?)
    }

    pub(super) fn hand_out_all<T: Send + Sync + 'static>(
        &mut self,
        pod: usize,
        values: &[Arc<T>],
    ) -> wasmtime::Result<Vec<Resource<Part<T>>>> {
        values.iter().map(|value| self.hand_out(pod, value)).collect()
    }

    pub(super) fn part<T: Send + Sync + 'static>(
        &self,
        part: &Resource<Part<T>>,
    ) -> wasmtime::Result<Arc<T>> {
        let part = self.table.get(part)?;
        // The question is what the handle belongs to, whatever the memory has.
        self.request(u32::from(part.serial) << INDEX_BITS)?;
        match part.value.upgrade() {
            Some(value) => Ok(value),
            None => wasmtime::bail!("the handle belongs to an earlier request, which is over"),
        }
    }

    /// The pod whose part it is, and its index.
    pub(super) fn pod_of<T: Send + Sync + 'static>(
        &self,
        part: &Resource<Part<T>>,
    ) -> wasmtime::Result<(usize, &PodFacts)> {
        let index = self.table.get(part)?.pod;
        Ok((index, self.pod_at(index)?))
    }

    pub(super) fn drop_part<T: Send + Sync + 'static>(
        &mut self,
        part: Resource<Part<T>>,
    ) -> wasmtime::Result<()> {
        self.table.delete(part)?;
        Ok(())
    }

    /// Returns what the agent observes of the node that a pod is on.
    pub(super) fn observed(&self, pod: &Resource<PodHandle>) -> wasmtime::Result<&ObservedNode> {
        Ok(&self.request(pod.rep())?.node.facts.observed)
    }

    pub(super) fn node(&self, node: &Resource<NodeHandle>) -> wasmtime::Result<&RequestFacts> {
        Ok(self.request(node.rep())?)
    }
}
