//! A sync: makes what the runtime has of a pod what its spec asks for.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::Pod;
use witlet_core::container::plan::sandbox::{fault, network_of};
use witlet_core::container::plan::{Plan, PlanInput, Step, plan};
use witlet_core::pod::worker::{Outcome, RequeueCause};
use witlet_core::runtime::{NamespaceMode, ObservedPod};
use witlet_core::status::{Phase, Waiting};

use super::start::{Place, StartEnd};
use super::{End, Executor, Job};
use witlet_core::error::one_line;

/// What became of a plan's steps.
#[derive(Debug, Default)]
struct Progress {
    /// Something failed that the next sync has to try again.
    failed: bool,
    /// Work that is more urgent waits.
    cut: bool,
    /// Something waits for a back-off that ends then.
    retry_at: Option<Timestamp>,
}

impl Executor {
    pub(super) async fn sync(&self, job: &mut Job, pod: &Arc<Pod>) -> End {
        let observed = match self.look(job).await {
            None => return End::CUT,
            Some(Ok(observed)) => observed,
            Some(Err(error)) => {
                let message = format!("error determining status: {}", one_line(&error));
                self.events(job).warning("FailedSync", &message);
                return End::FAILED;
            }
        };
        let now = self.clock.now();
        job.memory.prune(pod, now);
        let plan = plan(PlanInput {
            pod,
            observed: &observed,
            backoff: &job.memory.restarts,
            probe_failures: &job.probe_failures,
            now,
        });
        self.note_crash_loops(job, pod, &plan);
        let status = self.publish(job, pod, &observed, false);
        if Phase::of(&status).is_some_and(Phase::is_terminal) {
            return End { outcome: Outcome::PodEnded, cause: RequeueCause::Resync };
        }
        if let Some(end) = self.prepare(job, pod).await {
            return end;
        }
        let waiting_before = job.memory.waiting.clone();
        let acts = plan.steps.iter().any(|step| !matches!(step, Step::WaitBackoff { .. }));
        let progress = self.carry_out(job, pod, &observed, plan).await;
        if acts {
            self.acted(job);
        }
        if job.memory.waiting != waiting_before {
            self.publish(job, pod, &observed, false);
        }
        match progress {
            Progress { cut: true, .. } => End::CUT,
            Progress { failed: true, .. } => End::FAILED,
            Progress { retry_at: Some(at), .. } => {
                let wait = Duration::try_from(at.duration_since(self.clock.now())).unwrap_or_default();
                End { outcome: Outcome::Done, cause: RequeueCause::BackOff(wait) }
            }
            Progress { retry_at: None, .. } => End::DONE,
        }
    }

    /// What a pod needs before any container can run. Gives the end if that isn't there.
    async fn prepare(&self, job: &Job, pod: &Pod) -> Option<End> {
        let network = self.health.borrow().network.clone();
        if let Some(problem) = network
            && network_of(pod) != NamespaceMode::Node
        {
            let message = format!("network is not ready: {problem}");
            self.events(job).warning("NetworkNotReady", &message);
            return Some(End { outcome: Outcome::Failed, cause: RequeueCause::NetworkNotReady });
        }
        let containers = pod.spec.iter().flat_map(|spec| &spec.containers);
        let names: Vec<String> = containers.map(|container| container.name.clone()).collect();
        if let Err(error) = self.files.ensure(&job.full_name, &job.uid, &names).await {
            let message = format!("error making pod data directories: {}", one_line(&error));
            self.events(job).warning("FailedToMakePodDataDirectories", &message);
            return Some(End::FAILED);
        }
        None
    }

    /// Containers that wait for their delay to end say so, whatever else happens in this sync.
    fn note_crash_loops(&self, job: &mut Job, pod: &Pod, plan: &Plan) {
        for step in &plan.steps {
            if let Step::WaitBackoff { container, wait } = step {
                let message = format!(
                    "Back-off restarting failed container {container} in pod {}_{}({})",
                    job.full_name.name, job.full_name.namespace, job.uid
                );
                self.events(job).warning("BackOff", &message);
                let waiting = Waiting::crash_loop(pod, container, wait.delay);
                job.memory.waiting.insert(container.clone(), waiting);
            }
        }
    }

    /// Takes the steps in order. A step that fails ends the plan, but a container that doesn't start holds up no other.
    async fn carry_out(&self, job: &mut Job, pod: &Pod, observed: &ObservedPod, plan: Plan) -> Progress {
        let mut progress = Progress { retry_at: plan.retry_at(), ..Progress::default() };
        if plan.replaces_sandbox() {
            if let Some(fault) = fault(pod, observed) {
                tracing::info!(pod = %job.full_name, ?fault, "the pod's sandbox can't stay");
            }
            let message = "Pod sandbox changed, it will be killed and re-created.";
            self.events(job).normal("SandboxChanged", message);
        }
        let mut place = plan.sandbox.as_ref().and_then(|id| Place::existing(id, observed));
        for step in plan.steps {
            if job.cancel.is_cancelled() {
                progress.cut = true;
                return progress;
            }
            let done = match step {
                // What ends here may have a longer grace than what the more urgent work gives it.
                Step::KillPod(kill) => match until_cut(job, self.kill_pod(job, &kill)).await {
                    None => return Progress { cut: true, ..progress },
                    Some(killed) => killed.map_err(|error| {
                        let message = format!("error killing pod: {}", one_line(&error));
                        self.events(job).warning("FailedKillPod", &message);
                    }),
                },
                Step::KillContainer(kill) => match until_cut(job, self.kill_container(job, &kill)).await {
                    None => return Progress { cut: true, ..progress },
                    Some(killed) => killed.map_err(|error| {
                        let message = format!("error killing container {}: {}", kill.name, one_line(&error));
                        self.events(job).warning("FailedKillPod", &message);
                    }),
                },
                Step::CreateSandbox { attempt } => {
                    self.create_sandbox(job, pod, attempt).await.map(|made| place = Some(made))
                }
                Step::StartContainer(start) => {
                    match self.start_container(job, pod, &start, place.as_ref()).await {
                        StartEnd::Started | StartEnd::Cut => {}
                        StartEnd::BackOff(until) => {
                            progress.retry_at = Some(progress.retry_at.map_or(until, |at| at.min(until)));
                        }
                        StartEnd::Failed => progress.failed = true,
                    }
                    Ok(())
                }
                Step::WaitBackoff { .. } => Ok(()),
            };
            if done.is_err() {
                progress.failed = true;
                return progress;
            }
        }
        progress
    }
}

/// None if more urgent work came before this was done.
pub(super) async fn until_cut<T>(job: &Job, work: impl Future<Output = T>) -> Option<T> {
    tokio::select! {
        biased;
        () = job.cancel.cancelled() => None,
        done = work => Some(done),
    }
}
