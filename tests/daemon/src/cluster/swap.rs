//! Swap, where the kernel counts it by cgroup and the machine has some: containers of Burstable pods may swap as much as their share of
//! the node's memory is, and others nothing.

use std::path::{Path, PathBuf};

use k8s_openapi::api::core::v1::Pod;
use libtest_mimic::Failed;
use serde_json::{Value, json};
use witlet_api_server::Admission;
use witlet_harness::cluster::{Cluster, Ground, NODE, container, refused};
use witlet_harness::{BUSYBOX_IMAGE, cgroups};

use super::ContainerdTest;

pub(crate) const TESTS: &[(&str, ContainerdTest)] =
    &[("burstable_pods_swap_by_their_share_and_others_do_not", |endpoint| Box::pin(by_share(endpoint)))];

/// What the kernel keeps limits in.
const PAGE: u64 = 4096;
const MIB: u64 = 1 << 20;

/// Why no one can swap here.
pub(crate) fn why_not() -> Option<&'static str> {
    if !Path::new("/sys/fs/cgroup/cgroup.controllers").exists() {
        return Some("cgroups are of version 1");
    }
    let Ok(swap) = total("SwapTotal:") else { return Some("/proc/meminfo can't be read") };
    (swap == 0).then_some("the machine has no swap")
}

/// Of `/proc/meminfo`, in bytes.
fn total(name: &str) -> Result<u64, Failed> {
    let text = std::fs::read_to_string("/proc/meminfo")?;
    let line = text.lines().find_map(|line| line.strip_prefix(name)).ok_or("/proc/meminfo lacks a line")?;
    Ok(line.trim().trim_end_matches("kB").trim_end().parse::<u64>()? * 1024)
}

/// A pod's class, its container's resources and what it may swap if the node lets it.
struct Case {
    name: &'static str,
    tier: Option<&'static str>,
    resources: Value,
    /// MiB of memory that its share is of.
    asks: u64,
    is_critical: bool,
}

fn cases() -> Vec<Case> {
    let case = |name, tier, resources, asks| Case { name, tier, resources, asks, is_critical: false };
    let memory = |amount: &str| json!({"memory": amount});
    let burstable = json!({"requests": memory("64Mi"), "limits": memory("128Mi")});
    let exact = json!({"cpu": "100m", "memory": "64Mi"});
    vec![
        case("share", Some("burstable"), burstable.clone(), 64),
        case("no-limit", Some("burstable"), json!({"requests": memory("96Mi")}), 96),
        case("no-request", Some("burstable"), json!({"requests": {"cpu": "10m"}}), 0),
        case("all-it-may", Some("burstable"), json!({"limits": memory("64Mi")}), 0),
        case("guaranteed", None, json!({"limits": exact, "requests": exact}), 0),
        case("besteffort", Some("besteffort"), json!({}), 0),
        Case { is_critical: true, ..case("critical", Some("burstable"), burstable, 0) },
    ]
}

fn create(cluster: &Cluster, case: &Case) -> Result<(), Failed> {
    let mut pod = json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": case.name, "namespace": "default"},
        "spec": {
            "nodeName": NODE, "automountServiceAccountToken": false, "enableServiceLinks": false,
            "terminationGracePeriodSeconds": 1, "restartPolicy": "Never", "hostNetwork": true,
            "containers": [{
                "name": "app", "image": BUSYBOX_IMAGE, "command": ["/bin/sh", "-c", "sleep 3600 & wait"], "resources": case.resources,
            }],
        },
    });
    if case.is_critical {
        pod["spec"]["priority"] = json!(2_000_001_000);
        pod["spec"]["priorityClassName"] = json!("system-node-critical");
    }
    let pod: Pod = serde_json::from_value(pod)?;
    cluster.api().create(&pod).map_err(refused)?;
    Ok(())
}

/// What the pod's container may swap, in bytes, as the kernel has it.
fn limit(cluster: &Cluster, case: &Case) -> Result<String, Failed> {
    let pod = cluster.pod(case.name).ok_or("the pod is gone")?;
    let uid = pod.metadata.uid.clone().ok_or("a pod has a UID")?;
    let (id, _) = container(&pod).ok_or("its container has an id")?;
    let id = id.rsplit('/').next().unwrap_or_default();
    let path = cgroups::path_of_pod(&cluster.ground.endpoint, case.tier, &uid);
    // A scope's name has the runtime's before the id.
    let folder = cgroups::folders(&path).into_iter().next().ok_or("there are no cgroups")?;
    let mut below = std::fs::read_dir(&folder)?.flatten().map(|entry| entry.path());
    let is_its = |path: &PathBuf| path.to_string_lossy().contains(id);
    let own = below.find(is_its).ok_or_else(|| format!("{} has no {id}", folder.display()))?;
    Ok(std::fs::read_to_string(own.join("memory.swap.max"))?.trim().to_owned())
}

/// The limits of all classes under this behaviour.
#[allow(clippy::print_stderr, reason = "the figures are part of what this shows")]
async fn under(endpoint: String, behavior: &str) -> Result<(), Failed> {
    let is_limited = behavior == "LimitedSwap";
    let ground = Ground::on(Admission::default(), endpoint).await?;
    let fields =
        json!({"evictionHard": {"memory.available": "1Mi"}, "memorySwap": {"swapBehavior": behavior}});
    let cluster = Cluster::start_as_kubelet(ground, &fields).await?;
    let (memory, swap) = (total("MemTotal:")?, total("SwapTotal:")?);
    let cases = cases();
    for case in &cases {
        create(&cluster, case)?;
    }
    for case in &cases {
        cluster.ready(case.name).await?;
        let share = (case.asks * MIB) as f64 / memory as f64 * swap as f64;
        let expected = if is_limited { share as u64 / PAGE * PAGE } else { 0 };
        let found = limit(&cluster, case)?;
        eprintln!("{behavior}: {} may swap {found} bytes", case.name);
        if found != expected.to_string() {
            return Err(cluster.failure(&format!("{}: it may swap {found}, not {expected}", case.name)));
        }
    }
    for case in &cases {
        cluster.delete(case.name, Some(1))?;
    }
    let is_empty = |cluster: &Cluster| cluster.api().list::<Pod>().is_empty().then_some(());
    cluster.until("all pods are gone", is_empty).await?;
    cluster.end().await
}

async fn by_share(endpoint: String) -> Result<(), Failed> {
    under(endpoint.clone(), "NoSwap").await?;
    under(endpoint, "LimitedSwap").await
}
