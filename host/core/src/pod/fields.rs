//! The downward API: fields and resources of a pod as texts, for environment variables and for files.
//!
//! Rules of upstream's `pkg/fieldpath`, `pkg/api/v1/resource` and `kubelet_resources.go`.

use std::collections::BTreeMap;
use std::net::IpAddr;

use k8s_openapi::api::core::v1::{Container, DownwardAPIVolumeFile, Pod, ResourceFieldSelector};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use thiserror::Error;

use super::quantity;
use super::resources::{CPU, EPHEMERAL_STORAGE, MEMORY};
use super::validation::is_qualified_name;
use crate::container::plan::sandbox::network_of;
use crate::go;
use crate::node::NodeFacts;
use crate::runtime::NamespaceMode;

#[cfg(test)]
mod tests;

/// A field or resource can't be given.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum FieldError {
    /// The pod has no such field, or doesn't offer it here.
    #[error("fieldPath {path:?} is not supported")]
    Path { path: String },
    /// Containers have no such resource, or don't offer it here.
    #[error("unsupported container resource: {resource}")]
    Resource { resource: String },
    /// The pod has no such container.
    #[error("container {name} not found")]
    Container { name: String },
    /// A quantity isn't one.
    #[error("{quantity:?} is not a quantity")]
    Quantity { quantity: String },
    /// Neither a field nor a resource is asked for.
    #[error("must have one of fieldRef and resourceFieldRef")]
    Nothing,
}

/// What fields are read from.
#[derive(Clone, Copy, Debug)]
pub struct PodFields<'a> {
    pub pod: &'a Pod,
    /// The addresses of its sandbox, the primary one first; none on the host network.
    pub pod_ips: &'a [IpAddr],
    pub node: &'a NodeFacts,
}

/// Fields that environment variables can have next to labels and annotations by key.
const OF_ENVIRONMENT: [&str; 9] = [
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
    "spec.nodeName",
    "spec.serviceAccountName",
    "status.hostIP",
    "status.hostIPs",
    "status.podIP",
    "status.podIPs",
];
/// Fields that files can have next to labels and annotations by key.
const OF_FILES: [&str; 5] =
    ["metadata.name", "metadata.namespace", "metadata.uid", "metadata.labels", "metadata.annotations"];

/// Whether an environment variable can be taken from the field.
pub fn is_environment_field(path: &str) -> bool {
    OF_ENVIRONMENT.contains(&path) || key_of(path).is_some_and(is_qualified_name)
}

/// Whether a file can be made of the field.
pub fn is_file_field(path: &str) -> bool {
    OF_FILES.contains(&path) || key_of(path).is_some_and(is_qualified_name)
}

/// Whether the resource can be asked for: limits and requests of CPU, memory, local disk and huge pages.
pub fn is_resource(resource: &str) -> bool {
    part_and_name(resource).is_some()
}

impl PodFields<'_> {
    /// A field for an environment variable; empty for what this pod doesn't have.
    ///
    /// # Errors
    /// The pod has no such field, or doesn't offer it to variables.
    pub fn environment(&self, path: &str) -> Result<String, FieldError> {
        if !is_environment_field(path) {
            return Err(FieldError::Path { path: path.to_owned() });
        }
        let spec = self.pod.spec.as_ref();
        match path {
            "spec.nodeName" => Ok(self.node.name.clone()),
            "spec.serviceAccountName" => {
                Ok(spec.and_then(|spec| spec.service_account_name.clone()).unwrap_or_default())
            }
            "status.hostIP" => Ok(first(&self.node.addresses)),
            "status.hostIPs" => Ok(joined(&self.node.addresses)),
            "status.podIP" => Ok(first(self.addresses())),
            "status.podIPs" => Ok(joined(self.addresses())),
            _ => of_metadata(self.pod, path),
        }
    }

    /// A resource of a container of the pod: of `own` where the selector names none.
    ///
    /// # Errors
    /// The container or the resource doesn't exist, or a quantity isn't one.
    pub fn resource(
        &self,
        selector: &ResourceFieldSelector,
        own: Option<&Container>,
    ) -> Result<String, FieldError> {
        let spec = self.pod.spec.as_ref();
        let name = selector.container_name.as_deref().unwrap_or_default();
        let container = match own {
            Some(own) if name.is_empty() || own.name == name => own,
            Some(_) | None => spec
                .into_iter()
                .flat_map(|spec| spec.containers.iter().chain(spec.init_containers.iter().flatten()))
                .find(|container| container.name == name)
                .ok_or_else(|| FieldError::Container { name: name.to_owned() })?,
        };
        let (part, resource) = part_and_name(&selector.resource)
            .ok_or_else(|| FieldError::Resource { resource: selector.resource.clone() })?;
        let amount = match part {
            Part::Requests => {
                of(container.resources.as_ref().and_then(|all| all.requests.as_ref()), resource)
            }
            Part::Limits => {
                let limit = of(container.resources.as_ref().and_then(|all| all.limits.as_ref()), resource);
                limit.filter(|limit| !is_zero(limit)).or_else(|| self.default_limit(resource))
            }
        };
        divided(resource, amount, selector.divisor.as_ref())
    }

    /// The content of a file of a `downwardAPI` volume.
    ///
    /// # Errors
    /// Neither a field nor a resource is asked for, or one that the pod doesn't offer.
    pub fn file(&self, file: &DownwardAPIVolumeFile) -> Result<String, FieldError> {
        match (&file.field_ref, &file.resource_field_ref) {
            (Some(field), _) if is_file_field(&field.field_path) => of_metadata(self.pod, &field.field_path),
            (Some(field), _) => Err(FieldError::Path { path: field.field_path.clone() }),
            (None, Some(selector)) => self.resource(selector, None),
            (None, None) => Err(FieldError::Nothing),
        }
    }

    /// A container without a limit can use what its pod may, else what the node gives to pods.
    fn default_limit(&self, resource: &str) -> Option<&Quantity> {
        if ![CPU, MEMORY, EPHEMERAL_STORAGE].contains(&resource) {
            return None;
        }
        let of_pod = self.pod.spec.as_ref().and_then(|spec| spec.resources.as_ref()?.limits.as_ref());
        let of_pod = of(of_pod, resource).filter(|limit| resource != EPHEMERAL_STORAGE && !is_zero(limit));
        of_pod.or_else(|| {
            of(self.node.node.status.as_ref().and_then(|status| status.allocatable.as_ref()), resource)
        })
    }

    /// A pod on the host's network has the host's addresses.
    fn addresses(&self) -> &[IpAddr] {
        match network_of(self.pod) {
            NamespaceMode::Node if self.pod_ips.is_empty() => &self.node.addresses,
            NamespaceMode::Node | NamespaceMode::Pod | NamespaceMode::Container => self.pod_ips,
        }
    }
}

