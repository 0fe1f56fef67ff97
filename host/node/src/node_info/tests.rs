//! The node object made of a machine's facts.

use std::net::Ipv4Addr;

use super::*;
use crate::SystemClock;

fn machine() -> Machine {
    Machine {
        hostname: "Edge-1".into(),
        cpus: 2,
        memory_kib: 4_000_000,
        storage_kib: 9_000_000,
        kernel: "6.1.0".into(),
        architecture: "amd64",
        os_image: "Debian".into(),
        machine_id: "m".into(),
        boot_id: "b".into(),
        cgroup_version: "1",
        addresses: vec![IpAddr::V4(Ipv4Addr::new(192, 0, 2, 7))],
    }
}

#[test]
fn a_machine_becomes_a_node() {
    let facts = describe(&machine(), &NodeOptions::default(), Timestamp::UNIX_EPOCH).expect("a node");
    assert_eq!(facts.name, "edge-1");
    assert_eq!(facts.facts["cgroup.version"], "1");
    let labels = facts.node.metadata.labels.expect("labels");
    assert_eq!(
        labels.iter().map(|(key, value)| format!("{key}={value}")).collect::<Vec<_>>(),
        ["kubernetes.io/arch=amd64", "kubernetes.io/hostname=edge-1", "kubernetes.io/os=linux"]
    );
    let status = facts.node.status.expect("a status");
    let amounts = status.allocatable.expect("allocatable");
    let amount = |name: &str| amounts[name].0.as_str();
    assert_eq!((amount("cpu"), amount("memory"), amount("pods")), ("2", "4000000Ki", "110"));
    let addresses: Vec<_> =
        status.addresses.into_iter().flatten().map(|a| format!("{} {}", a.type_, a.address)).collect();
    assert_eq!(addresses, ["InternalIP 192.0.2.7", "Hostname edge-1"]);
}

#[test]
fn the_operators_word_goes_first() {
    let options = NodeOptions {
        name: Some("Other".into()),
        max_pods: 5,
        labels: [("kubernetes.io/arch".into(), "mine".into()), ("zone".into(), "a".into())].into(),
        ..NodeOptions::default()
    };
    let facts = describe(&machine(), &options, Timestamp::UNIX_EPOCH).expect("a node");
    assert_eq!(facts.name, "other");
    let labels = facts.node.metadata.labels.expect("labels");
    assert_eq!((labels["kubernetes.io/arch"].as_str(), labels["zone"].as_str()), ("mine", "a"));
    assert_eq!(labels["kubernetes.io/hostname"], "other");
    assert_eq!(facts.node.status.and_then(|status| status.capacity).expect("capacity")["pods"].0, "5");
}

#[test]
fn a_name_that_no_node_can_have_is_refused() {
    for name in ["", "a_b", "(none)", "a b"] {
        let machine = Machine { hostname: name.into(), ..machine() };
        let error = describe(&machine, &NodeOptions::default(), Timestamp::UNIX_EPOCH).expect_err(name);
        assert!(matches!(error, NodeError::Name { .. }), "{error}");
    }
}

#[test]
fn only_changes_are_published() {
    let info = NodeInfo::new(NodeOptions::default(), &SystemClock).expect("this machine");
    let mut watch = info.watch();
    watch.mark_unchanged();
    info.publish(NodeFacts::clone(&info.current()));
    assert!(!watch.has_changed().expect("the sender lives"));
    let mut changed = NodeFacts::clone(&info.current());
    changed.facts.insert("cgroup.version".into(), "3".into());
    info.publish(changed);
    assert!(watch.has_changed().expect("the sender lives"));
}

#[tokio::test]
async fn a_node_that_is_read_again_is_as_the_machine_is_now() {
    let info = NodeInfo::new(NodeOptions::default(), &SystemClock).expect("this machine");
    let mut old = NodeFacts::clone(&info.current());
    old.facts.insert("cgroup.version".into(), "3".into());
    info.publish(old);
    let again = info.read_again().await;
    assert_ne!(again.facts["cgroup.version"], "3");
    assert_eq!(again.facts, info.watch().borrow().facts, "what was read is what all others see");
}
