//! A late answer is the plugin's, but for what a busy machine is the reason of.

use std::cell::Cell;
use std::time::Duration;

use super::*;

#[test]
fn what_computes_for_too_long_is_late_and_what_waited_for_its_turn_is_not() {
    let limit = Duration::from_millis(100);
    let asked =
        |result, cpu| CallReport { cpu: Some(Duration::from_millis(cpu)), ..CallReport::unmeasured(result) };
    assert!(!is_late(&asked(Ok(()), 3), limit));
    assert!(is_late(&asked(Ok(()), 300), limit));
    assert!(is_late(&asked(Err(CallError::Timeout { limit: UNHURRIED }), 50), limit));
    assert!(!is_late(&asked(Err(CallError::StackOverflow), 50), limit));
}

#[tokio::test]
async fn only_what_says_nothing_is_done_again_and_not_for_ever() {
    let calls = Cell::new(0);
    let call = async || calls.replace(calls.get() + 1);
    assert_eq!(until_its_turn(call, |call| *call < 2).await, 2);
    calls.set(0);
    assert_eq!(until_its_turn(call, |_| true).await, TURNS_MAX - 1);
    calls.set(0);
    assert_eq!(until_its_turn(call, |_| false).await, 0);
}
