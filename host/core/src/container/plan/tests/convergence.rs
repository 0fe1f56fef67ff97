//! What holds for every pod and everything that a runtime may have of it.

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;
use crate::container::hash::container_hash;

mod life;

const APPS: [&str; 3] = ["a", "b", "c"];
const INITS: [&str; 3] = ["i", "j", "k"];
const NAMES: [&str; 8] = ["a", "b", "c", "i", "j", "k", "debug", "stray"];
/// Rounds after which any pod has come to rest: one for each container, and some for what is stray.
const ROUNDS: usize = 12;

/// Carries one step out on what was observed, as a runtime at which nothing fails would.
fn carry_out_step(pod: &Pod, seen: &mut ObservedPod, step: &Step, exit_code: i32) {
    let end = |seen: &mut ObservedPod, id: &ContainerId| {
        for container in seen.containers.iter_mut().filter(|container| container.id == *id) {
            container.state = ContainerRunState::Exited;
            container.exit_code = exit_code;
            container.finished_at = Some(at(NOW));
        }
    };
    match step {
        Step::KillPod(kill) => {
            kill.containers.iter().for_each(|container| end(seen, &container.id));
            let stopped = seen.sandboxes.iter_mut().filter(|sandbox| kill.sandboxes.contains(&sandbox.id));
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
            let spec = container_at(pod, start.kind, start.index).expect("only what the spec has is started");
            let mut new = instance(pod, &start.name, start.restart_count, ContainerRunState::Running);
            new.id = format!("{}-new-{}", start.name, start.restart_count).into();
            new.sandbox_id = seen.sandboxes.first().map(|sandbox| sandbox.id.clone());
            new.spec_hash = Some(container_hash(&spec.container));
            seen.containers.insert(0, new);
        }
        Step::WaitBackoff { .. } | Step::ResizeContainer(_) | Step::ResizePod(_) => {}
    }
}

fn carry_out(pod: &Pod, seen: &mut ObservedPod, plan: &Plan, exit_code: i32) {
    plan.steps.iter().for_each(|step| carry_out_step(pod, seen, step, exit_code));
}

fn any_policy() -> impl Strategy<Value = &'static str> {
    prop_oneof![Just("Always"), Just("OnFailure"), Just("Never")]
}

/// What follows a container's name: mostly nothing, else a policy of its own, with a rule or without.
fn any_own_rules() -> impl Strategy<Value = &'static str> {
    prop_oneof![
        5 => Just(""),
        1 => Just(":Never"),
        1 => Just(":OnFailure"),
        1 => Just(":Never:in42=restart"),
        1 => Just(":Never:in43=all"),
    ]
}

