//! Volumes of files that the agent writes: `configMap`, `downwardAPI`, `projected` and `secret`.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

use k8s_openapi::api::core::v1::{
    ConfigMap, ConfigMapVolumeSource, DownwardAPIVolumeFile, DownwardAPIVolumeSource, KeyToPath, PodSpec,
    ProjectedVolumeSource, Secret, SecretVolumeSource, ServiceAccountTokenProjection, Volume,
    VolumeProjection,
};

use super::referenced::{Fetched, ReferencedObjects, TokenWish};
use super::{FilesMedium, VolumeFile, VolumeKind, VolumeSpecError, empty_dir};
use crate::pod::fields::PodFields;

#[cfg(test)]
mod tests;

/// The config map of each namespace that has the certificates of the cluster.
pub const ROOT_CA: &str = "kube-root-ca.crt";

/// Mode of files where no one gives one.
const MODE_DEFAULT: i32 = 0o644;
/// Mode of tokens that are given to a user or a group.
const MODE_OWNED_TOKEN: i32 = 0o600;
/// How long a token lasts where no one says (the API's default).
const TOKEN_SECONDS_DEFAULT: i64 = 3600;
/// Longest name of a file, in bytes: what Linux takes.
const NAME_BYTES_MAX: usize = 255;
/// Longest path, in bytes: what Linux takes.
const PATH_BYTES_MAX: usize = 4096;

const NO_KEY_OF_CONFIG_MAP: &str = "configmap references non-existent config";
const NO_KEY_OF_SECRET: &str = "references non-existent secret";

const CONFIG_MAP: &str = "kubernetes.io~configmap";
const DOWNWARD_API: &str = "kubernetes.io~downward-api";
const PROJECTED: &str = "kubernetes.io~projected";
const SECRET: &str = "kubernetes.io~secret";

/// The plugin of a volume of files; none for other volumes.
pub(super) fn plugin(volume: &Volume) -> Option<&'static str> {
    let plugins = [
        (volume.config_map.is_some(), CONFIG_MAP),
        (volume.secret.is_some(), SECRET),
        (volume.downward_api.is_some(), DOWNWARD_API),
        (volume.projected.is_some(), PROJECTED),
    ];
    plugins.into_iter().find(|(is_set, _)| *is_set).map(|(_, plugin)| plugin)
}

/// What a volume's files are made from.
#[derive(Clone, Copy)]
pub(super) struct Sources<'a> {
    pub(super) fields: PodFields<'a>,
    pub(super) referenced: &'a ReferencedObjects,
    pub(super) volume: &'a str,
}

/// Files by path: one that comes twice has its last content, as upstream has it.
#[derive(Default)]
struct Files {
    files: BTreeMap<PathBuf, VolumeFile>,
    default_mode: Option<i32>,
}

impl Files {
    fn of_mode(default_mode: Option<i32>) -> Self {
        Self { files: BTreeMap::new(), default_mode }
    }

    fn add(
        &mut self,
        volume: &str,
        path: &str,
        mode: Option<i32>,
        content: Vec<u8>,
    ) -> Result<&mut VolumeFile, VolumeSpecError> {
        let clean = relative(path).map_err(|problem| VolumeSpecError::FilePath {
            volume: volume.to_owned(),
            path: path.to_owned(),
            problem,
        })?;
        let mode = mode.or(self.default_mode).unwrap_or(MODE_DEFAULT).cast_unsigned() & 0o777;
        let file = VolumeFile { path: clean.clone(), content, mode, owner: None };
        Ok(self.files.entry(clean).insert_entry(file).into_mut())
    }

    fn into_kind(self, plugin: &'static str, medium: FilesMedium) -> VolumeKind {
        VolumeKind::Files { plugin, files: self.files.into_values().collect(), medium }
    }
}

/// In memory, as large as the pod's memory at most.
fn in_memory(fields: PodFields<'_>, is_secret: bool) -> FilesMedium {
    FilesMedium::Memory { size_bytes: empty_dir::memory_bytes(fields, None), is_secret }
}

pub(super) fn config_map(
    of: Sources<'_>,
    source: &ConfigMapVolumeSource,
) -> Result<VolumeKind, VolumeSpecError> {
    let mut files = Files::of_mode(source.default_mode);
    add_config_map(&mut files, of, &source.name, source.items.as_deref(), source.optional)?;
    Ok(files.into_kind(CONFIG_MAP, FilesMedium::Disk))
}

