//! Volumes and where containers mount them.

use std::collections::{HashMap, HashSet};
use std::path::{Component, Path};

use k8s_openapi::api::core::v1::{
    Container, DownwardAPIVolumeFile, EmptyDirVolumeSource, PodSpec, ProjectedVolumeSource, Volume,
    VolumeMount,
};

use super::{Problems, env, names, quoted};
use crate::pod::fields;
use crate::pod::quantity;

/// Permission bits of files.
const MODE_MAX: i32 = 0o777;
const HOST_PATH_TYPES: [&str; 8] =
    ["", "DirectoryOrCreate", "Directory", "FileOrCreate", "File", "Socket", "CharDevice", "BlockDevice"];

pub(super) fn all(spec: &PodSpec, problems: &mut Problems) {
    let mut seen = HashSet::new();
    for (index, volume) in spec.volumes.iter().flatten().enumerate() {
        let path = format!("spec.volumes[{index}]");
        if volume.name.is_empty() {
            problems.add(format!("{path}.name"), "Required value");
        } else if !seen.insert(volume.name.as_str()) {
            let message = format!("Duplicate value: {}", quoted(&volume.name));
            problems.add(format!("{path}.name"), message);
        } else {
            names::dns_label(&format!("{path}.name"), &volume.name, problems);
        }
        source(&path, volume, problems);
    }
}

fn source(path: &str, volume: &Volume, problems: &mut Problems) {
    // The sources that manifests are let through with; the table of supported fields refuses the others.
    let Volume { empty_dir, host_path, downward_api, projected, .. } = volume;
    let count = [empty_dir.is_some(), host_path.is_some(), downward_api.is_some(), projected.is_some()];
    if count.into_iter().filter(|set| *set).count() > 1 {
        problems.add(path, "Invalid value: must have exactly one source");
    }
    if let Some(source) = empty_dir {
        empty_directory(&format!("{path}.emptyDir"), source, problems);
    }
    if let Some(source) = host_path {
        let path = format!("{path}.hostPath");
        if source.path.is_empty() {
            problems.add(format!("{path}.path"), "Required value");
        } else if has_backsteps(&source.path) {
            problems.add(format!("{path}.path"), "Invalid value: must not contain `..`");
        } else if !source.path.starts_with('/') {
            problems.add(format!("{path}.path"), "Invalid value: must be an absolute path");
        }
        problems.one_of(&format!("{path}.type"), source.type_.as_deref(), &HOST_PATH_TYPES);
    }
    if let Some(source) = downward_api {
        let path = format!("{path}.downwardAPI");
        mode(&format!("{path}.defaultMode"), source.default_mode, problems);
        let mut files = HashSet::new();
        items(&path, source.items.as_deref().unwrap_or_default(), &mut files, problems);
    }
    if let Some(source) = projected {
        projection(&format!("{path}.projected"), source, problems);
    }
}

fn empty_directory(path: &str, source: &EmptyDirVolumeSource, problems: &mut Problems) {
    if let Some(limit) = &source.size_limit {
        let path = format!("{path}.sizeLimit");
        match quantity::parse(&limit.0) {
            Ok(amount) if amount.is_negative() => {
                problems.add(path, "Invalid value: must be greater than or equal to 0")
            }
            Ok(_) => {}
            Err(error) => problems.add(path, format!("Invalid value: {error}")),
        }
    }
    let medium = source.medium.as_deref().unwrap_or_default();
    let pages = medium.strip_prefix("HugePages-").map(quantity::parse);
    let of_pages = pages.is_some_and(|size| size.is_ok_and(|size| size.value() > 0));
    if !["", "Memory", "HugePages"].contains(&medium) && !of_pages {
        let message = format!(
            "Unsupported value: {}: supported values: Memory, HugePages, HugePages-<size>",
            quoted(medium)
        );
        problems.add(format!("{path}.medium"), message);
    }
}

fn projection(path: &str, source: &ProjectedVolumeSource, problems: &mut Problems) {
    mode(&format!("{path}.defaultMode"), source.default_mode, problems);
    let mut files = HashSet::new();
    for (index, source) in source.sources.iter().flatten().enumerate() {
        let path = format!("{path}.sources[{index}].downwardAPI");
        if let Some(projected) = &source.downward_api {
            items(&path, projected.items.as_deref().unwrap_or_default(), &mut files, problems);
        }
    }
}