fn of_metadata(pod: &Pod, path: &str) -> Result<String, FieldError> {
    let meta = &pod.metadata;
    let value = |map: &Option<BTreeMap<String, String>>, key: &str| {
        map.as_ref().and_then(|map| map.get(key)).cloned().unwrap_or_default()
    };
    if let Some(key) = subscript(path, "metadata.labels") {
        return Ok(value(&meta.labels, key));
    }
    if let Some(key) = subscript(path, "metadata.annotations") {
        return Ok(value(&meta.annotations, key));
    }
    match path {
        "metadata.name" => Ok(meta.name.clone().unwrap_or_default()),
        "metadata.namespace" => Ok(meta.namespace.clone().unwrap_or_default()),
        "metadata.uid" => Ok(meta.uid.clone().unwrap_or_default()),
        "metadata.labels" => Ok(lines(meta.labels.as_ref())),
        "metadata.annotations" => Ok(lines(meta.annotations.as_ref())),
        _ => Err(FieldError::Path { path: path.to_owned() }),
    }
}

/// The key in `metadata.labels['<key>']` or `metadata.annotations['<key>']`.
fn key_of(path: &str) -> Option<&str> {
    subscript(path, "metadata.labels").or_else(|| subscript(path, "metadata.annotations"))
}

fn subscript<'a>(path: &'a str, field: &str) -> Option<&'a str> {
    path.strip_prefix(field)?.strip_prefix("['")?.strip_suffix("']")
}

/// A line `key="value"` for each entry, by key; values are quoted as Go does (`%q`).
fn lines(map: Option<&BTreeMap<String, String>>) -> String {
    let lines = map.into_iter().flatten().map(|(key, value)| format!("{key}={}", go::quote(value)));
    lines.collect::<Vec<_>>().join("\n")
}

enum Part {
    Limits,
    Requests,
}

fn part_and_name(resource: &str) -> Option<(Part, &str)> {
    let (part, name) = match resource.split_once('.')? {
        ("limits", name) => (Part::Limits, name),
        ("requests", name) => (Part::Requests, name),
        _ => return None,
    };
    let known = [CPU, MEMORY, EPHEMERAL_STORAGE].contains(&name) || name.starts_with("hugepages-");
    known.then_some((part, name))
}

fn of<'a>(list: Option<&'a BTreeMap<String, Quantity>>, resource: &str) -> Option<&'a Quantity> {
    list.and_then(|list| list.get(resource))
}

fn is_zero(quantity: &Quantity) -> bool {
    quantity::parse(&quantity.0).is_ok_and(|amount| amount.is_zero())
}

/// The amount in units of the divisor, rounded up; a divisor of zero, or none, is one.
fn divided(
    resource: &str,
    amount: Option<&Quantity>,
    divisor: Option<&Quantity>,
) -> Result<String, FieldError> {
    let number = |quantity: &Quantity| {
        super::resources::amount(resource, quantity)
            .map_err(|_| FieldError::Quantity { quantity: quantity.0.clone() })
    };
    let amount = amount.map(number).transpose()?.unwrap_or_default();
    let one = if resource == CPU { 1000 } else { 1 };
    let divisor = divisor.map(number).transpose()?.filter(|divisor| *divisor != 0).unwrap_or(one);
    let (amount, divisor) = (i128::from(amount), i128::from(divisor));
    let rest = amount % divisor != 0 && (amount > 0) == (divisor > 0);
    Ok((amount / divisor + i128::from(rest)).to_string())
}

fn first(ips: &[IpAddr]) -> String {
    ips.first().map(IpAddr::to_string).unwrap_or_default()
}

fn joined(ips: &[IpAddr]) -> String {
    ips.iter().map(IpAddr::to_string).collect::<Vec<_>>().join(",")
}
