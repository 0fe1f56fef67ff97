//! One view of all containers that a pod's spec has, whatever their kind.

use std::borrow::Cow;

use k8s_openapi::api::core::v1::{Container, EphemeralContainer, Pod};

use crate::pod::resources::is_sidecar;

/// What part a container plays in its pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ContainerKind {
    /// Of `spec.initContainers`: runs to its end before the next one starts.
    Init,
    /// Of `spec.initContainers` with `restartPolicy: Always`: the next one starts once it has started, and it runs until
    /// the app containers have ended (KEP-753).
    Sidecar,
    /// Of `spec.containers`.
    App,
    /// Of `spec.ephemeralContainers`: runs once, for someone who looks for a fault (KEP-277).
    Ephemeral,
}

impl ContainerKind {
    /// The word of the contracts with plugins.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Init => "init",
            Self::Sidecar => "sidecar",
            Self::App => "app",
            Self::Ephemeral => "ephemeral",
        }
    }

    /// The field of the spec that has it.
    pub fn list(self) -> &'static str {
        match self {
            Self::Init | Self::Sidecar => "initContainers",
            Self::App => "containers",
            Self::Ephemeral => "ephemeralContainers",
        }
    }

    /// Whether a plan ends at one that can't be started: nothing that follows an init container makes sense without it.
    /// The others hold no one up.
    pub fn failed_start_ends_plan(self) -> bool {
        match self {
            Self::Init => true,
            Self::Sidecar | Self::App | Self::Ephemeral => false,
        }
    }

    /// Whether its CPU and memory can change while it runs (upstream: `isResizableContainer`).
    pub fn is_resizable(self) -> bool {
        match self {
            Self::Sidecar | Self::App => true,
            Self::Init | Self::Ephemeral => false,
        }
    }
}

/// A container of a pod's spec.
#[derive(Clone, Debug, PartialEq)]
pub struct PodContainer<'a> {
    /// What part it plays.
    pub kind: ContainerKind,
    /// Index in its own list: `initContainers` for `Init` and `Sidecar`, `containers`, or `ephemeralContainers`.
    pub index: usize,
    /// Its spec. An ephemeral container's is a container's but for `targetContainerName`.
    pub container: Cow<'a, Container>,
}

/// Returns all containers of a pod: init containers and sidecars in their order, app containers, ephemeral containers.
pub fn containers(pod: &Pod) -> impl Iterator<Item = PodContainer<'_>> {
    let init = init_containers(pod).iter().enumerate().map(|(index, container)| PodContainer {
        kind: kind_of_init(container),
        index,
        container: Cow::Borrowed(container),
    });
    let app = app_containers(pod).iter().enumerate().map(|(index, container)| PodContainer {
        kind: ContainerKind::App,
        index,
        container: Cow::Borrowed(container),
    });
    let ephemeral = ephemeral_containers(pod).iter().enumerate().map(|(index, container)| PodContainer {
        kind: ContainerKind::Ephemeral,
        index,
        container: Cow::Owned(as_container(container)),
    });
    init.chain(app).chain(ephemeral)
}

/// The container of this name; names are unique in a pod, whatever the kind.
pub fn container_named<'a>(pod: &'a Pod, name: &str) -> Option<PodContainer<'a>> {
    containers(pod).find(|found| found.container.name == name)
}

/// The container of this kind at this index of its own list; none for another kind than the spec has there.
pub fn container_at(pod: &Pod, kind: ContainerKind, index: usize) -> Option<PodContainer<'_>> {
    containers(pod).find(|found| found.kind == kind && found.index == index)
}

/// The names of all containers of a pod.
pub fn container_names(pod: &Pod) -> impl Iterator<Item = &str> {
    let regular =
        init_containers(pod).iter().chain(app_containers(pod)).map(|container| container.name.as_str());
    regular.chain(ephemeral_containers(pod).iter().map(|container| container.name.as_str()))
}

/// Returns what an init container is: a sidecar if it restarts always.
pub fn kind_of_init(container: &Container) -> ContainerKind {
    if is_sidecar(container) { ContainerKind::Sidecar } else { ContainerKind::Init }
}

/// The containers of `spec.initContainers`, sidecars among them.
pub fn init_containers(pod: &Pod) -> &[Container] {
    pod.spec.as_ref().and_then(|spec| spec.init_containers.as_deref()).unwrap_or_default()
}

/// The containers of `spec.containers`.
pub fn app_containers(pod: &Pod) -> &[Container] {
    pod.spec.as_ref().map(|spec| spec.containers.as_slice()).unwrap_or_default()
}

/// The containers of `spec.ephemeralContainers`.
pub fn ephemeral_containers(pod: &Pod) -> &[EphemeralContainer] {
    pod.spec.as_ref().and_then(|spec| spec.ephemeral_containers.as_deref()).unwrap_or_default()
}

/// An ephemeral container as the container that it is made like.
pub fn as_container(ephemeral: &EphemeralContainer) -> Container {
    let EphemeralContainer {
        args,
        command,
        env,
        env_from,
        image,
        image_pull_policy,
        lifecycle,
        liveness_probe,
        name,
        ports,
        readiness_probe,
        resize_policy,
        resources,
        restart_policy,
        restart_policy_rules,
        security_context,
        startup_probe,
        stdin,
        stdin_once,
        target_container_name: _,
        termination_message_path,
        termination_message_policy,
        tty,
        volume_devices,
        volume_mounts,
        working_dir,
    } = ephemeral.clone();
    Container {
        args,
        command,
        env,
        env_from,
        image,
        image_pull_policy,
        lifecycle,
        liveness_probe,
        name,
        ports,
        readiness_probe,
        resize_policy,
        resources,
        restart_policy,
        restart_policy_rules,
        security_context,
        startup_probe,
        stdin,
        stdin_once,
        termination_message_path,
        termination_message_policy,
        tty,
        volume_devices,
        volume_mounts,
        working_dir,
    }
}
