//! Lines in the format and next to it.

use super::*;

fn text(line: &str) -> Option<(LogStream, String, bool)> {
    let entry = LogEntry::parse(line.as_bytes())?;
    Some((entry.stream, String::from_utf8_lossy(entry.text).into_owned(), entry.ends_line))
}

#[test]
fn lines_are_read_as_upstream_reads_them() {
    use LogStream::{Stderr, Stdout};
    let cases = [
        ("2016-10-20T18:39:20.57606443Z stdout F a b  c\n", Some((Stdout, "a b  c", true))),
        ("2016-10-20T18:39:20Z stderr F error\n", Some((Stderr, "error", true))),
        ("2016-10-20T18:39:20.576+02:00 stdout P part\n", Some((Stdout, "part", false))),
        ("2016-10-20T18:39:20Z stdout P:TAG2 part\n", Some((Stdout, "part", false))),
        ("2016-10-20T18:39:20Z stdout F:P whole\n", Some((Stdout, "whole", true))),
        ("2016-10-20T18:39:20Z stdout F \n", Some((Stdout, "", true))),
        // Cut off by the end of the file.
        ("2016-10-20T18:39:20Z stdout F no en", Some((Stdout, "no en", false))),
        ("2016-10-20T18:39:20Z stdout F", None),
        ("2016-10-20T18:39:20Z stdin F text\n", None),
        ("2016-10-20 stdout F text\n", None),
        // ISO 8601 has more forms than the one that runtimes write.
        ("20161020T183920Z stdout F text\n", None),
        ("2016-10-20T18:39Z stdout F text\n", None),
        ("2016-10-20t18:39:20z stdout F text\n", None),
        ("+002016-10-20T18:39:20Z stdout F text\n", None),
        ("2016-10-20T18:39:20Z[UTC] stdout F text\n", None),
        ("2016-10-20T18:39:20+0200 stdout F text\n", None),
        ("2016-10-20T18:39:60Z stdout F text\n", None),
        ("2016-10-20T18:39:20.Z stdout F text\n", None),
        ("2016-10-20T18:39:20 stdout F text\n", None),
        ("{\"log\":\"text\\n\",\"stream\":\"stdout\"}\n", None),
        ("\n", None),
        ("", None),
    ];
    for (line, expected) in cases {
        let expected = expected.map(|(stream, text, ends)| (stream, text.to_owned(), ends));
        assert_eq!(text(line), expected, "{line:?}");
    }
    assert!(LogEntry::parse(b"\xff\xfe stdout F text\n").is_none());
}

#[test]
fn times_are_shown_with_nine_digits_and_the_runtimes_zone() {
    let cases = [
        ("2016-10-20T18:39:20.57606443Z", "2016-10-20T18:39:20.576064430Z"),
        ("2016-10-20T18:39:20Z", "2016-10-20T18:39:20.000000000Z"),
        ("2016-10-20T18:39:20,5Z", "2016-10-20T18:39:20.500000000Z"),
        ("2016-10-20T18:39:20.5-07:00", "2016-10-20T18:39:20.500000000-07:00"),
        ("2016-10-20T18:39:20.123456789+01:00", "2016-10-20T18:39:20.123456789+01:00"),
    ];
    for (stamp, expected) in cases {
        let line = format!("{stamp} stdout F text\n");
        assert_eq!(LogEntry::parse(line.as_bytes()).unwrap().shown_time(), expected);
    }
}
