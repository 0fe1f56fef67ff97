//! Names, paths and whose cgroup one is (`cgroup_manager_linux_test.go`, `pod_container_manager_linux_test.go`).

use k8s_openapi::api::core::v1::Pod;

use crate::cgroup::{CgroupLayout, CgroupName, InvalidPart, Tier};
use crate::fixtures;
use crate::runtime::CgroupDriver::{self, Cgroupfs, Systemd};

fn name(parts: &[&str]) -> CgroupName {
    parts.iter().fold(CgroupName::root(), |name, part| name.child(part).unwrap())
}

#[test]
fn systemd_units_are_named_by_all_parts() {
    let long = "pod-6c1a4e95-6bb6-11e6-bc26-28d2444e470d";
    let cases: [(&[&str], &str); 8] = [
        (&[], "/"),
        (&["system"], "system.slice"),
        (&["system", "Burstable"], "system-Burstable.slice"),
        (&["Burstable", "pod-123"], "Burstable-pod_123.slice"),
        (&["test", "a", "b"], "test-a-b.slice"),
        (&["test", "a", "b", "Burstable"], "test-a-b-Burstable.slice"),
        (&["Burstable"], "Burstable.slice"),
        (&["BestEffort", long], "BestEffort-pod_6c1a4e95_6bb6_11e6_bc26_28d2444e470d.slice"),
    ];
    for (parts, expected) in cases {
        let path = name(parts).path(Systemd);
        let base = path.rsplit('/').next().filter(|base| !base.is_empty()).unwrap_or("/");
        assert_eq!(base, expected, "{parts:?}");
    }
}

#[test]
fn systemd_paths_hold_every_slice_on_the_way() {
    let long = "pod-6c1a4e95-6bb6-11e6-bc26-28d2444e470d";
    let long_path = "/BestEffort.slice/BestEffort-pod_6c1a4e95_6bb6_11e6_bc26_28d2444e470d.slice";
    let cases: [(&[&str], &str); 5] = [
        (&[], "/"),
        (&["Burstable"], "/Burstable.slice"),
        (&["Burstable", "pod-123"], "/Burstable.slice/Burstable-pod_123.slice"),
        (&["BestEffort", long], long_path),
        (&["kubepods"], "/kubepods.slice"),
    ];
    for (parts, expected) in cases {
        assert_eq!(name(parts).path(Systemd), expected, "{parts:?}");
    }
}

#[test]
fn cgroupfs_paths_are_the_parts() {
    assert_eq!(name(&[]).path(Cgroupfs), "/");
    assert_eq!(name(&["Burstable"]).path(Cgroupfs), "/Burstable");
    assert_eq!(name(&["a", "b-c"]).path(Cgroupfs), "/a/b-c");
}

#[test]
fn paths_are_read_back_as_names() {
    for path in ["/test", "/test.slice", "/x.slice/test.slice"] {
        assert_eq!(CgroupName::parse(path, Systemd), name(&["test"]), "{path}");
    }
    for parts in [&["kubepods"][..], &["kubepods", "burstable", "pod1-2"]] {
        for driver in [Cgroupfs, Systemd] {
            assert_eq!(
                CgroupName::parse(&name(parts).path(driver), driver),
                name(parts),
                "{parts:?} {driver:?}"
            );
        }
    }
    assert!(CgroupName::parse("/", Cgroupfs).is_root());
    assert!(CgroupName::parse("", Cgroupfs).is_root());
}

#[test]
fn characters_that_cant_be_read_back_are_refused() {
    for part in ["a/b", "a_b", "_", "/"] {
        assert_eq!(CgroupName::root().child(part), Err(InvalidPart(part.to_owned())));
    }
}

#[test]
fn a_name_is_extended_without_changing_the_others() {
    let ab = name(&["a", "b"]);
    let abc = ab.child("c").unwrap();
    let abd = ab.child("d").unwrap();
    assert_eq!((ab.parts().len(), abc.to_string(), abd.to_string()), (2, "[a b c]".into(), "[a b d]".into()));
}

#[test]
fn only_children_of_tiers_are_pods() {
    let cases: [(&[&str], Option<&str>); 13] = [
        (&[], None),
        (&["kubepods"], None),
        (&["kubepods", "pod123"], Some("123")),
        (&["kubepods", "pod123", "container.scope"], None),
        (&["kubepods", "burstable"], None),
        (&["kubepods", "burstable", "pod123"], Some("123")),
        (&["kubepods", "burstable", "pod123", "container.scope"], None),
        (&["kubepods", "besteffort"], None),
        (&["kubepods", "besteffort", "pod123"], Some("123")),
        (&["kubepods", "besteffort", "pod123", "container.scope"], None),
        (&["system"], None),
        (&["system", "kubelet"], None),
        (&["kubepods", "podthis-uid-contains-reserved-word-pod"], None),
    ];
    for driver in [Cgroupfs, Systemd] {
        let layout = CgroupLayout::new(driver, "/");
        for (parts, expected) in cases {
            let found = layout.pod_at(&name(parts).path(driver));
            assert_eq!(found.as_ref().map(|uid| uid.as_str()), expected, "{parts:?} {driver:?}");
        }
    }
}

