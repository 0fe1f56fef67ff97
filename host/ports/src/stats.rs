//! The ports to what pods use now, and to what the node can give back: for evictions, and for those that show usage.

use std::collections::BTreeMap;

use async_trait::async_trait;
use k8s_openapi::api::core::v1::Pod;
use witlet_core::pod::PodUid;
use witlet_core::stats::{ContainerUsage, LocalStorage};

use crate::RuntimeError;

/// What the runtime measured of one container.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContainerStats {
    /// UID of its pod.
    pub uid: PodUid,
    /// Which instance it is; of several the highest counts.
    pub attempt: u32,
    /// What it uses; its logs aren't measured by the runtime.
    pub usage: ContainerUsage,
}

/// What the runtime measures of pods.
#[async_trait]
pub trait RuntimeStats: Send + Sync {
    /// Memory, processor time and writable layers of all containers that have Kubernetes' labels, in one call.
    async fn containers(&self) -> Result<Vec<ContainerStats>, RuntimeError>;

    /// How many processes each pod has. `Unimplemented` by runtimes that don't count them.
    async fn processes(&self) -> Result<BTreeMap<PodUid, u64>, RuntimeError>;
}

/// What pods' folders take of the node's disk.
#[async_trait]
pub trait StorageMeter: Send + Sync {
    /// Adds up the pod's volumes on disk, logs and own files. May take as long as its files are many, up to a bound of the
    /// implementation; what couldn't be read by then is unknown.
    async fn measure(&self, pod: &Pod) -> LocalStorage;
}
