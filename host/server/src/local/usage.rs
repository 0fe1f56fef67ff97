//! What pods use now, measured when it is asked for (`metrics.k8s.io/v1beta1`, as `kubectl top` reads it).

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1::Pod;
use serde_json::{Value, json};
use tokio::sync::Mutex;
use tokio::time::{Instant, sleep};
use witlet_core::pod::{PodUid, quantity};
use witlet_core::stats::{ContainerMetrics, Measured, metrics};
use witlet_ports::{Clock, ContainerStats, RuntimeError, RuntimeStats};

/// CPU is what was used in this time.
const WINDOW: Duration = Duration::from_secs(1);

/// Measures pods on demand.
pub(super) struct UsageMeter {
    stats: Arc<dyn RuntimeStats>,
    clock: Arc<dyn Clock>,
    /// The newest list, and when it was made: whoever waited for it takes it, too.
    newest: Mutex<Option<(Instant, Value)>>,
}

impl UsageMeter {
    pub(super) fn new(stats: Arc<dyn RuntimeStats>, clock: Arc<dyn Clock>) -> Self {
        Self { stats, clock, newest: Mutex::default() }
    }

    /// A `PodMetricsList` of the pods that have running containers, in the order of `pods`. Takes a second and two requests to the
    /// runtime; requests at the same time share them.
    pub(super) async fn list(&self, pods: impl Fn() -> Vec<Arc<Pod>>) -> Result<Value, RuntimeError> {
        let asked = Instant::now();
        let mut newest = self.newest.lock().await;
        if let Some((_, list)) = newest.as_ref().filter(|(made, _)| *made > asked) {
            return Ok(list.clone());
        }
        let before = self.measure().await?;
        let began = Instant::now();
        sleep(WINDOW).await;
        let after = self.measure().await?;
        let all = metrics(before, after, began.elapsed());
        let now = self.clock.now().to_string();
        let items: Vec<Value> = pods().iter().filter_map(|pod| item(pod, &all, &now)).collect();
        let list = json!({
            "kind": "PodMetricsList", "apiVersion": "metrics.k8s.io/v1beta1", "metadata": {}, "items": items,
        });
        *newest = Some((Instant::now(), list.clone()));
        Ok(list)
    }

    async fn measure(&self) -> Result<Vec<Measured>, RuntimeError> {
        let measured = |ContainerStats { uid, attempt, usage }| (uid, attempt, usage);
        Ok(self.stats.containers().await?.into_iter().map(measured).collect())
    }
}

fn item(pod: &Pod, all: &BTreeMap<PodUid, Vec<ContainerMetrics>>, now: &str) -> Option<Value> {
    let containers: Vec<Value> = all.get(&PodUid::of(pod))?.iter().map(container).collect();
    Some(json!({
        "metadata": {"name": pod.metadata.name, "namespace": pod.metadata.namespace},
        "timestamp": now,
        "window": format!("{}s", WINDOW.as_secs()),
        "containers": containers,
    }))
}

/// What isn't known is left out.
fn container(metrics: &ContainerMetrics) -> Value {
    let mut usage = serde_json::Map::new();
    if let Some(cpu) = metrics.cpu_nanocores {
        usage.insert("cpu".to_owned(), format!("{cpu}n").into());
    }
    if let Some(memory) = metrics.memory.and_then(|bytes| i64::try_from(bytes).ok()) {
        usage.insert("memory".to_owned(), quantity::binary(memory).into());
    }
    json!({"name": metrics.name, "usage": usage})
}
