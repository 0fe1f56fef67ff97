//! Open files of processes.

use jiff::ToSpan;

use super::*;

const NOW: Timestamp = Timestamp::UNIX_EPOCH;

fn folder_of(machine: &tempfile::TempDir, targets: &[&str]) -> std::path::PathBuf {
    let folder = machine.path().join("fd");
    fs::create_dir_all(&folder).expect("made");
    for (name, target) in targets.iter().enumerate() {
        let link = folder.join(name.to_string());
        fs::remove_file(&link).ok();
        std::os::unix::fs::symlink(target, link).expect("made");
    }
    folder
}

fn counted(reading: &OpenFiles, folder: &Path) -> (u64, u64) {
    let mut processes = Processes::default();
    reading.count("7", folder, &mut processes);
    (processes.file_descriptors, processes.sockets)
}

#[test]
fn files_beyond_the_bound_are_not_listed() {
    let machine = tempfile::tempdir().expect("a folder");
    let folder = folder_of(&machine, &["socket:[1]"; 3]);
    // What the kernel says of the folder; of processes it is the number of files, from 6.2 on.
    let said = fs::metadata(&folder).expect("it is there").len();
    for (left, found, left_then) in [(100_000, (3, 3), 99_997), (1, (said, 0), 1), (0, (said, 0), 0)] {
        let reading = OpenFiles { left: Cell::new(left), ..OpenFiles::new(KnownFiles::default(), NOW) };
        assert_eq!(counted(&reading, &folder), found, "{left} left");
        assert_eq!(reading.left.get(), left_then, "{left} left");
    }
}

#[test]
fn files_are_listed_again_when_their_number_changes_and_after_a_minute() {
    let machine = tempfile::tempdir().expect("a folder");
    let folder = folder_of(&machine, &["socket:[1]", "/dev/null"]);
    let said = fs::metadata(&folder).expect("it is there").len();
    let known = |files, at| KnownFiles::from([(7, ListedFiles { at, files, sockets: 40 })]);
    for (known, found) in [
        (known(said, NOW), (said, 40)),
        (known(said, NOW - 59.seconds()), (said, 40)),
        (known(said, NOW - 60.seconds()), (2, 1)),
        (known(said, NOW + 1.second()), (2, 1)),
        (known(said + 1, NOW), (2, 1)),
        (KnownFiles::default(), (2, 1)),
    ] {
        let reading = OpenFiles::new(known.clone(), NOW);
        assert_eq!(counted(&reading, &folder), found, "{known:?}");
    }
}

#[test]
fn what_was_listed_is_kept_for_a_minute() {
    let machine = tempfile::tempdir().expect("a folder");
    let folder = folder_of(&machine, &["socket:[1]", "/dev/null"]);
    let old = ListedFiles { at: NOW - 60.seconds(), files: 1, sockets: 1 };
    let reading = OpenFiles::new(KnownFiles::from([(6, old)]), NOW);
    counted(&reading, &folder);
    assert_eq!(reading.into_known(), KnownFiles::from([(7, ListedFiles { at: NOW, files: 2, sockets: 1 })]));
}
