//! What crosses between host and guest.

use super::*;

#[test]
fn texts_of_outcomes_are_cut_between_letters() {
    let long = "ä".repeat(TEXT_BYTES_MAX);
    match outcome(wit::Outcome::Failure(long)) {
        ProbeOutcome::Failure(text) => {
            assert!(text.ends_with('…') && text.len() <= TEXT_BYTES_MAX + '…'.len_utf8(), "{}", text.len());
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(outcome(wit::Outcome::Warning("as it is".into())), ProbeOutcome::Warning("as it is".into()));
    assert_eq!(outcome(wit::Outcome::Success(String::new())), ProbeOutcome::Success(String::new()));
}

#[test]
fn output_of_commands_is_cut_and_standard_output_comes_first() {
    let output = ExecOutput { stdout: b"out ".to_vec(), stderr: b"err".to_vec(), exit_code: 7 };
    let result = exec_result(output);
    assert_eq!((result.exit_code, result.output.as_slice()), (7, &b"out err"[..]));
    let output = ExecOutput { stdout: vec![b'x'; 8 << 10], stderr: vec![b'y'; 8 << 10], exit_code: 0 };
    let result = exec_result(output);
    assert_eq!((result.output.len(), result.output[8 << 10]), (TEXT_BYTES_MAX, b'y'));
}
