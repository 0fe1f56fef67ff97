//! Times, offsets and dates that are known from elsewhere.

use super::*;

#[test]
fn times_of_day_have_two_digits_each() {
    for (text, expected) in [
        ("00:00", Some(0)),
        ("06:30", Some(23_400)),
        ("23:59", Some(86_340)),
        ("24:00", Some(DAY)),
        ("24:01", None),
        ("12:60", None),
        ("6:30", None),
        ("06:3", None),
        ("+6:30", None),
        ("06:30:00", None),
        ("é6:30", None),
        ("", None),
    ] {
        assert_eq!(time_of_day(text), expected, "{text:?}");
    }
}

#[test]
fn offsets_are_within_fourteen_hours() {
    for (text, expected) in [
        ("Z", Some(0)),
        ("+00:00", Some(0)),
        ("+02:00", Some(7_200)),
        ("-03:30", Some(-12_600)),
        ("+14:00", Some(50_400)),
        ("+14:01", None),
        ("-15:00", None),
        ("02:00", None),
        ("+2:00", None),
        ("+02:60", None),
        ("z", None),
        ("+", None),
        ("", None),
        ("é", None),
    ] {
        assert_eq!(offset_seconds(text), expected, "{text:?}");
    }
}

#[test]
fn moments_are_written_as_people_know_them() {
    for (seconds, offset, expected) in [
        (0, 0, "1970-01-01T00:00:00Z"),
        (951_782_400, 0, "2000-02-29T00:00:00Z"),
        (1_772_323_199, 0, "2026-02-28T23:59:59Z"),
        (1_772_323_200, 0, "2026-03-01T00:00:00Z"),
        (1_772_323_200, 7_200, "2026-03-01T02:00:00+02:00"),
        (1_772_323_200, -12_600, "2026-02-28T20:30:00-03:30"),
        (-1, 0, "1969-12-31T23:59:59Z"),
    ] {
        assert_eq!(rfc3339(seconds, offset), expected);
    }
}

#[test]
fn the_first_day_was_a_thursday() {
    assert_eq!([-4, -3, 0, 3, 4, 20_513].map(weekday), [6, 0, 3, 6, 0, 6], "2026-03-01 is a Sunday");
}
