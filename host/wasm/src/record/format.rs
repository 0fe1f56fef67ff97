//! A recorded call as a file has it.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Node, Pod};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use thiserror::Error;
use witlet_core::admission::{AdmissionRequest, AdmittedPod, Operation, Shortage, Verdict};
use witlet_core::image::ResolvedImage;
use witlet_core::node::NodeFacts;
use witlet_core::node::observed::ObservedNode;
use witlet_core::pod::SourceName;
use witlet_core::pod::resources::Amounts;
use witlet_core::probe::{ProbeKind, ProbeOutcome, ProbeRequest};
use witlet_core::runtime::ContainerId;
use witlet_core::sources::plugin::{PollResponse, Snapshot, SourceFault};

use crate::metrics::CallOutcome;
use crate::plugin::CallError;
use crate::role::Role;
use crate::worlds::admission::facts::RequestFacts;

/// `apiVersion` of a recorded call.
pub const API_VERSION: &str = "witlet.dev/v1alpha1";
/// `kind` of a recorded call.
pub const KIND: &str = "RecordedCall";

/// One call of one plugin.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RecordedCall {
    pub api_version: String,
    pub kind: String,
    /// What this file doesn't have, in words for people.
    pub note: String,
    pub plugin: String,
    /// Where its component came from: a path, `oci://…`, or `builtin:NAME`.
    pub component: String,
    /// SHA-256 of the component, in hexadecimal.
    pub digest: String,
    /// `config:` of its entry.
    pub config: Value,
    /// Digests of the data that it had next to it, by their names: SHA-256 in hexadecimal.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub data: BTreeMap<String, String>,
    /// What it could use.
    pub limits: Limits,
    /// What it was granted, by the names of the fields of `grants`.
    pub grants: Vec<String>,
    /// When the answer came.
    pub recorded_at: Timestamp,
    /// From the question to the answer.
    pub took_nanoseconds: u64,
    pub question: RecordedRequest,
    pub answer: RecordedResponse,
}

/// What one call may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Limits {
    pub timeout_milliseconds: u64,
    /// Memory of one instance.
    pub memory_bytes: usize,
}

/// What was asked, by role.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "role", rename_all = "camelCase")]
pub enum RecordedRequest {
    /// Whether a pod may run. Everything that a handler may check.
    Admission(Box<RequestRecord>),
    /// Whether a container does what it should. What went over sockets isn't here.
    Probe(Box<RecordedProbeRequest>),
    /// Which pods there are. What the source read isn't here.
    PodSource(RecordedPollRequest),
}

impl RecordedRequest {
    /// Whom it was put to.
    pub fn role(&self) -> Role {
        match self {
            Self::Admission(_) => Role::Admission,
            Self::Probe(_) => Role::Probe,
            Self::PodSource(_) => Role::PodSource,
        }
    }
}

/// A question about a pod.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RequestRecord {
    /// `add`, `resize`, `update`, `ephemeral`, `imageResolved`, `readmit` or `recheck`.
    operation: Operation,
    /// The time that the plugin saw.
    now: Timestamp,
    /// The pod that asks.
    pod: PodRecord,
    /// The same as it runs. A new pod has none, and neither has what earlier builds recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    old_pod: Option<Arc<Pod>>,
    /// The image that a container of the pod is to be started from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    image: Option<Arc<ResolvedImage>>,
    node: NodeRecord,
    other_pods: Vec<PodRecord>,
}

/// A pod and where it came from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PodRecord {
    pub source: String,
    pub pod: Arc<Pod>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct NodeRecord {
    name: String,
    node: Node,
    addresses: Vec<IpAddr>,
    facts: BTreeMap<String, String>,
    devices: String,
    /// What of it was in use. Earlier builds recorded none.
    #[serde(default, skip_serializing_if = "no_amounts")]
    used: Arc<Amounts>,
    /// Handlers of the runtime classes that the pods name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    runtime_classes: BTreeMap<String, String>,
}

fn no_amounts(amounts: &Arc<Amounts>) -> bool {
    amounts.is_empty()
}

