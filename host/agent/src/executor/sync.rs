//! A sync: makes what the runtime has of a pod what its spec asks for.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::Pod;
use tokio::time::Instant;
use witlet_core::container::plan::resize::ResizeContainer;
use witlet_core::container::plan::sandbox::{fault, network_of};
use witlet_core::container::plan::{
    Plan, PlanInput, RemoveContainers, RemoveReason, Step, containers, known_restart_counts, plan,
};
use witlet_core::pod::worker::{Outcome, RequeueCause};
use witlet_core::pod::{claims, deadline};
use witlet_core::runtime::{NamespaceMode, ObservedPod};
use witlet_core::status::{Phase, Waiting};

use super::cut::{unless, until_cut};
use super::host::HostNow;
use super::kill::KillErrors;
use super::mounts::VolumePaths;
use super::objects;
use super::start::{PodSandbox, StartEnd, SyncContext};
use super::{End, Executor, Job};
use witlet_core::error::one_line;

#[cfg(test)]
mod tests;

/// After an error a pod is checked again in about this time (upstream: `backOffPeriod`); a deadline that is nearer than
/// that counts instead.
const ERROR_RETRY: Duration = Duration::from_secs(15);

/// What became of a plan's steps.
#[derive(Debug)]
struct Progress {
    /// Something failed that the next sync has to try again.
    failed: bool,
    /// Work that is more urgent waits.
    cut: bool,
    /// Something waits for a back-off that ends then.
    retry_at: Option<Timestamp>,
    /// A change of resources failed: those after it aren't tried, but containers are started all the same, as upstream
    /// does.
    resize_failed: bool,
    /// How long changes of resources took, if there were any.
    resized: Option<Duration>,
}

/// How a step ended.
enum StepEnd {
    Done,
    /// It failed, and those after it aren't taken.
    Failed,
    /// It failed, or is put off until then, and those after it are taken.
    Skipped(Option<Timestamp>),
    /// It failed, and other changes of resources aren't tried.
    NotResized,
    /// It is put off until then, and those after it with it.
    Waits(Timestamp),
    /// More urgent work waits.
    Cut,
}

impl From<Result<(), ()>> for StepEnd {
    fn from(result: Result<(), ()>) -> Self {
        match result {
            Ok(()) => Self::Done,
            Err(()) => Self::Failed,
        }
    }
}

impl Progress {
    /// Before any step is taken.
    fn before(plan: &Plan) -> Self {
        let (failed, retry_at) = (plan.resize_error.is_some(), plan.retry_at());
        Self { failed, cut: false, retry_at, resize_failed: false, resized: None }
    }

    fn wait_until(&mut self, at: Timestamp) {
        self.retry_at = Some(self.retry_at.map_or(at, |before| before.min(at)));
    }
}

impl Executor {
    pub(super) async fn sync(&self, job: &mut Job, pod: &Arc<Pod>) -> End {
        objects::register(&*self.objects, pod);
        self.cgroups.register(&job.uid, pod);
        let end = self.sync_once(job, pod).await;
        // However the sync ended, the pod's time may be over before it is checked again.
        let begun = self.statuses.status(&job.uid).and_then(|status| status.start_time.clone());
        match begun.and_then(|begun| deadline::of(pod, begun.0)) {
            Some(over_at) => End { cause: sooner(end.cause, self.time_until(over_at)), ..end },
            None => end,
        }
    }

    async fn sync_once(&self, job: &mut Job, pod: &Arc<Pod>) -> End {
        let observed = match self.inspect(job).await {
            None => return End::CUT,
            Some(Ok(observed)) => observed,
            Some(Err(error)) => {
                let message = format!("error determining status: {}", error.status_text());
                self.events(job).warning("FailedSync", &message);
                return End::FAILED;
            }
        };
        if job.memory.logged_restarts.is_none() {
            let Some(logged) = until_cut(job, Box::pin(self.logged_restarts(job, pod, &observed))).await
            else {
                return End::CUT;
            };
            job.memory.logged_restarts = Some(logged);
        }
        let now = self.clock.now();
        job.memory.prune(pod, &observed, now);
        self.recall_actuated(job, &observed);
        Box::pin(self.read_cgroup(job, pod, &observed)).await;
        let plan = self.plan(job, pod, &observed, now);
        self.note_crash_loops(job, pod, &plan);
        self.note_resize(job, pod, &observed, &plan);
        let status = self.publish(job, pod, &observed, false);
        if Phase::of(&status).is_some_and(Phase::is_terminal) {
            if status.reason.as_deref() == Some(deadline::REASON) {
                self.events(job).normal(deadline::REASON, deadline::MESSAGE);
            }
            return End { outcome: Outcome::PodEnded, cause: RequeueCause::Resync };
        }
        let volumes = match Box::pin(self.prepare(job, pod, &observed)).await {
            Ok(volumes) => volumes,
            Err(end) => return end,
        };
        self.prober.add_pod(pod);
        let progress = match plan.acts() {
            true => Box::pin(self.act(job, pod, observed, plan, &volumes)).await,
            false => Progress::before(&plan),
        };
        match progress {
            Progress { cut: true, .. } => End::CUT,
            Progress { failed, retry_at, .. } => {
                let wait = retry_at.map(|at| RequeueCause::BackOff(self.time_until(at)));
                let causes = [failed.then_some(RequeueCause::Error), wait];
                let cause = causes.into_iter().flatten().fold(RequeueCause::Resync, RequeueCause::and);
                End { outcome: if failed { Outcome::Failed } else { Outcome::Done }, cause }
            }
        }
    }

