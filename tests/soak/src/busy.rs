//! Two probes that compute without end, next to 500 that are asked each second: the 500 keep their periods.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use libtest_mimic::Failed;
use serde_json::{Value, json};
use tokio::time::sleep;

use witlet_harness::fake_node::{FakeNode, WitnessCall, pod, probed};
use witlet_harness::usage::Usage;

/// Pods with probes, and containers of each.
const PODS: usize = 50;
const CONTAINERS: usize = 10;
const PROBES: usize = PODS * CONTAINERS;

/// Of each probe.
const PERIOD_SECONDS: f64 = 1.0;

/// How much longer or shorter the mean period may be, beyond what it is while no probe computes.
const DEVIATION_MAX: f64 = 0.1;

/// How much it may be while no probe computes: a busy machine may be too slow for so many probes, but not by more.
const DEVIATION_ALONE_MAX: f64 = 1.0;

/// The machine may be busy at any time: of so many windows one has to do.
const WINDOWS_MAX: usize = 3;

/// How long the probes are listened to.
const WINDOW: Duration = Duration::from_secs(15);

/// How long new pods are left alone before.
const SETTLE: Duration = Duration::from_secs(5);

fn entries(_: &Path, port: u16) -> Value {
    let network = json!([format!("127.0.0.1:{port}")]);
    json!([
        {
            "name": "witness", "component": "./witness-0.wasm", "config": {"version": 0, "port": port},
            "probe": {}, "grants": {"network": network},
        },
        {"name": "spinner", "component": "./witness-1.wasm", "config": {"version": 1}, "probe": {}},
    ])
}

fn stress_pod(number: usize) -> Value {
    let mut pod = pod("stress", &format!("stress-{number}"));
    let containers = (0..CONTAINERS)
        .map(|container| json!({"name": format!("app-{container}"), "image": "registry.example.com/app:1"}));
    pod["spec"]["containers"] = containers.collect();
    probed(pod, &json!({"type": "witness", "parameters": {}, "periodMilliseconds": 1000}))
}

/// Computes for so long in each second; without end if it is 0, so that it is cut after a second.
fn spinner(number: usize, milliseconds: u64) -> Value {
    let readiness = json!({
        "type": "spinner", "parameters": {"spinMilliseconds": milliseconds}, "periodMilliseconds": 1000,
        "timeoutMilliseconds": 1000,
    });
    probed(pod("busy", &format!("spinner-{number}")), &readiness)
}

/// How the probes were asked.
struct Periods {
    mean: f64,
    /// Means of the probes that were asked most and least often.
    least: f64,
    most: f64,
    /// Of all gaps.
    p99: f64,
    longest: f64,
}

impl Periods {
    /// How far from what it should be the mean is.
    fn deviation(&self) -> f64 {
        (self.mean - PERIOD_SECONDS).abs() / PERIOD_SECONDS
    }
}

impl std::fmt::Display for Periods {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { mean, least, most, p99, longest } = self;
        write!(
            f,
            "mean period {mean:.3} s (of one probe {least:.3} to {most:.3} s), 99 of 100 gaps at most {p99:.3} s, the \
             longest {longest:.3} s"
        )
    }
}

#[allow(clippy::cast_precision_loss, reason = "nanoseconds of a test fit")]
fn periods(reported: Vec<WitnessCall>) -> Result<Periods, Failed> {
    let mut calls: BTreeMap<String, Vec<i64>> = BTreeMap::new();
    for reported in reported {
        calls.entry(reported.who).or_default().push(reported.began);
    }
    if calls.len() != PROBES {
        return Err(Failed::from(format!("{} probes were asked, not {PROBES}", calls.len())));
    }
    let (mut gaps, mut means) = (Vec::new(), Vec::new());
    for (who, mut began) in calls {
        began.sort_unstable();
        let own: Vec<f64> = began.windows(2).map(|pair| (pair[1] - pair[0]) as f64 / 1e9).collect();
        if own.is_empty() {
            return Err(Failed::from(format!("{who} was asked once")));
        }
        means.push(own.iter().sum::<f64>() / own.len() as f64);
        gaps.extend(own);
    }
    gaps.sort_by(f64::total_cmp);
    means.sort_by(f64::total_cmp);
    Ok(Periods {
        mean: gaps.iter().sum::<f64>() / gaps.len() as f64,
        least: means[0],
        most: means[means.len() - 1],
        p99: gaps[gaps.len() * 99 / 100],
        longest: gaps[gaps.len() - 1],
    })
}

/// The best of a few windows, or the first that is good enough.
async fn listen(node: &FakeNode, enough: f64) -> Result<Periods, Failed> {
    let mut best: Result<Periods, Failed> = Err(Failed::from("no one listened"));
    for _ in 0..WINDOWS_MAX {
        sleep(SETTLE).await;
        drop(node.take_reported());
        sleep(WINDOW).await;
        // A window in which a pod wasn't asked is as bad as it can be.
        best = match (best, periods(node.take_reported())) {
            (Ok(best), Ok(counted)) if counted.deviation() < best.deviation() => Ok(counted),
            (Ok(best), _) => Ok(best),
            (Err(_), counted) => counted,
        };
        if best.as_ref().is_ok_and(|best| best.deviation() <= enough) {
            break;
        }
    }
    best
}

/// Listens to the probes alone, next to probes that never end, and next to probes that always end in time.
#[allow(clippy::print_stderr, reason = "the figures are part of what this shows")]
pub(crate) async fn play() -> Result<(), Failed> {
    let node = FakeNode::start(&["--max-pods", "1000", "--stop-pods-on-exit"], entries).await?;
    for number in 0..PODS {
        node.put(&format!("stress-{number}"), &[stress_pod(number)])?;
    }
    node.until("all are ready", |view| {
        let statuses = view.pods.iter().filter_map(|pod| pod["status"]["containerStatuses"].as_array());
        statuses.flatten().filter(|status| status["ready"] == true).count() == PROBES
    })
    .await?;
    let mut alone = 0.0;
    for (what, spin) in
        [("no-one", None), ("two without end", Some(0)), ("two for 0.9 of each second", Some(900))]
    {
        for number in 0..2 {
            if let Some(milliseconds) = spin {
                node.put(&format!("busy-{number}"), &[spinner(number, milliseconds)])?;
            }
        }
        let allowed = if spin.is_none() { DEVIATION_ALONE_MAX } else { DEVIATION_MAX + 2.0 * alone };
        let periods = listen(&node, if spin.is_none() { DEVIATION_MAX } else { allowed }).await?;
        if spin.is_none() {
            alone = periods.deviation();
        }
        let view = node.until("the daemon answers", |_| true).await?;
        let spinner = &view.plugin("spinner").ok_or("it is configured")?["roles"][0];
        let process = node.daemon.pid().ok_or("the daemon runs")?;
        eprintln!(
            "{PROBES} probes, and {what} computing ({} calls, {} timeouts, {:.1} s of CPU so far): {periods}; {}",
            spinner["calls"],
            spinner["timeouts"],
            spinner["cpuSeconds"].as_f64().unwrap_or_default(),
            Usage::of(process)?,
        );
        if spin.is_some() && spinner["calls"].as_u64().is_none_or(|calls| calls == 0) {
            return Err(Failed::from("nothing was computing"));
        }
        if periods.deviation() > allowed {
            return Err(Failed::from(format!("with {what} computing: {periods}")));
        }
    }
    node.end().await
}
