//! What the runtime is seen to have.

use std::fmt;
use std::net::IpAddr;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{LinuxResources, Mount};
use crate::pod::{PodFullName, PodUid, identity::shared_string};

shared_string! {
    /// A container's id as the runtime gave it, without a scheme. Cheap to clone.
    ContainerId
}
shared_string! {
    /// A sandbox's id as the runtime gave it. Cheap to clone.
    SandboxId
}

/// Whether a sandbox can hold containers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SandboxState {
    Ready,
    /// It was stopped or broke.
    NotReady,
}

/// A container's state as the CRI knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ContainerRunState {
    Created,
    Running,
    Exited,
    /// The runtime lost track of it.
    Unknown,
}

impl ContainerRunState {
    /// Whether its process runs, or that isn't known.
    pub fn may_run(self) -> bool {
        match self {
            Self::Running | Self::Unknown => true,
            Self::Created | Self::Exited => false,
        }
    }
}

/// A sandbox in a list: little, but of all pods in one call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedSandbox {
    pub id: SandboxId,
    /// 0 for the pod's first.
    pub attempt: u32,
    pub state: SandboxState,
    /// When it was made.
    pub created_at: Timestamp,
}

/// A container in a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedContainer {
    pub id: ContainerId,
    /// Name in the pod's spec.
    pub name: String,
    /// The sandbox it is in.
    pub sandbox_id: SandboxId,
    /// Created, running, exited or unknown.
    pub state: ContainerRunState,
    /// When it was made.
    pub created_at: Timestamp,
}

/// A pod as a list of the runtime shows it. Known by its labels alone, whether or not a source still has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuntimePod {
    /// Label `io.kubernetes.pod.uid`.
    pub uid: PodUid,
    /// Label `io.kubernetes.pod.name`.
    pub name: String,
    /// Label `io.kubernetes.pod.namespace`.
    pub namespace: String,
    /// Newest first.
    pub sandboxes: Vec<ListedSandbox>,
    /// Newest first.
    pub containers: Vec<ListedContainer>,
}

impl RuntimePod {
    /// Whether a sandbox is ready, or a container runs.
    pub fn is_alive(&self) -> bool {
        self.containers.iter().any(|container| container.state == ContainerRunState::Running)
            || self.sandboxes.iter().any(|sandbox| sandbox.state == SandboxState::Ready)
    }

    /// The sandbox that the pod runs in, or ran in last.
    pub fn sandbox(&self) -> Option<&ListedSandbox> {
        let ready = self.sandboxes.iter().find(|sandbox| sandbox.state == SandboxState::Ready);
        ready.or(self.sandboxes.first())
    }

    /// Containers of that sandbox that run: of each name one.
    pub fn running_containers(&self) -> impl Iterator<Item = &ListedContainer> {
        let sandbox = self.sandbox().map(|sandbox| &sandbox.id);
        self.containers.iter().filter(move |container| {
            container.state == ContainerRunState::Running && Some(&container.sandbox_id) == sandbox
        })
    }
}

/// A sandbox in detail.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObservedSandbox {
    pub id: SandboxId,
    /// 0 for the pod's first.
    pub attempt: u32,
    pub state: SandboxState,
    /// When it was made.
    pub created_at: Timestamp,
    /// On the host's network.
    pub network: super::NamespaceMode,
    /// Addresses, the primary one first; none on the host network.
    pub ips: Vec<IpAddr>,
}

