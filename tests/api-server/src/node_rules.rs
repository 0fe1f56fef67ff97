//! NodeRestriction: what a node may write, beyond what it may reach.

use serde_json::Value;

use crate::error::ApiError;
use crate::prepare::{MIRROR, is_mirror};
use crate::resources::{self, Resource};
use crate::store::Key;
use crate::value::{list, text};
use crate::write::Cx;

/// Labels of `kubernetes.io` and `k8s.io` that a node may give itself.
const LABELS: [&str; 11] = [
    "kubernetes.io/hostname",
    "kubernetes.io/os",
    "kubernetes.io/arch",
    "beta.kubernetes.io/os",
    "beta.kubernetes.io/arch",
    "beta.kubernetes.io/instance-type",
    "node.kubernetes.io/instance-type",
    "failure-domain.beta.kubernetes.io/region",
    "failure-domain.beta.kubernetes.io/zone",
    "topology.kubernetes.io/region",
    "topology.kubernetes.io/zone",
];
/// Domains whose labels are the node's to give.
const LABEL_DOMAINS: [&str; 2] = ["kubelet.kubernetes.io", "node.kubernetes.io"];

fn node_of<'a>(cx: &'a Cx<'_>) -> Option<&'a str> {
    if cx.admission.node_rules { cx.who.node_name() } else { None }
}

/// Whether this user may create or change that; `old` is none for a creation.
pub(crate) fn admit(
    cx: &Cx<'_>,
    resource: &Resource,
    subresource: &str,
    old: Option<&Value>,
    new: Option<&Value>,
) -> Result<(), ApiError> {
    let (Some(node), Some(new)) = (node_of(cx), new) else { return Ok(()) };
    let name = text(new, "/metadata/name");
    let verdict = match (resource.name, subresource, old) {
        ("pods", "", None) => mirror_pod(cx, node, new),
        ("pods", "status", Some(old)) => pod_status(node, old, new),
        ("pods", _, Some(_)) => Err(format!(
            "unexpected operation \"UPDATE\", node \"{node}\" can only create and delete mirror pods"
        )),
        ("nodes", _, old) => own_node(node, old, new),
        ("leases", _, _) if text(new, "/metadata/namespace") != "kube-node-lease" => {
            Err("can only access leases in the \"kube-node-lease\" system namespace".to_owned())
        }
        ("leases", _, _) if name != node => {
            Err("can only access node lease with the same name as the requesting node".to_owned())
        }
        ("csinodes", _, _) if name != node => {
            Err("can only access CSINode with the same name as the requesting node".to_owned())
        }
        _ => Ok(()),
    };
    verdict.map_err(|why| ApiError::forbidden(resource, name, &why))
}

fn mirror_pod(cx: &Cx<'_>, node: &str, pod: &Value) -> Result<(), String> {
    if !is_mirror(pod) {
        return Err(format!(
            "pod does not have \"{MIRROR}\" annotation, node \"{node}\" can only create mirror pods"
        ));
    }
    if text(pod, "/spec/nodeName") != node {
        return Err(format!("node \"{node}\" can only create pods with spec.nodeName set to itself"));
    }
    let own = cx.state.get(resources::named("nodes"), &Key::new("", node));
    let uid = own.map(|own| text(own, "/metadata/uid")).unwrap_or_default();
    let [owner] = list(pod, "/metadata/ownerReferences") else {
        return Err(format!("node \"{node}\" can only create pods with an owner reference set to itself"));
    };
    let is_own = text(owner, "/apiVersion") == "v1"
        && text(owner, "/kind") == "Node"
        && text(owner, "/name") == node
        && owner.get("controller") == Some(&Value::Bool(true))
        && owner.get("blockOwnerDeletion") != Some(&Value::Bool(true));
    if !is_own {
        return Err(format!(
            "node \"{node}\" can only create pods with a controller owner reference set to itself"
        ));
    }
    if text(owner, "/uid") != uid {
        return Err(format!("node {node} UID mismatch: expected {uid} got {}", text(owner, "/uid")));
    }
    if !text(pod, "/spec/serviceAccountName").is_empty() {
        return Err(format!("node \"{node}\" can not create pods that reference a service account"));
    }
    let (secrets, configs) = (references(pod, "secrets"), references(pod, "configmaps"));
    if !secrets.is_empty() {
        return Err(format!("node \"{node}\" can not create pods that reference secrets"));
    }
    if !configs.is_empty() {
        return Err(format!("node \"{node}\" can not create pods that reference configmaps"));
    }
    Ok(())
}

