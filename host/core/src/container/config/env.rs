//! A container's environment: literal values, fields of the pod, and `$(VAR)` in values, command and arguments.

use std::net::IpAddr;

use k8s_openapi::api::core::v1::{EnvVar, Pod};

use super::{ConfigError, ContainerInput};
use crate::container::plan::sandbox::network_of;
use crate::runtime::NamespaceMode;

/// The variables in the spec's order; a name that occurs twice is there twice, and its last value counts. A value may
/// refer to the variables before it.
pub(super) fn environment(input: ContainerInput<'_>) -> Result<Vec<(String, String)>, ConfigError> {
    let mut env: Vec<(String, String)> = Vec::new();
    for variable in input.container.env.iter().flatten() {
        let value = match (&variable.value, &variable.value_from) {
            (Some(value), _) if !value.is_empty() => {
                expand(value, &env).map_err(|TooLong| ConfigError::TooLong {
                    container: input.container.name.clone(),
                    text: format!("environment variable {}", variable.name),
                })?
            }
            (_, Some(_)) => from_pod(input, variable)?,
            (_, None) => String::new(),
        };
        env.push((variable.name.clone(), value));
    }
    Ok(env)
}

/// Longest variable, argument or word of a command after expansion, in bytes: Linux takes no longer one (`MAX_ARG_STRLEN`).
/// Without a bound, a few variables that name each other several times would fill the memory.
pub(super) const TEXT_BYTES_MAX: usize = 128 * 1024;

/// A text would be longer than `TEXT_BYTES_MAX`.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct TooLong;

/// Replaces `$(NAME)` by the last value of that name. `$$` stands for `$`, so that `$$(NAME)` stays as `$(NAME)`; what
/// names nothing known stays as it is. (Upstream: `third_party/forked/golang/expansion`.)
pub(super) fn expand(text: &str, env: &[(String, String)]) -> Result<String, TooLong> {
    let mut out = String::with_capacity(text.len().min(TEXT_BYTES_MAX));
    let mut rest = text;
    // The last closing parenthesis: none is looked for behind it, so that the time stays in proportion to the text.
    let last_close = text.rfind(')').unwrap_or_default();
    while let Some(at) = rest.find('$') {
        let (before, from) = rest.split_at(at);
        out.push_str(before);
        let after = &from[1..];
        let closes = text.len() - after.len() <= last_close;
        let reference = after.strip_prefix('(').filter(|_| closes).and_then(|inner| inner.split_once(')'));
        if let Some(tail) = after.strip_prefix('$') {
            out.push('$');
            rest = tail;
        } else if let Some((name, tail)) = reference {
            match env.iter().rev().find(|(known, _)| known == name) {
                Some((_, value)) => out.push_str(value),
                None => out.push_str(&from[..from.len() - tail.len()]),
            }
            rest = tail;
        } else {
            out.push('$');
            rest = after;
        }
        if out.len() > TEXT_BYTES_MAX {
            return Err(TooLong);
        }
    }
    out.push_str(rest);
    if out.len() > TEXT_BYTES_MAX { Err(TooLong) } else { Ok(out) }
}

fn from_pod(input: ContainerInput<'_>, variable: &EnvVar) -> Result<String, ConfigError> {
    let source = variable.value_from.as_ref();
    let unsupported = |what: &str| ConfigError::Unsupported {
        field: format!(
            "{what} of environment variable {} of container {}",
            variable.name, input.container.name
        ),
    };
    let Some(field) = source.and_then(|source| source.field_ref.as_ref()) else {
        let names = [
            ("resourceFieldRef", source.is_some_and(|source| source.resource_field_ref.is_some())),
            ("configMapKeyRef", source.is_some_and(|source| source.config_map_key_ref.is_some())),
            ("secretKeyRef", source.is_some_and(|source| source.secret_key_ref.is_some())),
            ("fileKeyRef", source.is_some_and(|source| source.file_key_ref.is_some())),
        ];
        let name = names.into_iter().find(|(_, used)| *used).map_or("valueFrom", |(name, _)| name);
        return Err(unsupported(name));
    };
    let known = match field.api_version.as_deref() {
        None | Some("" | "v1") => field_value(input, &field.field_path),
        Some(_) => None,
    };
    known.ok_or_else(|| ConfigError::FieldPath {
        container: input.container.name.clone(),
        variable: variable.name.clone(),
        path: field.field_path.clone(),
    })
}

/// None for a field that pods don't offer to their environment; empty for one that this pod doesn't have.
fn field_value(input: ContainerInput<'_>, path: &str) -> Option<String> {
    let meta = &input.pod.metadata;
    let spec = input.pod.spec.as_ref();
    let node = input.host.node;
    if let Some(key) = subscript(path, "metadata.labels") {
        return Some(meta.labels.as_ref().and_then(|labels| labels.get(key)).cloned().unwrap_or_default());
    }
    if let Some(key) = subscript(path, "metadata.annotations") {
        let value = meta.annotations.as_ref().and_then(|annotations| annotations.get(key));
        return Some(value.cloned().unwrap_or_default());
    }
    match path {
        "metadata.name" => Some(meta.name.clone().unwrap_or_default()),
        "metadata.namespace" => Some(meta.namespace.clone().unwrap_or_default()),
        "metadata.uid" => Some(meta.uid.clone().unwrap_or_default()),
        "spec.nodeName" => Some(node.name.clone()),
        "spec.serviceAccountName" => {
            Some(spec.and_then(|spec| spec.service_account_name.clone()).unwrap_or_default())
        }
        "status.hostIP" => Some(first(&node.addresses)),
        "status.hostIPs" => Some(joined(&node.addresses)),
        "status.podIP" => Some(first(pod_ips(input.pod, input))),
        "status.podIPs" => Some(joined(pod_ips(input.pod, input))),
        _ => None,
    }
}

/// A pod on the host's network has the host's addresses.
fn pod_ips<'a>(pod: &Pod, input: ContainerInput<'a>) -> &'a [IpAddr] {
    match network_of(pod) {
        NamespaceMode::Node if input.pod_ips.is_empty() => &input.host.node.addresses,
        NamespaceMode::Node | NamespaceMode::Pod | NamespaceMode::Container => input.pod_ips,
    }
}

/// The key in `<field>['<key>']`.
fn subscript<'a>(path: &'a str, field: &str) -> Option<&'a str> {
    path.strip_prefix(field)?.strip_prefix("['")?.strip_suffix("']")
}

fn first(ips: &[IpAddr]) -> String {
    ips.first().map(IpAddr::to_string).unwrap_or_default()
}

fn joined(ips: &[IpAddr]) -> String {
    ips.iter().map(IpAddr::to_string).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests;
