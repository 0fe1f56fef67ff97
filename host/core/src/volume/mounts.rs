//! What of the pod's volumes and files one container sees, and where.

use std::path::{Component, Path, PathBuf};

use k8s_openapi::api::core::v1::{Container, Pod, Volume, VolumeMount};

use super::expand::{ExpandError, expand};
use super::{SubPath, VolumeSpecError};
use crate::runtime::{Mount, MountPropagation};

#[cfg(test)]
mod tests;

const HOSTS_PATH: &str = "/etc/hosts";

/// A container whose mounts are asked for.
#[derive(Clone, Copy, Debug)]
pub struct MountInput<'a> {
    pub pod: &'a Pod,
    /// Its spec; an ephemeral container's in the shape of the others.
    pub container: &'a Container,
    /// Its environment, for `subPathExpr`.
    pub env: &'a [(String, String)],
    /// Whether the pod's addresses are known (on the host network: the node's): only then it has a hosts file.
    pub has_address: bool,
    /// Whether the handler of its runtime class can make read-only what is mounted below a read-only mount.
    pub recursive_read_only: bool,
    /// Whether SELinux is on, so that volumes of the pod's own are labelled for it.
    pub selinux: bool,
}

/// What is mounted: the executor makes it and learns its path on the host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MountSource {
    /// A volume of the pod, by name.
    Volume(String),
    /// A place below one.
    SubPath(SubPath),
    /// The pod's hosts file.
    HostsFile,
    /// A fresh file for the termination message.
    TerminationLog,
}

/// A mount without its path on the host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlannedMount {
    pub source: MountSource,
    /// Absolute path in the container.
    pub container_path: PathBuf,
    pub read_only: bool,
    /// Nor has anything that is mounted below.
    pub recursive_read_only: bool,
    /// Which later mounts appear on the other side.
    pub propagation: MountPropagation,
    /// Whether the runtime labels it for SELinux.
    pub selinux_relabel: bool,
}

impl PlannedMount {
    /// The mount of what turned out to be there on the host.
    pub fn at(self, host_path: PathBuf) -> Mount {
        Mount {
            container_path: self.container_path,
            host_path,
            read_only: self.read_only,
            recursive_read_only: self.recursive_read_only,
            propagation: self.propagation,
            selinux_relabel: self.selinux_relabel,
        }
    }
}

/// The container's mounts in upstream's order: those of its spec, the hosts file, the termination log.
///
/// # Errors
/// A mount isn't valid; the error names its volume.
pub fn mounts(input: MountInput<'_>) -> Result<Vec<PlannedMount>, VolumeSpecError> {
    let desired = input.container.volume_mounts.as_deref().unwrap_or_default();
    let mut planned = Vec::with_capacity(desired.len() + 2);
    for (index, mount) in desired.iter().enumerate() {
        planned.push(volume_mount(input, index, mount)?);
    }
    let file = |source, container_path: &str| PlannedMount {
        source,
        container_path: PathBuf::from(container_path),
        read_only: false,
        recursive_read_only: false,
        propagation: MountPropagation::Private,
        selinux_relabel: input.selinux,
    };
    if input.has_address && desired.iter().all(|mount| mount.mount_path != HOSTS_PATH) {
        planned.push(file(MountSource::HostsFile, HOSTS_PATH));
    }
    let message = input.container.termination_message_path.as_deref().filter(|path| !path.is_empty());
    planned.extend(message.map(|path| file(MountSource::TerminationLog, path)));
    Ok(planned)
}

