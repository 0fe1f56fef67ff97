//! Limits of local storage (`eviction_manager_test.go`: `TestStorageLimitEvictions`, `TestManagerWithLocalStorageCapacityIsolationOpen`).

use serde_json::{Value, json};

use super::*;
use crate::eviction::fixtures::{candidate, disk};

/// A pod with an `emptyDir` named `local` and containers that have these limits.
fn pod(size_limit: Value, limits: &[&str]) -> Pod {
    let container = |(index, limit): (usize, &&str)| {
        let name = if index == 0 { "app".to_owned() } else { format!("app{index}") };
        let limits = if limit.is_empty() { json!({}) } else { json!({"ephemeral-storage": limit}) };
        json!({"name": name, "resources": {"limits": limits}})
    };
    let containers: Vec<Value> = limits.iter().enumerate().map(container).collect();
    let volume = json!({"name": "local", "emptyDir": {"sizeLimit": size_limit}});
    let manifest = json!({
        "metadata": {"name": "p", "namespace": "ns", "uid": "p"},
        "spec": {"containers": containers, "volumes": [volume]},
    });
    Pod::clone(&candidate(manifest).pod)
}

#[test]
fn the_first_limit_that_is_exceeded_says_so_in_upstreams_words() {
    use Filesystems::{DedicatedImages, Single};
    let volume = |limit| format!("Usage of EmptyDir volume \"local\" exceeds the limit \"{limit}\". ");
    let whole =
        |limit| format!("Pod ephemeral local storage usage exceeds the total limit of containers {limit}. ");
    let one = |limit| format!("Container app exceeded its local ephemeral storage limit \"{limit}\". ");
    let none = || json!(null);
    let cases = [
        ("rootfs above limit", pod(none(), &["1Gi"]), ["2Gi", "0", "0"], Single, Some(whole("1Gi"))),
        ("logs above limit", pod(none(), &["1Gi"]), ["0", "2Gi", "0"], Single, Some(whole("1Gi"))),
        (
            "local volume above limit",
            pod(json!("1Gi"), &[""]),
            ["0", "0", "2Gi"],
            Single,
            Some(volume("1Gi")),
        ),
        ("exactly", pod(json!("1Gi"), &["2Gi"]), ["0", "1Gi", "1Gi"], Single, None),
        ("volume before pod", pod(json!("1024Mi"), &["1Gi"]), ["0", "0", "2Gi"], Single, Some(volume("1Gi"))),
        ("volume counts for the pod", pod(none(), &["1Gi"]), ["0", "0", "2Gi"], Single, Some(whole("1Gi"))),
        ("container of several", pod(none(), &["1Gi", "9Gi"]), ["2Gi", "0", "0"], Single, Some(one("1Gi"))),
        ("sum of several", pod(none(), &["1Gi", "1500Mi"]), ["9Gi", "0", "0"], Single, Some(whole("2524Mi"))),
        ("layers elsewhere", pod(none(), &["1Gi", "9Gi"]), ["2Gi", "0", "0"], DedicatedImages, None),
        (
            "logs count anywhere",
            pod(none(), &["1Gi", "9Gi"]),
            ["0", "2Gi", "0"],
            DedicatedImages,
            Some(one("1Gi")),
        ),
        ("decimal", pod(none(), &["1000"]), ["1001", "0", "0"], Single, Some(whole("1k"))),
        ("a limit of nothing is none for a volume", pod(json!("0"), &[""]), ["0", "0", "2Gi"], Single, None),
        ("no limit", pod(none(), &[""]), ["9Gi", "9Gi", "9Gi"], Single, None),
    ];
    for (name, pod, [rootfs, logs, local], filesystems, expected) in cases {
        let seen = exceeded(&pod, &disk(rootfs, logs, local), filesystems);
        assert_eq!(seen.map(|(_, message)| message), expected, "{name}");
    }
}

#[test]
fn limits_are_counted_by_upstreams_words() {
    let kind = |pod: Pod, [rootfs, logs, local]: [&str; 3]| {
        let seen = exceeded(&pod, &disk(rootfs, logs, local), Filesystems::Single);
        seen.map(|(limit, _)| limit.as_str())
    };
    assert_eq!(kind(pod(json!("1"), &[""]), ["0", "0", "2"]), Some("emptydirfs.limit"));
    assert_eq!(kind(pod(json!(null), &["1"]), ["2", "0", "0"]), Some("ephemeralpodfs.limit"));
    assert_eq!(kind(pod(json!(null), &["1", "9"]), ["2", "0", "0"]), Some("ephemeralcontainerfs.limit"));
}

#[test]
fn pods_with_limits_are_known() {
    let cases = [
        (pod(json!(null), &[""]), false),
        (pod(json!("0"), &[""]), false),
        (pod(json!("1Mi"), &[""]), true),
        (pod(json!(null), &["", "1Gi"]), true),
        (Pod::default(), false),
    ];
    for (pod, expected) in cases {
        assert_eq!(has_limits(&pod), expected, "{:?}", pod.spec);
    }
}
