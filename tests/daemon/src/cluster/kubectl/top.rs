//! `kubectl top`, by what a metrics server makes of two scrapes of a pod that is always busy, and by the kernel's own counters.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use jiff::SignedDuration;
use libtest_mimic::Failed;
use serde_json::{Value, json};
use tokio::time::sleep;
use witlet_api_server::Identity;
use witlet_harness::cgroups;
use witlet_harness::cluster::{AGAIN, NODE};
use witlet_test_servers::metrics_server::{MetricsServer, Scrape, Usage};

use super::{World, check};

/// A fifth of a core as long as it runs, and memory that stays.
const LOAD: &str = "busybox dd if=/dev/zero of=/dev/shm/held bs=1M count=32; echo held; while :; do :; done";
/// Processor time that is used between two scrapes, in nanoseconds: ten seconds of that load on a machine that has them.
const USED_BETWEEN: u64 = 2_000_000_000;
/// A metrics server's own user, and what its role lets it do.
const USER: &str = "system:serviceaccount:kube-system:metrics-server";
const MAY: (&str, &str) = ("get", "nodes/metrics");
/// Figures differ from the kernel's by at most so many parts of a hundred.
const PERCENT: f64 = 2.0;
const MIB: u64 = 1 << 20;

/// The container's cgroup in the trees that count.
struct Counters {
    cpu: PathBuf,
    memory: PathBuf,
}

impl Counters {
    fn of(world: &World, container: &str) -> Result<Self, Failed> {
        let roots = cgroups::folders(&cgroups::path_of_root(&world.cluster.ground.endpoint));
        let names = [container.to_owned()];
        let folders: Vec<PathBuf> =
            roots.iter().filter_map(|root| cgroups::find_below(root, &names)).collect();
        let counts = |count: fn(&Path) -> Option<u64>| {
            folders.iter().find(|folder| count(folder).is_some()).cloned().ok_or("no cgroup counts")
        };
        Ok(Self { cpu: counts(cgroups::cpu_nanoseconds)?, memory: counts(cgroups::working_set)? })
    }

    fn cpu(&self) -> Result<u64, Failed> {
        cgroups::cpu_nanoseconds(&self.cpu).ok_or_else(|| "the container has no cgroup any more".into())
    }
}

/// What the node shows to this client, or without one to the API server, as people read it.
async fn exposed(world: &World, client: Option<&kube::Client>) -> Result<String, Failed> {
    match client {
        Some(client) => {
            Ok(client.request_text(http::Request::get("/metrics/resource").body(Vec::new())?).await?)
        }
        None => {
            let path = format!("/api/v1/nodes/{NODE}/proxy/metrics/resource");
            Ok(world.kubectl(&["get", "--raw", &path], "").await?.out)
        }
    }
}

/// A scrape, and what the kernel had counted before and after.
async fn scraped(
    world: &World,
    counters: &Counters,
    client: Option<&kube::Client>,
) -> Result<(Scrape, [u64; 2]), Failed> {
    loop {
        let (before, begun) = (counters.cpu()?, world.cluster.api().now().as_nanosecond());
        let text = exposed(world, client).await?;
        let begun = i64::try_from(begun)?;
        let scrape = Scrape::read(&text, begun)?;
        let app = scrape.pods.get(&("default".to_owned(), "busy".to_owned())).and_then(|pod| pod.get("app"));
        // Requests share what was measured within the second before.
        if app.is_some_and(|app| app.at >= begun) {
            return Ok((scrape, [before, counters.cpu()?]));
        }
        sleep(AGAIN).await;
    }
}

pub(super) async fn shows_what_the_kernel_counts(world: &World) -> Result<(), Failed> {
    let limits = json!({"limits": {"cpu": "200m", "memory": "128Mi"}});
    world.pod("busy", json!({"command": ["/bin/sh", "-c", LOAD], "resources": limits})).await?;
    // All of its memory is used from then on.
    while !world.kubectl(&["logs", "busy"], "").await?.out.contains("held") {
        sleep(AGAIN).await;
    }
    let pod = world.cluster.pod("busy").ok_or("the pod is gone")?;
    let status = pod.status.as_ref().and_then(|status| status.container_statuses.as_ref()?.first());
    let id =
        status.and_then(|status| status.container_id.as_ref()?.split_once("://")).ok_or("no container")?.1;
    let counters = Counters::of(world, id)?;

    world.cluster.api().allow(USER, MAY.0, MAY.1);
    let issued =
        world.cluster.api().client_certificate(&Identity::new(USER, &[]), SignedDuration::from_hours(1))?;
    let client = world.cluster.node_client(&issued).await?;
    // Its scrapes are less than ten seconds apart, so that only scrapes are compared.
    let mut server = MetricsServer::new(5);
    let (scrape, first) = scraped(world, &counters, None).await?;
    server.store(scrape);
    while counters.cpu()? < first[1] + USED_BETWEEN {
        sleep(AGAIN).await;
    }
    let (scrape, second) = scraped(world, &counters, Some(&client)).await?;
    server.store(scrape);

    let app =
        server.pod("default", "busy").and_then(|pod| pod.get("app").copied()).ok_or("no figure of it")?;
    let seconds = (app.window.1 - app.window.0) as f64 / 1e9;
    let rate = |used: u64| used as f64 / seconds;
    let bounds = [rate(second[0] - first[1]), rate(second[1] - first[0])];
    is_within("processor time", app.nanocores as f64, bounds)?;
    let held = cgroups::working_set(&counters.memory).ok_or("the container has no cgroup any more")? as f64;
    is_within("memory", app.memory as f64, [held, held])?;
    summary_shows_what_the_kernel_counts(world, &counters, held).await?;
    let node = server.node().ok_or("no figure of the node")?;
    shown_by_kubectl(world, app, node).await
}