/// A container in detail.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObservedContainer {
    pub id: ContainerId,
    /// Name in the pod's spec.
    pub name: String,
    /// The sandbox it is in; none if the runtime doesn't say.
    pub sandbox_id: Option<SandboxId>,
    /// Created, running, exited or unknown.
    pub state: ContainerRunState,
    /// When it was made.
    pub created_at: Timestamp,
    /// When its process started, if it did.
    pub started_at: Option<Timestamp>,
    /// When its process ended, if it did.
    pub finished_at: Option<Timestamp>,
    /// Of its process, once exited.
    pub exit_code: i32,
    /// The image as the spec named it.
    pub image: String,
    /// The image as the runtime pinned it.
    pub image_id: String,
    /// What `labels::spec_hash` gives of its annotations.
    pub spec_hash: Option<String>,
    /// What `labels::cgroup_parent` gives of its annotations.
    pub cgroup_parent: CgroupParent,
    /// Annotation `io.kubernetes.container.restartCount`.
    pub restart_count: u32,
    /// Annotation `io.kubernetes.pod.terminationGracePeriod`, in seconds.
    pub termination_grace_seconds: Option<i64>,
    /// The runtime's short word, such as `OOMKilled`, `Error` or `Completed`.
    pub reason: String,
    pub message: String,
    /// Absolute path of its log on the host.
    pub log_path: String,
    /// Where its termination message is: annotation `io.kubernetes.container.terminationMessagePath`.
    pub termination_message_path: Option<String>,
    /// Annotation `io.kubernetes.container.terminationMessagePolicy`.
    pub termination_message_policy: Option<String>,
    /// Its termination message, once someone has read it from the file or the log.
    pub termination_message: Option<String>,
    /// Mounts that the runtime reports.
    pub mounts: Vec<Mount>,
    /// Limits that it has now; none if the runtime doesn't say.
    pub resources: Option<LinuxResources>,
    /// User and groups that its process began with; none if the runtime doesn't say.
    pub user: Option<ContainerUser>,
    /// Signal that asks it to end; none if the runtime doesn't say.
    pub stop_signal: Option<String>,
    /// Annotation `io.kubernetes.container.ports`, JSON.
    pub ports: Option<String>,
    /// Annotation `io.kubernetes.container.preStopHandler`, JSON.
    pub pre_stop: Option<String>,
}

impl ObservedContainer {
    /// A container of which nothing more is known.
    pub fn new(
        id: ContainerId,
        name: impl Into<String>,
        state: ContainerRunState,
        created_at: Timestamp,
    ) -> Self {
        Self {
            id,
            name: name.into(),
            sandbox_id: None,
            state,
            created_at,
            started_at: None,
            finished_at: None,
            exit_code: 0,
            image: String::new(),
            image_id: String::new(),
            spec_hash: None,
            cgroup_parent: CgroupParent::Unrecorded,
            restart_count: 0,
            termination_grace_seconds: None,
            reason: String::new(),
            message: String::new(),
            log_path: String::new(),
            termination_message_path: None,
            termination_message_policy: None,
            termination_message: None,
            mounts: Vec::new(),
            resources: None,
            user: None,
            stop_signal: None,
            ports: None,
            pre_stop: None,
        }
    }
}

/// User and groups of a container's first process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContainerUser {
    pub uid: i64,
    pub gid: i64,
    pub supplemental_groups: Vec<i64>,
}

/// All that the runtime has of one pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObservedPod {
    pub uid: PodUid,
    pub name: String,
    pub namespace: String,
    /// Addresses of the newest sandbox, the primary one first.
    pub ips: Vec<IpAddr>,
    /// Newest first.
    pub sandboxes: Vec<ObservedSandbox>,
    /// Newest first.
    pub containers: Vec<ObservedContainer>,
    /// When this was asked for: nothing that happened later need be in it.
    pub observed_at: Timestamp,
}

impl ObservedPod {
    /// A pod of which the runtime has nothing.
    pub fn absent(uid: PodUid, observed_at: Timestamp) -> Self {
        Self {
            uid,
            name: String::new(),
            namespace: String::new(),
            ips: Vec::new(),
            sandboxes: Vec::new(),
            containers: Vec::new(),
            observed_at,
        }
    }

    /// Namespace and name by label.
    pub fn full_name(&self) -> PodFullName {
        PodFullName::new(&self.namespace, &self.name)
    }

    /// The newest instance of the container with this name.
    pub fn container(&self, name: &str) -> Option<&ObservedContainer> {
        self.containers.iter().find(|c| c.name == name)
    }

    /// Whether the runtime has nothing of the pod.
    pub fn is_absent(&self) -> bool {
        self.sandboxes.is_empty() && self.containers.is_empty()
    }

    /// Whether a sandbox is ready, or a container runs or may run.
    pub fn is_alive(&self) -> bool {
        self.sandboxes.iter().any(|sandbox| sandbox.state == SandboxState::Ready)
            || self.containers.iter().any(|container| container.state.may_run())
    }

