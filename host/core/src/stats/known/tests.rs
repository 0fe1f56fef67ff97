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
