//! The node object made of a machine's facts.

use std::net::{IpAddr, Ipv4Addr};

use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use witlet_core::node::allocatable::Reservations;
use witlet_core::node::facts;

use super::machine::Storage;
use super::*;
use crate::SystemClock;

fn machine() -> Machine {
    Machine {
        hostname: "Edge-1".into(),
        cpus: 2,
        memory_kib: 4_000_000,
        swap_bytes: 0,
        storage: Storage { bytes: 6_400_000, bytes_available: 3_200_000, inodes: 0, inodes_free: 0 },
        kernel: "6.1.0".into(),
        architecture: "amd64",
        os_image: "Debian".into(),
        machine_id: "m".into(),
        boot_id: "b".into(),
        system_uuid: "s".into(),
        huge_pages: vec![(2048, 4 << 20), (1 << 20, 0)],
        cgroup_version: "1",
        has_apparmor: true,
        addresses: vec![IpAddr::V4(Ipv4Addr::new(192, 0, 2, 7))],
    }
}

fn described(machine: Machine, options: &NodeOptions) -> Result<NodeFacts, NodeError> {
    let sources = Sources { machine, given: GivenFacts::new() };
    describe(&sources, options, Timestamp::UNIX_EPOCH, &NodeFacts::default())
}

#[test]
fn a_machine_becomes_a_node() {
    let facts = described(machine(), &NodeOptions::default()).expect("a node");
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
    assert_eq!((amount("cpu"), amount("memory"), amount("pods")), ("2", "3995904Ki", "110"));
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
    let facts = described(machine(), &options).expect("a node");
    assert_eq!(facts.name, "other");
    let labels = facts.node.metadata.labels.expect("labels");
    assert_eq!((labels["kubernetes.io/arch"].as_str(), labels["zone"].as_str()), ("mine", "a"));
    assert_eq!(labels["kubernetes.io/hostname"], "other");
    assert_eq!(facts.node.status.and_then(|status| status.capacity).expect("capacity")["pods"].0, "5");
}

#[test]
fn what_is_reserved_isnt_for_pods() {
    let options = NodeOptions {
        pods_per_core: 10,
        reserved: Reservations { system: [("cpu".to_owned(), 500)].into(), ..Reservations::default() },
        ..NodeOptions::default()
    };
    let status = described(machine(), &options).expect("a node").node.status.expect("a status");
    let shown = |amounts: Option<BTreeMap<String, Quantity>>| {
        let lines = amounts.into_iter().flatten().map(|(name, amount)| format!("{name} {}", amount.0));
        lines.collect::<Vec<_>>().join(", ")
    };
    assert_eq!(
        shown(status.capacity),
        "cpu 2, ephemeral-storage 6250Ki, hugepages-1Gi 0, hugepages-2Mi 4096Ki, memory 4000000Ki, pods 20"
    );
    assert_eq!(
        shown(status.allocatable),
        "cpu 1500m, ephemeral-storage 6250Ki, hugepages-1Gi 0, hugepages-2Mi 4096Ki, memory 3995904Ki, pods 20"
    );
    let without = NodeOptions { offers_local_storage: false, ..options };
    let offered = described(machine(), &without).expect("a node").node.status.expect("a status");
    for amounts in [offered.capacity, offered.allocatable] {
        assert!(!shown(amounts).contains("ephemeral-storage"));
    }
    let info = status.node_info.expect("info");
    assert_eq!(info.kubelet_version, concat!("v1.36.0+witlet.", env!("CARGO_PKG_VERSION")));
    assert_eq!(info.system_uuid, "s");
}

#[test]
fn addresses_are_the_operators_or_the_one_that_reaches_the_world() {
    let both = ["192.0.2.7", "2001:db8::7"];
    // What the operator gave, the node's name, the machine's own, what is reported.
    type Case<'a> = (&'a [&'a str], &'a str, &'a [&'a str], &'a [&'a str]);
    let cases: [Case<'_>; 8] = [
        (&[], "edge", &both, &["192.0.2.7"]),
        (&["0.0.0.0"], "edge", &both, &["192.0.2.7"]),
        (&["::"], "edge", &both, &["2001:db8::7"]),
        (&["::"], "edge", &["192.0.2.7"], &["192.0.2.7"]),
        (&["198.51.100.1"], "edge", &both, &["198.51.100.1"]),
        (&["198.51.100.1", "2001:db8::1"], "edge", &both, &["198.51.100.1", "2001:db8::1"]),
        (&[], "203.0.113.5", &both, &["203.0.113.5"]),
        (&[], "edge", &["127.0.0.1"], &["127.0.0.1"]),
    ];
    let parse = |all: &[&str]| all.iter().map(|ip| ip.parse().expect("an address")).collect::<Vec<IpAddr>>();
    for (given, name, own, expected) in cases {
        let machine = Machine { addresses: parse(own), ..machine() };
        let options =
            NodeOptions { name: Some(name.to_owned()), node_ips: parse(given), ..NodeOptions::default() };
        let facts = described(machine, &options).expect("a node");
        assert_eq!(facts.addresses, parse(expected), "{given:?} {name} {own:?}");
        let reported = facts.node.status.and_then(|status| status.addresses).unwrap_or_default();
        let reported: Vec<&str> =
            reported.iter().filter(|a| a.type_ == "InternalIP").map(|a| a.address.as_str()).collect();
        assert_eq!(reported, expected);
    }
    for refused in ["127.0.0.1", "::1", "224.0.0.1", "ff02::1", "169.254.1.1", "fe80::1"] {
        let options = NodeOptions { node_ips: parse(&[refused]), ..NodeOptions::default() };
        let error = described(machine(), &options).expect_err(refused);
        assert!(matches!(error, NodeError::Address { .. }), "{error}");
    }
}

