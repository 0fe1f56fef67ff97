//! The start of the process.

use witlet_core::stats::exposition::written;

use super::*;

#[test]
fn the_start_has_fractions_and_is_left_out_if_it_is_not_known() {
    let shown = |at| written(|to| write_start(to, at)).expect("it is small");
    let text = shown(Timestamp::from_millisecond(1_790_000_000_250).ok());
    assert!(text.ends_with("\nprocess_start_time_seconds 1790000000.25\n"), "{text}");
    assert_eq!(shown(None), "");
}
