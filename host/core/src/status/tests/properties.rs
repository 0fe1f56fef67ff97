//! What holds of the statuses of any pod, whatever the runtime shows of it from check to check.

use proptest::prelude::*;

use super::*;
use crate::fixtures::instance;
use crate::runtime::ContainerRunState;

/// A pod with an init container, a sidecar, two app containers and an ephemeral one, and containers of it and one of another pod
/// in any states.
fn any_observed(pod: &Pod, states: &[(usize, usize, i32)]) -> ObservedPod {
    let names = ["init", "sidecar", "a", "b", "debugger", "stray"];
    let run_states = [
        ContainerRunState::Created,
        ContainerRunState::Running,
        ContainerRunState::Exited,
        ContainerRunState::Unknown,
    ];
    let containers = states.iter().enumerate().map(|(index, (name, state, exit_code))| {
        let count = u32::try_from(states.len() - index).unwrap();
        let mut seen = instance(pod, names[*name], count, run_states[*state]);
        seen.exit_code = *exit_code;
        seen
    });
    in_sandbox(containers.collect())
}

fn of_every_kind(policy: &str) -> Pod {
    use k8s_openapi::api::core::v1::{Container, EphemeralContainer};
    let mut pod = pod(policy, &["a", "b"]);
    let container = |name: &str, restart_policy: Option<&str>| Container {
        name: name.to_owned(),
        restart_policy: restart_policy.map(str::to_owned),
        ..Container::default()
    };
    let debugger = EphemeralContainer { name: "debugger".to_owned(), ..EphemeralContainer::default() };
    let spec = spec(&mut pod);
    spec.init_containers = Some(vec![container("init", None), container("sidecar", Some("Always"))]);
    spec.ephemeral_containers = Some(vec![debugger]);
    pod
}

proptest! {
    #[test]
    fn any_facts_give_a_status_that_keeps_what_was_reported(
        inspections in prop::collection::vec(
            (prop::collection::vec((0..6usize, 0..4usize, 0..2i32), 0..8), any::<bool>()), 1..5),
        policy in prop_oneof![Just("Always"), Just("OnFailure"), Just("Never")],
    ) {
        let pod = of_every_kind(policy);
        let mut previous: Option<PodStatus> = None;
        for (second, (states, ends)) in (1..).zip(inspections) {
            let seen = any_observed(&pod, &states);
            let input = StatusInput {
                pod: &pod, observed: &seen, previous: previous.as_ref(), host_ips: &[], runtime_name: "r",
                recursive_read_only: false, waiting: &BTreeMap::new(), probes: &BTreeMap::new(),
                started_before: &BTreeMap::new(),
                resize: &ResizeStatus::default(), ends, now: at(second),
            };
            let status = generate(input);
            let phase = Phase::of(&status);
            prop_assert!(phase.is_some());
            let kinds: std::collections::BTreeSet<_> =
                status.conditions.iter().flatten().map(|condition| &condition.type_).collect();
            prop_assert_eq!((kinds.len(), status.conditions.as_ref().map(Vec::len)), (5, Some(5)));
            prop_assert_eq!(status.container_statuses.as_ref().map(Vec::len), Some(2));
            prop_assert_eq!(status.init_container_statuses.as_ref().map(Vec::len), Some(2));
            prop_assert_eq!(status.start_time.as_ref(), Some(&Time(at(0))));
            // The same facts say the same later.
            let again = generate(StatusInput { previous: Some(&status), now: at(second), ..input });
            prop_assert_eq!(check_container_transition(&pod, &status, &again), Ok(()));
            prop_assert_eq!(&generate(StatusInput { previous: Some(&again), now: at(99), ..input }), &again);
            if let Some(before) = &previous {
                prop_assert!(Phase::of(before).is_none_or(|old| !old.is_terminal() || Some(old) == phase));
                for (old, new) in before.container_statuses.iter().flatten().zip(status.container_statuses.iter().flatten()) {
                    prop_assert!(new.restart_count >= old.restart_count);
                }
            }
            let done = terminated(&pod, &status, at(second));
            prop_assert!(Phase::of(&done).is_some_and(Phase::is_terminal));
            previous = Some(status);
        }
    }
}
