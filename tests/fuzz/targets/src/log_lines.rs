//! Logs in the CRI's format, in pieces of any size: `host/core`.

use jiff::Timestamp;
use witlet_core::logs::{LogEntry, LogFilter, LogLines, LogRequest};

use crate::{Target, pieces};

pub(crate) const TARGET: Target = Target {
    name: "log_lines",
    run,
    words: &[
        "2026-01-02T03:04:05.123456789Z stdout F ",
        "2026-01-02T03:04:05+02:00 stderr P ",
        " stdout F:a ",
        " stdin F ",
        "Z stdout",
        ".5",
        ",5",
        "T24:00:00Z",
        "-00:00",
        "+23:59",
        "2026-01-02T03:04Z",
        "20260102T030405Z",
        "[Europe/Berlin]",
        "+002026-01-02T",
        "-009999-",
        "z",
        "t",
        "tailLines=1&",
        "limitBytes=9&",
        "sinceSeconds=",
        "sinceTime=2026-01-02T03:04:05Z&",
        "timestamps=true&",
        "stream=Stderr&",
        "tail=all&",
        "follow=1",
    ],
};

fn now() -> Timestamp {
    Timestamp::from_second(1_770_000_000).expect("a time")
}

/// The first line is the query, the rest the log.
fn run(data: &[u8]) {
    let (query, log) = data.split_at(data.iter().position(|byte| *byte == b'\n').map_or(0, |end| end + 1));
    log.split_inclusive(|byte| *byte == b'\n').for_each(check_line);
    let request = LogRequest::from_query(&pairs(query)).unwrap_or_default();
    let whole = shown(&request, [log]);
    assert_eq!(whole, shown(&request, pieces(log)), "where pieces end changes nothing");
    if let Some(limit) = request.limit_bytes {
        assert!(whole.len() as u64 <= limit, "{} bytes of {limit}", whole.len());
    }
    // Each line gives its text, and a time at most.
    assert!(whole.len() <= 3 * log.len() + 64);
}

fn pairs(query: &[u8]) -> Vec<(String, String)> {
    let query = String::from_utf8_lossy(query);
    let pairs = query.trim_end().split('&').map(|pair| pair.split_once('=').unwrap_or((pair, "")));
    pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}

fn shown<'a>(request: &LogRequest, pieces: impl IntoIterator<Item = &'a [u8]>) -> Vec<u8> {
    let mut lines = LogLines::new(LogFilter::new(request, now()));
    let mut shown: Vec<u8> = Vec::new();
    for piece in pieces {
        shown.extend(lines.take(piece));
    }
    shown.extend(lines.rest().unwrap_or_default());
    shown
}

/// The time that is shown is the time that was read, in the one form of upstream; a line that is written again is the same.
fn check_line(line: &[u8]) {
    let Some(entry) = LogEntry::parse(line) else { return };
    let time = entry.shown_time();
    assert_eq!(time.parse::<Timestamp>().ok(), Some(entry.at), "{} is shown as {time}", entry.stamp);
    let (date, rest) = time.split_at_checked(19).unwrap_or((&time, ""));
    let form: String = date.chars().map(|c| if c.is_ascii_digit() { '0' } else { c }).collect();
    assert_eq!(form, "0000-00-00T00:00:00", "{} is shown as {time}", entry.stamp);
    let fraction = rest.strip_prefix('.').and_then(|rest| rest.get(..9));
    assert!(fraction.is_some_and(|digits| digits.bytes().all(|digit| digit.is_ascii_digit())), "{time}");
    let mut again = format!(
        "{} {} {} ",
        entry.stamp,
        if entry.stream == witlet_core::logs::LogStream::Stdout { "stdout" } else { "stderr" },
        if entry.ends_line { "F" } else { "P" }
    )
    .into_bytes();
    again.extend_from_slice(entry.text);
    again.push(b'\n');
    assert_eq!(LogEntry::parse(&again), Some(entry));
}
