//! Checks a real folder.

use std::os::unix::fs::symlink;

use super::*;

fn later() -> Timestamp {
    Timestamp::from_second(9_999_999_999).expect("a time")
}

/// File names with what was found of them.
fn show(scanner: &mut Scanner) -> Vec<String> {
    match scanner.scan(later(), true).listing {
        Listing::Files(files) => files
            .into_iter()
            .map(|(path, state)| {
                let name = path.rsplit('/').next().unwrap_or_default().to_owned();
                match state {
                    FileState::Unchanged => format!("{name} unchanged"),
                    FileState::Content(bytes) => format!("{name}={}", String::from_utf8_lossy(&bytes)),
                    FileState::Unreadable(_) => format!("{name} unreadable"),
                    FileState::NoFile(words) => {
                        format!("{name} {}", words.split([',', ' ']).take(3).collect::<Vec<_>>().join(" "))
                    }
                }
            })
            .collect(),
        other => vec![format!("{other:?}")],
    }
}

#[test]
fn folders_pipes_and_dangling_links_are_named_and_hidden_files_are_not() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name);
    fs::write(at("b.yaml"), "b").expect("written");
    fs::write(at("a.json"), "a").expect("written");
    fs::write(at(".hidden"), "x").expect("written");
    fs::create_dir(at("sub")).expect("made");
    fs::write(at("sub/c.yaml"), "c").expect("written");
    symlink(at("nowhere"), at("dangling")).expect("linked");
    symlink(at("sub/c.yaml"), at("linked")).expect("linked");
    rustix::fs::mknodat(rustix::fs::CWD, at("pipe"), rustix::fs::FileType::Fifo, 0o600.into(), 0)
        .expect("made");
    let mut scanner = Scanner::new(folder.path().to_owned());
    let odd = ["dangling is a dangling", "pipe is a pipe", "sub is a folder:"];
    assert_eq!(show(&mut scanner), ["a.json=a", "b.yaml=b", odd[0], "linked=c", odd[1], odd[2]]);
    let again = ["a.json unchanged", "b.yaml unchanged", odd[0], "linked unchanged", odd[1], odd[2]];
    assert_eq!(show(&mut scanner), again);
}

#[test]
fn names_that_are_no_text_stay_apart() {
    use std::os::unix::ffi::OsStrExt;
    let folder = tempfile::tempdir().expect("a folder");
    for name in [b"a\xff.yaml", b"a\xfe.yaml"] {
        fs::write(folder.path().join(std::ffi::OsStr::from_bytes(name)), "x").expect("written");
    }
    let mut scanner = Scanner::new(folder.path().to_owned());
    assert_eq!(show(&mut scanner), [r"a\xfe.yaml=x", r"a\xff.yaml=x"]);
}

#[test]
fn a_swapped_data_link_shows_as_new_content() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name);
    for (version, text) in [("..v1", "one"), ("..v2", "two")] {
        fs::create_dir(at(version)).expect("made");
        fs::write(at(version).join("pod.yaml"), text).expect("written");
    }
    symlink("..v1", at("..data")).expect("linked");
    symlink("..data/pod.yaml", at("pod.yaml")).expect("linked");
    let mut scanner = Scanner::new(folder.path().to_owned());
    assert_eq!(show(&mut scanner), ["pod.yaml=one"]);
    symlink("..v2", at("..next")).expect("linked");
    fs::rename(at("..next"), at("..data")).expect("swapped");
    assert_eq!(show(&mut scanner), ["pod.yaml=two"]);
}

#[test]
fn one_file_can_be_the_source() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join(".even-hidden");
    let mut scanner = Scanner::new(path.clone());
    assert_eq!(show(&mut scanner), ["Missing"]);
    fs::write(&path, "x").expect("written");
    assert_eq!(show(&mut scanner), [".even-hidden=x"]);
}

#[test]
fn a_fresh_file_is_waited_for_only_by_who_may_wait() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("a");
    fs::write(&path, "half").expect("written");
    let metadata = fs::metadata(&path).expect("there");
    let written = Timestamp::from_second(metadata.ctime()).expect("a time")
        + Duration::from_nanos(metadata.ctime_nsec().unsigned_abs());
    let mut scanner = Scanner::new(folder.path().to_owned());
    assert!(!scanner.scan(written, true).settled);
    assert!(!scanner.scan(written + SETTLE - Duration::from_nanos(1), true).settled);
    assert!(scanner.scan(written + SETTLE, true).settled);
    assert!(scanner.scan(written - Duration::from_secs(60), true).settled, "from the future");
    assert!(scanner.scan(written, false).settled);
}

#[test]
fn a_large_file_is_read_no_further_than_its_bound() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("a");
    File::create(&path).and_then(|file| file.set_len(1 << 40)).expect("a sparse file");
    let Listing::Files(files) = Scanner::new(path.clone()).scan(later(), true).listing else {
        panic!("one file");
    };
    let state = &files[path.to_str().expect("plain")];
    assert!(matches!(state, FileState::Content(bytes) if bytes.len() == MANIFEST_BYTES_MAX + 1));
}

#[test]
fn a_folder_with_too_many_files_is_unreadable() {
    let folder = tempfile::tempdir().expect("a folder");
    for number in 0..=FILES_MAX {
        File::create(folder.path().join(format!("f{number}"))).expect("made");
    }
    let scan = Scanner::new(folder.path().to_owned()).scan(later(), true);
    assert_eq!(scan.listing, Listing::Unreadable("must have at most 1000 files, found 1001".into()));
}
