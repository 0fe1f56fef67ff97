//! What is reported of an in-place resize: events at its start, its end and its failures (upstream: `ResizeStarted`,
//! `ResizeCompleted`, `ResizeError`).

use k8s_openapi::api::core::v1::Pod;
use witlet_core::container::plan::resize::{ResizeContainer, in_progress};
use witlet_core::container::plan::{Plan, containers};
use witlet_core::pod::allocation::{ContainerResources, resize_message};
use witlet_core::runtime::{ContainerRunState, ObservedPod};

use super::{Executor, Job};

impl Executor {
    /// Running containers that were started in an earlier life of the agent have what the checkpoint says.
    pub(super) fn recall_actuated(&self, job: &mut Job, observed: &ObservedPod) {
        let running = observed.containers.iter().filter(|c| c.state == ContainerRunState::Running);
        for container in running {
            if job.memory.actuated.contains_key(&container.id) {
                continue;
            }
            if let Some(given) = self.actuated.container(&job.uid, &container.name) {
                job.memory.actuated.insert(container.id.clone(), given);
            }
        }
    }

    /// Notes a step of a resize that was taken. The checkpoint changes once the container has all that it is to have.
    pub(super) fn record_resize(&self, job: &mut Job, resize: ResizeContainer) {
        if let Some(pod) = &job.work.pod {
            let named = containers(pod).find(|found| found.container.name == resize.name);
            let complete =
                named.filter(|found| ContainerResources::of(pod, &found.container) == resize.actuated);
            if let Some(found) = complete {
                self.actuated.record(pod, &found.container);
            }
        }
        job.memory.actuated.insert(resize.id, resize.actuated);
        job.memory.resize_error = None;
    }

    /// Compares with what was seen before, so that each change is reported once.
    pub(super) fn note_resize(&self, job: &mut Job, pod: &Pod, observed: &ObservedPod, plan: &Plan) {
        let resizing = in_progress(pod, observed, self.resize_facts(&job.memory));
        let was_resizing = std::mem::replace(&mut job.memory.resizing, resizing);
        match (was_resizing, resizing) {
            (false, true) => {
                self.events(job).normal("ResizeStarted", &resize_message("Pod resize started", pod, ""))
            }
            (true, false) => {
                job.memory.resize_error = None;
                self.events(job).normal("ResizeCompleted", &resize_message("Pod resize completed", pod, ""));
            }
            (false, false) | (true, true) => {}
        }
        if let Some(error) = &plan.resize_error {
            self.resize_failed(job, error.to_string());
        }
    }

    /// The condition `PodResizeInProgress` says it until it works.
    pub(super) fn resize_failed(&self, job: &mut Job, message: String) {
        if job.memory.resize_error.as_ref() != Some(&message) {
            let pod = job.work.pod.as_deref();
            let full_message = pod.map(|pod| resize_message("Pod resize error", pod, &message));
            self.events(job).warning("ResizeError", full_message.as_ref().unwrap_or(&message));
        }
        job.memory.resize_error = Some(message);
    }
}
