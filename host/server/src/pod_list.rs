//! A list of pods as the API has it.

use std::sync::Arc;

use k8s_openapi::api::core::v1::Pod;
use serde::Serialize;
use serde_json::{Value, json};

/// Written as it is read, because hundreds of pods are a lot.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PodList {
    api_version: &'static str,
    kind: &'static str,
    metadata: Value,
    items: Vec<Arc<Pod>>,
}

impl PodList {
    pub(crate) fn new(items: Vec<Arc<Pod>>) -> Self {
        Self { api_version: "v1", kind: "PodList", metadata: json!({}), items }
    }
}
