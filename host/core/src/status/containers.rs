//! The states of a pod's containers: the kubelet's `convertToAPIContainerStatuses`.

use std::fmt;

use k8s_openapi::api::core::v1::{
    Container, ContainerState, ContainerStateRunning, ContainerStateTerminated, ContainerStateWaiting,
    ContainerStatus, Pod, PodStatus,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use thiserror::Error;

use super::StatusInput;
use crate::container::plan::{RestartPolicy, app_containers, should_start};
use crate::runtime::{ContainerRunState, ObservedContainer};

/// Reason of a termination that nobody saw.
pub(super) const CONTAINER_STATUS_UNKNOWN: &str = "ContainerStatusUnknown";
/// Exit code of a termination that nobody saw: as if killed by signal 9.
pub(super) const EXIT_CODE_UNKNOWN: i32 = 137;

/// Why a container that should run doesn't (the words of upstream's `kubelet` and `images` packages).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum WaitingReason {
    /// Nothing went wrong yet.
    ContainerCreating,
    /// Admission put it off.
    Blocked,
    /// It crashed, and its delay isn't over.
    CrashLoopBackOff,
    /// Its image could not be pulled.
    ErrImagePull,
    /// Its image could not be pulled, and the delay isn't over.
    ImagePullBackOff,
    /// Its image isn't there, and `imagePullPolicy: Never` forbids to pull it.
    ErrImageNeverPull,
    /// Its image's name isn't one.
    InvalidImageName,
    /// The runtime could not say whether it has the image.
    ImageInspectError,
    /// Its spec can't be turned into something that the runtime makes.
    CreateContainerConfigError,
    /// The runtime could not make it.
    CreateContainerError,
    /// The runtime could not start it.
    RunContainerError,
    /// The pod has no sandbox, since the runtime could not make one.
    CreatePodSandboxError,
}

impl WaitingReason {
    /// The API's word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ContainerCreating => "ContainerCreating",
            Self::Blocked => "Blocked",
            Self::CrashLoopBackOff => "CrashLoopBackOff",
            Self::ErrImagePull => "ErrImagePull",
            Self::ImagePullBackOff => "ImagePullBackOff",
            Self::ErrImageNeverPull => "ErrImageNeverPull",
            Self::InvalidImageName => "InvalidImageName",
            Self::ImageInspectError => "ImageInspectError",
            Self::CreateContainerConfigError => "CreateContainerConfigError",
            Self::CreateContainerError => "CreateContainerError",
            Self::RunContainerError => "RunContainerError",
            Self::CreatePodSandboxError => "CreatePodSandboxError",
        }
    }
}

impl fmt::Display for WaitingReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Why a container waits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Waiting {
    /// The word.
    pub reason: WaitingReason,
    /// One sentence for people.
    pub message: String,
}

impl Waiting {
    /// A crashed container whose delay isn't over, in upstream's words.
    pub fn crash_loop(pod: &Pod, container: &str, delay: std::time::Duration) -> Self {
        let text = |text: &Option<String>| text.clone().unwrap_or_default();
        let (name, namespace) = (text(&pod.metadata.name), text(&pod.metadata.namespace));
        let message = format!(
            "back-off {} restarting failed container={container} pod={name}_{namespace}({})",
            go_duration(delay.as_secs()),
            text(&pod.metadata.uid)
        );
        Self { reason: WaitingReason::CrashLoopBackOff, message }
    }
}

/// What probes found out about a running container. A probe that the spec has and that has no result yet counts as not
/// passed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProbeResults {
    /// Whether the startup probe succeeded; none without a result.
    pub started: Option<bool>,
    /// Whether the readiness probe succeeds; none without a result.
    pub ready: Option<bool>,
}

/// A container that has ended for good would run again.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("terminated container {container} would leave its state, which restart policy {policy:?} forbids")]
pub struct IllegalTransition {
    /// The container.
    pub container: String,
    /// The pod's policy.
    pub policy: RestartPolicy,
}

