//! A pod's sandbox: names, namespaces, ports, name servers, kernel parameters.

use std::net::IpAddr;

use k8s_openapi::api::core::v1::{Container, Pod, PodSpec};

use super::{SandboxInput, SpecError, cgroup, linux, pod_labels, security};
use crate::container::plan::sandbox::network_of;
use crate::container::plan::{app_containers, init_containers};
use crate::network::{dns, hostname};
use crate::pod::resources::{is_sidecar, protocol};
use crate::pod::user_namespace;
use crate::runtime::{DnsConfig, NamespaceMode, PortMapping, SandboxSpec, UserNamespace};

/// The sandbox of a pod.
///
/// # Errors
/// A field of the pod can't be made part of a sandbox; the error names it.
pub fn sandbox_spec(input: SandboxInput<'_>) -> Result<SandboxSpec, SpecError> {
    let SandboxInput { pod, attempt, log_directory, user_namespace: _, host } = input;
    let no_spec = PodSpec::default();
    let spec = pod.spec.as_ref().unwrap_or(&no_spec);
    let network = network_of(pod);
    let meta = &pod.metadata;
    let mut labels = meta.labels.clone().unwrap_or_default();
    labels.extend(pod_labels(pod));
    Ok(SandboxSpec {
        name: meta.name.clone().unwrap_or_default(),
        namespace: meta.namespace.clone().unwrap_or_default(),
        uid: meta.uid.clone().unwrap_or_default(),
        attempt,
        hostname: kernel_hostname(input, spec, network)?,
        log_directory: log_directory.to_owned(),
        labels,
        annotations: meta.annotations.clone().unwrap_or_default(),
        // Nothing to say leaves the file to the runtime.
        dns: Some(dns::of_pod(pod, host)?.config).filter(|config| *config != DnsConfig::default()),
        port_mappings: port_mappings(pod, network)?,
        network,
        pid: pid_namespace(spec),
        ipc: if spec.host_ipc.unwrap_or_default() { NamespaceMode::Node } else { NamespaceMode::Pod },
        user_namespace: user_namespace(input, spec)?,
        sysctls: security::sysctls(pod),
        overhead: linux::overhead(pod, host),
        resources: linux::of_sandbox(pod, host),
        cgroup_parent: cgroup::parent(pod, host),
        runtime_handler: runtime_handler(input, spec)?,
        privileged: security::any_privileged(pod),
        security: security::of_sandbox(pod),
    })
}

fn kernel_hostname(
    input: SandboxInput<'_>,
    spec: &PodSpec,
    network: NamespaceMode,
) -> Result<String, SpecError> {
    match network {
        NamespaceMode::Node => Ok(String::new()),
        NamespaceMode::Pod | NamespaceMode::Container => {
            let name = hostname::of_pod(input.pod, input.host.cluster_domain)?;
            Ok(name.kernel_name(spec.set_hostname_as_fqdn.unwrap_or_default())?)
        }
    }
}

/// The handler of the pod's runtime class. A pod without a class has the runtime's default handler.
fn runtime_handler(input: SandboxInput<'_>, spec: &PodSpec) -> Result<String, SpecError> {
    match spec.runtime_class_name.as_deref().unwrap_or_default() {
        "" => Ok(String::new()),
        name => match input.host.runtime_classes.get(name) {
            Some(handler) => Ok(handler.clone()),
            None => Err(SpecError::RuntimeClass { name: name.to_owned() }),
        },
    }
}

/// The pod's ids. A runtime that knows no user namespaces drops them without a word, and root in the pod is root on the
/// machine then: such a pod isn't made (upstream: `GetOrCreateUserNamespaceMappings`).
fn user_namespace(input: SandboxInput<'_>, spec: &PodSpec) -> Result<Option<UserNamespace>, SpecError> {
    if !user_namespace::wants_own(input.pod) {
        return Ok(None);
    }
    let name = runtime_handler(input, spec)?;
    let handlers = input.host.runtime_handlers;
    match handlers.iter().find(|handler| handler.name == name) {
        Some(handler) if handler.user_namespaces => {
            input.user_namespace.cloned().map(Some).ok_or(SpecError::NoUserNamespace)
        }
        found => {
            let is_unknown = found.is_none() && !handlers.is_empty();
            Err(SpecError::NoUserNamespaces { handler: name, is_unknown })
        }
    }
}

/// Whether each container sees its own processes only.
pub(super) fn has_own_pids(pod: &Pod) -> bool {
    pod.spec.as_ref().is_none_or(|spec| pid_namespace(spec) == NamespaceMode::Container)
}

fn pid_namespace(spec: &PodSpec) -> NamespaceMode {
    if spec.host_pid.unwrap_or_default() {
        NamespaceMode::Node
    } else if spec.share_process_namespace.unwrap_or_default() {
        NamespaceMode::Pod
    } else {
        NamespaceMode::Container
    }
}

/// Ports that lead from the host into the pod. On the host's network none has to lead anywhere.
fn port_mappings(pod: &Pod, network: NamespaceMode) -> Result<Vec<PortMapping>, SpecError> {
    let mut mappings = Vec::new();
    if network == NamespaceMode::Node {
        return Ok(mappings);
    }
    let sidecars = init_containers(pod).iter().filter(|container| is_sidecar(container));
    for container in app_containers(pod).iter().chain(sidecars) {
        for port in container.ports.iter().flatten() {
            let Some(host_port) = port.host_port.filter(|number| *number != 0) else {
                continue;
            };
            mappings.push(PortMapping {
                protocol: protocol(port.protocol.as_deref()),
                container_port: number(container, port.container_port)?,
                host_port: number(container, host_port)?,
                host_ip: host_ip(container, port.host_ip.as_deref().unwrap_or_default())?,
            });
        }
    }
    Ok(mappings)
}

fn number(container: &Container, port: i32) -> Result<u16, SpecError> {
    let number = u16::try_from(port).ok().filter(|port| *port != 0);
    number.ok_or_else(|| SpecError::Port { container: container.name.clone(), port })
}

fn host_ip(container: &Container, ip: &str) -> Result<Option<IpAddr>, SpecError> {
    if ip.is_empty() {
        return Ok(None);
    }
    let bad = |_| SpecError::HostIp { container: container.name.clone(), ip: ip.to_owned() };
    ip.parse().map(Some).map_err(bad)
}
