//! What reading a node's figures costs: pods on a real containerd, and the five paths of metrics and the summary as a cluster reads them.
//!
//! Needs root and containerd, as `tests/containerd` does. Progress goes to standard error; the last line of standard output is one JSON
//! object. `SCRAPES_PODS` says how many pods (450 if not given). Times are those of a client on the same machine; CPU is the
//! daemon's own, without what it takes while idle. With `SCRAPES_MONITORS=1` nothing is read: the daemon is idle without and with
//! monitors of the node's resources, in turns.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a benchmark talks to its user")]

mod monitors;

use std::net::Ipv4Addr;
use std::process::ExitCode;
use std::time::Duration;

use http::Request;
use jiff::SignedDuration;
use k8s_openapi::api::core::v1::Pod;
use libtest_mimic::Failed;
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio::time::Instant;
use witlet_api_server::{Admission, Identity};
use witlet_harness::cluster::{Cluster, Ground, NODE, container, failed, is_true, refused};
use witlet_harness::usage::{self, Usage};
use witlet_harness::{BUSYBOX_IMAGE, Containerd, report, skip_reason};
use witlet_server::LocalClient;

const PODS_DEFAULT: usize = 450;
/// What a Prometheus and a metrics server read of a node.
const PATHS: [&str; 6] = [
    "/metrics",
    "/metrics/cadvisor",
    "/metrics/probes",
    "/metrics/resource",
    "/metrics/slis",
    "/stats/summary",
];
/// How often all paths are read, and the pause between: longer than measurements are shared for.
const ROUNDS: u32 = 30;
const PAUSE: Duration = Duration::from_millis(1100);
/// How long the daemon is left alone before a reading, and how long its CPU is read for while no one asks.
const SETTLE: Duration = Duration::from_secs(20);
const IDLE_WINDOW: Duration = Duration::from_secs(30);
/// All pods are ready within it, or the machine is too small for them.
const START_DEADLINE: Duration = Duration::from_secs(1800);
/// At once, and next to them: connections that say nothing, requests whose response no one reads, requests that are given up.
const SCRAPERS: usize = 200;
const SILENT: usize = 50;
const UNREAD: usize = 20;
const CANCELLED: usize = 50;

fn main() -> ExitCode {
    if let Some(why) = skip_reason() {
        eprintln!("bench: scrapes were NOT measured: {why}");
        return ExitCode::SUCCESS;
    }
    match scrapes() {
        Ok(figures) => {
            println!("{figures}");
            ExitCode::SUCCESS
        }
        Err(why) => {
            eprintln!("bench: scrapes were NOT measured: {why}");
            ExitCode::FAILURE
        }
    }
}

/// The figures, or why there are none.
fn scrapes() -> Result<Value, String> {
    let pods = match std::env::var("SCRAPES_PODS") {
        Ok(text) => {
            text.parse::<usize>().map_err(|_| format!("SCRAPES_PODS must be a number, found {text:?}"))?
        }
        Err(_) => PODS_DEFAULT,
    };
    let runtime = || tokio::runtime::Builder::new_multi_thread().enable_all().build().expect("a runtime");
    let outer = runtime();
    let containerd = outer.block_on(Containerd::start()).map_err(|error| report(&error))?;
    let endpoint = containerd.endpoint();
    let only_monitors = std::env::var("SCRAPES_MONITORS").is_ok_and(|value| value == "1");
    let figures = containerd.in_network(move || match only_monitors {
        true => runtime().block_on(monitors::measure(endpoint, pods)),
        false => runtime().block_on(measure(endpoint, pods)),
    });
    let figures = figures.map_err(|error| report(&error))?;
    let figures = figures.map_err(|error| error.message().unwrap_or_default().to_owned())?;
    // The figures are there, whatever the clean-up says.
    if let Err(error) = outer.block_on(containerd.stop()) {
        eprintln!("bench: containerd didn't stop cleanly: {}", report(&error));
    }
    Ok(figures)
}

