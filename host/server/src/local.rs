//! What the local API answers.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::{Path, Query, Request, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::{any, get};
use axum::{Json, Router};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use witlet_core::error::one_line;
use witlet_core::eviction::{ThresholdState, missing};
use witlet_core::pod::PodUid;
use witlet_ports::{AgentView, MetricsSource};

use crate::kubelet::KubeletServer;
use crate::metrics::Metrics;
use crate::pod_list::PodList;
use crate::socket::RootOnlySocket;

mod description;
mod event_json;
mod usage;
mod watch;

use event_json::event_json;
use usage::UsageMeter;
pub use usage::UsagePorts;
use watch::Watches;

/// What is known of the plugins, as JSON objects with `name`, `role`, `state` and whatever else the host reports.
pub trait PluginView: Send + Sync {
    /// One object for each plugin, in the order in which they are asked.
    fn plugins(&self) -> Vec<Value>;

    /// The set that they are of, an object with `running` and `message`; null where sets aren't checked.
    fn set(&self) -> Value {
        Value::Null
    }
}

/// The state behind the routes.
pub struct LocalApi {
    agent: Arc<dyn AgentView>,
    plugins: Arc<dyn PluginView>,
    metrics: Metrics,
    usage: Option<UsageMeter>,
    containers: Option<Arc<KubeletServer>>,
    watches: Watches,
}

/// How long answers may still take after the stop.
const STOP_GRACE: Duration = Duration::from_secs(5);

/// The same for all requests.
type Shared = Arc<LocalApi>;

impl LocalApi {
    /// Over an agent and its plugin host.
    pub fn new(agent: Arc<dyn AgentView>, plugins: Arc<dyn PluginView>) -> Self {
        let metrics = Metrics::of_agent(agent.clone());
        Self { agent, plugins, metrics, usage: None, containers: None, watches: Watches::default() }
    }

    /// Shows the metrics of this source, too.
    pub fn with_metrics(self, source: Arc<dyn MetricsSource>) -> Self {
        self.metrics.add(source);
        self
    }

    /// Answers what pods and the node use now.
    pub fn with_usage(mut self, ports: UsagePorts) -> Self {
        self.usage = Some(UsageMeter::new(ports));
        self
    }

    /// Shows logs of containers, and runs commands in them, as these endpoints do.
    pub fn with_containers(mut self, endpoints: Arc<KubeletServer>) -> Self {
        self.containers = Some(endpoints);
        self
    }

    /// The same metrics for another server; those of later sources, too.
    pub fn metrics(&self) -> Metrics {
        self.metrics.clone()
    }

    /// Serves until `stop` is cancelled, then lets running requests finish.
    ///
    /// # Errors
    /// The listener fails.
    pub async fn serve(mut self, mut socket: RootOnlySocket, stop: CancellationToken) -> std::io::Result<()> {
        let Some(listener) = socket.take_listener() else { return Ok(()) };
        self.watches.stop = stop.clone();
        let serving =
            axum::serve(listener, self.router()).with_graceful_shutdown(stop.clone().cancelled_owned());
        // Who follows a log and doesn't read it must not hold the agent's end up.
        let late = async {
            stop.cancelled().await;
            tokio::time::sleep(STOP_GRACE).await;
        };
        tokio::select! {
            served = serving.into_future() => served,
            () = late => Ok(()),
        }
    }

    /// `/pods`, `/events` (both also to be watched), `/pods/UID/description`, `/node`, `/node/resources`, `/thresholds`, `/usage`, `/plugins`,
    /// `/stats`, `/metrics` and `/healthz`; and of the kubelet's endpoints `/containerLogs` and `/exec`.
    fn router(self) -> Router {
        Router::new()
            .route("/pods", get(pods))
            .route("/pods/{uid}/description", get(description))
            .route("/containerLogs/{*target}", any(in_containers))
            .route("/exec/{*target}", any(in_containers))
            .route("/events", get(events))
            .route("/node", get(node))
            .route("/node/resources", get(resources_of_node))
            .route("/thresholds", get(thresholds))
            .route("/usage", get(usage_of_pods))
            .route("/plugins", get(plugins))
            .route("/stats", get(stats))
            .route("/metrics", get(metrics))
            .route("/healthz", get(healthz))
            .with_state(Arc::new(self))
    }
}

/// What of a list is requested, in the words of the API.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct ListOptions {
    /// What changes, as it does.
    #[serde(deserialize_with = "is_set")]
    watch: bool,
    /// Nothing up to this version.
    resource_version: u64,
}