fn items<'a>(
    path: &str,
    items: &'a [DownwardAPIVolumeFile],
    files: &mut HashSet<&'a str>,
    problems: &mut Problems,
) {
    for (index, item) in items.iter().enumerate() {
        let path = format!("{path}.items[{index}]");
        mode(&format!("{path}.mode"), item.mode, problems);
        file_path(&format!("{path}.path"), &item.path, problems);
        if !files.insert(item.path.as_str()) {
            problems.add(format!("{path}.path"), format!("Duplicate value: {}", quoted(&item.path)));
        }
        match (&item.field_ref, &item.resource_field_ref) {
            (Some(field), None) if fields::is_file_field(&field.field_path) => {}
            (Some(field), None) => {
                let message =
                    format!("Unsupported value: {}: not a field for files", quoted(&field.field_path));
                problems.add(format!("{path}.fieldRef.fieldPath"), message);
            }
            (None, Some(selector)) => {
                let path = format!("{path}.resourceFieldRef");
                if selector.container_name.as_deref().is_none_or(str::is_empty) {
                    problems.add(format!("{path}.containerName"), "Required value");
                }
                env::resource_field(&path, selector, problems);
            }
            (None, None) | (Some(_), Some(_)) => {
                problems.add(path, "Invalid value: must have exactly one of fieldRef and resourceFieldRef");
            }
        }
    }
}

fn mode(path: &str, mode: Option<i32>, problems: &mut Problems) {
    if mode.is_some_and(|mode| !(0..=MODE_MAX).contains(&mode)) {
        problems.add(path, "Invalid value: must be between 0 and 0777 (octal), inclusive");
    }
}

fn has_backsteps(path: &str) -> bool {
    Path::new(path).components().any(|part| part == Component::ParentDir)
}

/// A relative path without `..`; names that begin with `..` are kept for replacing all files at once.
pub(super) fn file_path(path: &str, file: &str, problems: &mut Problems) {
    if file.is_empty() {
        problems.add(path, "Required value");
    } else if file.starts_with('/') || has_backsteps(file) || file.starts_with("..") {
        problems.add(
            path,
            format!("Invalid value: {}: must be a relative path that does not begin with `..`", quoted(file)),
        );
    }
}

/// The mounts of one container. `ephemeral` ones can't be below a volume's root.
pub(super) fn mounts(
    path: &str,
    container: &Container,
    spec: &PodSpec,
    ephemeral: bool,
    problems: &mut Problems,
) {
    let volumes: HashMap<_, _> =
        spec.volumes.iter().flatten().map(|volume| (volume.name.as_str(), volume)).collect();
    let mut seen = HashSet::new();
    for (index, mount) in container.volume_mounts.iter().flatten().enumerate() {
        let path = format!("{path}.volumeMounts[{index}]");
        if mount.name.is_empty() {
            problems.add(format!("{path}.name"), "Required value");
        } else if !volumes.contains_key(mount.name.as_str()) {
            problems.add(
                format!("{path}.name"),
                format!("Not found: {}: must be a volume of this pod", quoted(&mount.name)),
            );
        }
        if mount.mount_path.is_empty() {
            problems.add(format!("{path}.mountPath"), "Required value");
        } else if !seen.insert(mount.mount_path.as_str()) {
            let message = format!("Duplicate value: {}", quoted(&mount.mount_path));
            problems.add(format!("{path}.mountPath"), message);
        }
        below(&path, mount, ephemeral, problems);
        propagation(&path, mount, container, problems);
    }
}

fn below(path: &str, mount: &VolumeMount, ephemeral: bool, problems: &mut Problems) {
    let set = |text: &Option<String>| text.clone().filter(|text| !text.is_empty());
    let places = [("subPath", set(&mount.sub_path)), ("subPathExpr", set(&mount.sub_path_expr))];
    if places.iter().all(|(_, place)| place.is_some()) {
        problems.add(format!("{path}.subPathExpr"), "Forbidden: may not be set when subPath is set");
    }
    for (field, place) in places {
        let Some(place) = place else { continue };
        if ephemeral {
            problems.add(format!("{path}.{field}"), "Forbidden: may not be set for ephemeral containers");
        } else if place.starts_with('/') || has_backsteps(&place) {
            let message = format!("Invalid value: {}: must be a relative path without `..`", quoted(&place));
            problems.add(format!("{path}.{field}"), message);
        }
    }
}

fn propagation(path: &str, mount: &VolumeMount, container: &Container, problems: &mut Problems) {
    let word = mount.mount_propagation.as_deref();
    let allowed = ["None", "HostToContainer", "Bidirectional"];
    problems.one_of(&format!("{path}.mountPropagation"), word, &allowed);
    let privileged = container.security_context.as_ref().and_then(|context| context.privileged) == Some(true);
    if word == Some("Bidirectional") && !privileged {
        problems.add(
            format!("{path}.mountPropagation"),
            "Forbidden: may only be Bidirectional in a privileged container",
        );
    }
    let recursive = mount.recursive_read_only.as_deref();
    let path = format!("{path}.recursiveReadOnly");
    problems.one_of(&path, recursive, &["Disabled", "IfPossible", "Enabled"]);
    if matches!(recursive, Some("IfPossible" | "Enabled")) {
        if mount.read_only != Some(true) {
            problems.add(&path, "Forbidden: may only be set when readOnly is true");
        }
        if !matches!(word, None | Some("None")) {
            problems.add(&path, "Forbidden: may only be set when mountPropagation is unset or None");
        }
    }
}
