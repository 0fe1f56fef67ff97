//! Tests of what unit tests see of numbers.

use super::{add, observe};
use crate::facts::metrics::METRICS_MAX;
use crate::facts::{Metric, take_metrics};

#[test]
fn numbers_are_there_in_their_order_once() {
    add("asked", &[], 1);
    observe("seconds", &[("registry", "docker.io")], 0.5);
    add("asked", &[], 2);
    let expected = [
        Metric::added("asked", &[], 1),
        Metric::observed("seconds", &[("registry", "docker.io")], 0.5),
        Metric::added("asked", &[], 2),
    ];
    assert_eq!(take_metrics(), expected);
    assert_eq!(take_metrics(), []);
}

#[test]
fn as_many_are_kept_as_a_test_needs() {
    for _ in 0..=METRICS_MAX {
        add("asked", &[], 1);
    }
    assert_eq!(take_metrics().len(), METRICS_MAX);
}
