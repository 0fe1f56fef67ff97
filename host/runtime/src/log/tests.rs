//! Cases and invariants of the log's format.

use jiff::Timestamp;
use proptest::prelude::*;

use super::*;

const NOW: Timestamp = Timestamp::UNIX_EPOCH;

fn log(stream: Stream, writes: &[&[u8]]) -> Vec<u8> {
    let (mut lines, mut out) = (Lines::new(stream), Vec::new());
    for write in writes {
        lines.push(write, NOW, &mut out);
    }
    lines.finish(NOW, &mut out);
    out
}

#[test]
fn output_becomes_log_lines() {
    const T: &str = "1970-01-01T00:00:00.000000000Z";
    for (writes, expected) in [
        (vec![], String::new()),
        (vec!["hello\n"], format!("{T} stdout F hello\n")),
        (vec!["hel", "lo\nwor", "ld"], format!("{T} stdout F hello\n{T} stdout F world\n")),
        (vec!["\n\n"], format!("{T} stdout F \n{T} stdout F \n")),
        (vec!["a\r\n"], format!("{T} stdout F a\r\n")),
    ] {
        let bytes: Vec<&[u8]> = writes.iter().map(|text| text.as_bytes()).collect();
        let written = String::from_utf8(log(Stream::Stdout, &bytes)).expect("text in, text out");
        assert_eq!(written, expected, "{writes:?}");
    }
}

#[test]
fn a_line_that_is_too_long_is_written_in_pieces() {
    let exactly = vec![b'x'; LINE_BYTES_MAX];
    assert_eq!(tags(&log(Stream::Stderr, &[&exactly, b"\n"])), "F");
    let longer = vec![b'x'; LINE_BYTES_MAX + 1];
    assert_eq!(tags(&log(Stream::Stderr, &[&longer, b"\n"])), "PF");
    let endless = vec![b'x'; 3 * LINE_BYTES_MAX];
    assert_eq!(tags(&log(Stream::Stderr, &[&endless])), "PPF");
}

fn parse(log: &[u8]) -> Vec<(u8, Vec<u8>)> {
    log.split_inclusive(|byte| *byte == b'\n')
        .map(|line| {
            let mut fields = line.splitn(4, |byte| *byte == b' ');
            let time = String::from_utf8(fields.next().expect("a time").to_vec()).expect("a time is text");
            time.parse::<Timestamp>().expect("a time is RFC 3339");
            assert!(matches!(fields.next(), Some(b"stdout" | b"stderr")));
            let tag = fields.next().expect("a tag")[0];
            let text = fields.next().expect("a text");
            (tag, text[..text.len() - 1].to_vec())
        })
        .collect()
}

fn tags(log: &[u8]) -> String {
    parse(log).iter().map(|(tag, _)| char::from(*tag)).collect()
}

proptest! {
    // Each case may be a megabyte.
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn nothing_is_lost_and_no_line_is_too_long(
        writes in proptest::collection::vec(
            (proptest::collection::vec(prop_oneof![Just(b'\n'), any::<u8>()], 0..40), 1_usize..2000),
            0..4,
        )
    ) {
        let writes: Vec<Vec<u8>> = writes.into_iter().map(|(piece, times)| piece.repeat(times)).collect();
        let slices: Vec<&[u8]> = writes.iter().map(Vec::as_slice).collect();
        let mut output: Vec<u8> = writes.concat();
        if output.last().is_some_and(|last| *last != b'\n') {
            output.push(b'\n'); // the end of the output ends its last line
        }
        let mut read_back = Vec::new();
        for (tag, text) in parse(&log(Stream::Stdout, &slices)) {
            prop_assert!(text.len() <= LINE_BYTES_MAX);
            read_back.extend_from_slice(&text);
            if tag == b'F' {
                read_back.push(b'\n');
            }
        }
        prop_assert_eq!(read_back, output);
    }
}

#[test]
fn a_log_that_was_moved_away_is_opened_again() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("made/here/0.log");
    let log = LogFile::open(&path).expect("it can be made");
    log.append(b"before\n");
    let moved = folder.path().join("0.log.1");
    std::fs::rename(&path, &moved).expect("it can be moved");
    log.append(b"between\n");
    log.reopen().expect("it can be opened again");
    log.append(b"after\n");
    assert_eq!(std::fs::read_to_string(&moved).expect("it is there"), "before\nbetween\n");
    assert_eq!(std::fs::read_to_string(&path).expect("it is there"), "after\n");
}