pub(super) fn secret(of: Sources<'_>, source: &SecretVolumeSource) -> Result<VolumeKind, VolumeSpecError> {
    let mut files = Files::of_mode(source.default_mode);
    let name = source.secret_name.as_deref().unwrap_or_default();
    add_secret(&mut files, of, name, source.items.as_deref(), source.optional)?;
    Ok(files.into_kind(SECRET, in_memory(of.fields, true)))
}

pub(super) fn downward_api(
    of: Sources<'_>,
    source: &DownwardAPIVolumeSource,
) -> Result<VolumeKind, VolumeSpecError> {
    let mut files = Files::of_mode(source.default_mode);
    add_downward(&mut files, of, source.items.as_deref().unwrap_or_default())?;
    Ok(files.into_kind(DOWNWARD_API, in_memory(of.fields, false)))
}

/// All that is wrong with its sources is reported together.
pub(super) fn projected(
    of: Sources<'_>,
    source: &ProjectedVolumeSource,
) -> Result<VolumeKind, VolumeSpecError> {
    let mut files = Files::of_mode(source.default_mode);
    let (mut errors, mut is_secret) = (Vec::new(), false);
    for projection in source.sources.iter().flatten() {
        is_secret |= projection.secret.is_some() || projection.service_account_token.is_some();
        if let Err(error) = add_projection(&mut files, of, projection) {
            errors.push(error);
        }
    }
    match errors.len() {
        0 => Ok(files.into_kind(PROJECTED, in_memory(of.fields, is_secret))),
        1 => Err(errors.remove(0)),
        2.. => Err(VolumeSpecError::Several { errors }),
    }
}

fn add_projection(
    files: &mut Files,
    of: Sources<'_>,
    projection: &VolumeProjection,
) -> Result<(), VolumeSpecError> {
    if let Some(kind) = unsupported(projection) {
        return Err(VolumeSpecError::Unsupported { volume: of.volume.to_owned(), kind });
    }
    if let Some(source) = &projection.secret {
        return add_secret(files, of, &source.name, source.items.as_deref(), source.optional);
    }
    if let Some(source) = &projection.config_map {
        return add_config_map(files, of, &source.name, source.items.as_deref(), source.optional);
    }
    if let Some(source) = &projection.service_account_token {
        return add_token(files, of, source);
    }
    let items = projection.downward_api.as_ref().and_then(|downward| downward.items.as_deref());
    add_downward(files, of, items.unwrap_or_default())
}

fn add_downward(
    files: &mut Files,
    of: Sources<'_>,
    items: &[DownwardAPIVolumeFile],
) -> Result<(), VolumeSpecError> {
    for item in items {
        let content = of.fields.file(item).map_err(|cause| VolumeSpecError::Value {
            volume: of.volume.to_owned(),
            path: item.path.clone(),
            cause,
        })?;
        files.add(of.volume, &item.path, item.mode, content.into_bytes())?;
    }
    Ok(())
}

fn add_config_map(
    files: &mut Files,
    of: Sources<'_>,
    name: &str,
    items: Option<&[KeyToPath]>,
    optional: Option<bool>,
) -> Result<(), VolumeSpecError> {
    let is_optional = optional == Some(true);
    let none = ConfigMap::default();
    let map = match of.referenced.config_maps.get(name) {
        Some(Fetched::LeftOut) => return Ok(()),
        found => found_or(found, "configmap", name, is_optional)?.map_or(&none, |map| &**map),
    };
    let (texts, binaries) = (map.data.as_ref(), map.binary_data.as_ref());
    let get = |key: &str| {
        let text = texts.and_then(|texts| texts.get(key)).map(String::as_bytes);
        text.or_else(|| binaries.and_then(|binaries| binaries.get(key)).map(|bytes| bytes.0.as_slice()))
    };
    let keys = texts.into_iter().flat_map(BTreeMap::keys);
    let keys = keys.chain(binaries.into_iter().flat_map(BTreeMap::keys));
    add_entries(
        files,
        of.volume,
        keys,
        get,
        KeySelection { items, is_optional, no_key: NO_KEY_OF_CONFIG_MAP },
    )
}

fn add_secret(
    files: &mut Files,
    of: Sources<'_>,
    name: &str,
    items: Option<&[KeyToPath]>,
    optional: Option<bool>,
) -> Result<(), VolumeSpecError> {
    let is_optional = optional == Some(true);
    let none = Secret::default();
    let secret = match of.referenced.secrets.get(name) {
        Some(Fetched::LeftOut) => return Ok(()),
        found => found_or(found, "secret", name, is_optional)?.map_or(&none, |secret| &**secret),
    };
    let data = secret.data.as_ref();
    let get = |key: &str| data.and_then(|data| data.get(key)).map(|bytes| bytes.0.as_slice());
    let keys = data.into_iter().flat_map(BTreeMap::keys);
    add_entries(files, of.volume, keys, get, KeySelection { items, is_optional, no_key: NO_KEY_OF_SECRET })
}

