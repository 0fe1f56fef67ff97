//! A node of a cluster: the agent on fakes with all parts of its edge, on an API server in this process.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures::FutureExt;
use k8s_openapi::api::core::v1::Pod;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use witlet_api_server::{Admission, ApiServer, Identity, Options};
use witlet_cluster::{
    ApiEvents, ApiPods, ClusterNode, EventLimit, Lease, NodeManager, NodeOptions, NodePorts, Objects,
    SavedPods, StatusManager,
};
use witlet_core::node::lease;
use witlet_ports::{Clock, Jitter, NodeImage, NodeReader, NodeReadings};
use witlet_testkit::{Behaviour, ClusterEdge, FakeImage, FakeNode, FixedJitter, NODE_NAME};

/// A node and its cluster.
pub(crate) struct World {
    pub(crate) server: Arc<ApiServer>,
    pub(crate) node: FakeNode,
}

/// A machine with one image.
struct OneImage;

#[async_trait]
impl NodeReader for OneImage {
    async fn read(&self) -> NodeReadings {
        NodeReadings::default()
    }

    async fn images(&self) -> Option<Vec<NodeImage>> {
        Some(vec![NodeImage { names: vec!["sleeper:1".to_owned()], size: 7, ..NodeImage::default() }])
    }
}

/// All parts of the edge, as the binary puts them together.
fn connect(server: &ApiServer, node: &FakeNode) -> ClusterEdge {
    let client = server.client(&Identity::node(NODE_NAME));
    let clock: Arc<dyn Clock> = Arc::new(node.clock.clone());
    let jitter: Arc<dyn Jitter> = Arc::new(FixedJitter::default());
    let machine = node.own_facts();
    let limit = EventLimit { per_second: 50, burst: 100 };
    let events = ApiEvents::new(client.clone(), NODE_NAME, limit, clock.clone(), jitter.clone());
    let ports = NodePorts {
        node: machine.clone(),
        node_reader: Arc::new(OneImage),
        events: events.clone(),
        clock: clock.clone(),
        jitter: jitter.clone(),
    };
    let manager = NodeManager::new(client.clone(), NODE_NAME, NodeOptions::default(), ports);
    let object = manager.node();
    let seconds = lease::DURATION_SECONDS;
    let lease = Lease::new(client.clone(), NODE_NAME, object.clone(), seconds, clock.clone(), jitter.clone());
    let seen = ClusterNode::new(machine, client.clone(), NODE_NAME, object.clone());
    let saved = SavedPods::new(node.state.clone());
    let pods = ApiPods::new(client.clone(), NODE_NAME, Some(saved), clock.clone(), jitter.clone());
    let pods = pods.telling(events.clone());
    let (known, mirrors) = (pods.known(), pods.mirrors());
    let statuses = StatusManager::new(client.clone(), known, mirrors, object, clock.clone(), jitter.clone());
    let objects = Objects::new(client, clock, jitter);
    let (writing, drawing, telling, following) =
        (statuses.clone(), objects.clone(), events.clone(), seen.clone());
    ClusterEdge {
        sources: vec![Box::new(pods)],
        statuses,
        objects,
        events,
        node: Some(seen),
        work: Box::new(move |agent| {
            let never = CancellationToken::new();
            async move {
                tokio::join!(
                    manager.run(Arc::new(agent), never.clone()),
                    lease.run(never.clone()),
                    following.run(never.clone()),
                    writing.run(never.clone()),
                    drawing.run(never.clone()),
                    telling.run(never),
                );
            }
            .boxed()
        }),
    }
}

impl World {
    /// A node whose agent runs, in a cluster that sees it for the first time.
    pub(crate) fn started() -> Self {
        let mut world = Self::new();
        world.node.start();
        world
    }

    /// The same before the agent's start.
    pub(crate) fn new() -> Self {
        let mut node = FakeNode::new();
        node.runtime.add_image("sleeper:1", FakeImage::present(Behaviour::Sleeps));
        let clock = node.clock.clone();
        // What the agent asks for is all that the Node authorizer and NodeRestriction give it.
        let admission = Admission { node_rules: true, ..Admission::default() };
        let server = ApiServer::new(Options { admission, ..Options::new(Arc::new(move || clock.now())) });
        let of_node = server.clone();
        node.cluster = Some(Box::new(move |node: &FakeNode| connect(&of_node, node)));
        Self { server, node }
    }

    pub(crate) fn ends_after(&self, image: &str, code: i32, seconds: u64) {
        let behaviour = Behaviour::Exits { code, after: Duration::from_secs(seconds) };
        self.node.runtime.add_image(image, FakeImage::present(behaviour));
    }

    pub(crate) fn create(&self, name: &str, image: &str, restart_policy: &str) {
        let container = json!({"name": "app", "image": image, "imagePullPolicy": "IfNotPresent"});
        self.create_from(name, json!({"restartPolicy": restart_policy, "containers": [container]}));
    }

    /// Creates a pod that is bound to this node, with what the spec leaves out.
    pub(crate) fn create_from(&self, name: &str, mut spec: Value) {
        let rest = json!({
            "nodeName": NODE_NAME, "terminationGracePeriodSeconds": 30, "automountServiceAccountToken": false,
            "dnsPolicy": "Default",
        });
        for (field, value) in rest.as_object().into_iter().flatten() {
            spec[field] = spec.get(field).unwrap_or(value).clone();
        }
        let metadata = json!({"name": name, "namespace": "default"});
        let pod: Pod = serde_json::from_value(json!({"metadata": metadata, "spec": spec})).expect("a pod");
        self.server.create(&pod).expect("made");
    }

    pub(crate) fn delete(&self, name: &str, grace: i64) {
        self.server.delete::<Pod>("default", name, Some(grace)).expect("deleted");
    }

    /// `phase, restarts, ready` of a pod as the server has it.
    pub(crate) fn on_server(&self, name: &str) -> String {
        let Some(pod) = self.server.get::<Pod>("default", name) else { return "gone".to_owned() };
        let status = pod.status.unwrap_or_default();
        let restarts: i32 = status.container_statuses.iter().flatten().map(|of| of.restart_count).sum();
        let ready = status.conditions.iter().flatten().find(|condition| condition.type_ == "Ready");
        let ready = ready.map(|ready| ready.status.clone()).unwrap_or_default();
        format!("{}, {restarts} restarts, ready {ready}", status.phase.unwrap_or_default())
    }

    /// How often containers of the pod were started, in all runs of the agent.
    pub(crate) fn starts(&self, name: &str) -> usize {
        let log = self.node.runtime.log();
        log.iter().filter(|line| line.contains(&format!(" start {name}/"))).count()
    }

    /// Lets time pass; if the server is held meanwhile, the agent is killed at that moment and another one started.
    /// Gives whether that happened.
    pub(crate) async fn pass_or_die(&mut self, seconds: f64) -> bool {
        let is_held = tokio::select! {
            () = self.server.held() => true,
            () = pass(seconds) => false,
        };
        if is_held {
            self.node.kill();
            self.server.release();
            self.node.start();
            pass(seconds).await;
        }
        is_held
    }
}

/// Lets time pass.
pub(crate) async fn pass(seconds: f64) {
    tokio::time::sleep(Duration::from_secs_f64(seconds)).await;
}
