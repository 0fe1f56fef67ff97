//! Resources that a pod was allocated, and what becomes of a wish for others while it runs (KEP-1287; upstream: package
//! `allocation`).

mod resize;
mod table;

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{Container, Pod, PodSpec, ResourceRequirements};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use serde::{Deserialize, Serialize};

use super::resources::{self, CPU, MEMORY};

pub use resize::{
    Grant, Infeasible, NodePolicy, PendingResize, Precedence, Wish, after_admission, increases_requests,
    judge, precedence,
};
pub use table::{AllocationError, Allocations};

#[cfg(test)]
mod tests;

/// Resources that a running pod can ask more or less of (KEP-1287).
const RESIZABLE: [&str; 2] = [CPU, MEMORY];

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
    /// What a container of this pod asks for and may use, as the runtime is told: one without a limit of its own may use
    /// what its pod may, and one that states only a limit asks for as much.
    pub fn of(pod: &Pod, container: &Container) -> Self {
        let own = container.resources.as_ref();
        let requests = own.and_then(|own| own.requests.as_ref());
        let limits = own.and_then(|own| own.limits.as_ref());
        let of_pod = pod.spec.as_ref().and_then(|spec| spec.resources.as_ref()?.limits.as_ref());
        let amount = |list: Option<&BTreeMap<String, Quantity>>, name: &str| {
            list.and_then(|list| list.get(name)).and_then(|quantity| resources::amount(name, quantity).ok())
        };
        let limit = |name| {
            let own = amount(limits, name).filter(|limit| *limit != 0);
            own.or_else(|| amount(of_pod, name)).unwrap_or_default()
        };
        let (cpu_limit_milli, memory_limit_bytes) = (limit(CPU), limit(MEMORY));
        Self {
            cpu_request_milli: amount(requests, CPU).unwrap_or(cpu_limit_milli),
            cpu_limit_milli,
            memory_request_bytes: amount(requests, MEMORY).unwrap_or(memory_limit_bytes),
            memory_limit_bytes,
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

/// What a pod was allocated: CPU and memory of its containers, init containers among them, and of the pod as a whole. All
/// else of a pod is as its source has it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Allocation {
    containers: BTreeMap<String, Share>,
    pod: Share,
}

/// Requests and limits of CPU and memory.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Share {
    requests: BTreeMap<String, Quantity>,
    limits: BTreeMap<String, Quantity>,
}

impl Share {
    fn of(resources: Option<&ResourceRequirements>) -> Self {
        let resizable = |list: Option<&BTreeMap<String, Quantity>>| {
            let amounts = list.into_iter().flatten();
            let resizable = amounts.filter(|(name, _)| RESIZABLE.contains(&name.as_str()));
            resizable.map(|(name, quantity)| (name.clone(), quantity.clone())).collect()
        };
        Self {
            requests: resizable(resources.and_then(|resources| resources.requests.as_ref())),
            limits: resizable(resources.and_then(|resources| resources.limits.as_ref())),
        }
    }

    /// Puts these amounts in place of those that the resources have. Other resources stay.
    fn apply(&self, resources: &mut Option<ResourceRequirements>) {
        if Self::of(resources.as_ref()) == *self {
            return;
        }
        let resources = resources.get_or_insert_default();
        for (list, own) in [(&mut resources.requests, &self.requests), (&mut resources.limits, &self.limits)]
        {
            let mut amounts = list.take().unwrap_or_default();
            amounts.retain(|name, _| !RESIZABLE.contains(&name.as_str()));
            amounts.extend(own.clone());
            *list = Some(amounts).filter(|amounts| !amounts.is_empty());
        }
    }

    /// Whether both come to the same amounts, in whatever words.
    fn is_same(&self, other: &Self) -> bool {
        self.amounts() == other.amounts()
    }

    fn amounts(&self) -> (resources::Amounts, resources::Amounts) {
        let amounts = |list: &BTreeMap<String, Quantity>| {
            let amounts = list.iter().map(|(name, quantity)| {
                (name.clone(), resources::amount(name, quantity).unwrap_or_default())
            });
            amounts.collect()
        };
        (amounts(&self.requests), amounts(&self.limits))
    }
}

impl Allocation {
    /// What the pod asks for: what it is allocated when it is admitted.
    pub fn of(pod: &Pod) -> Self {
        let Some(spec) = &pod.spec else { return Self::default() };
        let containers = resizable_containers(spec);
        Self {
            containers: containers.map(|c| (c.name.clone(), Share::of(c.resources.as_ref()))).collect(),
            pod: Share::of(spec.resources.as_ref()),
        }
    }

    /// The pod with what it was allocated in place of what it asks for: what is planned, counted against the node and shown
    /// as allocated. A container that the allocation doesn't know is as the spec has it.
    pub fn apply(&self, pod: &Pod) -> Pod {
        let mut pod = pod.clone();
        let Some(spec) = pod.spec.as_mut() else { return pod };
        let init = spec.init_containers.iter_mut().flatten();
        for container in spec.containers.iter_mut().chain(init) {
            if let Some(share) = self.containers.get(&container.name) {
                share.apply(&mut container.resources);
            }
        }
        self.pod.apply(&mut spec.resources);
        pod
    }

    /// The pod has another spec now: containers that are new have what they ask for, and those that are gone have nothing.
    /// What the others have stays.
    pub fn revise(&mut self, pod: &Pod) {
        let mut now = Self::of(pod);
        for (name, share) in &mut now.containers {
            if let Some(before) = self.containers.remove(name) {
                *share = before;
            }
        }
        self.containers = now.containers;
    }

    /// Whether the pod asks for something else than it was allocated: a resize that nobody has judged. Another way of
    /// writing the same amount is none.
    pub fn differs_from(&self, pod: &Pod) -> bool {
        let Some(spec) = &pod.spec else { return false };
        let share_differs = |container: &Container| {
            let share = self.containers.get(&container.name);
            share.is_some_and(|share| !share.is_same(&Share::of(container.resources.as_ref())))
        };
        let own = Share::of(spec.resources.as_ref());
        resizable_containers(spec).any(share_differs) || !self.pod.is_same(&own)
    }
}

/// App and init containers: ephemeral ones have no resources.
fn resizable_containers(spec: &PodSpec) -> impl Iterator<Item = &Container> {
    spec.containers.iter().chain(spec.init_containers.iter().flatten())
}
