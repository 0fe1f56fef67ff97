//! The Ready condition, pressures and handlers from one publication to the next.

use expect_test::{Expect, expect};

use super::*;
use crate::fixtures::at;

const SHORT: Pressures = Pressures { memory: Some(true), disk: Some(false), pid: None };
const WELL: Pressures = Pressures { memory: Some(false), disk: Some(false), pid: None };

/// Publishes at the seconds 1, 2, … with these problems and pressures.
fn check(rounds: &[(&[&str], Option<Pressures>)], expected: Expect) {
    let (mut before, mut lines) = (Node::default(), String::new());
    for (second, (problems, pressures)) in (1..).zip(rounds) {
        let problems: Vec<String> = problems.iter().map(|problem| (*problem).to_owned()).collect();
        let PublishedNode { node, readiness, pressures } = publish(NodeInput {
            machine: &Node::default(),
            before: &before,
            problems: &problems,
            handlers: &[],
            pressures: *pressures,
            now: at(second),
        });
        let words =
            node.status.iter().flat_map(|status| status.conditions.iter().flatten()).map(|condition| {
                let since = condition
                    .last_transition_time
                    .as_ref()
                    .map(|time| time.0.as_second() - at(0).as_second());
                format!("{}={} since {}", condition.type_, condition.status, since.unwrap_or_default())
            });
        let events: Vec<&str> = readiness.into_iter().chain(pressures).collect();
        let events = if events.is_empty() { "-".to_owned() } else { events.join(" ") };
        lines += &format!("{} | {events}\n", words.collect::<Vec<_>>().join(", "));
        before = node;
    }
    expected.assert_eq(&lines);
}

#[test]
fn the_ready_condition_keeps_the_time_of_its_last_change() {
    let (ill, well): (&[&str], &[&str]) = (&["down"], &[]);
    check(
        &[(ill, None), (well, None), (well, None), (ill, None), (ill, None)],
        expect![[r#"
        Ready=False since 1 | -
        Ready=True since 2 | NodeReady
        Ready=True since 2 | -
        Ready=False since 4 | NodeNotReady
        Ready=False since 4 | -
    "#]],
    );
    check(
        &[(well, None)],
        expect![[r#"
        Ready=True since 1 | NodeReady
    "#]],
    );
}

#[test]
fn pressures_are_reported_when_they_change_and_keep_their_time() {
    check(
        &[(&[], None), (&[], Some(WELL)), (&[], Some(SHORT)), (&[], Some(SHORT)), (&[], Some(WELL))],
        expect![[r#"
            Ready=True since 1 | NodeReady
            Ready=True since 1, MemoryPressure=False since 2, DiskPressure=False since 2, PIDPressure=False since 2 | NodeHasSufficientMemory NodeHasNoDiskPressure NodeHasSufficientPID
            Ready=True since 1, MemoryPressure=True since 3, DiskPressure=False since 2, PIDPressure=False since 2 | NodeHasInsufficientMemory
            Ready=True since 1, MemoryPressure=True since 3, DiskPressure=False since 2, PIDPressure=False since 2 | -
            Ready=True since 1, MemoryPressure=False since 5, DiskPressure=False since 2, PIDPressure=False since 2 | NodeHasSufficientMemory
        "#]],
    );
}

#[test]
fn one_problem_is_written_as_it_is_and_several_in_brackets() {
    let message = |problems: &[&str]| {
        let problems: Vec<String> = problems.iter().map(|problem| (*problem).to_owned()).collect();
        ready(&problems).message.unwrap_or_default()
    };
    assert_eq!(message(&[]), "kubelet is posting ready status");
    assert_eq!(message(&["a"]), "a");
    assert_eq!(message(&["a", "b"]), "[a, b]");
}

#[test]
fn conditions_and_handlers_of_the_machine_and_the_runtime_are_published() {
    let mut machine = Node::default();
    let other = NodeCondition { type_: "Other".into(), status: "False".into(), ..NodeCondition::default() };
    machine.status.get_or_insert_default().conditions = Some(vec![other.clone()]);
    let handlers =
        [RuntimeHandler { name: "kata".into(), user_namespaces: true, ..RuntimeHandler::default() }];
    let published = |handlers: &[RuntimeHandler]| {
        let (before, now) = (Node::default(), at(1));
        let input =
            NodeInput { machine: &machine, before: &before, problems: &[], handlers, pressures: None, now };
        publish(input).node.status.unwrap_or_default()
    };
    let features = serde_json::json!({"recursiveReadOnlyMounts": false, "userNamespaces": true});
    let json = |handlers| serde_json::to_value(published(handlers).runtime_handlers).expect("JSON");
    assert_eq!(json(&handlers), serde_json::json!([{"name": "kata", "features": features}]));
    assert_eq!(json(&[]), serde_json::Value::Null);
    assert_eq!(published(&[]).conditions.unwrap_or_default().first(), Some(&other));
}
