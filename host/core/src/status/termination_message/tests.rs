//! Tests of termination messages: sizes, ends, and text that isn't any.

use proptest::prelude::*;

use super::*;
use crate::fixtures::{first, pod, spec};

#[test]
fn a_file_gives_its_last_4096_bytes() {
    assert_eq!(from_file(b""), "");
    assert_eq!(from_file(b"out of memory\n"), "out of memory\n");
    let long = [b"x".repeat(10_000_000), b"the end".to_vec()].concat();
    let message = from_file(&long);
    assert_eq!(message.len(), FILE_BYTES_MAX);
    assert!(message.ends_with("the end"));
}

#[test]
fn the_log_stands_in_only_for_a_failed_container_without_a_message() {
    let fallback = Some("FallbackToLogsOnError");
    let cases = [
        (fallback, 1, "", true),
        (fallback, 137, "", true),
        (fallback, 0, "", false),
        (fallback, 1, "said", false),
        (Some("File"), 1, "", false),
        (None, 1, "", false),
    ];
    for (policy, exit_code, file, expected) in cases {
        assert_eq!(wants_log(policy, exit_code, file), expected, "{policy:?} {exit_code} {file:?}");
    }
}

#[test]
fn a_log_gives_its_last_80_lines_and_of_them_the_last_2048_bytes() {
    let lines = |count: usize| (0..count).map(|line| format!("{line}\n")).collect::<String>();
    assert_eq!(from_log(b""), "");
    assert_eq!(from_log(b"\n"), "\n");
    assert_eq!(from_log(b"no end of line"), "no end of line");
    assert_eq!(from_log(lines(80).as_bytes()), lines(80));
    let of_81 = from_log(lines(81).as_bytes());
    assert_eq!((of_81.lines().count(), of_81.lines().next()), (80, Some("1")));
    let unfinished = format!("{}tail", lines(100));
    let message = from_log(unfinished.as_bytes());
    assert_eq!((message.lines().count(), message.lines().last()), (80, Some("tail")));
    let wide = from_log("y".repeat(5_000).as_bytes());
    assert_eq!(wide.len(), LOG_BYTES_MAX);
}

#[test]
fn containers_share_twelve_kibibytes_equally() {
    for (names, share) in
        [(vec!["a"], 12_288), (vec!["a", "b"], 6_144), (vec!["a", "b", "c"], 4_096), (vec![], 12_288)]
    {
        assert_eq!(share_bytes(&pod("Always", &names)), share);
    }
    let mut with_init = pod("Always", &["a", "b"]);
    let init = first(&mut with_init).clone();
    spec(&mut with_init).init_containers = Some(vec![init.clone(), init]);
    assert_eq!(share_bytes(&with_init), 3_072);
}

#[test]
fn the_runtimes_words_come_before_the_containers() {
    assert_eq!(combined("", None, 100), None);
    assert_eq!(combined("", Some(""), 100), None);
    assert_eq!(combined("oom", None, 100).as_deref(), Some("oom"));
    assert_eq!(combined("", Some("bye"), 100).as_deref(), Some("bye"));
    assert_eq!(combined("oom", Some("bye"), 100).as_deref(), Some("oom: bye"));
    assert_eq!(combined("oom", Some("bye"), 6).as_deref(), Some("oom: b"));
    assert_eq!(combined("ééé", None, 3).as_deref(), Some("é"), "no character is cut in two");
}

proptest! {
    #[test]
    fn no_bytes_make_a_message_that_is_too_long(bytes in prop::collection::vec(any::<u8>(), 0..9_000)) {
        prop_assert!(from_file(&bytes).len() <= FILE_BYTES_MAX);
        let log = from_log(&bytes);
        prop_assert!(log.len() <= LOG_BYTES_MAX);
        prop_assert!(log.split_inclusive('\n').count() <= LOG_LINES_MAX);
    }
}
