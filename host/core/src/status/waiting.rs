//! Why containers wait: the words of the API, and sentences for people.

use std::fmt;
use std::time::Duration;

use k8s_openapi::api::core::v1::{ContainerState, ContainerStateWaiting, Pod};

use crate::go;

/// Why a container that should run doesn't (the words of upstream's `kubelet`, `kuberuntime` and `images` packages).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum WaitingReason {
    /// Nothing went wrong yet.
    ContainerCreating,
    /// Nothing went wrong yet, in a pod that has init containers.
    PodInitializing,
    /// Admission put it off.
    Blocked,
    /// It crashed, and its delay isn't over.
    CrashLoopBackOff,
    /// Its image could not be pulled.
    ErrImagePull,
    /// Its image could not be pulled: the runtime says that the registry can't be reached.
    RegistryUnavailable,
    /// Its image could not be pulled, because it isn't signed as the runtime wants it.
    SignatureValidationFailed,
    /// Its image could not be pulled, and the delay isn't over.
    ImagePullBackOff,
    /// Its image isn't there, and `imagePullPolicy: Never` forbids to pull it.
    ErrImageNeverPull,
    /// Its image is there, and admission rejected it.
    ImageRejected,
    /// Its image is there, and admission put it off.
    ImageDeferred,
    /// Its image's name isn't one.
    InvalidImageName,
    /// The runtime could not say whether it has the image.
    ImageInspectError,
    /// Its spec can't be turned into something that the runtime makes.
    CreateContainerConfigError,
    /// The runtime could not make it.
    CreateContainerError,
    /// The runtime could not start it.
    RunContainerError,
    /// It was started and stopped again, since its postStart hook failed.
    PostStartHookError,
    /// The pod has no sandbox, since the runtime could not make one.
    CreatePodSandboxError,
    /// It was removed, since the end of a container restarts all of its pod.
    RestartingAllContainers,
}

impl WaitingReason {
    /// The API's word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ContainerCreating => "ContainerCreating",
            Self::PodInitializing => "PodInitializing",
            Self::Blocked => "Blocked",
            Self::CrashLoopBackOff => "CrashLoopBackOff",
            Self::ErrImagePull => "ErrImagePull",
            Self::RegistryUnavailable => "RegistryUnavailable",
            Self::SignatureValidationFailed => "SignatureValidationFailed",
            Self::ImagePullBackOff => "ImagePullBackOff",
            Self::ErrImageNeverPull => "ErrImageNeverPull",
            Self::ImageRejected => "ImageRejected",
            Self::ImageDeferred => "ImageDeferred",
            Self::InvalidImageName => "InvalidImageName",
            Self::ImageInspectError => "ImageInspectError",
            Self::CreateContainerConfigError => "CreateContainerConfigError",
            Self::CreateContainerError => "CreateContainerError",
            Self::RunContainerError => "RunContainerError",
            Self::PostStartHookError => "PostStartHookError",
            Self::CreatePodSandboxError => "CreatePodSandboxError",
            Self::RestartingAllContainers => "RestartingAllContainers",
        }
    }
}

impl fmt::Display for WaitingReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Why a container waits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Waiting {
    pub reason: WaitingReason,
    /// One sentence for people.
    pub message: String,
}

impl Waiting {
    /// A crashed container whose delay isn't over, in upstream's words.
    pub fn crash_loop(pod: &Pod, container: &str, delay: Duration) -> Self {
        let text = |text: &Option<String>| text.clone().unwrap_or_default();
        let (name, namespace) = (text(&pod.metadata.name), text(&pod.metadata.namespace));
        let message = format!(
            "back-off {} restarting failed container={container} pod={name}_{namespace}({})",
            // Whole seconds, as upstream's delays are.
            go::duration(i64::try_from(Duration::from_secs(delay.as_secs()).as_nanos()).unwrap_or(i64::MAX)),
            text(&pod.metadata.uid)
        );
        Self { reason: WaitingReason::CrashLoopBackOff, message }
    }

    /// A container of this pod to which nothing has happened yet.
    pub(super) fn untouched(pod: &Pod) -> Self {
        let has_init = pod.spec.as_ref().and_then(|spec| spec.init_containers.as_ref());
        let reason = match has_init.is_some_and(|init| !init.is_empty()) {
            true => WaitingReason::PodInitializing,
            false => WaitingReason::ContainerCreating,
        };
        Self { reason, message: String::new() }
    }

    /// The state of a container that waits for this reason.
    pub(super) fn state(&self) -> ContainerState {
        let message = (!self.message.is_empty()).then(|| self.message.clone());
        ContainerState {
            waiting: Some(ContainerStateWaiting { reason: Some(self.reason.as_str().to_owned()), message }),
            ..ContainerState::default()
        }
    }
}

#[cfg(test)]
mod tests;
