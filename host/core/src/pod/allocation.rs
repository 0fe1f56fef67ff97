//! Resources that a pod was allocated, and what becomes of a wish for others while it runs (KEP-1287; upstream: package
//! `allocation`).

mod message;
mod requested;
mod resize;
mod table;

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{Container, Pod, PodSpec, ResourceRequirements};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use serde::{Deserialize, Deserializer, Serialize};

use super::resources::{self, CPU, MEMORY};

pub use message::resize_message;
pub use requested::{RequestedResize, requested_resizes};
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
    pub memory_request_bytes: i64,
    pub memory_limit_bytes: i64,
}

impl ContainerResources {
    /// What a container of this pod asks for and may use, as the runtime is reported: one without a limit of its own may use
    /// what its pod may, and one that states only a limit asks for as much.
    pub fn of(pod: &Pod, container: &Container) -> Self {
        let of_pod = pod.spec.as_ref().and_then(|spec| spec.resources.as_ref());
        Self::of_requirements(of_pod, container.resources.as_ref())
    }

    fn of_requirements(of_pod: Option<&ResourceRequirements>, own: Option<&ResourceRequirements>) -> Self {
        let requests = own.and_then(|own| own.requests.as_ref());
        let limits = own.and_then(|own| own.limits.as_ref());
        let of_pod = of_pod.and_then(|of_pod| of_pod.limits.as_ref());
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

/// What a pod was allocated: the resources of its containers, init containers among them, and of the pod as a whole. Only CPU
/// and memory count; the others are kept because a kubelet that reads this takes all resources from here. All else of a pod
/// is as its source has it.
///
/// The JSON form is the kubelet's (upstream: `PodResourceInfo`).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Allocation {
    #[serde(rename = "ContainerResources", default, deserialize_with = "null_is_default")]
    containers: BTreeMap<String, Share>,
    #[serde(rename = "PodLevelResources", default)]
    pod: Option<Share>,
}

fn null_is_default<'de, D: Deserializer<'de>, T: Default + Deserialize<'de>>(from: D) -> Result<T, D::Error> {
    Ok(Option::deserialize(from)?.unwrap_or_default())
}

/// Requests and limits.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
struct Share(ResourceRequirements);

type QuantityList = BTreeMap<String, Quantity>;

impl Share {
    fn of(resources: Option<&ResourceRequirements>) -> Self {
        Self(resources.cloned().unwrap_or_default())
    }

    /// Requests and limits of what can be resized, in the words of the spec.
    fn resizable(&self) -> (QuantityList, QuantityList) {
        let resizable = |list: Option<&QuantityList>| {
            let amounts = list.into_iter().flatten();
            let resizable = amounts.filter(|(name, _)| RESIZABLE.contains(&name.as_str()));
            resizable.map(|(name, quantity)| (name.clone(), quantity.clone())).collect()
        };
        (resizable(self.0.requests.as_ref()), resizable(self.0.limits.as_ref()))
    }

    /// Puts these amounts in place of those that the resources have. Other resources stay.
    fn apply(&self, resources: &mut Option<ResourceRequirements>) {
        let (requests, limits) = self.resizable();
        if Self::of(resources.as_ref()).resizable() == (requests.clone(), limits.clone()) {
            return;
        }
        let resources = resources.get_or_insert_default();
        for (list, own) in [(&mut resources.requests, requests), (&mut resources.limits, limits)] {
            let mut amounts = list.take().unwrap_or_default();
            amounts.retain(|name, _| !RESIZABLE.contains(&name.as_str()));
            amounts.extend(own);
            *list = Some(amounts).filter(|amounts| !amounts.is_empty());
        }
    }

    /// Whether both come to the same amounts, in whatever words.
    fn is_same(&self, other: &Self) -> bool {
        self.amounts() == other.amounts()
    }

    fn amounts(&self) -> (resources::Amounts, resources::Amounts) {
        let amounts = |list: QuantityList| {
            let amounts = list.into_iter().map(|(name, quantity)| {
                let amount = resources::amount(&name, &quantity).unwrap_or_default();
                (name, amount)
            });
            amounts.collect()
        };
        let (requests, limits) = self.resizable();
        (amounts(requests), amounts(limits))
    }
}

impl Allocation {
    /// What the pod asks for: what it is allocated when it is admitted.
    pub fn of(pod: &Pod) -> Self {
        let Some(spec) = &pod.spec else { return Self::default() };
        let containers = resizable_containers(spec);
        Self {
            containers: containers.map(|c| (c.name.clone(), Share::of(c.resources.as_ref()))).collect(),
            pod: spec.resources.clone().map(Share),
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
        self.pod_share().apply(&mut spec.resources);
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

    /// Whether the pod asks for something else than it was allocated: a resize that no one has judged. Another way of
    /// writing the same amount is none.
    pub fn differs_from(&self, pod: &Pod) -> bool {
        let Some(spec) = &pod.spec else { return false };
        let share_differs = |container: &Container| {
            let share = self.containers.get(&container.name);
            share.is_some_and(|share| !share.is_same(&Share::of(container.resources.as_ref())))
        };
        let own = Share::of(spec.resources.as_ref());
        resizable_containers(spec).any(share_differs) || !self.pod_share().is_same(&own)
    }

    fn pod_share(&self) -> Share {
        self.pod.clone().unwrap_or_default()
    }

    /// A container of the pod was given these resources.
    pub fn set_container(&mut self, pod: &Pod, container: &Container) {
        self.pod = pod.spec.as_ref().and_then(|spec| spec.resources.clone()).map(Share);
        self.containers.insert(container.name.clone(), Share::of(container.resources.as_ref()));
    }

    /// CPU and memory of a container, if it is known.
    pub fn container(&self, name: &str) -> Option<ContainerResources> {
        let own = &self.containers.get(name)?.0;
        Some(ContainerResources::of_requirements(self.pod.as_ref().map(|share| &share.0), Some(own)))
    }
}

/// App and init containers: ephemeral ones have no resources.
fn resizable_containers(spec: &PodSpec) -> impl Iterator<Item = &Container> {
    spec.containers.iter().chain(spec.init_containers.iter().flatten())
}
