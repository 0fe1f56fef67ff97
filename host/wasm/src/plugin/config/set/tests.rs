//! Which files belong to a set, and what a set may not name.

use super::super::{Shipped, parse};
use super::*;

const DIGEST: &str =
    "oci://registry.example.com/a@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

fn files(text: &str) -> Result<Vec<(String, SetFileKind)>, String> {
    let text = format!("apiVersion: witlet.dev/v1alpha1\nkind: PluginConfiguration\n{text}");
    let shipped = Shipped { components: &["redis"], ..Shipped::default() };
    let configuration = parse(&text, shipped).expect("a plugin file");
    let files = files_of_set(&configuration).map_err(|error| error.to_string())?;
    Ok(files.into_iter().map(|file| (file.name, file.kind)).collect())
}

fn entry(fields: &str) -> String {
    format!("plugins:\n  - {{name: a, admission: {{}}, {fields}}}\n")
}

#[test]
fn relative_files_are_part_of_a_set_and_absolute_ones_are_the_nodes() {
    use SetFileKind::{Component, Data, Report};
    let cases: [(String, Vec<(&str, SetFileKind)>); 6] = [
        (entry("component: ./a.wasm"), vec![("a.wasm", Component)]),
        (entry("component: team/./a.wasm"), vec![("team/a.wasm", Component)]),
        (entry(&format!("component: '{DIGEST}', pullCredentials: /etc/witlet/r.json")), vec![]),
        (
            entry("component: a.wasm, data: [{name: one, file: one.json}, {name: two, file: /etc/two.json}]"),
            vec![("a.wasm", Component), ("one.json", Data)],
        ),
        (
            entry("component: a.wasm") + "requireConformance: {keys: [/etc/witlet/ci.pem]}",
            vec![("a.wasm", Component), ("a.wasm.conformance.json", Report)],
        ),
        (
            entry("component: a.wasm, conformance: r.json") + "requireConformance: {keys: [/etc/ci.pem]}",
            vec![("a.wasm", Component), ("r.json", Report)],
        ),
    ];
    for (text, expected) in cases {
        let expected: Vec<_> = expected.into_iter().map(|(name, kind)| (name.to_owned(), kind)).collect();
        assert_eq!(files(&text), Ok(expected), "{text}");
    }
    assert_eq!(files("plugins:\n  - {name: r, component: builtin:redis, probe: {}}\n"), Ok(vec![]));
}

#[test]
fn a_component_runs_on_the_engines_of_all_roles_that_entries_give_it() {
    use EngineKind::{Asynchronous, Synchronous};
    let text = "apiVersion: witlet.dev/v1alpha1\nkind: PluginConfiguration\nplugins:\n\
        - {name: one, admission: {}, component: a.wasm}\n\
        - {name: two, admission: {}, component: ./a.wasm}\n\
        - {name: three, probe: {type: three}, component: b.wasm}\n\
        - {name: four, admission: {}, probe: {type: four}, component: c.wasm}\n\
        - {name: five, admission: {}, component: builtin:redis}\n";
    let shipped = Shipped { components: &["redis"], ..Shipped::default() };
    let engines = engines_of_set(&parse(text, shipped).expect("a plugin file"));
    let expected = [
        ("a.wasm", vec![Synchronous]),
        ("b.wasm", vec![Asynchronous]),
        ("c.wasm", vec![Synchronous, Asynchronous]),
    ];
    assert_eq!(engines, expected.map(|(name, kinds)| (name.to_owned(), kinds)).into_iter().collect());
}

#[test]
fn what_does_not_belong_into_a_set_is_refused_by_its_field() {
    let cases = [
        (
            entry("component: /usr/lib/a.wasm"),
            "plugin \"a\": component: /usr/lib/a.wasm isn't in the set: name a file next to the plugin file, builtin:NAME or oci://…@sha256:…",
        ),
        (entry("component: ../a.wasm"), "plugin \"a\": component: ../a.wasm isn't in the set"),
        (
            entry("component: a.wasm, data: [{name: d, file: ../d.json}]"),
            "plugin \"a\": data \"d\": ../d.json must be inside of the set's folder",
        ),
        (
            entry("component: a.wasm") + "secrets: [{name: s, file: s.txt}]",
            "secrets[0].file: s.txt is relative: what isn't part of a set is named by an absolute path of the node",
        ),
        (
            entry("component: a.wasm") + "requireSignature: {keys: [k.pub]}",
            "requireSignature.keys[0]: k.pub is relative",
        ),
        (
            entry(&format!("component: '{DIGEST}', pullCredentials: r.json")),
            "plugin \"a\": pullCredentials: r.json is relative",
        ),
    ];
    for (text, expected) in cases {
        let error = files(&text).expect_err("refused");
        assert!(error.starts_with(expected), "{error}");
    }
}
