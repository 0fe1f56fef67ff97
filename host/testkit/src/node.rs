//! A whole node in one process: the agent on fakes.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use futures::future::BoxFuture;
use k8s_openapi::api::core::v1::{Node, NodeStatus};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use witlet_agent::{
    Agent, AgentHandle, AgentSettings, CgroupMode, EventLog, EvictionPorts, HostSettings, Ports,
};
use witlet_core::node::NodeFacts;
use witlet_ports::{
    CgroupDrivers, ClusterObjects, EventSink, NoObjects, NoStatuses, NodeWatch, PodSource, Runtime,
    StatusSink, Tracer,
};

use crate::volumes::MachinePorts;
use crate::{
    FakeAdmission, FakeCgroups, FakeEndpoints, FakeNodeSystem, FakeRuntime, FakeSourceSet, FakeUsage,
    FixedCredentials, FixedHostFiles, FixedJitter, ManualClock, MemoryMachine, MemoryPodFiles,
    MemoryPullRecords, MemoryStateStore, SourceHandle,
};

/// The name of every fake node.
pub const NODE_NAME: &str = "node1";

/// Facts that a test changes.
struct FakeNodeWatch(watch::Sender<Arc<NodeFacts>>);

#[async_trait]
impl NodeWatch for FakeNodeWatch {
    fn watch(&self) -> watch::Receiver<Arc<NodeFacts>> {
        self.0.subscribe()
    }

    async fn read_again(&self) -> Arc<NodeFacts> {
        self.0.borrow().clone()
    }
}

/// A node with four CPUs and 8 GiB.
pub fn fixed_node() -> NodeFacts {
    let quantities = [("cpu", "4"), ("memory", "8Gi"), ("pods", "110")];
    let resources: BTreeMap<String, Quantity> =
        quantities.map(|(name, amount)| (name.to_owned(), Quantity(amount.to_owned()))).into();
    let status = NodeStatus {
        capacity: Some(resources.clone()),
        allocatable: Some(resources),
        ..NodeStatus::default()
    };
    let metadata = ObjectMeta { name: Some(NODE_NAME.to_owned()), ..ObjectMeta::default() };
    NodeFacts {
        name: NODE_NAME.to_owned(),
        node: Node { metadata, spec: None, status: Some(status) },
        addresses: vec![IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1))],
        ..NodeFacts::default()
    }
}

/// The edge to a cluster of one run of the agent.
pub struct ClusterEdge {
    /// Where its pods come from.
    pub sources: Vec<Box<dyn PodSource>>,
    /// Receives the status of each pod.
    pub statuses: Arc<dyn StatusSink>,
    /// What pods draw from it.
    pub objects: Arc<dyn ClusterObjects>,
    pub events: Arc<dyn EventSink>,
    /// The node with what the cluster has of it; none is the machine itself.
    pub node: Option<Arc<dyn NodeWatch>>,
    /// What goes on next to the agent, as long as it runs; it may show the agent.
    pub work: Box<dyn FnOnce(AgentHandle) -> BoxFuture<'static, ()> + Send>,
}

/// Makes the edge again for each run of the agent.
pub type ConnectCluster = Box<dyn Fn(&FakeNode) -> ClusterEdge + Send + Sync>;

