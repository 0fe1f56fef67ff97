//! An agent made of constants, in which every field has a value somewhere, behind a real local API.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Node, Pod};
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use witlet_core::admission::chain::{FailureKind, FailurePolicy, HandlerResponse};
use witlet_core::admission::verdicts::{HandlerVerdict, Remarks};
use witlet_core::admission::{Operation, Verdict};
use witlet_core::event::{Event, EventObject, EventType};
use witlet_core::eviction::{Observation, Signal, Threshold, ThresholdState, ThresholdValue};
use witlet_core::node::allocatable::Reservations;
use witlet_core::pod::{PodFullName, PodUid};
use witlet_core::probe::worker::ProbeSettings;
use witlet_core::probe::{ProbeKind, ProbeResult};
use witlet_core::stats::{ContainerUsage, CpuTime};
use witlet_ports::{
    AgentStats, AgentView, Clock, ContainerStats, LastOutcome, LastProbe, NodeImage, NodeReader,
    NodeReadings, PodDescription, ProbeCounts, ProbeReport, RecordedEvent, RuntimeError, RuntimeStats,
};
use witlet_server::{LocalApi, LocalClient, PluginView, RootOnlySocket, UsagePorts};

use super::plugins::plugins;

/// The pod's UID.
const UID: &str = "8f2c0d1e-0000-0000-0000-000000000001";

/// It is always 1970.
pub(super) struct Epoch;

impl Clock for Epoch {
    fn now(&self) -> Timestamp {
        Timestamp::UNIX_EPOCH
    }
}

struct Agent {
    /// Nothing ever changes, but a watch goes on.
    changes: watch::Sender<u64>,
}

impl AgentView for Agent {
    fn pods(&self) -> Vec<Arc<Pod>> {
        let pod = json!({
            "metadata": {"name": "web-node1", "namespace": "default", "uid": UID,
                "annotations": {"kubernetes.io/config.source": "file"}},
            "spec": {"nodeName": "node1", "containers": [{"name": "app", "image": "busybox"}]},
            "status": {"phase": "Running", "qosClass": "BestEffort", "startTime": "1970-01-01T00:00:00Z"},
        });
        vec![Arc::new(serde_json::from_value(pod).expect("a pod"))]
    }

    fn events(&self) -> Vec<RecordedEvent> {
        let pod = EventObject::Pod {
            full_name: PodFullName::new("default", "web-node1"),
            uid: UID.into(),
            field_path: Some("spec.containers{app}".to_owned()),
        };
        let source = EventObject::Source { source: "file".into(), place: "/pods/a.yaml".to_owned() };
        let objects = [pod, EventObject::Node, EventObject::Plugin("images".into()), source];
        let recorded = |(version, object): (u64, EventObject)| {
            let event = Event {
                object,
                kind: EventType::Warning,
                reason: "Tested".to_owned(),
                message: "it was".to_owned(),
                annotations: [("a".to_owned(), "b".to_owned())].into(),
            };
            let at = Timestamp::UNIX_EPOCH;
            RecordedEvent { event: Arc::new(event), count: 2, first_seen: at, last_seen: at, version }
        };
        (1..).zip(objects).map(recorded).collect()
    }

    fn event_changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    fn pod_changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    fn describe_pod(&self, _: &PodUid) -> PodDescription {
        let asked = (Operation::Add, Timestamp::UNIX_EPOCH);
        let verdict = |digest: Option<&str>, answer| {
            let took = Duration::from_millis(3);
            let annotations = [("rule".to_owned(), "7".to_owned())].into();
            let remarks = Remarks { warnings: vec!["an old tag".to_owned()], annotations };
            HandlerVerdict::new("images".into(), digest.map(Into::into), asked, &answer, took)
                .with_remarks(remarks)
        };
        let failed = HandlerResponse::Failure {
            kind: FailureKind::TimedOut,
            message: "no answer within 100ms".to_owned(),
            policy: FailurePolicy::Admit,
            retry_after: None,
        };
        let settings = ProbeSettings {
            period: Duration::from_millis(500),
            timeout: Duration::from_secs(1),
            initial_delay: Duration::ZERO,
            success_threshold: 1,
            failure_threshold: 3,
        };
        let last = LastProbe {
            at: Timestamp::UNIX_EPOCH,
            took: Duration::from_millis(1),
            outcome: LastOutcome::Failure,
            message: "HTTP 500".to_owned(),
        };
        let probe = ProbeReport {
            container: "app".to_owned(),
            kind: ProbeKind::Liveness,
            probe_type: Some("httpGet".into()),
            settings,
            result: Some(ProbeResult::Failure),
            last: Some(last),
            counts: ProbeCounts::default(),
        };
        let unprobed = ProbeReport { probe_type: None, result: None, last: None, ..probe.clone() };
        PodDescription {
            verdicts: vec![
                verdict(Some("c0dd"), HandlerResponse::Verdict(Verdict::Admit)),
                verdict(None, failed),
            ],
            probes: vec![probe, unprobed],
        }
    }

