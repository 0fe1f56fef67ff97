//! What the runtime knows about sandboxes and containers, in the form that is kept in files.

use std::collections::BTreeMap;
use std::path::PathBuf;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::Resources;
use crate::mounts::Mount;
use crate::network::Network;
use crate::workload::Exit;

/// Annotation of a container in which the kubelet notes the ports of its spec, as JSON
/// (`kuberuntime/labels.go`, `containerPortsLabel`).
const PORTS_ANNOTATION: &str = "io.kubernetes.container.ports";
/// Environment variable that says where a program that answers HTTP is served.
const PORT_VARIABLE: &str = "PORT";
/// Where it is served if nothing says so.
const PORT_DEFAULT: u16 = 8080;

/// What a sandbox was asked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SandboxSpec {
    pub(crate) name: String,
    pub(crate) uid: String,
    pub(crate) namespace: String,
    /// How many sandboxes the pod had before.
    pub(crate) attempt: u32,
    /// What the pod calls itself.
    pub(crate) hostname: String,
    /// Where its containers' logs go; none if empty.
    pub(crate) log_directory: PathBuf,
    pub(crate) labels: BTreeMap<String, String>,
    pub(crate) annotations: BTreeMap<String, String>,
    /// Whether the pod is on the node's network.
    pub(crate) host_network: bool,
    /// The handler that was asked for.
    pub(crate) runtime_handler: String,
}

impl SandboxSpec {
    /// The pod's namespace and name.
    pub(crate) fn full_name(&self) -> String {
        format!("{}/{}", self.namespace, self.name)
    }

    /// Whether both are the same attempt of the same pod, of which there can be only one sandbox.
    pub(crate) fn same_attempt(&self, other: &Self) -> bool {
        (&self.name, &self.namespace, &self.uid, self.attempt)
            == (&other.name, &other.namespace, &other.uid, other.attempt)
    }
}

/// A sandbox.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SandboxRecord {
    pub(crate) id: String,
    /// What was asked for.
    pub(crate) config: SandboxSpec,
    pub(crate) network: Network,
    /// When it was made.
    pub(crate) created_at: Timestamp,
    /// Whether containers can run in it.
    pub(crate) ready: bool,
}

/// What a container was asked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ContainerSpec {
    /// Its name in the pod.
    pub(crate) name: String,
    /// How many containers of that name there were before.
    pub(crate) attempt: u32,
    /// The image as the client named it, which may be its identifier.
    pub(crate) image: String,
    /// The reference that the user gave, if the client says so.
    #[serde(default)]
    pub(crate) user_image: String,
    /// Replaces the program's name and begins its arguments, if not empty.
    pub(crate) command: Vec<String>,
    /// The arguments that follow.
    pub(crate) arguments: Vec<String>,
    /// Where relative paths begin.
    pub(crate) working_dir: String,
    pub(crate) environment: Vec<(String, String)>,
    /// Mounts as they were asked for, files among them.
    pub(crate) mounts: Vec<Mount>,
    pub(crate) labels: BTreeMap<String, String>,
    pub(crate) annotations: BTreeMap<String, String>,
    /// The log's place in the sandbox's folder of logs; none if empty.
    pub(crate) log_path: PathBuf,
    /// What it may take.
    #[serde(default)]
    pub(crate) resources: Resources,
}

impl ContainerSpec {
    /// The image by the name that says most to people.
    pub(crate) fn named_image(&self) -> &str {
        if self.user_image.is_empty() { &self.image } else { &self.user_image }
    }
}

/// Where a container is in its life.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Life {
    /// Made, and not started.
    Created,
    Running {
        started_at: Timestamp,
    },
    /// Its program has ended.
    Exited {
        /// When it began, if it did.
        started_at: Option<Timestamp>,
        finished_at: Timestamp,
        exit: Exit,
    },
}