fn volume_mount(
    input: MountInput<'_>,
    index: usize,
    mount: &VolumeMount,
) -> Result<PlannedMount, VolumeSpecError> {
    let volumes = input.pod.spec.as_ref().and_then(|spec| spec.volumes.as_deref()).unwrap_or_default();
    let volume = volumes.iter().find(|volume| volume.name == mount.name);
    let volume = volume.ok_or_else(|| VolumeSpecError::NoVolume {
        volume: mount.name.clone(),
        container: input.container.name.clone(),
    })?;
    let source = match sub_path(input, mount)? {
        Some(path) => MountSource::SubPath(SubPath {
            volume: mount.name.clone(),
            container: input.container.name.clone(),
            index,
            path,
        }),
        None => MountSource::Volume(mount.name.clone()),
    };
    Ok(PlannedMount {
        source,
        // A path that isn't absolute is taken from the root.
        container_path: Path::new("/").join(&mount.mount_path),
        read_only: mount.read_only.unwrap_or_default() || is_read_only(volume),
        recursive_read_only: recursive_read_only(mount, input.recursive_read_only)?,
        propagation: propagation(mount)?,
        selinux_relabel: input.selinux && volume.host_path.is_none(),
    })
}

/// Volumes that the agent writes are for reading.
fn is_read_only(volume: &Volume) -> bool {
    let Volume { config_map, downward_api, projected, secret, .. } = volume;
    config_map.is_some() || downward_api.is_some() || projected.is_some() || secret.is_some()
}

/// The place below the volume, expanded; none is the volume itself.
fn sub_path(input: MountInput<'_>, mount: &VolumeMount) -> Result<Option<PathBuf>, VolumeSpecError> {
    let plain = mount.sub_path.clone().unwrap_or_default();
    let problem = |path: &str, problem| VolumeSpecError::SubPath { path: path.to_owned(), problem };
    let text = match mount.sub_path_expr.as_deref().filter(|text| !text.is_empty()) {
        None => plain,
        Some(text) => expand(text, input.env).map_err(|error| match error {
            ExpandError::Missing(variables) => {
                VolumeSpecError::NoVariable { variables: Vec::from_iter(variables).join(", ") }
            }
            ExpandError::TooLong => problem(text, "is longer than 4096 bytes when expanded"),
        })?,
    };
    if text.is_empty() {
        return Ok(None);
    }
    let path = Path::new(&text);
    if path.is_absolute() {
        return Err(VolumeSpecError::AbsoluteSubPath { path: text });
    }
    if path.components().any(|part| part == Component::ParentDir) {
        return Err(problem(&text, "must not contain '..'"));
    }
    if text.contains('\0') {
        return Err(problem(&text, "must not contain a zero byte"));
    }
    Ok(Some(path.to_owned()))
}

fn propagation(mount: &VolumeMount) -> Result<MountPropagation, VolumeSpecError> {
    match mount.mount_propagation.as_deref() {
        None | Some("None") => Ok(MountPropagation::Private),
        Some("HostToContainer") => Ok(MountPropagation::HostToContainer),
        Some("Bidirectional") => Ok(MountPropagation::Bidirectional),
        Some(mode) => Err(VolumeSpecError::Propagation { mode: mode.to_owned() }),
    }
}

fn recursive_read_only(mount: &VolumeMount, can: bool) -> Result<bool, VolumeSpecError> {
    let Some(mode) = mount.recursive_read_only.as_deref().filter(|mode| *mode != "Disabled") else {
        return Ok(false);
    };
    let problem = |problem: &str| VolumeSpecError::RecursiveReadOnly {
        volume: mount.name.clone(),
        problem: problem.to_owned(),
    };
    if !mount.read_only.unwrap_or_default() {
        return Err(problem("not read-only"));
    }
    if let Some(propagation) = mount.mount_propagation.as_deref().filter(|mode| *mode != "None") {
        return Err(problem(&format!("not compatible with propagation {propagation:?}")));
    }
    match mode {
        "IfPossible" => Ok(can),
        "Enabled" if can => Ok(true),
        "Enabled" => Err(problem("not supported by the runtime")),
        mode => Err(VolumeSpecError::RecursiveReadOnlyMode { mode: mode.to_owned() }),
    }
}
