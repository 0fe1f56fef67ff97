//! The words of conditions, and when they change.

use super::*;

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).expect("a small number of seconds is a timestamp")
}

fn shown(conditions: &[NodeCondition]) -> Vec<String> {
    let second = |time: &Option<Time>| time.as_ref().map(|time| time.0.as_second());
    let line = |c: &NodeCondition| {
        format!(
            "{} {} {} {:?} {:?}",
            c.type_,
            c.status,
            c.reason.as_deref().unwrap_or("-"),
            second(&c.last_heartbeat_time),
            second(&c.last_transition_time)
        )
    };
    conditions.iter().map(line).collect()
}

#[test]
fn conditions_are_made_once_and_keep_the_time_of_their_last_change() {
    let mut all = vec![NodeCondition {
        type_: "NetworkUnavailable".into(),
        status: "False".into(),
        ..NodeCondition::default()
    }];
    let well = Pressures { memory: Some(false), disk: Some(false), pid: Some(false) };
    let events = set_pressures(&mut all, well, at(1));
    assert_eq!(events, ["NodeHasSufficientMemory", "NodeHasNoDiskPressure", "NodeHasSufficientPID"]);
    let short = Pressures { memory: Some(true), disk: None, pid: Some(true) };
    let events = set_pressures(&mut all, short, at(2));
    assert_eq!(events, ["NodeHasInsufficientMemory", "NodeHasInsufficientPID"]);
    assert!(set_pressures(&mut all, short, at(3)).is_empty());
    assert_eq!(
        shown(&all),
        [
            "NetworkUnavailable False - None None",
            "MemoryPressure True KubeletHasInsufficientMemory Some(3) Some(2)",
            "DiskPressure False KubeletHasNoDiskPressure Some(3) Some(1)",
            "PIDPressure True KubeletHasInsufficientPID Some(3) Some(2)",
        ]
    );
    let messages: Vec<_> = all.iter().filter_map(|c| c.message.as_deref()).collect();
    assert_eq!(
        messages,
        [
            "kubelet has insufficient memory available",
            "kubelet has no disk pressure",
            "kubelet has insufficient PID available"
        ]
    );
}

#[test]
fn what_nothing_is_known_of_stays_unless_it_says_unknown() {
    let condition = |status: &str| NodeCondition {
        type_: "DiskPressure".into(),
        status: status.into(),
        reason: Some("Before".into()),
        ..NodeCondition::default()
    };
    for (before, after, reason) in [
        ("True", "True", "Before"),
        ("False", "False", "Before"),
        ("Unknown", "False", "KubeletHasNoDiskPressure"),
    ] {
        let mut all = vec![condition(before)];
        set_pressures(&mut all, Pressures::default(), at(5));
        assert_eq!((all[0].status.as_str(), all[0].reason.as_deref()), (after, Some(reason)), "{before}");
    }
}

#[test]
fn the_ready_condition_goes_last_and_keeps_its_time_while_its_status_does() {
    let ready = |status: &str| NodeCondition {
        type_: READY.into(),
        status: status.into(),
        reason: Some("R".into()),
        ..NodeCondition::default()
    };
    let mut all = Vec::new();
    set_pressures(&mut all, Pressures::default(), at(1));
    for (second, status) in [(1, "False"), (2, "True"), (3, "True"), (4, "False")] {
        set_shown(&mut all, &ready(status), at(second));
    }
    assert_eq!(shown(&all).last().map(String::as_str), Some("Ready False R Some(4) Some(4)"));
    set_shown(&mut all, &ready("False"), at(9));
    assert_eq!(shown(&all).last().map(String::as_str), Some("Ready False R Some(9) Some(4)"));
    assert_eq!(all.len(), 4);
}

