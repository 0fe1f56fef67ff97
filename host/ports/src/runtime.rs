//! The ports to the container runtime.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use thiserror::Error;
use tokio::sync::mpsc;
use witlet_core::pod::PodUid;
use witlet_core::runtime::{
    CgroupDriver, ContainerId, ContainerSpec, ExecOutput, ImageAuth, ImageInfo, LinuxResources, ObservedPod,
    RuntimeEvent, RuntimePod, RuntimeStatus, RuntimeVersion, SandboxId, SandboxSpec,
};

use crate::ImageStore;

/// Why a call to the runtime failed. `call` is the CRI's name of it, such as `RunPodSandbox`.
#[derive(Clone, Debug, Error)]
pub enum RuntimeError {
    /// Nothing answers at the endpoint: not there, refused, or gone in the middle of the call.
    #[error("{call}: failed to reach the runtime at {endpoint}: {message}")]
    Unavailable { call: &'static str, endpoint: String, message: String },
    /// The runtime took longer than the call may take.
    #[error("{call}: no response within {}s", limit.as_secs_f64())]
    DeadlineExceeded {
        call: &'static str,
        /// What it was given.
        limit: Duration,
    },
    /// The sandbox, container or image doesn't exist.
    #[error("{call}: not found: {message}")]
    NotFound { call: &'static str, message: String },
    /// Something of that name exists already.
    #[error("{call}: already exists: {message}")]
    AlreadyExists { call: &'static str, message: String },
    /// The message is larger than both sides allow (16 MiB).
    #[error("{call}: message too large: {message}")]
    TooLarge { call: &'static str, message: String },
    /// The runtime doesn't implement the call.
    #[error("{call}: not implemented by the runtime: {message}")]
    Unimplemented { call: &'static str, message: String },
    /// The runtime tried and failed, or refused.
    #[error("{call}: {message}")]
    Failed {
        call: &'static str,
        /// gRPC's name of the status code, such as [`UNKNOWN`].
        code: &'static str,
        message: String,
    },
    /// The runtime answered something that the CRI doesn't allow.
    #[error("{call}: invalid response: {message}")]
    Malformed {
        call: &'static str,
        /// What is wrong with it.
        message: String,
    },
}

impl RuntimeError {
    /// A failure with the code of errors that have none of their own, [`UNKNOWN`].
    pub fn failed(call: &'static str, message: impl Into<String>) -> Self {
        Self::Failed { call, code: UNKNOWN, message: message.into() }
    }

    /// Whether the thing asked for isn't there, which ends a removal well.
    pub fn is_not_found(&self) -> bool {
        matches!(self, Self::NotFound { .. })
    }

    /// The runtime's words without call and code, as events and statuses of containers show them.
    pub fn message(&self) -> String {
        match self {
            Self::Unavailable { endpoint, message, .. } => {
                format!("failed to reach the runtime at {endpoint}: {message}")
            }
            Self::DeadlineExceeded { .. } => "context deadline exceeded".to_owned(),
            Self::NotFound { message, .. }
            | Self::AlreadyExists { message, .. }
            | Self::TooLarge { message, .. }
            | Self::Unimplemented { message, .. }
            | Self::Failed { message, .. }
            | Self::Malformed { message, .. } => message.clone(),
        }
    }

    /// The error as gRPC for Go prints it, which is what a kubelet's events show:
    /// `rpc error: code = NotFound desc = no such image`.
    pub fn status_text(&self) -> String {
        format!("rpc error: code = {} desc = {}", self.code(), self.message())
    }

    /// Why a pull failed, as a kubelet shows it: the code [`UNKNOWN`] is left out.
    pub fn pull_text(&self) -> String {
        if self.code() == UNKNOWN { self.message() } else { self.status_text() }
    }

    fn code(&self) -> &'static str {
        match self {
            Self::Unavailable { .. } => "Unavailable",
            Self::DeadlineExceeded { .. } => "DeadlineExceeded",
            Self::NotFound { .. } => "NotFound",
            Self::AlreadyExists { .. } => "AlreadyExists",
            Self::TooLarge { .. } => "ResourceExhausted",
            Self::Unimplemented { .. } => "Unimplemented",
            Self::Failed { code, .. } => code,
            // What this side finds wrong with an answer has no code of the runtime's.
            Self::Malformed { .. } => UNKNOWN,
        }
    }
}

/// gRPC's code of errors that the other side gave no code.
pub const UNKNOWN: &str = "Unknown";

/// Who the runtime is and how it is.
#[async_trait]
pub trait RuntimeInfo: Send + Sync {
    /// Name and versions.
    async fn version(&self) -> Result<RuntimeVersion, RuntimeError>;
    /// Whether it and its network are ready.
    async fn status(&self) -> Result<RuntimeStatus, RuntimeError>;
    /// Who makes cgroups; none if the runtime doesn't say, as older ones don't.
    async fn cgroup_driver(&self) -> Result<Option<CgroupDriver>, RuntimeError>;
}

/// What the runtime has.
#[async_trait]
pub trait PodView: Send + Sync {
    /// Returns all pods that have a sandbox or a container, known by their labels. Sandboxes and containers without the
    /// Kubernetes labels aren't ours and aren't listed. The very list of the call before says that nothing changed since.
    async fn list_pods(&self) -> Result<Arc<Vec<RuntimePod>>, RuntimeError>;
    /// The same, or what a call found that began within this time: for those to whom that is good enough.
    async fn list_pods_within(&self, _age: Duration) -> Result<Arc<Vec<RuntimePod>>, RuntimeError> {
        self.list_pods().await
    }
    /// One pod in detail; one that the runtime doesn't have is `ObservedPod::absent`. `observed_at` is
    /// from before the first call.
    async fn pod_status(&self, uid: &PodUid) -> Result<ObservedPod, RuntimeError>;
    /// What happens from now on, as the runtime tells by itself, sent until the runtime ends the stream or no one
    /// listens. `Unimplemented` by runtimes that don't tell. What was missed is found by the next relist.
    async fn events(&self, events: mpsc::Sender<RuntimeEvent>) -> Result<(), RuntimeError>;
}

/// Pod sandboxes.
#[async_trait]
pub trait Sandboxes: Send + Sync {
    /// Makes and starts one, with its network.
    async fn run(&self, spec: &SandboxSpec) -> Result<SandboxId, RuntimeError>;
    /// Stops it and whatever still runs in it. A sandbox that isn't there is stopped.
    async fn stop(&self, id: &SandboxId) -> Result<(), RuntimeError>;
    /// Removes it with its containers. A sandbox that isn't there is removed.
    async fn remove(&self, id: &SandboxId) -> Result<(), RuntimeError>;
    /// Says that the pod's cgroup is about to have other limits, for runtimes that size something by them. Most don't implement
    /// it.
    async fn update_resources(
        &self,
        id: &SandboxId,
        overhead: &LinuxResources,
        resources: &LinuxResources,
    ) -> Result<(), RuntimeError>;
}

/// Commands in containers.
#[async_trait]
pub trait CommandRunner: Send + Sync {
    /// Runs a command in a container and waits for its end. One that takes longer than `timeout` is killed, which is
    /// `DeadlineExceeded`; no timeout waits as long as other calls may take. An exit code other than 0 is no error.
    async fn exec_sync(
        &self,
        id: &ContainerId,
        command: &[String],
        timeout: Option<Duration>,
    ) -> Result<ExecOutput, RuntimeError>;

    /// The process that a running container began as, by the node's numbers; none where the runtime doesn't say, or runs no processes.
    async fn process(&self, _id: &ContainerId) -> Result<Option<u32>, RuntimeError> {
        Ok(None)
    }
}

/// Containers.
#[async_trait]
pub trait Containers: CommandRunner {
    /// Makes one without starting it. The CRI wants the sandbox's spec again.
    async fn create(
        &self,
        sandbox: &SandboxId,
        spec: &ContainerSpec,
        sandbox_spec: &SandboxSpec,
    ) -> Result<ContainerId, RuntimeError>;
    /// Starts its process.
    async fn start(&self, id: &ContainerId) -> Result<(), RuntimeError>;
    /// Asks its process to end, and kills it after `grace`. A container that isn't there or has ended is stopped.
    async fn stop(&self, id: &ContainerId, grace: Duration) -> Result<(), RuntimeError>;
    /// Removes it. A container that isn't there is removed.
    async fn remove(&self, id: &ContainerId) -> Result<(), RuntimeError>;
    /// Changes the limits of a running container. What is zero or empty stays as it is.
    async fn update_resources(
        &self,
        id: &ContainerId,
        resources: &LinuxResources,
    ) -> Result<(), RuntimeError>;
    /// Has the runtime open the container's log again, after the file was moved away.
    async fn reopen_log(&self, id: &ContainerId) -> Result<(), RuntimeError>;
}

/// Images.
#[async_trait]
pub trait Images: Send + Sync {
    /// The image, if the runtime has it.
    async fn status(&self, image: &str) -> Result<Option<ImageInfo>, RuntimeError>;
    /// Fetches it, with credentials if the registry wants some, and returns what containers are to be created from.
    /// `sandbox` tells runtimes which pod it is for.
    async fn pull(
        &self,
        image: &str,
        auth: Option<&ImageAuth>,
        sandbox: &SandboxSpec,
    ) -> Result<String, RuntimeError>;
}

/// A runtime, part by part.
#[derive(Clone)]
pub struct Runtime {
    /// Who and how it is.
    pub info: Arc<dyn RuntimeInfo>,
    pub view: Arc<dyn PodView>,
    pub sandboxes: Arc<dyn Sandboxes>,
    pub containers: Arc<dyn Containers>,
    pub images: Arc<dyn Images>,
    /// What it keeps of images.
    pub image_store: Arc<dyn ImageStore>,
}
