//! A pod next to the one that takes too much: it is probed and asked all the time, and its answers and the agent's loop go on.

use std::net::SocketAddr;
use std::time::Duration;

use k8s_openapi::api::core::v1::Pod;
use libtest_mimic::Failed;
use serde_json::{Value, json};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;
use witlet_harness::cluster::{Cluster, container, failed, free_address, get, is_true, refused};
use witlet_server::LocalClient;

use super::{expect, leaves_nothing, manifest};

pub(super) const NAME: &str = "tame";

/// Between two requests.
const PAUSE: Duration = Duration::from_millis(100);
/// How long an answer or a probe may take, and one event in the agent's loop: far longer than on a busy machine.
const ANSWER_MAX: Duration = Duration::from_mins(1);
const LOOP_PAUSE_MAX: Duration = Duration::from_secs(10);

/// The pod, and who asks it.
pub(super) struct Neighbour {
    stop: CancellationToken,
    asks: JoinSet<Result<Vec<Duration>, Failed>>,
}

impl Neighbour {
    /// A web server, ready, which is probed each second.
    pub(super) async fn start(cluster: &Cluster, resources: Value, volume: Value) -> Result<Self, Failed> {
        let address = free_address().await?;
        let port = address.port();
        let script = format!("trap 'exit 0' TERM; /bin/busybox httpd -f -p {port} -h /etc & wait");
        let probe = json!({
            "httpGet": {"path": "/passwd", "host": address.ip(), "port": port},
            "periodSeconds": 1, "timeoutSeconds": ANSWER_MAX.as_secs(), "failureThreshold": 1,
        });
        let mut pod = manifest(NAME, &script, resources, volume);
        let app = &mut pod["spec"]["containers"][0];
        // Its program binds its port after it has started.
        app["startupProbe"] =
            json!({"httpGet": probe["httpGet"], "periodSeconds": 1, "failureThreshold": 300});
        app["readinessProbe"] = probe.clone();
        app["livenessProbe"] = probe;
        let pod: Pod = serde_json::from_value(pod)?;
        cluster.api().create(&pod).map_err(refused)?;
        cluster.ready(NAME).await?;
        let stop = CancellationToken::new();
        let mut asks = JoinSet::new();
        asks.spawn(ask(address, stop.clone()));
        Ok(Self { stop, asks })
    }

    /// It is ready, was never restarted, failed no probe and answered all the time, and the loop wasn't held up.
    #[allow(clippy::print_stderr, reason = "the figures are part of what this shows")]
    pub(super) async fn expect_left_alone(mut self, cluster: &Cluster) -> Result<(), Failed> {
        self.stop.cancel();
        let mut took = self.asks.join_next().await.ok_or("no one has asked it")???;
        let pod = cluster.pod(NAME).ok_or("the neighbour is gone")?;
        let restarts = container(&pod).map(|(_, restarts)| restarts);
        if !is_true(&pod, "Ready") || restarts != Some(0) {
            return Err(
                cluster.failure(&format!("the neighbour isn't ready, or was restarted: {restarts:?}"))
            );
        }
        took.sort();
        let (count, longest) = (took.len(), took.last().copied().unwrap_or_default());
        let median = took.get(count / 2).copied().unwrap_or_default();
        let pause = longest_pause(cluster).await?;
        eprintln!(
            "the neighbour answered {count} times, after {median:.1?} in the median and {longest:.1?} at most; the loop's longest pause was {pause:.1?}"
        );
        expect("it answers", count > 0 && longest < ANSWER_MAX, &format!("{longest:?}"))?;
        expect("the loop goes on", pause < LOOP_PAUSE_MAX, &format!("{pause:?}"))
    }

    /// The same at the end, and nothing is left of it.
    pub(super) async fn ends_well(self, cluster: &Cluster) -> Result<(), Failed> {
        self.expect_left_alone(cluster).await?;
        leaves_nothing(cluster, NAME).await
    }
}

/// Until it is stopped: how long each answer took.
async fn ask(address: SocketAddr, stop: CancellationToken) -> Result<Vec<Duration>, Failed> {
    let mut took = Vec::new();
    while !stop.is_cancelled() {
        let begun = Instant::now();
        let answer = get(address, "/passwd").await.map_err(|error| {
            Failed::from(format!("the neighbour doesn't answer: {}", error.message().unwrap_or_default()))
        })?;
        expect("it answers with its file", answer.contains("root:x:0:0"), &answer)?;
        took.push(begun.elapsed());
        sleep(PAUSE).await;
    }
    Ok(took)
}

/// The longest that the event loop spent on one event since the agent began.
async fn longest_pause(cluster: &Cluster) -> Result<Duration, Failed> {
    let stats: Value = LocalClient::new(&cluster.daemon.api_socket()).get("/stats").await.map_err(failed)?;
    let seconds = stats["longestPauseSeconds"].as_f64().ok_or("the daemon doesn't tell its longest pause")?;
    Ok(Duration::from_secs_f64(seconds))
}
