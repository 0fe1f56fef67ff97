//! The folder of sets: what a restart finds in it.

use super::*;

const A: &str = "sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
const B: &str = "sha256:bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb";
const C: &str = "sha256:cccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccc";

fn kept(digest: &str) -> KeptSet {
    let reference = format!("oci://registry.example.com/fleet@{digest}");
    KeptSet { reference, signed_by: "key".to_owned() }
}

/// A set whose folder is whole.
fn bring(folder: &SetFolder, digest: &str) {
    let part = folder.begin(digest).expect("a folder");
    fs::write(part.join(PLUGIN_FILE), "{}").expect("written");
    folder.finish(digest).expect("whole");
}

#[test]
fn the_set_that_serves_is_found_again_and_others_go_but_for_the_one_before() {
    let scratch = tempfile::tempdir().expect("a folder");
    let folder = SetFolder::new(scratch.path().join("sets"));
    assert_eq!(folder.kept(), None, "none was ever brought");
    for (digest, before) in [(A, None), (B, Some(A)), (C, Some(B))] {
        bring(&folder, digest);
        folder.keep(&kept(digest), before).expect("kept");
        assert_eq!(folder.kept(), Some(kept(digest)));
    }
    let there = [A, B, C].map(|digest| folder.plugin_file(digest).exists());
    assert_eq!(there, [false, true, true]);
    // Brought again, as after a refusal.
    bring(&folder, C);
    folder.forget().expect("forgotten");
    assert_eq!(folder.kept(), None);
    folder.forget().expect("twice is once");
}

#[test]
fn a_set_whose_plugin_file_is_gone_or_that_was_cut_short_does_not_serve() {
    let scratch = tempfile::tempdir().expect("a folder");
    let folder = SetFolder::new(scratch.path().join("sets"));
    let part = folder.begin(A).expect("a folder");
    fs::write(part.join(PLUGIN_FILE), "").expect("written");
    assert!(!folder.plugin_file(A).exists(), "it isn't whole yet");
    let again = folder.begin(A).expect("a folder");
    assert!(again.read_dir().expect("a folder").next().is_none(), "what a kill left is gone");
    bring(&folder, A);
    folder.keep(&kept(A), None).expect("kept");
    fs::remove_file(folder.plugin_file(A)).expect("it was there");
    assert_eq!(folder.kept(), None);
    bring(&folder, B);
    fs::write(scratch.path().join("sets").join(CURRENT), "{").expect("written");
    assert_eq!(folder.kept(), None);
}
