//! What belongs to a project.

use std::collections::BTreeMap;

use witlet_templates::{Language, Role};

use super::{Project, collect};

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
