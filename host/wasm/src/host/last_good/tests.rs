//! The set that is kept, whatever happens to its folder.

use sha2::{Digest as _, Sha256};

use super::*;
use crate::compile::read_component_of;

/// A set of plugins that were all loaded.
fn set_of(configuration: &str, components: &[(&str, &str)]) -> LastGoodSet {
    let owned = |(name, digest): &(&str, &str)| ((*name).to_owned(), (*digest).to_owned());
    let loaded = components.iter().map(owned).collect();
    LastGoodSet::after(None, configuration, &loaded, components.len(), []).expect("all of it is good")
}

/// A folder of its own, and one with the node's components.
struct Rig {
    last_good: LastGood,
    components: tempfile::TempDir,
    _folder: tempfile::TempDir,
}

impl Rig {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let last_good = LastGood::new(folder.path().join("last-good"));
        Self { last_good, components: tempfile::tempdir().expect("a folder"), _folder: folder }
    }

    /// Keeps a set of one plugin whose component holds these bytes.
    fn keep(&self, configuration: &str, component: &str) -> (LastGoodSet, io::Result<()>) {
        let digest = hex::encode(Sha256::digest(component));
        let source = self.components.path().join("a.wasm");
        fs::write(&source, component).expect("writable");
        let set = set_of(configuration, &[("a", &digest)]);
        let saved = self.last_good.save(&set, &[(digest, source)].into());
        (set, saved)
    }

    fn files(&self) -> Vec<String> {
        let folder = fs::read_dir(&self.last_good.folder).expect("it is there");
        let mut files: Vec<String> =
            folder.map(|entry| entry.expect("readable").file_name().to_string_lossy().into_owned()).collect();
        files.sort();
        files
    }
}

