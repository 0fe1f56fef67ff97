//! Times that pods were seen at, over changes of them.

use serde_json::json;

use super::*;

fn pod(uid: &str, seen: Option<&str>, is_mirror: bool) -> Arc<Pod> {
    let mut annotations = json!({});
    if let Some(seen) = seen {
        annotations["kubernetes.io/config.seen"] = seen.into();
    }
    if is_mirror {
        annotations["kubernetes.io/config.mirror"] = "hash".into();
    }
    let metadata = json!({"namespace": "ns", "name": uid, "uid": uid, "annotations": annotations});
    Arc::new(serde_json::from_value(json!({ "metadata": metadata })).unwrap())
}

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

#[test]
fn a_pod_keeps_the_time_at_which_it_was_seen_first_whatever_it_says_itself() {
    let before = times(&[pod("known", Some("1970-01-01T00:00:01Z"), false), pod("unseen", None, false)]);
    for (uid, says, mirror, expected) in [
        ("known", None, false, Some("1970-01-01T00:00:01Z")),
        ("known", Some("lies"), false, Some("1970-01-01T00:00:01Z")),
        ("new", None, false, Some("1970-01-01T00:00:09Z")),
        ("new", Some("lies"), false, Some("1970-01-01T00:00:09Z")),
        ("unseen", None, false, Some("1970-01-01T00:00:09Z")),
        ("mirror", Some("of the static pod"), true, Some("of the static pod")),
        ("mirror", None, true, None),
    ] {
        let change = Change::Put(pod(uid, says, mirror));
        let Change::Put(stamped) = stamped(change, |uid| before.get(uid).cloned(), at(9)) else {
            panic!("it is the same change")
        };
        assert_eq!(first_seen(&stamped), expected, "{uid} {says:?}");
    }
}

#[test]
fn each_pod_of_a_list_is_stamped_and_nothing_is_copied() {
    let objects = vec![pod("a", None, false), pod("b", None, false)];
    let places: Vec<*const Pod> = objects.iter().map(Arc::as_ptr).collect();
    let change = Change::Replaced { objects, malformed: Vec::new() };
    let Change::Replaced { objects, .. } = stamped(change, |_| None, at(3)) else {
        panic!("it is the same change")
    };
    assert!(objects.iter().all(|pod| first_seen(pod) == Some("1970-01-01T00:00:03Z")));
    assert_eq!(objects.iter().map(Arc::as_ptr).collect::<Vec<_>>(), places);
}