#[test]
fn a_restart_of_the_agent_doesnt_make_a_ready_node_unready() {
    let condition = |status: &str| NodeCondition {
        type_: READY.into(),
        status: status.into(),
        ..NodeCondition::default()
    };
    let node = |status: &str| {
        let mut node = Node::default();
        node.status.get_or_insert_default().conditions = Some(vec![condition(status)]);
        node
    };
    let cases = [
        (None, None, false, Some("False")),
        (Some("False"), None, false, Some("False")),
        (None, Some("False"), false, Some("False")),
        (None, Some("Unknown"), false, Some("False")),
        (Some("False"), Some("True"), false, None),
        (Some("True"), Some("True"), false, Some("True")),
        (Some("False"), Some("True"), true, Some("False")),
        (None, Some("True"), true, Some("False")),
    ];
    for (shown, existing, has_read, expected) in cases {
        let (shown, existing) = (shown.map(condition), existing.map(node));
        let reported = ready_to_tell(shown.as_ref(), existing.as_ref(), has_read);
        assert_eq!(
            reported.map(|reported| reported.status).as_deref(),
            expected,
            "{shown:?} {existing:?} {has_read}"
        );
    }
}

#[test]
fn an_unreadable_source_is_reported_and_taken_back_and_never_mentioned_where_none_was() {
    let of = |all: &[NodeCondition]| {
        let reported = all.iter().find(|condition| condition.type_ == SOURCE_UNREADABLE);
        reported.map(|reported| {
            (reported.status.clone(), reported.last_transition_time.clone().map(|time| time.0))
        })
    };
    let mut all = Vec::new();
    set_source(&mut all, None, at(1));
    assert!(all.is_empty());
    let unread = UnreadSource { source: "api".to_owned(), since: at(2), error: String::new() };
    let shown = source_unreadable(&[unread]).expect("one can't be read");
    let message = format!("pods of source \"api\" have been unreadable since {}: no answer", at(2));
    assert_eq!(shown.message.as_deref(), Some(message.as_str()));
    for second in [3, 4] {
        set_source(&mut all, Some(&shown), at(second));
        assert_eq!(of(&all), Some(("True".to_owned(), Some(at(3)))));
    }
    for second in [5, 6] {
        set_source(&mut all, None, at(second));
        assert_eq!(of(&all), Some(("False".to_owned(), Some(at(5)))));
    }
    assert_eq!(source_unreadable(&[]), None);
}

#[test]
fn plugins_that_are_not_loaded_are_shown_until_they_are_or_none_is_configured() {
    let of = |all: &[NodeCondition]| {
        let shown = all.iter().find(|condition| condition.type_ == PLUGINS_READY)?;
        Some((shown.status.clone(), shown.reason.clone()?, shown.message.clone()?))
    };
    let state = |status: &str, reason: &str, message: &str| {
        Some((status.to_owned(), reason.to_owned(), message.to_owned()))
    };
    let mut all = Vec::new();
    set_plugins(&mut all, None, at(1));
    assert_eq!(of(&all), None, "a node without plugins never mentions them");
    set_plugins(&mut all, Some(&plugins_ready(&["a".to_owned(), "b".to_owned()])), at(2));
    assert_eq!(of(&all), state("False", "PluginsNotLoaded", "a; b"));
    set_plugins(&mut all, Some(&plugins_ready(&[])), at(3));
    assert_eq!(of(&all), state("True", "PluginsLoaded", "all configured plugins are loaded"));
    set_plugins(&mut all, Some(&plugins_ready(&["a".to_owned()])), at(4));
    set_plugins(&mut all, None, at(5));
    assert_eq!(of(&all), state("True", "PluginsLoaded", "no plugins are configured"));
    let long = plugins_ready(&["ä".repeat(3000)]).message.expect("it has one");
    assert!(long.len() <= 2048 && long.ends_with('…'), "{} bytes", long.len());
}

#[test]
fn handlers_see_the_pressures_that_the_agent_decided_on() {
    let mut agent = Node::default();
    let facts = Arc::new(NodeFacts::default());
    assert_eq!(with_pressures(&facts, &agent), facts, "nothing was decided yet");
    let pressures = Pressures { memory: Some(true), disk: Some(false), pid: Some(false) };
    let conditions = agent.status.get_or_insert_default().conditions.get_or_insert_default();
    set_pressures(conditions, pressures, at(1));
    conditions.push(not_ready("x".to_owned()));
    assert_eq!(pressures_of(&agent), pressures);
    let seen = with_pressures(&facts, &agent);
    assert_eq!(pressures_of(&seen.node), pressures);
    assert!(ready(&seen.node).is_none());
    assert_eq!(with_pressures(&seen, &agent), seen, "nothing is there twice");
}