    fn time_until(&self, at: Timestamp) -> Duration {
        Duration::try_from(at.duration_since(self.clock.now())).unwrap_or_default()
    }

    /// Carries the plan out, and shows what came of it as far as no check of the runtime will.
    async fn act(
        &self,
        job: &mut Job,
        pod: &Arc<Pod>,
        observed: Arc<ObservedPod>,
        plan: Plan,
        volumes: &VolumePaths,
    ) -> Progress {
        let Ok(host) = Box::pin(self.read_host(job)).await else {
            return Progress { failed: true, ..Progress::before(&plan) };
        };
        let before = (job.memory.waiting.clone(), job.memory.resize_error.clone());
        let context = SyncContext { pod, volumes, host: &host };
        let makes_sandbox = plan.steps.iter().any(|step| matches!(step, Step::CreateSandbox { .. }));
        let progress = self.carry_out(job, context, observed.clone(), plan).await;
        if makes_sandbox && pod.spec.as_ref().and_then(|spec| spec.host_users) == Some(false) {
            self.metrics.user_namespaced(progress.failed);
        }
        if let Some(took) = progress.resized {
            self.resizes.carried_out(took, !progress.resize_failed);
        }
        self.acted(job);
        if (&job.memory.waiting, &job.memory.resize_error) != (&before.0, &before.1) {
            // Not from what was seen first: a sandbox may have come in between.
            let seen = self.cache.peek(&job.uid).unwrap_or(observed);
            self.publish(job, pod, &seen, false);
        }
        progress
    }

    /// How often containers had restarted that the runtime has forgotten, which some do when the machine restarts: their logs
    /// tell, and a count that starts over would write into the old log. Asked for once; what is done since is in the status.
    async fn logged_restarts(&self, job: &Job, pod: &Pod, observed: &ObservedPod) -> BTreeMap<String, u32> {
        let names = containers(pod).map(|found| found.container.name.clone());
        let unseen: Vec<String> = names.filter(|name| observed.container(name).is_none()).collect();
        if unseen.is_empty() {
            return BTreeMap::new();
        }
        let logged = self.files.logged_restart_counts(&job.full_name, &job.uid, &unseen).await;
        logged.unwrap_or_else(|error| {
            let error = one_line(&error);
            tracing::warn!(pod = %job.full_name, error, "Cannot get restart count from the log directory");
            BTreeMap::new()
        })
    }

    fn plan(&self, job: &Job, pod: &Pod, observed: &ObservedPod, now: Timestamp) -> Plan {
        let mut restart_counts = job.memory.logged_restarts.clone().unwrap_or_default();
        let shown = self.statuses.status(&job.uid).map(|status| known_restart_counts(&status));
        for (name, count) in shown.into_iter().flatten() {
            let most = restart_counts.entry(name).or_default();
            *most = (*most).max(count);
        }
        let plan = plan(PlanInput {
            pod,
            observed,
            backoff: &job.memory.restarts,
            probes: &self.prober.results(&job.uid),
            restart_counts: &restart_counts,
            resize: Some(self.resize_facts(&job.memory)),
            now,
        });
        match job.admission_pending {
            Some(_) => plan.without_changes(pod, observed),
            None => plan,
        }
    }

