//! What of a log is shown.

use super::*;

const LOG: &[&str] = &[
    "2024-01-01T00:00:00Z stdout F one\n",
    "2024-01-01T00:00:10.5Z stderr P tw\n",
    "2024-01-01T00:00:11Z stderr F o\n",
    "no entry\n",
    "2024-01-01T00:00:20Z stdout F three\n",
];

fn shown(request: &LogRequest) -> (String, bool) {
    let mut filter = LogFilter::new(request, "2024-01-01T00:00:30Z".parse().unwrap());
    let mut shown = Vec::new();
    for line in LOG {
        if filter.take(line.as_bytes(), &mut shown) == FilterProgress::Full {
            return (String::from_utf8(shown).unwrap(), true);
        }
    }
    (String::from_utf8(shown).unwrap(), false)
}

#[test]
fn a_reader_is_shown_what_it_asked_for() {
    let all = LogRequest::default();
    let since = |seconds| LogRequest { since_seconds: Some(seconds), ..all.clone() };
    let of = |stream| LogRequest { stream: Some(stream), ..all.clone() };
    let cases = [
        ("all", all.clone(), "one\ntwo\nthree\n", false),
        ("since", since(10), "three\n", false),
        ("since, to the second", since(30), "one\ntwo\nthree\n", false),
        ("since, in a line", since(19), "o\nthree\n", false),
        ("stdout", of(LogStream::Stdout), "one\nthree\n", false),
        ("stderr", of(LogStream::Stderr), "two\n", false),
        ("limit in a line", LogRequest { limit_bytes: Some(6), ..all.clone() }, "one\ntw", true),
        ("limit at an end", LogRequest { limit_bytes: Some(4), ..all.clone() }, "one\n", true),
        (
            "limit beyond the end",
            LogRequest { limit_bytes: Some(100), ..all.clone() },
            "one\ntwo\nthree\n",
            false,
        ),
        (
            "times, once for a line in parts",
            LogRequest { timestamps: true, ..all.clone() },
            "2024-01-01T00:00:00.000000000Z one\n2024-01-01T00:00:10.500000000Z two\n\
             2024-01-01T00:00:20.000000000Z three\n",
            false,
        ),
        (
            "the limit counts times",
            LogRequest { timestamps: true, limit_bytes: Some(33), ..all.clone() },
            "2024-01-01T00:00:00.000000000Z on",
            true,
        ),
    ];
    for (name, request, expected, full) in cases {
        assert_eq!(shown(&request), (expected.to_owned(), full), "{name}");
    }
}

#[test]
fn the_later_of_two_beginnings_counts() {
    let request = LogRequest {
        since_seconds: Some(30),
        since_time: Some("2024-01-01T00:00:15Z".parse().unwrap()),
        ..LogRequest::default()
    };
    assert_eq!(shown(&request).0, "three\n");
}
