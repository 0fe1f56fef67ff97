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

fn used() -> LocalStorage {
    LocalStorage {
        volumes: [("scratch", 1), ("data", 7)]
            .map(|(name, bytes)| (name.to_owned(), FsUsage::new(bytes, 1)))
            .into(),
        logs: [("app".to_owned(), FsUsage::new(9, 1))].into(),
        ..LocalStorage::default()
    }
}

const OLD: Duration = Duration::from_secs(180);

/// Nothing asks for days, and then monitoring does: what is known is of then.
#[tokio::test(start_paused = true)]
async fn what_is_old_is_not_shown() {
    let metrics = StorageMetrics::new(OLD);
    let series = "kubelet_container_log_filesystem_used_bytes{";
    metrics.measured(&pod("u-1"), &used(), None, Timestamp::UNIX_EPOCH, Duration::ZERO);
    for (seconds, count) in [(179, 1), (1, 0)] {
        tokio::time::advance(Duration::from_secs(seconds)).await;
        assert_eq!(shown(&metrics, series).len(), count, "{seconds}");
    }
    metrics.measured(&pod("u-1"), &used(), None, Timestamp::UNIX_EPOCH, Duration::ZERO);
    assert_eq!(shown(&metrics, series).len(), 1);
}

#[test]
fn a_claim_has_the_capacity_of_its_own_file_system() {
    let metrics = StorageMetrics::new(OLD);
    let [own, nodefs] = [50, 100].map(|capacity| FsMeasurement { capacity, ..FsMeasurement::default() });
    let used = LocalStorage { systems: [("data".to_owned(), own)].into(), ..used() };
    metrics.measured(&pod("u-1"), &used, Some(&nodefs), Timestamp::UNIX_EPOCH, Duration::ZERO);
    let series = "kubelet_volume_stats_capacity_bytes{";
    assert_eq!(shown(&metrics, series), ["namespace=\"ns\",persistentvolumeclaim=\"claim\"} 50"]);
}

#[test]
fn logs_and_claims_are_shown_until_their_pod_is_gone() {
    let metrics = StorageMetrics::new(OLD);
    let used = used();
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