/// Refuses a new status in which a container that has ended for good hasn't.
pub fn check_container_transition(
    pod: &Pod,
    old: &PodStatus,
    new: &PodStatus,
) -> Result<(), IllegalTransition> {
    let policy = RestartPolicy::of(pod);
    for before in old.container_statuses.iter().flatten() {
        let Some(ended) = terminated_state(before) else {
            continue;
        };
        let may_run_again = match policy {
            RestartPolicy::Always => true,
            RestartPolicy::OnFailure => ended.exit_code != 0,
            RestartPolicy::Never => false,
        };
        let after = new.container_statuses.iter().flatten().find(|status| status.name == before.name);
        if !may_run_again && after.is_some_and(|status| terminated_state(status).is_none()) {
            return Err(IllegalTransition { container: before.name.clone(), policy });
        }
    }
    Ok(())
}

/// One status for each app container, ordered by name as upstream's are.
pub(super) fn statuses(input: StatusInput<'_>) -> Vec<ContainerStatus> {
    let mut statuses: Vec<ContainerStatus> =
        app_containers(input.pod).iter().map(|container| of_container(input, container)).collect();
    statuses.sort_by(|a, b| a.name.cmp(&b.name));
    statuses
}

/// A status that says nothing but that the container waits.
pub(super) fn waiting_status(container: &Container, waiting: &Waiting) -> ContainerStatus {
    ContainerStatus {
        name: container.name.clone(),
        image: container.image.clone().unwrap_or_default(),
        state: Some(waiting_state(waiting)),
        last_state: Some(ContainerState::default()),
        started: Some(false),
        ..ContainerStatus::default()
    }
}

/// The state of a container that ended without anybody seeing how.
pub(super) fn lost_state(message: &str) -> ContainerState {
    ContainerState {
        terminated: Some(ContainerStateTerminated {
            reason: Some(CONTAINER_STATUS_UNKNOWN.to_owned()),
            message: Some(message.to_owned()),
            exit_code: EXIT_CODE_UNKNOWN,
            ..ContainerStateTerminated::default()
        }),
        ..ContainerState::default()
    }
}

fn of_container(input: StatusInput<'_>, container: &Container) -> ContainerStatus {
    let StatusInput { pod, observed, previous, .. } = input;
    let before =
        previous.and_then(|p| p.container_statuses.iter().flatten().find(|s| s.name == container.name));
    let mut instances = observed.containers.iter().filter(|instance| instance.name == container.name);
    let mut status = match instances.next() {
        Some(newest) => of_instances(input, container, newest, instances.next(), before),
        None => of_absent(pod, container, before),
    };
    if let Some(waiting) = input.waiting.get(&container.name)
        && should_start(pod, &container.name, observed)
    {
        if terminated_state(&status).is_some() {
            status.last_state = status.state.take();
        }
        status.state = Some(waiting_state(waiting));
    }
    set_readiness(&mut status, input, container);
    status
}

/// The runtime has the container: its newest instance says how it is, the one before how it last ended.
fn of_instances(
    input: StatusInput<'_>,
    container: &Container,
    newest: &ObservedContainer,
    older: Option<&ObservedContainer>,
    before: Option<&ContainerStatus>,
) -> ContainerStatus {
    let id = full_id(input.runtime_name, newest);
    let older = older.and_then(|older| exited_state(input.runtime_name, older));
    // The older instance may have been removed since it was last seen.
    let remembered = || {
        let same = before.filter(|before| before.container_id.as_deref() == Some(id.as_str()));
        same.and_then(|before| before.last_state.clone())
    };
    let image =
        if newest.image.is_empty() { container.image.as_deref() } else { Some(newest.image.as_str()) };
    ContainerStatus {
        name: container.name.clone(),
        image: image.unwrap_or_default().to_owned(),
        image_id: newest.image_id.clone(),
        restart_count: i32::try_from(newest.restart_count).unwrap_or(i32::MAX),
        state: Some(state_of(input.runtime_name, newest, before)),
        last_state: older.or_else(remembered).or_else(|| Some(ContainerState::default())),
        container_id: Some(id),
        ..ContainerStatus::default()
    }
}

