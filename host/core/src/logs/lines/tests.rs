//! Bytes in pieces of any size.

use super::*;
use crate::logs::LogRequest;

const LOG: &str = "2024-01-01T00:00:00Z stdout F one\nno entry\n2024-01-01T00:00:01Z stderr P tw\n\
                   2024-01-01T00:00:02Z stderr F o\n2024-01-01T00:00:03Z stdout F three\n2024-01-01T00:00:04Z stdout F end";

fn lines(request: &LogRequest) -> LogLines {
    LogLines::new(LogFilter::new(request, "2024-01-01T00:00:30Z".parse().unwrap()))
}

fn shown(request: &LogRequest, piece: usize) -> String {
    let mut lines = lines(request);
    let mut shown: Vec<u8> = LOG.as_bytes().chunks(piece).flat_map(|part| lines.take(part)).collect();
    shown.extend(lines.rest().unwrap_or_default());
    String::from_utf8(shown).unwrap()
}

#[test]
fn pieces_of_any_size_show_the_same() {
    let all = LogRequest::default();
    let cases = [
        (all.clone(), "one\ntwo\nthree\nend"),
        (LogRequest { limit_bytes: Some(6), ..all.clone() }, "one\ntw"),
        (LogRequest { limit_bytes: Some(4), ..all.clone() }, "one\n"),
        (LogRequest { since_seconds: Some(28), ..all }, "o\nthree\nend"),
    ];
    for (request, expected) in cases {
        for piece in 1..=LOG.len() {
            assert_eq!(shown(&request, piece), expected, "{request:?} in pieces of {piece} bytes");
        }
    }
}

#[test]
fn a_line_that_is_too_long_is_dropped_and_not_kept() {
    let mut lines = lines(&LogRequest::default());
    let piece = vec![b'x'; 64 * 1024];
    for _ in 0..=2 * LINE_BYTES_MAX / piece.len() {
        assert!(lines.take(&piece).is_empty());
    }
    assert!(lines.begun.capacity() <= 2 * LINE_BYTES_MAX);
    assert_eq!(lines.take(b"\n2024-01-01T00:00:00Z stdout F one\n"), b"one\n");
}

#[test]
fn another_file_begins_with_a_line_of_its_own() {
    let mut lines = lines(&LogRequest::default());
    lines.take(b"2024-01-01T00:00:00Z stdout F hal");
    lines.restart();
    assert_eq!(lines.take(b"2024-01-01T00:00:00Z stdout F one\n"), b"one\n");
    assert_eq!(lines.rest(), None);
}
