//! Tests of the diff: every pair of states, for containers and sandboxes.

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;
use crate::fixtures::at;

mod stories;

use crate::runtime::{ListedContainer, ListedSandbox};
use PlegEventKind::{ContainerChanged, ContainerDied, ContainerRemoved, ContainerStarted};

fn listed(containers: &[(&str, ContainerRunState)], sandboxes: &[(&str, SandboxState)]) -> RuntimePod {
    let containers = containers.iter().map(|(id, state)| ListedContainer {
        id: (*id).into(),
        name: "a".to_owned(),
        sandbox_id: "s".into(),
        state: *state,
        created_at: at(0),
    });
    let sandboxes = sandboxes.iter().map(|(id, state)| ListedSandbox {
        id: (*id).into(),
        attempt: 0,
        state: *state,
        created_at: at(0),
    });
    RuntimePod {
        uid: "uid-1".into(),
        name: "web".to_owned(),
        namespace: "ns".to_owned(),
        sandboxes: sandboxes.collect(),
        containers: containers.collect(),
    }
}

fn kinds(events: &[PlegEvent]) -> Vec<PlegEventKind> {
    events.iter().map(|event| event.kind).collect()
}

#[test]
fn each_pair_of_container_states_has_its_events() {
    use ContainerRunState::{Created, Exited, Running, Unknown};
    let cases: [(Option<ContainerRunState>, Option<ContainerRunState>, &[PlegEventKind]); 24] = [
        (None, Some(Created), &[ContainerChanged]),
        (None, Some(Running), &[ContainerStarted]),
        (None, Some(Exited), &[ContainerDied]),
        (None, Some(Unknown), &[ContainerChanged]),
        (Some(Created), Some(Created), &[]),
        (Some(Created), Some(Running), &[ContainerStarted]),
        (Some(Created), Some(Exited), &[ContainerDied]),
        (Some(Created), Some(Unknown), &[]),
        (Some(Created), None, &[ContainerDied, ContainerRemoved]),
        (Some(Running), Some(Created), &[ContainerChanged]),
        (Some(Running), Some(Running), &[]),
        (Some(Running), Some(Exited), &[ContainerDied]),
        (Some(Running), Some(Unknown), &[ContainerChanged]),
        (Some(Running), None, &[ContainerDied, ContainerRemoved]),
        (Some(Exited), Some(Created), &[ContainerChanged]),
        (Some(Exited), Some(Running), &[ContainerStarted]),
        (Some(Exited), Some(Exited), &[]),
        (Some(Exited), Some(Unknown), &[ContainerChanged]),
        (Some(Exited), None, &[ContainerRemoved]),
        (Some(Unknown), Some(Created), &[]),
        (Some(Unknown), Some(Running), &[ContainerStarted]),
        (Some(Unknown), Some(Exited), &[ContainerDied]),
        (Some(Unknown), Some(Unknown), &[]),
        (Some(Unknown), None, &[ContainerDied, ContainerRemoved]),
    ];
    for (old, new, expected) in cases {
        let list = |state: Option<ContainerRunState>| {
            let containers: Vec<_> = state.map(|state| ("c", state)).into_iter().collect();
            listed(&containers, &[])
        };
        let events = diff(Some(&list(old)), Some(&list(new)));
        assert_eq!(kinds(&events), expected, "{old:?} to {new:?}");
        assert!(events.iter().all(|event| event.subject == PlegSubject::Container("c".into())));
    }
}

#[test]
fn sandboxes_count_like_containers() {
    use SandboxState::{NotReady, Ready};
    let cases: [(Option<SandboxState>, Option<SandboxState>, &[PlegEventKind]); 8] = [
        (None, Some(Ready), &[ContainerStarted]),
        (None, Some(NotReady), &[ContainerDied]),
        (Some(Ready), Some(Ready), &[]),
        (Some(Ready), Some(NotReady), &[ContainerDied]),
        (Some(NotReady), Some(Ready), &[ContainerStarted]),
        (Some(NotReady), Some(NotReady), &[]),
        (Some(Ready), None, &[ContainerDied, ContainerRemoved]),
        (Some(NotReady), None, &[ContainerRemoved]),
    ];
    for (old, new, expected) in cases {
        let list = |state: Option<SandboxState>| {
            let sandboxes: Vec<_> = state.map(|state| ("s", state)).into_iter().collect();
            listed(&[], &sandboxes)
        };
        let events = diff(Some(&list(old)), Some(&list(new)));
        assert_eq!(kinds(&events), expected, "{old:?} to {new:?}");
        assert!(events.iter().all(|event| event.subject == PlegSubject::Sandbox("s".into())));
    }
}

#[test]
fn a_pod_that_came_or_went_as_a_whole_has_the_events_of_its_parts() {
    let pod = listed(&[("c", ContainerRunState::Running)], &[("s", SandboxState::Ready)]);
    assert_eq!(kinds(&diff(None, Some(&pod))), [ContainerStarted, ContainerStarted]);
    let gone = diff(Some(&pod), None);
    assert_eq!(kinds(&gone), [ContainerDied, ContainerRemoved, ContainerDied, ContainerRemoved]);
    assert!(gone.iter().all(|event| event.uid.as_str() == "uid-1"));
    assert_eq!(diff(None, None), []);
}

#[test]
fn only_a_removal_is_not_worth_a_sync() {
    let pod = listed(&[("c", ContainerRunState::Exited)], &[]);
    let removed = diff(Some(&pod), None);
    assert_eq!(removed.iter().map(PlegEvent::is_worth_a_sync).collect::<Vec<_>>(), [false]);
    assert!(diff(None, Some(&pod)).iter().all(PlegEvent::is_worth_a_sync));
    assert!(PlegEvent::pod_sync("uid-1".into()).is_worth_a_sync());
}

fn any_list() -> impl Strategy<Value = Option<RuntimePod>> {
    let state = prop_oneof![
        Just(ContainerRunState::Created),
        Just(ContainerRunState::Running),
        Just(ContainerRunState::Exited),
        Just(ContainerRunState::Unknown)
    ];
    let containers = prop::collection::btree_map(0..6u8, state, 0..6);
    prop::option::of(containers.prop_map(|containers| {
        let named: Vec<(String, ContainerRunState)> =
            containers.into_iter().map(|(id, state)| (format!("c{id}"), state)).collect();
        let borrowed: Vec<(&str, ContainerRunState)> =
            named.iter().map(|(id, state)| (id.as_str(), *state)).collect();
        listed(&borrowed, &[])
    }))
}

proptest! {
    #[test]
    fn nothing_changed_means_no_event(pod in any_list()) {
        prop_assert_eq!(diff(pod.as_ref(), pod.as_ref()), vec![]);
    }

    #[test]
    fn every_event_names_something_that_was_or_is_there(old in any_list(), new in any_list()) {
        let known: BTreeSet<PlegSubject> = old.iter().chain(&new)
            .flat_map(|pod| &pod.containers)
            .map(|container| PlegSubject::Container(container.id.clone()))
            .collect();
        let events = diff(old.as_ref(), new.as_ref());
        prop_assert!(events.iter().all(|event| known.contains(&event.subject)));
        prop_assert_eq!(events.len(), events.iter().collect::<BTreeSet<_>>().len());
    }
}
