//! A late answer is the plugin's, but for what a busy machine is the reason of.

use std::cell::Cell;
use std::time::Duration;

use super::*;

const LIMIT: Duration = Duration::from_millis(100);

fn asked(result: Answered, cpu: Option<u64>, runnable: Option<u64>) -> Asked<Answer> {
    let time = |milliseconds: Option<u64>| milliseconds.map(Duration::from_millis);
    Asked { cpu: time(cpu), runnable: time(runnable), ..Asked::unmeasured(result) }
}

#[test]
fn what_computed_is_late_and_what_waited_for_its_turn_is_not() {
    let late = || Err(CallError::Timeout { limit: LIMIT });
    for (asked, expected) in [
        (asked(Err(CallError::Busy), None, None), true),
        (asked(Err(CallError::Host), None, None), true),
        (asked(late(), Some(20), None), true),
        (asked(late(), Some(98), None), false),
        (asked(late(), None, None), false),
        // A probe type and a source may wait.
        (asked(late(), Some(1), Some(2)), false),
        (asked(Err(CallError::StackOverflow), Some(1), None), false),
        (asked(answered(Ok(())), Some(1), None), false),
    ] {
        assert_eq!(is_the_machines(&asked), expected, "{asked:?}");
    }
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
