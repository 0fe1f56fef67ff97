//! What is told of an in-place resize: events at its start, its end and its failures (upstream: `ResizeStarted`,
//! `ResizeCompleted`, `ResizeError`).

use k8s_openapi::api::core::v1::Pod;
use witlet_core::container::plan::Plan;
use witlet_core::container::plan::resize::in_progress;
use witlet_core::runtime::ObservedPod;

use super::{Executor, Job, resize_facts};

impl Executor {
    /// Compares with what was seen before, so that each change is told once.
    pub(super) fn note_resize(&self, job: &mut Job, pod: &Pod, observed: &ObservedPod, plan: &Plan) {
        let resizing = in_progress(pod, observed, resize_facts(&job.memory));
        let was_resizing = std::mem::replace(&mut job.memory.resizing, resizing);
        match (was_resizing, resizing) {
            (false, true) => self.events(job).normal("ResizeStarted", "Pod resize started"),
            (true, false) => {
                job.memory.resize_error = None;
                self.events(job).normal("ResizeCompleted", "Pod resize completed");
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
            self.events(job).warning("ResizeError", &format!("Pod resize error: {message}"));
        }
        job.memory.resize_error = Some(message);
    }
}