prop_compose! {
    fn any_pod()(policy in any_policy(), host in any::<bool>(), ephemeral in any::<bool>(),
                 inits in prop::collection::vec((0..3usize, any_own_rules()), 0..INITS.len()),
                 apps in prop::collection::vec(any_own_rules(), 1..=APPS.len())) -> Pod {
        let mut words = vec![policy.to_owned()];
        for (index, (kind, rules)) in inits.iter().enumerate() {
            words.push(match kind {
                0 => format!("i:{}{rules}", INITS[index]),
                1 => format!("s:{}", INITS[index]),
                _ => format!("s:{}+S+L", INITS[index]),
            });
        }
        words.extend(apps.iter().enumerate().map(|(index, rules)| format!("a:{}{rules}", APPS[index])));
        words.extend(ephemeral.then(|| "e:debug".to_owned()));
        let mut made = language::pod(&words.join(" "));
        spec(&mut made).host_network = Some(host);
        made
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
    /// An instance by the index of its name: state, exit code, whether it is of this spec, and its sandbox.
    fn any_instance()(name in 0..NAMES.len(), state in any_state(), same in any::<bool>(),
                      exit_code in prop::sample::select(vec![0, 1, 42, 43]), home in 0..3usize)
        -> (usize, ContainerRunState, i32, bool, usize) {
        (name, state, exit_code, same, home)
    }
}

prop_compose! {
    fn any_case()(pod in any_pod(), containers in prop::collection::vec(any_instance(), 0..9),
                  newest in any_sandbox(1), older in any_sandbox(0), count in 0..3usize)
        -> (Pod, ObservedPod) {
        let containers = containers.into_iter().enumerate().map(|(index, (name, state, exit_code, same, home))| {
            let mut made = instance(&pod, NAMES[name], 0, state);
            made.id = format!("{}-{index}", NAMES[name]).into();
            made.exit_code = exit_code;
            made.sandbox_id = [None, Some("s0".into()), Some("s1".into())][home].clone();
            let hash = container_named(&pod, NAMES[name]).map(|found| container_hash(&found.container));
            made.spec_hash = if same { hash } else { Some("of another spec".to_owned()) };
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

fn running_names(seen: &ObservedPod) -> Vec<&str> {
    let running = seen.containers.iter().filter(|c| c.state == ContainerRunState::Running);
    running.map(|container| container.name.as_str()).collect()
}

proptest! {
    #[test]
    fn carrying_out_a_plan_leaves_nothing_to_do((pod, mut seen) in any_case(), killed_with in prop::sample::select(vec![0, 137])) {
        for _ in 0..ROUNDS {
            let plan = plan_of(&pod, &seen, &[]);
            carry_out(&pod, &mut seen, &plan, killed_with);
        }
        prop_assert_eq!(render(&plan_of(&pod, &seen, &[])), Vec::<String>::new());
    }

    #[test]
    fn afterwards_no_container_runs_twice_and_none_runs_without_a_spec((pod, mut seen) in any_case()) {
        for _ in 0..ROUNDS {
            let plan = plan_of(&pod, &seen, &[]);
            carry_out(&pod, &mut seen, &plan, 137);
        }
        let running = running_names(&seen);
        let distinct: BTreeSet<&str> = running.iter().copied().collect();
        prop_assert_eq!(running.len(), distinct.len());
        prop_assert!(distinct.iter().all(|name| container_named(&pod, name).is_some()));
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
    fn only_what_has_ended_is_removed((pod, seen) in any_case()) {
        let mut now = seen.clone();
        for step in &plan_of(&pod, &seen, &[]).steps {
            if let Step::RemoveContainers(remove) = step {
                for removed in &remove.containers {
                    let container = now.containers.iter().find(|container| container.id == removed.id);
                    prop_assert!(container.is_some_and(|container| !container.state.may_run()));
                }
            }
            carry_out_step(&pod, &mut now, step, 137);
        }
    }

    #[test]
    fn what_is_waited_for_is_stopped_by_the_same_step_and_never_waits_back((pod, seen) in any_case()) {
        let plan = plan_kill(Some(&pod), &seen, 30);
        let kills = killed(&plan);
        for kill in &kills {
            for before in &kill.stop_after {
                let other = kills.iter().find(|other| other.id == *before);
                prop_assert!(other.is_some_and(|other| !other.stop_after.contains(&kill.id)));
                prop_assert!(*before != kill.id);
            }
        }
    }

    #[test]
    fn no_container_outlives_its_pod((pod, seen) in any_case(), known in any::<bool>()) {
        let mut left = seen.clone();
        let plan = plan_kill(known.then_some(&pod), &seen, 30);
        carry_out(&pod, &mut left, &plan, 137);
        prop_assert!(!left.is_alive());
        prop_assert_eq!(plan_kill(Some(&pod), &left, 30), Plan::default());
    }

    #[test]
    fn a_deleted_pod_starts_nothing_whatever_is_left_of_it((mut pod, seen) in any_case()) {
        pod.metadata.deletion_timestamp = Some(k8s_openapi::apimachinery::pkg::apis::meta::v1::Time(at(0)));
        let plan = plan_of(&pod, &seen, &[]);
        prop_assert_eq!(started(&plan), Vec::<&str>::new());
    }

    #[test]
    fn what_ended_for_good_is_not_started_again((pod, seen) in any_case()) {
        // A new sandbox, and a restart of all, begin init containers and whole pods again.
        let plan = plan_of(&pod, &seen, &[]);
        let new_sandbox = plan.steps.iter().any(|step| matches!(step, Step::CreateSandbox { .. }))
            || !restart_all_triggers(&pod, &seen).is_empty();
        for name in started(&plan) {
            let Some(newest) = seen.container(name) else { continue };
            let found = container_named(&pod, name).expect("it is started");
            let again = newest.state != ContainerRunState::Exited
                || should_restart(&pod, &found.container, newest.exit_code);
            let elsewhere = newest.sandbox_id.is_some() && newest.sandbox_id.as_ref() != plan.sandbox.as_ref();
            let init = found.kind == ContainerKind::Init && (elsewhere || frontier_is_before(&pod, &seen, found.index));
            prop_assert!(new_sandbox || again || init, "{} runs again", name);
        }
    }
}

/// Whether an init container before this one is the last that was seen in the sandbox.
fn frontier_is_before(pod: &Pod, seen: &ObservedPod, index: usize) -> bool {
    init_containers(pod)[index..].iter().all(|init| seen.container(&init.name).is_none())
}
