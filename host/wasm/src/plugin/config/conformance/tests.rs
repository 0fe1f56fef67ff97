//! What may be demanded of reports, and where an entry may say that its own is.

use super::super::{Shipped, parse};
use super::RequiredConformance;

const SHIPPED: Shipped<'_> = Shipped { reserved: &[], probe_types: &[], components: &["compose"] };

fn file(entry: &str) -> String {
    let head = "apiVersion: witlet.dev/v1alpha1\nkind: PluginConfiguration\nplugins:\n";
    format!("{head}- {{name: a, admission: {{}}, {entry}}}\n")
}

fn error(text: &str) -> String {
    match parse(text, SHIPPED) {
        Ok(taken) => panic!("taken: {taken:?}"),
        Err(error) => error.to_string(),
    }
}

/// A file that demands reports, with this entry.
fn demanding(required: &str, entry: &str) -> String {
    format!("{}requireConformance: {required}\n", file(entry))
}

#[test]
fn reports_are_demanded_for_the_whole_file() {
    let text = demanding(
        "{keys: [ci.pub.pem, /etc/witlet/other.pem], kitVersion: 0.2.0, failed: warn}",
        "component: a.wasm, conformance: reports/a.json",
    );
    let taken = parse(&text, SHIPPED).unwrap_or_else(|error| panic!("{error}"));
    let expected = RequiredConformance {
        keys: vec!["ci.pub.pem".into(), "/etc/witlet/other.pem".into()],
        kit_version: "0.2.0".parse().ok(),
        failed_too: true,
    };
    assert_eq!(taken.require_conformance, Some(expected));
    assert_eq!(taken.plugins[0].conformance.as_deref(), Some(std::path::Path::new("reports/a.json")));
    let plain = parse(&demanding("{keys: [a]}", "component: a.wasm"), SHIPPED).expect("taken");
    let required = plain.require_conformance.expect("it is there");
    assert_eq!((required.kit_version, required.failed_too), (None, false), "failures count as such");
}

#[test]
fn a_demand_that_no_one_could_meet_or_that_says_nothing_is_refused() {
    let component = "component: a.wasm";
    let cases = [
        (
            "{}",
            component,
            "requireConformance.keys: must have at least one public key that reports are signed with",
        ),
        ("{keys: []}", component, "requireConformance.keys: must have at least one public key"),
        ("{keys: ['']}", component, "requireConformance.keys[0]: must not be empty"),
        (
            "{keys: [a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p,q]}",
            component,
            "requireConformance.keys: must have at most 16 items, found 17",
        ),
        (
            "{keys: [a], kitVersion: '1'}",
            component,
            "requireConformance.kitVersion: must be a version such as 0.1.0, found \"1\"",
        ),
        (
            "{keys: [a], failed: allow}",
            component,
            "requireConformance.failed: must be `refuse` or `warn`, found \"allow\"",
        ),
        (
            "{keys: [a]}",
            "component: 'builtin:compose', conformance: a.json",
            "plugins[0].conformance: must not be set for built-in components",
        ),
        ("{keys: [a]}", "component: a.wasm, conformance: ''", "plugins[0].conformance: must not be empty"),
    ];
    for (required, entry, words) in cases {
        let reported = error(&demanding(required, entry));
        assert!(reported.starts_with(words), "{reported:?} doesn't begin with {words:?}");
    }
    let reported = error(&file("component: a.wasm, conformance: a.json"));
    assert!(reported.starts_with("plugins[0].conformance: requires requireConformance"), "{reported}");
    assert!(error(&demanding("{keys: [a], kit: 1}", component)).contains("unknown field"));
}
