//! What every part of the daemon is made from: time, chance, the machine, the runtime's client, the way out.

use std::sync::Arc;

use thiserror::Error;
use witlet_agent::KUBELET_STATE;
use witlet_core::node::facts;
use witlet_cri::{ConnectError, CriClient, CriOptions, Deadlines, EndpointError};
use witlet_egress::Egress;
use witlet_node::{
    FilePullRecords, FileStateStore, NodeError, NodeInfo, NodeOptions, PodsCgroup, SystemClock, SystemMeter,
    SystemNodeReader, ThreadJitter,
};
use witlet_ports::{Runtime, SourceHealth};

use crate::run::embedded::{self, Embedded};
use crate::run::own_files::OwnFiles;
use crate::run::reported_state::ReportedState;
use crate::run::runtime_facts::RuntimeFacts;
use crate::run::spans::Spans;
use crate::settings::{RuntimeSettings, Settings};

/// Why the parts can't be made.
#[derive(Debug, Error)]
pub(crate) enum BaseError {
    /// `--container-runtime-endpoint` or `--image-service-endpoint` is no endpoint.
    #[error("--{flag}")]
    Endpoint {
        flag: &'static str,
        /// What is wrong with it.
        #[source]
        cause: EndpointError,
    },
    /// No client of the runtime could be made.
    #[error(transparent)]
    Connect(#[from] ConnectError),
    /// The machine can't be described.
    #[error(transparent)]
    Node(#[from] NodeError),
}

/// Made first, and shared by all.
pub(crate) struct Base {
    pub(crate) name: String,
    pub(crate) clock: Arc<SystemClock>,
    pub(crate) jitter: Arc<ThreadJitter>,
    /// The node as the machine itself shows it.
    pub(crate) machine: Arc<NodeInfo>,
    pub(crate) cri: CriClient,
    /// The client's ports; what it says of itself becomes facts of the machine.
    pub(crate) runtime: Runtime,
    pub(crate) egress: Egress,
    pub(crate) state: Arc<ReportedState>,
    /// Which sources of pods can't be read.
    pub(crate) health: Arc<SourceHealth>,
    /// Spans of all parts.
    pub(crate) spans: Spans,
    /// What the machine has left.
    pub(crate) node_reader: Arc<SystemNodeReader>,
    /// What the kernel counts of the machine and its pods.
    pub(crate) kernel: Arc<SystemMeter>,
    /// Records of image pulls.
    pub(crate) pull_records: Arc<FilePullRecords>,
}

impl Base {
    /// Reads the machine. Nothing is asked of the runtime yet.
    pub(crate) fn new(settings: &Settings) -> Result<Self, BaseError> {
        let (clock, jitter) = (Arc::new(SystemClock), Arc::new(ThreadJitter));
        let machine = Arc::new(NodeInfo::new(node_options(settings), &*clock)?);
        let gates = settings.feature_gates.iter();
        machine.set_facts(
            facts::FEATURE_GATES,
            gates.map(|(gate, on)| (gate.clone(), on.to_string())).collect(),
        );
        let name = machine.current().name.clone();
        let spans = Spans::new(settings.tracing.as_ref(), &name, &clock, &jitter);
        let cri = cri(settings, clock.clone())?.with_tracer(spans.tracer.clone());
        let node_reader = {
            let pods = PodsCgroup::below(&settings.cgroups.root);
            Arc::new(SystemNodeReader::new(settings.folders.root.clone(), Arc::new(cri.clone()), pods))
        };
        let kernel = SystemMeter::new(&settings.cgroups.root, settings.named_cgroups(), clock.clone());
        let mut runtime = cri.clone().into_runtime();
        runtime.info =
            Arc::new(RuntimeFacts::new(runtime.info, machine.clone(), settings.runtime.cgroup_driver));
        let own = OwnFiles::below(&settings.folders.root);
        let state = FileStateStore::new(own.state()).with_folder_of(&settings.folders.root, &KUBELET_STATE);
        Ok(Self {
            name,
            clock,
            jitter,
            machine,
            cri,
            runtime,
            egress: Egress::system(),
            state: Arc::new(ReportedState::new(Arc::new(state))),
            health: Arc::default(),
            spans,
            node_reader,
            kernel: Arc::new(kernel),
            pull_records: Arc::new(FilePullRecords::new(&settings.folders.root)),
        })
    }

    /// The node's name and addresses.
    pub(crate) fn names(&self) -> Vec<String> {
        let facts = self.machine.current();
        let addresses = facts.addresses.iter().map(ToString::to_string);
        std::iter::once(self.name.clone()).chain(addresses).collect()
    }
}

/// The runtime's client. Nothing is asked of the runtime yet.
fn cri(settings: &Settings, clock: Arc<SystemClock>) -> Result<CriClient, BaseError> {
    let RuntimeSettings { endpoint, image_endpoint, request_timeout, .. } = &settings.runtime;
    let parsed = |flag, text: &str| text.parse().map_err(|cause| BaseError::Endpoint { flag, cause });
    let image_endpoint = match image_endpoint {
        Some(text) => Some(parsed("image-service-endpoint", text)?),
        None => None,
    };
    let address = if endpoint == embedded::ENDPOINT {
        Embedded::endpoint_of(&settings.folders.root)
    } else {
        endpoint.clone()
    };
    let options = CriOptions {
        endpoint: parsed("container-runtime-endpoint", &address)?,
        image_endpoint,
        deadlines: Deadlines::of_request_timeout(*request_timeout),
    };
    Ok(CriClient::new(options, clock)?)
}

fn node_options(settings: &Settings) -> NodeOptions {
    NodeOptions {
        name: settings.node.name.clone(),
        max_pods: settings.node.max_pods,
        labels: settings.node.labels.clone(),
        root: settings.folders.root.clone(),
        node_ips: settings.node.ips.clone(),
        reserved: settings.node.reserved.clone(),
        pods_per_core: settings.node.pods_per_core,
        offers_local_storage: settings.eviction.local_storage_isolation,
    }
}
