//! Moments and spans of time.

use jiff::civil::DateTime;
use jiff::tz::Offset;
use jiff::{SignedDuration, Timestamp};

use super::call::{Call, Function, Outcome};
use crate::value::{Value, is_in_range};

/// Units of a span, longer names first where one begins with another.
const UNITS: &[(&str, i128)] = &[
    ("h", 3_600_000_000_000),
    ("ms", 1_000_000),
    ("m", 60_000_000_000),
    ("s", 1_000_000_000),
    ("us", 1_000),
    ("µs", 1_000),
    ("μs", 1_000),
    ("ns", 1),
];

const OF_TIMESTAMP: &[&str] = &["timestamp.() int", "timestamp.(string) int"];
const OF_BOTH: &[&str] = &["timestamp.() int", "timestamp.(string) int", "duration.() int"];

pub(super) const FUNCTIONS: &[Function] = &[
    Function { name: "getFullYear", run: part, signatures: OF_TIMESTAMP },
    Function { name: "getMonth", run: part, signatures: OF_TIMESTAMP },
    Function { name: "getDate", run: part, signatures: OF_TIMESTAMP },
    Function { name: "getDayOfMonth", run: part, signatures: OF_TIMESTAMP },
    Function { name: "getDayOfWeek", run: part, signatures: OF_TIMESTAMP },
    Function { name: "getDayOfYear", run: part, signatures: OF_TIMESTAMP },
    Function { name: "getHours", run: part, signatures: OF_BOTH },
    Function { name: "getMinutes", run: part, signatures: OF_BOTH },
    Function { name: "getSeconds", run: part, signatures: OF_BOTH },
    Function { name: "getMilliseconds", run: part, signatures: OF_BOTH },
];

/// Reads a span such as `1h30m` or `-1.5s`, in nanoseconds.
pub fn parse_duration(text: &str) -> Option<i64> {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    if unsigned == "0" {
        return Some(0);
    }
    let mut rest = unsigned;
    let mut nanos: i128 = 0;
    while !rest.is_empty() || unsigned.is_empty() {
        let end = rest.find(|letter: char| !letter.is_ascii_digit() && letter != '.')?;
        let (number, after) = rest.split_at(end);
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        let (name, unit) = UNITS.iter().find(|(name, _)| after.starts_with(name))?;
        if number.len() > 40 || whole.is_empty() && fraction.is_empty() || fraction.contains('.') {
            return None;
        }
        let whole: i128 = if whole.is_empty() { 0 } else { whole.parse().ok()? };
        let fraction = &fraction[..fraction.len().min(18)];
        let part: i128 = if fraction.is_empty() { 0 } else { fraction.parse().ok()? };
        let digits = 10_i128.pow(u32::try_from(fraction.len()).unwrap_or(0));
        nanos = nanos.checked_add(whole.checked_mul(*unit)?)?.checked_add(part * unit / digits)?;
        rest = &after[name.len()..];
    }
    i64::try_from(if text.starts_with('-') { -nanos } else { nanos }).ok()
}

pub(super) fn duration(call: &Call<'_>) -> Outcome {
    call.converts()?;
    match call.args {
        [Value::Duration(nanos)] => Ok(Value::Duration(*nanos)),
        [Value::String(text)] => parse_duration(text).map(Value::Duration).ok_or_else(|| {
            let shown: String = text.chars().take(40).collect();
            format!("{shown:?} is no duration: it is written like 1h30m or 500ms").into()
        }),
        _ => call.unfit(),
    }
}

pub(super) fn timestamp(call: &Call<'_>) -> Outcome {
    call.converts()?;
    let moment = match call.args {
        [Value::Timestamp(moment)] => Some(*moment),
        [Value::Int(seconds)] => Timestamp::from_second(*seconds).ok(),
        [Value::String(text)] => {
            return parse_timestamp(text).map(Value::Timestamp).ok_or_else(|| {
                let shown: String = text.chars().take(40).collect();
                format!("{shown:?} is no timestamp: it is written like 2026-01-02T03:04:05Z").into()
            });
        }
        _ => return call.unfit(),
    };
    match moment.filter(is_in_range) {
        Some(moment) => Ok(Value::Timestamp(moment)),
        None => Err("the timestamp is out of range".into()),
    }
}

