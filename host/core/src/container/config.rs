//! What the runtime is asked to make of a pod: its sandbox and its containers, from the spec and the node's facts.
//!
//! Rules of the kubelet's `kuberuntime` (`generatePodSandboxConfig`, `generateContainerConfig`). An error here is the
//! waiting reason `CreateContainerConfigError`, or `CreatePodSandboxError` for a sandbox.

mod env;
mod input;
mod linux;
mod security;

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::path::{Path, PathBuf};

use k8s_openapi::api::core::v1::{Container, Pod, PodSpec};
use thiserror::Error;

use crate::container::hash::container_hash;
use crate::container::plan::app_containers;
use crate::container::plan::sandbox::network_of;
use crate::node::NodeFacts;
use crate::pod::resources::protocol;
use crate::runtime::{ContainerConfig, DnsConfig, NamespaceMode, PortMapping, SandboxConfig, labels};

pub use input::{ContainerInput, Host, ImageFacts, Objects, SandboxInput};
pub use linux::{cpu_quota, cpu_shares, oom_score_adj};

/// Longest host name, in bytes (Linux: `HOST_NAME_MAX` is 64 with the final zero; DNS labels have 63).
pub const HOSTNAME_BYTES_MAX: usize = 63;

/// Why a spec can't be turned into something that the runtime can make.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum ConfigError {
    /// An environment variable asks for a field that pods don't offer.
    #[error("environment variable {variable} of container {container}: fieldPath {path:?} is not supported")]
    FieldPath {
        /// The container.
        container: String,
        /// The variable.
        variable: String,
        /// What it asks for.
        path: String,
    },
    /// The spec uses something that this release doesn't do.
    #[error("{field} is not supported by this release")]
    Unsupported {
        /// Path of the field in the pod.
        field: String,
    },
    /// A text is longer, with its variables, than a process can be given.
    #[error("container {container}: {text} is longer than {} bytes", env::TEXT_BYTES_MAX)]
    TooLong {
        /// The container.
        container: String,
        /// Which text.
        text: String,
    },
    /// A port isn't one.
    #[error("container {container}: port {port} is not between 1 and 65535")]
    Port {
        /// The container.
        container: String,
        /// The number.
        port: i32,
    },
    /// `hostIP` of a port isn't an address.
    #[error("container {container}: hostIP {ip:?} is not an IP address")]
    HostIp {
        /// The container.
        container: String,
        /// The text.
        ip: String,
    },
    /// The seccomp profile can't be used.
    #[error("seccomp profile of container {container}: {problem}")]
    Seccomp {
        /// The container.
        container: String,
        /// What is wrong with it.
        problem: String,
    },
    /// `runAsNonRoot` forbids it.
    #[error("container {container} has runAsNonRoot, and {problem}")]
    RunAsRoot {
        /// The container.
        container: String,
        /// Whose root it would be.
        problem: &'static str,
    },
    /// A quantity isn't one.
    #[error("container {container}: {resource} {quantity:?} is not a quantity")]
    Quantity {
        /// The container.
        container: String,
        /// Such as `limits.memory`.
        resource: String,
        /// The text.
        quantity: String,
    },
}

/// The sandbox of a pod.
pub fn sandbox_config(input: SandboxInput<'_>) -> Result<SandboxConfig, ConfigError> {
    let SandboxInput { pod, attempt, log_directory, user_namespace: _, host: _ } = input;
    let no_spec = PodSpec::default();
    let spec = pod.spec.as_ref().unwrap_or(&no_spec);
    refuse_unsupported_pod(spec)?;
    let network = network_of(pod);
    let meta = &pod.metadata;
    let mut sandbox_labels = meta.labels.clone().unwrap_or_default();
    sandbox_labels.extend(pod_labels(pod));
    Ok(SandboxConfig {
        name: meta.name.clone().unwrap_or_default(),
        namespace: meta.namespace.clone().unwrap_or_default(),
        uid: meta.uid.clone().unwrap_or_default(),
        attempt,
        hostname: match network {
            NamespaceMode::Node => String::new(),
            NamespaceMode::Pod | NamespaceMode::Container => hostname(pod),
        },
        log_directory: log_directory.to_owned(),
        labels: sandbox_labels,
        annotations: meta.annotations.clone().unwrap_or_default(),
        dns: dns(spec)?,
        port_mappings: port_mappings(pod, network)?,
        network,
        pid: pid_namespace(spec),
        ipc: if spec.host_ipc.unwrap_or_default() { NamespaceMode::Node } else { NamespaceMode::Pod },
        cgroup_parent: None,
        runtime_handler: String::new(),
        privileged: security::any_privileged(pod),
        security: security::of_sandbox(pod),
        ..SandboxConfig::default()
    })
}

