//! The edge to the API server, put together: pods from it, statuses, the node, its lease and events to it.

use std::sync::Arc;

use k8s_openapi::api::core::v1::Node;
use thiserror::Error;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use witlet_cluster::{
    Access, ApiEvents, ApiPods, ClusterNode, ConnectError, ConnectOptions, Connection, EventLimit, Lease,
    MirrorPods, NodeManager, NodeOptions, NodePorts, Objects, SavedPods, StatusManager,
};
use witlet_core::node::registration::Registration;
use witlet_node::{machine_booted_at, process_started_at};
use witlet_ports::{AgentView, EventSink, MetricsSource, NodeReader, NodeWatch, PodSource};

use crate::kubelet::KUBERNETES_VERSION;
use crate::run::base::Base;
use crate::run::embedded;
use crate::run::parts::{PartError, Parts};
use crate::settings::{ClusterSettings, Settings};

/// Why the node can't be part of its cluster.
#[derive(Debug, Error)]
pub(crate) enum ClusterError {
    /// Its pods would have addresses that no one else reaches.
    #[error(
        "--container-runtime-endpoint {}: pods of the embedded runtime have loopback addresses, which other nodes cannot \
         reach; use a CRI socket, or remove --kubeconfig",
        embedded::ENDPOINT
    )]
    Embedded,
    /// The kubeconfig, or what it names, is of no use.
    #[error("failed to reach the API server that --kubeconfig names")]
    Connect(#[from] ConnectError),
}

/// The way to the API server, and the queue of events for it. Made first: the agent's events go through it.
pub(crate) struct ClusterConnection {
    settings: ClusterSettings,
    port: Option<u16>,
    node_ips: Vec<String>,
    connection: Connection,
    events: Arc<ApiEvents>,
}

/// What the agent is given of the cluster.
pub(crate) struct Cluster {
    connection: Connection,
    manager: NodeManager,
    lease: Lease,
    events: Arc<ApiEvents>,
    /// Pods that are bound to this node; the agent takes it.
    pub(crate) pods: Option<Box<dyn PodSource>>,
    pub(crate) statuses: Arc<StatusManager>,
    /// Static pods as the API server shows them.
    pub(crate) mirrors: MirrorPods,
    /// What pods refer to.
    pub(crate) objects: Arc<Objects>,
    /// The node with what others wrote on its object.
    pub(crate) node: Arc<ClusterNode>,
    /// The node's object as the API server has it; none while it isn't known.
    pub(crate) object: watch::Receiver<Option<Arc<Node>>>,
    /// Who may use the node's endpoints.
    pub(crate) access: Arc<Access>,
    /// What is counted of requests to the API server.
    pub(crate) metrics: [Arc<dyn MetricsSource>; 4],
}

/// Reads the kubeconfig. Nothing is asked of the API server yet. None where the node stands alone.
pub(crate) fn reach(settings: &Settings, base: &Base) -> Result<Option<ClusterConnection>, ClusterError> {
    let Some(cluster) = settings.cluster.clone() else { return Ok(None) };
    if settings.runtime.endpoint == embedded::ENDPOINT {
        return Err(ClusterError::Embedded);
    }
    let (clock, jitter) = (&base.clock, &base.jitter);
    let connection = Connection::open(ConnectOptions {
        kubeconfig: cluster.kubeconfig.clone(),
        bootstrap_kubeconfig: cluster.bootstrap_kubeconfig.clone(),
        cert_dir: cluster.cert_dir.clone(),
        node_name: base.name.clone(),
        rotate: cluster.rotate_certificates,
        user_agent: user_agent(),
        qps: cluster.qps.into(),
        burst: cluster.burst,
        clock: clock.clone(),
        jitter: jitter.clone(),
        tracer: base.spans.tracer.clone(),
    })?;
    let limit = EventLimit { per_second: cluster.event_qps, burst: cluster.event_burst };
    // The limit is the queue's own: it counts events, not tries.
    let client = connection.events(0.0, 0)?;
    let events = ApiEvents::new(client, &base.name, limit, clock.clone(), jitter.clone());
    let port = settings.server.as_ref().map(|server| server.address.port());
    let node_ips = settings.node.ips.iter().map(ToString::to_string).collect();
    Ok(Some(ClusterConnection { settings: cluster, port, node_ips, connection, events }))
}

