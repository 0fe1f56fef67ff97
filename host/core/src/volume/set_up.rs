//! What has to be made of a pod's volumes before its containers start.

use std::collections::BTreeSet;
use std::path::{Component, Path};

use k8s_openapi::api::core::v1::{HostPathVolumeSource, PodSpec, Volume};

use super::files::{self, Sources};
use super::{
    HostPathCheck, Ownership, ReferencedObjects, VolumeKind, VolumeSetUp, VolumeSpecError, empty_dir,
};
use crate::pod::fields::PodFields;

#[cfg(test)]
mod tests;

/// A volume that a container mounts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DesiredVolume {
    /// Its name in the pod's spec.
    pub name: String,
    /// The plugin's name in the path on disk, if it is one of files.
    pub plugin: Option<&'static str>,
    /// What it is to be, or why it can't be.
    pub set_up: Result<VolumeSetUp, VolumeSpecError>,
}

/// Every volume that a container of the pod mounts, in the spec's order; others are left alone, as upstream does. Files have
/// the values that fields and objects have now.
pub fn set_ups(fields: PodFields<'_>, referenced: &ReferencedObjects) -> Vec<DesiredVolume> {
    let Some(spec) = &fields.pod.spec else { return Vec::new() };
    let volumes = mounted_volumes(spec).map(|volume| DesiredVolume {
        name: volume.name.clone(),
        plugin: files::plugin(volume),
        set_up: set_up(Sources { fields, referenced, volume: &volume.name }, spec, volume),
    });
    volumes.collect()
}

/// The volumes that any container mounts, in the spec's order.
pub(crate) fn mounted_volumes(spec: &PodSpec) -> impl Iterator<Item = &Volume> {
    let used = mounted(spec);
    spec.volumes.iter().flatten().filter(move |volume| used.contains(volume.name.as_str()))
}

fn set_up(of: Sources<'_>, spec: &PodSpec, volume: &Volume) -> Result<VolumeSetUp, VolumeSpecError> {
    let kind = if let Some(source) = &volume.host_path {
        host_path(&volume.name, source)?
    } else if let Some(source) = &volume.config_map {
        files::config_map(of, source)?
    } else if let Some(source) = &volume.secret {
        files::secret(of, source)?
    } else if let Some(source) = &volume.downward_api {
        files::downward_api(of, source)?
    } else if let Some(source) = &volume.projected {
        files::projected(of, source)?
    } else if let Some(kind) = unsupported(volume) {
        return Err(VolumeSpecError::Unsupported { volume: volume.name.clone(), kind });
    } else {
        // A volume without a source is an `emptyDir`.
        let source = volume.empty_dir.clone().unwrap_or_default();
        empty_dir::kind(of.fields, &volume.name, &source)?
    };
    let gid = group(spec)?;
    // `fsGroupChangePolicy` concerns none of these kinds.
    let ownership = |read_only| gid.map(|gid| Ownership { gid, on_root_mismatch: false, read_only });
    let ownership = match &kind {
        VolumeKind::EmptyDir | VolumeKind::Tmpfs { .. } | VolumeKind::HugePages { .. } => ownership(false),
        VolumeKind::Files { .. } => ownership(true),
        VolumeKind::HostPath { .. } => None,
    };
    Ok(VolumeSetUp { name: volume.name.clone(), kind, ownership })
}

/// Names of the volumes that any container mounts.
fn mounted(spec: &PodSpec) -> BTreeSet<&str> {
    let ephemeral = spec.ephemeral_containers.iter().flatten().map(|container| &container.volume_mounts);
    let containers = spec.init_containers.iter().flatten().chain(&spec.containers);
    let mounts = containers.map(|container| &container.volume_mounts).chain(ephemeral).flatten().flatten();
    mounts.map(|mount| mount.name.as_str()).collect()
}

fn group(spec: &PodSpec) -> Result<Option<u32>, VolumeSpecError> {
    let gid = spec.security_context.as_ref().and_then(|security| security.fs_group);
    gid.map(|gid| u32::try_from(gid).map_err(|_| VolumeSpecError::Group { gid })).transpose()
}

fn host_path(volume: &str, source: &HostPathVolumeSource) -> Result<VolumeKind, VolumeSpecError> {
    let path = Path::new(&source.path);
    if path.components().any(|part| part == Component::ParentDir) {
        return Err(VolumeSpecError::HostPath { volume: volume.to_owned(), path: source.path.clone() });
    }
    let check = match source.type_.as_deref() {
        None | Some("") => HostPathCheck::Unset,
        Some("DirectoryOrCreate") => HostPathCheck::DirectoryOrCreate,
        Some("Directory") => HostPathCheck::Directory,
        Some("FileOrCreate") => HostPathCheck::FileOrCreate,
        Some("File") => HostPathCheck::File,
        Some("Socket") => HostPathCheck::Socket,
        Some("CharDevice") => HostPathCheck::CharDevice,
        Some("BlockDevice") => HostPathCheck::BlockDevice,
        Some(kind) => {
            return Err(VolumeSpecError::HostPathType { volume: volume.to_owned(), kind: kind.to_owned() });
        }
    };
    Ok(VolumeKind::HostPath { path: path.to_owned(), check })
}

/// The kind of a volume that isn't done here, by the API's name.
fn unsupported(volume: &Volume) -> Option<&'static str> {
    // Every kind but those above: one that is forgotten here would become an empty folder.
    let Volume {
        name: _,
        empty_dir: _,
        host_path: _,
        downward_api: _,
        projected: _,
        config_map: _,
        secret: _,
        aws_elastic_block_store,
        azure_disk,
        azure_file,
        cephfs,
        cinder,
        csi,
        ephemeral,
        fc,
        flex_volume,
        flocker,
        gce_persistent_disk,
        git_repo,
        glusterfs,
        image,
        iscsi,
        nfs,
        persistent_volume_claim,
        photon_persistent_disk,
        portworx_volume,
        quobyte,
        rbd,
        scale_io,
        storageos,
        vsphere_volume,
    } = volume;
    let kinds = [
        ("awsElasticBlockStore", aws_elastic_block_store.is_some()),
        ("azureDisk", azure_disk.is_some()),
        ("azureFile", azure_file.is_some()),
        ("cephfs", cephfs.is_some()),
        ("cinder", cinder.is_some()),
        ("csi", csi.is_some()),
        ("ephemeral", ephemeral.is_some()),
        ("fc", fc.is_some()),
        ("flexVolume", flex_volume.is_some()),
        ("flocker", flocker.is_some()),
        ("gcePersistentDisk", gce_persistent_disk.is_some()),
        ("gitRepo", git_repo.is_some()),
        ("glusterfs", glusterfs.is_some()),
        ("image", image.is_some()),
        ("iscsi", iscsi.is_some()),
        ("nfs", nfs.is_some()),
        ("persistentVolumeClaim", persistent_volume_claim.is_some()),
        ("photonPersistentDisk", photon_persistent_disk.is_some()),
        ("portworxVolume", portworx_volume.is_some()),
        ("quobyte", quobyte.is_some()),
        ("rbd", rbd.is_some()),
        ("scaleIO", scale_io.is_some()),
        ("storageos", storageos.is_some()),
        ("vsphereVolume", vsphere_volume.is_some()),
    ];
    kinds.into_iter().find(|(_, used)| *used).map(|(name, _)| name)
}
