//! Handlers of runtime classes.

use serde_json::{from_value, json};

use super::*;

#[test]
fn a_class_has_the_cluster_s_handler_before_the_node_s_own() {
    let map = |pairs: &[(&str, &str)]| -> BTreeMap<String, String> {
        pairs.iter().map(|(name, handler)| ((*name).to_owned(), (*handler).to_owned())).collect()
    };
    let own = Arc::new(map(&[("kata", "kata-own"), ("gvisor", "runsc")]));
    let cluster = Arc::new(map(&[("kata", "kata-qemu")]));
    assert!(Arc::ptr_eq(&runtime_classes(&own, None), &own), "nothing is copied for a question");
    assert!(Arc::ptr_eq(&runtime_classes(&Arc::default(), Some(cluster.clone())), &cluster));
    let both = runtime_classes(&own, Some(cluster));
    assert_eq!(*both, map(&[("kata", "kata-qemu"), ("gvisor", "runsc")]));
    let observed = ObservedNode { runtime_classes: both, ..ObservedNode::default() };
    let handler = |spec| {
        let pod: Pod = from_value(json!({"spec": spec})).expect("a pod");
        observed.runtime_handler(&pod).map(str::to_owned)
    };
    assert_eq!(handler(json!({"containers": []})).as_deref(), Some(""));
    assert_eq!(handler(json!({"containers": [], "runtimeClassName": ""})).as_deref(), Some(""));
    assert_eq!(handler(json!({"containers": [], "runtimeClassName": "kata"})).as_deref(), Some("kata-qemu"));
    assert_eq!(handler(json!({"containers": [], "runtimeClassName": "none"})), None);
}
