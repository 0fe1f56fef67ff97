//! `requires` and `optional`: what this host takes, skips and refuses, whatever a later release may write.

use std::collections::BTreeSet;

use crate::plugin::config::{FEATURES, REQUIRES_MAX, SkippedEntry, parse};
use crate::worlds;

use super::{SHIPPED, error, file, one};

const PLAIN: &str = "- {name: a, component: a.wasm, admission: {}}\n";

#[test]
fn a_host_that_has_what_is_required_takes_the_entry() {
    let entry = one("- {name: a, requires: [shadow, record], component: a.wasm, admission: {}}");
    assert_eq!(entry.name, "a");
    let optional = one("- {name: b, requires: [oci], optional: true, component: b.wasm, admission: {}}");
    assert_eq!(optional.name, "b");
    let whole = file(PLAIN).replace("plugins:", "requires: [admission-0.1]\nplugins:");
    assert!(parse(&whole, SHIPPED).is_ok_and(|taken| taken.plugins.len() == 1 && taken.skipped.is_empty()));
}

#[test]
fn grants_that_came_later_have_a_feature_each() {
    let taken = parse(
        &file(
            "- {name: a, requires: [probe-0.2, tls-authorities, tls-client-certificate, network-pod-loopback], \
             component: a.wasm, probe: {}, grants: {network: [pod, pod-loopback], tlsAuthorities: [ca], \
             tlsClientCertificate: me}}\nsecrets: [{name: ca, file: ca.pem}, {name: me, file: me.pem}]\n",
        ),
        SHIPPED,
    );
    let taken = taken.unwrap_or_else(|error| panic!("{error}"));
    assert!(taken.skipped.is_empty());
    let names = taken.plugins[0].grants.names();
    assert_eq!(names, ["network", "tlsAuthorities", "tlsClientCertificate"]);
}

/// Fields of a file that are as old as `requires`: each host that knows that knows them.
const AS_OLD_AS_REQUIRES: &str = "
    admission allow apiVersion component config conformance exclude exec failed failurePolicy file files
    grants guestPath idle images instances interval key keys kind kitVersion labelSelector limits
    loadTimeout matchExpressions matchLabels matches max maxPods memory mode name namePrefix namespaces
    network operations operator optional order path plugins podSecurity podSource priorityClasses probe
    probeType pullCredentials readOnly record requireConformance requires secrets serviceAccounts
    sources state systemPods timeout tls uses values warm
";

/// Younger fields, by the feature that a file requires which has them.
const YOUNGER: &[(&str, &str)] = &[
    ("require-signature", "requireSignature"),
    ("decision-log", "decisionLog"),
    ("data", "data"),
    ("fetched-data", "url oci sha256 refresh maxAge token caFile"),
    ("shadow-of", "shadowOf"),
    ("record-triggers", "on"),
    ("recheck", "recheck"),
    (
        "rollout",
        "rollout of percent soak stepPercent errorBudget maxErrorPercent maxErrors minCalls maxDifferences",
    ),
    ("tls-authorities", "tlsAuthorities"),
    ("tls-client-certificate", "tlsClientCertificate"),
];

/// A field's name in a file.
fn in_camel_case(field: &str) -> String {
    let mut words = field.split('_');
    let first = words.next().unwrap_or_default().to_owned();
    words.fold(first, |all, word| {
        let (first, rest) = word.split_at(1);
        all + &first.to_uppercase() + rest
    })
}

#[test]
fn every_field_that_is_younger_than_requires_has_a_feature() {
    let fields = include_str!("../document.rs")
        .lines()
        .filter_map(|line| line.strip_prefix("    pub(super) ")?.split_once(':'));
    let fields: BTreeSet<String> =
        fields.map(|(field, _)| in_camel_case(field.trim_start_matches("r#"))).collect();
    let younger = YOUNGER.iter().flat_map(|(feature, fields)| {
        assert!(FEATURES.iter().any(|known| known.name == *feature), "{feature}");
        fields.split_whitespace()
    });
    let known: BTreeSet<&str> = AS_OLD_AS_REQUIRES.split_whitespace().chain(younger).collect();
    let missing: Vec<&String> = fields.iter().filter(|field| !known.contains(field.as_str())).collect();
    assert!(
        missing.is_empty(),
        "a file with them is refused by older hosts, and no feature says so: {missing:?}"
    );
    let gone: Vec<&str> = known.into_iter().filter(|name| !fields.contains(*name)).collect();
    assert!(gone.is_empty(), "there are no such fields: {gone:?}");
}