/// As an API server reads it.
fn is_set<'de, D: Deserializer<'de>>(from: D) -> Result<bool, D::Error> {
    match &*String::deserialize(from)? {
        "1" | "true" => Ok(true),
        "" | "0" | "false" => Ok(false),
        other => Err(D::Error::custom(format!("watch must be true or false, found {other:?}"))),
    }
}

async fn pods(State(api): State<Shared>, Query(options): Query<ListOptions>) -> Response {
    if options.watch {
        return api.watches.pods(api.agent.clone());
    }
    Json(PodList::new(api.agent.pods())).into_response()
}

async fn events(State(api): State<Shared>, Query(options): Query<ListOptions>) -> Response {
    if options.watch {
        return api.watches.events(api.agent.clone(), options.resource_version);
    }
    let page = api.agent.events_after(options.resource_version);
    let items: Vec<Value> = page.events.iter().map(event_json).collect();
    Json(json!({"metadata": {"resourceVersion": page.version.to_string()}, "items": items})).into_response()
}

async fn description(State(api): State<Shared>, Path(uid): Path<String>) -> Json<Value> {
    Json(description::json(&api.agent.describe_pod(&PodUid::from(uid))))
}

/// Root may do this whatever the endpoints' own switches say: it may do the same at the runtime.
async fn in_containers(State(api): State<Shared>, request: Request) -> Response {
    let Some(endpoints) = &api.containers else { return StatusCode::NOT_FOUND.into_response() };
    let request = request.map(drop);
    endpoints.clone().answer_local(request, api.watches.stop.clone()).await
}

async fn node(State(api): State<Shared>) -> Json<Value> {
    let node = api.agent.node();
    Json(json!(*node))
}

async fn thresholds(State(api): State<Shared>) -> Json<Value> {
    let items: Vec<Value> = api.agent.thresholds().iter().map(threshold_json).collect();
    Json(json!({"items": items}))
}

fn threshold_json(state: &ThresholdState) -> Value {
    let ThresholdState { threshold, observed, met_since } = state;
    let is_hard = threshold.is_hard();
    json!({
        "signal": threshold.signal.as_str(),
        "threshold": threshold.value.to_string(),
        "gracePeriodSeconds": (!is_hard).then(|| threshold.grace.as_secs()),
        "minimumReclaim": threshold.min_reclaim.map(|value| value.to_string()),
        "available": observed.map(|seen| seen.available),
        "capacity": observed.map(|seen| seen.capacity),
        // Negative where the threshold is met.
        "distance": observed.map(|seen| -missing(threshold, &seen, false)),
        "inBytes": threshold.signal.is_in_bytes(),
        "metSince": met_since.map(|at| at.to_string()),
    })
}

async fn resources_of_node(State(api): State<Shared>) -> Response {
    let Some(meter) = &api.usage else { return StatusCode::NOT_FOUND.into_response() };
    Json(meter.node(&api.agent.node(), &api.agent.pods()).await).into_response()
}

async fn usage_of_pods(State(api): State<Shared>) -> Response {
    let Some(meter) = &api.usage else { return StatusCode::NOT_FOUND.into_response() };
    match meter.list(|| api.agent.pods()).await {
        Ok(list) => Json(list).into_response(),
        Err(error) => (StatusCode::BAD_GATEWAY, one_line(&error)).into_response(),
    }
}

async fn plugins(State(api): State<Shared>) -> Json<Value> {
    Json(json!({"items": api.plugins.plugins(), "set": api.plugins.set()}))
}

async fn stats(State(api): State<Shared>) -> Json<Value> {
    let stats = api.agent.stats();
    Json(json!({
        "longestPauseSeconds": stats.longest_pause.as_secs_f64(),
        "eventsHandled": stats.events_handled,
        "plegEventsDropped": stats.pleg_events_dropped,
        "admissionQueue": stats.admission_queue,
        "deferredPods": stats.deferred,
        "sourcesReady": stats.sources_ready,
        "firstSync": stats.first_sync.map(|at| at.to_string()),
    }))
}

async fn metrics(State(api): State<Shared>, headers: HeaderMap) -> Response {
    api.metrics.answer(&headers).await
}

async fn healthz(State(api): State<Shared>) -> Response {
    let reasons = api.agent.unhealthy();
    if reasons.is_empty() {
        return "ok".into_response();
    }
    (StatusCode::SERVICE_UNAVAILABLE, reasons.join("\n")).into_response()
}

#[cfg(test)]
mod tests;
