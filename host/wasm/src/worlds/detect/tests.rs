//! Which components are plugins.

use super::*;

const HANDLER: &str = "witlet:admission/handler@0.1.0";

fn obstacles(imports: &[&str], exports: &[&str]) -> Vec<String> {
    match detect(imports.iter().copied(), exports.iter().copied()) {
        Ok(_) => Vec::new(),
        Err(found) => found.iter().map(ToString::to_string).collect(),
    }
}

#[test]
fn a_handler_with_given_imports_is_found() {
    let imports = [
        "witlet:admission/types@0.1.0",
        "witlet:host/log@0.1.0",
        "witlet:host/config@0.1.0",
        "wasi:cli/environment@0.2.6",
        "wasi:sockets/tcp@0.2.0",
    ];
    let detected = detect(imports, [HANDLER]);
    assert_eq!(detected, Ok(Detected { version: Version::V0_1_0, denied: Vec::new() }));
}

#[test]
fn wasi_beyond_the_basics_links_as_refusals() {
    let detected = detect(["wasi:http/types@0.2.3", "wasi:http/outgoing-handler@0.2.3"], [HANDLER]);
    let denied = ["wasi:http/types@0.2.3", "wasi:http/outgoing-handler@0.2.3"].map(str::to_owned).to_vec();
    assert_eq!(detected, Ok(Detected { version: Version::V0_1_0, denied }));
}

#[test]
fn everything_in_the_way_is_told_at_once() {
    let told = obstacles(
        &["acme:rockets/launch@1.0.0", "witlet:host/secret@0.1.0", "witlet:host/log@0.2.0", "env"],
        &["wasi:cli/run@0.2.0"],
    );
    assert_eq!(
        told,
        [
            "it is no plugin: it exports wasi:cli/run@0.2.0; an admission handler exports \
             witlet:admission/handler@0.1.0",
            "it imports acme:rockets/launch@1.0.0, which nobody here provides",
            "it imports witlet:host/secret@0.1.0, which isn't granted",
            "it imports witlet:host/log@0.2.0, which isn't granted",
            "it imports env, which nobody here provides",
        ]
    );
}

#[test]
fn roles_and_versions_of_other_releases_are_told_apart() {
    let cases = [
        (
            "witlet:admission/handler@0.9.0",
            "it exports witlet:admission/handler@0.9.0, but this host serves version 0.1.0",
        ),
        (
            "witlet:probe/probe-type@0.1.0",
            "it exports witlet:probe/probe-type@0.1.0, a role that this release doesn't have",
        ),
        (
            "witlet:pod-source/source@0.1.0",
            "it exports witlet:pod-source/source@0.1.0, a role that this release doesn't have",
        ),
    ];
    for (export, told) in cases {
        assert_eq!(obstacles(&[], &[export]), [told]);
    }
    assert_eq!(
        obstacles(&[], &["witlet:probe/probe-type@0.1.0", HANDLER]),
        [""; 0],
        "another role is no obstacle"
    );
}

#[test]
fn what_is_told_of_foreign_names_is_bounded_and_printable() {
    let long = format!("acme:{}/x", "a".repeat(100_000));
    let escape = "acme:x/\u{1b}[2J\nforged";
    let many: Vec<String> = (0..200).map(|number| format!("acme:x/i{number}")).collect();
    let mut imports = vec![long.as_str(), escape];
    imports.extend(many.iter().map(String::as_str));
    let told = obstacles(&imports, &[HANDLER]);
    assert_eq!(told.len(), NAMES_MAX + 1);
    assert_eq!(told.last().map(String::as_str), Some("and 186 more"));
    assert!(told[0].len() < 2 * NAME_BYTES_MAX, "{}", told[0]);
    assert_eq!(told[1], "it imports acme:x/\\u{1b}[2J\\nforged, which nobody here provides");
}

#[test]
fn a_component_with_very_many_imports_is_refused() {
    let imports: Vec<String> = (0..=IMPORTS_MAX).map(|number| format!("wasi:x/i{number}@0.2.0")).collect();
    let all = imports.iter().map(String::as_str);
    assert!(detect(all.clone().take(IMPORTS_MAX), [HANDLER]).is_ok());
    assert_eq!(detect(all, [HANDLER]), Err(vec![Obstacle::TooManyImports]));
}
