//! What the file of a project says, and what isn't taken for one.

use serde_json::json;
use witlet_templates::render;

use super::*;

fn project() -> Project {
    let name = Name::parse("team-label").expect("a name");
    let files = render(Language::Go, Role::Admission, &name).expect("the name is free");
    Project::new(name, Language::Go, Role::Admission, &files)
}

#[test]
fn what_is_written_is_read_again() {
    let project = project();
    assert_eq!(Project::parse(&project.file().contents).expect("its own file"), project);
    assert!(
        project.files.contains_key("plugin.mk") && project.files.contains_key("sdk/go.mod"),
        "{project:?}"
    );
    assert!(
        !project.files.contains_key("main.go") && !project.files.contains_key("README.md"),
        "{project:?}"
    );
}

#[test]
fn what_is_no_such_file_is_refused_by_its_field() {
    let refused = |field: &str, value: serde_json::Value| {
        let mut document: serde_json::Value =
            serde_json::from_slice(&project().file().contents).expect("it is JSON");
        document[field] = value;
        Project::parse(document.to_string().as_bytes()).expect_err("it is refused").to_string()
    };
    for (field, value, words) in [
        ("kind", json!("Pod"), "found Pod of"),
        ("apiVersion", json!("witlet.dev/v9"), "witlet.dev/v9"),
        ("witlet", json!("new"), "witlet: found \"new\""),
        ("name", json!("../x"), "name: found"),
        ("language", json!("cobol"), "language: found \"cobol\""),
        ("role", json!("podSource"), "role: found"),
        ("files", json!({"../../etc/passwd": "0"}), "files: found \"../../etc/passwd\""),
        ("files", json!({"/etc/passwd": "0"}), "files: found"),
    ] {
        let said = refused(field, value);
        assert!(said.contains(words), "{field}: {said}");
    }
    assert!(matches!(Project::parse(b"no JSON"), Err(ProjectFileError::Format(_))));
}

#[test]
fn a_later_release_is_known_by_its_numbers() {
    let of = |version: &str| Project { version: version.to_owned(), ..project() }.is_newer();
    assert!(!of(VERSION) && !of("0.0.1") && of("999.0.0") && of("999.0.0-rc.1"));
    let cases = [("0.1.0", Some((0, 1, 0))), ("1.20.3+x", Some((1, 20, 3))), ("1.2", None), ("a.b.c", None)];
    for (version, numbers) in cases {
        assert_eq!(release(version), numbers, "{version}");
    }
}
