//! The variables that tell containers where services are (upstream: `envvars.FromServices`, `getServiceEnvVarMap`).

use std::collections::BTreeMap;
use std::net::IpAddr;

use k8s_openapi::api::core::v1::{Pod, Service};

#[cfg(test)]
mod tests;

/// The namespace whose services every container gets as variables (upstream: `masterServiceNamespace`).
pub const MASTER_NAMESPACE: &str = "default";
/// Those services.
const MASTER_SERVICES: [&str; 1] = ["kubernetes"];

/// What variables say of one service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServiceAddress {
    pub namespace: Box<str>,
    pub name: Box<str>,
    pub ip: IpAddr,
    /// Its ports, at least one.
    pub ports: Box<[ServicePort]>,
}

/// A port of a service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServicePort {
    /// Its name; empty if it has none.
    pub name: Box<str>,
    pub number: i32,
    /// `TCP`, `UDP` or `SCTP`.
    pub protocol: Box<str>,
}

impl ServiceAddress {
    /// Returns `None` for a service without an address or a port: headless ones, and names for what is elsewhere.
    pub fn of(service: &Service) -> Option<Self> {
        let spec = service.spec.as_ref()?;
        // The first of two stacks' addresses; the word `None` is no address.
        let ip = spec.cluster_ip.as_deref()?.parse().ok()?;
        let port = |port: &k8s_openapi::api::core::v1::ServicePort| ServicePort {
            name: port.name.as_deref().unwrap_or_default().into(),
            number: port.port,
            protocol: port.protocol.as_deref().filter(|text| !text.is_empty()).unwrap_or("TCP").into(),
        };
        let ports: Box<[ServicePort]> = spec.ports.iter().flatten().map(port).collect();
        let metadata = &service.metadata;
        let (namespace, name) = (metadata.namespace.as_deref()?, metadata.name.as_deref()?);
        (!ports.is_empty()).then(|| Self { namespace: namespace.into(), name: name.into(), ip, ports })
    }

    /// Whether containers of all namespaces get its variables.
    pub fn is_for_all(&self) -> bool {
        &*self.namespace == MASTER_NAMESPACE && MASTER_SERVICES.contains(&&*self.name)
    }
}

/// The variables of a pod's containers: of the cluster's own services, and of those of the pod's namespace unless it says
/// `enableServiceLinks: false`. One of the cluster's own gives way to the namespace's service of its name.
pub fn service_variables<'a>(
    pod: &Pod,
    services: impl Iterator<Item = &'a ServiceAddress>,
) -> BTreeMap<String, String> {
    let namespace = pod.metadata.namespace.as_deref().unwrap_or_default();
    let links = pod.spec.as_ref().and_then(|spec| spec.enable_service_links) != Some(false);
    let mut by_name: BTreeMap<&str, &ServiceAddress> = BTreeMap::new();
    for service in services {
        if service.is_for_all() {
            by_name.entry(&service.name).or_insert(service);
        } else if links && &*service.namespace == namespace {
            by_name.insert(&service.name, service);
        }
    }
    let mut variables = BTreeMap::new();
    for service in by_name.into_values() {
        add(&mut variables, service);
    }
    variables
}

/// Variables of services whose names differ only in `-` and `_` or in case are those of the last.
fn add(variables: &mut BTreeMap<String, String>, service: &ServiceAddress) {
    let prefix = variable_name(&service.name);
    let mut set = |name: String, value: String| drop(variables.insert(name, value));
    let ip = service.ip;
    set(format!("{prefix}_SERVICE_HOST"), ip.to_string());
    for (index, port) in service.ports.iter().enumerate() {
        let number = port.number;
        let (protocol, scheme) = (port.protocol.to_uppercase(), port.protocol.to_lowercase());
        let host_port = match ip {
            IpAddr::V4(ip) => format!("{scheme}://{ip}:{number}"),
            IpAddr::V6(ip) => format!("{scheme}://[{ip}]:{number}"),
        };
        if index == 0 {
            set(format!("{prefix}_SERVICE_PORT"), number.to_string());
            set(format!("{prefix}_PORT"), host_port.clone());
        }
        if !port.name.is_empty() {
            set(format!("{prefix}_SERVICE_PORT_{}", variable_name(&port.name)), number.to_string());
        }
        let of_port = format!("{prefix}_PORT_{number}_{protocol}");
        set(of_port.clone(), host_port);
        set(format!("{of_port}_PROTO"), scheme);
        set(format!("{of_port}_PORT"), number.to_string());
        set(format!("{of_port}_ADDR"), ip.to_string());
    }
}

fn variable_name(name: &str) -> String {
    name.replace('-', "_").to_uppercase()
}