/// Returns what requests say about their sender: what auditors of clusters look for, and who it is.
fn user_agent() -> String {
    let own = env!("CARGO_PKG_VERSION");
    format!("kubelet/{KUBERNETES_VERSION} ({}/{}) witlet/{own}", std::env::consts::OS, std::env::consts::ARCH)
}

impl ClusterConnection {
    /// Where events of the agent's go.
    pub(crate) fn event_sink(&self) -> Arc<dyn EventSink> {
        self.events.clone()
    }

    /// Puts the parts together. `events` is the agent's log of events.
    pub(crate) fn join(self, base: &Base, events: Arc<dyn EventSink>) -> Result<Cluster, ClusterError> {
        let Self { settings, port, node_ips, connection, events: api_events } = self;
        let (name, clock, jitter) = (&base.name, &base.clock, &base.jitter);
        let client = connection.client();
        // Upstream's deadline of a heartbeat: it must not outlive the next one.
        let heartbeats = connection.heartbeats(settings.status_update.min(settings.lease))?;
        // As fast as the node's own requests, and next to them: unauthenticated clients decide how many there are.
        let reviews = connection.reviews(settings.qps.into(), settings.burst)?;
        let machine: Arc<dyn NodeWatch> = base.machine.clone();
        let node_reader: Arc<dyn NodeReader> = base.node_reader.clone();
        let ports = NodePorts {
            node: machine.clone(),
            node_reader,
            events: events.clone(),
            clock: clock.clone(),
            jitter: jitter.clone(),
        };
        let seconds = u32::try_from(settings.lease.as_secs()).unwrap_or(u32::MAX);
        let options = node_options(settings, port, node_ips);
        let manager = NodeManager::new(heartbeats.clone(), name, options, ports)
            .started(machine_booted_at(), process_started_at());
        let object = manager.node();
        let lease = Lease::new(heartbeats, name, object.clone(), seconds, clock.clone(), jitter.clone());
        let saved = Some(SavedPods::new(base.state.clone()));
        let pods = ApiPods::new(client.clone(), name, saved, clock.clone(), jitter.clone());
        let pods = pods.telling(events).with_health(base.health.clone());
        let (known, mirrors) = (pods.known(), pods.mirrors());
        let node = object.clone();
        let statuses =
            StatusManager::new(client.clone(), known, mirrors.clone(), node, clock.clone(), jitter.clone());
        let access = Arc::new(Access::new(reviews, name));
        let metrics = [connection.metrics(), statuses.clone(), manager.metrics(), access.clone()];
        Ok(Cluster {
            objects: Objects::new(client.clone(), clock.clone(), jitter.clone()),
            node: ClusterNode::new(machine, client, name, object.clone()),
            object,
            access,
            pods: Some(Box::new(pods)),
            statuses,
            mirrors,
            manager,
            lease,
            events: api_events,
            metrics,
            connection,
        })
    }
}

fn node_options(settings: ClusterSettings, port: Option<u16>, node_ips: Vec<String>) -> NodeOptions {
    NodeOptions {
        register: settings.register,
        registration: Registration {
            taints: settings.taints,
            unschedulable: false,
            provider_id: settings.provider_id,
            external_cloud: settings.external_cloud,
            node_ips,
        },
        port,
        update_every: settings.status_update,
        report_every: settings.status_report,
        images_max: settings.images_max.unwrap_or(usize::MAX),
    }
}

impl Cluster {
    /// Keeps all parts going until `stop` is cancelled; what can be reported at once then still is.
    ///
    /// # Errors
    /// One of them ended before.
    pub(crate) async fn run(
        self,
        view: Arc<dyn AgentView>,
        stop: CancellationToken,
    ) -> Result<(), PartError> {
        let Self { connection, manager, lease, events, statuses, objects, node, .. } = self;
        let mut parts = Parts::default();
        parts.spawn("the node's status", manager.run(view, stop.clone()));
        parts.spawn("the node's lease", lease.run(stop.clone()));
        parts.spawn("the sender of events", events.run(stop.clone()));
        parts.spawn("the pod status manager", statuses.run(stop.clone()));
        parts.spawn("the watch of config maps and secrets", objects.run(stop.clone()));
        parts.spawn("the watch of the node", node.run(stop.clone()));
        // The way to the server stays until the last part is done with it.
        let closed = CancellationToken::new();
        let all = async {
            let ended = parts.run(&stop).await;
            closed.cancel();
            ended
        };
        let ((), ended) = tokio::join!(connection.run(closed.clone()), all);
        ended
    }
}