/// A node on fakes. What a real node would have on disk or in the runtime survives restarts of the agent here, too.
pub struct FakeNode {
    /// Time, which stands still unless everything waits.
    pub clock: ManualClock,
    pub runtime: Arc<FakeRuntime>,
    /// The runtime of the next agent, if it is another one.
    pub other_runtime: Option<Runtime>,
    pub admission: Arc<FakeAdmission>,
    pub state: Arc<MemoryStateStore>,
    pub files: Arc<MemoryPodFiles>,
    /// Volumes, files of containers, logs.
    pub machine: Arc<MemoryMachine>,
    pub endpoints: Arc<FakeEndpoints>,
    /// What the node has left, and what pods use.
    pub usage: Arc<FakeUsage>,
    pub credentials: Arc<FixedCredentials>,
    /// The kernel's cgroups, which the agent keeps if its settings say so.
    pub cgroups: Arc<FakeCgroups>,
    /// The machine's own processes and tunables.
    pub system: Arc<FakeNodeSystem>,
    /// What is kept of pulls.
    pub pull_records: Arc<MemoryPullRecords>,
    /// The machine's own files.
    pub host_files: Arc<FixedHostFiles>,
    /// What configurations draw from in addition to the pod and the node; for the next agent.
    pub host: HostSettings,
    /// The source named `file`.
    pub source: SourceHandle,
    /// Sources that a test adds before it starts the agent.
    pub more_sources: Vec<SourceHandle>,
    pub plugin_sources: Arc<FakeSourceSet>,
    /// The cluster that the next agent belongs to, if any.
    pub cluster: Option<ConnectCluster>,
    /// Settings of the next agent.
    pub config: AgentSettings,
    /// Whose spans the next agent's work is.
    pub tracer: Tracer,
    facts: watch::Sender<Arc<NodeFacts>>,
    running: Option<RunningAgent>,
    failure: Arc<Mutex<Option<String>>>,
}

/// What an edge brings, or stands in for one.
type Connected = (
    Arc<EventLog>,
    Arc<dyn StatusSink>,
    Arc<dyn ClusterObjects>,
    Option<Arc<dyn NodeWatch>>,
    Option<Box<dyn FnOnce(AgentHandle) -> BoxFuture<'static, ()> + Send>>,
);

struct RunningAgent {
    handle: AgentHandle,
    stop: CancellationToken,
    task: JoinSet<()>,
}

impl FakeNode {
    /// A node whose agent doesn't run yet, with an empty source that has spoken.
    pub fn new() -> Self {
        let clock = ManualClock::new();
        let source = SourceHandle::new("file", NODE_NAME);
        source.speak();
        let runtime = FakeRuntime::new(clock.clone());
        let host = HostSettings { seccomp_root: "/var/lib/witlet/seccomp".into(), ..HostSettings::default() };
        let state = Arc::<MemoryStateStore>::default();
        Self {
            machine: Arc::default(),
            endpoints: Arc::new(FakeEndpoints::new(runtime.clone(), clock.clone())),
            usage: Arc::new(FakeUsage::new(runtime.clone())),
            credentials: Arc::default(),
            cgroups: FakeCgroups::new(runtime.clone()),
            system: FakeNodeSystem::new(runtime.clone()),
            pull_records: Arc::default(),
            host_files: Arc::default(),
            host,
            runtime,
            other_runtime: None,
            admission: Arc::default(),
            files: Arc::new(MemoryPodFiles::new(state.clone())),
            state,
            source,
            more_sources: Vec::new(),
            plugin_sources: Arc::new(FakeSourceSet::new(NODE_NAME)),
            cluster: None,
            config: AgentSettings::default(),
            tracer: Tracer::off(),
            facts: watch::Sender::new(Arc::new(fixed_node())),
            running: None,
            failure: Arc::default(),
            clock,
        }
    }

    /// A node whose agent runs.
    pub fn started() -> Self {
        let mut node = Self::new();
        node.start();
        node
    }

    /// The next agent keeps cgroups, or is asked not to (`cgroupsPerQOS`). Without this it can't.
    pub fn set_cgroups_per_qos(&mut self, kept: bool) {
        self.config.cgroups.mode = if kept { CgroupMode::Kept } else { CgroupMode::Off };
    }