/// The same of the summary, as the API server's proxy has it: processor time of the container and of the node, and the container's memory.
async fn summary_shows_what_the_kernel_counts(
    world: &World,
    counters: &Counters,
    held: f64,
) -> Result<(), Failed> {
    let roots = cgroups::folders("/");
    let of_node = || roots.iter().find_map(|root| cgroups::cpu_nanoseconds(root)).ok_or("no cgroup counts");
    let path = format!("/api/v1/nodes/{NODE}/proxy/stats/summary");
    loop {
        let before = [counters.cpu()?, of_node()?];
        let summary: Value = serde_json::from_str(&world.kubectl(&["get", "--raw", &path], "").await?.out)?;
        let after = [counters.cpu()?, of_node()?];
        let pods = summary["pods"].as_array().into_iter().flatten();
        let busy = pods.filter(|pod| pod["podRef"]["name"] == "busy");
        let mut containers = busy.flat_map(|pod| pod["containers"].as_array().into_iter().flatten());
        let app = containers.find(|container| container["name"] == "app").ok_or("no figures of it")?;
        let of = |stats: &Value| stats["cpu"]["usageCoreNanoSeconds"].as_u64().ok_or("no processor time");
        let used = [of(app)?, of(&summary["node"])?];
        // Requests share what was measured within the second before.
        if used.iter().zip(before).any(|(used, before)| *used < before) {
            sleep(AGAIN).await;
            continue;
        }
        for (what, used, after) in [("container", used[0], after[0]), ("node", used[1], after[1])] {
            if used > after {
                return Err(format!("processor time of the {what}: {used}, more than {after}").into());
            }
        }
        let memory = app["memory"]["workingSetBytes"].as_u64().ok_or("no memory")?;
        return is_within("memory in the summary", memory as f64, [held, held]);
    }
}

fn is_within(what: &str, figure: f64, [low, high]: [f64; 2]) -> Result<(), Failed> {
    let (low, high) = (low * (1.0 - PERCENT / 100.0), high * (1.0 + PERCENT / 100.0));
    let is_it = (low..=high).contains(&figure);
    if is_it { Ok(()) } else { Err(format!("{what}: {figure}, not from {low} to {high}").into()) }
}

/// kubectl prints these figures, rounded as it does.
async fn shown_by_kubectl(world: &World, app: Usage, node: Usage) -> Result<(), Failed> {
    let now = world.cluster.api().now().to_string();
    let figures =
        |usage: Usage| json!({"cpu": format!("{}n", usage.nanocores), "memory": usage.memory.to_string()});
    let of = |kind: &str, metadata: Value, more: (&str, Value)| {
        let mut object = json!({
            "kind": kind, "apiVersion": "metrics.k8s.io/v1beta1", "metadata": metadata, "timestamp": now,
            "window": "10s",
        });
        object[more.0] = more.1;
        object
    };
    let containers = json!([{"name": "app", "usage": figures(app)}]);
    let of_pod =
        of("PodMetrics", json!({"name": "busy", "namespace": "default"}), ("containers", containers));
    let of_node = of("NodeMetrics", json!({"name": NODE}), ("usage", figures(node)));
    let list = |kind: &str, item: &Value| json!({"kind": kind, "apiVersion": "metrics.k8s.io/v1beta1", "metadata": {}, "items": [item]});
    let documents = BTreeMap::from([
        ("/nodes".to_owned(), list("NodeMetricsList", &of_node)),
        ("/namespaces/default/pods".to_owned(), list("PodMetricsList", &of_pod)),
        ("/namespaces/default/pods/busy".to_owned(), of_pod),
    ]);
    world.cluster.api().aggregate("metrics.k8s.io", "v1beta1", documents);
    let cpu = |usage: Usage| format!("{}m", usage.nanocores.div_ceil(1_000_000));
    let memory = |usage: Usage| format!("{}Mi", usage.memory / MIB);
    let pods = world.kubectl(&["top", "pod", "busy", "--containers", "--no-headers"], "").await?;
    let words: Vec<&str> = pods.out.split_whitespace().collect();
    check(&format!("top pod, {:?}", pods.said), words, vec!["busy", "app", &*cpu(app), &*memory(app)])?;
    let nodes = world.kubectl(&["top", "node", "--no-headers"], "").await?;
    let words: Vec<&str> = nodes.out.split_whitespace().collect();
    let shown = [words.first(), words.get(1), words.get(3)].map(|word| word.copied().unwrap_or_default());
    check(&format!("top node, {:?}", nodes.said), shown, [NODE, &*cpu(node), &*memory(node)])
}
