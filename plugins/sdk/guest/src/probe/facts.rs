//! Targets of probes in plain data.

use std::time::Duration;

use serde_json::Value;

use super::{ExecError, NamedPort, Output, PodRef, ProbeKind, Target};

/// A container in plain data. The default is the container `app` of a pod without addresses, probed for readiness, with ten
/// seconds.
#[derive(Clone, Debug, PartialEq)]
pub struct TargetFacts {
    /// Namespace, name and UID of the pod.
    pub pod: PodRef,
    /// What `pod_json` and `pod_pointer` read.
    pub manifest: Value,
    /// Name of the container.
    pub container: String,
    /// Its id at the runtime.
    pub container_id: String,
    /// How often it was restarted.
    pub restarts: u32,
    /// The pod's addresses.
    pub pod_ips: Vec<String>,
    /// The node's addresses.
    pub host_ips: Vec<String>,
    /// Ports that the container's spec names.
    pub named_ports: Vec<NamedPort>,
    /// Which probe runs.
    pub kind: ProbeKind,
    /// How long the probe may take; it doesn't get less by itself.
    pub remaining: Duration,
    /// What commands come to. The runtime can't run one that isn't here.
    pub commands: Vec<(Vec<String>, Result<Output, ExecError>)>,
}

impl Default for TargetFacts {
    fn default() -> Self {
        Self {
            pod: PodRef { namespace: "default".into(), name: "pod".into(), uid: "uid".into() },
            manifest: Value::Null,
            container: "app".to_owned(),
            container_id: "id".to_owned(),
            restarts: 0,
            pod_ips: Vec::new(),
            host_ips: Vec::new(),
            named_ports: Vec::new(),
            kind: ProbeKind::Readiness,
            remaining: Duration::from_secs(10),
            commands: Vec::new(),
        }
    }
}

impl TargetFacts {
    /// The target as a probe type takes it.
    pub fn target(&self) -> Target<'_> {
        Target::__from_host(self)
    }

    pub(crate) fn pod(&self) -> PodRef {
        self.pod.clone()
    }

    pub(crate) fn pod_json(&self) -> String {
        self.manifest.to_string()
    }

    pub(crate) fn pod_pointer(&self, path: &str) -> Option<String> {
        self.manifest.pointer(path).map(Value::to_string)
    }

    pub(crate) fn container(&self) -> String {
        self.container.clone()
    }

    pub(crate) fn container_id(&self) -> String {
        self.container_id.clone()
    }

    pub(crate) fn restarts(&self) -> u32 {
        self.restarts
    }

    pub(crate) fn pod_ips(&self) -> Vec<String> {
        self.pod_ips.clone()
    }

    pub(crate) fn host_ips(&self) -> Vec<String> {
        self.host_ips.clone()
    }

    pub(crate) fn named_ports(&self) -> Vec<NamedPort> {
        self.named_ports.clone()
    }

    pub(crate) fn kind(&self) -> ProbeKind {
        self.kind
    }

    pub(crate) fn remaining_milliseconds(&self) -> u64 {
        u64::try_from(self.remaining.as_millis()).unwrap_or(u64::MAX)
    }

    pub(crate) fn exec(&self, command: &[String]) -> Result<Output, ExecError> {
        let known = self.commands.iter().find(|(known, _)| known == command);
        known.map_or_else(
            || Err(ExecError::Failed { message: format!("{command:?} isn't among the facts") }),
            |(_, result)| result.clone(),
        )
    }
}
