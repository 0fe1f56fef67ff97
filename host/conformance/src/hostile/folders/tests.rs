//! Every hostile folder can be made, and `empty` is no answer to it.

use std::collections::BTreeSet;

use super::*;
use crate::check::CheckResult;
use crate::plugin_response::PluginResponse;

#[test]
fn every_hostile_folder_can_be_made_and_is_named_once() {
    let mut names = BTreeSet::new();
    for (name, content) in besides() {
        let folder = tempfile::tempdir().expect("a folder");
        write(folder.path(), &content).expect(&name);
        assert!(std::fs::read_dir(folder.path()).expect("it is there").next().is_some(), "{name}");
        assert!(names.insert(name.clone()), "{name}");
    }
    assert!(names.len() > 20, "{names:?}");
}

#[test]
fn empty_is_no_answer_to_what_cannot_be_read() {
    for (answered, answers, empties) in [
        (Ok(PluginResponse::new(ResponseKind::Unchanged, "")), true, true),
        (Ok(PluginResponse::new(ResponseKind::Empty, "")), true, false),
        (Err(CallError::StackOverflow), false, true),
    ] {
        let mut both = AnswerChecks::default();
        both.judge("a folder", &answered);
        assert_eq!(both.answers.result() == CheckResult::Passed, answers, "{answered:?}");
        assert_eq!(both.empty.result() == CheckResult::Passed, empties, "{answered:?}");
    }
}