#[test]
fn a_name_that_no_node_can_have_is_refused() {
    for name in ["", "a_b", "(none)", "a b"] {
        let machine = Machine { hostname: name.into(), ..machine() };
        let error = described(machine, &NodeOptions::default()).expect_err(name);
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

#[test]
fn facts_have_the_keys_that_plugins_know() {
    let with_inodes = Storage { inodes: 640, inodes_free: 64, ..machine().storage };
    for (storage, inodes) in
        [(machine().storage, vec![]), (with_inodes, vec!["fs.nodefs.inodes=640", "fs.nodefs.inodesFree=64"])]
    {
        let facts =
            described(Machine { storage, ..machine() }, &NodeOptions::default()).expect("a node").facts;
        let mut found: Vec<String> = facts.iter().map(|(key, value)| format!("{key}={value}")).collect();
        let mut expected = vec![
            "apparmor.enabled=true",
            "arch=amd64",
            "cgroup.version=1",
            "fs.nodefs.available=3200000",
            "fs.nodefs.capacity=6400000",
            "kernel.version=6.1.0",
            "os=linux",
            "os.image=Debian",
            "swap=0",
        ];
        expected.extend(inodes);
        found.sort_unstable();
        expected.sort_unstable();
        assert_eq!(found, expected);
    }
}

#[test]
fn free_bytes_that_moved_a_little_are_no_news() {
    let options = NodeOptions::default();
    let mut known = described(machine(), &options).expect("a node");
    for (available, expected) in
        [(3_200_001, "3200000"), (3_100_001, "3200000"), (3_100_000, "3100000"), (3_199_999, "3100000")]
    {
        let storage = Storage { bytes_available: available, ..machine().storage };
        let sources = Sources { machine: Machine { storage, ..machine() }, given: GivenFacts::new() };
        known = describe(&sources, &options, Timestamp::UNIX_EPOCH, &known).expect("a node");
        assert_eq!(known.facts[facts::NODEFS_AVAILABLE], expected, "{available}");
    }
}

fn given(facts: &[(&str, &str)]) -> BTreeMap<String, String> {
    facts.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
}

#[test]
fn what_the_runtime_says_reaches_the_node() {
    let info = NodeInfo::new(NodeOptions::default(), &SystemClock).expect("this machine");
    let status = |info: &NodeInfo| info.current().node.status.clone().expect("a status");
    assert_eq!(
        (status(&info).features, status(&info).node_info.expect("info").container_runtime_version),
        (None, String::new())
    );
    let own = ["InPlacePodLevelResourcesVerticalScaling", "RestartAllContainersOnContainerExits"];
    assert_eq!(status(&info).declared_features.expect("features"), own);
    let mut watch = info.watch();
    watch.mark_unchanged();
    let said = [
        ("name", "containerd"),
        ("version", "2.1.0"),
        ("features.supplementalGroupsPolicy", "true"),
        ("features.userNamespacesHostNetwork", "true"),
    ];
    info.set_facts(facts::RUNTIME, given(&said));
    assert!(watch.has_changed().expect("the sender lives"));
    assert_eq!(info.current().facts[facts::RUNTIME_NAME], "containerd");
    let now = status(&info);
    assert_eq!(now.node_info.expect("info").container_runtime_version, "containerd://2.1.0");
    assert_eq!(now.features.and_then(|features| features.supplemental_groups_policy), Some(true));
    assert_eq!(
        now.declared_features.expect("features"),
        [own[0], own[1], "UserNamespacesHostNetworkSupport"]
    );
    watch.mark_unchanged();
    info.set_facts(facts::RUNTIME, given(&said));
    assert!(!watch.has_changed().expect("the sender lives"), "the same again is no news");
    info.set_facts(facts::RUNTIME, given(&[("features.supplementalGroupsPolicy", "false")]));
    assert!(!info.current().facts.contains_key(facts::RUNTIME_NAME), "what isn't said any more is gone");
    assert_eq!(status(&info).features.and_then(|features| features.supplemental_groups_policy), Some(false));
}

#[tokio::test]
async fn given_facts_stay_when_the_machine_is_read_and_never_hide_its_own() {
    let info = NodeInfo::new(NodeOptions::default(), &SystemClock).expect("this machine");
    info.set_facts("cgroup", given(&[("version", "9"), ("driver", "systemd")]));
    let again = info.read_again().await;
    assert_eq!(again.facts["cgroup.driver"], "systemd");
    assert_ne!(again.facts[facts::CGROUP_VERSION], "9");
}

#[test]
fn given_facts_are_bounded() {
    let info = NodeInfo::new(NodeOptions::default(), &SystemClock).expect("this machine");
    let many = (0..GIVEN_FACTS_MAX + 9).map(|index| (format!("{index:04}"), String::new()));
    info.set_facts("many", many.collect());
    let of = |prefix: &str| info.current().facts.keys().filter(|key| key.starts_with(prefix)).count();
    assert_eq!(of("many."), GIVEN_FACTS_MAX);
    info.set_facts("long", given(&[("a", &"x".repeat(GIVEN_FACT_BYTES_MAX + 1)), ("b", "short")]));
    assert_eq!(of("long."), 1);
}

#[tokio::test(start_paused = true)]
async fn a_check_that_hangs_holds_no_one_up_for_long() {
    let info = NodeInfo::new(NodeOptions::default(), &SystemClock).expect("this machine");
    let hanging = info.refreshing.clone().lock_owned().await;
    let before = info.current();
    let began = tokio::time::Instant::now();
    assert!(Arc::ptr_eq(&info.read_again().await, &before), "the facts stay as they were");
    assert_eq!(began.elapsed(), NODE_READ_TIMEOUT);
    drop(hanging);
}
