//! What this machine is, as a Kubernetes node: read every ten seconds, published when it changed.

mod machine;

pub use machine::has_swap_controller;

use std::collections::BTreeMap;
use std::io;
use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Node, NodeAddress, NodeSpec, NodeStatus, NodeSystemInfo};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time};
use thiserror::Error;
use tokio::sync::{Mutex, watch};
use tokio::time::MissedTickBehavior;
use tokio_util::sync::CancellationToken;
use witlet_core::node::NodeFacts;
use witlet_core::pod::validation::is_dns_subdomain;
use witlet_ports::{Clock, NodeWatch};

use machine::Machine;

#[cfg(test)]
mod tests;

/// How often the machine is looked at (upstream's node status frequency).
pub const NODE_REFRESH_INTERVAL: Duration = Duration::from_secs(10);
/// How long one look at the machine may take; then the facts stay as they were.
const NODE_READ_TIMEOUT: Duration = Duration::from_secs(3);
/// Pods that a node takes unless told otherwise: upstream's default.
pub const PODS_MAX_DEFAULT: u32 = 110;

/// What the operator says about the node.
#[derive(Clone, Debug)]
pub struct NodeOptions {
    /// Name in place of the host's (`--node-name`).
    pub name: Option<String>,
    /// How many pods it takes (`--max-pods`).
    pub max_pods: u32,
    /// Labels beside those that every node has (`--node-labels`); they go before these.
    pub labels: BTreeMap<String, String>,
    /// The folder whose file system is the node's ephemeral storage.
    pub root: PathBuf,
}

impl Default for NodeOptions {
    fn default() -> Self {
        Self { name: None, max_pods: PODS_MAX_DEFAULT, labels: BTreeMap::new(), root: PathBuf::from("/") }
    }
}

/// Why the node can't be described.
#[derive(Debug, Error)]
pub enum NodeError {
    /// A file of the kernel can't be read.
    #[error("read {}", path.display())]
    Read {
        /// Which.
        path: PathBuf,
        /// Why not.
        #[source]
        cause: io::Error,
    },
    /// A file of the kernel says something unexpected.
    #[error("{} doesn't say {what}", path.display())]
    Content {
        /// Which.
        path: PathBuf,
        /// What was looked for.
        what: &'static str,
    },
    /// The name can't be a node's.
    #[error("{name:?} can't be a node's name: lower-case letters, digits, `-` and `.` are (set --node-name)")]
    Name {
        /// The host's name or the override.
        name: String,
    },
}

/// The node, kept current by [`NodeInfo::run`].
#[derive(Debug)]
pub struct NodeInfo {
    options: NodeOptions,
    created: Timestamp,
    facts: watch::Sender<Arc<NodeFacts>>,
    /// One look at a time, so that an older one never replaces a newer one.
    looking: Mutex<()>,
}

impl NodeInfo {
    /// Reads the machine once.
    pub fn new(options: NodeOptions, clock: &dyn Clock) -> Result<Self, NodeError> {
        let created = clock.now();
        let facts = describe(&Machine::read(&options.root)?, &options, created)?;
        Ok(Self { options, created, facts: watch::Sender::new(Arc::new(facts)), looking: Mutex::new(()) })
    }

    /// The facts as they are now.
    pub fn current(&self) -> Arc<NodeFacts> {
        self.facts.borrow().clone()
    }

    /// Looks at the machine every ten seconds until told to stop. A look that fails is logged, and the last facts stay.
    pub async fn run(&self, stop: CancellationToken) {
        let mut ticks = tokio::time::interval(NODE_REFRESH_INTERVAL);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        ticks.tick().await;
        loop {
            tokio::select! {
                () = stop.cancelled() => return,
                _ = ticks.tick() => {}
            }
            self.look().await;
        }
    }

