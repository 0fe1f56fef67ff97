//! Guests on the asynchronous engine: what they are given, what they take, and how they end.

mod node;
mod probes;
mod probes_v0_2;
mod sources;
mod sources_v0_2;
mod versions;

use std::time::Duration;

use super::functions::{CheckParameters, Function as _, Poll, Validate};
use super::plugin::{TimeoutCause, more_time, overtime};
use super::{CPU_MIN, cpu_limit, slots};
use crate::limits::StaticNeeds;
use crate::role::Role;

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
        ((1000, 0, 0), TimeoutCause::Waited),
        ((1000, 499, 499), TimeoutCause::Waited),
        ((1000, 1000, 250), TimeoutCause::Computed),
        ((1000, 1000, 990), TimeoutCause::Computed),
        ((1000, 1000, 249), TimeoutCause::Crowded),
        ((1000, 500, 10), TimeoutCause::Crowded),
    ];
    for ((time, runnable, cpu), expected) in cases {
        let [time, runnable, cpu] = [time, runnable, cpu].map(Duration::from_millis);
        assert_eq!(overtime(time, runnable, cpu), expected, "{time:?} {runnable:?} {cpu:?}");
    }
}

#[test]
fn a_guest_that_others_keep_from_computing_has_four_times_its_time() {
    let cases = [
        // Milliseconds beyond a second that it may have and had, what it did, and how many it has then.
        ((3000, 0, TimeoutCause::Crowded), Some(250)),
        ((3000, 2750, TimeoutCause::Crowded), Some(3000)),
        ((3000, 3000, TimeoutCause::Crowded), None),
        ((400, 250, TimeoutCause::Crowded), Some(400)),
        ((3000, 0, TimeoutCause::Computed), None),
        ((3000, 0, TimeoutCause::Waited), None),
        ((0, 0, TimeoutCause::Crowded), None),
    ];
    for ((most, more, did), expected) in cases {
        let [most, more] = [most, more].map(Duration::from_millis);
        let longer = more_time(most, Duration::from_secs(1), more, did);
        assert_eq!(longer, expected.map(Duration::from_millis), "{most:?} {more:?} {did:?}");
    }
}

#[test]
fn a_call_goes_on_beyond_its_time_where_its_answer_is_not_too_late() {
    let check = |probe_time| CheckParameters { parameters: "null".into(), probe_time };
    let second = Duration::from_secs(1);
    assert_eq!(Validate(Role::Probe).beyond(second), second * 3);
    assert_eq!(Validate(Role::PodSource).beyond(second), second * 3);
    assert_eq!(Poll(None).beyond(second), second * 3);
    // The probe that waits for it would be late.
    for (probe_time, expected) in [(0, 0), (1, 0), (2, 1), (4, 3), (300, 3)] {
        assert_eq!(check(second * probe_time).beyond(second), second * expected, "{probe_time}");
    }
}
