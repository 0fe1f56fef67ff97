//! Where a project may be written, and that it is there whole or not at all.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use serde_json::{Value, json};
use witlet_templates::{File, Language, Name, Role, render};

use super::{Error, TargetFolder, WriteMode, next, program_file, quoted, target_folder, way, write};

fn file(path: &str, contents: &str) -> File {
    let contents = contents.as_bytes().to_vec();
    let executable = contents.starts_with(b"#!");
    File { path: path.to_owned(), contents, executable }
}

fn entries(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(folder)
        .expect("a folder")
        .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

#[test]
fn no_ones_files_are_touched_unless_he_says_so() {
    let folder = Path::new("somewhere");
    let taken = |result: Result<WriteMode, Error>| matches!(result, Err(Error::NotEmpty { .. }));
    assert_eq!(way(TargetFolder::Free, false, folder).expect("free"), WriteMode::Folder);
    assert_eq!(way(TargetFolder::Free, true, folder).expect("free"), WriteMode::Folder);
    assert_eq!(way(TargetFolder::Taken, true, folder).expect("forced"), WriteMode::Files);
    assert!(taken(way(TargetFolder::Taken, false, folder)));
    assert!(matches!(way(TargetFolder::NoFolder, true, folder), Err(Error::NotAFolder { .. })));
}

#[test]
fn a_place_is_free_where_nothing_is() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let at = |name: &str| folder.path().join(name);
    fs::create_dir(at("empty")).expect("a folder");
    fs::create_dir(at("full")).expect("a folder");
    fs::write(at("full/notes"), "mine").expect("a file");
    std::os::unix::fs::symlink("/nonexistent", at("nowhere")).expect("a link");
    let cases = [
        ("none", TargetFolder::Free),
        ("empty", TargetFolder::Free),
        ("full", TargetFolder::Taken),
        ("full/notes", TargetFolder::NoFolder),
        ("nowhere", TargetFolder::NoFolder),
    ];
    for (name, found) in cases {
        assert_eq!(target_folder(&at(name)).expect("it can be checked"), found, "{name}");
    }
}

#[test]
fn a_project_appears_whole_and_nothing_next_to_it() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let project = folder.path().join("deep/my-plugin");
    write(&[file("Makefile", "build:"), file("src/run", "#!/bin/sh")], &project, WriteMode::Folder)
        .expect("it is written");
    assert_eq!(entries(&folder.path().join("deep")), ["my-plugin"]);
    let mode = |path: &str| fs::metadata(project.join(path)).expect("a file").permissions().mode();
    assert_eq!((mode("src/run") & 0o100, mode("Makefile") & 0o100), (0o100, 0));
    assert_ne!(
        fs::metadata(&project).expect("a folder").permissions().mode() & 0o050,
        0,
        "others may read it"
    );
}

#[test]
fn a_failure_leaves_nothing_behind() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let project = folder.path().join("my-plugin");
    // The second file needs a folder where the first one is.
    let error = write(&[file("src", "a file"), file("src/main", "x")], &project, WriteMode::Folder)
        .expect_err("it fails");
    assert!(matches!(error, Error::Write { .. }), "{error}");
    assert!(entries(folder.path()).is_empty(), "{:?}", entries(folder.path()));
}

#[test]
fn a_folder_that_filled_up_meanwhile_is_left_alone() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    fs::create_dir(folder.path().join("my-plugin")).expect("a folder");
    fs::write(folder.path().join("my-plugin/notes"), "mine").expect("a file");
    write(&[file("Makefile", "x")], &folder.path().join("my-plugin"), WriteMode::Folder)
        .expect_err("it isn't empty");
    assert_eq!(entries(&folder.path().join("my-plugin")), ["notes"]);
    assert_eq!(entries(folder.path()), ["my-plugin"]);
}

#[test]
fn force_replaces_the_projects_files_and_leaves_others() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let project = folder.path().join("my-plugin");
    fs::create_dir(&project).expect("a folder");
    for name in ["Makefile", "notes"] {
        fs::write(project.join(name), "mine").expect("a file");
    }
    write(&[file("Makefile", "new"), file("src/main", "new")], &project, WriteMode::Files)
        .expect("it is written");
    let text = |name: &str| fs::read_to_string(project.join(name)).expect("a file");
    assert_eq!(
        (text("Makefile").as_str(), text("notes").as_str(), text("src/main").as_str()),
        ("new", "mine", "new")
    );
    assert_eq!(entries(folder.path()), ["my-plugin"]);
}

