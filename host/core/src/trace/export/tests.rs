//! Delays between tries, and what is tried again.

use super::*;

#[test]
fn delays_double_up_to_their_bound() {
    let seconds: Vec<u64> =
        [0, 1, 2, 3, 4, 5, 6, 7, 40, u32::MAX].map(|failures| delay(failures, 0.0).as_secs()).into();
    assert_eq!(seconds, [1, 1, 2, 4, 8, 16, 30, 30, 30, 30]);
    assert_eq!(delay(1, 0.5), Duration::from_millis(1_250));
    assert!(delay(u32::MAX, 1.0) <= DELAY_MAX * 3 / 2);
}

#[test]
fn what_passes_by_itself_is_tried_again() {
    let again: Vec<i32> = (0..=16).filter(|code| may_retry(*code)).collect();
    assert_eq!(again, [1, 4, 10, 11, 14, 15]);
}
