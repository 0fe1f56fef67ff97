//! What watching the node's resources costs: the same pods under the same daemon without monitors and with all of them, twice each.

use std::time::Duration;

use libtest_mimic::Failed;
use serde_json::{Value, json};
use witlet_api_server::Admission;
use witlet_harness::cluster::{Cluster, Ground, refused};

use super::{SETTLE, all_are_ready, cpu_of_window, pod, rounded, usage_of};

/// How long idle CPU is read for: rounds are 10 s apart, and volumes are measured once a minute at the latest.
const WINDOW: Duration = Duration::from_secs(120);
/// Runs without and with monitors, in this order: what else the machine does shows as a difference between equal ones.
const RUNS: [bool; 4] = [false, true, false, true];

/// Thresholds of all signals, which are never met, soft ones, limits of local storage and image garbage collection; or nothing of it.
fn fields(with_monitors: bool) -> Value {
    if !with_monitors {
        return json!({
            "maxPods": 1000, "evictionHard": {}, "localStorageCapacityIsolation": false,
            "imageGCHighThresholdPercent": 100,
        });
    }
    json!({
        "maxPods": 1000,
        "evictionHard": {
            "memory.available": "1Mi", "nodefs.available": "1Mi", "nodefs.inodesFree": "1", "imagefs.available": "1Mi",
            "imagefs.inodesFree": "1", "pid.available": "1",
        },
        "evictionSoft": {"memory.available": "2Mi", "nodefs.available": "2Mi"},
        "evictionSoftGracePeriod": {"memory.available": "1m", "nodefs.available": "1m"},
        "kernelMemcgNotification": true,
        "localStorageCapacityIsolation": true,
        "imageGCHighThresholdPercent": 99, "imageGCLowThresholdPercent": 98,
    })
}

pub(crate) async fn measure(endpoint: String, pods: usize) -> Result<Value, Failed> {
    let ground = Ground::on(Admission::default(), endpoint).await?;
    let mut cluster = Cluster::start_as_kubelet(ground, &fields(false)).await?;
    for number in 0..pods {
        let mut pod = pod(number)?;
        // Each has a volume that is to be measured.
        let spec = pod.spec.as_mut().ok_or("a pod has a specification")?;
        let volume = json!([{"name": "cache", "emptyDir": {"sizeLimit": "100Mi"}}]);
        spec.volumes = serde_json::from_value(volume)?;
        let mount = json!([{"name": "cache", "mountPath": "/cache"}]);
        spec.containers
            .iter_mut()
            .for_each(|one| one.volume_mounts = serde_json::from_value(mount.clone()).ok());
        cluster.api().create(&pod).map_err(refused)?;
    }
    all_are_ready(&cluster, pods).await?;
    let mut runs = Vec::new();
    for with_monitors in RUNS {
        // Each run begins with a daemon that finds its pods running: what their start took isn't part of it.
        cluster.restart_with_fields(&fields(with_monitors))?;
        cluster.node_ready().await?;
        tokio::time::sleep(3 * SETTLE).await;
        let cpu = cpu_of_window(&cluster, WINDOW).await?;
        let memory = usage_of(&cluster)?.memory_kib as f64 / 1024.0;
        runs.push(json!({
            "monitors": with_monitors, "idle_cpu_pct": rounded(cpu * 100.0), "anon_mib": rounded(memory),
        }));
    }
    if let Err(error) = cluster.end().await {
        eprintln!("bench: the agent didn't end cleanly: {}", error.message().unwrap_or_default());
    }
    Ok(json!({"pods": pods, "runs": runs}))
}
