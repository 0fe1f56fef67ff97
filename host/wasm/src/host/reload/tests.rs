//! When plugins are tried again, and when files count as changed.

use super::*;

#[test]
fn a_plugin_that_does_not_load_is_tried_less_and_less_often() {
    let start = Instant::now();
    let failed: [Arc<str>; 1] = ["late".into()];
    let mut retries = Retries::default();
    let mut tries = Vec::new();
    for second in 0..1000 {
        let now = start + Duration::from_secs(second);
        if retries.0.get("late").is_some_and(|retry| retry.at <= now) {
            tries.push(second);
        }
        retries.note(&failed, now);
    }
    assert_eq!(tries, [10, 30, 70, 150, 310, 610, 910]);
    retries.note(&[], start);
    assert!(retries.0.is_empty(), "one that loads is forgotten");
}

#[test]
fn a_file_changes_when_it_is_written_or_replaced_and_not_when_it_vanishes() {
    let folder = tempfile::TempDir::new().expect("a folder");
    let path = folder.path().join("a.wasm");
    let mut watcher = Watcher { plugins_file: None, seen: HashMap::new(), retries: Retries::default() };
    assert!(!watcher.changed(&path), "not there yet");
    std::fs::write(&path, "one").expect("writable");
    assert!(watcher.changed(&path));
    assert!(!watcher.changed(&path), "told once");
    std::fs::write(&path, "longer").expect("writable");
    assert!(watcher.changed(&path));
    std::fs::remove_file(&path).expect("writable");
    assert!(!watcher.changed(&path), "a file that vanished may be about to be replaced");
    std::fs::write(&path, "longer").expect("writable");
    assert!(watcher.changed(&path), "another file of the same size");
}
