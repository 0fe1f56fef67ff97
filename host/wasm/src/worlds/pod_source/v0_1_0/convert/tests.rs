//! Which answers of a source are taken, and as what.

use super::*;
use crate::worlds::WordFault;
use crate::worlds::pod_source::answer::CURSOR_BYTES_MAX;

fn result(snapshot: wit::Snapshot) -> wit::PollResult {
    wit::PollResult { snapshot, cursor: None, next_poll_milliseconds: None }
}

fn error(reason: &str) -> wit::SourceError {
    wit::SourceError {
        reason: reason.to_owned(),
        message: "m".repeat(2 * MESSAGE_BYTES_MAX),
        retry_after_milliseconds: Some(250),
    }
}

#[test]
fn unchanged_pods_and_empty_stay_apart() {
    let cases = [
        (wit::Snapshot::Unchanged, Snapshot::Unchanged),
        (wit::Snapshot::Empty, Snapshot::Empty),
        (wit::Snapshot::Pods(vec!["{}".to_owned()]), Snapshot::Pods(vec!["{}".to_owned()])),
    ];
    for (theirs, ours) in cases {
        let expected = PollResponse { snapshot: ours, cursor: None, next_poll: None };
        assert_eq!(poll(Ok(result(theirs))), Ok(Ok(expected)));
    }
}

#[test]
fn answers_that_the_contract_does_not_allow_are_reported() {
    let no_pods = wit::Snapshot::Pods(Vec::new());
    assert_eq!(poll(Ok(result(no_pods))), Err(PollFault::NoPods));
    let many = wit::Snapshot::Pods(vec![String::new(); MANIFESTS_MAX + 1]);
    assert_eq!(poll(Ok(result(many))), Err(PollFault::ManyPods(MANIFESTS_MAX + 1)));
    let long = "c".repeat(CURSOR_BYTES_MAX + 1);
    let cursor = wit::PollResult { cursor: Some(long), ..result(wit::Snapshot::Unchanged) };
    assert_eq!(poll(Ok(cursor)), Err(PollFault::LongCursor(CURSOR_BYTES_MAX + 1)));
    assert_eq!(poll(Err(error(""))), Err(PollFault::Word(WordFault::Empty)));
    assert_eq!(poll(Err(error("not a word"))), Err(PollFault::Word(WordFault::NoWord("not a word".into()))));
}

#[test]
fn an_error_keeps_its_reason_and_its_message_is_cut() {
    match poll(Err(error("Unavailable"))) {
        Ok(Err(SourceFault { reason, message, retry_after })) => {
            assert_eq!((reason.as_str(), retry_after), ("Unavailable", Some(Duration::from_millis(250))));
            assert_eq!(message.len(), MESSAGE_BYTES_MAX + '…'.len_utf8());
        }
        other => panic!("{other:?}"),
    }
}
