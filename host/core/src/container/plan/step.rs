//! A plan and its steps.

use jiff::Timestamp;
use k8s_openapi::api::core::v1::Pod;

use super::changed::spec_changed;
use super::resize_step::{ResizeContainer, ResizeError, ResizePod};
use super::spec::{ContainerKind, container_at};
use crate::container::backoff::{BackoffKey, Wait};
use crate::runtime::{ContainerId, ObservedPod, SandboxId, SandboxState};

/// What to do, in this order. Empty if all is as it should be.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Plan {
    /// The sandbox that containers are started in; none if one has to be made first, or none is needed.
    pub sandbox: Option<SandboxId>,
    pub steps: Vec<Step>,
    /// Why resources aren't changed now, although they should be.
    pub resize_error: Option<ResizeError>,
}

impl Plan {
    /// Whether the pod gets another sandbox in place of one that it had (event `SandboxChanged`).
    pub fn replaces_sandbox(&self) -> bool {
        self.steps.iter().any(|step| matches!(step, Step::CreateSandbox { attempt } if *attempt > 0))
    }

    /// When the first container that waits may be started; none if none waits.
    pub fn retry_at(&self) -> Option<Timestamp> {
        self.steps
            .iter()
            .filter_map(|step| match step {
                Step::WaitBackoff { wait, .. } => Some(wait.until),
                Step::KillPod(_)
                | Step::KillContainers(_)
                | Step::RemoveContainers(_)
                | Step::CreateSandbox { .. }
                | Step::StartContainer(_)
                | Step::ResizeContainer(_)
                | Step::ResizePod(_) => None,
            })
            .min()
    }

    /// The same plan without what a spec brings that hasn't been admitted yet: what runs goes on as it was made, and what ended
    /// is started again if it would be the same (a running pod whose admission is put off).
    pub fn without_changes(self, pod: &Pod, observed: &ObservedPod) -> Self {
        let was_ready = observed.sandboxes.first().is_some_and(|newest| newest.state == SandboxState::Ready);
        let replaces = |step: &Step| matches!(step, Step::CreateSandbox { .. });
        let had_sandbox = !self.steps.iter().any(replaces);
        let steps: Vec<Step> =
            self.steps.into_iter().filter_map(|step| step.without_changes(pod, observed)).collect();
        let starts = steps.iter().any(|step| matches!(step, Step::StartContainer(_)));
        // A sandbox that is well can only be replaced for another spec; and one for nothing isn't made.
        let steps = if had_sandbox || (starts && !was_ready) { steps } else { Vec::new() };
        Self { sandbox: self.sandbox, steps, resize_error: None }
    }

    /// Whether carrying it out changes anything: there is more to do than to wait.
    pub fn acts(&self) -> bool {
        self.steps.iter().any(|step| !matches!(step, Step::WaitBackoff { .. }))
    }
}

/// One step of a plan. A step that fails ends the plan, save for a `StartContainer` whose kind says otherwise
/// ([`ContainerKind::failed_start_ends_plan`]).
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// Stop these containers as their order says, then these sandboxes.
    KillPod(KillPod),
    /// Stop these containers, all at once save for what each waits for.
    KillContainers(Vec<KillContainer>),
    /// Remove ended containers from the runtime.
    RemoveContainers(RemoveContainers),
    CreateSandbox {
        /// 0 for the pod's first.
        attempt: u32,
    },
    /// Make and start a container in the pod's sandbox.
    StartContainer(StartContainer),
    /// A crashed container isn't started yet: waiting reason `CrashLoopBackOff`.
    WaitBackoff {
        /// What part it plays.
        kind: ContainerKind,
        container: String,
        /// Until when, and how long it is.
        wait: Wait,
    },
    /// Change the limits of a running container.
    ResizeContainer(ResizeContainer),
    /// Change the limits of the pod's own cgroup.
    ResizePod(ResizePod),
}

/// The whole pod is stopped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KillPod {
    pub reason: KillReason,
    /// Containers whose process runs, or may run. All are begun with at once: what each waits for is in `stop_after`.
    pub containers: Vec<KillContainer>,
    /// All sandboxes, newest first.
    pub sandboxes: Vec<SandboxId>,
}

