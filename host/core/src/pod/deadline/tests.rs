//! Tests of the deadline.

use super::*;
use crate::fixtures::{at, pod, spec};

fn with_deadline(seconds: Option<i64>) -> Pod {
    let mut pod = pod("Always", &["a"]);
    spec(&mut pod).active_deadline_seconds = seconds;
    pod
}

#[test]
fn a_pod_is_over_its_deadline_from_the_second_on_that_it_names() {
    let cases = [
        ("no deadline", None, Some(at(0)), 1_000_000, false),
        ("not started", Some(30), None, 1_000_000, false),
        ("before", Some(30), Some(at(0)), 29, false),
        ("at it", Some(30), Some(at(0)), 30, true),
        ("after", Some(30), Some(at(0)), 31, true),
        ("a start that lies ahead", Some(30), Some(at(100)), 50, false),
        ("further off than times go", Some(i64::MAX), Some(at(0)), 1_000_000, false),
    ];
    for (name, seconds, started_at, now, expected) in cases {
        assert_eq!(is_over(&with_deadline(seconds), started_at, at(now)), expected, "{name}");
    }
}

#[test]
fn the_pod_is_checked_again_when_its_time_is_over() {
    assert_eq!(of(&with_deadline(Some(30)), at(5)), Some(at(35)));
    assert_eq!(of(&with_deadline(None), at(5)), None);
    assert_eq!(of(&Pod::default(), at(5)), None);
}