/// The runtime has nothing of the container: it was never made, or all its instances were removed.
fn of_absent(pod: &Pod, container: &Container, before: Option<&ContainerStatus>) -> ContainerStatus {
    let creating = Waiting { reason: WaitingReason::ContainerCreating, message: String::new() };
    let mut status = waiting_status(container, &creating);
    let Some(before) = before else {
        return status;
    };
    if terminated_state(before).is_some() {
        return before.clone();
    }
    status.restart_count = before.restart_count;
    status.last_state = before.last_state.clone();
    if is_running(before) {
        // It ran, so it must have ended: to call it waiting alone would make the pod look as if it had never run.
        status.last_state = Some(lost_state("The container could not be located, although it was running"));
        if pod.metadata.deletion_timestamp.is_none() {
            status.restart_count = status.restart_count.saturating_add(1);
        }
    }
    status
}

fn state_of(
    runtime_name: &str,
    container: &ObservedContainer,
    before: Option<&ContainerStatus>,
) -> ContainerState {
    match container.state {
        ContainerRunState::Running => ContainerState {
            running: Some(ContainerStateRunning { started_at: container.started_at.map(Time) }),
            ..ContainerState::default()
        },
        ContainerRunState::Exited => exited_state(runtime_name, container).unwrap_or_default(),
        ContainerRunState::Unknown if before.is_some_and(is_running) => {
            lost_state("The container could not be located when the pod was terminated")
        }
        ContainerRunState::Created | ContainerRunState::Unknown => {
            ContainerState { waiting: Some(ContainerStateWaiting::default()), ..ContainerState::default() }
        }
    }
}

/// None for a container that hasn't exited.
fn exited_state(runtime_name: &str, container: &ObservedContainer) -> Option<ContainerState> {
    let terminated = match container.state {
        ContainerRunState::Exited => ContainerStateTerminated {
            container_id: Some(full_id(runtime_name, container)),
            exit_code: container.exit_code,
            finished_at: container.finished_at.map(Time),
            message: text(&container.message),
            reason: text(&container.reason),
            signal: None,
            started_at: container.started_at.map(Time),
        },
        ContainerRunState::Created | ContainerRunState::Running | ContainerRunState::Unknown => return None,
    };
    Some(ContainerState { terminated: Some(terminated), ..ContainerState::default() })
}

/// Started and ready: by the probes where the spec has some, else whenever it runs.
fn set_readiness(status: &mut ContainerStatus, input: StatusInput<'_>, container: &Container) {
    let newest = input.observed.container(&container.name);
    let results = newest.and_then(|newest| input.probes.get(&newest.id)).copied().unwrap_or_default();
    let started = is_running(status) && results.started.unwrap_or_else(|| container.startup_probe.is_none());
    status.started = Some(started);
    status.ready = started && results.ready.unwrap_or_else(|| container.readiness_probe.is_none());
}

fn waiting_state(waiting: &Waiting) -> ContainerState {
    ContainerState {
        waiting: Some(ContainerStateWaiting {
            reason: Some(waiting.reason.as_str().to_owned()),
            message: text(&waiting.message),
        }),
        ..ContainerState::default()
    }
}

fn full_id(runtime_name: &str, container: &ObservedContainer) -> String {
    format!("{runtime_name}://{}", container.id)
}

pub(super) fn terminated_state(status: &ContainerStatus) -> Option<&ContainerStateTerminated> {
    status.state.as_ref().and_then(|state| state.terminated.as_ref())
}

fn is_running(status: &ContainerStatus) -> bool {
    status.state.as_ref().is_some_and(|state| state.running.is_some())
}

fn text(text: &str) -> Option<String> {
    (!text.is_empty()).then(|| text.to_owned())
}

/// Seconds as Go prints a duration, which is how people know the message: `10s`, `2m40s`.
fn go_duration(seconds: u64) -> String {
    match (seconds / 60, seconds % 60) {
        (0, seconds) => format!("{seconds}s"),
        (minutes, seconds) => format!("{minutes}m{seconds}s"),
    }
}

#[cfg(test)]
mod tests;