/// One container is stopped: its preStop hook runs ([`KillReason::runs_pre_stop`]), then those of `stop_after` are waited
/// for, then it is asked to end, and killed when its grace is over. All of that counts in its grace; what is left of it
/// when the runtime is asked is at least [`super::GRACE_SECONDS_MIN`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KillContainer {
    pub id: ContainerId,
    /// Name in the pod's spec.
    pub name: String,
    /// Seconds from now until being killed, at least 2.
    pub grace_seconds: i64,
    pub reason: KillReason,
    /// One sentence for the event `Killing`.
    pub message: String,
    /// Containers of the same step that have to end before this one is asked to, as long as its grace lasts: sidecars wait
    /// for the app containers and for the sidecars after them in the spec.
    pub stop_after: Vec<ContainerId>,
}

/// Why something is stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum KillReason {
    /// The pod ends, or nothing of it is left to run.
    PodEnds,
    /// Its sandbox is gone, broken or not what the spec asks for.
    SandboxChanged,
    /// Its spec isn't what it was started from.
    SpecChanged,
    /// The pod's spec has no such container any more.
    NotInSpec,
    /// A newer instance of the same container exists.
    Superseded,
    /// The runtime doesn't know whether it runs.
    Unknown,
    /// Its liveness probe failed.
    LivenessProbe,
    /// Its startup probe failed.
    StartupProbe,
    /// A container ended in a way that has all of them starts over (KEP-5532).
    RestartAll,
    /// Its CPU or memory changed, and its `resizePolicy` asks for a restart.
    Resize,
}

impl Step {
    /// The step as far as it isn't due to a spec that is other than what was made from it.
    pub(super) fn without_changes(self, pod: &Pod, observed: &ObservedPod) -> Option<Self> {
        match self {
            Self::KillContainers(mut kills) => {
                kills.retain(|kill| !kill.reason.is_for_another_spec());
                (!kills.is_empty()).then_some(Self::KillContainers(kills))
            }
            Self::StartContainer(start) => {
                let container = container_at(pod, start.kind, start.index)?.container;
                let before = observed.container(&start.name)?;
                let is_same = before.spec_hash.is_some() && !spec_changed(&container, before);
                is_same.then_some(Self::StartContainer(start))
            }
            Self::ResizeContainer(_) | Self::ResizePod(_) => None,
            Self::KillPod(_)
            | Self::RemoveContainers(_)
            | Self::CreateSandbox { .. }
            | Self::WaitBackoff { .. } => Some(self),
        }
    }
}

impl KillReason {
    fn is_for_another_spec(self) -> bool {
        match self {
            Self::SpecChanged | Self::NotInSpec | Self::Resize => true,
            Self::PodEnds
            | Self::SandboxChanged
            | Self::Superseded
            | Self::Unknown
            | Self::LivenessProbe
            | Self::StartupProbe
            | Self::RestartAll => false,
        }
    }

    /// Whether its preStop hook runs first. Not when all containers starts over, which has to be quick.
    pub fn runs_pre_stop(self) -> bool {
        match self {
            Self::RestartAll => false,
            Self::PodEnds
            | Self::SandboxChanged
            | Self::SpecChanged
            | Self::NotInSpec
            | Self::Superseded
            | Self::Unknown
            | Self::LivenessProbe
            | Self::StartupProbe
            | Self::Resize => true,
        }
    }
}

/// Ended containers are removed from the runtime, in this order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RemoveContainers {
    pub reason: RemoveReason,
    /// Which. The last ones are those that the removal is due to, so that it is gone on with if it is interrupted.
    pub containers: Vec<RemoveContainer>,
    /// Ends of containers that are to be recorded in the table of delays before anything is removed, for afterwards no one
    /// knows of them.
    pub crashes: Vec<Crash>,
}

/// One container that is removed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RemoveContainer {
    pub id: ContainerId,
    /// Name in the pod's spec.
    pub name: String,
}

/// Why ended containers are removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RemoveReason {
    /// A new sandbox begins with the first init container again (upstream: `purgeInitContainers`).
    NewSandbox,
    /// Only the last instance of an init container is of use (upstream: `pruneInitContainersBeforeStart`).
    Pruned,
    /// All containers starts over (KEP-5532).
    RestartAll,
}

/// One container is started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StartContainer {
    /// What part it plays.
    pub kind: ContainerKind,
    /// Index in its own list ([`super::container_at`]).
    pub index: usize,
    pub name: String,
    /// 0 for its first instance, else one more than the previous instance has.
    pub restart_count: u32,
    /// It ended before: to be recorded in the table of delays, with the time of the start.
    pub crash: Option<Crash>,
}

/// The end of a container's previous instance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Crash {
    /// Where its delay is remembered.
    pub key: BackoffKey,
    pub finished_at: Timestamp,
}
