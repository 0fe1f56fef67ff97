//! Durations of flags.

use super::*;

#[test]
fn intervals_have_bounds() {
    for (text, expected) in [
        ("2s", Some(Duration::from_secs(2))),
        ("500ms", Some(Duration::from_millis(500))),
        ("1h", Some(Duration::from_hours(1))),
        ("499ms", None),
        ("1h1s", None),
        ("-2s", None),
        ("2", None),
        ("", None),
    ] {
        assert_eq!(interval(text).ok(), expected, "{text}");
    }
}

#[test]
fn since_is_rounded_up_to_seconds() {
    for (text, expected) in
        [("5m", Some(300)), ("1500ms", Some(2)), ("1ns", Some(1)), ("0", None), ("-1s", None), ("5", None)]
    {
        assert_eq!(since(text).ok(), expected, "{text}");
    }
}
