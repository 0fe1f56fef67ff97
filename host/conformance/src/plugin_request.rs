//! What plugins are asked, in one form for all roles.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::Pod;
use serde::Deserialize as _;
use serde_json::{Value, json};
use witlet_core::admission::{AdmissionRequest, Operation};
use witlet_core::node::observed::ObservedNode;
use witlet_core::node::{NodeFacts, facts};
use witlet_core::pod::SourceName;
use witlet_core::probe::{ProbeKind, ProbeRequest};
use witlet_core::runtime::ContainerId;
use witlet_core::sources::plugin::PodNews;
use witlet_wasm::direct;
use witlet_wasm::role::Role;

use crate::environment::address::ADDRESS_PLACEHOLDER;

/// The node that has everything.
const NODE: &str = include_str!("../vectors/defaults/node.json");
pub(crate) const NODE_NAME: &str = "node-1";
/// The source of a pod whose case names none.
pub(crate) const SOURCE: &str = "file";
/// A probe's time, unless its case says otherwise. A case is about what is found, and not about how fast: a machine that others keep busy,
/// or that stands still for a second, makes no failure of it.
const PROBE_TIMEOUT_DEFAULT: Duration = Duration::from_secs(10);
/// What is known of the node's machine and its runtime.
const FACTS: [(&str, &str); 7] = [
    (facts::OS, "linux"),
    (facts::ARCH, "amd64"),
    (facts::KERNEL_VERSION, "6.12.0"),
    (facts::CGROUP_VERSION, "2"),
    (facts::APPARMOR_ENABLED, "true"),
    (facts::RUNTIME_NAME, "containerd"),
    (facts::RUNTIME_VERSION, "2.0.0"),
];

#[derive(Clone, Debug)]
pub(crate) enum PluginRequest {
    /// `handler.admit`: the request, and what the host derives from it.
    Admit(Box<AdmissionRequest>, direct::PreparedRequest),
    /// `prober.check-parameters`, and `prober.probe` if it has nothing against them, as the daemon asks.
    Probe {
        request: Box<ProbeRequest>,
        /// The pod has the address where the servers of the scenario listen.
        own_address: bool,
    },
    /// `prober.check-parameters` alone.
    Check(Arc<str>),
    /// `source.poll`, with this cursor in place of that of the answer before.
    Poll(Option<String>),
    /// `feedback.statuses` of contract 0.1, `feedback.notify` of 0.2.
    Statuses(Vec<PodNews>),
}

impl PluginRequest {
    pub(crate) fn admit(request: AdmissionRequest) -> Self {
        let derived = direct::PreparedRequest::new(request.clone());
        Self::Admit(Box::new(request), derived)
    }

    /// A probe of the address where the scenario's servers listen.
    pub(crate) fn probe(request: ProbeRequest) -> Self {
        Self::Probe { request: Box::new(request), own_address: true }
    }

    /// About this pod, in a role that has questions about pods.
    pub(crate) fn about(role: Role, pod: Pod, parameters: &str) -> Self {
        match role {
            Role::Admission => Self::admit(admission_request(Operation::Add, pod)),
            Role::Probe => Self::probe(target(pod, parameters)),
            Role::PodSource => Self::Poll(None),
        }
    }

    /// The same where the scenario's servers listen at this address.
    pub(crate) fn placed(&self, address: IpAddr) -> Self {
        let text =
            |text: &Arc<str>| -> Arc<str> { text.replace(ADDRESS_PLACEHOLDER, &address.to_string()).into() };
        match self {
            Self::Probe { request, own_address } => {
                let mut request = request.clone();
                request.parameters = text(&request.parameters);
                if *own_address {
                    request.pod_ips = vec![address];
                }
                Self::Probe { request, own_address: false }
            }
            Self::Check(parameters) => Self::Check(text(parameters)),
            Self::Admit(..) | Self::Poll(_) | Self::Statuses(_) => self.clone(),
        }
    }

    /// Has a probe take so long at most.
    pub(crate) fn give(&mut self, time: Duration) {
        if let Self::Probe { request, .. } = self {
            request.timeout = request.timeout.min(time);
        }
    }

