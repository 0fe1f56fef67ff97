//! What each resource's strategy does before a write: parts that a request may not touch, fields that the server fills.

use serde_json::{Value, json};

use crate::error::ApiError;
use crate::resources::Resource;
use crate::value::{as_map, default_to, list, metadata, object, take_over, text};
use crate::write::{Cx, seconds};
use crate::{defaults, node_rules, service_accounts};

/// Annotation of mirror pods.
pub(crate) const MIRROR: &str = "kubernetes.io/config.mirror";

/// Before a creation.
pub(crate) fn for_create(cx: &mut Cx<'_>, resource: &Resource, created: &mut Value) -> Result<(), ApiError> {
    match resource.name {
        "pods" => {
            service_accounts::admit_pod(cx, created)?;
            priority(created);
            let class = defaults::qos_class(created);
            let map = as_map(created);
            map.insert("status".to_owned(), json!({ "phase": "Pending", "qosClass": class }));
        }
        "namespaces" => {
            let name = text(created, "/metadata/name").to_owned();
            let labels = object(&mut created["metadata"], "labels");
            default_to(labels, "kubernetes.io/metadata.name", name);
            object(created, "spec").insert("finalizers".to_owned(), json!(["kubernetes"]));
            object(created, "status").insert("phase".to_owned(), "Active".into());
        }
        "secrets" => {
            merge_string_data(created);
            default_to(as_map(created), "type", "Opaque");
        }
        "certificatesigningrequests" => {
            let groups = cx.who.all_groups();
            let user = cx.who.user.clone();
            let spec = object(created, "spec");
            spec.insert("username".to_owned(), user.into());
            spec.insert("groups".to_owned(), groups.into());
            as_map(created).remove("status");
        }
        "services" => service_address(cx, created),
        // A node agent registers its node with its status; others have theirs through the subresource only.
        "nodes" | "persistentvolumes" => {}
        _ if resource.has_status => {
            as_map(created).remove("status");
        }
        _ => {}
    }
    node_rules::admit(cx, resource, "", None, Some(created))
}

/// Before a change, through a subresource or none.
pub(crate) fn for_update(
    cx: &mut Cx<'_>,
    resource: &Resource,
    subresource: &str,
    proposed: &mut Value,
    current: &Value,
) -> Result<(), ApiError> {
    match subresource {
        "status" | "approval" => {
            let kept: Vec<String> = as_map(proposed).keys().cloned().collect();
            for key in kept.iter().filter(|key| !matches!(key.as_str(), "metadata" | "status")) {
                take_over(proposed, current, key);
            }
            take_over(proposed, current, "spec");
            take_over(&mut proposed["metadata"], &current["metadata"], "ownerReferences");
        }
        "ephemeralcontainers" => {
            let wish = proposed.pointer("/spec/ephemeralContainers").cloned();
            *proposed = current.clone();
            if let Some(wish) = wish {
                object(proposed, "spec").insert("ephemeralContainers".to_owned(), wish);
            }
        }
        "resize" => resize(proposed, current),
        _ => {
            if resource.name == "secrets" {
                merge_string_data(proposed);
                default_to(as_map(proposed), "type", "Opaque");
            }
            if resource.has_status {
                take_over(proposed, current, "status");
            }
            if resource.is_pods() {
                let priority = current.pointer("/spec/priority").cloned();
                if let Some(priority) = priority {
                    default_to(object(proposed, "spec"), "priority", priority);
                }
            }
        }
    }
    if resource.name == "certificatesigningrequests" {
        stamp_conditions(cx, proposed);
    }
    node_rules::admit(cx, resource, subresource, Some(current), Some(proposed))
}

/// Only resources and resize policies reach the pod.
fn resize(proposed: &mut Value, current: &Value) {
    let wish = std::mem::replace(proposed, current.clone());
    let spec = &mut proposed["spec"];
    if let Some(resources) = wish.pointer("/spec/resources") {
        as_map(spec).insert("resources".to_owned(), resources.clone());
    }
    for list_name in ["containers", "initContainers"] {
        let Some(containers) = spec.get_mut(list_name).and_then(Value::as_array_mut) else { continue };
        for container in containers {
            let wished = list(&wish, &format!("/spec/{list_name}")).iter();
            let Some(wished) = wished.into_iter().find(|c| c["name"] == container["name"]) else { continue };
            take_over(container, wished, "resources");
            if wished.get("resizePolicy").is_some() {
                take_over(container, wished, "resizePolicy");
            }
        }
    }
}

fn priority(pod: &mut Value) {
    let system = match text(pod, "/spec/priorityClassName") {
        "system-node-critical" => 2_000_001_000,
        "system-cluster-critical" => 2_000_000_000,
        _ => 0,
    };
    let spec = object(pod, "spec");
    default_to(spec, "priority", system);
    default_to(spec, "preemptionPolicy", "PreemptLowerPriority");
}

fn merge_string_data(secret: &mut Value) {
    use base64::Engine;
    let Some(Value::Object(texts)) = as_map(secret).remove("stringData") else { return };
    let data = object(secret, "data");
    for (key, value) in texts {
        let bytes = value.as_str().unwrap_or_default().as_bytes();
        data.insert(key, base64::engine::general_purpose::STANDARD.encode(bytes).into());
    }
}

/// Services get an address of 10.96.0.0/16, unless they say `None`.
fn service_address(cx: &mut Cx<'_>, service: &mut Value) {
    let number = cx.state.next_number();
    let address = format!("10.96.{}.{}", (number >> 8) & 0xff, (number & 0xff).clamp(2, 254));
    let spec = object(service, "spec");
    default_to(spec, "type", "ClusterIP");
    default_to(spec, "sessionAffinity", "None");
    if spec["type"] != "ExternalName" {
        default_to(spec, "clusterIP", address);
        let address = spec["clusterIP"].clone();
        default_to(spec, "clusterIPs", vec![address]);
    }
    object(service, "status").insert("loadBalancer".to_owned(), json!({}));
}

/// Conditions of a signing request get their times.
fn stamp_conditions(cx: &Cx<'_>, request: &mut Value) {
    let now = seconds(cx.now);
    let conditions = request.pointer_mut("/status/conditions").and_then(Value::as_array_mut);
    for condition in conditions.into_iter().flatten() {
        for key in ["lastUpdateTime", "lastTransitionTime"] {
            default_to(as_map(condition), key, now.clone());
        }
    }
}

/// Whether this pod is a mirror of one that the node has from elsewhere.
pub(crate) fn is_mirror(pod: &Value) -> bool {
    pod.pointer("/metadata/annotations").and_then(|a| a.get(MIRROR)).is_some()
}

/// Marks an object as being deleted.
pub(crate) fn mark_deleted(object: &mut Value, at: String, grace: i64) {
    let meta = metadata(object);
    meta.insert("deletionTimestamp".to_owned(), at.into());
    meta.insert("deletionGracePeriodSeconds".to_owned(), grace.into());
}
