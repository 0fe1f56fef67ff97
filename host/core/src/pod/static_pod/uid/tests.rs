//! UIDs against those of the real thing: kubelet 1.36.2 read the manifests of the tables and gave these UIDs.

use serde_json::{Value, json};

use super::*;
use crate::pod::SourceName;
use crate::pod::static_pod::Origin;
use crate::sources::manifest::static_pods;

const TABLES: [&str; 3] =
    [include_str!("tests/basics.txt"), include_str!("tests/spec.txt"), include_str!("tests/containers.txt")];

/// A manifest, where it was found, and what a kubelet made of it.
struct Vector {
    name: &'static str,
    node_name: &'static str,
    place: &'static str,
    uids: Vec<&'static str>,
    manifest: &'static str,
}

/// Each case has a line `=== name | node | place | UIDs` before its manifest.
fn vectors() -> Vec<Vector> {
    let cases = TABLES.iter().flat_map(|table| table.split("=== ").filter(|case| !case.is_empty()));
    let vectors = cases.map(|case| {
        let (head, manifest) = case.split_once('\n').expect("a line of its own");
        let [name, node_name, place, uids] =
            head.split(" | ").collect::<Vec<_>>().try_into().expect("four columns");
        Vector { name, node_name, place, uids: uids.split(',').collect(), manifest }
    });
    vectors.collect()
}

fn read(vector: &Vector) -> Vec<Pod> {
    let Vector { node_name, place, .. } = *vector;
    let source = if place.starts_with("http") { SourceName::http() } else { SourceName::file() };
    let pods = static_pods(vector.manifest.as_bytes(), Origin { source: &source, place, node_name });
    pods.unwrap_or_else(|error| panic!("{}: {error}", vector.name))
}

#[test]
fn static_pods_have_the_uids_that_a_kubelet_gives_them() {
    let vectors = vectors();
    assert_eq!(vectors.len(), 38);
    let has_its_uids = |vector: &Vector| {
        let pods = read(vector);
        pods.iter().map(|pod| pod.metadata.uid.as_deref()).eq(vector.uids.iter().copied().map(Some))
    };
    let wrong: Vec<_> =
        vectors.iter().filter(|vector| !has_its_uids(vector)).map(|vector| vector.name).collect();
    assert!(wrong.is_empty(), "{wrong:?}");
}

const LOCATION: ManifestLocation<'static> = ManifestLocation::File { path: "/m/a.yaml", node_name: "n" };

/// A pod of nothing but what a case is about.
fn pod(spec: &Value) -> Pod {
    serde_json::from_value(json!({"metadata": {"name": "a"}, "spec": spec})).expect("a pod")
}

/// Paths of all texts, numbers and truths in a value.
fn leaves(value: &Value, path: &str, found: &mut Vec<String>) {
    match value {
        Value::Object(fields) => fields.iter().for_each(|(name, value)| {
            leaves(value, &format!("{path}/{}", name.replace('~', "~0").replace('/', "~1")), found);
        }),
        Value::Array(items) => {
            items
                .iter()
                .enumerate()
                .for_each(|(index, item)| leaves(item, &format!("{path}/{index}"), found));
        }
        Value::Null => {}
        Value::Bool(_) | Value::Number(_) | Value::String(_) => found.push(path.to_owned()),
    }
}

fn changed(value: &Value) -> Value {
    match value {
        Value::Bool(is) => Value::from(!is),
        Value::Number(number) => Value::from(number.as_i64().unwrap_or_default() + 1),
        Value::String(text) => Value::from(format!("{text}7")),
        Value::Null | Value::Array(_) | Value::Object(_) => Value::Null,
    }
}

/// Whatever a manifest may have is in the table of types: else an edited pod would keep its UID.
#[test]
fn a_change_of_any_field_changes_the_uid() {
    for vector in vectors().iter().filter(|vector| TABLES[1].contains(vector.manifest)) {
        for mut pod in read(vector) {
            pod.status = None;
            pod.metadata.uid = None;
            let was = kubelet_uid(&pod, LOCATION);
            let written = serde_json::to_value(pod).expect("plain data");
            let mut paths = Vec::new();
            leaves(&written["metadata"], "/metadata", &mut paths);
            leaves(&written["spec"], "/spec", &mut paths);
            for path in paths {
                let mut edited = written.clone();
                let leaf = edited.pointer_mut(&path).expect("it was found there");
                *leaf = changed(leaf);
                let edited = serde_json::from_value(edited).expect("of the same types");
                assert_ne!(kubelet_uid(&edited, LOCATION), was, "{}: {path}", vector.name);
            }
        }
    }
}

#[test]
fn what_a_kubelet_would_refuse_is_hashed_too() {
    let with =
        |resources: Value| json!({"containers": [{"name": "a", "image": "i", "resources": resources}]});
    let mut uids: Vec<_> = [
        json!({"containers": []}),
        json!({"containers": [{"name": "a"}]}),
        json!({"containers": [], "volumes": [{"name": "s", "secret": {"secretName": "s"}}]}),
        json!({"containers": [], "imagePullSecrets": [{"name": "s"}]}),
        json!({"containers": [], "ephemeralContainers": [{"name": "e", "image": "i", "targetContainerName": "a"}]}),
        with(json!({"limits": {"cpu": ""}})),
        with(json!({"limits": {"cpu": "much"}})),
        with(json!({"limits": {"cpu": "1e999999999999"}})),
        with(json!({"limits": {"cpu": "1e2147483647"}})),
        with(json!({"limits": {"cpu": "0.00000000000000000000e-2147483648"}})),
        with(json!({"limits": {"memory": "99999999999999999999999999999999999999999Ei"}})),
        with(json!({"limits": {"memory": "-170141183460469231731687303715884105727Ki"}})),
    ]
    .iter()
    .map(|spec| kubelet_uid(&pod(spec), LOCATION))
    .collect();
    uids.push(kubelet_uid(&Pod::default(), LOCATION));
    assert!(uids.iter().all(|uid| uid.len() == 32), "{uids:?}");
    uids.sort_unstable();
    uids.dedup();
    assert_eq!(uids.len(), 13, "each of them another");
}
