//! What holds for every pod and everything that a runtime may have of it.

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;

const NAMES: [&str; 4] = ["a", "b", "c", "stray"];

/// Carries a plan out on what was observed, as a runtime at which nothing fails would.
fn carry_out(pod: &Pod, seen: &mut ObservedPod, plan: &Plan, exit_code: i32) {
    let end = |seen: &mut ObservedPod, id: &ContainerId| {
        for container in seen.containers.iter_mut().filter(|container| container.id == *id) {
            container.state = ContainerRunState::Exited;
            container.exit_code = exit_code;
            container.finished_at = Some(at(NOW));
        }
    };
    for step in &plan.steps {
        match step {
            Step::KillPod(kill) => {
                kill.containers.iter().for_each(|container| end(seen, &container.id));
                let stopped =
                    seen.sandboxes.iter_mut().filter(|sandbox| kill.sandboxes.contains(&sandbox.id));
                stopped.for_each(|sandbox| sandbox.state = SandboxState::NotReady);
            }
            Step::KillContainers(kills) => kills.iter().for_each(|kill| end(seen, &kill.id)),
            Step::RemoveContainers(remove) => {
                seen.containers.retain(|c| !remove.containers.iter().any(|removed| removed.id == c.id));
            }
            Step::CreateSandbox { attempt } => {
                let mut new = sandbox(*attempt, SandboxState::Ready);
                new.network = sandbox::network_of(pod);
                seen.sandboxes.insert(0, new);
            }
            Step::StartContainer(start) => {
                let mut new = instance(pod, &start.name, start.restart_count, ContainerRunState::Running);
                new.id = format!("{}-new-{}", start.name, seen.containers.len()).into();
                seen.containers.insert(0, new);
            }
            Step::WaitBackoff { .. } | Step::ResizeContainer(_) | Step::ResizePod(_) => {}
        }
    }
}

fn any_state() -> impl Strategy<Value = ContainerRunState> {
    prop_oneof![
        Just(ContainerRunState::Created),
        Just(ContainerRunState::Running),
        Just(ContainerRunState::Exited),
        Just(ContainerRunState::Unknown),
    ]
}

prop_compose! {
    fn any_sandbox(attempt: u32)(ready in any::<bool>(), addressed in any::<bool>(), host in any::<bool>())
        -> crate::runtime::ObservedSandbox {
        let mut made = sandbox(attempt, if ready { SandboxState::Ready } else { SandboxState::NotReady });
        if !addressed {
            made.ips.clear();
        }
        if host {
            made.network = NamespaceMode::Node;
        }
        made
    }
}

prop_compose! {
    fn any_pod()(policy in prop_oneof![Just("Always"), Just("OnFailure"), Just("Never")], count in 1..4usize,
                 host in any::<bool>()) -> Pod {
        let mut made = pod(policy, &NAMES[..count]);
        spec(&mut made).host_network = Some(host);
        made
    }
}

/// A few instances in any order of names and states, each with an id of its own, some of another spec.
fn any_containers() -> impl Strategy<Value = Vec<(usize, ContainerRunState, i32, bool)>> {
    prop::collection::vec((0..NAMES.len(), any_state(), 0..2i32, any::<bool>()), 0..6)
}

prop_compose! {
    fn any_case()(pod in any_pod(), containers in any_containers(), newest in any_sandbox(1),
                  older in any_sandbox(0), count in 0..3usize) -> (Pod, ObservedPod) {
        let containers = containers.into_iter().enumerate().map(|(index, (name, state, exit_code, same))| {
            let mut made = instance(&pod, NAMES[name], 0, state);
            made.id = format!("{}-{index}", NAMES[name]).into();
            made.exit_code = exit_code;
            if !same {
                made.spec_hash = Some("of another spec".to_owned());
            }
            made
        }).collect();
        let sandboxes = [newest, older].into_iter().take(count).collect();
        (pod, observed(sandboxes, containers))
    }
}