    /// What a pod needs before any container can run. Gives the end if that isn't there.
    async fn prepare(&self, job: &mut Job, pod: &Pod, observed: &ObservedPod) -> Result<VolumePaths, End> {
        let network = self.health.borrow().network.clone();
        if let Some(problem) = network
            && network_of(pod) != NamespaceMode::Node
        {
            let message = format!("network is not ready: {problem}");
            self.events(job).warning("NetworkNotReady", &message);
            return Err(End { outcome: Outcome::Failed, cause: RequeueCause::NetworkNotReady });
        }
        // A pod with this UID may have been here before.
        if until_cut(job, self.removals.none_of(&job.uid)).await.is_none() {
            return Err(End::CUT);
        }
        Box::pin(self.ensure_cgroup(job, pod, observed)).await?;
        let names: Vec<String> = containers(pod).map(|found| found.container.name.clone()).collect();
        if let Err(error) = self.files.ensure(&job.full_name, &job.uid, &names).await {
            let message = format!("error making pod data directories: {}", one_line(&error));
            self.events(job).warning("Failed", &message);
            return Err(End::FAILED);
        }
        let cancel = job.cancel.clone();
        match unless(&cancel, Box::pin(self.set_up_volumes(job, pod))).await {
            None => Err(End::CUT),
            Some(Err(())) => Err(End::FAILED),
            Some(Ok(volumes)) => match claims::unprepared(pod) {
                Some(message) => {
                    self.events(job).warning("FailedPrepareDynamicResources", &message);
                    Err(End::FAILED)
                }
                None => Ok(volumes),
            },
        }
    }