/// One container in its pod's sandbox.
pub fn container_config(input: ContainerInput<'_>) -> Result<ContainerConfig, ConfigError> {
    let ContainerInput { pod, container, restart_count, image, .. } = input;
    refuse_unsupported(container)?;
    let env = env::environment(input)?;
    let expand = |what: &str, texts: &Option<Vec<String>>| -> Result<Vec<String>, ConfigError> {
        let expanded = texts.iter().flatten().map(|text| env::expand(text, &env)).collect::<Result<_, _>>();
        expanded.map_err(|env::TooLong| ConfigError::TooLong {
            container: container.name.clone(),
            text: what.to_owned(),
        })
    };
    let mut container_labels = BTreeMap::from(pod_labels(pod));
    container_labels.insert(labels::CONTAINER_NAME.to_owned(), container.name.clone());
    Ok(ContainerConfig {
        name: container.name.clone(),
        attempt: restart_count,
        image: image.reference.to_owned(),
        user_specified_image: container.image.clone().unwrap_or_default(),
        command: expand("command", &container.command)?,
        args: expand("args", &container.args)?,
        working_dir: container.working_dir.clone().unwrap_or_default(),
        mounts: input.mounts.to_vec(),
        devices: Vec::new(),
        stop_signal: None,
        pid_target: input.pid_target.cloned(),
        labels: container_labels,
        annotations: container_annotations(input),
        log_path: log_path(&container.name, restart_count),
        stdin: container.stdin.unwrap_or_default(),
        stdin_once: container.stdin_once.unwrap_or_default(),
        tty: container.tty.unwrap_or_default(),
        resources: linux::resources(pod, container, memory_capacity(input.host.node))?,
        security: security::of_container(pod, container, input.host.seccomp_root)?,
        env,
    })
}

/// A container's log relative to its pod's log folder.
pub fn log_path(container: &str, restart_count: u32) -> PathBuf {
    Path::new(container).join(format!("{restart_count}.log"))
}

