//! Volumes of files that the agent writes: `downwardAPI`, and `projected` ones that draw from nothing else.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

use k8s_openapi::api::core::v1::{
    DownwardAPIVolumeFile, DownwardAPIVolumeSource, ProjectedVolumeSource, VolumeProjection,
};

use super::{VolumeFile, VolumeKind, VolumeSpecError, empty_dir};
use crate::pod::fields::PodFields;

#[cfg(test)]
mod tests;

/// Mode of files where nobody gives one.
const MODE_DEFAULT: i32 = 0o644;
/// Longest name of a file, in bytes: what Linux takes.
const NAME_BYTES_MAX: usize = 255;
/// Longest path, in bytes: what Linux takes.
const PATH_BYTES_MAX: usize = 4096;

pub(super) fn downward_api(
    fields: PodFields<'_>,
    volume: &str,
    source: &DownwardAPIVolumeSource,
) -> Result<VolumeKind, VolumeSpecError> {
    let mut files = BTreeMap::new();
    add(&mut files, volume, source.items.as_deref().unwrap_or_default(), source.default_mode, fields)?;
    Ok(kind("kubernetes.io~downward-api", files, fields))
}

pub(super) fn projected(
    fields: PodFields<'_>,
    volume: &str,
    source: &ProjectedVolumeSource,
) -> Result<VolumeKind, VolumeSpecError> {
    let mut files = BTreeMap::new();
    for projection in source.sources.iter().flatten() {
        if let Some(kind) = unsupported(projection) {
            return Err(VolumeSpecError::Unsupported { volume: volume.to_owned(), kind });
        }
        let items = projection.downward_api.as_ref().and_then(|downward| downward.items.as_deref());
        add(&mut files, volume, items.unwrap_or_default(), source.default_mode, fields)?;
    }
    Ok(kind("kubernetes.io~projected", files, fields))
}

/// A path that comes twice has its last content.
fn add(
    files: &mut BTreeMap<PathBuf, VolumeFile>,
    volume: &str,
    items: &[DownwardAPIVolumeFile],
    default_mode: Option<i32>,
    fields: PodFields<'_>,
) -> Result<(), VolumeSpecError> {
    for item in items {
        let path = relative(&item.path).map_err(|problem| VolumeSpecError::FilePath {
            volume: volume.to_owned(),
            path: item.path.clone(),
            problem,
        })?;
        let content = fields.file(item).map_err(|cause| VolumeSpecError::Value {
            volume: volume.to_owned(),
            path: item.path.clone(),
            cause,
        })?;
        let mode = item.mode.or(default_mode).unwrap_or(MODE_DEFAULT).cast_unsigned() & 0o777;
        files.insert(path.clone(), VolumeFile { path, content: content.into_bytes(), mode });
    }
    Ok(())
}

fn kind(plugin: &'static str, files: BTreeMap<PathBuf, VolumeFile>, fields: PodFields<'_>) -> VolumeKind {
    let size_bytes = empty_dir::memory_bytes(fields, None);
    VolumeKind::Files { plugin, files: files.into_values().collect(), size_bytes }
}

/// The path without `.` and doubled slashes. Names that begin with `..` at the top belong to the writer.
fn relative(text: &str) -> Result<PathBuf, &'static str> {
    let path = Path::new(text);
    if path.is_absolute() {
        return Err("must be a relative path");
    }
    if text.len() > PATH_BYTES_MAX {
        return Err("must have at most 4096 bytes");
    }
    let mut clean = PathBuf::new();
    for part in path.components() {
        match part {
            Component::Normal(name) if name.len() > NAME_BYTES_MAX => {
                return Err("names must have at most 255 bytes");
            }
            Component::Normal(name) => clean.push(name),
            Component::ParentDir => return Err("must not contain '..'"),
            Component::CurDir | Component::RootDir | Component::Prefix(_) => {}
        }
    }
    if clean.as_os_str().is_empty() {
        return Err("must not be empty");
    }
    if clean.as_os_str().as_encoded_bytes().starts_with(b"..") {
        return Err("must not start with '..'");
    }
    if clean.as_os_str().as_encoded_bytes().contains(&0) {
        return Err("must not contain a zero byte");
    }
    Ok(clean)
}

fn unsupported(projection: &VolumeProjection) -> Option<&'static str> {
    let VolumeProjection {
        downward_api: _,
        cluster_trust_bundle,
        config_map,
        pod_certificate,
        secret,
        service_account_token,
    } = projection;
    let kinds = [
        ("projected clusterTrustBundle", cluster_trust_bundle.is_some()),
        ("projected configMap", config_map.is_some()),
        ("projected podCertificate", pod_certificate.is_some()),
        ("projected secret", secret.is_some()),
        ("projected serviceAccountToken", service_account_token.is_some()),
    ];
    kinds.into_iter().find(|(_, used)| *used).map(|(name, _)| name)
}