    fn node(&self) -> Arc<Node> {
        let status = json!({"capacity": {"cpu": "2"}, "allocatable": {"cpu": "2"}});
        let node = json!({"metadata": {"name": "node1"}, "status": status});
        Arc::new(serde_json::from_value(node).expect("a node"))
    }

    fn unhealthy(&self) -> Vec<String> {
        Vec::new()
    }

    fn stats(&self) -> AgentStats {
        AgentStats::default()
    }

    fn thresholds(&self) -> Vec<ThresholdState> {
        let threshold = Threshold {
            signal: Signal::PidAvailable,
            value: ThresholdValue::Quantity { amount: 1000, is_binary: false },
            grace: jiff::SignedDuration::from_secs(60),
            min_reclaim: None,
        };
        let observed = Observation { available: 400, capacity: 5000, at: None };
        let met =
            ThresholdState { threshold, observed: Some(observed), met_since: Some(Timestamp::UNIX_EPOCH) };
        vec![met, ThresholdState { threshold, observed: None, met_since: None }]
    }
}

impl PluginView for Agent {
    fn plugins(&self) -> Vec<Value> {
        plugins()
    }

    fn set(&self) -> Value {
        json!({
            "running": "oci://registry.example.com/fleet@sha256:00",
            "digest": "sha256:00",
            "state": "NotHad",
            "message": "why",
            "lastAttempt": "2026-01-02T03:04:05Z",
            "compiledCode": {"used": 1, "unused": 1, "message": "why", "architectures": ["x86_64"]},
        })
    }
}

/// One container, whose CPU isn't known.
struct Runtime;

#[async_trait]
impl RuntimeStats for Runtime {
    async fn containers(&self) -> Result<Vec<ContainerStats>, RuntimeError> {
        let cpu = Some(CpuTime { nanoseconds: 1, at: Some(Timestamp::UNIX_EPOCH) });
        let usage =
            ContainerUsage { name: "app".into(), memory: Some(10 << 20), cpu, ..ContainerUsage::default() };
        Ok(vec![ContainerStats { uid: UID.into(), attempt: 0, usage }])
    }

    async fn processes(&self) -> Result<BTreeMap<PodUid, u64>, RuntimeError> {
        Ok(BTreeMap::new())
    }
}

#[async_trait]
impl NodeReader for Runtime {
    async fn read(&self) -> NodeReadings {
        NodeReadings::default()
    }

    async fn images(&self) -> Option<Vec<NodeImage>> {
        None
    }
}

/// Serves the agent while `ask` runs.
pub(super) async fn with_agent(ask: impl AsyncFnOnce(LocalClient)) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("witlet.sock");
    let socket = RootOnlySocket::bind(&path).await.expect("the folder is the test's own");
    let (agent, stop) = (Arc::new(Agent { changes: watch::Sender::new(0) }), CancellationToken::new());
    let (stats, node_reader) = (Arc::new(Runtime), Arc::new(Runtime));
    let ports =
        UsagePorts { stats, node_reader, reservations: Reservations::default(), clock: Arc::new(Epoch) };
    let api = LocalApi::new(agent.clone(), agent).with_usage(ports);
    let asking = async {
        ask(LocalClient::new(&path)).await;
        stop.cancel();
    };
    let (served, ()) = tokio::join!(api.serve(socket, stop.clone()), asking);
    served.expect("the socket is there");
}
