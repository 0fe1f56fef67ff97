//! Thresholds, pressures over time, and the words of conditions.

use super::*;

const GIB: u64 = 1 << 30;

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).expect("a small number of seconds is a timestamp")
}

fn left(available: u64, capacity: u64) -> Option<Left> {
    Some(Left { capacity, available })
}

fn memory() -> PressureMemory {
    PressureMemory::new(Thresholds::default(), PRESSURE_TRANSITION_PERIOD)
}

#[test]
fn a_reading_below_its_threshold_is_a_pressure() {
    let cases = [
        ("plenty", NodeReadings { memory: left(GIB, 8 * GIB), ..Default::default() }, (Some(false), None)),
        (
            "100Mi",
            NodeReadings { memory: left(100 << 20, 8 * GIB), ..Default::default() },
            (Some(false), None),
        ),
        (
            "a byte less",
            NodeReadings { memory: left((100 << 20) - 1, GIB), ..Default::default() },
            (Some(true), None),
        ),
        (
            "nodefs 10 %",
            NodeReadings { nodefs_bytes: left(10, 100), ..Default::default() },
            (None, Some(false)),
        ),
        ("nodefs 9 %", NodeReadings { nodefs_bytes: left(9, 100), ..Default::default() }, (None, Some(true))),
        (
            "inodes 4 %",
            NodeReadings { nodefs_inodes: left(4, 100), ..Default::default() },
            (None, Some(true)),
        ),
        (
            "imagefs 14 %",
            NodeReadings { imagefs_bytes: left(14, 100), ..Default::default() },
            (None, Some(true)),
        ),
        (
            "imagefs 15 %",
            NodeReadings { imagefs_bytes: left(15, 100), ..Default::default() },
            (None, Some(false)),
        ),
        (
            "its inodes 4 %",
            NodeReadings { imagefs_inodes: left(4, 100), ..Default::default() },
            (None, Some(true)),
        ),
        (
            "huge",
            NodeReadings { nodefs_bytes: left(u64::MAX, u64::MAX), ..Default::default() },
            (None, Some(false)),
        ),
        ("nothing read", NodeReadings::default(), (None, None)),
    ];
    for (name, readings, (memory_short, disk_short)) in cases {
        let seen = memory().observe(&readings, at(0));
        assert_eq!((seen.memory, seen.disk), (memory_short, disk_short), "{name}");
        assert_eq!(seen.pid, Some(false), "no threshold, no pressure: {name}");
    }
}

#[test]
fn a_pressure_stays_for_the_transition_period_after_it_was_seen_last() {
    let mut memory = memory();
    let short = NodeReadings { memory: left(1, GIB), ..Default::default() };
    let well = NodeReadings { memory: left(GIB, GIB), ..Default::default() };
    let story = [
        (0, &well, Some(false)),
        (10, &short, Some(true)),
        (20, &well, Some(true)),
        (30, &short, Some(true)),
        (329, &well, Some(true)),
        (330, &well, Some(false)),
        (340, &NodeReadings::default(), None),
        // The clock was set back to before the last pressure.
        (29, &well, Some(true)),
        (-300, &well, Some(false)),
    ];
    for (second, readings, expected) in story {
        assert_eq!(memory.observe(readings, at(second)).memory, expected, "at {second}");
    }
}

#[test]
fn thresholds_are_read_as_the_configuration_writes_them() {
    let parse = |pairs: &[(&str, &str)]| {
        let pairs = pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
        Thresholds::parse(&pairs.collect())
    };
    let known = [("memory.available", "200Mi"), ("nodefs.available", "7.5%"), ("pid.available", "1k")];
    assert_eq!(
        parse(&known),
        Ok(Thresholds {
            memory: Some(Threshold::Amount(200 << 20)),
            nodefs_bytes: Some(Threshold::Share(75_000)),
            pids: Some(Threshold::Amount(1000)),
            ..Thresholds::NONE
        })
    );
    for off in ["0%", "100%"] {
        assert_eq!(parse(&[("imagefs.available", off)]), Ok(Thresholds::NONE), "{off}");
    }
    assert_eq!(parse(&[("containerfs.available", "5%")]), Ok(Thresholds::NONE));
    assert_eq!(parse(&[("memory.free", "1")]), Err(ThresholdError::Signal("memory.free".to_owned())));
    for bad in ["", "x", "-1", "101%", "-1%", "%", "NaN%"] {
        assert!(parse(&[("memory.available", bad)]).is_err(), "{bad}");
    }
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
    for (shown, existing, has_looked, expected) in cases {
        let (shown, existing) = (shown.map(condition), existing.map(node));
        let told = ready_to_tell(shown.as_ref(), existing.as_ref(), has_looked);
        assert_eq!(told.map(|told| told.status).as_deref(), expected, "{shown:?} {existing:?} {has_looked}");
    }
}

#[test]
fn an_unreadable_source_is_told_and_taken_back_and_never_mentioned_where_none_was() {
    let of = |all: &[NodeCondition]| {
        let told = all.iter().find(|condition| condition.type_ == SOURCE_UNREADABLE);
        told.map(|told| (told.status.clone(), told.last_transition_time.clone().map(|time| time.0)))
    };
    let mut all = Vec::new();
    set_source(&mut all, None, at(1));
    assert!(all.is_empty());
    let unread = UnreadSource { source: "api".to_owned(), since: at(2), error: String::new() };
    let shown = source_unreadable(&[unread]).expect("one can't be read");
    let message = format!("pods of source \"api\" can't be read since {}: no answer", at(2));
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