async fn measure(endpoint: String, pods: usize) -> Result<Value, Failed> {
    let ground = Ground::on(Admission { node_rules: true, ..Admission::default() }, endpoint).await?;
    let more = ["--stop-pods-on-exit", "--max-pods=1000", "--eviction-hard=", "--kube-api-qps=0"];
    let more = more.into_iter().map(str::to_owned).collect();
    let cluster = Cluster::start_with_token(ground, Ipv4Addr::LOCALHOST, more).await?;
    cluster.node_ready().await?;
    for number in 0..pods {
        cluster.api().create(&pod(number)?).map_err(refused)?;
    }
    all_are_ready(&cluster, pods).await?;
    tokio::time::sleep(SETTLE).await;
    let client = scraper(&cluster).await?;
    for path in PATHS {
        read(&client, path).await?;
    }
    let idle = cpu_of_window(&cluster, IDLE_WINDOW).await?;
    let scraped = rounds(&cluster, &client, idle).await?;
    let at_once = scraped_at_once(&cluster, &client).await?;
    let restarts: i32 =
        cluster.api().list::<Pod>().iter().filter_map(container).map(|(_, count)| count).sum();
    let figures = json!({
        "pods": pods, "idle_cpu_pct": rounded(idle * 100.0), "scrapes": scraped, "at_once": at_once,
        "restarts": restarts, "anon_mb": rounded(usage_of(&cluster)?.memory_kib as f64 / 1024.0),
    });
    if let Err(error) = cluster.end().await {
        eprintln!("bench: the agent didn't end cleanly: {}", error.message().unwrap_or_default());
    }
    Ok(figures)
}

fn pod(number: usize) -> Result<Pod, Failed> {
    Ok(serde_json::from_value(json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": format!("pod-{number}"), "namespace": "default"},
        "spec": {
            "nodeName": NODE,
            "automountServiceAccountToken": false,
            "enableServiceLinks": false,
            "hostNetwork": true,
            "terminationGracePeriodSeconds": 1,
            "containers": [{
                "name": "app", "image": BUSYBOX_IMAGE, "command": ["/bin/busybox", "sleep", "1000000"],
                "resources": {"requests": {"cpu": "1m", "memory": "1Mi"}},
            }],
        },
    }))?)
}

