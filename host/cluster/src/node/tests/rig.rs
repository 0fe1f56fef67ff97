//! A node manager on fakes and a small API server.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use k8s_openapi::api::core::v1::{Node, NodeCondition, Pod};
use serde_json::json;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use witlet_api_server::{ApiServer, Identity, Options};
use witlet_core::event::{Event, EventType};
use witlet_core::node::NodeFacts;
use witlet_core::node::plugin_set::SetReport;
use witlet_ports::{
    AgentStats, AgentView, Clock, EventSink, NodeImage, NodeReader, NodeReadings, NodeWatch, RecordedEvent,
};
use witlet_testkit::{FixedJitter, ManualClock, NODE_NAME, fixed_node};

use super::super::{NodeManager, NodeOptions, NodePorts};

/// An agent that shows its node.
pub(super) struct View(Mutex<Arc<Node>>);

impl View {
    pub(super) fn set_ready(&self, ready: bool) {
        let condition = NodeCondition {
            type_: "Ready".to_owned(),
            status: if ready { "True" } else { "False" }.to_owned(),
            reason: Some("Shown".to_owned()),
            ..NodeCondition::default()
        };
        self.show(condition);
    }

    pub(super) fn set_memory_pressure(&self, is_short: bool) {
        self.show(NodeCondition {
            type_: "MemoryPressure".to_owned(),
            status: if is_short { "True" } else { "False" }.to_owned(),
            ..NodeCondition::default()
        });
    }

    pub(super) fn set_plugin_set(&self, report: &SetReport) {
        let mut shown = self.0.lock().expect("the lock is not poisoned");
        report.write(Arc::make_mut(&mut shown));
    }

    fn show(&self, condition: NodeCondition) {
        let mut shown = self.0.lock().expect("the lock is not poisoned");
        let conditions = Arc::make_mut(&mut shown).status.get_or_insert_default();
        let conditions = conditions.conditions.get_or_insert_default();
        conditions.retain(|known| known.type_ != condition.type_);
        conditions.push(condition);
    }
}

impl AgentView for View {
    fn pods(&self) -> Vec<Arc<Pod>> {
        Vec::new()
    }

    fn events(&self) -> Vec<RecordedEvent> {
        Vec::new()
    }

    fn node(&self) -> Arc<Node> {
        self.0.lock().expect("the lock is not poisoned").clone()
    }

    fn unhealthy(&self) -> Vec<String> {
        Vec::new()
    }

    fn stats(&self) -> AgentStats {
        AgentStats::default()
    }
}

/// A machine with one image.
#[derive(Default)]
pub(super) struct StubNodeReader;

#[async_trait]
impl NodeReader for StubNodeReader {
    async fn read(&self) -> NodeReadings {
        NodeReadings::default()
    }

    async fn images(&self) -> Option<Vec<NodeImage>> {
        Some(vec![NodeImage { names: vec!["image:1".to_owned()], size: 7, ..NodeImage::default() }])
    }
}

/// Remembers events.
#[derive(Default)]
struct RecordedEvents(Mutex<Vec<Event>>);

impl EventSink for RecordedEvents {
    fn record(&self, event: Event) {
        self.0.lock().expect("the lock is not poisoned").push(event);
    }
}

/// The machine's facts, which a test changes.
pub(super) struct Machine(pub(super) watch::Sender<Arc<NodeFacts>>);

#[async_trait]
impl NodeWatch for Machine {
    fn watch(&self) -> watch::Receiver<Arc<NodeFacts>> {
        self.0.subscribe()
    }

    async fn read_again(&self) -> Arc<NodeFacts> {
        self.0.borrow().clone()
    }
}

/// What one node needs.
pub(super) struct Rig {
    pub(super) server: Arc<ApiServer>,
    pub(super) options: NodeOptions,
    pub(super) view: Arc<View>,
    pub(super) machine: Arc<Machine>,
    pub(super) clock: ManualClock,
    /// What the manager that runs knows.
    pub(super) known: Option<watch::Receiver<Option<Arc<Node>>>>,
    recorded: Arc<RecordedEvents>,
    tasks: JoinSet<()>,
}

impl Rig {
    pub(super) fn new() -> Self {
        let clock = ManualClock::new();
        let server_clock = clock.clone();
        let server = ApiServer::new(Options::new(Arc::new(move || server_clock.now())));
        let mut facts = fixed_node();
        facts.node.metadata.labels = Some(
            [("kubernetes.io/os", "linux"), ("kubernetes.io/arch", "amd64")]
                .map(|(k, v)| (k.into(), v.into()))
                .into(),
        );
        facts.node.status.get_or_insert_default().node_info = Some(info("boot-1"));
        let view = View(Mutex::default());
        view.set_ready(true);
        Self {
            server,
            options: NodeOptions::default(),
            view: Arc::new(view),
            machine: Arc::new(Machine(watch::Sender::new(Arc::new(facts)))),
            clock,
            known: None,
            recorded: Arc::default(),
            tasks: JoinSet::new(),
        }
    }

    pub(super) fn client(&self) -> kube::Client {
        self.server.client(&Identity::node(NODE_NAME))
    }

    /// Starts the manager; one that runs is killed first.
    pub(super) fn start(&mut self) {
        let ports = NodePorts {
            node: self.machine.clone(),
            node_reader: Arc::new(StubNodeReader),
            events: self.recorded.clone(),
            clock: Arc::new(self.clock.clone()),
            jitter: Arc::new(FixedJitter(0.5)),
        };
        let manager = NodeManager::new(self.client(), NODE_NAME, self.options.clone(), ports);
        self.known = Some(manager.node());
        self.tasks = JoinSet::new();
        self.tasks.spawn(manager.run(self.view.clone(), CancellationToken::new()));
    }

    pub(super) fn restart(&mut self) {
        self.start();
    }

    /// The object as the server has it.
    pub(super) fn node(&self) -> Option<Node> {
        self.server.get("", NODE_NAME)
    }

    /// Its conditions, each with its status.
    pub(super) fn conditions(&self) -> Vec<String> {
        let all = self.node().and_then(|node| node.status).and_then(|status| status.conditions);
        all.into_iter().flatten().map(|c| format!("{} {}", c.type_, c.status)).collect()
    }

    /// The events so far, a line each.
    pub(super) fn recorded(&self) -> Vec<String> {
        let line = |event: &Event| {
            let kind = if event.kind == EventType::Normal { "Normal" } else { "Warning" };
            format!("{kind} {} {}", event.reason, event.message)
        };
        self.recorded.0.lock().expect("the lock is not poisoned").iter().map(line).collect()
    }
}

fn info(boot_id: &str) -> k8s_openapi::api::core::v1::NodeSystemInfo {
    serde_json::from_value(json!({
        "bootID": boot_id, "architecture": "amd64", "containerRuntimeVersion": "fake://1", "kernelVersion": "6",
        "kubeProxyVersion": "", "kubeletVersion": "v1.36.0", "machineID": "m", "operatingSystem": "linux", "osImage": "x",
        "systemUUID": "s",
    }))
    .expect("node info")
}

/// A node that was registered before, ready, with what others wrote on it.
pub(super) fn existing(boot_id: &str) -> Node {
    serde_json::from_value(json!({
        "metadata": {"name": NODE_NAME, "labels": {"others": "1"}},
        "spec": {"taints": [{"key": "others", "effect": "NoSchedule"}]},
        "status": {
            "nodeInfo": info(boot_id),
            "conditions": [
                {"type": "NetworkUnavailable", "status": "False"},
                {"type": "Ready", "status": "True", "reason": "Before"},
            ],
        },
    }))
    .expect("a node")
}