impl RequestRecord {
    pub(super) fn new(facts: &RequestFacts) -> Self {
        let pod = |pod: &crate::worlds::admission::facts::PodFacts| PodRecord {
            source: pod.source.to_string(),
            pod: pod.pod.clone(),
        };
        let node = &facts.node.facts;
        Self {
            operation: facts.operation,
            now: facts.now,
            pod: pod(facts.pod()),
            old_pod: facts.old_pod.as_ref().map(|old| old.pod.clone()),
            image: facts.image.clone(),
            node: NodeRecord {
                name: node.name.clone(),
                node: node.node.clone(),
                addresses: node.addresses.clone(),
                facts: node.facts.clone(),
                devices: node.devices.clone(),
                used: node.observed.used.clone(),
                runtime_classes: facts.named_runtime_classes(),
            },
            other_pods: facts.pods.iter().skip(1).map(pod).collect(),
        }
    }

    /// The question itself.
    pub fn request(&self) -> AdmissionRequest {
        let NodeRecord { name, node, addresses, facts, devices, used, runtime_classes } = self.node.clone();
        let observed = ObservedNode { used, runtime_classes: Arc::new(runtime_classes) };
        let others = self.other_pods.iter().map(|other| AdmittedPod {
            pod: other.pod.clone(),
            source: SourceName::from(other.source.as_str()),
        });
        AdmissionRequest {
            operation: self.operation,
            now: self.now,
            pod: self.pod.pod.clone(),
            old_pod: self.old_pod.clone(),
            image: self.image.clone(),
            source: SourceName::from(self.pod.source.as_str()),
            node: Arc::new(NodeFacts { name, node, addresses, facts, devices, observed }),
            other_pods: others.collect(),
        }
    }
}

/// A question about a container.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RecordedProbeRequest {
    /// Name of the probe type.
    pub probe_type: String,
    /// As JSON text.
    pub parameters: String,
    pub pod: Arc<Pod>,
    pub container: String,
    pub container_id: String,
    pub restarts: u32,
    pub pod_ips: Vec<IpAddr>,
    pub host_ips: Vec<IpAddr>,
    /// `Startup`, `Readiness` or `Liveness`.
    pub kind: String,
    /// What the probe was given.
    pub timeout_milliseconds: u64,
    /// Commands that it ran in the container, in their order.
    pub execs: Vec<ExecRecord>,
}

/// A command that a probe ran in its container, and what came of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ExecRecord {
    pub command: Vec<String>,
    /// Its output as the probe saw it, what isn't UTF-8 replaced; none if it couldn't be run.
    pub output: Option<String>,
    /// Its exit code; none if it couldn't be run.
    pub exit_code: Option<i32>,
    /// Why it couldn't be run: [`Self::TIMED_OUT`], or the runtime's words.
    pub error: Option<String>,
}

impl ExecRecord {
    /// The error of a command that ran out of the probe's time.
    pub const TIMED_OUT: &str = "timed out";
}

/// A recorded question that makes no sense.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum RecordedRequestError {
    #[error("{kind:?} isn't a kind of probe")]
    ProbeKind { kind: String },
}

impl RecordedProbeRequest {
    pub(super) fn new(request: &ProbeRequest, execs: Vec<ExecRecord>) -> Self {
        Self {
            probe_type: request.probe_type.to_string(),
            parameters: request.parameters.to_string(),
            pod: request.pod.clone(),
            container: request.container.clone(),
            container_id: request.container_id.to_string(),
            restarts: request.restarts,
            pod_ips: request.pod_ips.clone(),
            host_ips: request.host_ips.clone(),
            kind: request.kind.as_str().to_owned(),
            timeout_milliseconds: milliseconds(request.timeout),
            execs,
        }
    }

    /// The question itself.
    ///
    /// # Errors
    /// The recorded kind of probe isn't one.
    pub fn request(&self) -> Result<ProbeRequest, RecordedRequestError> {
        let kind = ProbeKind::ALL
            .into_iter()
            .find(|kind| kind.as_str() == self.kind)
            .ok_or_else(|| RecordedRequestError::ProbeKind { kind: self.kind.clone() })?;
        Ok(ProbeRequest {
            probe_type: self.probe_type.as_str().into(),
            parameters: self.parameters.as_str().into(),
            pod: self.pod.clone(),
            container: self.container.clone(),
            container_id: ContainerId::from(self.container_id.as_str()),
            restarts: self.restarts,
            pod_ips: self.pod_ips.clone(),
            host_ips: self.host_ips.clone(),
            kind,
            timeout: Duration::from_millis(self.timeout_milliseconds),
        })
    }
}

