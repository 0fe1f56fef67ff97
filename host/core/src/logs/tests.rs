//! Tests of when logs are rotated and what is kept.

use super::*;

use ContainerRunState::{Created, Exited, Running, Unknown};

#[test]
fn only_a_running_containers_log_is_touched_and_only_when_it_is_full_or_gone() {
    for (state, size, expected) in [
        (Running, Some(9), LogStep::Leave),
        (Running, Some(10), LogStep::Rotate),
        (Running, Some(11), LogStep::Rotate),
        (Running, Some(0), LogStep::Leave),
        (Running, None, LogStep::Reopen),
        (Exited, Some(11), LogStep::Leave),
        (Exited, None, LogStep::Leave),
        (Created, Some(11), LogStep::Leave),
        (Unknown, Some(11), LogStep::Leave),
    ] {
        assert_eq!(log_step(state, size, 10), expected, "{state:?} {size:?}");
    }
}

/// The names, what is removed, what is packed.
fn check(files_max: usize, names: &[&str], remove: &[&str], pack: &[&str]) {
    let rotation = rotation("0.log", names.iter().copied(), files_max);
    let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    assert_eq!(rotation, Rotation { remove: owned(remove), pack: owned(pack) }, "{files_max} {names:?}");
}

#[test]
fn leftovers_of_an_interrupted_rotation_are_removed_first() {
    check(
        9,
        &[
            "0.log.11111111-111111.gz",
            "0.log",
            "0.log.19880620-000000",
            "0.log.19880620-000000.gz",
            "0.log.20180101-000000",
            "0.log.20180101-000000.tmp",
        ],
        &["0.log.19880620-000000", "0.log.20180101-000000.tmp"],
        &["0.log.20180101-000000"],
    );
    // Half-packed: both the temporary file and the packed one are there.
    check(5, &["0.log.1", "0.log.1.gz", "0.log.1.gz.tmp"], &["0.log.1", "0.log.1.gz.tmp"], &[]);
}

#[test]
fn the_oldest_are_removed_until_the_live_one_and_its_successor_fit() {
    let names = ["0.log.3", "0.log.1", "0.log.2", "0.log.4"];
    check(2, &names, &["0.log.1", "0.log.2", "0.log.3", "0.log.4"], &[]);
    check(3, &names, &["0.log.1", "0.log.2", "0.log.3"], &["0.log.4"]);
    check(6, &names, &[], &["0.log.1", "0.log.2", "0.log.3", "0.log.4"]);
    // Fewer than two can't be: the live one is moved away, and a new one begins.
    check(0, &names, &["0.log.1", "0.log.2", "0.log.3", "0.log.4"], &[]);
}

#[test]
fn what_is_packed_is_not_packed_again() {
    check(5, &["0.log.1.gz", "0.log.2.gz", "0.log.3"], &[], &["0.log.3"]);
    check(5, &["0.log.1.gz", "0.log.2.gz", "0.log.3.gz", "0.log.4"], &["0.log.1.gz"], &["0.log.4"]);
}

#[test]
fn other_logs_of_the_container_are_left_alone() {
    check(2, &["0.log", "10.log", "10.log.1", "1.log.1", "0.logs", "x", "", "0.lo"], &[], &[]);
}

#[test]
fn names_of_rotated_logs_sort_by_time() {
    let at = |text: &str| rotated_name("0.log", text.parse().unwrap());
    assert_eq!(at("2026-01-02T03:04:05.9Z"), "0.log.20260102-030405");
    assert!(at("2026-09-30T23:59:59Z") < at("2026-10-01T00:00:00Z"));
}

#[test]
fn a_logs_name_tells_how_often_its_container_had_restarted() {
    let cases = [
        ("0.log", Some(0)),
        ("12.log", Some(12)),
        ("7.log.20260102-030405", Some(7)),
        ("7.log.20260102-030405.gz", Some(7)),
        ("3.logs", None),
        ("log", None),
        (".log", None),
        ("x.log", None),
        ("-1.log", None),
        ("+1.log", None),
        ("4294967296.log", None),
        ("", None),
    ];
    for (name, expected) in cases {
        assert_eq!(restart_count(name), expected, "{name:?}");
    }
}
