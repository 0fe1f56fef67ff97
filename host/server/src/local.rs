//! What the local API answers.

use std::sync::Arc;

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Json, Router};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use witlet_core::error::one_line;
use witlet_core::eviction::{ThresholdState, missing};
use witlet_ports::{AgentView, MetricsSource, RecordedEvent};

use crate::metrics::Metrics;
use crate::pod_list::PodList;
use crate::socket::RootOnlySocket;

mod usage;

use usage::UsageMeter;
pub use usage::UsagePorts;

/// What is known of the plugins, as JSON objects with `name`, `role`, `state` and whatever else the host reports.
pub trait PluginView: Send + Sync {
    /// One object for each plugin, in the order in which they are asked.
    fn plugins(&self) -> Vec<Value>;
}

/// The state behind the routes.
pub struct LocalApi {
    agent: Arc<dyn AgentView>,
    plugins: Arc<dyn PluginView>,
    metrics: Metrics,
    usage: Option<UsageMeter>,
}

/// The same for all requests.
type Shared = Arc<LocalApi>;

impl LocalApi {
    /// Over an agent and its plugin host.
    pub fn new(agent: Arc<dyn AgentView>, plugins: Arc<dyn PluginView>) -> Self {
        let metrics = Metrics::of_agent(agent.clone());
        Self { agent, plugins, metrics, usage: None }
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

    /// The same metrics for another server; those of later sources, too.
    pub fn metrics(&self) -> Metrics {
        self.metrics.clone()
    }

    /// Serves until `stop` is cancelled, then lets running requests finish.
    pub async fn serve(self, mut socket: RootOnlySocket, stop: CancellationToken) -> std::io::Result<()> {
        let Some(listener) = socket.take_listener() else { return Ok(()) };
        axum::serve(listener, self.router()).with_graceful_shutdown(stop.cancelled_owned()).await
    }

    /// `/pods`, `/events`, `/node`, `/node/resources`, `/thresholds`, `/usage`, `/plugins`, `/stats`, `/metrics` and `/healthz`.
    fn router(self) -> Router {
        Router::new()
            .route("/pods", get(pods))
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

async fn pods(State(api): State<Shared>) -> Json<PodList> {
    Json(PodList::new(api.agent.pods()))
}

async fn events(State(api): State<Shared>) -> Json<Value> {
    let items: Vec<Value> = api.agent.events().iter().map(event_json).collect();
    Json(json!({"items": items}))
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
    Json(json!({"items": api.plugins.plugins()}))
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

fn event_json(recorded: &RecordedEvent) -> Value {
    use witlet_core::event::{EventObject, EventType};
    let event = &recorded.event;
    let object = match &event.object {
        EventObject::Pod { full_name, uid, field_path } => {
            let (namespace, name) = (&full_name.namespace, &full_name.name);
            let mut pod = json!({"kind": "Pod", "namespace": namespace, "name": name, "uid": uid});
            if let Some(path) = field_path {
                pod["fieldPath"] = path.as_str().into();
            }
            pod
        }
        EventObject::Node => json!({"kind": "Node"}),
        EventObject::Plugin(name) => json!({"kind": "Plugin", "name": name}),
        EventObject::Source { source, place } => json!({"kind": "Source", "name": source, "place": place}),
    };
    let kind = match event.kind {
        EventType::Normal => "Normal",
        EventType::Warning => "Warning",
    };
    let annotations = (!event.annotations.is_empty()).then_some(&event.annotations);
    let metadata = annotations.map(|annotations| json!({"annotations": annotations}));
    let mut shown = json!({
        "involvedObject": object,
        "type": kind,
        "reason": event.reason,
        "message": event.message,
        "count": recorded.count,
        "firstTimestamp": recorded.first_seen.to_string(),
        "lastTimestamp": recorded.last_seen.to_string(),
    });
    if let Some(metadata) = metadata {
        shown["metadata"] = metadata;
    }
    shown
}

#[cfg(test)]
mod tests;
