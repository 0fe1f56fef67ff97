//! Tests of the parent module.

use super::*;

#[test]
fn a_plugin_that_writes_without_end_is_held_to_its_rate_and_reported_of_once_a_minute() {
    let (start, mut rate) = (Instant::now(), Rate::default());
    let (mut written, mut reported) = (0, Vec::new());
    // A thousand lines a second, for two minutes.
    for millisecond in 0..120_000 {
        match rate.take(start + Duration::from_millis(millisecond)) {
            LineDecision::Written { left_out } => {
                written += 1;
                reported.extend(left_out.map(|left_out| (millisecond / 1000, left_out)));
            }
            LineDecision::LeftOut => {}
        }
    }
    assert_eq!(written, 12_000 + u64::from(BURST) - 1);
    let seconds: Vec<u64> = reported.iter().map(|(second, _)| *second).collect();
    assert_eq!(seconds, [0, 60], "{reported:?}");
}

#[test]
fn a_quiet_plugin_may_write_much_at_once_and_then_again() {
    let (start, mut rate) = (Instant::now(), Rate::default());
    for pause in [0, 10] {
        let now = start + Duration::from_secs(pause);
        let written = (0..1000).filter(|_| rate.take(now) != LineDecision::LeftOut).count();
        assert_eq!(written, 640);
    }
}
