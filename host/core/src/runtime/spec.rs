//! What is asked of the runtime: a sandbox, and containers in it.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::path::PathBuf;

use super::ContainerId;

/// Transport protocol of a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Protocol {
    /// TCP, the default of Kubernetes.
    Tcp,
    Udp,
    Sctp,
}

impl Protocol {
    /// Returns the name as Kubernetes writes it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Tcp => "TCP",
            Self::Udp => "UDP",
            Self::Sctp => "SCTP",
        }
    }
}

/// A host port that leads to a container's port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PortMapping {
    /// TCP, UDP or SCTP.
    pub protocol: Protocol,
    /// Port in the pod.
    pub container_port: u16,
    /// Port on the host.
    pub host_port: u16,
    /// Address on the host; none means all.
    pub host_ip: Option<IpAddr>,
}

/// Content of a pod's resolv.conf.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DnsConfig {
    pub servers: Vec<String>,
    pub searches: Vec<String>,
    /// Options such as `ndots:5`.
    pub options: Vec<String>,
}

/// Which Linux namespace a sandbox or container uses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NamespaceMode {
    /// One shared by the pod.
    #[default]
    Pod,
    /// One for the container alone.
    Container,
    Node,
}

/// Seccomp profile of a container or sandbox.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum SeccompProfile {
    /// The runtime's own profile.
    RuntimeDefault,
    /// No filtering: the default of Kubernetes without `seccompDefault`.
    #[default]
    Unconfined,
    /// A profile file on the node, by absolute path.
    Localhost(PathBuf),
}

/// One range of user or group ids.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IdMapping {
    /// First id on the host.
    pub host_id: u32,
    /// First id in the pod.
    pub container_id: u32,
    pub length: u32,
}

/// A user namespace of the pod's own (`hostUsers: false`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UserNamespace {
    pub uids: Vec<IdMapping>,
    pub gids: Vec<IdMapping>,
}

/// How the groups of a process come about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum SupplementalGroupsPolicy {
    /// What the image's `/etc/group` says for the user joins those of the spec.
    #[default]
    Merge,
    /// Only those of the spec.
    Strict,
}

/// AppArmor profile of a container.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AppArmorProfile {
    /// The runtime's own profile.
    RuntimeDefault,
    /// None.
    Unconfined,
    /// One that is loaded on the node, by name.
    Localhost(String),
}

/// SELinux label of a container; empty parts are the runtime's choice.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SelinuxLabel {
    pub user: String,
    pub role: String,
    pub kind: String,
    pub level: String,
}

/// Which mounts of the host and of the container see each other's later mounts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum MountPropagation {
    /// None.
    #[default]
    Private,
    /// The host's appear in the container.
    HostToContainer,
    /// Both ways; for privileged containers only.
    Bidirectional,
}

/// A device of the host in a container.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Device {
    /// Absolute path in the container.
    pub container_path: PathBuf,
    /// Absolute path on the host.
    pub host_path: PathBuf,
    /// Of the letters `r`, `w` and `m` (make nodes).
    pub permissions: String,
}

/// A pod's sandbox.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SandboxSpec {
    /// `metadata.name`
    pub name: String,
    /// `metadata.namespace`
    pub namespace: String,
    /// `metadata.uid`
    pub uid: String,
    /// 0 for the first sandbox of this pod, one more for each that followed.
    pub attempt: u32,
    /// Host name in the sandbox; empty on the host network.
    pub hostname: String,
    /// Folder on the host for the logs of the pod's containers.
    pub log_directory: PathBuf,
    /// Labels, those of `labels` among them.
    pub labels: BTreeMap<String, String>,
    /// Annotations: the pod's own.
    pub annotations: BTreeMap<String, String>,
    /// None leaves resolv.conf to the runtime, which takes the host's.
    pub dns: Option<DnsConfig>,
    pub port_mappings: Vec<PortMapping>,
    /// Network namespace: the pod's own or the host's.
    pub network: NamespaceMode,
    pub pid: NamespaceMode,
    pub ipc: NamespaceMode,
    /// A user namespace of the pod's own; none is the host's.
    pub user_namespace: Option<UserNamespace>,
    /// Kernel parameters, with dots between the parts of their names.
    pub sysctls: BTreeMap<String, String>,
    /// What the sandbox itself costs (`spec.overhead`).
    pub overhead: LinuxResources,
    /// The sum of the containers' resources, for runtimes that size a virtual machine by it.
    pub resources: LinuxResources,
    /// Parent cgroup; none leaves it to the runtime.
    pub cgroup_parent: Option<String>,
    /// Handler of the pod's runtime class; empty is the default.
    pub runtime_handler: String,
    /// Whether any container of the pod is privileged.
    pub privileged: bool,
    /// User, groups and seccomp of the sandbox.
    pub security: ContainerSecurity,
}

