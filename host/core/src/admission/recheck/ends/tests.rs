//! What is saved of ends, and what becomes of it after a restart.

use super::*;
use crate::fixtures::at;

fn ended(seconds: &[i64]) -> RecheckEnds {
    let mut ends = RecheckEnds::default();
    seconds.iter().for_each(|second| ends.add(at(*second)));
    ends
}

#[test]
fn what_is_saved_is_read_again_with_how_long_ago_it_was() {
    let ends = RecheckEnds::decode(&ended(&[0, 5, 70]).encode()).expect("it is what was written");
    assert_eq!(ends, ended(&[0, 5, 70]));
    let seconds = |now| ends.ages(at(now)).iter().map(Duration::as_secs).collect::<Vec<_>>();
    assert_eq!(seconds(100), [100, 95, 30]);
    assert_eq!(seconds(60), [60, 55, 0], "the clock was set back");
    assert!(
        RecheckEnds::decode(&RecheckEnds::default().encode()).is_ok_and(|none| none.ages(at(0)).is_empty())
    );
}

#[test]
fn what_no_interval_reaches_and_what_is_too_much_is_forgotten() {
    let day = 24 * 3600;
    assert_eq!(ended(&[0, 1, day]), ended(&[1, day]));
    let many: Vec<i64> = (0..5000).collect();
    let kept = ended(&many);
    assert_eq!(kept.ages(at(4999)).len(), ENDS_MAX);
    assert_eq!(kept.ages(at(4999)).last(), Some(&Duration::ZERO), "the newest ones are kept");
    let written = Saved { version: VERSION, ends: many.iter().map(|second| at(*second)).collect() };
    let written = serde_json::to_vec(&written).expect("JSON");
    assert_eq!(RecheckEnds::decode(&written).expect("it has the form"), kept);
}

#[test]
fn what_is_something_else_is_named() {
    for (bytes, words) in [
        ("", "expected a list of times"),
        ("{}", "expected a list of times"),
        (r#"{"version":1,"ends":["soon"]}"#, "expected a list of times"),
        (r#"{"version":2,"ends":[]}"#, "unsupported version 2, expected 1"),
    ] {
        let error = RecheckEnds::decode(bytes.as_bytes()).expect_err(words);
        assert_eq!(error.to_string(), words);
    }
}
