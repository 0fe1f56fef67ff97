//! Tables of ages.

use super::*;
use crate::stats::cgroup_usage::{MemoryUsage, PressureUsage, Stall, Stalls};

fn usage(at: i64) -> CgroupUsage {
    let memory = MemoryUsage { usage: Some(7), ..MemoryUsage::default() };
    CgroupUsage {
        at: time(at),
        cpu_nanoseconds: Some(5),
        memory: Some(memory),
        swap: None,
        pressure: PressureUsage::default(),
    }
}

fn time(milliseconds: i64) -> Timestamp {
    Timestamp::from_millisecond(1_790_000_000_000 + milliseconds).expect("a time")
}

#[test]
fn a_cgroup_is_read_by_the_age_of_its_figures() {
    // Read at 0; seen as it was at the first time, asked about at the second.
    for (seen, now, expected) in [
        (0, 0, Reading::Nothing),
        (0, 999, Reading::Nothing),
        (0, 1000, Reading::Activity),
        (59_500, 59_999, Reading::Nothing),
        (50_000, 59_999, Reading::Activity),
        (59_500, 60_000, Reading::Nothing),
        (50_000, 60_000, Reading::All),
        (0, -1, Reading::All),
    ] {
        assert_eq!(reading(&usage(seen), time(0), time(now)), expected, "{seen} {now}");
    }
}

#[test]
fn what_changes_by_itself_is_read_whole() {
    let unknown = CgroupUsage { cpu_nanoseconds: None, ..usage(0) };
    assert_eq!(reading(&unknown, time(0), time(5000)), Reading::All);
    let stalled = |stall: Stall| {
        let io = Some(Stalls { some: stall, ..Stalls::default() });
        CgroupUsage { pressure: PressureUsage { io, ..PressureUsage::default() }, ..usage(0) }
    };
    let falling = stalled(Stall { avg300: 0.01, ..Stall::default() });
    assert_eq!(reading(&falling, time(0), time(5000)), Reading::All);
    let over = stalled(Stall { total_nanoseconds: 9, ..Stall::default() });
    assert_eq!(reading(&over, time(0), time(5000)), Reading::Activity);
}

#[test]
fn a_cgroup_is_as_it_was_while_nothing_happens_in_the_one_above() {
    // The one above: when it was read, and when it was last seen to be as it was then. When the one below was seen, and now.
    for (read, above, below, now, expected) in [
        (0, 10_000, 5, 10_001, Some(10_000)),
        (0, 10_000, 0, 10_999, Some(10_000)),
        (0, 10_000, 10_000, 10_500, Some(10_000)),
        // It wasn't checked of late.
        (0, 10_000, 5, 11_000, None),
        // The one below was seen before all above was read: something may have happened in between.
        (6, 10_000, 5, 10_001, None),
        // And after: the one above isn't newer.
        (0, 10_000, 10_001, 10_500, None),
        // The clock was set back.
        (0, 10_000, 5, 9_999, None),
    ] {
        let found = unchanged_until(&usage(above), time(read), time(below), time(now));
        assert_eq!(found, expected.map(time), "{read} {above} {below} {now}");
    }
    let unknown = CgroupUsage { cpu_nanoseconds: None, ..usage(10_000) };
    assert_eq!(unchanged_until(&unknown, time(0), time(5), time(10_001)), None);
}

#[test]
fn limits_are_read_once_a_minute() {
    for (now, expected) in [(0, true), (59_999, true), (60_000, false), (-1, false)] {
        assert_eq!(limits_are_known(time(0), time(now)), expected, "{now}");
    }
}

#[test]
fn sockets_are_known_while_as_many_files_are_open() {
    let listed = ListedFiles { at: time(0), files: 9, sockets: 4 };
    for (files, now, expected) in [
        (9, 0, true),
        (9, 59_999, true),
        (9, 60_000, false),
        (9, -1, false),
        (8, 1, false),
        (10, 1, false),
        // A kernel before 6.2 doesn't say how many there are.
        (0, 1, false),
    ] {
        assert_eq!(sockets_are_known(listed, files, time(now)), expected, "{files} files at {now}");
    }
    let none = ListedFiles { files: 0, ..listed };
    assert!(!sockets_are_known(none, 0, time(0)), "the kernel doesn't say");
}

#[test]
fn processes_have_done_nothing_while_a_settled_cgroup_has_the_same_activity() {
    let known = usage(0);
    let [cpu_nanoseconds, memory] = [Some(5), Some(7)];
    for (activity, expected) in [
        (Activity { cpu_nanoseconds, memory }, true),
        (Activity { cpu_nanoseconds: Some(6), memory }, false),
        (Activity { cpu_nanoseconds, memory: Some(6) }, false),
        (Activity { cpu_nanoseconds: None, memory }, false),
    ] {
        assert_eq!(is_quiet(&known, activity), expected, "{activity:?}");
    }
    let unknown = CgroupUsage { cpu_nanoseconds: None, ..known };
    assert!(!is_quiet(&unknown, unknown.activity()));
    let waits = Stalls { some: Stall { avg10: 0.5, ..Stall::default() }, ..Stalls::default() };
    let waited = CgroupUsage { pressure: PressureUsage { cpu: Some(waits), ..known.pressure }, ..known };
    assert!(!is_quiet(&waited, waited.activity()));
    for (now, expected) in [(-1, false), (0, true), (599_999, true), (600_000, false)] {
        assert_eq!(quiet_figures_are_known(time(0), time(now)), expected, "{now}");
    }
}
