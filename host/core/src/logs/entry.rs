//! A line of a log in the CRI's format: `<time> <stream> <tags> <text>`.

use jiff::Timestamp;

#[cfg(test)]
mod tests;

/// Digits of a second's fraction in the times that are shown.
const FRACTION_DIGITS: usize = 9;

/// Which of its streams a process wrote to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogStream {
    Stdout,
    Stderr,
}

/// What one line of a log says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogEntry<'a> {
    /// When it was written.
    pub at: Timestamp,
    /// The same as the runtime wrote it, with its time zone.
    pub stamp: &'a str,
    pub stream: LogStream,
    /// The text without an end of line.
    pub text: &'a [u8],
    /// Whether the process ended a line here; not so for a part of a long line (tag `P`).
    pub ends_line: bool,
}

impl<'a> LogEntry<'a> {
    /// Reads a line, with or without its end. None if it isn't in the format.
    ///
    /// A line without its end was cut off: the process's line doesn't end there either.
    pub fn parse(line: &'a [u8]) -> Option<Self> {
        let (line, is_whole) = line.strip_suffix(b"\n").map_or((line, false), |line| (line, true));
        let mut parts = line.splitn(4, |byte| *byte == b' ');
        let (stamp, stream, tags) = (parts.next()?, parts.next()?, parts.next()?);
        let text = parts.next()?;
        let stream = match stream {
            b"stdout" => LogStream::Stdout,
            b"stderr" => LogStream::Stderr,
            _ => return None,
        };
        let stamp = std::str::from_utf8(stamp).ok()?;
        let at = is_rfc3339(stamp).then(|| stamp.parse().ok()).flatten()?;
        let first_tag = tags.split(|byte| *byte == b':').next()?;
        Some(Self { at, stamp, stream, text, ends_line: is_whole && first_tag != b"P" })
    }

    /// The time as it is shown before a line: as the runtime wrote it, always with a point and nine digits of a second's fraction.
    pub fn shown_time(&self) -> String {
        let clock = self.stamp.find('T').unwrap_or(0);
        let zone = self.stamp[clock..].find(['Z', '+', '-']).map_or(self.stamp.len(), |at| clock + at);
        let (time, zone) = self.stamp.split_at(zone);
        let (seconds, fraction) = time.split_once(['.', ',']).unwrap_or((time, ""));
        let fraction = fraction.get(..FRACTION_DIGITS).unwrap_or(fraction);
        format!("{seconds}.{fraction:0<FRACTION_DIGITS$}{zone}")
    }
}

/// Whether a time has the one form that upstream reads, Go's `RFC3339Nano`. The parser takes more of ISO 8601, which couldn't be shown
/// in that form.
pub(super) fn is_rfc3339(stamp: &str) -> bool {
    const CLOCK: &[u8] = b"0000-00-00T00:00:00";
    let fits = |text: &[u8], form: &[u8]| {
        text.len() == form.len()
            && text.iter().zip(form).all(|(byte, form)| match form {
                b'0' => byte.is_ascii_digit(),
                form => byte == form,
            })
    };
    let Some((clock, rest)) = stamp.as_bytes().split_at_checked(CLOCK.len()) else { return false };
    let zone = match rest.split_first() {
        Some((b'.' | b',', rest)) => {
            let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
            if digits == 0 {
                return false;
            }
            &rest[digits..]
        }
        _ => rest,
    };
    let is_zone = match zone {
        b"Z" => true,
        [b'+' | b'-', offset @ ..] => fits(offset, b"00:00"),
        _ => false,
    };
    // A leap second, which Go doesn't know.
    let is_leap = clock[CLOCK.len() - 2] == b'6';
    fits(clock, CLOCK) && !is_leap && is_zone
}
