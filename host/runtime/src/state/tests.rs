//! What is left of the state after a process was killed.

use std::os::unix::fs::PermissionsExt;

use super::*;

fn folder() -> (tempfile::TempDir, Folder) {
    let outer = tempfile::tempdir().expect("a folder");
    let folder = Folder::open(outer.path().join("a/b")).expect("it can be made");
    (outer, folder)
}

#[test]
fn records_come_back_and_others_cannot_read_them() {
    let (_outer, folder) = folder();
    folder.store("one", &vec![1, 2]).expect("it can be written");
    folder.store("one", &vec![3]).expect("it can be replaced");
    assert_eq!(folder.load_all::<Vec<u8>>().expect("it can be read"), [("one".to_owned(), vec![3])]);
    let mode = |path: PathBuf| fs::metadata(path).expect("it is there").permissions().mode() & 0o777;
    assert_eq!(mode(folder.path("one")), 0o600);
    assert_eq!(mode(folder.folder().to_owned()), 0o700);
    folder.remove("one").expect("it can be removed");
    folder.remove("one").expect("removed is removed");
    assert_eq!(folder.names().expect("it can be listed"), [""; 0]);
}

#[test]
fn what_a_killed_process_left_half_written_is_cleared_away() {
    let (_outer, folder) = folder();
    folder.store("whole", &"kept").expect("it can be written");
    fs::write(folder.path("damaged"), "{\"half\":").expect("a file");
    fs::write(folder.path(&format!("other{UNFINISHED}")), "\"ha").expect("a file");
    let again = Folder::open(folder.folder().to_owned()).expect("it can be opened");
    assert_eq!(
        again.load_all::<String>().expect("it can be read"),
        [("whole".to_owned(), "kept".to_owned())]
    );
    assert_eq!(again.all_names().expect("it can be listed"), ["whole"]);
}
