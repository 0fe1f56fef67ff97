//! What has to be done so that the runtime has of a pod what its spec asks for: the kubelet's `computePodActions`.
//!
//! The plan is a list of steps in order. Whoever carries them out holds no policy: a step that fails ends the plan,
//! except that a container that doesn't start holds up no other container. The next observation makes the next plan.
//! Init containers, sidecars and ephemeral containers aren't planned for by this release.

mod containers;
pub mod sandbox;

use std::collections::BTreeMap;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Container, Pod};

use crate::container::backoff::{BackoffKey, BackoffTable, Wait};
use crate::runtime::{ContainerId, ObservedContainer, ObservedPod, SandboxId};

pub use containers::{ProbeFailure, RestartPolicy, should_start};
use sandbox::SandboxNeed;

/// No container gets less time to end, in seconds (upstream: `minimumGracePeriodInSeconds`).
pub const GRACE_SECONDS_MIN: i64 = 2;
/// Time to end if the pod doesn't say, in seconds (the API's default of `terminationGracePeriodSeconds`).
pub const GRACE_SECONDS_DEFAULT: i64 = 30;

/// The facts that a plan is made from.
#[derive(Clone, Copy, Debug)]
pub struct PlanInput<'a> {
    /// The pod as its source wants it.
    pub pod: &'a Pod,
    /// What the runtime has of it.
    pub observed: &'a ObservedPod,
    /// Delays of crashed containers.
    pub backoff: &'a BackoffTable,
    /// Running containers that failed their liveness or startup probe.
    pub probe_failures: &'a BTreeMap<ContainerId, ProbeFailure>,
    /// The time.
    pub now: Timestamp,
}

/// What to do, in this order. Empty if all is as it should be.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// The sandbox that containers are started in; none if one has to be made first, or none is needed.
    pub sandbox: Option<SandboxId>,
    /// The steps.
    pub steps: Vec<Step>,
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
                | Step::KillContainer(_)
                | Step::CreateSandbox { .. }
                | Step::StartContainer(_) => None,
            })
            .min()
    }
}

/// One step of a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Stop these containers, all at once, then these sandboxes.
    KillPod(KillPod),
    /// Stop one container.
    KillContainer(KillContainer),
    /// Make a sandbox.
    CreateSandbox {
        /// 0 for the pod's first.
        attempt: u32,
    },
    /// Make and start a container in the pod's sandbox.
    StartContainer(StartContainer),
    /// A crashed container isn't started yet: waiting reason `CrashLoopBackOff`.
    WaitBackoff {
        /// Its name.
        container: String,
        /// Until when, and how long it is.
        wait: Wait,
    },
}

/// The whole pod is stopped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KillPod {
    /// Why.
    pub reason: KillReason,
    /// Containers whose process runs, or may run.
    pub containers: Vec<KillContainer>,
    /// All sandboxes, newest first.
    pub sandboxes: Vec<SandboxId>,
}

/// One container is stopped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KillContainer {
    /// Which.
    pub id: ContainerId,
    /// Name in the pod's spec.
    pub name: String,
    /// Seconds from being asked to end until being killed, at least 2.
    pub grace_seconds: i64,
    /// Why.
    pub reason: KillReason,
    /// One sentence for the event `Killing`.
    pub message: String,
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
}

impl KillReason {
    /// The event's reason beside `Killing`: a failed probe makes a container `Unhealthy`.
    pub fn event_reason(self) -> &'static str {
        match self {
            Self::LivenessProbe | Self::StartupProbe => "Unhealthy",
            Self::PodEnds
            | Self::SandboxChanged
            | Self::SpecChanged
            | Self::NotInSpec
            | Self::Superseded
            | Self::Unknown => "Killing",
        }
    }
}

/// One container is started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StartContainer {
    /// Index in `spec.containers`.
    pub index: usize,
    /// Its name.
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
    /// When it ended.
    pub finished_at: Timestamp,
}

/// What has to be done now. Carrying it out and asking again gives, once nothing fails, an empty plan.
pub fn plan(input: PlanInput<'_>) -> Plan {
    match sandbox::need(input.pod, input.observed) {
        SandboxNeed::Keep(id) => plan_in_sandbox(input, id),
        SandboxNeed::Create { attempt } => plan_with_new_sandbox(input, attempt),
    }
}