fn pod_of(tier: Tier, uid: &str) -> Pod {
    let mut pod = fixtures::pod("Always", &["a"]);
    pod.metadata.uid = Some(uid.to_owned());
    let amounts = serde_json::json!({"cpu": "1000m", "memory": "1G"});
    let resources = match tier {
        Tier::Guaranteed => serde_json::json!({"requests": amounts, "limits": amounts}),
        Tier::Burstable => serde_json::json!({"requests": amounts}),
        Tier::BestEffort => serde_json::json!({}),
    };
    fixtures::first(&mut pod).resources = serde_json::from_value(resources).unwrap();
    pod
}

#[test]
fn the_root_is_written_as_a_path_and_names_a_cgroup() {
    let cases: [(&str, CgroupDriver, &str, &str); 10] = [
        ("", Cgroupfs, "/", "/kubepods"),
        ("/", Cgroupfs, "/", "/kubepods"),
        ("/a", Cgroupfs, "/a", "/a/kubepods"),
        ("a/b-c", Cgroupfs, "/a/b-c", "/a/b-c/kubepods"),
        ("/a_b", Cgroupfs, "/a_b", "/a_b/kubepods"),
        ("", Systemd, "/", "/kubepods.slice"),
        ("/", Systemd, "/", "/kubepods.slice"),
        ("/a", Systemd, "/a.slice", "/a.slice/a-kubepods.slice"),
        ("/a/b-c", Systemd, "/a.slice/a-b_c.slice", "/a.slice/a-b_c.slice/a-b_c-kubepods.slice"),
        ("/a.slice", Systemd, "/a.slice.slice", "/a.slice.slice/a.slice-kubepods.slice"),
    ];
    for (root, driver, expected, kubepods) in cases {
        let layout = CgroupLayout::new(driver, root);
        assert_eq!(layout.path(layout.root()), expected, "{root:?} {driver:?}");
        assert_eq!(layout.path(layout.kubepods()), kubepods, "{root:?} {driver:?}");
    }
}

#[test]
fn pods_are_in_the_cgroup_of_their_class() {
    let cases: [(Tier, CgroupDriver, &str); 6] = [
        (Tier::Guaranteed, Cgroupfs, "/kubepods/podfake-uid"),
        (Tier::Guaranteed, Systemd, "/kubepods.slice/kubepods-podfake_uid.slice"),
        (Tier::Burstable, Cgroupfs, "/kubepods/burstable/podfake-uid"),
        (
            Tier::Burstable,
            Systemd,
            "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-podfake_uid.slice",
        ),
        (Tier::BestEffort, Cgroupfs, "/kubepods/besteffort/podfake-uid"),
        (
            Tier::BestEffort,
            Systemd,
            "/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-podfake_uid.slice",
        ),
    ];
    for (tier, driver, expected) in cases {
        for root in ["", "/"] {
            let layout = CgroupLayout::new(driver, root);
            let name = layout.pod(&pod_of(tier, "fake-uid")).unwrap();
            assert_eq!(layout.path(&name), expected);
        }
    }
    for (of_spec, class, expected) in [
        (Tier::BestEffort, "Guaranteed", "/kubepods/podfake-uid"),
        (Tier::Guaranteed, "Burstable", "/kubepods/burstable/podfake-uid"),
        (Tier::Burstable, "BestEffort", "/kubepods/besteffort/podfake-uid"),
    ] {
        let mut settled = pod_of(of_spec, "fake-uid");
        settled.status.get_or_insert_default().qos_class = Some(class.to_owned());
        let layout = CgroupLayout::new(Cgroupfs, "/");
        assert_eq!(
            layout.path(&layout.pod(&settled).unwrap()),
            expected,
            "{of_spec:?}, {class} by its status"
        );
    }
    let below = CgroupLayout::new(Cgroupfs, "/of/tests");
    let name = below.pod(&pod_of(Tier::Guaranteed, "1")).unwrap();
    assert_eq!(below.path(&name), "/of/tests/kubepods/pod1");
    assert_eq!(below.pod_at("/of/tests/kubepods/pod1").as_ref().map(|uid| uid.as_str()), Some("1"));
    assert!(below.pod(&pod_of(Tier::Guaranteed, "a_b")).is_err());
}
