//! Timeouts of checkpoints.

use super::*;

#[test]
fn the_last_timeout_counts() {
    let seconds = |seconds| Ok(Some(Duration::from_secs(seconds)));
    /// Values of the parameter, and what they come to.
    type Case = (&'static [&'static str], Result<Option<Duration>, TimeoutError>);
    let cases: [Case; 8] = [
        (&[], Ok(None)),
        (&["0"], seconds(0)),
        (&["300"], seconds(300)),
        (&["x", "300"], seconds(300)),
        (&["300", "x"], Err(TimeoutError::Unreadable)),
        (&[""], Err(TimeoutError::Unreadable)),
        (&["-1"], Err(TimeoutError::Negative)),
        (&["9223372036854775807"], seconds(SECONDS_MAX)),
    ];
    for (values, expected) in cases {
        let query: Vec<_> = values.iter().map(|value| ("timeout".to_owned(), (*value).to_owned())).collect();
        assert_eq!(timeout(&query), expected, "{values:?}");
    }
}