/// A container's place in its sandbox, its process and its limits.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ContainerSpec {
    /// Name in the pod's spec.
    pub name: String,
    /// Restart count: 0 for the first instance.
    pub attempt: u32,
    /// What the runtime shall run: the reference that a pull or an image status returned.
    pub image: String,
    /// What the pod's spec asked for.
    pub user_specified_image: String,
    /// Entry point; empty takes the image's.
    pub command: Vec<String>,
    /// Arguments; empty takes the image's.
    pub args: Vec<String>,
    /// Working directory; empty takes the image's.
    pub working_dir: String,
    /// Environment in order.
    pub env: Vec<(String, String)>,
    pub mounts: Vec<Mount>,
    pub devices: Vec<Device>,
    /// Labels, those of `labels` among them.
    pub labels: BTreeMap<String, String>,
    /// Annotations, those of `labels` among them.
    pub annotations: BTreeMap<String, String>,
    /// Log file relative to the sandbox's log directory: `<container>/<attempt>.log`.
    pub log_path: PathBuf,
    /// Keep standard input open.
    pub stdin: bool,
    /// Close standard input after the first attach ends.
    pub stdin_once: bool,
    /// Give it a terminal.
    pub tty: bool,
    /// Signal that asks the process to end (`SIGTERM`, …); none takes the image's.
    pub stop_signal: Option<String>,
    /// The container whose PID namespace an ephemeral container joins.
    pub pid_target: Option<ContainerId>,
    /// CPU, memory, OOM score.
    pub resources: LinuxResources,
    /// User, groups, capabilities and the like.
    pub security: ContainerSecurity,
}

/// A host path in a container.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mount {
    /// Absolute path in the container.
    pub container_path: PathBuf,
    /// Absolute path on the host.
    pub host_path: PathBuf,
    pub read_only: bool,
    /// Nor has anything that is mounted below (KEP-3857); only with `read_only`.
    pub recursive_read_only: bool,
    /// Which later mounts appear on the other side.
    pub propagation: MountPropagation,
    /// Whether the runtime labels it for SELinux.
    pub selinux_relabel: bool,
}

/// Limits in the kernel's units.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LinuxResources {
    /// `cpu.shares` of cgroup v1, at least 2; 0 leaves it alone.
    pub cpu_shares: i64,
    /// Microseconds of CPU in each period; 0 is no limit.
    pub cpu_quota_us: i64,
    /// Length of a period in microseconds.
    pub cpu_period_us: i64,
    /// Bytes; 0 is no limit.
    pub memory_limit_bytes: i64,
    /// −1000 to 1000.
    pub oom_score_adj: i64,
    /// Bytes of memory and swap together; 0 leaves it to the runtime.
    pub memory_swap_limit_bytes: i64,
    /// Bytes of huge pages, by their size as the kernel names it (`2MB`, `1GB`).
    pub hugepage_limits: BTreeMap<String, u64>,
    /// Files of cgroup v2 and their content.
    pub unified: BTreeMap<String, String>,
}

/// What a process may do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ContainerSecurity {
    /// User id; none takes the image's.
    pub run_as_user: Option<i64>,
    /// Group id; none takes the image's.
    pub run_as_group: Option<i64>,
    /// Name of the user in the image; only where `run_as_user` is none.
    pub run_as_username: Option<String>,
    pub supplemental_groups: Vec<i64>,
    /// Whether the image's groups join them.
    pub supplemental_groups_policy: SupplementalGroupsPolicy,
    pub privileged: bool,
    /// The root file system can't be written.
    pub read_only_root: bool,
    /// `no_new_privs` of the kernel.
    pub no_new_privileges: bool,
    /// Capabilities beyond the runtime's default set.
    pub capabilities_add: Vec<String>,
    /// Capabilities taken from the runtime's default set.
    pub capabilities_drop: Vec<String>,
    pub seccomp: SeccompProfile,
    /// AppArmor profile; none leaves it to the runtime.
    pub apparmor: Option<AppArmorProfile>,
    /// SELinux label; none leaves it to the runtime.
    pub selinux: Option<SelinuxLabel>,
    /// `procMount: Unmasked`: nothing under /proc is hidden or write-protected.
    pub proc_unmasked: bool,
}
