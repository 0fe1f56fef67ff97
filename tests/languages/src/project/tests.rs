//! What belongs to a project.

use std::collections::BTreeMap;

use witlet_templates::{Language, Role};

use super::{Project, collect, examples, repository};

#[test]
fn what_builds_leave_behind_is_no_part_of_a_project() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    for path in
        ["src/main.c", "adapter/adapter.wasm", "node_modules/a/index.js", "plugin.wasm", ".venv/bin/python"]
    {
        let path = folder.path().join(path);
        std::fs::create_dir_all(path.parent().expect("it is below a folder")).expect("a temporary folder");
        std::fs::write(path, "x").expect("a temporary folder");
    }
    let mut files = BTreeMap::new();
    collect(folder.path(), "", 0, &mut files).expect("the folder can be read");
    assert_eq!(files.into_keys().collect::<Vec<_>>(), ["adapter/adapter.wasm", "src/main.c"]);
}

#[test]
fn a_folder_that_holds_itself_ends_the_reading() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    std::os::unix::fs::symlink(folder.path(), folder.path().join("again")).expect("a temporary folder");
    let error = collect(folder.path(), "", 0, &mut BTreeMap::new()).expect_err("it never ends");
    assert!(error.to_string().contains("in each other"), "{error}");
}

#[test]
fn a_template_is_a_project_of_its_own() {
    let project = Project::template(Language::Rust, Role::Probe, "my-probe").expect("a good name");
    assert!(project.in_place.is_none() && project.files.contains_key("wit/world.wit"));
    assert!(Project::template(Language::Rust, Role::Probe, "My Probe").is_err());
}

#[test]
fn every_language_has_its_examples_and_their_shared_cases() {
    for language in Language::ALL {
        for name in examples(language) {
            let project =
                Project::example(language, name).unwrap_or_else(|error| panic!("{language} {name}: {error}"));
            let cases = project.cases.unwrap_or_default();
            assert!(cases.is_file(), "{language} {name}: there is no {}", cases.display());
            // Its own `make test` takes the same file.
            let (makefile, _) = &project.files["Makefile"];
            let named = format!("CASES ?= ../../cases/{name}.yaml");
            assert!(String::from_utf8_lossy(makefile).lines().any(|line| line == named), "{language} {name}");
        }
    }
}

#[test]
fn every_file_of_shared_cases_is_answered_by_an_example_of_each_language() {
    let folder = repository().join("examples/plugins/cases");
    for file in std::fs::read_dir(folder).expect("the folder is there") {
        let path = file.expect("the folder can be read").path();
        let name = path.file_stem().and_then(|name| name.to_str()).unwrap_or_default();
        let languages =
            Language::ALL.iter().filter(|language| examples(**language).any(|example| example == name));
        assert!(languages.count() >= 3, "{name}: three languages or more share cases");
    }
}
