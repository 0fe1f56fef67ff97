//! What a pod asks of its node: resources, host ports and its class of service.
//!
//! Rules: `component-helpers/resource/helpers.go` and `pkg/apis/core/v1/helper/qos`. Pods have been validated before they
//! get here; a quantity that isn't one counts as zero.

use std::collections::BTreeMap;
use std::net::IpAddr;

use k8s_openapi::api::core::v1::{Container, Pod, PodSpec, ResourceRequirements};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;

use super::quantity;
use crate::runtime::Protocol;

#[cfg(test)]
mod tests;

/// Name of the resource that is counted in thousandths.
pub const CPU: &str = "cpu";
/// Name of the resource for RAM, in bytes.
pub const MEMORY: &str = "memory";
/// Name of the resource for local disk, in bytes.
pub const EPHEMERAL_STORAGE: &str = "ephemeral-storage";
/// What names of huge pages begin with, before their size; in bytes.
pub const HUGE_PAGES: &str = "hugepages-";

/// Amounts by resource name: `cpu` in thousandths, all else in base units.
pub type Amounts = BTreeMap<String, i64>;

/// A port on the host that a pod wants for itself.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct HostPort {
    /// None means every address of the host.
    pub ip: Option<IpAddr>,
    /// TCP, UDP or SCTP.
    pub protocol: Protocol,
    /// 1 to 65535.
    pub port: u16,
}

/// Class of service, from the best kept to the first to go when memory is short.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum QosClass {
    /// Every container has limits for CPU and memory, and asks for exactly these.
    Guaranteed,
    /// Something is asked for or limited.
    Burstable,
    BestEffort,
}

impl QosClass {
    /// The word of the API.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Guaranteed => "Guaranteed",
            Self::Burstable => "Burstable",
            Self::BestEffort => "BestEffort",
        }
    }

    /// Parses the word of the API.
    fn of_word(word: &str) -> Option<Self> {
        [Self::Guaranteed, Self::Burstable, Self::BestEffort].into_iter().find(|class| class.as_str() == word)
    }
}

/// An amount in the unit that its resource is counted in: `cpu` in thousandths, all else in base units, rounded up.
///
/// # Errors
/// The text isn't a quantity.
pub fn amount(resource: &str, quantity: &Quantity) -> Result<i64, quantity::QuantityError> {
    if resource == CPU { quantity::milli(quantity) } else { quantity::value(quantity) }
}

/// Returns what the pod asks for: the greater of what its containers and sidecars need together and what each init container
/// needs while it runs; what the pod as a whole states goes before that; overhead comes on top.
pub fn requests(pod: &Pod) -> Amounts {
    let mut total = requests_without_overhead(pod);
    for (name, extra) in amounts(pod.spec.as_ref().and_then(|spec| spec.overhead.as_ref())) {
        add(&mut total, &name, extra);
    }
    total
}

/// Returns what the pod may use at most, by the same rule as [`requests`]. Overhead is added only to what is limited. A
/// resource that only some containers limit has the sum of these, though the pod as a whole isn't limited by it.
pub fn limits(pod: &Pod) -> Amounts {
    let mut total = limits_without_overhead(pod);
    for (name, extra) in amounts(pod.spec.as_ref().and_then(|spec| spec.overhead.as_ref())) {
        if total.get(&name).is_some_and(|&limit| limit != 0) {
            add(&mut total, &name, extra);
        }
    }
    total
}

/// The same as [`requests`] without what the sandbox itself costs.
pub fn requests_without_overhead(pod: &Pod) -> Amounts {
    without_overhead(pod, |resources| resources.requests.as_ref())
}

/// The same as [`limits`] without what the sandbox itself costs.
pub fn limits_without_overhead(pod: &Pod) -> Amounts {
    without_overhead(pod, |resources| resources.limits.as_ref())
}

fn without_overhead(
    pod: &Pod,
    part: impl Fn(&ResourceRequirements) -> Option<&BTreeMap<String, Quantity>>,
) -> Amounts {
    let Some(spec) = &pod.spec else { return Amounts::new() };
    let mut total = effective(spec, &part);
    override_by_pod(&mut total, spec.resources.as_ref().and_then(part));
    total
}

/// Returns what the pod's containers ask for together, by the rule of [`requests`], without overhead and without the pod's own word.
pub fn container_requests(spec: &PodSpec) -> Amounts {
    effective(spec, |resources| resources.requests.as_ref())
}

/// Ports that the pod takes on the host, in the spec's order. On the host network every container port is one.
pub fn host_ports(pod: &Pod) -> Vec<HostPort> {
    let Some(spec) = &pod.spec else { return Vec::new() };
    let on_host = spec.host_network.unwrap_or(false);
    let sidecars = spec.init_containers.iter().flatten().filter(|container| is_sidecar(container));
    let mut found = Vec::new();
    for port in spec.containers.iter().chain(sidecars).flat_map(|container| container.ports.iter().flatten())
    {
        let number = match port.host_port {
            None | Some(0) if on_host => port.container_port,
            None | Some(0) => continue,
            Some(number) => number,
        };
        let Ok(number) = u16::try_from(number) else { continue };
        let ip = port.host_ip.as_deref().and_then(|ip| ip.parse::<IpAddr>().ok());
        let ip = ip.filter(|ip| !ip.is_unspecified());
        found.push(HostPort { ip, protocol: protocol(port.protocol.as_deref()), port: number });
    }
    found
}

