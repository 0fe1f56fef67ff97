//! Groups that other servers answer for behind this one, such as a metrics server for `metrics.k8s.io` (upstream: APIService objects and
//! the aggregator): what they say is given as documents.

use std::collections::BTreeMap;

use http::{Method, Request as HttpRequest};
use serde_json::{Value, json};

use crate::discovery;
use crate::dispatch::ApiResponse;
use crate::server::{ApiServer, lock};

/// Documents of each group, by group and version and then by the path below `/apis/GROUP/VERSION`.
pub(crate) type Aggregated = BTreeMap<(String, String), BTreeMap<String, Value>>;

impl ApiServer {
    /// Answers GETs below `/apis/GROUP/VERSION` with these documents, by the rest of the path (`/nodes`), in place of those before.
    pub fn aggregate(&self, group: &str, version: &str, documents: BTreeMap<String, Value>) {
        lock(&self.aggregated).insert((group.to_owned(), version.to_owned()), documents);
    }

    /// What another server answers, or what of the answer to a list of groups is other servers'.
    pub(crate) fn aggregated<B>(&self, request: &HttpRequest<B>) -> Option<ApiResponse> {
        let groups = lock(&self.aggregated);
        if request.method() != Method::GET || groups.is_empty() {
            return None;
        }
        let path = request.uri().path().trim_end_matches('/');
        if path == "/apis" {
            let mut list = discovery::document(path)?;
            let others = groups.keys().map(|(group, version)| discovery::api_group(group, version));
            list["groups"].as_array_mut()?.extend(others);
            return Some(ApiResponse::object(200, &list));
        }
        let document = groups.iter().find_map(|((group, version), documents)| {
            let rest = path.strip_prefix(&format!("/apis/{group}/{version}"))?;
            match rest {
                "" => Some(json!({
                    "kind": "APIResourceList", "apiVersion": "v1", "groupVersion": format!("{group}/{version}"), "resources": [],
                })),
                rest => documents.get(rest).cloned(),
            }
        })?;
        Some(ApiResponse::object(200, &document))
    }
}