fn killed(plan: &Plan) -> Vec<&KillContainer> {
    let kills = plan.steps.iter().flat_map(|step| match step {
        Step::KillPod(kill) => kill.containers.iter().collect(),
        Step::KillContainers(kills) => kills.iter().collect(),
        Step::RemoveContainers(_)
        | Step::CreateSandbox { .. }
        | Step::StartContainer(_)
        | Step::WaitBackoff { .. }
        | Step::ResizeContainer(_)
        | Step::ResizePod(_) => Vec::new(),
    });
    kills.collect()
}

fn started(plan: &Plan) -> Vec<&str> {
    let starts = plan.steps.iter().filter_map(|step| match step {
        Step::StartContainer(start) => Some(start.name.as_str()),
        Step::KillPod(_)
        | Step::KillContainers(_)
        | Step::RemoveContainers(_)
        | Step::CreateSandbox { .. }
        | Step::WaitBackoff { .. }
        | Step::ResizeContainer(_)
        | Step::ResizePod(_) => None,
    });
    starts.collect()
}

proptest! {
    #[test]
    fn carrying_out_a_plan_leaves_nothing_to_do((pod, mut seen) in any_case(), exit_code in 0..2i32) {
        // Two rounds: containers that were killed without being restarted may then be the last ones of their pod.
        for _ in 0..3 {
            let plan = plan_of(&pod, &seen, &[]);
            carry_out(&pod, &mut seen, &plan, exit_code);
        }
        prop_assert_eq!(render(&plan_of(&pod, &seen, &[])), Vec::<String>::new());
    }

    #[test]
    fn afterwards_no_container_runs_twice_and_none_runs_without_a_spec((pod, mut seen) in any_case()) {
        for _ in 0..3 {
            let plan = plan_of(&pod, &seen, &[]);
            carry_out(&pod, &mut seen, &plan, 137);
        }
        let running: Vec<&str> = seen.containers.iter()
            .filter(|container| container.state == ContainerRunState::Running)
            .map(|container| container.name.as_str())
            .collect();
        let distinct: BTreeSet<&str> = running.iter().copied().collect();
        prop_assert_eq!(running.len(), distinct.len());
        prop_assert!(!distinct.contains("stray"));
        let ready = seen.sandboxes.iter().filter(|sandbox| sandbox.state == SandboxState::Ready).count();
        prop_assert!(ready <= 1);
        prop_assert!(running.is_empty() || ready == 1, "what runs has a sandbox");
    }

    #[test]
    fn no_container_is_killed_or_started_twice((pod, seen) in any_case()) {
        let plan = plan_of(&pod, &seen, &[]);
        let ids: Vec<&ContainerId> = killed(&plan).into_iter().map(|kill| &kill.id).collect();
        prop_assert_eq!(ids.len(), ids.iter().collect::<BTreeSet<_>>().len());
        let names = started(&plan);
        prop_assert_eq!(names.len(), names.iter().collect::<BTreeSet<_>>().len());
    }

    #[test]
    fn a_container_that_is_started_is_not_running_any_more((pod, seen) in any_case()) {
        let plan = plan_of(&pod, &seen, &[]);
        let ids: BTreeSet<&ContainerId> = killed(&plan).into_iter().map(|kill| &kill.id).collect();
        for name in started(&plan) {
            for container in seen.containers.iter().filter(|container| container.name == name) {
                prop_assert!(!container.state.may_run() || ids.contains(&container.id), "{} would run twice", name);
            }
        }
    }

    #[test]
    fn what_ended_well_is_not_started_again_unless_the_policy_is_always((pod, seen) in any_case()) {
        let policy = RestartPolicy::of(&pod);
        for name in started(&plan_of(&pod, &seen, &[])) {
            let newest = seen.container(name);
            let well = newest.is_some_and(|c| c.state == ContainerRunState::Exited && c.exit_code == 0);
            // Under Never, a pod without any sandbox left begins anew, as upstream's does.
            let anew = policy == RestartPolicy::Never && seen.sandboxes.is_empty();
            prop_assert!(!well || policy == RestartPolicy::Always || anew);
        }
    }
}