async fn all_are_ready(cluster: &Cluster, pods: usize) -> Result<(), Failed> {
    let begun = Instant::now();
    loop {
        let ready = cluster.api().list::<Pod>().iter().filter(|pod| is_true(pod, "Ready")).count();
        if ready >= pods {
            eprintln!("bench: {pods} pods were ready after {:.0} s", begun.elapsed().as_secs_f64());
            return Ok(());
        }
        if begun.elapsed() > START_DEADLINE {
            return Err(cluster.failure(&format!("{ready} of {pods} pods are ready")));
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
}

/// Who may read everything, over one connection that stays.
async fn scraper(cluster: &Cluster) -> Result<kube::Client, Failed> {
    let who = Identity::new("prometheus", &["system:masters"]);
    let issued = cluster.api().client_certificate(&who, SignedDuration::from_hours(24))?;
    cluster.node_client(&issued).await
}

/// The bytes of a path's response.
async fn read(client: &kube::Client, path: &str) -> Result<usize, Failed> {
    let request = Request::get(path).body(Vec::new())?;
    let body = client.request_text(request).await.map_err(failed)?;
    if body.is_empty() { Err(format!("{path} is empty").into()) } else { Ok(body.len()) }
}

/// All paths, one after the other, again and again.
async fn rounds(cluster: &Cluster, client: &kube::Client, idle: f64) -> Result<Value, Failed> {
    let (mut times, mut of_paths) = (Vec::new(), PATHS.map(|_| (0, Vec::new())));
    let (cpu, begun) = (cpu_seconds(cluster)?, Instant::now());
    for _ in 0..ROUNDS {
        let at = Instant::now();
        for (path, (bytes, times)) in PATHS.into_iter().zip(&mut of_paths) {
            let at = Instant::now();
            *bytes = read(client, path).await?;
            times.push(at.elapsed());
        }
        times.push(at.elapsed());
        tokio::time::sleep(PAUSE).await;
    }
    let taken = cpu_seconds(cluster)? - cpu - idle * begun.elapsed().as_secs_f64();
    let each = taken / f64::from(ROUNDS);
    let bytes: usize = of_paths.iter().map(|(bytes, _)| bytes).sum();
    let of_paths = PATHS.into_iter().zip(&mut of_paths).map(|(path, (bytes, times))| {
        (path.to_owned(), json!({"bytes": bytes, "p50_ms": percentile_ms(times, 50)}))
    });
    Ok(json!({
        "paths": of_paths.collect::<serde_json::Map<_, _>>(),
        "bytes": bytes, "p50_ms": percentile_ms(&mut times, 50), "p90_ms": percentile_ms(&mut times, 90),
        "cpu_ms": rounded(each * 1e3), "cpu_pct_every_10_s": rounded(each / 10.0 * 100.0),
    }))
}

fn percentile_ms(times: &mut [Duration], percent: usize) -> f64 {
    times.sort();
    let at = times.len().saturating_sub(1) * percent / 100;
    rounded(times.get(at).map_or(0.0, Duration::as_secs_f64) * 1e3)
}

/// Many at once, next to clients that stall or go away.
async fn scraped_at_once(cluster: &Cluster, client: &kube::Client) -> Result<Value, Failed> {
    let before = usage_of(cluster)?;
    let mut stalled = Vec::new();
    for _ in 0..SILENT {
        stalled.push(TcpStream::connect(cluster.server).await?);
    }
    for _ in 0..UNREAD {
        let mut stream = TcpStream::connect(cluster.server).await?;
        // The head of a record of TLS, and never the rest.
        stream.write_all(&[0x16, 0x03, 0x01, 0x02, 0x00]).await?;
        stalled.push(stream);
    }
    let mut given_up = JoinSet::new();
    for _ in 0..CANCELLED {
        let client = client.clone();
        given_up.spawn(async move { read(&client, "/metrics/cadvisor").await.is_ok() });
    }
    tokio::task::yield_now().await;
    given_up.abort_all();
    let (cpu, begun) = (cpu_seconds(cluster)?, Instant::now());
    let mut scrapers = JoinSet::new();
    for number in 0..SCRAPERS {
        // Each a connection of its own.
        let client = scraper(cluster).await?;
        let path = PATHS[number % PATHS.len()];
        scrapers
            .spawn(async move { read(&client, path).await.map_err(|error| format!("{path}: {error:?}")) });
    }
    let mut peak = before;
    let mut answered = 0;
    while let Some(done) = scrapers.join_next().await {
        done??;
        answered += 1;
        peak = peak.max(usage_of(cluster)?);
    }
    let figures = json!({
        "scrapers": answered, "all_answered_s": rounded(begun.elapsed().as_secs_f64()),
        "cpu_s": rounded(cpu_seconds(cluster)? - cpu),
        "anon_growth_mb": rounded(peak.growth_since(before).memory_kib as f64 / 1024.0),
        "threads_growth": peak.growth_since(before).threads,
        "files_growth": peak.growth_since(before).files,
        "longest_pause_ms": rounded(longest_pause(cluster).await? * 1e3),
    });
    drop(stalled);
    Ok(figures)
}

/// The longest that the event loop spent on one event so far, in seconds.
async fn longest_pause(cluster: &Cluster) -> Result<f64, Failed> {
    let stats: Value = LocalClient::new(&cluster.daemon.api_socket()).get("/stats").await.map_err(failed)?;
    stats["longestPauseSeconds"].as_f64().ok_or_else(|| format!("no pause in {stats}").into())
}

fn pid(cluster: &Cluster) -> Result<u32, Failed> {
    cluster.daemon.pid().ok_or_else(|| "the daemon has ended".into())
}

fn usage_of(cluster: &Cluster) -> Result<Usage, Failed> {
    Ok(Usage::of(pid(cluster)?)?)
}

/// User and system time of the daemon so far.
fn cpu_seconds(cluster: &Cluster) -> Result<f64, Failed> {
    Ok(usage::cpu_seconds(pid(cluster)?)?)
}

/// How much of a CPU it takes while no one asks.
async fn cpu_of_window(cluster: &Cluster, window: Duration) -> Result<f64, Failed> {
    let cpu = cpu_seconds(cluster)?;
    tokio::time::sleep(window).await;
    Ok((cpu_seconds(cluster)? - cpu) / window.as_secs_f64())
}

fn rounded(value: f64) -> f64 {
    (value * 1000.0).round() / 1000.0
}
