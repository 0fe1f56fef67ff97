//! What policies check in a pod: containers with what counts of their security contexts, and images with where they stand.

use std::sync::Arc;

use k8s_openapi::api::core::v1::{
    Container, ContainerPort, Pod, PodSpec, SeccompProfile, Volume, VolumeDevice, VolumeMount,
};
use serde_json::Value;

use crate::container::plan::{ContainerKind, PodContainer, containers};
use crate::container::spec::{EffectiveSecurity, apparmor};
use crate::image::reference::ImageReference;
use crate::pod::resources::{self, Amounts};
use crate::runtime::{AppArmorProfile, Protocol};

#[cfg(test)]
mod tests;

/// The service account of a pod that names none.
pub const SERVICE_ACCOUNT_DEFAULT: &str = "default";

/// An image that a pod names. It may be none that a runtime could pull.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PodImage {
    /// As written; empty if nothing is.
    pub written: String,
    /// Path of the field: `spec.containers[0].image`.
    pub place: String,
    /// Taken apart; none if it isn't in a registry.
    pub reference: Option<ImageReference>,
}

impl PodImage {
    fn new(written: Option<&str>, place: String) -> Self {
        let written = written.unwrap_or_default().to_owned();
        let reference = ImageReference::parse(&written).ok();
        Self { written, place, reference }
    }

    /// Returns the name with all its parts, such as `docker.io/library/busybox:latest`; as written if it isn't in a registry.
    pub fn full_name(&self) -> String {
        self.reference.as_ref().map_or_else(|| self.written.clone(), ImageReference::full_name)
    }
}

/// A container of a pod. Its parts are shared, for those who hold one of them.
#[derive(Clone, Debug, PartialEq)]
pub struct ContainerFacts {
    pub name: String,
    /// What part it plays.
    pub kind: ContainerKind,
    /// Index in its own list.
    pub index: usize,
    pub image: Arc<PodImage>,
    /// `Always`, `IfNotPresent` or `Never`; empty if the spec says nothing.
    pub pull_policy: String,
    pub requests: Amounts,
    /// What it is limited to.
    pub limits: Amounts,
    /// What counts of its security context and the pod's.
    pub security: SecurityFacts,
    /// Names of `env`, in the spec's order.
    pub env_names: Vec<String>,
    /// In the spec's order.
    pub ports: Vec<Arc<PortFacts>>,
    /// `volumeMounts`, then `volumeDevices`.
    pub mounts: Vec<Arc<MountFacts>>,
}

impl ContainerFacts {
    /// Path of the container in the pod: `spec.containers[0]`.
    pub fn place(&self) -> String {
        place(self.kind, self.index)
    }
}

/// What counts of a container's security context.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SecurityFacts {
    /// It has all powers of the host's root.
    pub privileged: bool,
    /// It may not start as root.
    pub run_as_non_root: bool,
    /// None for the image's.
    pub run_as_user: Option<i64>,
    /// None for the image's.
    pub run_as_group: Option<i64>,
    /// A process in it can have more rights than its parent.
    pub allow_privilege_escalation: bool,
    /// It can't write to its own file system.
    pub read_only_root: bool,
    pub capabilities_add: Vec<String>,
    pub capabilities_drop: Vec<String>,
    /// `RuntimeDefault`, `Unconfined` or `Localhost/<path>`; none if nothing is said.
    pub seccomp: Option<String>,
    /// `RuntimeDefault`, `Unconfined` or `Localhost/<name>`; none if nothing is said that can be meant.
    pub apparmor: Option<String>,
}

/// A port of a container.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PortFacts {
    /// Empty if it has none.
    pub name: String,
    /// In the container; 0 if the spec's is no port.
    pub number: u16,
    /// TCP, UDP or SCTP.
    pub protocol: Protocol,
    /// On the host, if it asks for one.
    pub host_port: Option<u16>,
}

/// Where a container has a volume.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MountFacts {
    pub volume: String,
    pub path: String,
    /// `subPath` or `subPathExpr`; empty for all of the volume.
    pub sub_path: String,
    /// Nothing is written through it.
    pub read_only: bool,
    /// It is the volume's block device.
    pub is_device: bool,
}

/// A volume of a pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VolumeFacts {
    pub name: String,
    /// Index in `spec.volumes`.
    pub index: usize,
    /// The field of its source; empty if it has none.
    pub kind: String,
    /// Of a `hostPath`.
    pub host_path: Option<String>,
    /// Of an `image`.
    pub image: Option<Arc<PodImage>>,
}

/// Returns all containers: init containers and sidecars, app containers, ephemeral containers, each in the spec's order.
pub fn container_facts(pod: &Pod) -> Vec<Arc<ContainerFacts>> {
    containers(pod).map(|found| Arc::new(facts_of(pod, &found))).collect()
}

fn place(kind: ContainerKind, index: usize) -> String {
    format!("spec.{}[{index}]", kind.list())
}