#[test]
fn a_folder_without_a_name_is_refused() {
    assert!(matches!(write(&[], Path::new("/"), WriteMode::Folder), Err(Error::NoName { .. })));
}

#[test]
fn the_program_is_written_down_as_one_word_of_a_shell() {
    let written = |path: &str| {
        program_file(Path::new(path)).map(|file| String::from_utf8(file.contents).expect("it was text"))
    };
    let cases = [
        ("/usr/local/bin/witlet", Some("/usr/local/bin/witlet\n")),
        ("/a b/$it's/witlet", Some("'/a b/$it'\\''s/witlet'\n")),
        ("/two\nlines/witlet", None),
    ];
    for (path, word) in cases {
        assert_eq!(written(path).as_deref(), word, "{path:?}");
    }
    let no_text = Path::new(OsStr::from_bytes(b"/\xff/witlet"));
    assert_eq!(program_file(no_text), None);
}

#[test]
fn what_to_do_next_can_be_typed() {
    let cases = [
        ("my-plugin", "my-plugin"),
        ("a b", "'a b'"),
        ("it's", r"'it'\''s'"),
        ("-x", "'./-x'"),
        ("$HOME", "'$HOME'"),
    ];
    for (word, typed) in cases {
        assert_eq!(quoted(word), typed);
    }
    assert_eq!(next(Path::new("/tmp/x")), ["cd /tmp/x", "make", "make test"]);
}

/// The workflow of a project's continuous integration.
fn workflow(language: Language) -> Value {
    let name = Name::parse("my-plugin").expect("a name");
    let files = render(language, Role::Probe, &name).expect("the name is free");
    let file = files.iter().find(|file| file.path == ".github/workflows/plugin.yml").expect("it has one");
    let text = std::str::from_utf8(&file.contents).expect("it is text");
    serde_saphyr::from_str(text).unwrap_or_else(|error| panic!("{language}: {error}"))
}

#[test]
fn every_workflow_reads_alone_and_runs_what_the_book_says() {
    for language in Language::ALL {
        let workflow = workflow(language);
        assert_eq!(workflow["permissions"], json!({"contents": "read"}), "{language}");
        for event in ["push", "pull_request"] {
            assert!(workflow["on"].get(event).is_some(), "{language}: {event}");
        }
        let job = &workflow["jobs"]["test"];
        assert!(job.get("permissions").is_none() && job["timeout-minutes"].is_u64(), "{language}: {job:#}");
        let steps = job["steps"].as_array().expect("steps");
        let uses = steps.iter().filter_map(|step| step["uses"].as_str());
        for action in uses {
            let version = action.rsplit_once("@v").map(|(_, version)| version.parse::<u32>());
            assert!(matches!(version, Some(Ok(_))), "{language}: {action} is no major version");
        }
        let runs: Vec<&str> = steps.iter().filter_map(|step| step["run"].as_str()).collect();
        assert_eq!(runs.last_chunk(), Some(&["make tools", "make", "make test"]), "{language}");
        assert!(
            runs.iter().any(|run| run.contains("install PREFIX=\"$HOME/.local\"")),
            "{language}: {runs:?}"
        );
        let reference = job["env"]["WITLET_REF"].as_str().unwrap_or_default();
        assert!(reference.contains(concat!("'v", env!("CARGO_PKG_VERSION"), "'")), "{language}: {reference}");
        // What is given by others reaches a shell as a variable only.
        assert!(runs.iter().all(|run| !run.contains("${{")), "{language}: {runs:?}");
    }
}

#[test]
fn workflows_differ_in_their_tools_alone() {
    let all: Vec<Vec<Value>> = Language::ALL
        .into_iter()
        .map(|language| workflow(language)["jobs"]["test"]["steps"].as_array().expect("steps").clone())
        .collect();
    let (first, last) = (&all[0][..5], &all[0][all[0].len() - 3..]);
    for steps in &all {
        assert!(steps.starts_with(first) && steps.ends_with(last), "{steps:#?}");
    }
}