fn pod_status(node: &str, old: &Value, new: &Value) -> Result<(), String> {
    if text(old, "/spec/nodeName") != node {
        return Err(format!(
            "node \"{node}\" can only update pod status for pods with spec.nodeName set to itself"
        ));
    }
    if old.pointer("/metadata/labels") != new.pointer("/metadata/labels") {
        return Err(format!("node \"{node}\" cannot update labels through pod status"));
    }
    Ok(())
}

fn own_node(node: &str, old: Option<&Value>, new: &Value) -> Result<(), String> {
    let name = text(new, "/metadata/name");
    if name != node {
        return Err(format!("node \"{node}\" is not allowed to modify node \"{name}\""));
    }
    let empty = serde_json::Map::new();
    let labels_of = |object: Option<&Value>| {
        let labels = object.and_then(|object| object.pointer("/metadata/labels")).and_then(Value::as_object);
        labels.cloned().unwrap_or_else(|| empty.clone())
    };
    let (was, is) = (labels_of(old), labels_of(Some(new)));
    let mut changed: Vec<&str> =
        is.iter().filter(|(k, v)| was.get(*k) != Some(*v)).map(|(k, _)| k.as_str()).collect();
    changed.extend(was.keys().filter(|key| !is.contains_key(*key)).map(String::as_str));
    let forbidden: Vec<&str> = changed.into_iter().filter(|label| !may_label(label)).collect();
    if !forbidden.is_empty() {
        let labels = forbidden.join(", ");
        return Err(format!("is not allowed to modify labels: {labels}"));
    }
    let Some(old) = old else { return Ok(()) };
    if old.pointer("/spec/taints") != new.pointer("/spec/taints") {
        return Err(format!("node \"{node}\" is not allowed to modify taints"));
    }
    if old.pointer("/metadata/ownerReferences") != new.pointer("/metadata/ownerReferences") {
        return Err(format!("node \"{node}\" is not allowed to modify ownerReferences"));
    }
    Ok(())
}

/// Whether a node may give itself this label.
fn may_label(label: &str) -> bool {
    let Some((domain, _)) = label.split_once('/') else { return true };
    let is_in = |root: &str| domain == root || domain.ends_with(&format!(".{root}"));
    if is_in("node-restriction.kubernetes.io") {
        return false;
    }
    let is_kubernetes = is_in("kubernetes.io") || is_in("k8s.io");
    !is_kubernetes || LABELS.contains(&label) || LABEL_DOMAINS.iter().any(|domain| is_in(domain))
}

/// Whether this user may delete that.
pub(crate) fn admit_deletion(cx: &Cx<'_>, resource: &Resource, object: &Value) -> Result<(), ApiError> {
    let Some(node) = node_of(cx) else { return Ok(()) };
    if resource.is_pods() && text(object, "/spec/nodeName") != node {
        let why = format!("node \"{node}\" can only delete pods with spec.nodeName set to itself");
        return Err(ApiError::forbidden(resource, text(object, "/metadata/name"), &why));
    }
    Ok(())
}

