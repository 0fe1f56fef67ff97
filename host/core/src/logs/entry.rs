//! A line of a log in the CRI's format: `<time> <stream> <tags> <text>`.

use jiff::Timestamp;

#[cfg(test)]
mod tests;

/// Digits of a second's fraction in the times that are shown.
const FRACTION_DIGITS: usize = 9;

/// Which of its streams a process wrote to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogStream {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
}

/// What one line of a log says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogEntry<'a> {
    /// When it was written.
    pub at: Timestamp,
    /// The same as the runtime wrote it, with its time zone.
    pub stamp: &'a str,
    /// Where to.
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
        let at = stamp.parse().ok()?;
        let first_tag = tags.split(|byte| *byte == b':').next()?;
        Some(Self { at, stamp, stream, text, ends_line: is_whole && first_tag != b"P" })
    }

    /// The time as it is shown before a line: as the runtime wrote it, always with nine digits of a second's fraction.
    pub fn shown_time(&self) -> String {
        let clock = self.stamp.find(['T', 't']).unwrap_or(0);
        let zone = self.stamp[clock..].find(['Z', 'z', '+', '-']).map_or(self.stamp.len(), |at| clock + at);
        let (time, zone) = self.stamp.split_at(zone);
        let (seconds, fraction) = time.split_once('.').unwrap_or((time, ""));
        let fraction = fraction.get(..FRACTION_DIGITS).unwrap_or(fraction);
        format!("{seconds}.{fraction:0<FRACTION_DIGITS$}{zone}")
    }
}
