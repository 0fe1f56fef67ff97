//! What guests hold of a probe, whatever version of the contract they were built against.

use std::sync::Arc;

use wasmtime::component::Resource;
use witlet_core::runtime::ExecOutput;

use super::facts::ProbeFacts;
use crate::guest::async_guest::AsyncState;

/// What the store's probe is about. Its handles carry the number of the probe, so that a handle which a warm guest kept
/// from an earlier one is noticed.
#[derive(Debug)]
#[allow(unreachable_pub, reason = "the generated bindings re-export it")]
pub struct TargetHandle;
/// The pod of the target; numbered as that is.
#[derive(Debug)]
#[allow(unreachable_pub, reason = "the generated bindings re-export it")]
pub struct PodHandle;
/// The container of the target; numbered as that is.
#[derive(Debug)]
#[allow(unreachable_pub, reason = "the generated bindings re-export it")]
pub struct ContainerHandle;
/// Where a probe type says what it found. It is lent for the call alone.
#[derive(Debug)]
#[allow(unreachable_pub, reason = "the generated bindings re-export it")]
pub struct AnswerHandle;
/// Where a plugin says what it thinks of its configuration. It is lent for the call alone.
#[derive(Debug)]
#[allow(unreachable_pub, reason = "the generated bindings re-export it")]
pub struct SetupHandle;
/// Where a probe type says what it thinks of parameters. It is lent for the call alone.
#[derive(Debug)]
#[allow(unreachable_pub, reason = "the generated bindings re-export it")]
pub struct CheckHandle;

/// A port of the container, in the store's table.
#[derive(Debug)]
#[allow(unreachable_pub, reason = "the generated bindings re-export it")]
pub struct PortPart {
    /// Of the probe whose it is.
    pub(super) serial: u32,
    /// In the container's spec.
    pub(super) index: usize,
}

/// What a command of the probe came to, in the store's table.
#[derive(Debug)]
#[allow(unreachable_pub, reason = "the generated bindings re-export it")]
pub struct EndedPart {
    /// Of the probe that ran it.
    pub(super) serial: u32,
    pub(super) output: ExecOutput,
}

impl AsyncState {
    /// What a command of the probe that runs came to.
    pub(super) fn ended(&mut self, handle: &Resource<EndedPart>) -> wasmtime::Result<&ExecOutput> {
        let serial = self.resources().get(handle)?.serial;
        self.probe_of(serial)?;
        Ok(&self.resources().get(handle)?.output)
    }

    /// The probe that a handle of its target, pod or container belongs to.
    pub(super) fn target<T: 'static>(&self, handle: &Resource<T>) -> wasmtime::Result<&Arc<ProbeFacts>> {
        self.probe_of(handle.rep())
    }

    /// The probe with this number, if it runs.
    pub(super) fn probe_of(&self, serial: u32) -> wasmtime::Result<&Arc<ProbeFacts>> {
        match self.probe() {
            Some(probe) if serial == self.serial() => Ok(probe),
            Some(_) | None => wasmtime::bail!("the handle belongs to an earlier probe, which is over"),
        }
    }
}