    /// Whether any container's process runs.
    pub fn any_running(&self) -> bool {
        self.containers.iter().any(|c| c.state == ContainerRunState::Running)
    }
}

/// Who the runtime is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuntimeVersion {
    /// `containerd`, `cri-o`, `witlet`.
    pub runtime_name: String,
    pub runtime_version: String,
    /// Version of the CRI it speaks, `v1`.
    pub api_version: String,
}

/// One condition of the runtime: `RuntimeReady`, `NetworkReady`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuntimeCondition {
    /// `RuntimeReady` or `NetworkReady`.
    pub kind: String,
    pub status: bool,
    /// Short word, why not.
    pub reason: String,
    /// One sentence, why not.
    pub message: String,
}

/// What a handler of a runtime class can do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RuntimeHandler {
    /// As runtime classes name it; empty is the default one.
    pub name: String,
    pub recursive_read_only_mounts: bool,
    pub user_namespaces: bool,
}

/// Whether the runtime can work, and what it can do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RuntimeStatus {
    /// As the runtime gave them.
    pub conditions: Vec<RuntimeCondition>,
    /// As the runtime gave them; older ones give none.
    pub handlers: Vec<RuntimeHandler>,
    /// Whether it honours `supplementalGroupsPolicy`.
    pub supplemental_groups_policy: bool,
}

/// Which cgroup a container was put below, as far as its annotations tell.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum CgroupParent {
    /// This agent recorded it; an empty path is where the runtime puts containers by itself, because `cgroupsPerQOS` was off.
    Recorded(String),
    /// A kubelet made the container, in its pod's cgroup.
    OfKubelet,
    /// The agent kept no cgroups when it made the container: an earlier release, or a machine on which it can't.
    #[default]
    Unrecorded,
}

/// Who makes cgroups.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CgroupDriver {
    /// systemd, asked over D-Bus.
    Systemd,
    /// The runtime itself, in the file system.
    Cgroupfs,
}

impl CgroupDriver {
    /// Returns the name as the kubelet's field `cgroupDriver` has it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Systemd => "systemd",
            Self::Cgroupfs => "cgroupfs",
        }
    }

    /// The driver of this name, if there is one.
    pub fn of_name(name: &str) -> Option<Self> {
        [Self::Systemd, Self::Cgroupfs].into_iter().find(|driver| driver.name() == name)
    }
}

/// What a command in a container gave.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExecOutput {
    /// Standard output, cut by the runtime.
    pub stdout: Vec<u8>,
    /// Standard error, cut by the runtime.
    pub stderr: Vec<u8>,
    pub exit_code: i32,
}

/// Credentials for a registry, as a docker configuration has them. Never shown.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct ImageAuth {
    pub username: String,
    pub password: String,
    /// Who that is, in configurations of old. No runtime is reported; a kubelet's records count it.
    pub email: String,
    /// Base64 of `user:password`.
    pub auth: String,
    pub server_address: String,
    pub identity_token: String,
    pub registry_token: String,
}

impl fmt::Debug for ImageAuth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ImageAuth").field("server_address", &self.server_address).finish_non_exhaustive()
    }
}

/// Something happened to a container or sandbox, as the runtime says by itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuntimeEvent {
    /// The pod it happened to, if the runtime says.
    pub uid: Option<PodUid>,
    /// The container or sandbox.
    pub id: String,
}

impl RuntimeStatus {
    /// The condition that keeps this from being true, if one does. A missing condition counts as false.
    pub fn failing(&self, kind: &str) -> Option<String> {
        match self.conditions.iter().find(|c| c.kind == kind) {
            Some(c) if c.status => None,
            Some(c) => Some(format!("{kind}=false reason:{} message:{}", c.reason, c.message)),
            None => Some(format!("{kind}: the runtime doesn't report it")),
        }
    }
}

/// An image that the runtime has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImageInfo {
    /// What a container is created from.
    pub id: String,
    pub repo_tags: Vec<String>,
    pub repo_digests: Vec<String>,
    /// Bytes on disk.
    pub size_bytes: u64,
    /// The user that the image names by number.
    pub uid: Option<i64>,
    /// The user that the image names by name; empty if it doesn't.
    pub username: String,
    /// Never to be removed.
    pub pinned: bool,
}
