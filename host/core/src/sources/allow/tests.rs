//! What a source may bring: pods by rule, sets as a whole.

use expect_test::{Expect, expect};

use super::*;
use crate::pod::static_pod::CONFIG_HASH;

fn allowance() -> Allowance {
    Allowance { namespaces: vec!["edge".to_owned(), "team-*".to_owned()], ..Allowance::default() }
}

/// A pod in namespace `edge` with these further fields of metadata and spec.
fn manifest(name: &str, metadata: &str, spec: &str) -> String {
    format!(
        "apiVersion: v1\nkind: Pod\nmetadata: {{name: {name}, namespace: edge{metadata}}}\nspec: {{containers: [{{name: a, image: b}}]{spec}}}\n"
    )
}

fn plain(name: &str) -> String {
    manifest(name, "", "")
}

fn taken(manifests: &[String], allowance: &Allowance, last: &[Arc<Pod>]) -> Result<AllowedPods, SetError> {
    take(manifests, &SourceName::from("src"), "N1", allowance, last)
}

/// Names of the pods, then one line for each that was left out.
fn show(taken: &AllowedPods) -> String {
    let names: Vec<_> = taken.pods.iter().map(|pod| PodFullName::of(pod).to_string()).collect();
    let mut lines = vec![format!("[{}] complete: {}", names.join(" "), taken.complete)];
    lines.extend(taken.left_out.iter().map(|left_out| match left_out {
        LeftOut::Forbidden { pod, rules } => {
            let rules: Vec<_> = rules.iter().map(Rule::to_string).collect();
            format!("{pod}: {}", rules.join("; "))
        }
        LeftOut::Invalid { place, message } => format!("{place}: {message}"),
    }));
    lines.join("\n")
}

fn check(manifests: &[String], expected: Expect) {
    expected.assert_eq(&show(&taken(manifests, &allowance(), &[]).expect("a set")));
}

#[test]
fn pods_become_static_ones_of_this_node_and_source() {
    let taken = taken(&[plain("web")], &allowance(), &[]).expect("a set");
    let pod = &taken.pods[0];
    let annotations = pod.metadata.annotations.clone().unwrap_or_default();
    assert_eq!(annotations.get(CONFIG_SOURCE).map(String::as_str), Some("src"));
    assert_eq!(annotations.get(CONFIG_HASH), pod.metadata.uid.as_ref());
    assert_eq!(pod.metadata.name.as_deref(), Some("web-n1"));
    assert_eq!(pod.spec.as_ref().and_then(|spec| spec.restart_policy.as_deref()), Some("Always"));
}

