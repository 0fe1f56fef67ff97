//! Inputs of sandbox and container specs: the pod, the machine, and objects of the API server.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::path::Path;

use k8s_openapi::api::core::v1::{Container, Pod};

use super::PodCgroups;
use super::linux::SwapBehavior;
use crate::cgroup::{CpuQuotaPolicy, MemoryQos};
use crate::node::NodeFacts;
use crate::runtime::{ContainerId, Device, Mount, RuntimeHandler, UserNamespace};

/// The machine, as far as specs depend on it.
#[derive(Clone, Copy, Debug)]
pub struct Host<'a> {
    /// Name, addresses, capacity and allocatable.
    pub node: &'a NodeFacts,
    /// Folder that `localhostProfile` is relative to: `<root>/seccomp`.
    pub seccomp_root: &'a Path,
    /// Whether containers without a seccomp profile get the runtime's own instead of none (`seccompDefault`).
    pub seccomp_default: bool,
    /// Content of the host's resolv.conf; none if pods shall not have it, who then ask their own machine only.
    pub resolv_conf: Option<&'a str>,
    /// Name servers of the cluster; empty without a cluster.
    pub cluster_dns: &'a [IpAddr],
    /// Domain of the cluster, such as `cluster.local`; empty without a cluster.
    pub cluster_domain: &'a str,
    /// Content of the host's `/etc/hosts`, which pods on its network get.
    pub etc_hosts: &'a str,
    /// Handlers of the runtime by the names of runtime classes.
    pub runtime_classes: &'a BTreeMap<String, String>,
    /// What the runtime says that its handlers can do; empty where it says nothing, as older ones.
    pub runtime_handlers: &'a [RuntimeHandler],
    /// Whether the kernel counts swap by cgroup (`memory.swap.max` exists below the root).
    pub swap_controller: bool,
    pub swap_behavior: SwapBehavior,
    /// What is made of requests and limits of memory; none without the gate `MemoryQoS`.
    pub memory_qos: Option<MemoryQos>,
    /// Bytes that all pods may use.
    pub pods_memory: i64,
    /// Whether pods have cgroups of their own.
    pub cgroups: PodCgroups<'a>,
    /// Whether and how CPU limits become quotas.
    pub cpu_quota: CpuQuotaPolicy,
    /// Whether running out of memory ends one process of a container and not all (`singleProcessOOMKill`, version 2 only).
    pub single_process_oom_kill: bool,
}

impl<'a> Host<'a> {
    /// A machine without a cluster, whose pods get the resolv.conf that their runtime gives them.
    pub fn new(node: &'a NodeFacts, seccomp_root: &'a Path) -> Self {
        const NO_CLASSES: &BTreeMap<String, String> = &BTreeMap::new();
        Self {
            node,
            seccomp_root,
            seccomp_default: false,
            resolv_conf: Some(""),
            cluster_dns: &[],
            cluster_domain: "",
            etc_hosts: "",
            runtime_classes: NO_CLASSES,
            runtime_handlers: &[],
            swap_controller: false,
            swap_behavior: SwapBehavior::NoSwap,
            memory_qos: None,
            pods_memory: 0,
            cgroups: PodCgroups::Unsupported,
            cpu_quota: CpuQuotaPolicy::default(),
            single_process_oom_kill: false,
        }
    }

    /// Whether cgroups are those of version 2, as the node's facts say.
    pub fn has_cgroup_v2(&self) -> bool {
        self.node.facts.get("cgroup.version").is_some_and(|version| version == "2")
    }
}

/// One sandbox to be made.
#[derive(Clone, Copy, Debug)]
pub struct SandboxInput<'a> {
    pub pod: &'a Pod,
    /// 0 for its first sandbox.
    pub attempt: u32,
    /// Folder on the host for the logs of its containers.
    pub log_directory: &'a Path,
    /// The ids of a pod with `hostUsers: false`.
    pub user_namespace: Option<&'a UserNamespace>,
    pub host: Host<'a>,
}

/// What matters of an image once it is there.
#[derive(Clone, Copy, Debug, Default)]
pub struct ImageFacts<'a> {
    /// What containers are created from, as the runtime calls it.
    pub reference: &'a str,
    /// The user that the image names by number.
    pub uid: Option<i64>,
    /// The user that the image names by name; empty if it doesn't.
    pub username: &'a str,
}

/// Objects that a container's environment refers to, by name, in its pod's namespace. The caller
/// has fetched those that exist; one that isn't here doesn't exist.
#[derive(Clone, Copy, Debug, Default)]
pub struct Objects<'a> {
    /// `data` of config maps.
    pub config_maps: Option<&'a BTreeMap<String, BTreeMap<String, String>>>,
    /// `data` of secrets, decoded.
    pub secrets: Option<&'a BTreeMap<String, BTreeMap<String, Vec<u8>>>>,
    /// Content of environment files, by volume and path in it.
    pub env_files: Option<&'a BTreeMap<(String, String), String>>,
    /// What [`service_variables`](super::service_variables) gave.
    pub services: Option<&'a BTreeMap<String, String>>,
}

/// One container to be made.
#[derive(Clone, Copy, Debug)]
pub struct ContainerInput<'a> {
    pub pod: &'a Pod,
    pub container: &'a Container,
    /// 0 for its first instance.
    pub restart_count: u32,
    pub image: ImageFacts<'a>,
    /// The sandbox's addresses, the primary one first; none on the host network.
    pub pod_ips: &'a [IpAddr],
    /// What it mounts: volumes, hosts file, termination log.
    pub mounts: &'a [Mount],
    /// Devices of the host that it gets.
    pub devices: &'a [Device],
    /// The container whose processes an ephemeral container sees.
    pub pid_target: Option<&'a ContainerId>,
    /// What its environment refers to.
    pub objects: Objects<'a>,
    pub host: Host<'a>,
}