#[test]
fn an_optional_entry_of_a_later_release_is_skipped_by_name_whatever_is_in_it() {
    let later = "- {name: later, requires: [shadow, time-travel, wings], optional: true, component: 'ipfs://x', \
                 admission: {order: first, match: {phases: [moon]}}, future: [1, {a: b}]}\n";
    let skipped =
        SkippedEntry { name: "later".to_owned(), lacks: vec!["time-travel".to_owned(), "wings".to_owned()] };
    for entries in [format!("{later}{PLAIN}"), format!("{PLAIN}{later}")] {
        let taken = parse(&file(&entries), SHIPPED).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(taken.skipped, std::slice::from_ref(&skipped));
        let names: Vec<&str> = taken.plugins.iter().map(|plugin| plugin.name.as_str()).collect();
        assert_eq!(names, ["a"], "the others are used");
    }
    assert_eq!(skipped.to_string(), "is skipped: this host has no features time-travel, wings");
    let wrong = format!("{later}- {{name: b, component: b.wasm, admission: {{}}, colour: red}}\n");
    let reported = error(&file(&wrong));
    assert!(reported.contains("line 5") && reported.contains("colour"), "by its own line: {reported}");
    let reported = error(&file(&format!("{later}- {{name: 'B b', component: b.wasm, admission: {{}}}}\n")));
    assert!(reported.starts_with("plugins[1].name"), "by its own place: {reported}");
}

#[test]
fn what_this_host_lacks_is_refused_unless_it_is_optional() {
    let many =
        format!("- {{name: a, requires: [{}], component: a.wasm, admission: {{}}}}", "oci, ".repeat(33));
    let cases = [
        (
            "- {name: a, requires: [oci, wings], component: a.wasm, admission: {}, wings: 2}",
            "plugins[0].requires[1]: this host has no feature \"wings\": `witlet plugin features` lists what it has; with `optional: true` a host that doesn't have it skips the entry",
        ),
        (
            "- {name: a, optional: true, component: a.wasm, admission: {}}",
            "plugins[0].optional: requires `requires`: set it, or remove this",
        ),
        (
            "- {name: 'A b', requires: [wings], optional: true}",
            "plugins[0].name: \"A b\" must have at most 63 lower-case letters",
        ),
        (&many, "plugins[0].requires: must have at most 32 items, found 33"),
    ];
    for (entries, words) in cases {
        let reported = error(&file(entries));
        assert!(reported.starts_with(words), "{reported:?} doesn't begin with {words:?}");
    }
    let whole = file(PLAIN).replace("plugins:", "requires: [shadow, wings]\nfuture: {a: 1}\nplugins:");
    assert_eq!(
        error(&whole),
        "requires[1]: this host has no feature \"wings\": `witlet plugin features` lists what it has"
    );
    assert_eq!(REQUIRES_MAX, 32);
}

#[test]
fn features_have_names_of_their_own_and_contracts_that_are_served() {
    let mut names: Vec<&str> = FEATURES.iter().map(|feature| feature.name).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), FEATURES.len());
    let contracts = [
        ("admission-", worlds::admission::VERSIONS),
        ("probe-", worlds::probe::VERSIONS),
        ("pod-source-", worlds::pod_source::VERSIONS),
    ];
    for (role, versions) in contracts {
        let tracks: Vec<&str> = names.iter().filter_map(|name| name.strip_prefix(role)).collect();
        assert!(tracks.contains(&"0.1") && tracks.contains(&"0.2"), "{role}: {tracks:?}");
        for track in tracks {
            let begin = format!("{track}.");
            assert!(
                versions.iter().any(|version| version.starts_with(&begin)),
                "{role}{track}: {versions:?}"
            );
        }
    }
}