/// Returns the object, or `None` if it is optional and missing.
fn found_or<'a, T>(
    fetched: Option<&'a Fetched<T>>,
    kind: &'static str,
    name: &str,
    is_optional: bool,
) -> Result<Option<&'a T>, VolumeSpecError> {
    match fetched {
        Some(Fetched::Found(object)) => Ok(Some(object)),
        Some(Fetched::Refused(message)) => Err(VolumeSpecError::Refused { message: message.clone() }),
        Some(Fetched::Unavailable(message)) => Err(VolumeSpecError::Unavailable { message: message.clone() }),
        Some(Fetched::Missing | Fetched::LeftOut) | None if is_optional => Ok(None),
        Some(Fetched::Missing | Fetched::LeftOut) | None => {
            Err(VolumeSpecError::NoObject { kind, name: name.to_owned() })
        }
    }
}

/// Which entries of an object become files.
struct KeySelection<'a> {
    items: Option<&'a [KeyToPath]>,
    is_optional: bool,
    no_key: &'static str,
}

/// All entries by their keys, or those that the items name.
fn add_entries<'a>(
    files: &mut Files,
    volume: &str,
    keys: impl Iterator<Item = &'a String>,
    get: impl Fn(&str) -> Option<&'a [u8]>,
    desired: KeySelection<'_>,
) -> Result<(), VolumeSpecError> {
    let items = desired.items.unwrap_or_default();
    if items.is_empty() {
        for key in keys {
            let content = get(key).unwrap_or_default();
            files.add(volume, key, None, content.to_vec())?;
        }
        return Ok(());
    }
    for item in items {
        match get(&item.key) {
            Some(content) => drop(files.add(volume, &item.path, item.mode, content.to_vec())?),
            None if desired.is_optional => {}
            None => return Err(VolumeSpecError::NoKey { kind: desired.no_key, key: item.key.clone() }),
        }
    }
    Ok(())
}

/// The token belongs to the pod's user, where it has one; with a user or a group no one else may read it. The group's share
/// of the mode comes with the volume's ownership.
fn add_token(
    files: &mut Files,
    of: Sources<'_>,
    source: &ServiceAccountTokenProjection,
) -> Result<(), VolumeSpecError> {
    let wish = wish_of(source);
    let token = match of.referenced.tokens.get(&wish) {
        Some(Fetched::LeftOut) => return Ok(()),
        found => found_or(found, "service account token for", &source.path, false)?,
    };
    let content = token.map(|token| token.clone().into_bytes()).unwrap_or_default();
    let spec = of.fields.pod.spec.as_ref();
    let user = spec.and_then(one_user);
    let group = spec.and_then(|spec| spec.security_context.as_ref()?.fs_group);
    let owner = user.map(|uid| u32::try_from(uid).map_err(|_| VolumeSpecError::User { uid })).transpose()?;
    let mode = (user.is_some() || group.is_some()).then_some(MODE_OWNED_TOKEN);
    files.add(of.volume, &source.path, mode, content)?.owner = owner;
    Ok(())
}

/// The token that a source asks for.
pub(crate) fn wish_of(source: &ServiceAccountTokenProjection) -> TokenWish {
    TokenWish {
        audience: source.audience.clone().filter(|audience| !audience.is_empty()),
        expiration_seconds: source.expiration_seconds.unwrap_or(TOKEN_SECONDS_DEFAULT),
    }
}

/// The user that all containers run as, by their specs; none if one doesn't say, or they differ (upstream: `FsUserFrom`).
fn one_user(spec: &PodSpec) -> Option<i64> {
    let of_pod = spec.security_context.as_ref().and_then(|security| security.run_as_user);
    let containers = spec.init_containers.iter().flatten().chain(&spec.containers);
    let mut users = containers
        .map(|container| container.security_context.as_ref().and_then(|own| own.run_as_user).or(of_pod));
    let first = users.next()??;
    users.all(|user| user == Some(first)).then_some(first)
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
        config_map: _,
        secret: _,
        service_account_token: _,
        cluster_trust_bundle,
        pod_certificate,
    } = projection;
    let kinds = [
        ("projected clusterTrustBundle", cluster_trust_bundle.is_some()),
        ("projected podCertificate", pod_certificate.is_some()),
    ];
    kinds.into_iter().find(|(_, used)| *used).map(|(name, _)| name)
}
