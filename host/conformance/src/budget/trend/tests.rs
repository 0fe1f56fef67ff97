//! Growth is distinguished from what was taken once.

use super::*;

const PAGE: f64 = 65_536.0;

fn numbers(memory: impl Fn(usize) -> f64) -> Vec<f64> {
    (0..200).map(memory).collect()
}

#[test]
fn what_grows_with_each_call_is_reported_and_what_was_taken_once_is_not() {
    let leaks = numbers(|call| 17.0 * PAGE + call as f64 * PAGE);
    assert_eq!(growth(&leaks), Some(PAGE));
    // A page every fourth call is a line with steps.
    let slowly = numbers(|call| 17.0 * PAGE + (call / 4) as f64 * PAGE);
    assert!(growth(&slowly).is_some_and(|slope| (slope - PAGE / 4.0).abs() < PAGE / 40.0));
    let replaced = numbers(|call| 17.0 * PAGE + (call % 90) as f64 * 2.0 * PAGE);
    assert_eq!(growth(&replaced), Some(2.0 * PAGE));
    for (name, steady) in [
        ("steady", numbers(|_| 17.0 * PAGE)),
        ("filled at first", numbers(|call| PAGE * call.min(50) as f64)),
        ("a step in the second half", numbers(|call| if call < 160 { PAGE } else { 2.0 * PAGE })),
        ("up and down", numbers(|call| PAGE * (call % 3) as f64)),
    ] {
        assert_eq!(growth(&steady), None, "{name}");
    }
    assert_eq!(growth(&[]), None);
    assert_eq!(growth(&[1.0]), None);
}

#[test]
fn quantiles_are_numbers_that_were_measured() {
    let numbers: Vec<f64> = (1..=100).rev().map(f64::from).collect();
    assert_eq!(quantile(&numbers, 0.0), 1.0);
    assert_eq!(quantile(&numbers, 0.5), 51.0);
    assert_eq!(quantile(&numbers, 0.99), 99.0);
    assert_eq!(quantile(&numbers, 1.0), 100.0);
    assert_eq!(quantile(&[], 0.5), 0.0);
}