/// The pod's host name: what its spec says, else its name cut to what Linux takes.
fn hostname(pod: &Pod) -> String {
    let own = pod.spec.as_ref().and_then(|spec| spec.hostname.as_deref()).filter(|name| !name.is_empty());
    let name = own.or(pod.metadata.name.as_deref()).unwrap_or_default();
    let mut cut = HOSTNAME_BYTES_MAX.min(name.len());
    while !name.is_char_boundary(cut) {
        cut -= 1;
    }
    // A name that was cut must not end in a separator; one that wasn't is as the API allowed it.
    if cut < name.len() { name[..cut].trim_end_matches(['-', '.']).to_owned() } else { name.to_owned() }
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

/// With policy `None` the pod says everything itself. With the others, the runtime gives it the host's resolv.conf, which
/// only `Default` is exact about: there is no cluster DNS on a node without a cluster.
fn dns(spec: &PodSpec) -> Result<Option<DnsConfig>, ConfigError> {
    match (spec.dns_policy.as_deref(), &spec.dns_config) {
        (Some("None"), config) => {
            let config = config.clone().unwrap_or_default();
            let options = config.options.into_iter().flatten().filter_map(|option| {
                let name = option.name?;
                Some(match option.value {
                    Some(value) if !value.is_empty() => format!("{name}:{value}"),
                    Some(_) | None => name,
                })
            });
            Ok(Some(DnsConfig {
                servers: config.nameservers.unwrap_or_default(),
                searches: config.searches.unwrap_or_default(),
                options: options.collect(),
            }))
        }
        (_, Some(_)) => {
            Err(ConfigError::Unsupported { field: "spec.dnsConfig without dnsPolicy: None".to_owned() })
        }
        (_, None) => Ok(None),
    }
}

/// Ports that lead from the host into the pod. On the host's network none has to lead anywhere.
fn port_mappings(pod: &Pod, network: NamespaceMode) -> Result<Vec<PortMapping>, ConfigError> {
    if network == NamespaceMode::Node {
        return Ok(Vec::new());
    }
    let mut mappings = Vec::new();
    for container in app_containers(pod) {
        for port in container.ports.iter().flatten() {
            let Some(host_port) = port.host_port.filter(|number| *number != 0) else {
                continue;
            };
            let number = |port: i32| {
                u16::try_from(port)
                    .ok()
                    .filter(|port| *port != 0)
                    .ok_or_else(|| ConfigError::Port { container: container.name.clone(), port })
            };
            let host_ip = port.host_ip.as_deref().filter(|ip| !ip.is_empty()).map(|ip| {
                ip.parse::<IpAddr>()
                    .map_err(|_| ConfigError::HostIp { container: container.name.clone(), ip: ip.to_owned() })
            });
            mappings.push(PortMapping {
                protocol: protocol(port.protocol.as_deref()),
                container_port: number(port.container_port)?,
                host_port: number(host_port)?,
                host_ip: host_ip.transpose()?,
            });
        }
    }
    Ok(mappings)
}

fn pod_labels(pod: &Pod) -> [(String, String); 3] {
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    [
        (labels::POD_NAME.to_owned(), text(&pod.metadata.name)),
        (labels::POD_NAMESPACE.to_owned(), text(&pod.metadata.namespace)),
        (labels::POD_UID.to_owned(), text(&pod.metadata.uid)),
    ]
}

fn container_annotations(input: ContainerInput<'_>) -> BTreeMap<String, String> {
    let ContainerInput { pod, container, restart_count, .. } = input;
    let grace = pod.spec.as_ref().and_then(|spec| spec.termination_grace_period_seconds);
    let known = [
        (labels::CONTAINER_HASH, Some(container_hash(container))),
        (labels::CONTAINER_RESTART_COUNT, Some(restart_count.to_string())),
        (labels::TERMINATION_MESSAGE_PATH, container.termination_message_path.clone()),
        (labels::TERMINATION_MESSAGE_POLICY, container.termination_message_policy.clone()),
        (labels::POD_TERMINATION_GRACE_PERIOD, grace.map(|seconds| seconds.to_string())),
    ];
    known.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect()
}

/// Bytes of memory that the node has; 0 if it doesn't say.
fn memory_capacity(node: &NodeFacts) -> i64 {
    let capacity = node.node.status.as_ref().and_then(|status| status.capacity.as_ref());
    let memory = capacity.and_then(|capacity| capacity.get("memory"));
    memory.and_then(|memory| crate::pod::quantity::value(memory).ok()).unwrap_or_default()
}

/// Manifests with such fields are refused when they are read. A pod that comes another way must not start without them.
fn refuse_unsupported_pod(spec: &PodSpec) -> Result<(), ConfigError> {
    let used = [
        ("spec.initContainers", spec.init_containers.as_ref().is_some_and(|list| !list.is_empty())),
        ("spec.ephemeralContainers", spec.ephemeral_containers.as_ref().is_some_and(|list| !list.is_empty())),
        ("spec.runtimeClassName", spec.runtime_class_name.as_deref().is_some_and(|name| !name.is_empty())),
    ];
    match used.into_iter().find(|(_, used)| *used) {
        Some((field, _)) => Err(ConfigError::Unsupported { field: field.to_owned() }),
        None => Ok(()),
    }
}

/// Manifests with such fields are refused when they are read. A pod that comes another way must not run without what it
/// asks for.
fn refuse_unsupported(container: &Container) -> Result<(), ConfigError> {
    let used = [
        ("envFrom", container.env_from.as_ref().is_some_and(|list| !list.is_empty())),
        ("volumeMounts", container.volume_mounts.as_ref().is_some_and(|list| !list.is_empty())),
        ("volumeDevices", container.volume_devices.as_ref().is_some_and(|list| !list.is_empty())),
    ];
    match used.into_iter().find(|(_, used)| *used) {
        Some((field, _)) => {
            Err(ConfigError::Unsupported { field: format!("{field} of container {}", container.name) })
        }
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests;