/// Protocol by the API's word; TCP where none is given.
pub fn protocol(word: Option<&str>) -> Protocol {
    match word {
        Some("UDP") => Protocol::Udp,
        Some("SCTP") => Protocol::Sctp,
        Some(_) | None => Protocol::Tcp,
    }
}

/// Class of service that the pod has: that of its status, which the API server sets for good when it makes the pod, or else by its spec
/// (upstream: `GetPodQOS`).
pub fn qos(pod: &Pod) -> QosClass {
    let settled = pod.status.as_ref().and_then(|status| status.qos_class.as_deref());
    settled.and_then(QosClass::of_word).unwrap_or_else(|| qos_by_spec(pod))
}

/// Class of service by CPU and memory of all containers, init containers included, or by the pod's own resources where
/// it has any (upstream: `ComputePodQOS`).
pub fn qos_by_spec(pod: &Pod) -> QosClass {
    let Some(spec) = &pod.spec else { return QosClass::BestEffort };
    let mut requests = Amounts::new();
    let mut limits = Amounts::new();
    let mut all_limited = true;
    let pod_level = spec.resources.as_ref().filter(|resources| has_any(resources));
    if let Some(resources) = pod_level {
        all_limited = count(resources, &mut requests, &mut limits);
    } else {
        for container in spec.containers.iter().chain(spec.init_containers.iter().flatten()) {
            let limited = container
                .resources
                .as_ref()
                .is_some_and(|resources| count(resources, &mut requests, &mut limits));
            all_limited &= limited;
        }
    }
    if requests.is_empty() && limits.is_empty() {
        QosClass::BestEffort
    } else if all_limited && requests == limits {
        QosClass::Guaranteed
    } else {
        QosClass::Burstable
    }
}

/// Adds CPU and memory that aren't zero; says whether both are limited.
fn count(resources: &ResourceRequirements, requests: &mut Amounts, limits: &mut Amounts) -> bool {
    let counted = |map: Option<&BTreeMap<String, Quantity>>| {
        let mut found = amounts(map);
        found.retain(|name, value| (name == CPU || name == MEMORY) && *value > 0);
        found
    };
    for (name, value) in counted(resources.requests.as_ref()) {
        add(requests, &name, value);
    }
    let limited = counted(resources.limits.as_ref());
    let both = limited.len() == 2;
    for (name, value) in limited {
        add(limits, &name, value);
    }
    both
}

fn has_any(resources: &ResourceRequirements) -> bool {
    [&resources.requests, &resources.limits].into_iter().flatten().any(|map| !map.is_empty())
}

/// Whether an init container goes on running next to the app containers.
pub fn is_sidecar(container: &Container) -> bool {
    container.restart_policy.as_deref() == Some("Always")
}

fn effective(
    spec: &PodSpec,
    part: impl Fn(&ResourceRequirements) -> Option<&BTreeMap<String, Quantity>>,
) -> Amounts {
    let of = |container: &Container| amounts(container.resources.as_ref().and_then(&part));
    let mut running = Amounts::new();
    for container in &spec.containers {
        add_all(&mut running, of(container));
    }
    let mut sidecars = Amounts::new();
    let mut starting = Amounts::new();
    for container in spec.init_containers.iter().flatten() {
        let mut needed = of(container);
        if is_sidecar(container) {
            add_all(&mut running, needed.clone());
            add_all(&mut sidecars, needed);
            needed = sidecars.clone();
        } else {
            add_all(&mut needed, sidecars.clone());
        }
        raise(&mut starting, needed);
    }
    raise(&mut running, starting);
    running
}

/// The pod's own word on CPU, memory and huge pages goes before its containers' sum.
fn override_by_pod(total: &mut Amounts, own: Option<&BTreeMap<String, Quantity>>) {
    for (name, value) in amounts(own) {
        if name == CPU || name == MEMORY || name.starts_with(HUGE_PAGES) {
            total.insert(name, value);
        }
    }
}

/// Amounts of a map of the API's; what isn't a quantity is zero.
pub fn amounts(map: Option<&BTreeMap<String, Quantity>>) -> Amounts {
    map.into_iter()
        .flatten()
        .map(|(name, quantity)| (name.clone(), amount(name, quantity).unwrap_or(0)))
        .collect()
}

/// The amount of one resource in a map of the API's, by the same rule.
pub fn amount_in(map: Option<&BTreeMap<String, Quantity>>, name: &str) -> Option<i64> {
    Some(amount(name, map?.get(name)?).unwrap_or(0))
}

fn add(total: &mut Amounts, name: &str, value: i64) {
    let sum = total.entry(name.to_owned()).or_insert(0);
    *sum = sum.saturating_add(value);
}

fn add_all(total: &mut Amounts, more: Amounts) {
    for (name, value) in more {
        add(total, &name, value);
    }
}

fn raise(total: &mut Amounts, other: Amounts) {
    for (name, value) in other {
        let most = total.entry(name).or_insert(value);
        *most = (*most).max(value);
    }
}