/// Reads a moment as RFC 3339 has it, which is stricter than the library that computes with it.
fn parse_timestamp(text: &str) -> Option<Timestamp> {
    let form: String =
        text.chars().map(|letter| if letter.is_ascii_digit() { '0' } else { letter }).collect();
    let behind = form.strip_prefix("0000-00-00T00:00:00")?;
    let behind = behind.strip_prefix('.').map_or(behind, |fraction| fraction.trim_start_matches('0'));
    if !matches!(behind, "Z" | "+00:00" | "-00:00") || form.ends_with('.') {
        return None;
    }
    // The library takes a leap second for the one before it.
    if text.get(17..19) == Some("60") {
        return None;
    }
    let moment: Timestamp = text.parse().ok()?;
    is_in_range(&moment).then_some(moment)
}

/// `UTC`, `Z`, or a distance such as `+02:00` or `-08:00`.
fn offset(zone: &str) -> Option<Offset> {
    if matches!(zone, "" | "UTC" | "Z" | "Etc/UTC") {
        return Some(Offset::UTC);
    }
    let (is_west, rest) = match zone.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, zone.strip_prefix('+').unwrap_or(zone)),
    };
    let (hours, minutes) = rest.split_once(':')?;
    let is_plain = |text: &str| text.len() == 2 && text.bytes().all(|digit| digit.is_ascii_digit());
    if !is_plain(hours) || !is_plain(minutes) {
        return None;
    }
    let seconds =
        hours.parse::<i32>().ok()? * 3600 + minutes.parse::<i32>().ok().filter(|minutes| *minutes < 60)? * 60;
    Offset::from_seconds(if is_west { -seconds } else { seconds }).ok()
}

fn part(call: &Call<'_>) -> Outcome {
    call.converts()?;
    let (moment, zone) = match call.args {
        [Value::Duration(nanos)] => return part_of_duration(call, *nanos),
        [Value::Timestamp(moment)] => (moment, Offset::UTC),
        [Value::Timestamp(moment), Value::String(zone)] => match offset(zone) {
            Some(offset) => (moment, offset),
            None => {
                let shown: String = zone.chars().take(40).collect();
                return Err(
                    format!("{shown:?} is no time zone here: UTC, or a distance such as +02:00").into()
                );
            }
        },
        _ => return call.unfit(),
    };
    let there: DateTime = zone.to_datetime(*moment);
    let number = match call.name {
        "getFullYear" => i64::from(there.year()),
        "getMonth" => i64::from(there.month()) - 1,
        "getDate" => i64::from(there.day()),
        "getDayOfMonth" => i64::from(there.day()) - 1,
        "getDayOfWeek" => i64::from(there.weekday().to_sunday_zero_offset()),
        "getDayOfYear" => i64::from(there.day_of_year()) - 1,
        "getHours" => i64::from(there.hour()),
        "getMinutes" => i64::from(there.minute()),
        "getSeconds" => i64::from(there.second()),
        _ => i64::from(there.millisecond()),
    };
    Ok(Value::Int(number))
}

fn part_of_duration(call: &Call<'_>, nanos: i64) -> Outcome {
    let span = SignedDuration::from_nanos(nanos);
    Ok(Value::Int(match call.name {
        "getHours" => span.as_secs() / 3600,
        "getMinutes" => span.as_secs() / 60,
        "getSeconds" => span.as_secs(),
        // The whole of it, as with the others.
        "getMilliseconds" => nanos / 1_000_000,
        _ => return call.unfit(),
    }))
}
