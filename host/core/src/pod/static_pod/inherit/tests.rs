//! Who keeps a UID, in a table.

use serde_json::json;

use super::super::{Origin, adopt};
use super::*;
use crate::pod::SourceName;
use crate::runtime::ListedSandbox;

const THEIRS: &str = "00112233445566778899aabbccddeeff";

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).expect("a second")
}

fn pod(name: &str, uid: Option<&str>) -> Pod {
    let pod = json!({"metadata": {"name": name, "uid": uid}, "spec": {"containers": [{"name": "a", "image": "i"}]}});
    let origin = Origin { source: &SourceName::file(), place: "/m/a.yaml", node_name: "node" };
    adopt(serde_json::from_value(pod).expect("a pod"), origin)
}

fn running(name: &str, uid: &str, made_at: i64, state: SandboxState) -> RuntimePod {
    let sandbox = ListedSandbox { id: "s".into(), attempt: 0, state, created_at: at(made_at) };
    let (name, namespace) = (name.to_owned(), "default".to_owned());
    RuntimePod { uid: PodUid::from(uid), name, namespace, sandboxes: vec![sandbox], containers: Vec::new() }
}

/// The UID after taking over, and whether the annotation that mirrors repeat is the same.
fn uid(inherited: &mut InheritedUids, mut pod: Pod, changed_at: Option<i64>) -> String {
    inherited.apply(&mut pod, changed_at.map(at));
    let uid = pod.metadata.uid.expect("it has one");
    assert_eq!(pod.metadata.annotations.expect("it has some").get(CONFIG_HASH), Some(&uid));
    uid
}

#[test]
fn a_static_pod_keeps_the_uid_that_it_runs_with_where_its_file_is_older_than_its_sandbox() {
    use SandboxState::{NotReady, Ready};
    let own = pod("web", None).metadata.uid.expect("hashed");
    for (case, found, changed_at, expected) in [
        ("a kubelet's", running("web-node", THEIRS, 10, Ready), Some(9), THEIRS),
        ("edited meanwhile", running("web-node", THEIRS, 10, Ready), Some(11), &own),
        ("edited at that very moment", running("web-node", THEIRS, 10, Ready), Some(10), &own),
        ("no one knows when", running("web-node", THEIRS, 10, Ready), None, &own),
        ("ended", running("web-node", THEIRS, 10, NotReady), Some(9), &own),
        ("another name", running("web", THEIRS, 10, Ready), Some(9), &own),
        (
            "one of the API server",
            running("web-node", "7d3c1e00-25a4-4c0d-9df6-3a9a2f6d11c1", 10, Ready),
            Some(9),
            &own,
        ),
        ("this agent's", running("web-node", &own, 10, Ready), Some(9), &own),
    ] {
        let mut inherited = InheritedUids::new(&[found], BTreeMap::new());
        assert_eq!(uid(&mut inherited, pod("web", None), changed_at), expected, "{case}");
    }
}

#[test]
fn a_uid_that_someone_wrote_stays() {
    let mut inherited =
        InheritedUids::new(&[running("web-node", THEIRS, 10, SandboxState::Ready)], BTreeMap::new());
    for fixed in ["7d3c1e00-25a4-4c0d-9df6-3a9a2f6d11c1", "mine"] {
        assert_eq!(uid(&mut inherited, pod("web", Some(fixed)), Some(9)), fixed);
    }
    assert!(inherited.taken().is_empty());
}

#[test]
fn what_was_taken_over_once_stays_while_it_runs_though_its_file_was_touched() {
    let ready = running("web-node", THEIRS, 10, SandboxState::Ready);
    let mut first = InheritedUids::new(std::slice::from_ref(&ready), BTreeMap::new());
    assert_eq!(uid(&mut first, pod("web", None), Some(9)), THEIRS);
    assert_eq!(uid(&mut first, pod("web", None), Some(20)), THEIRS);
    let mut second = InheritedUids::new(&[ready], first.taken().clone());
    assert_eq!(uid(&mut second, pod("web", None), Some(20)), THEIRS);
    let own = pod("web", None).metadata.uid.expect("hashed");
    let mut rebooted = InheritedUids::new(&[], second.taken().clone());
    assert_eq!(uid(&mut rebooted, pod("web", None), Some(9)), own);
    // Another content is another pod.
    let mut edited =
        InheritedUids::new(&[running("web-node", THEIRS, 10, SandboxState::Ready)], second.taken().clone());
    let mut other = pod("web", None);
    other.metadata.uid = Some("ffeeddccbbaa99887766554433221100".to_owned());
    other
        .metadata
        .annotations
        .get_or_insert_default()
        .insert(CONFIG_HASH.to_owned(), "ffeeddccbbaa99887766554433221100".to_owned());
    assert_eq!(uid(&mut edited, other, Some(20)), "ffeeddccbbaa99887766554433221100");
}