#[test]
fn plugins_that_do_not_load_keep_no_others_from_being_kept() {
    let before = set_of("one", &[("a", "a1"), ("b", "b1")]);
    let loaded: BTreeMap<String, String> = [("a".to_owned(), "a2".to_owned())].into();
    let cases = [
        ("one that is new", ("c", Earlier::Never), Some((vec![("a", "a2")], vec!["c"]))),
        (
            "one whose component broke",
            ("b", Earlier::SameEntry),
            Some((vec![("a", "a2"), ("b", "b1")], vec![])),
        ),
        ("one from a registry, which broke", ("c", Earlier::SameEntry), Some((vec![("a", "a2")], vec![]))),
        ("one whose newest entry fails", ("b", Earlier::OtherEntry), None),
    ];
    for (what, failing, expected) in cases {
        let after = LastGoodSet::after(Some(&before), "two", &loaded, 2, [failing]);
        let expected = expected.map(|(components, failed)| LastGoodSet {
            failed: failed.into_iter().map(str::to_owned).collect(),
            ..set_of("two", &components)
        });
        assert_eq!(after, expected, "{what}");
        let Some(after) = after else { continue };
        let is_failing = |name: &str| name == failing.0;
        assert!(after.is_of("two", &loaded, is_failing), "{what}: it isn't written again and again");
        assert!(!after.is_of("three", &loaded, is_failing), "{what}");
        assert!(!after.is_of("two", &set_of("two", &[("a", "a3")]).components, is_failing), "{what}");
        assert_eq!(
            after.is_of("two", &loaded, |_| false),
            failing.0 == "c" && after.failed.is_empty(),
            "{what}"
        );
    }
    let nothing = |plugins, failing: &[(&'static str, Earlier)]| {
        LastGoodSet::after(None, "two", &BTreeMap::new(), plugins, failing.iter().copied()).is_some()
    };
    assert!(nothing(0, &[]), "an empty configuration is a good one");
    assert!(!nothing(1, &[("c", Earlier::Never)]), "one of which nothing was loaded is none");
    assert!(nothing(2, &[("c", Earlier::Never)]), "a shipped component has no file");
}

#[test]
fn the_newest_set_is_kept_with_its_components_and_no_others() {
    let rig = Rig::new();
    assert_eq!(rig.last_good.load().expect("no set is no error"), None);
    for (configuration, component) in [("one", "first"), ("two", "first"), ("three", "second")] {
        let (set, saved) = rig.keep(configuration, component);
        saved.expect("saved");
        assert_eq!(rig.last_good.load().expect("readable"), Some(set.clone()));
        let digest = &set.components["a"];
        let copy = read_component_of(&rig.last_good.copy(digest), digest).expect("a copy");
        assert_eq!(&*copy, component.as_bytes());
        assert_eq!(rig.files(), [format!("{digest}.wasm"), SET.to_owned()]);
    }
}

#[test]
fn a_component_that_changed_meanwhile_leaves_the_set_before() {
    let rig = Rig::new();
    let (before, saved) = rig.keep("one", "first");
    saved.expect("saved");
    let digest = hex::encode(Sha256::digest("second"));
    let set = set_of("two", &[("a", &digest)]);
    // The file holds "first" still.
    let error = rig.last_good.save(&set, &[(digest, rig.components.path().join("a.wasm"))].into());
    assert!(error.expect_err("another component").to_string().contains("SHA-256"));
    assert_eq!(rig.last_good.load().expect("readable"), Some(before));
}

#[test]
fn what_is_damaged_is_an_error_and_never_a_set() {
    let rig = Rig::new();
    let (set, saved) = rig.keep("one", "first");
    saved.expect("saved");
    let digest = &set.components["a"];
    fs::write(rig.last_good.copy(digest), "other").expect("writable");
    assert!(read_component_of(&rig.last_good.copy(digest), digest).is_err(), "its digest is another");
    assert!(!rig.last_good.is_whole(&set));
    let (set, saved) = rig.keep("one", "first");
    saved.expect("saved");
    assert!(rig.last_good.is_whole(&set), "the copy is written again, though the set is the same");
    fs::remove_file(rig.last_good.copy(digest)).expect("writable");
    assert!(!rig.last_good.is_whole(&set));
    let traversal = r#"{"form":1,"configuration":"","components":{"a":"../../../etc/passwd"}}"#;
    let newer = r#"{"form":2,"configuration":"","components":{}}"#;
    for damaged in ["", "{", "[]", "null", traversal, newer] {
        fs::write(rig.last_good.folder.join(SET), damaged).expect("writable");
        assert!(rig.last_good.load().is_err(), "{damaged:?}");
    }
}

#[test]
fn what_a_kill_left_unfinished_is_replaced_and_no_link_is_followed() {
    let rig = Rig::new();
    let (_, saved) = rig.keep("one", "first");
    saved.expect("saved");
    let outside = rig.components.path().join("outside");
    fs::write(&outside, "precious").expect("writable");
    let unfinished = rig.last_good.folder.join("set.unfinished");
    std::os::unix::fs::symlink(&outside, unfinished).expect("writable");
    let (set, saved) = rig.keep("two", "second");
    saved.expect("saved");
    assert_eq!(rig.last_good.load().expect("readable"), Some(set));
    assert_eq!(fs::read_to_string(&outside).expect("readable"), "precious");
    assert_eq!(rig.files().len(), 2);
}

#[test]
fn where_rollouts_stand_is_kept_next_to_the_sets() {
    let rig = Rig::new();
    let empty = rig.last_good.load_rollouts().expect("none is no error");
    assert_eq!(empty, KeptRollouts::new());
    let reverted = serde_json::json!({"new": {
        "version": {"digest": "d1", "entry": "e1"},
        "rollout": {"phase": "Reverted", "percent": 20, "revert": {"reason": "Quarantined", "message": "m"}},
    }});
    let kept: KeptRollouts = serde_json::from_value(reverted).expect("it is one");
    rig.last_good.save_rollouts(&kept).expect("saved");
    assert_eq!(rig.last_good.load_rollouts().expect("readable"), kept);
    let (_, saved) = rig.keep("one", "first");
    saved.expect("saved");
    assert_eq!(rig.last_good.load_rollouts().expect("readable"), kept, "a new set leaves them");
    for damaged in ["", "[]", "{\"new\": {}}", "{\"new\": 1"] {
        fs::write(rig.last_good.folder.join(ROLLOUTS), damaged).expect("writable");
        assert!(rig.last_good.load_rollouts().is_err(), "{damaged:?}");
    }
}

#[test]
fn the_configuration_that_demands_something_outlives_sets_until_one_demands_nothing() {
    let rig = Rig::new();
    assert_eq!(rig.last_good.load_demanding().expect("readable"), None);
    rig.last_good.save_demanding(None).expect("there is none to forget");
    rig.last_good.save_demanding(Some("demands")).expect("writable");
    rig.keep("one", "component").1.expect("writable");
    assert_eq!(rig.last_good.load_demanding().expect("readable").as_deref(), Some("demands"));
    rig.last_good.save_demanding(Some("demands more")).expect("writable");
    assert_eq!(rig.last_good.load_demanding().expect("readable").as_deref(), Some("demands more"));
    rig.last_good.save_demanding(None).expect("writable");
    assert_eq!(rig.last_good.load_demanding().expect("readable"), None);
}