    /// The function of the contract that is called, and what it promises.
    fn promise(&self) -> (&'static str, &'static str) {
        match self {
            Self::Admit(..) => (
                "handler.admit",
                "handler.admit returns a verdict, or an error in its own words, within its limits of time and memory",
            ),
            Self::Probe { .. } => (
                "prober.probe",
                "prober.probe returns an outcome, or an error in its own words, within its limits of time and memory",
            ),
            Self::Check(_) => (
                "prober.check-parameters",
                "prober.check-parameters says whether a probe with these parameters makes sense: an error, in the plugin's own \
                 words, where it doesn't",
            ),
            Self::Poll(_) => (
                "source.poll",
                "source.poll returns what the source has, or an error with a reason, within its limits of time and memory",
            ),
            Self::Statuses(_) => {
                ("feedback.statuses", "feedback.statuses returns nothing, or an error in its own words")
            }
        }
    }

    pub(crate) fn function(&self) -> &'static str {
        self.promise().0
    }

    pub(crate) fn contract(&self) -> &'static str {
        self.promise().1
    }

    /// Returns the text as a finding shows it: the pod, the parameters or the cursor.
    pub(crate) fn shown(&self) -> String {
        match self {
            // What the host has of pods is JSON.
            Self::Admit(request, _) => serde_json::to_string(&*request.pod).unwrap_or_default(),
            Self::Probe { request, .. } => format!("parameters {}", request.parameters),
            Self::Check(parameters) => format!("parameters {parameters}"),
            Self::Poll(Some(cursor)) => format!("cursor {cursor:?}"),
            Self::Poll(None) => "no cursor".to_owned(),
            Self::Statuses(changed) => format!("{} statuses", changed.len()),
        }
    }
}

pub(crate) fn now_default() -> Timestamp {
    Timestamp::constant(1_767_225_600, 0)
}

/// A node with capacity: 4 processors, 8 GiB, 110 pods.
pub(crate) fn node_default() -> Arc<NodeFacts> {
    Arc::new(NodeFacts {
        name: NODE_NAME.to_owned(),
        // It is a node: a test reads it.
        node: serde_json::from_str(NODE).unwrap_or_default(),
        addresses: vec![IpAddr::from([192, 0, 2, 10])],
        facts: FACTS.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect(),
        devices: "[]".to_owned(),
        observed: ObservedNode::default(),
    })
}

/// A question about a pod on the node that has everything, at the time that all questions have.
pub(crate) fn admission_request(operation: Operation, pod: Pod) -> AdmissionRequest {
    let pod = Arc::new(pod);
    AdmissionRequest {
        operation,
        now: now_default(),
        // A pod that runs as it is to be: what the two differ in is for a case to say.
        old_pod: (!matches!(operation, Operation::Add | Operation::ImageResolved)).then(|| pod.clone()),
        image: None,
        pod,
        source: SourceName::from(SOURCE),
        node: node_default(),
        other_pods: [].into(),
    }
}

/// A probe of a pod's first container, without parameters, addresses and much time.
pub(crate) fn probe_request(pod: Pod) -> ProbeRequest {
    let first = pod.spec.as_ref().and_then(|spec| spec.containers.first());
    ProbeRequest {
        probe_type: "tested".into(),
        parameters: "null".into(),
        container: first.map_or_else(|| "main".to_owned(), |first| first.name.clone()),
        pod: Arc::new(pod),
        container_id: ContainerId::from("c0ffee"),
        restarts: 0,
        pod_ips: Vec::new(),
        host_ips: node_default().addresses.clone(),
        kind: ProbeKind::Readiness,
        timeout: PROBE_TIMEOUT_DEFAULT,
    }
}

/// A probe with these parameters, and little time: for targets without a server.
pub(crate) fn target(pod: Pod, parameters: &str) -> ProbeRequest {
    const TIME: Duration = Duration::from_millis(500);
    ProbeRequest { parameters: parameters.into(), timeout: TIME, ..probe_request(pod) }
}

/// A pod from JSON that has only fields which pods have, of their types; an empty one if it hasn't.
pub(crate) fn pod(json: &Value) -> Pod {
    Pod::deserialize(json).unwrap_or_default()
}

/// A pod that says nothing: one container of a released image.
pub(crate) fn plain_pod() -> Pod {
    pod(&json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "web", "namespace": "shop", "uid": "uid-of-shop-web"},
        "spec": {"containers": [{"name": "app", "image": "nginx:1.27"}]},
    }))
}

#[cfg(test)]
mod tests;
