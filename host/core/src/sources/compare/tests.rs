//! Which pods two sets differ in.

use super::*;

fn set(manifests: &[&str]) -> PodSetDigest {
    PodSetDigest::of(&manifests.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>())
}

#[test]
fn sets_differ_by_pods_and_by_what_manifests_say() {
    use PodDifference::{Added, Changed, Missing};
    let yaml = "metadata: {name: a, namespace: edge}\nspec: {hostname: x}\n";
    let json = r#"{"spec": {"hostname": "x"}, "metadata": {"namespace": "edge", "name": "a"}}"#;
    let other = "metadata: {name: a, namespace: edge}\nspec: {hostname: y}\n";
    type Case<'a> = (&'a [&'a str], &'a [&'a str], &'a [(&'a str, PodDifference)]);
    let cases: [Case<'_>; 7] = [
        (&[], &[], &[]),
        (&[yaml], &[json], &[]),
        (&[yaml], &[other], &[("edge/a", Changed)]),
        (&[yaml], &[], &[("edge/a", Added)]),
        (&[], &["metadata: {name: b}"], &[("default/b", Missing)]),
        (&["metadata: {name: z}"], &["metadata: {name: b}"], &[("default/b", Missing), ("default/z", Added)]),
        (&["nonsense"], &["nonsense"], &[]),
    ];
    for (ours, theirs, expected) in cases {
        let found = set(ours).differences(&set(theirs));
        let found: Vec<_> = found.iter().map(|(pod, difference)| (&**pod, *difference)).collect();
        assert_eq!(found, expected, "{ours:?} and {theirs:?}");
    }
}

#[test]
fn what_is_no_manifest_is_named_by_its_digest() {
    let found = set(&["nonsense"]).differences(&set(&["{"]));
    let names: Vec<&str> = found.iter().map(|(pod, _)| &**pod).collect();
    assert!(names.iter().all(|name| name.starts_with("a manifest that can't be read, sha256:")), "{names:?}");
    assert_eq!(names.len(), 2);
}
