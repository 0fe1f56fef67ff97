//! How figures are made coarse, and what a node's object says.

use proptest::prelude::*;
use serde_json::json;

use super::*;

#[test]
fn a_node_says_what_its_machine_and_its_runtime_are() {
    let of = |info: serde_json::Value| {
        let node = json!({"status": {"nodeInfo": info}});
        of_node(&serde_json::from_value(node).expect("a node"))
    };
    let mut info = json!({
        "architecture": "arm64", "bootID": "", "containerRuntimeVersion": "containerd://2.1.0", "kernelVersion": "6.12.1",
        "kubeProxyVersion": "", "kubeletVersion": "v1.36.0", "machineID": "", "operatingSystem": "linux",
        "osImage": "Debian GNU/Linux 13", "systemUUID": "",
    });
    let facts = of(info.clone());
    let expected = [
        ("arch", "arm64"),
        ("kernel.version", "6.12.1"),
        ("os", "linux"),
        ("os.image", "Debian GNU/Linux 13"),
        ("runtime.name", "containerd"),
        ("runtime.version", "2.1.0"),
    ];
    assert_eq!(facts, expected.map(|(key, value)| (key.to_owned(), value.to_owned())).into());
    info["swap"] = json!({"capacity": 1024});
    assert_eq!(of(info)["swap"], "1024");
    assert_eq!(of_node(&Node::default()), BTreeMap::new());
}

#[test]
fn a_figure_is_published_again_when_it_moved_by_a_64th() {
    for (known, now, expected) in [
        (None, 500, 500),
        (Some(500), 500, 500),
        (Some(500), 509, 500),
        (Some(500), 491, 500),
        (Some(500), 510, 510),
        (Some(500), 490, 490),
        (Some(500), 0, 0),
    ] {
        assert_eq!(steady(known, now, 640), expected, "{known:?} {now}");
    }
    assert_eq!(steady(Some(3), 4, 10), 4, "a whole that is small moves in ones");
    assert_eq!(steady(Some(0), u64::MAX, u64::MAX), u64::MAX);
}

proptest! {
    #[test]
    fn what_is_published_is_never_far_from_the_truth(
        whole in 1_u64..1_000_000,
        moves in prop::collection::vec(0_u64..1_000_000, 1..50),
    ) {
        let mut published = None;
        for now in moves {
            let now = now.min(whole);
            let next = steady(published, now, whole);
            prop_assert!(next.abs_diff(now) < (whole / STEPS).max(1));
            published = Some(next);
        }
    }
}
