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
fn commands_come_back_with_both_outputs_as_one() {
    let output = ExecOutput { stdout: b"out ".to_vec(), stderr: b"err".to_vec(), exit_code: 7 };
    match exec_result(Ok(output)) {
        Ok(result) => assert_eq!((result.exit_code, result.output.as_slice()), (7, &b"out err"[..])),
        Err(error) => panic!("{error:?}"),
    }
    assert!(matches!(exec_result(Err(ExecFault::TimedOut)), Err(exec::ExecError::TimedOut)));
    let failed = exec_result(Err(ExecFault::Failed("no".to_owned())));
    assert!(matches!(failed, Err(exec::ExecError::Failed(words)) if words == "no"));
}
