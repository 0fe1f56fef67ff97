//! Days, times and offsets in plain numbers.

/// Seconds of a day.
pub(crate) const DAY: i64 = 86_400;

/// The farthest offset that is in use anywhere (Kiribati).
const OFFSET_SECONDS_MAX: i64 = 14 * 3_600;

/// Seconds since midnight of `HH:MM`, up to `24:00`.
pub(crate) fn time_of_day(text: &str) -> Option<i64> {
    let (hours, minutes) = two_numbers(text)?;
    let seconds = hours * 3_600 + minutes * 60;
    (minutes < 60 && seconds <= DAY).then_some(seconds)
}

/// Seconds east of UTC: `Z`, `+02:00`, `-03:30`.
pub(crate) fn offset_seconds(text: &str) -> Option<i64> {
    if text == "Z" {
        return Some(0);
    }
    let sign = match text.as_bytes().first()? {
        b'+' => 1,
        b'-' => -1,
        _ => return None,
    };
    let (hours, minutes) = two_numbers(text.get(1..)?)?;
    let seconds = hours * 3_600 + minutes * 60;
    (minutes < 60 && seconds <= OFFSET_SECONDS_MAX).then_some(sign * seconds)
}

/// Two digits, a colon, two digits.
fn two_numbers(text: &str) -> Option<(i64, i64)> {
    let &[a, b, b':', c, d] = text.as_bytes() else { return None };
    let digit = |byte: u8| byte.is_ascii_digit().then(|| i64::from(byte - b'0'));
    Some((digit(a)? * 10 + digit(b)?, digit(c)? * 10 + digit(d)?))
}

/// Day of the week of a day since 1970-01-01, which was a Thursday; 0 is Monday.
pub(crate) fn weekday(day: i64) -> usize {
    usize::try_from((day + 3).rem_euclid(7)).unwrap_or_default()
}

/// A moment at an offset, as RFC 3339 has it, without fractions.
pub(crate) fn rfc3339(seconds: i64, offset: i64) -> String {
    let local = seconds.saturating_add(offset);
    let (year, month, day) = date(local.div_euclid(DAY));
    let time = local.rem_euclid(DAY);
    let (hours, minutes, seconds) = (time / 3_600, time / 60 % 60, time % 60);
    let zone = match offset {
        0 => "Z".to_owned(),
        _ => {
            let sign = if offset < 0 { '-' } else { '+' };
            format!("{sign}{:02}:{:02}", offset.abs() / 3_600, offset.abs() / 60 % 60)
        }
    };
    format!("{year:04}-{month:02}-{day:02}T{hours:02}:{minutes:02}:{seconds:02}{zone}")
}

/// Year, month and day of a day since 1970-01-01 in the Gregorian calendar: eras of 400 years that begin in March, so that
/// a leap day is the last of its year.
fn date(day: i64) -> (i64, i64, i64) {
    let shifted = day.saturating_add(719_468);
    let (era, of_era) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let from_march = (5 * of_year + 2) / 153;
    let day = of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    (year, month, day)
}

#[cfg(test)]
mod tests;
