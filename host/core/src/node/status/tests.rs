//! What a status is made of.

use serde_json::json;

use super::*;

fn node(value: serde_json::Value) -> Node {
    serde_json::from_value(value).expect("a node")
}

fn resources(pairs: &[(&str, &str)]) -> Resources {
    pairs.iter().map(|(name, amount)| ((*name).to_owned(), Quantity((*amount).to_owned()))).collect()
}

fn seen(machine: &Node) -> NodeSnapshot<'_> {
    NodeSnapshot {
        machine,
        ready: None,
        source: None,
        plugins: None,
        set: SetReport::default(),
        agent: None,
        pressures: Pressures::default(),
        images: None,
        port: Some(10250),
        external_addresses: false,
        now: Timestamp::UNIX_EPOCH,
    }
}

fn machine() -> Node {
    node(json!({"metadata": {"name": "n"}, "status": {
        "addresses": [{"type": "InternalIP", "address": "192.0.2.1"}, {"type": "Hostname", "address": "n"}],
        "capacity": {"cpu": "2", "memory": "2048Ki", "pods": "110"},
        "allocatable": {"cpu": "1900m", "memory": "1024Ki", "pods": "110"},
        "nodeInfo": {"bootID": "b2", "kubeletVersion": "v", "architecture": "", "containerRuntimeVersion": "",
            "kernelVersion": "", "kubeProxyVersion": "", "machineID": "", "operatingSystem": "linux", "osImage": "",
            "systemUUID": ""},
        "declaredFeatures": ["A"],
    }}))
}

#[test]
fn amounts_that_are_the_same_keep_their_spelling_and_others_resources_stay() {
    let existing = node(json!({"metadata": {"name": "n"}, "status": {
        "capacity": {"cpu": "2", "memory": "2Mi", "example.com/dongle": "3", "hugepages-2Mi": "4Mi"},
        "allocatable": {"cpu": "2", "memory": "1Mi", "example.com/dongle": "1", "example.com/gone": "1"},
    }}));
    let (node, news) = with_status(&existing, &seen(&machine()));
    let status = node.status.expect("a status");
    assert_eq!(
        status.capacity,
        Some(resources(&[("cpu", "2"), ("memory", "2Mi"), ("pods", "110"), ("example.com/dongle", "3")]))
    );
    assert_eq!(
        status.allocatable,
        Some(resources(&[("cpu", "1900m"), ("memory", "1Mi"), ("pods", "110"), ("example.com/dongle", "3")])),
        "what isn't there can't be used, and what is can be used whole"
    );
    assert_eq!(
        status.daemon_endpoints.and_then(|ends| ends.kubelet_endpoint).map(|end| end.port),
        Some(10250)
    );
    assert_eq!(news.len(), 3, "three pressures are reported for the first time: {news:?}");
}

#[test]
fn a_new_start_of_the_machine_is_reported_once() {
    let boot = |id: &str| {
        node(json!({"metadata": {"name": "n"}, "status": {"nodeInfo": {"bootID": id,
        "architecture": "", "containerRuntimeVersion": "", "kernelVersion": "", "kubeProxyVersion": "",
        "kubeletVersion": "", "machineID": "", "operatingSystem": "", "osImage": "", "systemUUID": ""}}}))
    };
    let reported = |existing: &Node| {
        let (_, news) = with_status(existing, &seen(&machine()));
        news.into_iter().filter(|news| matches!(news, NodeNews::Rebooted { .. })).collect::<Vec<_>>()
    };
    assert_eq!(reported(&boot("b1")), [NodeNews::Rebooted { boot_id: "b2".into() }]);
    assert!(reported(&boot("b2")).is_empty());
    assert!(reported(&boot("")).is_empty());
    assert!(reported(&Node::default()).is_empty());
}

#[test]
fn a_clouds_addresses_stay_where_a_cloud_sets_them() {
    let existing =
        node(json!({"status": {"addresses": [{"type": "ExternalIP", "address": "198.51.100.1"}]}}));
    let machine = machine();
    for (external, expected) in [(true, 1), (false, 2)] {
        let (node, _) =
            with_status(&existing, &NodeSnapshot { external_addresses: external, ..seen(&machine) });
        let count = node.status.and_then(|status| status.addresses).map(|all| all.len());
        assert_eq!(count, Some(expected), "{external}");
    }
}

#[test]
fn images_are_the_largest_first_by_their_first_names() {
    let image = |size: u64, names: usize| NodeImage {
        names: (0..names).map(|n| format!("{size}:{n}")).collect(),
        size,
        ..NodeImage::default()
    };
    let found: Vec<NodeImage> = (1..=60).map(|size| image(size, 2)).chain([image(99, 7)]).collect();
    let reported = images(found, STATUS_IMAGES_MAX);
    assert_eq!(reported.len(), STATUS_IMAGES_MAX);
    assert_eq!(reported[0].names.as_ref().map(Vec::len), Some(IMAGE_NAMES_MAX));
    let sizes: Vec<_> = reported.iter().take(3).map(|image| image.size_bytes).collect();
    assert_eq!(sizes, [Some(99), Some(60), Some(59)]);
    assert!(images(vec![image(1, 1)], 0).is_empty());
}

#[test]
fn images_that_could_not_be_listed_stay_reported() {
    let existing = node(json!({"status": {"images": [{"names": ["a"], "sizeBytes": 1}]}}));
    let machine = machine();
    for (images, expected) in [(None, 1), (Some([].as_slice()), 0)] {
        let (node, _) = with_status(&existing, &NodeSnapshot { images, ..seen(&machine) });
        let count = node.status.and_then(|status| status.images).map(|all| all.len());
        assert_eq!(count, Some(expected));
    }
}

type Amounts = &'static [(&'static str, &'static str)];

#[test]
fn pods_may_use_what_isnt_reserved_nor_set_aside() {
    let cases: [(Amounts, Amounts, Amounts); 5] = [
        (&[("cpu", "2")], &[], &[("cpu", "2")]),
        (
            &[("cpu", "2"), ("memory", "4096Ki")],
            &[("cpu", "100m"), ("memory", "1Mi")],
            &[("cpu", "1900m"), ("memory", "3072Ki")],
        ),
        (&[("cpu", "2")], &[("cpu", "1")], &[("cpu", "1")]),
        (&[("memory", "1Mi")], &[("memory", "2Mi"), ("cpu", "1")], &[("memory", "0")]),
        (
            &[("memory", "10240Ki"), ("hugepages-2Mi", "4Mi")],
            &[("memory", "1Mi")],
            &[("memory", "5120Ki"), ("hugepages-2Mi", "4Mi")],
        ),
    ];
    for (capacity, reserved, expected) in cases {
        let left = allocatable(&resources(capacity), &resources(reserved));
        assert_eq!(left, resources(expected), "{capacity:?} less {reserved:?}");
    }
}
