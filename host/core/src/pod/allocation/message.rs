//! What events say of a resize (upstream: `events/resize.go`).

use k8s_openapi::api::core::v1::{Container, Pod, ResourceRequirements};
use serde::Serialize;

use crate::go::escape_json;

/// In upstream's order of fields.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Summary<'a> {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    init_containers: Vec<Entry<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    containers: Vec<Entry<'a>>,
    generation: i64,
    #[serde(skip_serializing_if = "str::is_empty")]
    error: &'a str,
}

#[derive(Serialize)]
struct Entry<'a> {
    name: &'a str,
    resources: ResourceRequirements,
}

/// Says what happens to a resize, with the resources of the pod's containers as JSON: `what` is as `Pod resize started`, and `error`
/// is why it doesn't go on, or empty.
pub fn resize_message(what: &str, pod: &Pod, error: &str) -> String {
    let spec = pod.spec.as_ref();
    let summary = Summary {
        init_containers: entries_of(spec.and_then(|spec| spec.init_containers.as_deref())),
        containers: entries_of(spec.map(|spec| spec.containers.as_slice())),
        generation: pod.metadata.generation.unwrap_or_default(),
        error,
    };
    let json = serde_json::to_string(&summary).expect("text keys always have a JSON form");
    format!("{what}: {}", escape_json(&json))
}

fn entries_of(containers: Option<&[Container]>) -> Vec<Entry<'_>> {
    let containers = containers.unwrap_or_default().iter();
    containers
        .map(|container| Entry {
            name: &container.name,
            resources: container.resources.clone().unwrap_or_default(),
        })
        .collect()
}
