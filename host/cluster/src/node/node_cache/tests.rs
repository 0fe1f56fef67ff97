//! Which version of the object is believed.

use super::*;

fn node(uid: &str, version: &str) -> Node {
    let mut node = Node::default();
    node.metadata.uid = Some(uid.to_owned());
    node.metadata.resource_version = Some(version.to_owned());
    node
}

#[test]
fn the_newest_version_of_the_newest_object_is_known() {
    let known = NodeCache::default();
    let shown = || {
        known.current().map(|node| {
            let text = |field: &Option<String>| field.clone().unwrap_or_default();
            format!("{}@{}", text(&node.metadata.uid), text(&node.metadata.resource_version))
        })
    };
    let story =
        [("a", "5", "a@5"), ("a", "4", "a@5"), ("a", "10", "a@10"), ("b", "7", "b@7"), ("b", "x", "b@x")];
    for (uid, version, expected) in story {
        known.put(node(uid, version));
        assert_eq!(shown().as_deref(), Some(expected));
    }
    known.deleted("a");
    assert_eq!(shown().as_deref(), Some("b@x"), "the end of the one before is no news");
    known.deleted("b");
    assert_eq!(shown(), None);
}

#[test]
fn a_list_without_the_object_means_that_it_is_gone_unless_it_cant_be_read() {
    let known = NodeCache::default();
    known.put(node("a", "1"));
    let malformed = crate::watch::Malformed { key: None, message: "no".to_owned() };
    known.apply(Change::Replaced { objects: Vec::new(), malformed: vec![malformed] });
    assert!(known.current().is_some());
    known.apply(Change::Replaced { objects: Vec::new(), malformed: Vec::new() });
    assert!(known.current().is_none());
}

#[test]
fn what_a_list_says_is_so_though_its_version_is_older() {
    let known = NodeCache::default();
    known.put(node("a", "100"));
    let list = |version: &str| Change::Replaced {
        objects: vec![Arc::new(node("a", version))],
        malformed: Vec::new(),
    };
    known.apply(list("7"));
    assert_eq!(known.current().and_then(|node| node.metadata.resource_version.clone()).as_deref(), Some("7"));
    known.apply(Change::Put(Arc::new(node("a", "6"))));
    assert_eq!(known.current().and_then(|node| node.metadata.resource_version.clone()).as_deref(), Some("7"));
}
