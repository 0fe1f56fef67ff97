//! Evictions on containerd: pods that fill their volume, their writable layer, their logs or the node's disk, that eat memory or
//! inodes, and fork bombs. Their neighbour goes on, and nothing is left of them.

mod disk;
mod killed;
mod neighbour;
mod pids;

use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};

use k8s_openapi::api::core::v1::{Event, Pod};
use libtest_mimic::Failed;
use serde_json::{Value, json};
use witlet_api_server::Admission;
use witlet_harness::BUSYBOX_IMAGE;
use witlet_harness::cluster::{Cluster, Ground, NODE, is_true, phase, refused};

use super::ContainerdTest;
use neighbour::Neighbour;

pub(crate) const TESTS: &[(&str, ContainerdTest)] = &[
    ("a_pod_that_exceeds_a_limit_of_local_storage_is_evicted", |endpoint| Box::pin(local_storage(endpoint))),
    ("a_pod_that_eats_the_nodes_memory_is_evicted", |endpoint| Box::pin(memory(endpoint))),
    ("a_pod_that_fills_the_nodes_disk_is_evicted", |endpoint| Box::pin(disk::bytes(endpoint))),
    ("a_pod_that_eats_inodes_is_evicted", |endpoint| Box::pin(disk::inodes(endpoint))),
    ("a_pod_that_writes_too_much_log_is_evicted", |endpoint| Box::pin(disk::logs(endpoint))),
    ("a_fork_bomb_ends_at_the_limit_of_its_pod", |endpoint| Box::pin(pids::limited(endpoint))),
    ("a_fork_bomb_that_takes_the_nodes_process_ids_is_evicted", |endpoint| Box::pin(pids::short(endpoint))),
    ("a_daemon_that_is_killed_while_it_makes_a_cgroup_makes_it_whole", |endpoint| {
        Box::pin(killed::creation(endpoint))
    }),
    ("a_daemon_that_is_killed_while_it_evicts_evicts_once", |endpoint| Box::pin(killed::eviction(endpoint))),
];

/// How far above the threshold the machine begins, and how much the pod eats: others use the machine, too, and the root cgroup doesn't
/// count all that `/proc/meminfo` does.
const AWAY: u64 = 2 << 30;
const EATEN: u64 = 5 << 30;

async fn start(endpoint: String, hard: &str) -> Result<Cluster, Failed> {
    let admission = Admission { node_rules: true, ..Admission::default() };
    let ground = Ground::on(admission, endpoint).await?;
    let more = vec!["--stop-pods-on-exit".to_owned(), format!("--eviction-hard={hard}")];
    let cluster = Cluster::start_with_token(ground, Ipv4Addr::LOCALHOST, more).await?;
    cluster.node_ready().await?;
    Ok(cluster)
}

fn manifest(name: &str, script: &str, resources: Value, volume: Value) -> Value {
    let app = json!({
        "name": "app", "image": BUSYBOX_IMAGE, "command": ["/bin/sh", "-c", script], "resources": resources,
        "volumeMounts": [{"name": "cache", "mountPath": "/cache"}],
    });
    json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "default"},
        "spec": {
            "nodeName": NODE,
            "automountServiceAccountToken": false,
            "enableServiceLinks": false,
            "terminationGracePeriodSeconds": 30,
            "hostNetwork": true,
            "containers": [app],
            "volumes": [{"name": "cache", "emptyDir": volume}],
        },
    })
}

fn create(
    cluster: &Cluster,
    name: &str,
    script: &str,
    resources: Value,
    volume: Value,
) -> Result<(), Failed> {
    let pod: Pod = serde_json::from_value(manifest(name, script, resources, volume))?;
    cluster.api().create(&pod).map_err(refused)?;
    Ok(())
}

/// The pod's message once it was evicted and nothing of it runs.
async fn evicted(cluster: &Cluster, name: &str) -> Result<String, Failed> {
    cluster
        .until(&format!("{name} is evicted"), |cluster| {
            let status = cluster.pod(name)?.status?;
            let has_ended =
                status.container_statuses.iter().flatten().all(|container| {
                    container.state.as_ref().is_some_and(|state| state.terminated.is_some())
                });
            let is_evicted =
                status.phase.as_deref() == Some("Failed") && status.reason.as_deref() == Some("Evicted");
            (is_evicted && has_ended).then(|| status.message.unwrap_or_default())
        })
        .await
}

fn expect(what: &str, is_so: bool, seen: &str) -> Result<(), Failed> {
    if is_so { Ok(()) } else { Err(format!("{what}: {seen}").into()) }
}