    /// Starts an agent; one that runs is killed first.
    pub fn start(&mut self) {
        let edge = self.cluster.as_ref().map(|connect| connect(self));
        let log = EventLog::new(Arc::new(self.clock.clone()));
        let own = std::iter::once(&self.source).chain(&self.more_sources).map(SourceHandle::source);
        let mut sources: Vec<Box<dyn PodSource>> = own.collect();
        let (events, statuses, objects, seen, work): Connected = match edge {
            Some(edge) => {
                sources.extend(edge.sources);
                let log = Arc::new(log.forwarding(edge.events));
                (log, edge.statuses, edge.objects, edge.node, Some(edge.work))
            }
            None => (Arc::new(log), Arc::new(NoStatuses), Arc::new(NoObjects), None, None),
        };
        let machine = MachinePorts::of(&self.machine);
        let ports = Ports {
            runtime: self.other_runtime.clone().unwrap_or_else(|| self.runtime.ports()),
            file_systems: self.runtime.clone(),
            admission: self.admission.clone(),
            files: self.files.clone(),
            state: self.state.clone(),
            cgroups: CgroupDrivers {
                cgroupfs: Some(self.cgroups.clone()),
                systemd: Some(self.cgroups.clone()),
                system: Some(self.system.clone()),
            },
            events,
            clock: Arc::new(self.clock.clone()),
            jitter: Arc::new(FixedJitter::default()),
            node: seen.unwrap_or_else(|| self.own_facts()),
            sources,
            plugin_sources: Some(self.plugin_sources.clone()),
            host: self.host.clone(),
            host_files: self.host_files.clone(),
            volumes: machine.volumes,
            container_files: machine.files,
            container_logs: machine.logs,
            credentials: self.credentials.clone(),
            pull_records: self.pull_records.clone(),
            probe_types: self.endpoints.clone(),
            hooks: self.endpoints.clone(),
            statuses,
            objects,
            eviction: EvictionPorts {
                node_reader: self.usage.clone(),
                kernel: self.usage.clone(),
                stats: self.usage.clone(),
                storage: self.usage.clone(),
                notifier: self.usage.clone(),
            },
            tracer: self.tracer.clone(),
        };
        let (agent, handle) = Agent::new(ports, self.config.clone());
        let stop = CancellationToken::new();
        let mut task = JoinSet::new();
        let (running, failure) = (agent.run(stop.clone()), self.failure.clone());
        *failure.lock().unwrap_or_else(PoisonError::into_inner) = None;
        task.spawn(async move {
            if let Err(error) = running.await {
                *failure.lock().unwrap_or_else(PoisonError::into_inner) = Some(error.to_string());
            }
        });
        if let Some(work) = work {
            // Ends with the agent, however that ends.
            let (work, ended) = (work(handle.clone()), stop.clone());
            task.spawn(async move {
                tokio::select! {
                    () = work => {}
                    () = ended.cancelled() => {}
                }
            });
        }
        self.running = Some(RunningAgent { handle, stop, task });
    }

    /// The agent is gone from one moment to the next, as if killed.
    pub fn kill(&mut self) {
        self.running = None;
    }

    /// The agent is asked to end, and has ended.
    pub async fn stop(&mut self) {
        if let Some(mut running) = self.running.take() {
            running.stop.cancel();
            while running.task.join_next().await.is_some() {}
        }
    }

    /// Why the agent that was started last ended by itself, if it did.
    pub fn failure(&self) -> Option<String> {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The running agent, if one runs.
    pub fn agent_if_running(&self) -> Option<&AgentHandle> {
        self.running.as_ref().map(|running| &running.handle)
    }

    /// The running agent.
    ///
    /// # Panics
    /// If none runs: the test is wrong.
    pub fn agent(&self) -> &AgentHandle {
        self.agent_if_running().expect("the test started an agent")
    }

    /// The machine itself, without what a cluster has of it.
    pub fn own_facts(&self) -> Arc<dyn NodeWatch> {
        Arc::new(FakeNodeWatch(self.facts.clone()))
    }

    /// Changes the machine.
    pub fn set_facts(&self, facts: NodeFacts) {
        self.facts.send_replace(Arc::new(facts));
    }
}

impl Default for FakeNode {
    fn default() -> Self {
        Self::new()
    }
}
