//! Guests on the asynchronous engine: what they are given, what they take, and how they end.

mod node;
mod probes;
mod sources;
mod versions;

use std::time::Duration;

use super::plugin::{Overtime, more_time, overtime};
use super::{CPU_MIN, cpu_limit, slots};
use crate::limits::StaticNeeds;

#[test]
fn a_call_may_compute_for_half_of_its_time() {
    let cases = [(0, CPU_MIN.as_millis()), (50, 50), (100, 50), (200, 100), (1000, 500), (30_000, 15_000)];
    for (time, expected) in cases {
        assert_eq!(cpu_limit(Duration::from_millis(time)).as_millis(), expected, "{time}");
    }
}

#[test]
fn an_instance_takes_as_many_slots_as_it_needs() {
    for ((memories, tables), expected) in
        [((0, 0), 1), ((1, 0), 1), ((1, 4), 1), ((1, 5), 2), ((1, 16), 4), ((3, 2), 3)]
    {
        let needs = StaticNeeds { memories, tables, ..StaticNeeds::default() };
        assert_eq!(slots(&needs), expected, "{memories} {tables}");
    }
}

#[test]
fn who_computed_who_waited_and_who_had_no_turn_are_distinguished() {
    let cases = [
        // Time, runnable, processor time.
        ((1000, 0, 0), Overtime::Waited),
        ((1000, 499, 499), Overtime::Waited),
        ((1000, 1000, 250), Overtime::Computed),
        ((1000, 1000, 990), Overtime::Computed),
        ((1000, 1000, 249), Overtime::Crowded),
        ((1000, 500, 10), Overtime::Crowded),
    ];
    for ((time, runnable, cpu), expected) in cases {
        let [time, runnable, cpu] = [time, runnable, cpu].map(Duration::from_millis);
        assert_eq!(overtime(time, runnable, cpu), expected, "{time:?} {runnable:?} {cpu:?}");
    }
}

#[test]
fn a_guest_that_others_keep_from_computing_has_four_times_its_time() {
    let cases = [
        // Whether it may, milliseconds beyond a second that it had, what it did, and how many it has then.
        ((true, 0, Overtime::Crowded), Some(250)),
        ((true, 2750, Overtime::Crowded), Some(3000)),
        ((true, 3000, Overtime::Crowded), None),
        ((true, 0, Overtime::Computed), None),
        ((true, 0, Overtime::Waited), None),
        ((false, 0, Overtime::Crowded), None),
    ];
    for ((prolongs, more, did), expected) in cases {
        let longer = more_time(prolongs, Duration::from_secs(1), Duration::from_millis(more), did);
        assert_eq!(longer, expected.map(Duration::from_millis), "{prolongs} {more} {did:?}");
    }
}
