//! A container's environment: literal values, values from the pod, from objects and from files, and `$(VAR)` in values,
//! command, arguments and paths below volumes (upstream: `makeEnvironmentVariables` of `kubelet_pods.go`).

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::api::core::v1::{
    ConfigMapKeySelector, Container, EnvFromSource, EnvVar, FileKeySelector, ObjectFieldSelector,
    ResourceFieldSelector, SecretKeySelector,
};

use super::env_file::{self, KEY_BYTES_MAX, VALUE_BYTES_MAX};
use super::{ContainerInput, SpecError};
use crate::pod::fields::{FieldError, PodFields};
use crate::pod::validation::is_environment_name;

/// The variables, each name once: those of `envFrom`, then those of `env` in their order. A later value replaces an
/// earlier one at its place. A value may refer to the variables before it, and to those of services, which come last and give
/// way to all others.
pub(super) fn environment(input: ContainerInput<'_>) -> Result<Vec<(String, String)>, SpecError> {
    let mut env = Environment::default();
    let mut services: BTreeMap<&str, &str> =
        input.objects.services.into_iter().flatten().map(|(name, value)| (&**name, &**value)).collect();
    let too_much = |TooLong| SpecError::TooMuch { container: input.container.name.clone() };
    for source in input.container.env_from.iter().flatten() {
        for (name, value) in from_object(input, source)? {
            if is_environment_name(&name) {
                env.set(name, value).map_err(too_much)?;
            }
        }
    }
    for variable in input.container.env.iter().flatten() {
        services.remove(variable.name.as_str());
        let value = match (&variable.value, &variable.value_from) {
            (Some(value), _) if !value.is_empty() => {
                let expanded = expand(value, |name| env.get(name).or_else(|| services.get(name).copied()))
                    .map_err(|TooLong| SpecError::TooLong {
                        container: input.container.name.clone(),
                        text: format!("environment variable {}", variable.name),
                    })?;
                Some(expanded)
            }
            (_, Some(_)) => from_source(input, variable)?,
            (_, None) => Some(String::new()),
        };
        // An optional source that isn't there leaves the variable out.
        if let Some(value) = value {
            env.set(variable.name.clone(), value).map_err(too_much)?;
        }
    }
    for (name, value) in services {
        if env.get(name).is_none() {
            env.set(name.to_owned(), value.to_owned()).map_err(too_much)?;
        }
    }
    Ok(env.variables)
}

#[derive(Default)]
struct Environment {
    variables: Vec<(String, String)>,
    places: BTreeMap<String, usize>,
    /// Of all values that were ever set.
    bytes: usize,
}

impl Environment {
    fn get(&self, name: &str) -> Option<&str> {
        self.places.get(name).map(|place| self.variables[*place].1.as_str())
    }

    fn set(&mut self, name: String, value: String) -> Result<(), TooLong> {
        self.bytes += name.len() + value.len();
        if self.bytes > ALL_BYTES_MAX {
            return Err(TooLong);
        }
        match self.places.get(&name) {
            Some(place) => self.variables[*place].1 = value,
            None => {
                self.places.insert(name.clone(), self.variables.len());
                self.variables.push((name, value));
            }
        }
        Ok(())
    }
}

/// The environment files that a container's variables come from, by volume and path in it.
pub fn env_files(container: &Container) -> BTreeSet<(String, String)> {
    let sources = container.env.iter().flatten().filter_map(|variable| variable.value_from.as_ref());
    let files = sources.filter_map(|source| source.file_key_ref.as_ref());
    files.map(|file| (file.volume_name.clone(), file.path.clone())).collect()
}

