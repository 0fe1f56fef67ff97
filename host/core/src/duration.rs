//! Durations as Go writes them: `1m30s`, `300ms`, `0`, `-1s`.

use std::time::Duration;

/// Nanoseconds that Go's durations reach, either way.
const NANOSECONDS_MAX: i128 = i64::MAX as i128;

/// Go's units, in nanoseconds.
const UNITS: &[(&str, i128)] = &[
    ("ns", 1),
    ("us", 1_000),
    ("µs", 1_000),
    ("μs", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("m", 60_000_000_000),
    ("h", 3_600_000_000_000),
];

/// Digits of a fraction that count; more are finer than a nanosecond of an hour.
const FRACTION_DIGITS_MAX: usize = 18;

/// Nanoseconds of a duration; none if it isn't one (Go's `time.ParseDuration`).
pub fn nanoseconds(text: &str) -> Option<i64> {
    let (negative, mut rest) = match text.as_bytes().first()? {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        _ => (false, text),
    };
    if rest == "0" {
        return Some(0);
    }
    let mut sum: i128 = 0;
    // A sign alone is no duration.
    if rest.is_empty() {
        return None;
    }
    while !rest.is_empty() {
        let number = rest.find(|char: char| !char.is_ascii_digit() && char != '.')?;
        let (digits, after) = rest.split_at(number);
        let unit = after.find(|char: char| char.is_ascii_digit() || char == '.').unwrap_or(after.len());
        let (unit, after) = after.split_at(unit);
        let (_, scale) = UNITS.iter().find(|(name, _)| *name == unit)?;
        sum = sum.checked_add(scaled(digits, *scale)?).filter(|sum| *sum <= NANOSECONDS_MAX)?;
        rest = after;
    }
    let signed = if negative { -sum } else { sum };
    i64::try_from(signed).ok()
}

/// `1.5` times a unit, cut to whole nanoseconds.
fn scaled(digits: &str, scale: i128) -> Option<i128> {
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    if whole.is_empty() && fraction.is_empty() || fraction.contains('.') {
        return None;
    }
    let whole: i128 = if whole.is_empty() { 0 } else { whole.parse().ok()? };
    let fraction = &fraction[..fraction.len().min(FRACTION_DIGITS_MAX)];
    let part: i128 = if fraction.is_empty() { 0 } else { fraction.parse().ok()? };
    let parts = 10_i128.checked_pow(u32::try_from(fraction.len()).ok()?)?;
    whole.checked_mul(scale)?.checked_add(part.checked_mul(scale)? / parts)
}

/// A duration that isn't negative.
pub fn parse(text: &str) -> Option<Duration> {
    u64::try_from(nanoseconds(text)?).ok().map(Duration::from_nanos)
}

#[cfg(test)]
mod tests {
    //! Go's own cases, and what it refuses.

    use super::*;

    #[test]
    fn durations_are_read_as_go_reads_them() {
        const SECOND: i64 = 1_000_000_000;
        let cases = [
            ("0", Some(0)),
            ("0s", Some(0)),
            ("5s", Some(5 * SECOND)),
            ("+5s", Some(5 * SECOND)),
            ("-5s", Some(-5 * SECOND)),
            ("1m0s", Some(60 * SECOND)),
            ("4h0m0s", Some(14_400 * SECOND)),
            ("1.5h", Some(5_400 * SECOND)),
            (".5s", Some(SECOND / 2)),
            ("1.s", Some(SECOND)),
            ("300ms", Some(300_000_000)),
            ("100us", Some(100_000)),
            ("100µs", Some(100_000)),
            ("2ns", Some(2)),
            ("0.3333333333333333333h", Some(1_199_999_999_999)),
            ("9223372036854775807ns", Some(i64::MAX)),
            ("9223372036854775808ns", None),
            ("3000000h", None),
            ("", None),
            ("3", None),
            ("-", None),
            ("s", None),
            (".", None),
            (".s", None),
            ("1.2.3s", None),
            ("1d", None),
            ("1 s", None),
            ("1sx", None),
            ("é1s", None),
        ];
        for (text, expected) in cases {
            assert_eq!(nanoseconds(text), expected, "{text:?}");
        }
    }

    #[test]
    fn a_negative_duration_is_none_where_time_can_only_pass() {
        assert_eq!(parse("-1s"), None);
        assert_eq!(parse("1m"), Some(Duration::from_secs(60)));
    }
}
