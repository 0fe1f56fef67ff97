//! Resources that a pod was allocated, and what becomes of a wish for others while it runs (KEP-1287; upstream: package
//! `allocation`).

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{Container, ResourceRequirements};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use serde::{Deserialize, Serialize};

use super::resources::{self, CPU, MEMORY};

#[cfg(test)]
mod tests;

/// CPU and memory of one container; zero is none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContainerResources {
    /// Thousandths of a CPU.
    pub cpu_request_milli: i64,
    /// Thousandths of a CPU.
    pub cpu_limit_milli: i64,
    /// Bytes.
    pub memory_request_bytes: i64,
    /// Bytes.
    pub memory_limit_bytes: i64,
}

impl ContainerResources {
    /// What a container's spec asks for. One that states only a limit asks for as much.
    pub fn of(container: &Container) -> Self {
        container.resources.as_ref().map(Self::of_requirements).unwrap_or_default()
    }

    /// What these requirements come to.
    pub fn of_requirements(resources: &ResourceRequirements) -> Self {
        let amount = |list: &Option<BTreeMap<String, Quantity>>, name: &str| {
            let quantity = list.as_ref().and_then(|list| list.get(name));
            quantity.and_then(|quantity| resources::amount(name, quantity).ok())
        };
        let asked = |name| {
            amount(&resources.requests, name).or_else(|| amount(&resources.limits, name)).unwrap_or_default()
        };
        Self {
            cpu_request_milli: asked(CPU),
            cpu_limit_milli: amount(&resources.limits, CPU).unwrap_or_default(),
            memory_request_bytes: asked(MEMORY),
            memory_limit_bytes: amount(&resources.limits, MEMORY).unwrap_or_default(),
        }
    }

    /// Request and limit of CPU.
    pub(crate) fn cpu(self) -> (i64, i64) {
        (self.cpu_request_milli, self.cpu_limit_milli)
    }

    /// Request and limit of memory.
    pub(crate) fn memory(self) -> (i64, i64) {
        (self.memory_request_bytes, self.memory_limit_bytes)
    }

    /// The same with the other's memory.
    pub(crate) fn with_memory_of(self, other: Self) -> Self {
        Self {
            memory_request_bytes: other.memory_request_bytes,
            memory_limit_bytes: other.memory_limit_bytes,
            ..self
        }
    }
}
