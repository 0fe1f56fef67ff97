//! A lock in a real folder.

use super::*;

#[test]
fn a_second_agent_is_told_whose_the_folder_is_and_may_have_it_afterwards() {
    let folder = tempfile::tempdir().expect("a folder");
    let first = RootLock::take(folder.path()).expect("nobody has it");
    let refused = RootLock::take(folder.path()).expect_err("the first has it").to_string();
    for word in [&folder.path().display().to_string(), &std::process::id().to_string(), "--root-dir"] {
        assert!(refused.contains(word), "{word:?} isn't in: {refused}");
    }
    drop(first);
    RootLock::take(folder.path()).expect("it is free again");
}

#[test]
fn what_stands_in_the_lock_is_only_told() {
    for text in ["", "no number", "99999999999999999999999999999999"] {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::write(folder.path().join(FILE_NAME), text).expect("written");
        let file = File::open(folder.path().join(FILE_NAME)).expect("there");
        assert_eq!(holder(&file), None, "{text:?}");
        RootLock::take(folder.path()).expect("nobody has it");
    }
}
