//! What the operator says about the node.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::path::PathBuf;

use witlet_core::node::allocatable::Reservations;

/// Pods that a node takes by default, as upstream.
pub const PODS_MAX_DEFAULT: u32 = 110;

/// What the operator says about the node.
#[derive(Clone, Debug)]
pub struct NodeOptions {
    /// Name in place of the host's (`--node-name`).
    pub name: Option<String>,
    /// How many pods it takes (`--max-pods`).
    pub max_pods: u32,
    /// Labels next to those that every node has (`--node-labels`); they go before these.
    pub labels: BTreeMap<String, String>,
    /// The folder whose file system is the node's ephemeral storage.
    pub root: PathBuf,
    /// Addresses in place of the one that the machine reaches the world from (`--node-ip`): at most one of each family. An
    /// unspecified one (`0.0.0.0`, `::`) says which family goes before.
    pub node_ips: Vec<IpAddr>,
    /// What pods may not have of the capacity.
    pub reserved: Reservations,
    /// How many pods it takes per CPU, at most `max_pods` in all; 0 is no such limit (`podsPerCore`).
    pub pods_per_core: u32,
    /// Whether ephemeral storage is a part of the capacity (`localStorageCapacityIsolation`).
    pub offers_local_storage: bool,
}

impl Default for NodeOptions {
    fn default() -> Self {
        Self {
            name: None,
            max_pods: PODS_MAX_DEFAULT,
            labels: BTreeMap::new(),
            root: PathBuf::from("/"),
            node_ips: Vec::new(),
            reserved: Reservations::default(),
            pods_per_core: 0,
            offers_local_storage: true,
        }
    }
}
