//! What is hostile reaches the plugin, and is another thing each time.

use std::collections::BTreeSet;

use super::*;

#[test]
fn a_host_can_hand_every_value_on() {
    for (name, value) in values() {
        assert_eq!(serde_json::from_str::<Value>(&value.to_string()).expect(name), value, "{name}");
    }
    assert!(serde_json::from_str::<Value>(&deep_json()).is_err(), "no reader follows it");
}

#[test]
fn each_field_is_changed_on_its_own() {
    let all = changed(&json!({"a": 1, "b": "x"}));
    assert!(all.contains(&("without \"a\"".to_owned(), json!({"b": "x"}))));
    assert!(all.contains(&("with null as \"b\"".to_owned(), json!({"a": 1, "b": null}))));
    assert_eq!(all.len(), 2 * (1 + others().len()) + 1);
    assert!(changed(&json!([1])).is_empty());
}

#[test]
fn every_hostile_pod_is_another_one_and_named() {
    let pods = pods();
    assert!(pods.len() > 35, "{}", pods.len());
    let shown: BTreeSet<String> =
        pods.iter().map(|(_, pod)| serde_json::to_string(pod).expect("pods are JSON")).collect();
    assert_eq!(shown.len(), pods.len());
    let names: BTreeSet<&String> = pods.iter().map(|(name, _)| name).collect();
    assert_eq!(names.len(), pods.len());
    assert!(pods.iter().all(|(name, pod)| name == "a pod with nothing at all" || *pod != Pod::default()));
    let of = |expected: &str| pods.iter().find(|(name, _)| name == expected).expect(expected).1.clone();
    let least = of("numbers that are as small as can be").spec.expect("a spec");
    assert_eq!(least.containers[0].ports.as_ref().expect("ports")[0].container_port, i32::MIN);
    let least = of("quantities that are none").spec.expect("a spec");
    let requests = least.containers[0].resources.as_ref().and_then(|all| all.requests.clone());
    assert_eq!(requests.expect("requests")["cpu"].0, "a lot");
    assert_eq!(of("10,000 labels").metadata.labels.map(|labels| labels.len()), Some(LABELS));
}
