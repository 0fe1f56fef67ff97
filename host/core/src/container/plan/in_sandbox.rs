//! The plan of a pod whose sandbox stays.

use super::actions::Actions;
use super::apps;
use super::init;
use super::input::PlanInput;
use super::kill;
use super::resize;
use super::spec::{ContainerKind, ephemeral_containers};
use super::start;
use super::step::{KillReason, Plan, Step};
use crate::runtime::SandboxId;

pub(super) fn plan_in_sandbox(input: PlanInput<'_>, sandbox: SandboxId) -> Plan {
    let PlanInput { pod, observed, .. } = input;
    let mut actions = Actions { kills: kill::stray(pod, observed), ..Actions::default() };
    for (index, container) in ephemeral_containers(pod).iter().enumerate() {
        if observed.container(&container.name).is_none() {
            actions.ephemeral.push(index);
        }
    }
    let kept = match init::decide(input, &sandbox, &mut actions) {
        init::Init::Failed => false,
        init::Init::Running => true,
        init::Init::Done => apps::decide(input, &mut actions),
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
