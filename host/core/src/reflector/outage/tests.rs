//! Reports in tables.

use super::*;

fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// The seconds at which reports came until `end`.
fn reports(outage: &mut Outage, end: u64) -> Vec<u64> {
    let mut said = Vec::new();
    while let Some(next) = outage.next_report().filter(|next| *next < seconds(end)) {
        assert_eq!(outage.report(next - seconds(1)), None, "none before its time");
        said.push(outage.report(next).expect("it is due").as_secs());
    }
    said
}

#[test]
fn an_outage_is_reported_after_a_minute_and_then_less_and_less_often() {
    let mut outage = Outage::begin(seconds(0));
    assert_eq!(reports(&mut outage, 7000), [60, 180, 420, 900, 1860, 3660, 5460]);
}

#[test]
fn what_is_read_in_time_is_not_reported_and_a_new_outage_begins_again() {
    let mut outage = Outage::begin(seconds(0));
    outage.failed(seconds(30));
    assert!(!outage.ended(), "it was never reported");
    assert_eq!(outage.next_report(), None);
    assert_eq!(outage.report(seconds(1000)), None);
    outage.failed(seconds(1000));
    outage.failed(seconds(1050));
    assert_eq!(reports(&mut outage, 1200), [60, 180]);
    assert!(outage.ended(), "it was reported");
    assert!(!outage.ended(), "that is reported once");
}