/// Deletes the pod, and waits until its object, its folders and its cgroups are gone.
async fn leaves_nothing(cluster: &Cluster, name: &str) -> Result<(), Failed> {
    let uid = cluster.pod(name).and_then(|pod| pod.metadata.uid).ok_or("its object is gone")?;
    cluster.delete(name, Some(1))?;
    cluster.until("its object is gone", |cluster| cluster.pod(name).is_none().then_some(())).await?;
    let root = witlet_harness::cgroups::path_of_root(&cluster.ground.endpoint);
    let mut folders = witlet_harness::cgroups::folders(&root);
    folders.extend([cluster.ground.path("agent/pods"), cluster.ground.path("pod-logs")]);
    let names = |folder: &Path| -> Vec<PathBuf> {
        // Names of slices have `_` in place of `-`.
        let (own, of_slice) = (format!("*{uid}*"), format!("*{}*", uid.replace('-', "_")));
        let names = ["-name", &own, "-o", "-name", &of_slice];
        let found = std::process::Command::new("find").arg(folder).args(names).output();
        let found =
            found.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
        found.lines().map(PathBuf::from).collect()
    };
    let left =
        || folders.iter().flat_map(|folder| names(folder)).map(|path| path.display().to_string()).collect();
    cluster.until_nothing_is_missing("nothing is left of it", |_| left()).await
}

/// Nothing that wakes up, for emulated machines. A signal ends it with a failure: a pod whose containers end well has succeeded,
/// evicted or not.
const SLEEP: &str = "trap 'exit 3' TERM; sleep 3600 & wait";

async fn local_storage(endpoint: String) -> Result<(), Failed> {
    let cluster = start(endpoint, "").await?;
    let limits = |bytes: &str| json!({"limits": {"ephemeral-storage": bytes}});
    let neighbour = Neighbour::start(&cluster, limits("100Mi"), json!({"sizeLimit": "100Mi"})).await?;
    let fill = |path: &str| format!("/bin/busybox dd if=/dev/zero of={path}/x bs=1M count=40; {SLEEP}");
    create(&cluster, "volume", &fill("/cache"), json!({}), json!({"sizeLimit": "20Mi"}))?;
    create(&cluster, "layer", &fill("/bin"), limits("20Mi"), json!({}))?;
    let message = evicted(&cluster, "volume").await?;
    let expected = "Usage of EmptyDir volume \"cache\" exceeds the limit \"20Mi\". ";
    expect("the volume's message", message == expected, &message)?;
    let message = evicted(&cluster, "layer").await?;
    let expected = "Pod ephemeral local storage usage exceeds the total limit of containers 20Mi. ";
    expect("the layer's message", message == expected, &message)?;
    for name in ["volume", "layer"] {
        let disrupted = cluster.pod(name).is_some_and(|pod| is_true(&pod, "DisruptionTarget"));
        expect("a disruption", !disrupted, &disrupted.to_string())?;
        cluster
            .until("its event was reported", |c| (c.event_count(name, "Evicted") == 1).then_some(()))
            .await?;
    }
    neighbour.expect_left_alone(&cluster).await?;
    for name in ["volume", "layer"] {
        leaves_nothing(&cluster, name).await?;
    }
    cluster.end().await
}

/// What the machine has left, by the formula of the agent's, near enough.
fn available() -> Result<u64, Failed> {
    let text = std::fs::read_to_string("/proc/meminfo")?;
    let kib = |name: &str| -> Option<u64> {
        let line = text.lines().find_map(|line| line.strip_prefix(name))?;
        line.trim().strip_suffix("kB")?.trim().parse().ok()
    };
    let left = kib("MemFree:").zip(kib("Inactive(file):")).map(|(free, inactive)| (free + inactive) * 1024);
    left.ok_or_else(|| "there is no /proc/meminfo".into())
}

async fn memory(endpoint: String) -> Result<(), Failed> {
    let left = available()?;
    let too_few = || format!("{left} bytes of memory are left, too few to eat {EATEN} of them");
    let threshold = left.checked_sub(AWAY).ok_or_else(too_few)?;
    let cluster = start(endpoint, &format!("memory.available<{threshold}")).await?;
    let asks = json!({"requests": {"memory": "1Mi"}});
    let neighbour = Neighbour::start(&cluster, asks.clone(), json!({})).await?;
    let eat = format!("/bin/busybox dd if=/dev/zero of=/cache/x bs=1M count={}; {SLEEP}", EATEN >> 20);
    create(&cluster, "bomb", &eat, asks, json!({"medium": "Memory"}))?;
    let message = evicted(&cluster, "bomb").await?;
    let is_upstreams = message.starts_with("The node was low on resource: memory. Threshold quantity: ")
        && message.contains("Container app was using ")
        && message.ends_with(", request is 1Mi, has larger consumption of memory. ");
    expect("the message", is_upstreams, &message)?;
    let bomb = cluster.pod("bomb").ok_or("its object is gone")?;
    expect("it is a disruption", is_true(&bomb, "DisruptionTarget"), phase(&bomb))?;
    let annotations = cluster
        .until("its event was reported", |cluster| {
            let events = cluster.api().list::<Event>();
            let event = events.into_iter().find(|event| event.reason.as_deref() == Some("Evicted"))?;
            event.metadata.annotations
        })
        .await?;
    expect(
        "annotations",
        annotations.get("starved_resource").is_some_and(|r| r == "memory"),
        &format!("{annotations:?}"),
    )?;
    neighbour.expect_left_alone(&cluster).await?;
    leaves_nothing(&cluster, "bomb").await?;
    cluster.end().await
}