impl Life {
    /// In one word, for messages.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Created => "created",
            Self::Running { .. } => "running",
            Self::Exited { .. } => "exited",
        }
    }

    /// The end of a life.
    pub(crate) fn end(&self, exit: Exit, finished_at: Timestamp) -> Self {
        match self {
            Self::Created => Self::Exited { started_at: None, finished_at, exit },
            // A clock that was set back doesn't make a container end before it began.
            Self::Running { started_at } => Self::Exited {
                started_at: Some(*started_at),
                finished_at: finished_at.max(*started_at),
                exit,
            },
            Self::Exited { .. } => self.clone(),
        }
    }
}

/// A container.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ContainerRecord {
    pub(crate) id: String,
    pub(crate) sandbox_id: String,
    /// What was asked for.
    pub(crate) config: ContainerSpec,
    /// The identifier of its image.
    pub(crate) image_id: String,
    /// Its log, if it has one.
    pub(crate) log: Option<PathBuf>,
    /// When it was made.
    pub(crate) created_at: Timestamp,
    /// Where it is in its life.
    pub(crate) life: Life,
}

/// The arguments of a program: the command, or the component's name, and what follows.
pub(crate) fn arguments(config: &ContainerSpec) -> Vec<String> {
    let own_name = || {
        let image = config.named_image();
        let file = image.rsplit(['/', ':']).next().unwrap_or(image);
        vec![file.strip_suffix(".wasm").unwrap_or(file).to_owned()]
    };
    let mut all = if config.command.is_empty() { own_name() } else { config.command.clone() };
    all.extend_from_slice(&config.arguments);
    all
}

/// The environment of a program: the container's, and the host's name as every container has it.
pub(crate) fn environment(config: &ContainerSpec, hostname: &str) -> Vec<(String, String)> {
    let mut all = config.environment.clone();
    if !hostname.is_empty() && !all.iter().any(|(name, _)| name == "HOSTNAME") {
        all.push(("HOSTNAME".to_owned(), hostname.to_owned()));
    }
    all
}

/// One port of a container's spec.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ContainerPort {
    container_port: u16,
    #[serde(default)]
    protocol: String,
}

/// Where a program that answers HTTP is served: at the port in its environment (`PORT`), else at the first TCP port
/// of its spec, which the kubelet notes in an annotation, else at 8080.
pub(crate) fn port(config: &ContainerSpec) -> u16 {
    let variable = config.environment.iter().rev().find(|(name, _)| name == PORT_VARIABLE);
    let chosen = variable.and_then(|(_, value)| value.trim().parse().ok());
    let of_spec = || {
        let noted = config.annotations.get(PORTS_ANNOTATION)?;
        let ports: Vec<ContainerPort> = serde_json::from_str(noted).ok()?;
        let tcp = |port: &&ContainerPort| matches!(port.protocol.as_str(), "" | "TCP");
        Some(ports.iter().find(tcp)?.container_port)
    };
    chosen.or_else(of_spec).filter(|port| *port != 0).unwrap_or(PORT_DEFAULT)
}

/// What is left of the records of a process that is gone: nothing runs any more, and a container without its sandbox
/// is forgotten.
pub(crate) fn recover(
    sandboxes: Vec<SandboxRecord>,
    containers: Vec<ContainerRecord>,
    now: Timestamp,
) -> (Vec<SandboxRecord>, Vec<ContainerRecord>) {
    let sandboxes: Vec<_> =
        sandboxes.into_iter().map(|sandbox| SandboxRecord { ready: false, ..sandbox }).collect();
    let containers = containers
        .into_iter()
        .filter(|container| sandboxes.iter().any(|sandbox| sandbox.id == container.sandbox_id))
        .map(|container| match container.life {
            Life::Running { .. } => {
                let life = container.life.end(Exit::lost(), now);
                ContainerRecord { life, ..container }
            }
            Life::Created | Life::Exited { .. } => container,
        })
        .collect();
    (sandboxes, containers)
}

#[cfg(test)]
mod tests;
