//! What has to be done so that the runtime has of a pod what its spec asks for: the kubelet's `computePodActions`.
//!
//! The plan is a list of steps in order. What carries them out holds no policy: a step that fails ends the plan,
//! save for starts that hold no one up. The next observation makes the next plan.

mod actions;
mod apps;
mod changed;
mod in_sandbox;
mod init;
mod input;
mod kill;
pub mod resize;
mod resize_step;
mod restart;
mod restart_all;
pub mod sandbox;
mod spec;
mod start;
mod step;

pub use input::PlanInput;
pub use kill::{GRACE_SECONDS_DEFAULT, GRACE_SECONDS_MIN, grace_seconds, plan_kill};
pub use restart::{
    RestartAction, RestartPolicy, is_restartable, restart_all_triggers, restart_rule, should_restart,
    should_start,
};
pub use spec::{
    ContainerKind, PodContainer, app_containers, as_container, container_at, container_named,
    container_names, containers, ephemeral_containers, init_containers, kind_of_init,
};
pub(crate) use start::is_made_up;
pub use start::known_restart_counts;
pub use step::{
    Crash, KillContainer, KillPod, KillReason, Plan, RemoveContainer, RemoveContainers, RemoveReason,
    StartContainer, Step,
};

use in_sandbox::plan_in_sandbox;
use sandbox::SandboxNeed;

/// Returns what has to be done now. Carrying it out and asking again gives, once nothing fails, an empty plan.
pub fn plan(input: PlanInput<'_>) -> Plan {
    match sandbox::need(input.pod, input.observed) {
        SandboxNeed::Keep(id) if restart_all_triggers(input.pod, input.observed).is_empty() => {
            plan_in_sandbox(input, id)
        }
        SandboxNeed::Keep(id) => restart_all::plan(input, id),
        SandboxNeed::Create { attempt } => plan_with_new_sandbox(input, attempt),
    }
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

#[cfg(test)]
mod tests;
