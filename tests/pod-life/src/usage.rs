//! What a pod uses, as the metrics server and people ask the node for it, and as the kernel counts it.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use libtest_mimic::Failed;
use serde_json::Value;
use tokio::time::{sleep, timeout};
use witlet_harness::cluster::{NODE, get};
use witlet_harness::{WAIT_TIMEOUT, cgroups};

/// How often the summary is asked for again.
const POLL: Duration = Duration::from_millis(500);

/// Asks the node through its API server, and compares the answers with the kernel's figures. The container `app` of this pod serves
/// a page.
pub(crate) async fn is_shown(api: SocketAddr, endpoint: &str, uid: &str) -> Result<(), Failed> {
    let cgroup = cgroup(endpoint, uid).ok_or("the pod has no cgroup that counts processor time")?;
    let before = nanoseconds(&cgroup)?;
    let used = timeout(WAIT_TIMEOUT, measured_since(api, uid, before)).await;
    let used = used.map_err(|_| format!("the pod used {before} ns, and no whole summary says as much"))??;
    let after = nanoseconds(&cgroup)?;
    if used > after {
        return Err(format!("the pod used {before} to {after} ns, and the summary says {used}").into());
    }
    let metrics = body(api, "metrics/resource").await?;
    has_all(
        &metrics,
        &[
            &["node_cpu_usage_seconds_total "],
            &["pod_memory_working_set_bytes{namespace=\"default\",pod=\"talks\"} "],
            &["container_memory_working_set_bytes{container=\"app\",namespace=\"default\",pod=\"talks\"} "],
            &["resource_scrape_error 0"],
        ],
    )?;
    let id = cgroup.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let of_pod = [id, "namespace=\"default\",pod=\"talks\""];
    has_all(
        &body(api, "metrics/cadvisor").await?,
        &[
            &["container_cpu_usage_seconds_total{container=\"app\",", of_pod[0], "busybox", of_pod[1]],
            &[
                "container_memory_working_set_bytes{container=\"\",",
                of_pod[0],
                "image=\"\",name=\"\"",
                of_pod[1],
            ],
            &[
                "container_network_receive_bytes_total{container=\"\",",
                of_pod[0],
                of_pod[1],
                "interface=\"eth0\"",
            ],
            &["container_processes{container=\"app\",", of_pod[0]],
            &["container_fs_usage_bytes{container=\"\",id=\"/\",", "device=\"/dev/"],
            &["container_memory_usage_bytes{container=\"\",id=\"/\","],
            &["machine_cpu_cores{"],
            &["container_scrape_error 0"],
            &["machine_scrape_error 0"],
        ],
    )
}

async fn summary(api: SocketAddr) -> Result<Value, Failed> {
    Ok(serde_json::from_str(&body(api, "stats/summary").await?)?)
}

/// The pod's processor time in the first whole summary that was measured after it had used so much. Requests share what was measured within
/// the second before, and the runtime checks writable layers from time to time only.
async fn measured_since(api: SocketAddr, uid: &str, before: u64) -> Result<u64, Failed> {
    loop {
        let summary = summary(api).await?;
        let used = pod(&summary, uid)["cpu"]["usageCoreNanoSeconds"].as_u64();
        match used.filter(|used| *used >= before) {
            Some(used) if missing(&summary, uid).is_empty() => return Ok(used),
            Some(_) | None => sleep(POLL).await,
        }
    }
}

/// The pod in a summary; null if it isn't there.
fn pod<'a>(summary: &'a Value, uid: &str) -> &'a Value {
    let pods = summary["pods"].as_array().into_iter().flatten();
    pods.into_iter().find(|pod| pod["podRef"]["uid"] == uid).unwrap_or(&Value::Null)
}

/// Figures that the summary doesn't have of the node and of the pod, or that are 0.
fn missing(summary: &Value, uid: &str) -> Vec<&'static str> {
    let pod = pod(summary, uid);
    let app = &pod["containers"][0];
    let figures = [
        ("memory", &app["memory"]["workingSetBytes"]),
        ("processor", &app["cpu"]["usageCoreNanoSeconds"]),
        ("writable layer", &app["rootfs"]["usedBytes"]),
        // It may be empty.
        ("log", &app["logs"]["inodesUsed"]),
        ("processes", &pod["process_stats"]["process_count"]),
        ("traffic", &pod["network"]["rxBytes"]),
        ("node's disk", &summary["node"]["fs"]["capacityBytes"]),
        ("images", &summary["node"]["runtime"]["imageFs"]["usedBytes"]),
        ("node's processes", &summary["node"]["rlimit"]["curproc"]),
    ];
    figures.iter().filter(|(_, figure)| figure.as_u64().unwrap_or(0) == 0).map(|(name, _)| *name).collect()
}

/// Each of these wants a line that begins with its first text and has the others.
fn has_all(metrics: &str, expected: &[&[&str]]) -> Result<(), Failed> {
    for parts in expected {
        let is_it = |line: &str| {
            parts.first().is_some_and(|first| line.starts_with(first))
                && parts.iter().all(|part| line.contains(part))
        };
        if !metrics.lines().any(is_it) {
            return Err(format!("the metrics lack {parts:?}:\n{metrics}").into());
        }
    }
    Ok(())
}

async fn body(api: SocketAddr, path: &str) -> Result<String, Failed> {
    let answer = get(api, &format!("/api/v1/nodes/{NODE}/proxy/{path}")).await?;
    match answer.split_once("\r\n\r\n") {
        Some((head, body)) if head.starts_with("HTTP/1.1 200") => Ok(body.to_owned()),
        _ => Err(format!("{path}: {answer}").into()),
    }
}

/// The pod's cgroup in the tree that counts processor time.
fn cgroup(endpoint: &str, uid: &str) -> Option<PathBuf> {
    let counts = |folder: &PathBuf| cgroups::cpu_nanoseconds(folder).is_some();
    let root = cgroups::folders(&cgroups::path_of_root(endpoint)).into_iter().find(counts)?;
    cgroups::find_below(&root, &[format!("pod{uid}"), format!("pod{}", uid.replace('-', "_"))])
}

fn nanoseconds(cgroup: &Path) -> Result<u64, Failed> {
    cgroups::cpu_nanoseconds(cgroup)
        .ok_or_else(|| format!("{} isn't there any more", cgroup.display()).into())
}