/// Returns all entries of a config map or secret, with the prefix before their names.
fn from_object(
    input: ContainerInput<'_>,
    source: &EnvFromSource,
) -> Result<Vec<(String, String)>, SpecError> {
    let prefix = source.prefix.as_deref().unwrap_or_default();
    let named = |name: &str| format!("{prefix}{name}");
    if let Some(reference) = &source.config_map_ref {
        let map = input.objects.config_maps.and_then(|maps| maps.get(&reference.name));
        return match map {
            Some(map) => Ok(map.iter().map(|(name, value)| (named(name), value.clone())).collect()),
            None if reference.optional == Some(true) => Ok(Vec::new()),
            None => Err(SpecError::NoObject { kind: "configmap", name: reference.name.clone() }),
        };
    }
    let Some(reference) = &source.secret_ref else { return Ok(Vec::new()) };
    match input.objects.secrets.and_then(|secrets| secrets.get(&reference.name)) {
        Some(secret) => secret
            .iter()
            .map(|(key, value)| Ok((named(key), text_of(&reference.name, key, value)?)))
            .collect(),
        None if reference.optional == Some(true) => Ok(Vec::new()),
        None => Err(SpecError::NoObject { kind: "secret", name: reference.name.clone() }),
    }
}

/// Returns `None` where an optional source isn't there.
fn from_source(input: ContainerInput<'_>, variable: &EnvVar) -> Result<Option<String>, SpecError> {
    let Some(source) = &variable.value_from else { return Ok(None) };
    let error = |cause: FieldError| SpecError::Field {
        container: input.container.name.clone(),
        variable: variable.name.clone(),
        cause,
    };
    if let Some(field) = &source.field_ref {
        return from_field(input, field).map(Some).map_err(error);
    }
    if let Some(selector) = &source.resource_field_ref {
        return from_resource(input, selector).map(Some).map_err(error);
    }
    if let Some(selector) = &source.config_map_key_ref {
        return from_config_map(input, selector);
    }
    if let Some(selector) = &source.secret_key_ref {
        return from_secret(input, selector);
    }
    match &source.file_key_ref {
        Some(selector) => from_file(input, selector),
        None => Err(error(FieldError::Nothing)),
    }
}