/// Stops all that a pod has. Empty if nothing of it is alive. `grace_seconds` is what its containers get.
pub fn plan_kill(observed: &ObservedPod, grace_seconds: i64) -> Plan {
    plan_kill_with(observed, grace_seconds, KillReason::PodEnds)
}

/// Seconds that a pod's containers get to end: what its deletion asked for, else what its spec says, at least 2.
pub fn grace_seconds(pod: &Pod) -> i64 {
    let spec_grace = pod.spec.as_ref().and_then(|spec| spec.termination_grace_period_seconds);
    let grace = pod.metadata.deletion_grace_period_seconds.or(spec_grace).unwrap_or(GRACE_SECONDS_DEFAULT);
    grace.max(GRACE_SECONDS_MIN)
}

/// The containers of `spec.containers`.
pub(crate) fn app_containers(pod: &Pod) -> &[Container] {
    pod.spec.as_ref().map(|spec| spec.containers.as_slice()).unwrap_or_default()
}

fn plan_with_new_sandbox(input: PlanInput<'_>, attempt: u32) -> Plan {
    let PlanInput { pod, observed, .. } = input;
    let policy = RestartPolicy::of(pod);
    // A pod that may not restart gets its sandbox once; unless no container ever came to be in it, for then it failed
    // half-way.
    let ran_once = policy == RestartPolicy::Never && attempt != 0 && !observed.containers.is_empty();
    let starts: Vec<usize> = if ran_once || pod.metadata.deletion_timestamp.is_some() {
        Vec::new()
    } else {
        containers::to_start_in_new_sandbox(pod, observed, policy)
    };
    if starts.is_empty() {
        return plan_kill_with(observed, grace_seconds(pod), KillReason::SandboxChanged);
    }
    let mut steps = Vec::new();
    if !observed.sandboxes.is_empty() || !alive_containers(observed).is_empty() {
        steps.push(kill_pod(observed, grace_seconds(pod), KillReason::SandboxChanged));
    }
    steps.push(Step::CreateSandbox { attempt });
    steps.extend(starts.into_iter().filter_map(|index| containers::start(input, index)));
    Plan { sandbox: None, steps }
}

fn plan_in_sandbox(input: PlanInput<'_>, sandbox: SandboxId) -> Plan {
    let PlanInput { pod, observed, .. } = input;
    let choice = containers::choose(input);
    if choice.kept == 0 && choice.starts.is_empty() {
        return plan_kill_with(observed, grace_seconds(pod), KillReason::PodEnds);
    }
    let mut steps: Vec<Step> = choice.kills.into_iter().map(Step::KillContainer).collect();
    steps.extend(choice.starts.into_iter().filter_map(|index| containers::start(input, index)));
    Plan { sandbox: Some(sandbox), steps }
}

fn plan_kill_with(observed: &ObservedPod, grace_seconds: i64, reason: KillReason) -> Plan {
    let step = observed.is_alive().then(|| kill_pod(observed, grace_seconds, reason));
    Plan { sandbox: None, steps: step.into_iter().collect() }
}

/// Containers that run, or of which nobody knows that they don't.
fn alive_containers(observed: &ObservedPod) -> Vec<&ObservedContainer> {
    observed.containers.iter().filter(|container| container.state.may_run()).collect()
}

fn kill_pod(observed: &ObservedPod, grace_seconds: i64, reason: KillReason) -> Step {
    let containers = alive_containers(observed)
        .into_iter()
        .map(|container| KillContainer {
            id: container.id.clone(),
            name: container.name.clone(),
            grace_seconds: grace_seconds.max(GRACE_SECONDS_MIN),
            reason,
            message: format!("Stopping container {}", container.name),
        })
        .collect();
    let sandboxes = observed.sandboxes.iter().map(|sandbox| sandbox.id.clone()).collect();
    Step::KillPod(KillPod { reason, containers, sandboxes })
}

#[cfg(test)]
mod tests;
