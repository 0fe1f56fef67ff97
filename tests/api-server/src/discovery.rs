//! What the server says it has: versions, groups, resources.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::resources::{RESOURCES, Resource};

/// The document at this path, if there is one.
pub(crate) fn document(path: &str) -> Option<Value> {
    let parts: Vec<&str> = path.trim_matches('/').split('/').collect();
    match parts.as_slice() {
        ["version"] => Some(json!({
            "major": "1", "minor": "36", "gitVersion": "v1.36.0", "gitCommit": "", "gitTreeState": "clean",
            "buildDate": "1970-01-01T00:00:00Z", "goVersion": "none", "compiler": "rustc", "platform": "linux/amd64",
        })),
        ["api"] => {
            Some(json!({ "kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": [] }))
        }
        ["apis"] => {
            let groups: BTreeSet<(&str, &str)> =
                RESOURCES.iter().filter(|r| !r.group.is_empty()).map(|r| (r.group, r.version)).collect();
            let groups: Vec<Value> =
                groups.into_iter().map(|(group, version)| api_group(group, version)).collect();
            Some(json!({ "kind": "APIGroupList", "apiVersion": "v1", "groups": groups }))
        }
        ["api", version] => resource_list("", version),
        ["apis", group] => {
            let found = RESOURCES.iter().find(|r| r.group == *group)?;
            let mut document = api_group(found.group, found.version);
            document["kind"] = "APIGroup".into();
            document["apiVersion"] = "v1".into();
            Some(document)
        }
        ["apis", group, version] => resource_list(group, version),
        _ => None,
    }
}

pub(crate) fn api_group(group: &str, version: &str) -> Value {
    let version = json!({ "groupVersion": format!("{group}/{version}"), "version": version });
    json!({ "name": group, "versions": [version], "preferredVersion": version })
}

fn resource_list(group: &str, version: &str) -> Option<Value> {
    let found: Vec<&Resource> =
        RESOURCES.iter().filter(|r| r.group == group && r.version == version).collect();
    let first = found.first()?;
    let mut resources = Vec::new();
    for resource in &found {
        let verbs = if resource.is_review {
            json!(["create"])
        } else {
            json!(["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"])
        };
        let singular = resource.kind.to_ascii_lowercase();
        resources.push(json!({
            "name": resource.name, "singularName": singular, "namespaced": resource.namespaced,
            "kind": resource.kind, "verbs": verbs,
        }));
        if resource.has_status {
            resources.push(json!({
                "name": format!("{}/status", resource.name), "singularName": "", "namespaced": resource.namespaced,
                "kind": resource.kind, "verbs": ["get", "patch", "update"],
            }));
        }
    }
    let version = first.api_version();
    Some(
        json!({ "kind": "APIResourceList", "apiVersion": "v1", "groupVersion": version, "resources": resources }),
    )
}
