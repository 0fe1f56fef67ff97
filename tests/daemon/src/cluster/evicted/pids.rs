//! Fork bombs, each in a cgroup that bounds it: one that only reaches the limit of its pod, and one that the node is short of process
//! ids for.

use std::path::{Path, PathBuf};

use k8s_openapi::api::core::v1::Node;
use libtest_mimic::Failed;
use serde_json::json;
use witlet_api_server::Admission;
use witlet_harness::cgroups;
use witlet_harness::cluster::{Cluster, Ground, NODE, container};

use super::neighbour::Neighbour;
use super::{create, evicted, expect, leaves_nothing};

/// How many processes a pod may have that is to reach its limit.
const FEW: u64 = 64;
/// And one that isn't; so many the bomb makes at most.
const MANY: u64 = 2500;
const BOMB: u64 = 1500;
/// How far above the threshold the machine begins: others start processes, too.
const AWAY: u64 = 700;

/// With `podPidsLimit`, which only a kubelet's configuration has. A neighbour runs on it.
pub(super) async fn start(endpoint: String, limit: u64, hard: &str) -> Result<(Cluster, Neighbour), Failed> {
    let admission = Admission { node_rules: true, ..Admission::default() };
    let ground = Ground::on(admission, endpoint).await?;
    let hard: serde_json::Value = serde_json::from_str(hard)?;
    let fields = json!({"evictionHard": hard, "podPidsLimit": limit});
    let cluster = Cluster::start_as_kubelet(ground, &fields).await?;
    let neighbour = Neighbour::start(&cluster, json!({}), json!({})).await?;
    Ok((cluster, neighbour))
}

/// The file of the pod's cgroup of process ids.
fn pids_file(cluster: &Cluster, name: &str, file: &str) -> Option<PathBuf> {
    let uid = cluster.pod(name)?.metadata.uid?;
    let path = cgroups::path_of_pod(&cluster.ground.endpoint, Some("besteffort"), &uid);
    let files = cgroups::folders(&path).into_iter().map(|folder| folder.join(file));
    files.into_iter().find(|file| file.exists())
}

/// How many forks were refused in this cgroup and those below: version 1, and version 2 of kernels before 6.11, count them where the
/// process is, later kernels where the limit is.
fn refused(folder: &Path) -> u64 {
    let events = std::fs::read_to_string(folder.join("pids.events")).unwrap_or_default();
    let own = events.split_whitespace().last().and_then(|count| count.parse().ok()).unwrap_or(0_u64);
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let below = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    own + below.map(|entry| refused(&entry.path())).sum::<u64>()
}

/// The bomb fails on its own limit: nothing is evicted, and the node is short of nothing.
pub(super) async fn limited(endpoint: String) -> Result<(), Failed> {
    let (cluster, neighbour) = start(endpoint, FEW, r#"{"pid.available": "1"}"#).await?;
    let bomb = "(while :; do sleep 600 & done); exec /bin/busybox sleep 600";
    create(&cluster, "bomb", bomb, json!({}), json!({}))?;
    cluster.ready("bomb").await?;
    let number = |cluster: &Cluster, file: &str| -> Option<u64> {
        std::fs::read_to_string(pids_file(cluster, "bomb", file)?).ok()?.trim().parse().ok()
    };
    cluster
        .until("the bomb reaches its limit", |cluster| {
            let refused = refused(pids_file(cluster, "bomb", "pids.events")?.parent()?);
            (refused > 0 && number(cluster, "pids.max") == Some(FEW)).then_some(())
        })
        .await?;
    let processes = number(&cluster, "pids.current").unwrap_or_default();
    expect("so many processes", (FEW / 2..=FEW).contains(&processes), &processes.to_string())?;
    let bomb = cluster.pod("bomb").ok_or("the bomb is gone")?;
    expect("it isn't ended for it", container(&bomb).is_some_and(|(_, count)| count == 0), "restarted")?;
    let node: Node = cluster.api().get("", NODE).ok_or("the node is gone")?;
    let conditions = node.status.and_then(|status| status.conditions).unwrap_or_default();
    let is_short = conditions.iter().any(|one| one.type_ == "PIDPressure" && one.status == "True");
    expect("the node is short of nothing", !is_short, "PIDPressure")?;
    finish(cluster, neighbour).await
}

/// The bomb takes process ids until the node is short of them.
pub(super) async fn short(endpoint: String) -> Result<(), Failed> {
    let available = available()?;
    let threshold = available.checked_sub(AWAY).ok_or("too few process ids are left")?;
    let hard = json!({"pid.available": threshold.to_string()}).to_string();
    let (cluster, neighbour) = start(endpoint, MANY, &hard).await?;
    let bomb = format!("i=0; while [ $i -lt {BOMB} ]; do sleep 600 & i=$((i+1)); done; wait");
    create(&cluster, "bomb", &bomb, json!({}), json!({}))?;
    let message = evicted(&cluster, "bomb").await?;
    let begin = format!("The node was low on resource: pids. Threshold quantity: {threshold}, available: ");
    expect("the message", message.starts_with(&begin), &message)?;
    finish(cluster, neighbour).await
}

async fn finish(cluster: Cluster, neighbour: Neighbour) -> Result<(), Failed> {
    leaves_nothing(&cluster, "bomb").await?;
    neighbour.ends_well(&cluster).await?;
    cluster.end().await
}

/// Process ids that the machine has left, as the agent counts them.
fn available() -> Result<u64, Failed> {
    let number = |path: &str| -> Result<u64, Failed> { Ok(std::fs::read_to_string(path)?.trim().parse()?) };
    let most = number("/proc/sys/kernel/pid_max")?.min(number("/proc/sys/kernel/threads-max")?);
    let load = std::fs::read_to_string("/proc/loadavg")?;
    let threads = load.split_whitespace().nth(3).and_then(|word| word.split_once('/')).ok_or("no threads")?;
    Ok(most.saturating_sub(threads.1.parse()?))
}
