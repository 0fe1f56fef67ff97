//! Tables of the runtime's health and the node's Ready condition.

use witlet_core::runtime::RuntimeCondition;

use super::*;

const MAX: Duration = Duration::from_secs(180);

fn status(runtime: bool, network: bool) -> Result<RuntimeStatus, String> {
    let condition = |kind: &str, status| RuntimeCondition {
        kind: kind.into(),
        status,
        reason: "R".into(),
        message: "m".into(),
    };
    let conditions = vec![condition("RuntimeReady", runtime), condition("NetworkReady", network)];
    Ok(RuntimeStatus { conditions, ..RuntimeStatus::default() })
}

#[test]
fn the_runtime_is_well_if_it_says_so_and_is_listed_often_enough() {
    let fresh = Some(Duration::from_secs(1));
    let cases = [
        (status(true, true), fresh, vec![], None),
        (status(true, true), Some(MAX), vec![], None),
        (status(true, false), fresh, vec![], Some("NetworkReady=false reason:R message:m")),
        (
            status(false, true),
            fresh,
            vec!["container runtime not ready: RuntimeReady=false reason:R message:m"],
            None,
        ),
        (Err("no answer".to_owned()), fresh, vec!["container runtime is down: no answer"], None),
        (status(true, true), None, vec!["PLEG is not healthy: pleg has yet to be successful"], None),
        (
            status(true, true),
            Some(Duration::from_secs(181)),
            vec!["PLEG is not healthy: pleg was last seen active 181s ago; threshold is 180s"],
            None,
        ),
        (
            Ok(RuntimeStatus::default()),
            fresh,
            vec!["container runtime not ready: RuntimeReady: the runtime doesn't report it"],
            Some("NetworkReady: the runtime doesn't report it"),
        ),
    ];
    for (status, age, errors, network) in cases {
        let health = assess(&"fake".into(), status.clone(), age, MAX);
        assert_eq!(health.errors, errors, "{status:?} {age:?}");
        assert_eq!(health.network.as_deref(), network, "{status:?} {age:?}");
        assert_eq!(health.is_ready(), errors.is_empty());
    }
}

#[test]
fn the_ready_condition_keeps_the_time_of_its_last_change_and_other_conditions() {
    let at = |seconds| Timestamp::from_second(seconds).expect("a small number of seconds is a timestamp");
    let well = Health { errors: Vec::new(), network: None, runtime_name: "fake".into(), handlers: [].into() };
    let ill = Health { network: Some("down".into()), ..well.clone() };
    let mut facts = Node::default();
    let other =
        NodeCondition { type_: "DiskPressure".into(), status: "False".into(), ..NodeCondition::default() };
    facts.status.get_or_insert_default().conditions = Some(vec![other]);
    let mut shown = Node::default();
    let mut lines = Vec::new();
    for (second, health) in [(1, &ill), (2, &well), (3, &well), (4, &ill), (5, &ill)] {
        shown = node_with_ready(&facts, health, &shown, at(second));
        let condition = ready(&shown).expect("the condition is there");
        let since = condition.last_transition_time.as_ref().map(|time| time.0.as_second());
        lines.push(format!("{} {} {since:?}", condition.status, condition.reason.as_deref().unwrap_or("")));
        let conditions = shown.status.as_ref().and_then(|status| status.conditions.as_ref());
        assert_eq!(conditions.map(Vec::len), Some(2));
    }
    assert_eq!(
        lines,
        [
            "False KubeletNotReady Some(1)",
            "True KubeletReady Some(2)",
            "True KubeletReady Some(2)",
            "False KubeletNotReady Some(4)",
            "False KubeletNotReady Some(4)",
        ]
    );
}

#[test]
fn one_problem_is_told_as_it_is_and_several_in_brackets() {
    let health = |errors: &[&str], network: Option<&str>| Health {
        errors: errors.iter().map(|error| (*error).to_owned()).collect(),
        network: network.map(str::to_owned),
        ..Health::unknown()
    };
    let cases = [
        (health(&["a"], None), "a"),
        (health(&[], Some("n")), "container runtime network not ready: n"),
        (health(&["a"], Some("n")), "[a, container runtime network not ready: n]"),
    ];
    for (health, expected) in cases {
        let node = node_with_ready(&Node::default(), &health, &Node::default(), Timestamp::UNIX_EPOCH);
        assert_eq!(ready(&node).and_then(|ready| ready.message.as_deref()), Some(expected));
    }
}

#[test]
fn the_runtimes_handlers_are_told() {
    let handlers =
        [RuntimeHandler { name: "kata".into(), user_namespaces: true, ..RuntimeHandler::default() }];
    let health = Health { handlers: handlers.into(), ..Health::unknown() };
    let told = |health: &Health| {
        let node = node_with_ready(&Node::default(), health, &Node::default(), Timestamp::UNIX_EPOCH);
        serde_json::to_value(node.status.and_then(|status| status.runtime_handlers)).expect("JSON")
    };
    let features = serde_json::json!({"recursiveReadOnlyMounts": false, "userNamespaces": true});
    assert_eq!(told(&health), serde_json::json!([{"name": "kata", "features": features}]));
    assert_eq!(told(&Health::unknown()), serde_json::Value::Null);
}