fn fields(input: ContainerInput<'_>) -> PodFields<'_> {
    PodFields { pod: input.pod, pod_ips: input.pod_ips, node: input.host.node }
}

fn from_field(input: ContainerInput<'_>, field: &ObjectFieldSelector) -> Result<String, FieldError> {
    match field.api_version.as_deref() {
        None | Some("" | "v1") => fields(input).environment(&field.field_path),
        Some(_) => Err(FieldError::Path { path: field.field_path.clone() }),
    }
}

fn from_resource(input: ContainerInput<'_>, selector: &ResourceFieldSelector) -> Result<String, FieldError> {
    fields(input).resource(selector, Some(input.container))
}

fn from_config_map(
    input: ContainerInput<'_>,
    selector: &ConfigMapKeySelector,
) -> Result<Option<String>, SpecError> {
    let optional = selector.optional == Some(true);
    let Some(map) = input.objects.config_maps.and_then(|maps| maps.get(&selector.name)) else {
        let missing = SpecError::NoObject { kind: "configmap", name: selector.name.clone() };
        return if optional { Ok(None) } else { Err(missing) };
    };
    match map.get(&selector.key) {
        Some(value) => Ok(Some(value.clone())),
        None if optional => Ok(None),
        None => Err(no_key(input, "ConfigMap", &selector.name, &selector.key)),
    }
}

fn from_secret(input: ContainerInput<'_>, selector: &SecretKeySelector) -> Result<Option<String>, SpecError> {
    let optional = selector.optional == Some(true);
    let Some(secret) = input.objects.secrets.and_then(|secrets| secrets.get(&selector.name)) else {
        let missing = SpecError::NoObject { kind: "secret", name: selector.name.clone() };
        return if optional { Ok(None) } else { Err(missing) };
    };
    match secret.get(&selector.key) {
        Some(value) => text_of(&selector.name, &selector.key, value).map(Some),
        None if optional => Ok(None),
        None => Err(no_key(input, "Secret", &selector.name, &selector.key)),
    }
}

fn no_key(input: ContainerInput<'_>, kind: &'static str, name: &str, key: &str) -> SpecError {
    let namespace = input.pod.metadata.namespace.clone().unwrap_or_default();
    SpecError::NoKey { kind, namespace, name: name.to_owned(), key: key.to_owned() }
}

fn text_of(secret: &str, key: &str, value: &[u8]) -> Result<String, SpecError> {
    let not_text = |_| SpecError::NotText { secret: secret.to_owned(), key: key.to_owned() };
    String::from_utf8(value.to_vec()).map_err(not_text)
}

/// An empty value counts as one that isn't there.
fn from_file(input: ContainerInput<'_>, selector: &FileKeySelector) -> Result<Option<String>, SpecError> {
    let FileKeySelector { key, path, volume_name, optional } = selector;
    let error = |problem| SpecError::EnvFile { volume: volume_name.clone(), path: path.clone(), problem };
    if key.len() > KEY_BYTES_MAX {
        return Err(error(EnvFileProblem::KeyTooLong { key: key.clone() }));
    }
    let optional = *optional == Some(true);
    let place = (volume_name.clone(), path.clone());
    let Some(text) = input.objects.env_files.and_then(|files| files.get(&place)) else {
        return if optional { Ok(None) } else { Err(error(EnvFileProblem::NotThere)) };
    };
    let value = env_file::value_of(text, key).map_err(|cause| error(EnvFileProblem::Format(cause)))?;
    match value.filter(|value| !value.is_empty()) {
        Some(value) if value.len() > VALUE_BYTES_MAX => {
            Err(error(EnvFileProblem::ValueTooLong { key: key.clone() }))
        }
        Some(value) => Ok(Some(value)),
        None if optional => Ok(None),
        None => Err(error(EnvFileProblem::NoKey { key: key.clone() })),
    }
}

/// Why a variable can't be had from a file.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
pub enum EnvFileProblem {
    /// The file isn't there.
    #[error("the file does not exist")]
    NotThere,
    /// The key is longer than [`KEY_BYTES_MAX`].
    #[error("environment variable key {key:?} exceeds maximum length of {KEY_BYTES_MAX} characters")]
    KeyTooLong { key: String },
    /// The value is longer than [`VALUE_BYTES_MAX`].
    #[error("environment variable value for key {key:?} exceeds maximum size of {VALUE_BYTES_MAX} bytes")]
    ValueTooLong { key: String },
    /// The file doesn't have the key.
    #[error("environment variable key {key:?} not found")]
    NoKey { key: String },
    /// The file isn't one of variables.
    #[error(transparent)]
    Format(env_file::EnvFileError),
}

/// Longest variable, argument or word of a command after expansion, in bytes: Linux takes no longer one (`MAX_ARG_STRLEN`).
/// Without a bound, a few variables that name each other several times would fill the memory.
pub(super) const TEXT_BYTES_MAX: usize = 128 * 1024;

/// All variables of a container, its command and its arguments together, in bytes: Linux gives a process no more (three
/// quarters of `_STK_LIM`). Without a bound, many texts that name one long variable would fill the memory.
pub(super) const ALL_BYTES_MAX: usize = 6 * 1024 * 1024;

/// A text would be longer than one argument of a process may be (128 KiB), or all of them than a process may have (6 MiB).
#[derive(Debug, PartialEq, Eq)]
pub struct TooLong;

/// Replaces `$(NAME)` by the value of that name. `$$` stands for `$`, so that `$$(NAME)` stays as `$(NAME)`; what
/// names nothing known stays as it is. (Upstream: `third_party/forked/golang/expansion`.)
///
/// # Errors
///
/// When the result would be longer than Linux takes of one argument, 128 KiB.
pub fn expand<'v>(text: &str, value: impl Fn(&str) -> Option<&'v str>) -> Result<String, TooLong> {
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
            match value(name) {
                Some(value) => out.push_str(value),
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

#[cfg(test)]
mod tests;