fn facts_of(pod: &Pod, PodContainer { kind, index, container }: &PodContainer<'_>) -> ContainerFacts {
    let resources = container.resources.as_ref();
    let ports = container.ports.iter().flatten().map(|port| Arc::new(port_facts(port)));
    let mounts = container.volume_mounts.iter().flatten().map(mount_facts);
    let devices = container.volume_devices.iter().flatten().map(device_facts);
    let place = format!("{}.image", place(*kind, *index));
    ContainerFacts {
        name: container.name.clone(),
        kind: *kind,
        index: *index,
        image: Arc::new(PodImage::new(container.image.as_deref(), place)),
        pull_policy: container.image_pull_policy.clone().unwrap_or_default(),
        requests: resources::amounts(resources.and_then(|resources| resources.requests.as_ref())),
        limits: resources::amounts(resources.and_then(|resources| resources.limits.as_ref())),
        security: security_facts(pod, container),
        env_names: container.env.iter().flatten().map(|variable| variable.name.clone()).collect(),
        ports: ports.collect(),
        mounts: mounts.chain(devices).map(Arc::new).collect(),
    }
}

fn security_facts(pod: &Pod, container: &Container) -> SecurityFacts {
    let effective = EffectiveSecurity::of(pod, container);
    SecurityFacts {
        privileged: effective.privileged,
        run_as_non_root: effective.run_as_non_root,
        run_as_user: effective.run_as_user,
        run_as_group: effective.run_as_group,
        allow_privilege_escalation: effective.allow_privilege_escalation,
        read_only_root: effective.read_only_root,
        capabilities_add: effective.capabilities_add.to_vec(),
        capabilities_drop: effective.capabilities_drop.to_vec(),
        seccomp: effective.seccomp.map(seccomp_word),
        // A field that can't be meant keeps the container from starting.
        apparmor: apparmor(pod, container).ok().flatten().map(apparmor_word),
    }
}

fn seccomp_word(profile: &SeccompProfile) -> String {
    match (profile.type_.as_str(), profile.localhost_profile.as_deref()) {
        (kind @ "Localhost", Some(path)) => format!("{kind}/{path}"),
        (kind, _) => kind.to_owned(),
    }
}

fn apparmor_word(profile: AppArmorProfile) -> String {
    match profile {
        AppArmorProfile::RuntimeDefault => "RuntimeDefault".to_owned(),
        AppArmorProfile::Unconfined => "Unconfined".to_owned(),
        AppArmorProfile::Localhost(name) => format!("Localhost/{name}"),
    }
}

fn port_facts(port: &ContainerPort) -> PortFacts {
    let number = |number: i32| u16::try_from(number).ok().filter(|number| *number != 0);
    PortFacts {
        name: port.name.clone().unwrap_or_default(),
        number: number(port.container_port).unwrap_or_default(),
        protocol: resources::protocol(port.protocol.as_deref()),
        host_port: port.host_port.and_then(number),
    }
}

fn mount_facts(mount: &VolumeMount) -> MountFacts {
    let sub_path =
        [&mount.sub_path, &mount.sub_path_expr].into_iter().flatten().find(|path| !path.is_empty());
    MountFacts {
        volume: mount.name.clone(),
        path: mount.mount_path.clone(),
        sub_path: sub_path.cloned().unwrap_or_default(),
        read_only: mount.read_only.unwrap_or_default(),
        is_device: false,
    }
}

fn device_facts(device: &VolumeDevice) -> MountFacts {
    MountFacts {
        volume: device.name.clone(),
        path: device.device_path.clone(),
        sub_path: String::new(),
        read_only: false,
        is_device: true,
    }
}

/// Returns all volumes, in the spec's order.
pub fn volume_facts(pod: &Pod) -> Vec<Arc<VolumeFacts>> {
    let volumes = spec(pod).into_iter().flat_map(|spec| spec.volumes.iter().flatten()).enumerate();
    volumes.map(|(index, volume)| Arc::new(facts_of_volume(index, volume))).collect()
}

fn facts_of_volume(index: usize, volume: &Volume) -> VolumeFacts {
    let image = volume.image.as_ref().map(|image| {
        let place = format!("spec.volumes[{index}].image.reference");
        Arc::new(PodImage::new(image.reference.as_deref(), place))
    });
    VolumeFacts {
        name: volume.name.clone(),
        index,
        kind: volume_kind(volume),
        host_path: volume.host_path.as_ref().map(|source| source.path.clone()),
        image,
    }
}

/// A volume has its name and one field more. Its JSON says which, whatever kinds a release of Kubernetes has.
fn volume_kind(volume: &Volume) -> String {
    let fields = match serde_json::to_value(volume) {
        Ok(Value::Object(fields)) => fields,
        Ok(_) | Err(_) => return String::new(),
    };
    fields.into_iter().map(|(field, _)| field).find(|field| field != "name").unwrap_or_default()
}

/// The pod's service account.
pub fn service_account(pod: &Pod) -> &str {
    let name = spec(pod).and_then(|spec| spec.service_account_name.as_deref());
    name.filter(|name| !name.is_empty()).unwrap_or(SERVICE_ACCOUNT_DEFAULT)
}

/// Whether a volume brings a token of the pod's service account.
pub fn has_service_account_token(pod: &Pod) -> bool {
    let volumes = spec(pod).into_iter().flat_map(|spec| spec.volumes.iter().flatten());
    let sources = volumes
        .filter_map(|volume| volume.projected.as_ref())
        .flat_map(|projected| projected.sources.iter().flatten());
    let mut tokens = sources.filter(|source| source.service_account_token.is_some());
    tokens.next().is_some()
}

fn spec(pod: &Pod) -> Option<&PodSpec> {
    pod.spec.as_ref()
}
