//! Every guest program of the repository is named by a test: one that never runs breaks unnoticed.

use std::collections::BTreeSet;
use std::path::Path;

use libtest_mimic::Failed;
use witlet_languages::{GO_RUNTIME, examples, repository};
use witlet_templates::Language;

/// Where guest programs are. A folder in one of them is a program if it has one of [`PROGRAMS`]' files.
const FOLDERS: &[&str] = &[
    "tests/guests",
    "tests/guests/all-functions",
    "tests/guests/all-functions-0.2",
    "examples/plugins/rust",
    "examples/plugins/c",
    "examples/plugins/python",
    "examples/plugins/javascript",
    "examples/plugins/go",
    "examples/plugins/cpp",
    "plugins",
];
/// What a program begins with.
const PROGRAMS: &[&str] = &["Cargo.toml", "Makefile", "package.json"];
/// Where tests are that name programs of the workspace.
const TESTS: &[&str] = &["tests", "host"];
/// Lists the components that ship; `tests/plugin-host/src/kit/shipped.rs` puts each of them through the kit.
const BUNDLE: &str = "host/witlet/bundle/src/lib.rs";

/// Fails with every program that no test names.
pub(crate) fn all_are_used() -> Result<(), Failed> {
    let words = words_of_tests();
    let bundle = std::fs::read_to_string(repository().join(BUNDLE))?;
    let mut unused = Vec::new();
    let mut found = 0;
    for folder in FOLDERS {
        for name in programs(&repository().join(folder))? {
            let path = format!("{folder}/{name}");
            found += 1;
            let constant = name.replace('-', "_").to_uppercase();
            let ships = || bundle.contains(&format!("component: components::{constant} "));
            let named = if *folder == "plugins" { ships() } else { words.contains(&constant) };
            if !named && !built_by_this_suite(folder, &name) {
                unused.push(path);
            }
        }
    }
    if found == 0 {
        return Err("no guest program was found at all".into());
    }
    if unused.is_empty() { Ok(()) } else { Err(format!("no test runs {}", unused.join(", ")).into()) }
}

/// Folders with a program in them, by name.
fn programs(folder: &Path) -> Result<Vec<String>, Failed> {
    let mut names = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(|cause| format!("{}: {cause}", folder.display()))? {
        let path = entry?.path();
        if PROGRAMS.iter().any(|file| path.join(file).is_file()) {
            names.extend(path.file_name().map(|name| name.to_string_lossy().into_owned()));
        }
    }
    names.sort();
    Ok(names)
}

/// The tests of `main.rs` build these in every language.
fn built_by_this_suite(folder: &str, name: &str) -> bool {
    if folder.starts_with("tests/guests/all-functions") {
        return Language::parse(name.split('-').next().unwrap_or(name)).is_some();
    }
    if folder == "tests/guests" {
        return name == GO_RUNTIME;
    }
    let of = folder.strip_prefix("examples/plugins/").and_then(Language::parse);
    of.is_some_and(|language| examples(language).any(|example| example == name))
}

/// Every word of all test programs: they get a guest of the workspace by its constant in `witlet_test_guests`.
fn words_of_tests() -> BTreeSet<String> {
    let own = repository().join("tests/languages");
    let mut words = BTreeSet::new();
    let mut folders: Vec<_> = TESTS.iter().map(|folder| repository().join(folder)).collect();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() && !path.is_symlink() && path != own && !path.ends_with("target") {
                folders.push(path);
            } else if is_test(&path) {
                let text = std::fs::read_to_string(&path).unwrap_or_default();
                let in_a_word = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
                words.extend(text.split(|letter| !in_a_word(letter)).map(str::to_owned));
            }
        }
    }
    words
}

/// Whether this is a test program, or tests next to code; the guests' own sources name them, too.
fn is_test(path: &Path) -> bool {
    let text = path.to_string_lossy();
    let guest = text.contains("/tests/guests/");
    text.ends_with(".rs") && !guest && (text.contains("/tests/") || text.ends_with("tests.rs"))
}
