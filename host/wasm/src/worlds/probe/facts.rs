//! What a probe may check.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use k8s_openapi::api::core::v1::{Container, ContainerPort};
use serde_json::Value;
use tokio::time::Instant;
use witlet_core::probe::ProbeRequest;

use super::answer::ProbeRemarks;
use crate::record::ExecRecord;
use crate::worlds::document::Document;

/// One probe with all that is derived from it.
#[derive(Debug)]
pub(crate) struct ProbeFacts {
    pub(crate) request: ProbeRequest,
    deadline: Instant,
    document: Document,
    /// The commands that it ran, if the plugin's calls are recorded.
    execs: Option<Mutex<Vec<ExecRecord>>>,
    /// What was said next to the outcome.
    remarks: Mutex<ProbeRemarks>,
}

/// How many commands of one probe are recorded.
const EXECS_RECORDED_MAX: usize = 64;

impl ProbeFacts {
    /// Creates the facts of a probe that is asked for now. `recorded` has the commands that it runs noted.
    pub(crate) fn new(request: ProbeRequest, recorded: bool) -> Self {
        let deadline = Instant::now() + request.timeout;
        let execs = recorded.then(Mutex::default);
        Self { request, deadline, document: Document::default(), execs, remarks: Mutex::default() }
    }

    /// Notes a command, if someone wants to know.
    pub(crate) fn note_exec(&self, record: impl FnOnce() -> ExecRecord) {
        if let Some(execs) = &self.execs {
            let mut execs = execs.lock().unwrap_or_else(PoisonError::into_inner);
            if execs.len() < EXECS_RECORDED_MAX {
                execs.push(record());
            }
        }
    }

    /// The commands that were noted since this was last asked.
    pub(crate) fn take_execs(&self) -> Vec<ExecRecord> {
        let execs = self.execs.as_ref().map(|execs| execs.lock().unwrap_or_else(PoisonError::into_inner));
        execs.map(|mut execs| std::mem::take(&mut *execs)).unwrap_or_default()
    }

    /// Notes what was said next to the outcome.
    pub(crate) fn note_remarks(&self, remarks: ProbeRemarks) {
        *self.remarks.lock().unwrap_or_else(PoisonError::into_inner) = remarks;
    }

    /// Returns what was noted of that.
    pub(crate) fn take_remarks(&self) -> ProbeRemarks {
        std::mem::take(&mut self.remarks.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// When its time is over.
    pub(crate) fn deadline(&self) -> Instant {
        self.deadline
    }

    /// Returns what is left of its time.
    pub(crate) fn remaining(&self) -> Duration {
        self.deadline.saturating_duration_since(Instant::now())
    }

    /// Returns what it has of time altogether, as the guest sees it.
    pub(crate) fn timeout_milliseconds(&self) -> u64 {
        remaining_milliseconds(self.request.timeout, self.request.timeout)
    }

    /// Returns what is left of its time, as the guest sees it.
    pub(crate) fn remaining_milliseconds(&self) -> u64 {
        remaining_milliseconds(self.request.timeout, self.remaining())
    }

    pub(crate) fn json(&self) -> &str {
        self.document.text(&*self.request.pod)
    }

    pub(crate) fn pointer(&self, path: &str) -> Option<String> {
        self.document.pointer(&*self.request.pod, path)
    }

    /// Ports that the container's spec names, in its order.
    pub(crate) fn named_ports(&self) -> impl Iterator<Item = (&str, &ContainerPort)> {
        self.ports().iter().filter_map(|port| port.name.as_deref().map(|name| (name, port)))
    }

    /// Ports that the container's spec has, in its order.
    pub(crate) fn ports(&self) -> &[ContainerPort] {
        self.container().and_then(|container| container.ports.as_deref()).unwrap_or_default()
    }

    /// Returns the container in the spec.
    pub(crate) fn container(&self) -> Option<&Container> {
        self.container_and_place().map(|(container, ..)| container)
    }

    /// The value at a JSON pointer from the container on; none for what is no pointer.
    pub(crate) fn container_pointer(&self, path: &str) -> Option<String> {
        let (_, list, index) = self.container_and_place()?;
        let is_pointer = path.is_empty() || path.starts_with('/');
        is_pointer.then(|| self.pointer(&format!("/spec/{list}/{index}{path}"))).flatten()
    }

    /// The container, the spec's list that has it, and where in that. Ephemeral containers have no probes.
    fn container_and_place(&self) -> Option<(&Container, &'static str, usize)> {
        let spec = self.request.pod.spec.as_ref()?;
        let init = spec.init_containers.as_deref().unwrap_or_default();
        [("containers", spec.containers.as_slice()), ("initContainers", init)].into_iter().find_map(
            |(list, containers)| {
                let is_it = |container: &Container| container.name == self.request.container;
                let index = containers.iter().position(is_it)?;
                Some((&containers[index], list, index))
            },
        )
    }

    /// The host that the probe's own parameters name.
    pub(crate) fn host(&self) -> Option<String> {
        host(&self.request.parameters)
    }
}

/// How much of its time a guest doesn't see as lost: what it took to begin, so that it speaks of a probe's time as the
/// pod has it. It is less than what a guest has beyond its time to say why it failed.
const BEGIN_MAX: Duration = Duration::from_millis(75);

/// Rounded up, so that time that is left never shows as over.
fn remaining_milliseconds(timeout: Duration, remaining: Duration) -> u64 {
    let shown = if timeout.saturating_sub(remaining) <= BEGIN_MAX { timeout } else { remaining };
    u64::try_from(shown.as_nanos().div_ceil(1_000_000)).unwrap_or(u64::MAX)
}

/// The text of `host` in a JSON object. An empty one names no host (upstream's fields are empty when left out).
fn host(parameters: &str) -> Option<String> {
    // Most probes name none, and reading JSON costs more than looking for a word.
    if !parameters.contains("\"host\"") {
        return None;
    }
    let parameters: Value = serde_json::from_str(parameters).ok()?;
    parameters.get("host")?.as_str().filter(|host| !host.is_empty()).map(str::to_owned)
}

#[cfg(test)]
mod tests;
