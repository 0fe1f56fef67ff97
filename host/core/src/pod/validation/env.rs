//! Environment variables: names, and where their values come from.

use k8s_openapi::api::core::v1::{EnvVar, FileKeySelector, PodSpec, ResourceFieldSelector};

use super::{Problems, names, quoted, volume};
use crate::pod::fields;
use crate::pod::resources::CPU;

/// In what a CPU can be counted, and bytes; 0 stands for 1.
const CPU_DIVISORS: [&str; 3] = ["0", "1m", "1"];
const BYTE_DIVISORS: [&str; 14] =
    ["0", "1", "1k", "1M", "1G", "1T", "1P", "1E", "1Ki", "1Mi", "1Gi", "1Ti", "1Pi", "1Ei"];

pub(super) fn variable(path: &str, variable: &EnvVar, spec: &PodSpec, problems: &mut Problems) {
    if !names::is_environment_name(&variable.name) {
        let message = format!(
            "Invalid value: {}: must have printable ASCII characters other than `=`",
            quoted(&variable.name)
        );
        problems.add(format!("{path}.name"), message);
    }
    if variable.value.as_deref().is_some_and(|value| value.contains('\0')) {
        problems.add(format!("{path}.value"), "Invalid value: must not contain NUL");
    }
    let Some(source) = &variable.value_from else { return };
    let path = format!("{path}.valueFrom");
    if variable.value.as_deref().is_some_and(|value| !value.is_empty()) {
        problems.add(&path, "Forbidden: may not be set when value is set");
    }
    let sources = [
        source.field_ref.is_some(),
        source.resource_field_ref.is_some(),
        source.config_map_key_ref.is_some(),
        source.secret_key_ref.is_some(),
        source.file_key_ref.is_some(),
    ];
    if sources.into_iter().filter(|set| *set).count() != 1 {
        problems.add(&path, "Invalid value: must have exactly one source");
    }
    if let Some(field) =
        source.field_ref.as_ref().filter(|field| !fields::is_environment_field(&field.field_path))
    {
        let message = format!(
            "Unsupported value: {}: not a field for environment variables",
            quoted(&field.field_path)
        );
        problems.add(format!("{path}.fieldRef.fieldPath"), message);
    }
    if let Some(selector) = &source.resource_field_ref {
        resource_field(&format!("{path}.resourceFieldRef"), selector, problems);
    }
    if let Some(selector) = &source.file_key_ref {
        file_key(&format!("{path}.fileKeyRef"), selector, spec, problems);
    }
}

pub(super) fn resource_field(path: &str, selector: &ResourceFieldSelector, problems: &mut Problems) {
    if !fields::is_resource(&selector.resource) {
        let message =
            format!("Unsupported value: {}: not a resource of a container", quoted(&selector.resource));
        problems.add(format!("{path}.resource"), message);
        return;
    }
    let of_cpu = selector.resource.split_once('.').is_some_and(|(_, name)| name == CPU);
    let allowed: &[&str] = if of_cpu { &CPU_DIVISORS } else { &BYTE_DIVISORS };
    problems.one_of(
        &format!("{path}.divisor"),
        selector.divisor.as_ref().map(|divisor| divisor.0.as_str()),
        allowed,
    );
}

fn file_key(path: &str, selector: &FileKeySelector, spec: &PodSpec, problems: &mut Problems) {
    if !names::is_environment_name(&selector.key) {
        let message =
            format!("Invalid value: {}: must be the name of an environment variable", quoted(&selector.key));
        problems.add(format!("{path}.key"), message);
    }
    volume::file_path(&format!("{path}.path"), &selector.path, problems);
    let volume = spec.volumes.iter().flatten().find(|volume| volume.name == selector.volume_name);
    if volume.is_none_or(|volume| volume.empty_dir.is_none()) {
        problems.add(format!("{path}.volumeName"), "Not found: must be an emptyDir volume of this pod");
    }
}
