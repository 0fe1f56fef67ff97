//! Bundles in all their forms, and what is none.

use super::*;

fn pod(name: &str) -> String {
    format!("apiVersion: v1\nkind: Pod\nmetadata: {{name: {name}}}\n")
}

/// Names of the pods and the version; or the error.
fn check(text: &str, expected: &str) {
    let shown = match read(text.as_bytes()) {
        Ok(Bundle { pods, version }) => {
            let names = pods.iter().map(|pod| {
                let pod: Value = serde_json::from_str(pod).expect("JSON");
                assert_eq!(kind(&pod), (Some("v1"), Some("Pod")));
                pod.pointer("/metadata/name").and_then(Value::as_str).unwrap_or("?").to_owned()
            });
            let names: Vec<_> = names.collect();
            format!("[{}]{}", names.join(" "), version.map(|v| format!(" v{v}")).unwrap_or_default())
        }
        Err(error) => error.to_string(),
    };
    assert_eq!(shown, expected, "{text}");
}

#[test]
fn every_form_of_a_list_is_read() {
    check(&pod("a"), "[a]");
    check(&format!("# first\n{}---\n---\n{}", pod("a"), pod("b")), "[a b]");
    check("{apiVersion: v1, kind: PodList, items: [{metadata: {name: a}}]}", "[a]");
    check(r#"{"apiVersion":"v1","kind":"PodList","items":[]}"#, "[]");
    check(r#"[{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a"}}]"#, "[a]");
    check("- {apiVersion: v1, kind: Pod, metadata: {name: a}}\n", "[a]");
    check("[]", "[]");
    check("apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: Pod, metadata: {name: a}}", "[a]");
    check(
        "apiVersion: witlet.dev/v1alpha1\nkind: PodBundle\nversion: 7\nitems: [{metadata: {name: a}}]",
        "[a] v7",
    );
}

#[test]
fn a_bundle_is_taken_whole_or_not_at_all() {
    let empty = "the bundle is empty: to have no pods, let it be an empty list";
    for nothing in ["", " \n", "# nothing\n", "---\n---\n"] {
        check(nothing, empty);
    }
    let kinds = "not a Pod, PodList, List, PodBundle or list of pods";
    check(
        &format!("{}---\n{}", pod("a"), pod("b").replace("kind: Pod", "kind: Service")),
        &format!("document 2 is Service of v1, {kinds}"),
    );
    check(
        "[{metadata: {name: a}}]",
        &format!("item 1 of document 1 is an object without apiVersion or kind, {kinds}"),
    );
    check(
        "{apiVersion: v1, kind: List, items: [{apiVersion: v1, kind: PodList, items: []}]}",
        &format!("item 1 of document 1 is PodList of v1, {kinds}"),
    );
    check("hello", &format!("document 1 is a plain value, {kinds}"));
    check("{apiVersion: v1, kind: PodList}", "document 1 has no list of items");
    check(
        "{apiVersion: witlet.dev/v1alpha1, kind: PodBundle, version: -1, items: []}",
        "document 1 has a version that is no whole number from 0",
    );
    let twice = "apiVersion: witlet.dev/v1alpha1\nkind: PodBundle\nversion: 1\nitems: []\n";
    check(&format!("{twice}---\n{twice}"), "the bundle has several versions");
    assert!(matches!(read(b"a: [b"), Err(BundleError::Syntax { .. })));
    assert!(matches!(read(b"a: 1\na: 2"), Err(BundleError::Syntax { .. })));
    assert_eq!(read(&[0xff]), Err(BundleError::NotText));
}

#[test]
fn bombs_and_floods_are_refused() {
    let items = vec![r#"{"apiVersion":"v1","kind":"Pod"}"#; PODS_MAX + 1].join(",");
    check(&format!("[{items}]"), "the bundle has more than 1000 pods");
    let mut bomb = "a: &a [x,x,x,x,x,x,x,x,x,x]\n".to_owned();
    for (last, next) in ["a", "b", "c", "d", "e", "f"].iter().zip(["b", "c", "d", "e", "f", "g"]) {
        bomb.push_str(&format!("{next}: &{next} [{}]\n", vec![format!("*{last}"); 10].join(",")));
    }
    assert!(matches!(read(bomb.as_bytes()), Err(BundleError::Syntax { .. })));
    assert!(matches!(read("[".repeat(10_000).as_bytes()), Err(BundleError::Syntax { .. })));
}

#[test]
fn versions_never_go_back() {
    for (found, last, required, expected) in [
        (None, None, false, Ok(())),
        (None, None, true, Err(BundleError::NoVersion)),
        (Some(1), None, true, Ok(())),
        (Some(7), Some(7), false, Ok(())),
        (Some(8), Some(7), false, Ok(())),
        (Some(6), Some(7), false, Err(BundleError::Replayed { found: 6, last: 7 })),
        (None, Some(7), false, Err(BundleError::NoVersion)),
    ] {
        assert_eq!(check_version(found, last, required), expected);
    }
}