#[test]
fn a_pod_beyond_the_allowance_is_left_out_by_name_and_rule_and_the_rest_counts() {
    check(
        &[
            plain("good"),
            plain("ns").replace("namespace: edge", "namespace: kube-system"),
            plain("none").replace(", namespace: edge", ""),
            manifest("node", "", ", nodeName: other"),
            manifest("own-node", "", ", nodeName: N1"),
            manifest("source", ", annotations: {kubernetes.io/config.source: file}", ""),
            manifest("own-source", ", annotations: {kubernetes.io/config.source: src}", ""),
            manifest("mirror", ", annotations: {kubernetes.io/config.mirror: x}", ""),
            manifest("hash", ", annotations: {kubernetes.io/config.hash: x}", ""),
            manifest("host", "", ", hostNetwork: true, hostPID: true"),
            plain("good"),
            manifest("team", "", "").replace("namespace: edge", "namespace: team-a"),
        ],
        expect![[r#"
            [edge/good-n1 edge/own-node-n1 edge/own-source-n1 team-a/team-n1] complete: true
            kube-system/ns-n1: namespace kube-system is not in podSource.allow.namespaces
            default/none-n1: namespace default is not in podSource.allow.namespaces
            edge/node-n1: spec.nodeName must be empty or this node's name, found "other"
            edge/source-n1: annotation kubernetes.io/config.source must not name another source, found "file"
            edge/mirror-n1: annotation kubernetes.io/config.mirror must not be set by a source
            edge/hash-n1: annotation kubernetes.io/config.hash must not be set by a source
            edge/host-n1: violates PodSecurity baseline: spec.hostNetwork may not be true; spec.hostPID may not be true
            edge/good-n1: duplicate name: an earlier pod of the set has it"#]],
    );
}

#[test]
fn without_a_namespace_nothing_passes_and_a_prefix_holds_for_the_written_name() {
    let none = Allowance::default();
    assert_eq!(taken(&[plain("web")], &none, &[]).expect("a set").pods, []);
    let prefixed = Allowance { name_prefix: Some("edge-".to_owned()), ..allowance() };
    let found = taken(&[plain("edge-web"), plain("web")], &prefixed, &[]).expect("a set");
    expect![[r#"
        [edge/edge-web-n1] complete: true
        edge/web-n1: metadata.name must begin with edge- (podSource.allow.namePrefix)"#]]
    .assert_eq(&show(&found));
    let privileged = Allowance { pod_security: SecurityLevel::Privileged, ..allowance() };
    assert_eq!(
        taken(&[manifest("a", "", ", hostPID: true")], &privileged, &[]).expect("a set").pods.len(),
        1
    );
    let restricted = Allowance { pod_security: SecurityLevel::Restricted, ..allowance() };
    assert_eq!(taken(&[plain("a")], &restricted, &[]).expect("a set").pods.len(), 0);
}

#[test]
fn a_fixed_uid_is_the_sources_own() {
    let fixed = |name: &str| manifest(name, ", uid: u-1", "");
    let uid = |source: &str| {
        let taken = take(&[fixed("a")], &SourceName::from(source), "n1", &allowance(), &[]).expect("a set");
        taken.pods[0].metadata.uid.clone()
    };
    assert_eq!(uid("src"), uid("src"));
    assert_ne!(uid("src"), uid("other"), "no source can name another's pods");
    assert_ne!(uid("src").as_deref(), Some("u-1"));
    check(
        &[fixed("a"), fixed("b")],
        expect![[r#"
            [edge/a-n1] complete: true
            edge/b-n1: duplicate UID: an earlier pod of the set has it"#]],
    );
}

#[test]
fn what_is_no_pod_is_reported_and_makes_the_set_incomplete() {
    let bomb = format!(
        "a: &a [x,x,x,x,x,x,x,x,x,x]\n{}",
        ('b'..='i')
            .map(|c| {
                let p = char::from(u8::try_from(c).expect("ASCII") - 1);
                format!("{c}: &{c} [*{p},*{p},*{p},*{p},*{p},*{p},*{p},*{p},*{p},*{p}]\n")
            })
            .collect::<String>()
    );
    let two = format!("{}---\n{}", plain("a"), plain("b"));
    check(
        &[
            plain("good"),
            plain("svc").replace("kind: Pod", "kind: Service"),
            two,
            "{apiVersion: v1, kind: PodList, items: []}".to_owned(),
            manifest("typo", "", ", contaners: []"),
            String::new(),
            bomb,
        ],
        expect![[r#"
            [edge/good-n1] complete: false
            manifest 2: document 1 (line 1): kind must be Pod, PodList or List of v1, found Service of v1
            manifest 3: must have exactly one pod, found 2
            manifest 4: must have exactly one pod, found 0
            manifest 5 (pod edge/typo-n1): document 1 (line 1): pod "typo": spec.contaners: unknown field
            manifest 6: the file is empty; remove it to have no pods
            manifest 7: document 1 (line 1): line 5, column 29: alias replay limit exceeded: total_replayed_events=100001 > 100000"#]],
    );
    let large = "#".repeat(MANIFEST_BYTES_MAX + 1);
    check(
        &[large],
        expect![[r#"
            [] complete: false
            manifest 1: must have at most 2097152 bytes, found 2097153"#]],
    );
}

#[test]
fn a_manifest_that_is_not_understood_ends_nothing() {
    let before = taken(&[plain("a"), plain("b")], &allowance(), &[]).expect("a set").pods;
    // Its name can be reported: that pod stays as it was, and the others are what the set says.
    let found =
        taken(&[manifest("a", "", ", contaners: []"), plain("c")], &allowance(), &before).expect("a set");
    assert_eq!(show(&found).lines().next(), Some("[edge/c-n1 edge/a-n1] complete: false"));
    assert!(Arc::ptr_eq(&found.pods[1], &before[0]));
    // It can't: nothing that was there goes.
    let found = taken(&["nonsense: [".to_owned(), plain("b")], &allowance(), &before).expect("a set");
    assert_eq!(show(&found).lines().next(), Some("[edge/b-n1 edge/a-n1] complete: false"));
    // A forbidden one goes all the same.
    let found =
        taken(&["nonsense: [".to_owned(), manifest("a", "", ", hostPID: true")], &allowance(), &before);
    assert_eq!(show(&found.expect("a set")).lines().next(), Some("[edge/b-n1] complete: false"));
    // And so does what isn't allowed any more.
    let smaller = Allowance { name_prefix: Some("b".to_owned()), ..allowance() };
    let found = taken(&["nonsense: [".to_owned()], &smaller, &before).expect("a set");
    assert_eq!(show(&found).lines().next(), Some("[edge/b-n1] complete: false"));
    let left = still_allowed(&before, &SourceName::from("src"), "N1", &smaller);
    assert_eq!(left.len(), 1);
}

#[test]
fn a_set_that_is_too_large_is_refused_as_a_whole() {
    let many: Vec<_> = (0..111).map(|n| plain(&format!("p{n}"))).collect();
    assert_eq!(taken(&many, &allowance(), &[]), Err(SetError::TooMany { found: 111, max: 110 }));
    assert_eq!(taken(&many[..110], &allowance(), &[]).expect("a set").pods.len(), 110);
    let flood: Vec<_> = (0..10_000).map(|n| plain(&format!("p{n}"))).collect();
    let generous = Allowance { pods_max: usize::MAX, ..allowance() };
    assert_eq!(taken(&flood, &generous, &[]), Err(SetError::TooMany { found: 10_000, max: PODS_MAX }));
    let heavy = vec!["#".repeat(MANIFEST_BYTES_MAX); 9];
    assert_eq!(taken(&heavy, &allowance(), &[]), Err(SetError::TooLarge { bytes: 9 * MANIFEST_BYTES_MAX }));
    assert_eq!(taken(&[], &allowance(), &[]), Err(SetError::NoPods));
}

#[test]
fn patterns_of_namespaces() {
    for (pattern, name, expected) in [
        ("*", "x", true),
        ("edge", "edge", true),
        ("edge", "edge-2", false),
        ("edge-*", "edge-2", true),
        ("*-prod", "a-prod", true),
        ("a*b*c", "axxbyyc", true),
        ("a*b*c", "acb", false),
        ("a*a", "a", false),
        ("", "x", false),
    ] {
        assert_eq!(glob(pattern, name), expected, "{pattern} {name}");
    }
}

#[test]
fn levels_have_names() {
    for level in [SecurityLevel::Privileged, SecurityLevel::Baseline, SecurityLevel::Restricted] {
        assert_eq!(level.as_str().parse(), Ok(level));
    }
    assert!("Baseline".parse::<SecurityLevel>().is_err());
}
