//! Cases for what is kept of a command's output.

use super::*;

#[test]
fn both_outputs_together_are_kept_up_to_the_bound() {
    let [stdout, stderr] = CapturedOutput::both(10);
    stdout.take(b"12345");
    stderr.take(b"abc");
    stdout.take(b"6789");
    stderr.take(b"d");
    assert_eq!((stdout.contents(), stderr.contents()), (b"1234567".to_vec(), b"abc".to_vec()));
}

#[test]
fn a_line_without_an_end_is_logged_when_the_workload_is_dropped() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("0.log");
    let file = Arc::new(LogFile::open(&path).expect("a log"));
    let now: Now = || jiff::Timestamp::UNIX_EPOCH;
    let outlet = Outlet(Arc::new(Logged::new(Stream::Stdout, Some(file), now)));
    outlet.0.take(b"one\ntw");
    outlet.clone().0.take(b"o");
    drop(outlet);
    assert_eq!(
        std::fs::read_to_string(path).expect("a log"),
        "1970-01-01T00:00:00.000000000Z stdout F one\n1970-01-01T00:00:00.000000000Z stdout F two\n"
    );
}