/// A question for pods.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RecordedPollRequest {
    /// What the last poll gave.
    pub cursor: Option<String>,
}

/// What came back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum RecordedResponse {
    /// Admission: nothing against it.
    Admit,
    Reject {
        /// For the pod's status.
        reason: String,
        message: String,
    },
    Defer {
        /// For the pod's status.
        reason: String,
        message: String,
        /// When it wants to be asked again.
        retry_after_milliseconds: u64,
    },
    /// Admission: the node lacks these.
    Shortage {
        /// `resource: requested R, used U, capacity C`, one each.
        resources: Vec<String>,
    },
    Success {
        detail: String,
    },
    /// Probe: it passes, and someone should know something.
    Warning {
        detail: String,
    },
    Failure {
        detail: String,
    },
    Unchanged {
        /// For the next poll.
        cursor: Option<String>,
    },
    Pods {
        manifests: Vec<String>,
        /// For the next poll.
        cursor: Option<String>,
    },
    Empty {
        /// For the next poll.
        cursor: Option<String>,
    },
    /// Source: it can't tell.
    Fault {
        /// CamelCase.
        reason: String,
        message: String,
    },
    Failed {
        /// As metrics name it.
        outcome: String,
        message: String,
    },
}

impl RecordedResponse {
    /// Whether two answers come to the same. How a call failed is compared by its kind: its words may hold times.
    pub fn agrees_with(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Failed { outcome: ours, .. }, Self::Failed { outcome: theirs, .. }) => ours == theirs,
            (ours, theirs) => ours == theirs,
        }
    }

    /// The answer of an admission handler.
    pub fn of_verdict(result: &Result<Verdict, CallError>) -> Self {
        match result {
            Ok(Verdict::Admit) => Self::Admit,
            Ok(Verdict::Reject { reason, message }) => {
                Self::Reject { reason: reason.clone(), message: message.clone() }
            }
            Ok(Verdict::Defer { reason, message, retry_after }) => Self::Defer {
                reason: reason.clone(),
                message: message.clone(),
                retry_after_milliseconds: milliseconds(*retry_after),
            },
            Ok(Verdict::Shortage(shortages)) => {
                Self::Shortage { resources: shortages.iter().map(shortage).collect() }
            }
            Err(error) => Self::failed(error),
        }
    }

    pub(super) fn of_probe(result: &Result<ProbeOutcome, CallError>) -> Self {
        match result {
            Ok(ProbeOutcome::Success(detail)) => Self::Success { detail: detail.clone() },
            Ok(ProbeOutcome::Warning(detail)) => Self::Warning { detail: detail.clone() },
            Ok(ProbeOutcome::Failure(detail)) => Self::Failure { detail: detail.clone() },
            Err(error) => Self::failed(error),
        }
    }

    pub(super) fn of_poll(result: &Result<Result<PollResponse, SourceFault>, CallError>) -> Self {
        match result {
            Ok(Ok(PollResponse { snapshot, cursor, next_poll: _ })) => {
                let cursor = cursor.clone();
                match snapshot {
                    Snapshot::Unchanged => Self::Unchanged { cursor },
                    Snapshot::Pods(manifests) => Self::Pods { manifests: manifests.clone(), cursor },
                    Snapshot::Empty => Self::Empty { cursor },
                }
            }
            Ok(Err(fault)) => Self::Fault { reason: fault.reason.clone(), message: fault.message.clone() },
            Err(error) => Self::failed(error),
        }
    }

    fn failed(error: &CallError) -> Self {
        let outcome = CallOutcome::from(error.kind()).as_str().to_owned();
        Self::Failed { outcome, message: error.sentence() }
    }
}

fn shortage(shortage: &Shortage) -> String {
    let Shortage { resource, requested, used, capacity } = shortage;
    format!("{resource}: requested {requested}, used {used}, capacity {capacity}")
}

pub(super) fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
