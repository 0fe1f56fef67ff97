//! What pods and the node use now, measured when it is asked for: pods in the words of `metrics.k8s.io/v1beta1`, as `kubectl top`
//! reads them.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1::{Node, Pod};
use serde_json::{Value, json};
use tokio::sync::Mutex;
use tokio::time::{Instant, sleep, timeout};
use witlet_core::node::allocatable::{self, Reservations};
use witlet_core::node::{ResourceUse, resource_use};
use witlet_core::pod::{PodUid, quantity};
use witlet_core::stats::{ContainerMetrics, Measured, metrics};
use witlet_ports::{Clock, ContainerStats, NodeReader, RuntimeError, RuntimeStats};

/// CPU is what was used in this time.
const WINDOW: Duration = Duration::from_secs(1);

/// And the node's in this.
const NODE_WINDOW: Duration = Duration::from_millis(200);
/// A check of the node takes so long at most, for instance because the runtime doesn't say where images are; then nothing is known.
const NODE_TIMEOUT: Duration = Duration::from_secs(2);

/// What usage is measured with.
pub struct UsagePorts {
    pub stats: Arc<dyn RuntimeStats>,
    /// What the node has left.
    pub node_reader: Arc<dyn NodeReader>,
    /// What of it isn't for pods.
    pub reservations: Reservations,
    /// The time of measurements.
    pub clock: Arc<dyn Clock>,
}

/// Measures on demand.
pub(super) struct UsageMeter {
    ports: UsagePorts,
    /// The newest list, and when it was made: a caller that waited for it takes it, too.
    newest: Mutex<Option<(Instant, Value)>>,
}

impl UsageMeter {
    pub(super) fn new(ports: UsagePorts) -> Self {
        Self { ports, newest: Mutex::default() }
    }

    /// Capacity, reservations and use of each resource of the node.
    pub(super) async fn node(&self, node: &Node, pods: &[Arc<Pod>]) -> Value {
        let UsagePorts { node_reader, reservations, .. } = &self.ports;
        let read = || async { timeout(NODE_TIMEOUT, node_reader.read()).await.unwrap_or_default() };
        let (before, began) = (read().await.cpu, Instant::now());
        sleep(NODE_WINDOW).await;
        let readings = read().await;
        let elapsed = began.elapsed();
        let used = before.zip(readings.cpu).and_then(|(before, after)| after.checked_sub(before));
        let milli =
            used.and_then(|used| i64::try_from(used.as_millis() * 1000 / elapsed.as_millis().max(1)).ok());
        let rows = resource_use(node, reservations, pods, &readings, milli);
        json!({"items": rows.iter().map(resource).collect::<Vec<_>>()})
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
        let now = self.ports.clock.now().to_string();
        let items: Vec<Value> = pods().iter().filter_map(|pod| item(pod, &all, &now)).collect();
        let list = json!({
            "kind": "PodMetricsList", "apiVersion": "metrics.k8s.io/v1beta1", "metadata": {}, "items": items,
        });
        *newest = Some((Instant::now(), list.clone()));
        Ok(list)
    }

    async fn measure(&self) -> Result<Vec<Measured>, RuntimeError> {
        let measured = |ContainerStats { uid, attempt, usage }| (uid, attempt, usage);
        Ok(self.ports.stats.containers().await?.into_iter().map(measured).collect())
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

/// Amounts as quantities.
fn resource(row: &ResourceUse) -> Value {
    let quantity = |amount: i64| allocatable::quantity(&row.resource, amount).0;
    json!({
        "resource": row.resource,
        "capacity": quantity(row.capacity),
        "systemReserved": quantity(row.system_reserved),
        "kubeReserved": quantity(row.kube_reserved),
        "evictionHard": quantity(row.eviction),
        "allocatable": quantity(row.allocatable),
        "requested": quantity(row.requested),
        "used": row.used.map(quantity),
    })
}
