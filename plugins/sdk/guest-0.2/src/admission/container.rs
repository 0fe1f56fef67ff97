//! A container, its ports and its mounts.

use std::fmt;

use super::backend;
use super::image::Image;
use crate::ContainerKind;

/// A container of a pod. What its security context says goes before what the pod's says. Shows as `container "app"`,
/// `init container "setup"`, `sidecar "proxy"` or `ephemeral container "debug"` in messages.
///
/// ```
/// # use serde_json::json;
/// # use witlet_plugin_sdk_0_2::facts::RequestFacts;
/// let facts = RequestFacts::of(&json!({"spec": {
///     "securityContext": {"runAsNonRoot": true},
///     "initContainers": [{"name": "setup", "securityContext": {"runAsNonRoot": false}}],
///     "containers": [{"name": "app"}],
/// }}));
/// let found = facts.request().pod().containers().filter(|container| !container.run_as_non_root());
/// assert_eq!(found.map(|container| container.to_string()).collect::<Vec<_>>(), [r#"init container "setup""#]);
/// ```
#[derive(Debug)]
pub struct Container(pub(super) backend::Container);

impl Container {
    getters! {
        /// Its name.
        name() -> String;
        /// Where in the pod: `spec.initContainers[0]`.
        place() -> String;
        /// `Always`, `IfNotPresent` or `Never`; empty if the spec leaves it to Kubernetes.
        pull_policy() -> String;
        /// The names of resources that it requests or limits, sorted.
        resources() -> Vec<String>;
        /// What it requests of a resource.
        request(resource: &str) -> Option<i64>;
        /// What it is limited to of a resource.
        limit(resource: &str) -> Option<i64>;
        /// Whether it has all powers of the host's root.
        privileged() -> bool;
        /// Whether it may not start as root.
        run_as_non_root() -> bool;
        /// The user; none for the image's.
        run_as_user() -> Option<i64>;
        /// The group; none for the image's.
        run_as_group() -> Option<i64>;
        /// Whether a process in it can have more rights than its parent: so unless the spec forbids it.
        allow_privilege_escalation() -> bool;
        /// Whether it can't write to its own file system.
        read_only_root_filesystem() -> bool;
        /// `RuntimeDefault`, `Unconfined` or `Localhost/<path>`; none if nothing is said, and the node has a default.
        seccomp_profile() -> Option<String>;
        /// The same of AppArmor; an annotation of old counts, too.
        apparmor_profile() -> Option<String>;
        /// Capabilities as written, such as `NET_ADMIN` or `ALL`.
        added_capabilities() -> Vec<String>;
        /// Capabilities as written.
        dropped_capabilities() -> Vec<String>;
        /// The names in `env`, in the spec's order. What `envFrom` brings is known when the container starts.
        env_names() -> Vec<String>;
    }

    parts! {
        /// Ports that it listens on, by its spec.
        ports -> ContainerPort;
        /// `volumeMounts`, then `volumeDevices`.
        mounts -> Mount;
    }

    pointers! {}

    /// What part it plays.
    pub fn kind(&self) -> ContainerKind {
        self.0.kind().into()
    }

    /// Its image.
    pub fn image(&self) -> Image {
        Image(self.0.image())
    }
}

impl fmt::Display for Container {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.name();
        match self.kind() {
            ContainerKind::App => write!(f, "container {name:?}"),
            ContainerKind::Sidecar => write!(f, "sidecar {name:?}"),
            kind => write!(f, "{kind} container {name:?}"),
        }
    }
}

/// A port that a container listens on, as its spec says.
#[derive(Debug)]
pub struct ContainerPort(pub(super) backend::ContainerPort);

impl ContainerPort {
    getters! {
        /// Empty if it has none.
        name() -> String;
        /// In the container.
        number() -> u16;
        /// `TCP`, `UDP` or `SCTP`.
        protocol() -> String;
        /// The port on the host that it asks for.
        host_port() -> Option<u16>;
    }
}

/// Where a container has a volume.
#[derive(Debug)]
pub struct Mount(pub(super) backend::Mount);

impl Mount {
    getters! {
        /// The volume's name.
        volume() -> String;
        /// In the container: a folder, a file, or a device.
        path() -> String;
        /// The part of the volume that it is; empty for all of it.
        sub_path() -> String;
        /// Whether nothing is written through it.
        read_only() -> bool;
        /// Whether it is the volume's block device.
        is_device() -> bool;
    }
}
