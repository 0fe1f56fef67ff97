//! What has to be done so that the runtime has of a pod what its spec asks for: the kubelet's `computePodActions`.
//!
//! The plan is a list of steps in order. Whoever carries them out holds no policy: a step that fails ends the plan,
//! save for starts that hold nobody up. The next observation makes the next plan.

mod apps;
mod init;
mod kill;
pub mod resize;
mod restart;
mod restart_all;
pub mod sandbox;
mod spec;
mod start;
mod step;

use std::collections::BTreeMap;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::Pod;

use crate::container::backoff::BackoffTable;
use crate::probe::{ContainerProbes, ProbeResults};
use crate::runtime::{ContainerId, ObservedContainer, ObservedPod, SandboxId, SandboxState};

pub use kill::{GRACE_SECONDS_DEFAULT, GRACE_SECONDS_MIN, grace_seconds, plan_kill};
use resize::{ResizeError, ResizeFacts};
pub use restart::{
    RestartAction, RestartPolicy, is_restartable, restart_all_triggers, restart_rule, should_restart,
    should_start,
};
use sandbox::SandboxNeed;
pub use spec::{
    ContainerKind, PodContainer, app_containers, as_container, container_at, container_named, containers,
    ephemeral_containers, init_containers, kind_of_init,
};
pub(crate) use start::is_made_up;
pub use start::known_restart_counts;
pub use step::{
    Crash, KillContainer, KillPod, KillReason, RemoveContainer, RemoveContainers, RemoveReason,
    StartContainer, Step,
};

/// The facts that a plan is made from.
#[derive(Clone, Copy, Debug)]
pub struct PlanInput<'a> {
    /// The pod as its source wants it, with the resources that it was allocated
    /// ([`crate::pod::allocation::Allocation::apply`]).
    pub pod: &'a Pod,
    /// What the runtime has of it.
    pub observed: &'a ObservedPod,
    /// Delays of crashed containers.
    pub backoff: &'a BackoffTable,
    /// What probes found out about running containers. A failed liveness or startup probe stops its container for as long
    /// as the result stands.
    pub probes: &'a ProbeResults,
    /// Restart counts of the last instances that are known of, by container name, where the runtime may have forgotten
    /// them ([`known_restart_counts`], log folders): counts never start over while the pod lives.
    pub restart_counts: &'a BTreeMap<String, u32>,
    /// What in-place changes of resources need; none leaves resources of running containers alone.
    pub resize: Option<ResizeFacts<'a>>,
    /// The time.
    pub now: Timestamp,
}

impl PlanInput<'_> {
    fn probes_of(&self, id: &ContainerId) -> ContainerProbes {
        self.probes.get(id).copied().unwrap_or_default()
    }

    /// Nothing of it is started any more.
    fn is_deleted(&self) -> bool {
        self.pod.metadata.deletion_timestamp.is_some()
    }
}

/// What to do, in this order. Empty if all is as it should be.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Plan {
    /// The sandbox that containers are started in; none if one has to be made first, or none is needed.
    pub sandbox: Option<SandboxId>,
    /// The steps.
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

/// What has to be done now. Carrying it out and asking again gives, once nothing fails, an empty plan.
pub fn plan(input: PlanInput<'_>) -> Plan {
    match sandbox::need(input.pod, input.observed) {
        SandboxNeed::Keep(id) if restart_all_triggers(input.pod, input.observed).is_empty() => {
            plan_in_sandbox(input, id)
        }
        SandboxNeed::Keep(id) => restart_all::plan(input, id),
        SandboxNeed::Create { attempt } => plan_with_new_sandbox(input, attempt),
    }
}

/// What is done to a pod's containers in a sandbox that stays.
#[derive(Default)]
struct Actions {
    kills: Vec<KillContainer>,
    /// Indices into `spec.ephemeralContainers`.
    ephemeral: Vec<usize>,
    /// Indices into `spec.initContainers`, ascending.
    init: Vec<usize>,
    /// Indices into `spec.containers`.
    apps: Vec<usize>,
    resize: resize::Changes,
}

/// A new sandbox begins everything again, with the first init container.
fn plan_with_new_sandbox(input: PlanInput<'_>, attempt: u32) -> Plan {
    let PlanInput { pod, observed, .. } = input;
    let apps = if input.is_deleted() { Vec::new() } else { apps::in_new_sandbox(pod, observed, attempt) };
    if apps.is_empty() {
        return kill::plan_end(pod, observed, KillReason::SandboxChanged);
    }
    let mut steps = Vec::new();
    if !observed.sandboxes.is_empty() || observed.is_alive() {
        steps.push(kill::kill_pod(Some(pod), observed, grace_seconds(pod), KillReason::SandboxChanged));
    }
    steps.extend(restart_all::removal(input).or_else(|| init::purge(pod, observed)));
    steps.push(Step::CreateSandbox { attempt });
    if init_containers(pod).is_empty() {
        let starts = apps.into_iter().filter_map(|index| start::start(input, ContainerKind::App, index));
        steps.extend(starts);
    } else {
        steps.extend(start::start_init(input, 0));
    }
    Plan { steps, ..Plan::default() }
}

fn plan_in_sandbox(input: PlanInput<'_>, sandbox: SandboxId) -> Plan {
    let PlanInput { pod, observed, .. } = input;
    let mut actions = Actions { kills: kill::stray(pod, observed), ..Actions::default() };
    for (index, container) in ephemeral_containers(pod).iter().enumerate() {
        if observed.container(&container.name).is_none() {
            actions.ephemeral.push(index);
        }
    }
    let kept = match init::look(input, &sandbox, &mut actions) {
        init::Init::Failed => false,
        init::Init::Running => true,
        init::Init::Done => apps::look(input, &mut actions),
    };
    if !kept {
        return kill::plan_end(pod, observed, KillReason::PodEnds);
    }
    let (resizes, resize_error) = match resize::steps(input, actions.resize) {
        Ok(steps) => (steps, None),
        Err(error) => (Vec::new(), Some(error)),
    };
    let mut steps = Vec::new();
    if !actions.kills.is_empty() {
        steps.push(Step::KillContainers(actions.kills));
    }
    steps.extend(init::prune(pod, observed));
    if input.is_deleted() {
        return Plan { sandbox: Some(sandbox), steps, resize_error: None };
    }
    let start = |kind| move |index| start::start(input, kind, index);
    steps.extend(actions.ephemeral.into_iter().filter_map(start(ContainerKind::Ephemeral)));
    steps.extend(actions.init.into_iter().filter_map(|index| start::start_init(input, index)));
    steps.extend(resizes);
    steps.extend(actions.apps.into_iter().filter_map(start(ContainerKind::App)));
    Plan { sandbox: Some(sandbox), steps, resize_error }
}

/// Whether what is seen of a container counts for this sandbox: it is in it, or may be, or still runs.
fn counts_in(container: &ObservedContainer, sandbox: &SandboxId) -> bool {
    container.state.may_run() || container.sandbox_id.as_ref().is_none_or(|id| id == sandbox)
}

#[cfg(test)]
mod tests;
