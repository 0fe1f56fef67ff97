//! Making and renewing a lease.

use serde_json::json;

use super::*;

fn node(uid: Option<&str>) -> Node {
    let metadata = ObjectMeta { uid: uid.map(str::to_owned), ..ObjectMeta::default() };
    Node { metadata, ..Node::default() }
}

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).expect("a small number of seconds is a timestamp")
}

#[test]
fn a_fresh_lease_belongs_to_the_node() {
    assert_eq!(fresh("n", &node(None), 40, at(0)), None);
    let lease = fresh("n", &node(Some("u")), 40, at(1)).expect("the node has a UID");
    assert_eq!(
        serde_json::to_value(lease).expect("JSON"),
        json!({
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": {
                "name": "n",
                "namespace": "kube-node-lease",
                "ownerReferences": [{"apiVersion": "v1", "kind": "Node", "name": "n", "uid": "u"}],
            },
            "spec": {
                "holderIdentity": "n",
                "leaseDurationSeconds": 40,
                "renewTime": "1970-01-01T00:00:01.000000Z",
            },
        })
    );
}

#[test]
fn renewing_changes_the_time_and_fills_in_what_is_missing() {
    let first = fresh("n", &node(Some("u")), 40, at(1)).expect("the node has a UID");
    let owned = renewed(&first, "n", Some(&node(Some("other"))), 40, at(2));
    assert_eq!(
        owned.metadata.owner_references, first.metadata.owner_references,
        "upstream leaves an owner alone"
    );
    assert_eq!(owned.spec.and_then(|spec| spec.renew_time), Some(MicroTime(at(2))));
    let bare = Lease {
        metadata: ObjectMeta { resource_version: Some("5".into()), ..ObjectMeta::default() },
        spec: None,
    };
    for (known, uid) in [(None, None), (Some(node(None)), None), (Some(node(Some("u"))), Some("u"))] {
        let lease = renewed(&bare, "n", known.as_ref(), 40, at(2));
        let owners = lease.metadata.owner_references.unwrap_or_default();
        assert_eq!(owners.first().map(|owner| owner.uid.as_str()), uid);
        assert_eq!(lease.metadata.resource_version.as_deref(), Some("5"), "a conflict must show");
        assert_eq!(lease.spec.and_then(|spec| spec.holder_identity).as_deref(), Some("n"));
    }
}

#[test]
fn renewals_come_each_quarter_of_a_life_and_a_bit_later() {
    assert_eq!(renew_after(40, 0.0), Duration::from_secs(10));
    assert_eq!(renew_after(40, 1.0), Duration::from_millis(10_400));
    assert_eq!(renew_after(8, 0.0), Duration::from_secs(2));
}