/// Whether this user may have that token of the account: a node only one that is bound to a pod of its own, by name and UID.
pub(crate) fn admit_token(cx: &Cx<'_>, account: &Key, asked: &Value) -> Result<(), ApiError> {
    let Some(node) = node_of(cx) else { return Ok(()) };
    let (accounts, pods) = (resources::named("serviceaccounts"), resources::named("pods"));
    let refused = |why: &str| Err(ApiError::forbidden(accounts, &account.name, why));
    let bound = &asked["spec"]["boundObjectRef"];
    let (name, uid) = (text(bound, "/name"), text(bound, "/uid"));
    if text(bound, "/kind") != "Pod" || name.is_empty() {
        return refused("node requested token not bound to a pod");
    }
    if uid.is_empty() {
        return refused("node requested token with a pod binding without a uid");
    }
    let pod = cx.state.get(pods, &Key::new(&account.namespace, name));
    let pod = pod.ok_or_else(|| ApiError::not_found(pods, name))?;
    if text(pod, "/metadata/uid") != uid {
        return refused(&format!(
            "the UID in the bound object reference ({uid}) does not match the UID in record ({}). The object might have \
             been deleted and then recreated",
            text(pod, "/metadata/uid")
        ));
    }
    if text(pod, "/spec/nodeName") != node {
        return refused("node requested token bound to a pod scheduled on a different node");
    }
    audience_of_pod(cx, pod, asked).or_else(|why| refused(&why))
}

/// Whether the token is for an audience that a volume of the pod names (upstream: `ServiceAccountNodeAudienceRestriction`). Drivers of
/// CSI volumes have none here.
fn audience_of_pod(cx: &Cx<'_>, pod: &Value, asked: &Value) -> Result<(), String> {
    let audiences = asked["spec"]["audiences"].as_array().map(Vec::as_slice).unwrap_or_default();
    let audience = match audiences {
        [] => "",
        [one] => one.as_str().unwrap_or_default(),
        _ => return Err("node may only request 0 or 1 audiences".to_owned()),
    };
    let volumes = pod["spec"]["volumes"].as_array().into_iter().flatten();
    let mut sources = volumes.filter_map(|volume| volume["projected"]["sources"].as_array()).flatten();
    let is_named = sources.any(|source| {
        source.get("serviceAccountToken").is_some_and(|token| text(token, "/audience") == audience)
    });
    let user = &cx.who.user;
    is_named.then_some(()).ok_or_else(|| {
        format!(
            "audience \"{audience}\" not found in pod spec volume, {user} is not authorized to request tokens for this audience"
        )
    })
}

/// Names of the objects of this resource that a pod draws from.
pub(crate) fn references(pod: &Value, resource: &str) -> Vec<String> {
    let mut found = Vec::new();
    if resource == "serviceaccounts" {
        found.push(text(pod, "/spec/serviceAccountName").to_owned());
    } else {
        collect(&pod["spec"], resource, &mut found);
    }
    found.retain(|name| !name.is_empty());
    found
}

fn collect(value: &Value, resource: &str, found: &mut Vec<String>) {
    match value {
        Value::Array(list) => list.iter().for_each(|item| collect(item, resource, found)),
        Value::Object(map) => {
            for (key, inner) in map {
                let pointers: &[&str] = match (resource, key.as_str()) {
                    ("secrets", "secret") => &["/secretName", "/name"],
                    ("secrets", "secretKeyRef" | "secretRef" | "nodePublishSecretRef") => &["/name"],
                    ("configmaps", "configMap" | "configMapKeyRef" | "configMapRef") => &["/name"],
                    ("persistentvolumeclaims", "persistentVolumeClaim") => &["/claimName"],
                    _ => &[],
                };
                found.extend(pointers.iter().map(|pointer| text(inner, pointer).to_owned()));
                if resource == "secrets" && key == "imagePullSecrets" {
                    let names = inner.as_array().into_iter().flatten();
                    found.extend(names.map(|secret| text(secret, "/name").to_owned()));
                }
                collect(inner, resource, found);
            }
        }
        _ => {}
    }
}
