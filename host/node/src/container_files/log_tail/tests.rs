//! Ends of logs in the CRI's format.

use super::*;

const TIME: &str = "2026-01-02T03:04:05.123456789Z";

fn log(entries: &[&str]) -> Vec<u8> {
    entries.iter().flat_map(|entry| format!("{TIME} {entry}\n").into_bytes()).collect()
}

fn check(log: &[u8], bytes_max: usize, lines_max: usize, expected: &str) {
    let found = content(log, bytes_max, lines_max);
    assert_eq!(String::from_utf8_lossy(&found), expected, "{}", String::from_utf8_lossy(log));
}

#[test]
fn entries_lose_their_prefix_and_parts_are_joined() {
    check(&log(&["stdout F one", "stderr F two"]), 100, 80, "one\ntwo\n");
    check(&log(&["stdout P on", "stdout P e t", "stdout F wo", "stdout F x"]), 100, 80, "one two\nx\n");
    check(&log(&["stdout F:extra one", "stdout P:extra two"]), 100, 80, "one\ntwo");
    check(&log(&["stdout F ", "stdout F  two  words "]), 100, 80, "\n two  words \n");
    check(b"", 100, 80, "");
    let offset = b"2026-01-02T03:04:05.1+02:00 stdout F one\n";
    check(offset, 100, 80, "one\n");
}

#[test]
fn what_is_no_entry_gives_nothing() {
    let time_wrong = [b"yesterday stdout F x\n".as_slice(), &log(&["stdout F one"])].concat();
    check(&time_wrong, 100, 80, "one\n");
    check(&log(&["stdin F x", "stdout F one", "stdout F", "stdout", ""]), 100, 80, "one\n");
    // An entry that is just being written isn't one yet.
    let unfinished = [log(&["stdout F one"]), format!("{TIME} stdout F tw").into_bytes()].concat();
    check(&unfinished, 100, 80, "one\n");
    check(b"\n\n\xff\xfe\n", 100, 80, "");
}

#[test]
fn only_the_last_entries_and_bytes_are_kept() {
    let many: Vec<String> = (0..100).map(|n| format!("stdout F {n}")).collect();
    let many = log(&many.iter().map(String::as_str).collect::<Vec<_>>());
    check(&many, 100, 3, "97\n98\n99\n");
    check(&many, 5, 3, "8\n99\n");
    check(&many, 0, 3, "");
    check(&many, 100, 0, "");
    // Parts count as entries, as upstream counts lines of the file.
    check(&log(&["stdout P a", "stdout P b", "stdout F c"]), 100, 2, "bc\n");
}

#[test]
fn what_is_read_of_a_log_holds_all_that_is_asked_for() {
    let part = "x".repeat(16 * 1024);
    for entries in [vec![format!("stdout F {part}"); 90], vec!["stdout F ".to_owned(); 90_000]] {
        let whole = log(&entries.iter().map(String::as_str).collect::<Vec<_>>());
        let end = &whole[whole.len() - bytes_needed(2048, 80).min(whole.len())..];
        assert_eq!(content(end, 2048, 80), content(&whole, 2048, 80));
    }
}
