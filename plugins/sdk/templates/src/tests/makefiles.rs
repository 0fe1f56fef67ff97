//! The witlet that `make test` of a project runs, in every language: found in the same places, and missed in the same words.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use super::{project, text};
use crate::{Language, PROGRAM_FILE, Role};

/// What the Makefiles call before they build anything.
const TOOLS: &[&str] = &["make", "sh", "cat", "cksum", "find", "mkdir"];
/// Makefiles of crates in this workspace, which are no templates: the lines that look for the program are the same.
const OF_WORKSPACE: &[&str] =
    &["examples/plugins/rust/plugin.mk", "tests/guests/all-functions/rust/Makefile"];
/// The beginning of those lines.
const FIRST_LINE: &str = "# ---- The program witlet: ";
/// The end of those lines.
const LAST_LINE: &str = "\t@: $(RUN_WITLET)\n";
/// The beginning of the lines that watch, in templates alone.
const FIRST_LINE_OF_WATCH: &str = "# ---- Again and again: ";
/// The way out, at the end of each error.
const WAY_OUT: &str = "install it (`make install` in witlet's checkout) or set WITLET=/path/to/witlet";

/// `{here}` in a case is a folder with the programs `witlet` and `a b/wit$let`, and `text`, which is no program.
struct Case {
    /// The variable `WITLET`.
    variable: Option<&'static str>,
    /// Whether the path has a `witlet`.
    on_path: bool,
    /// What [`PROGRAM_FILE`] holds; without it, the file is empty.
    file: Option<&'static str>,
    /// The command that is run, or what is said of its absence.
    command: Result<&'static str, &'static str>,
}

const CASES: &[Case] = &[
    Case { variable: None, on_path: false, file: None, command: Err("witlet is not on PATH") },
    Case { variable: None, on_path: true, file: None, command: Ok("witlet") },
    Case { variable: Some("{here}/witlet"), on_path: false, file: None, command: Ok("{here}/witlet") },
    Case { variable: Some("{here}/witlet -v"), on_path: false, file: None, command: Ok("{here}/witlet -v") },
    Case { variable: Some("{here}/witlet"), on_path: true, file: MAKER, command: Ok("{here}/witlet") },
    Case { variable: None, on_path: true, file: MAKER, command: Ok("witlet") },
    Case { variable: None, on_path: false, file: MAKER, command: Ok("'{here}/a b/wit$let'") },
    Case {
        variable: None,
        on_path: false,
        file: Some("{here}/gone"),
        command: Err("witlet is not on PATH and {here}/gone that made this project is gone"),
    },
    Case {
        variable: Some("{here}/gone"),
        on_path: true,
        file: MAKER,
        command: Err("WITLET={here}/gone is no program"),
    },
    Case {
        variable: Some("{here}/text"),
        on_path: true,
        file: None,
        command: Err("WITLET={here}/text is no program"),
    },
    Case { variable: Some("{here}"), on_path: true, file: None, command: Err("WITLET={here} is no program") },
];

/// A program whose path is a word only in quotes.
const MAKER: Option<&str> = Some("'{here}/a b/wit$let'");

#[test]
fn a_test_runs_the_witlet_that_is_set_or_on_the_path_or_made_the_project() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let tools = folder.path().join("tools");
    fs::create_dir_all(&tools).expect("a temporary folder");
    for tool in TOOLS {
        symlink(on_path(tool), tools.join(tool)).expect("a temporary folder");
    }
    for program in ["witlet", "a b/wit$let"] {
        write(&folder.path().join(program), b"#!/bin/sh\n", 0o755);
    }
    write(&folder.path().join("text"), b"no program", 0o644);
    for language in Language::ALL {
        let project_folder = folder.path().join(language.as_str());
        for file in project(language, Role::Admission) {
            write(&project_folder.join(&file.path), &file.contents, 0o644);
        }
        for (number, case) in CASES.iter().enumerate() {
            check(case, &project_folder, folder.path(), &format!("case {number} in {language}"));
        }
    }
}

/// Runs `make test` of the project, as the case has it: without a program really, and else only to see what it would do.
fn check(case: &Case, project_folder: &Path, here: &Path, what: &str) {
    let fill = |text: &str| text.replace("{here}", &here.display().to_string());
    let line = case.file.map(|program| fill(program) + "\n").unwrap_or_default();
    write(&project_folder.join(PROGRAM_FILE), line.as_bytes(), 0o644);
    let path = fill(if case.on_path { "{here}/tools:{here}" } else { "{here}/tools" });
    let mut make = Command::new(here.join("tools/make"));
    make.env_clear().env("PATH", path).current_dir(project_folder);
    if let Some(value) = case.variable {
        make.env("WITLET", fill(value));
    }
    match case.command {
        Ok(command) => {
            let is_maker = !case.on_path && case.variable.is_none();
            runs(&make.args(["-n", "test"]).output().expect("make"), &fill(command), is_maker, what);
        }
        Err(said) => {
            let before = paths(project_folder);
            fails(&make.arg("test").output().expect("make"), &fill(said), what);
            assert_eq!(paths(project_folder), before, "{what}: nothing is half done");
        }
    }
}

