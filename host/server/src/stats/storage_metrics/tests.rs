//! What monitoring sees of pods' folders.

use serde_json::json;
use witlet_core::stats::FsUsage;
use witlet_core::stats::exposition::written;

use super::*;

fn pod(uid: &str) -> Pod {
    let pod = json!({
        "metadata": {"name": format!("pod-{uid}"), "namespace": "ns", "uid": uid},
        "spec": {"containers": [], "volumes": [
            {"name": "scratch", "emptyDir": {}},
            {"name": "data", "persistentVolumeClaim": {"claimName": "claim"}},
        ]},
    });
    serde_json::from_value(pod).unwrap()
}

fn shown(metrics: &StorageMetrics, name: &str) -> Vec<String> {
    let text = written(|to| metrics.write(to)).unwrap();
    text.lines().filter_map(|line| line.strip_prefix(name)).map(str::to_owned).collect()
}

#[test]
fn logs_and_claims_are_shown_until_their_pod_is_gone() {
    let metrics = StorageMetrics::default();
    let used = LocalStorage {
        volumes: [("scratch", 1), ("data", 7)]
            .map(|(name, bytes)| (name.to_owned(), FsUsage::new(bytes, 1)))
            .into(),
        logs: [("app".to_owned(), FsUsage::new(9, 1))].into(),
        own: FsUsage::default(),
    };
    let system = FsMeasurement { capacity: 100, ..FsMeasurement::default() };
    let logs = "kubelet_container_log_filesystem_used_bytes{";
    let (claims, capacity) = ("kubelet_volume_stats_used_bytes{", "kubelet_volume_stats_capacity_bytes{");
    for uid in ["u-1", "u-2"] {
        metrics.measured(&pod(uid), &used, Some(&system), Timestamp::UNIX_EPOCH, Duration::ZERO);
    }
    assert_eq!(shown(&metrics, logs).len(), 2);
    let claim = "namespace=\"ns\",persistentvolumeclaim=\"claim\"}";
    assert_eq!(shown(&metrics, claims), [format!("{claim} 7")], "both pods have the same claim");
    assert_eq!(shown(&metrics, capacity), [format!("{claim} 100")]);
    metrics.keep(|uid| uid.as_str() == "u-2");
    assert_eq!((shown(&metrics, logs).len(), shown(&metrics, claims).len()), (1, 1));
    metrics.keep(|_| false);
    assert_eq!((shown(&metrics, logs).len(), shown(&metrics, claims).len()), (0, 0));
}