    async fn read_host(&self, job: &Job) -> Result<HostNow<'_>, ()> {
        let (node, handlers) = (self.node.borrow().clone(), self.health.borrow().handlers.clone());
        let classes = self.objects.runtime_classes();
        HostNow::read(&self.host, node, handlers, classes, &*self.host_files, &self.cgroups).await.map_err(
            |error| {
                let message = format!("error reading files of the node: {}", one_line(&error));
                self.events(job).warning("FailedSync", &message);
            },
        )
    }

    /// Containers that wait for their delay to end say so, whatever else happens in this sync.
    fn note_crash_loops(&self, job: &mut Job, pod: &Pod, plan: &Plan) {
        for step in &plan.steps {
            if let Step::WaitBackoff { container, wait, .. } = step {
                let message = format!(
                    "Back-off restarting failed container {container} in pod {}_{}({})",
                    job.full_name.name, job.full_name.namespace, job.uid
                );
                self.events(job).of(pod, container).warning("BackOff", &message);
                let waiting = Waiting::crash_loop(pod, container, wait.delay);
                job.memory.waiting.insert(container.clone(), waiting);
            }
        }
    }

    /// Takes the steps in order. A step that fails ends the plan, but a container that doesn't start holds up others only
    /// if its kind does.
    async fn carry_out(
        &self,
        job: &mut Job,
        context: SyncContext<'_>,
        observed: Arc<ObservedPod>,
        plan: Plan,
    ) -> Progress {
        let mut progress = Progress::before(&plan);
        if plan.replaces_sandbox() {
            if let Some(fault) = fault(context.pod, &observed) {
                tracing::info!(pod = %job.full_name, ?fault, "Pod sandbox must be recreated");
            }
            let message = "Pod sandbox changed, it will be killed and re-created.";
            self.events(job).normal("SandboxChanged", message);
        }
        let mut pod_sandbox = plan.sandbox.as_ref().and_then(|id| PodSandbox::existing(id, &observed));
        for step in plan.steps {
            if job.cancel.is_cancelled() {
                return Progress { cut: true, ..progress };
            }
            let resizes = matches!(step, Step::ResizeContainer(_) | Step::ResizePod(_));
            if resizes && progress.resize_failed {
                continue;
            }
            let begun = Instant::now();
            let end = self.take(job, context, &observed, step, &mut pod_sandbox).await;
            if resizes {
                progress.resized = Some(progress.resized.unwrap_or_default() + begun.elapsed());
            }
            match end {
                // No news of the runtime tells of other limits: the pod is checked again to show them.
                StepEnd::Done if resizes => progress.wait_until(self.clock.now()),
                StepEnd::Done => {}
                StepEnd::Skipped(None) => progress.failed = true,
                StepEnd::Skipped(Some(until)) => progress.wait_until(until),
                StepEnd::NotResized => progress = Progress { failed: true, resize_failed: true, ..progress },
                StepEnd::Failed => return Progress { failed: true, ..progress },
                StepEnd::Waits(until) => {
                    progress.wait_until(until);
                    return progress;
                }
                StepEnd::Cut => return Progress { cut: true, ..progress },
            }
        }
        progress
    }

    async fn take(
        &self,
        job: &mut Job,
        context: SyncContext<'_>,
        observed: &ObservedPod,
        step: Step,
        pod_sandbox: &mut Option<PodSandbox>,
    ) -> StepEnd {
        let pod = context.pod;
        match step {
            // What ends here may have a longer grace than what the more urgent work gives it.
            Step::KillPod(kill) => {
                let killed = until_cut(job, Box::pin(self.killer.kill_pod(job, Some(pod), &kill))).await;
                self.killed(job, killed)
            }
            Step::KillContainers(kills) => {
                let killed =
                    until_cut(job, Box::pin(self.killer.kill_containers(job, Some(pod), &kills))).await;
                self.killed(job, killed)
            }
            Step::RemoveContainers(removal) => {
                Box::pin(self.remove_containers(job, observed, removal)).await.into()
            }
            Step::CreateSandbox { attempt } => {
                let made = Box::pin(self.create_sandbox(job, context, attempt)).await;
                self.metrics.sandbox(made.is_ok());
                let Ok(made) = made else { return StepEnd::Failed };
                *pod_sandbox = Some(made);
                StepEnd::Done
            }
            Step::StartContainer(start) => {
                let kind = start.kind;
                let end = Box::pin(self.start_container(job, context, &start, pod_sandbox.as_ref())).await;
                match (end, kind.failed_start_ends_plan()) {
                    (StartEnd::Started, _) => StepEnd::Done,
                    (StartEnd::Cut, _) => StepEnd::Cut,
                    (StartEnd::BackOff(until), false) => StepEnd::Skipped(Some(until)),
                    (StartEnd::BackOff(until), true) => StepEnd::Waits(until),
                    (StartEnd::Failed, false) => StepEnd::Skipped(None),
                    (StartEnd::Failed, true) => StepEnd::Failed,
                }
            }
            Step::WaitBackoff { kind, wait, .. } if kind.failed_start_ends_plan() => {
                StepEnd::Waits(wait.until)
            }
            Step::WaitBackoff { .. } => StepEnd::Done,
            Step::ResizeContainer(resize) => match Box::pin(self.resize_container(job, resize)).await {
                Ok(()) => StepEnd::Done,
                Err(()) => StepEnd::NotResized,
            },
            Step::ResizePod(resize) => {
                match Box::pin(self.resize_pod(job, context, pod_sandbox.as_ref(), resize)).await {
                    Ok(()) => StepEnd::Done,
                    Err(()) => StepEnd::NotResized,
                }
            }
        }
    }

    fn killed(&self, job: &Job, killed: Option<Result<(), KillErrors>>) -> StepEnd {
        match killed {
            None => StepEnd::Cut,
            Some(Ok(())) => StepEnd::Done,
            Some(Err(error)) => {
                self.kill_failed(job, &error.to_string());
                StepEnd::Failed
            }
        }
    }

    /// Removes ended containers with their logs. As upstream has it, one that can't be removed holds nothing up unless all
    /// begin again.
    async fn remove_containers(
        &self,
        job: &mut Job,
        observed: &ObservedPod,
        removal: RemoveContainers,
    ) -> Result<(), ()> {
        let now = self.clock.now();
        for crash in removal.crashes {
            job.memory.restarts.record(crash.key, crash.finished_at, now);
        }
        let logs: BTreeMap<_, _> = observed.containers.iter().map(|c| (&c.id, c.log_path.as_str())).collect();
        for container in &removal.containers {
            if let Some(log) = logs.get(&container.id).filter(|log| !log.is_empty())
                && let Err(error) = self.files.remove_log(Path::new(log)).await
            {
                let error = one_line(&error);
                tracing::warn!(container_id = %container.id, error, "Failed to remove log of an exited container");
            }
            if let Err(error) = self.runtime.containers.remove(&container.id).await {
                let message = format!("error removing container {}: {}", container.name, error.status_text());
                tracing::warn!(pod = %job.full_name, "{message}");
                match removal.reason {
                    RemoveReason::RestartAll => {
                        self.events(job).warning("FailedSync", &message);
                        return Err(());
                    }
                    RemoveReason::NewSandbox | RemoveReason::Pruned => {}
                }
            }
        }
        Ok(())
    }

    async fn resize_container(&self, job: &mut Job, resize: ResizeContainer) -> Result<(), ()> {
        let updated = match &resize.limits {
            Some(limits) => self.runtime.containers.update_resources(&resize.id, limits).await,
            None => Ok(()),
        };
        match updated {
            Ok(()) => {
                self.record_resize(job, resize);
                Ok(())
            }
            Err(error) => {
                tracing::error!(pod = %job.full_name, container_name = resize.name, error = %error, "updateContainerResources failed");
                self.resize_failed(job, error.status_text());
                Err(())
            }
        }
    }
}

/// The cause that has the pod checked again in at most this time. A network that isn't ready is asked about sooner anyway.
fn sooner(cause: RequeueCause, max: Duration) -> RequeueCause {
    match cause {
        RequeueCause::Resync => RequeueCause::BackOff(max),
        RequeueCause::Error if max < ERROR_RETRY => RequeueCause::BackOff(max),
        RequeueCause::BackOff(wait) => RequeueCause::BackOff(wait.min(max)),
        RequeueCause::Error | RequeueCause::NetworkNotReady => cause,
    }
}
