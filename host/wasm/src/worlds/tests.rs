//! Which versions serve which components, and what becomes of guests' texts.

use super::*;

#[test]
fn a_version_serves_its_track() {
    let cases = [
        ("0.1.0", "0.1.0", true),
        ("0.2.1", "0.2.0", true),
        ("0.2.0", "0.2.1", true),
        ("0.2.1", "0.1.0", false),
        ("0.1.0", "0.9.0", false),
        ("0.0.2", "0.0.1", true),
        ("1.4.0", "1.2.7", true),
        ("1.4.0", "1.4.1", true),
        ("1.4.0", "1.5.0", true),
        ("1.4.0", "0.4.0", false),
        ("2.0.0", "1.0.0", false),
    ];
    for (served, required, expected) in cases {
        assert_eq!(serves(served, required), expected, "{served} for {required}");
    }
}

#[test]
fn who_was_built_for_a_later_version_of_the_track_is_known() {
    for (expected, served, newer) in [
        ("0.1.3", "0.1.0", true),
        ("0.1.0", "0.1.0", false),
        ("0.2.0", "0.2.1", false),
        ("0.3.0-draft.1", "0.3.0-draft.1", false),
    ] {
        assert_eq!(is_newer(expected, served), newer, "{expected} on {served}");
    }
}

#[test]
fn a_draft_serves_itself_alone() {
    let cases = [
        ("0.3.0-draft.1", "0.3.0-draft.1", true),
        ("0.3.0-draft.2", "0.3.0-draft.1", false),
        ("0.3.0-draft.1", "0.3.0-draft.2", false),
        ("0.2.0", "0.3.0-draft.1", false),
        ("0.3.0", "0.3.0-draft.1", false),
        ("0.3.0-draft.1", "0.3.0", false),
        ("0.3.0-draft.1", "0.2.0", false),
        ("0.3.0-draft.1", "0.1.0", false),
        ("0.2.0-rc1", "0.2.0-rc1", false),
        ("0.3.0-draft.01", "0.3.0-draft.01", false),
    ];
    for (served, required, expected) in cases {
        assert_eq!(serves(served, required), expected, "{served} for {required}");
    }
}

#[test]
fn what_is_no_released_version_is_served_by_none() {
    for required in ["", "0.1", "0.1.0.0", "0.1.0-rc1", "0.1.x", "+0.1.0", "0.+1.0", "00.1.0", "0.1.0 "] {
        assert!(!serves("0.1.0", required), "{required:?}");
    }
}

#[test]
fn a_reason_that_is_no_word_becomes_one() {
    let long = "x".repeat(200);
    let cases = [
        ("", "Rejected"),
        ("not a word", "NotAWord"),
        ("NoTeam!", "NoTeam"),
        ("no-latest-tag", "NoLatestTag"),
        ("1st", "Rejected1st"),
        ("two\nlines\u{1b}[2J", "TwoLines2J"),
        ("größe", "GrE"),
        ("…", "Rejected"),
        (&long, &format!("X{}", "x".repeat(127))),
    ];
    for (reason, expected) in cases {
        assert!(check_word(reason, 128).is_err(), "{reason:?} is no word");
        let sanitized = sanitized_word(reason, "Rejected", 128);
        assert_eq!(sanitized, expected, "{reason:?}");
        assert_eq!(check_word(&sanitized, 128), Ok(()), "{reason:?}");
    }
}

proptest::proptest! {
    #[test]
    fn every_reason_becomes_a_word(reason in "\\PC{0,300}") {
        let sanitized = sanitized_word(&reason, "Rejected", 128);
        proptest::prop_assert_eq!(check_word(&sanitized, 128), Ok(()));
        if check_word(&reason, 128).is_ok() {
            proptest::prop_assert!(sanitized.eq_ignore_ascii_case(&reason), "a word keeps its letters");
        }
    }
}

#[test]
fn what_guests_say_drives_no_terminal() {
    assert_eq!(sentence("two\nlines \u{1b}[2J", 100), "two\\nlines \\u{1b}[2J");
    assert_eq!(output("two\n\tlines \u{1b}[2J".to_owned(), 100), "two\n\tlines \\u{1b}[2J");
    assert_eq!(output("as it is\r\n".to_owned(), 100), "as it is\r\n");
    assert_eq!(output("äöü".to_owned(), 3), "ä…");
    assert_eq!(sentence("äöü", 3), "ä…");
}
