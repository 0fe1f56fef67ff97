//! What guests hold of a question, whatever version of the contract they were built against.

use std::sync::Arc;

use wasmtime::component::Resource;

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

/// Bits of a handle that say which pod; the rest says which question.
const INDEX_BITS: u32 = 16;
/// How many pods a question may have. The kubelet's own limit is 110, large nodes go to 500.
pub(super) const PODS_MAX: usize = 1 << INDEX_BITS;

/// Of a pod in a question, or of the question or the node.
pub(super) fn handle(serial: u16, index: usize) -> u32 {
    // `other_pods` hands out less than PODS_MAX.
    (u32::from(serial) << INDEX_BITS) | (index as u32 & (PODS_MAX as u32 - 1))
}

impl GuestState {
    pub(super) fn request(&self, rep: u32) -> wasmtime::Result<&Arc<RequestFacts>> {
        match &self.request {
            Some(request) if rep >> INDEX_BITS == u32::from(self.serial()) => Ok(request),
            Some(_) | None => wasmtime::bail!("the handle belongs to an earlier request, which is over"),
        }
    }

    pub(super) fn pod(&self, pod: &Resource<PodHandle>) -> wasmtime::Result<&PodFacts> {
        let index = pod.rep() as usize & (PODS_MAX - 1);
        match self.request(pod.rep())?.pods.get(index) {
            Some(pod) => Ok(pod),
            None => wasmtime::bail!("the request has no such pod"),
        }
    }

    pub(super) fn node(&self, node: &Resource<NodeHandle>) -> wasmtime::Result<&RequestFacts> {
        Ok(self.request(node.rep())?)
    }
}