/// Fails unless the last command that make would run is the kit's by this program, and a maker is named.
fn runs(output: &Output, command: &str, is_maker: bool, what: &str) {
    let (out, err) = printed(output);
    assert!(output.status.success(), "{what}: {err}");
    let last = out.lines().last().unwrap_or_default();
    assert!(last.starts_with(&format!("{command} plugin test my-plugin.wasm")), "{what}: {out}");
    let named = err.contains(&format!("witlet is not on PATH: using {command} that made this project"));
    assert_eq!(named, is_maker, "{what}: {err}");
}

/// Fails unless make ended with 2 after one line that names what is missing, and the way out.
fn fails(output: &Output, said: &str, what: &str) {
    let (out, err) = printed(output);
    assert_eq!((output.status.code(), out.as_str()), (Some(2), ""), "{what}: {err}");
    let one_line = err.trim_end_matches('\n');
    assert!(!one_line.contains('\n') && one_line.contains(&format!("{said}: {WAY_OUT}")), "{what}: {err}");
}

#[test]
fn all_makefiles_look_for_the_program_with_the_same_lines() {
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..");
    let mut makefiles: Vec<(String, String)> = Vec::new();
    for path in OF_WORKSPACE {
        let text = fs::read_to_string(repository.join(path)).expect("a Makefile");
        makefiles.push(((*path).to_owned(), text));
    }
    for language in Language::ALL {
        for file in project(language, Role::Admission) {
            if file.path.ends_with(".mk") || (language == Language::Rust && file.path == "Makefile") {
                let text = String::from_utf8(file.contents).expect("a Makefile is text");
                makefiles.push((format!("{language}: {}", file.path), text));
            }
        }
    }
    assert_eq!(makefiles.len(), Language::ALL.len() + OF_WORKSPACE.len());
    let lines = |text: &str| {
        let (_, rest) = text.split_once(FIRST_LINE)?;
        Some(rest.split_once(LAST_LINE)?.0.to_owned())
    };
    let (first, expected) = makefiles.first().expect("there are some");
    let expected = lines(expected).unwrap_or_else(|| panic!("{first} doesn't look for the program"));
    for (path, text) in &makefiles {
        assert_eq!(lines(text).as_deref(), Some(expected.as_str()), "{path} differs from {first}");
        // What calls the program has found it before.
        assert!(!text.contains("\t$(WITLET)") && text.contains("\ntest: witlet "), "{path}");
    }
}

#[test]
fn all_templates_watch_with_the_same_lines_what_they_have() {
    let mut first: Option<String> = None;
    for language in Language::ALL {
        for role in Role::ALL {
            let files = project(language, role);
            let made = files.iter().find(|file| {
                file.path.ends_with(".mk") || (language == Language::Rust && file.path == "Makefile")
            });
            let makefile = text(&files, &made.expect("there is one").path).to_owned();
            let (before, rest) = makefile.split_once(FIRST_LINE_OF_WATCH).expect("it watches");
            let lines = rest.split_once("\tdone\n").expect("the loop ends").0;
            assert_eq!(lines, first.get_or_insert_with(|| lines.to_owned()), "{language}");
            let (_, watched) = before.rsplit_once("\nWATCHED = ").expect("it says what it watches");
            let words: BTreeSet<&str> = watched.split_whitespace().collect();
            for file in &files {
                let top = file.path.split('/').next().unwrap_or_default();
                let is_watched = words.contains(top)
                    || top.ends_with(".py") && words.contains("*.py")
                    || file.path.ends_with(".go") && words.contains("'*.go'")
                    || top == "cases.yaml" && words.contains("$(CASES)");
                // What says how a plugin is used, and what holds nothing that a test sees.
                let is_other =
                    matches!(top, ".github" | ".gitignore" | ".npmrc" | "README.md" | "plugins.yaml");
                assert!(is_watched || is_other, "{language} {role}: {} isn't watched", file.path);
            }
        }
    }
}

#[test]
fn the_path_of_the_program_stays_on_its_machine() {
    for language in Language::ALL {
        let files = project(language, Role::Admission);
        assert!(files.iter().all(|file| file.path != PROGRAM_FILE), "{language}");
        let ignored = text(&files, ".gitignore");
        assert!(ignored.lines().any(|line| line == format!("/{PROGRAM_FILE}")), "{language}: {ignored}");
    }
}

/// The path of a tool of this machine.
fn on_path(tool: &str) -> PathBuf {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut found = std::env::split_paths(&path).map(|folder| folder.join(tool));
    found.find(|path| path.is_file()).unwrap_or_else(|| panic!("{tool} is not on PATH"))
}

fn write(path: &Path, contents: &[u8], mode: u32) {
    fs::create_dir_all(path.parent().expect("it is below a folder")).expect("a temporary folder");
    fs::write(path, contents).expect("a temporary folder");
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("a temporary folder");
}

/// All paths below a folder.
fn paths(folder: &Path) -> BTreeSet<PathBuf> {
    let mut found = BTreeSet::new();
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            found.extend(paths(&path));
        }
        found.insert(path);
    }
    found
}

fn printed(output: &Output) -> (String, String) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (text(&output.stdout), text(&output.stderr))
}