    /// Reads the machine and publishes what changed. A look that fails or takes too long is logged.
    async fn look(&self) {
        let _looking = self.looking.lock().await;
        let root = self.options.root.clone();
        let reading = tokio::task::spawn_blocking(move || Machine::read(&root));
        let read = match tokio::time::timeout(NODE_READ_TIMEOUT, reading).await {
            Ok(Ok(read)) => read,
            // Only a runtime that is shutting down doesn't finish the work.
            Ok(Err(_)) => return,
            Err(_) => {
                tracing::warn!(timeout = ?NODE_READ_TIMEOUT, "reading the machine takes too long; its facts stay as they were");
                return;
            }
        };
        match read.and_then(|machine| describe(&machine, &self.options, self.created)) {
            Ok(facts) => self.publish(facts),
            Err(error) => {
                tracing::warn!(
                    error = &error as &dyn std::error::Error,
                    "the node's facts stay as they were"
                );
            }
        }
    }

    fn publish(&self, facts: NodeFacts) {
        self.facts.send_if_modified(|known| {
            let same = known.node == facts.node
                && known.addresses == facts.addresses
                && known.facts == facts.facts
                && known.name == facts.name;
            if !same {
                *known = Arc::new(facts);
            }
            !same
        });
    }
}

#[async_trait]
impl NodeWatch for NodeInfo {
    fn watch(&self) -> watch::Receiver<Arc<NodeFacts>> {
        self.facts.subscribe()
    }

    async fn read_again(&self) -> Arc<NodeFacts> {
        self.look().await;
        self.current()
    }
}

/// The node as the API server would have it, by upstream's setters (`nodestatus/setters.go`).
fn describe(machine: &Machine, options: &NodeOptions, created: Timestamp) -> Result<NodeFacts, NodeError> {
    let name = options.name.as_deref().unwrap_or(&machine.hostname).trim().to_lowercase();
    if !is_dns_subdomain(&name) {
        return Err(NodeError::Name { name });
    }
    let own_labels = [
        ("kubernetes.io/hostname", name.as_str()),
        ("kubernetes.io/os", "linux"),
        ("kubernetes.io/arch", machine.architecture),
    ];
    let mut labels: BTreeMap<String, String> =
        own_labels.into_iter().map(|(key, value)| (key.to_owned(), value.to_owned())).collect();
    labels.extend(options.labels.clone());
    let capacity: BTreeMap<String, Quantity> = [
        ("cpu", machine.cpus.to_string()),
        ("memory", format!("{}Ki", machine.memory_kib)),
        ("ephemeral-storage", format!("{}Ki", machine.storage_kib)),
        ("pods", options.max_pods.to_string()),
    ]
    .into_iter()
    .map(|(resource, amount)| (resource.to_owned(), Quantity(amount)))
    .collect();
    let address = |kind: &str, address: String| NodeAddress { type_: kind.to_owned(), address };
    let mut addresses: Vec<NodeAddress> =
        machine.addresses.iter().map(|ip| address("InternalIP", ip.to_string())).collect();
    addresses.push(address("Hostname", name.clone()));
    let node = Node {
        metadata: ObjectMeta {
            name: Some(name.clone()),
            labels: Some(labels),
            creation_timestamp: Some(Time(created)),
            ..ObjectMeta::default()
        },
        spec: Some(NodeSpec::default()),
        status: Some(NodeStatus {
            addresses: Some(addresses),
            allocatable: Some(capacity.clone()),
            capacity: Some(capacity),
            node_info: Some(system_info(machine)),
            ..NodeStatus::default()
        }),
    };
    let facts = [
        ("cgroup.version", machine.cgroup_version.to_owned()),
        ("kernel.version", machine.kernel.clone()),
        ("os.image", machine.os_image.clone()),
    ];
    let facts = facts.into_iter().map(|(key, value)| (key.to_owned(), value)).collect();
    let addresses: Vec<IpAddr> = machine.addresses.clone();
    Ok(NodeFacts { name, node, addresses, facts, devices: String::new() })
}

fn system_info(machine: &Machine) -> NodeSystemInfo {
    NodeSystemInfo {
        architecture: machine.architecture.to_owned(),
        boot_id: machine.boot_id.clone(),
        kernel_version: machine.kernel.clone(),
        kubelet_version: format!("witlet-{}", env!("CARGO_PKG_VERSION")),
        machine_id: machine.machine_id.clone(),
        operating_system: "linux".to_owned(),
        os_image: machine.os_image.clone(),
        ..NodeSystemInfo::default()
    }
}
