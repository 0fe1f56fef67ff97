//! The Node authorizer: what a node may reach. A node is recognised by its user name and group; other users aren't limited here.

use serde_json::Value;

use crate::error::ApiError;
use crate::identity::Identity;
use crate::node_rules::references;
use crate::path::Target;
use crate::prepare::is_mirror;
use crate::resources;
use crate::server::ApiServer;
use crate::store::{Key, State};
use crate::value::text;

/// Groups of joining nodes begin so.
const BOOTSTRAPPERS: &str = "system:bootstrappers";
const READ: [&str; 3] = ["get", "list", "watch"];

/// Whether this user may send this request at all; 403 if not.
pub(crate) fn authorize(
    server: &ApiServer,
    who: &Identity,
    target: &Target,
    verb: &str,
    query: &[(String, String)],
) -> Result<(), ApiError> {
    if !server.admission.node_rules {
        return Ok(());
    }
    let is_joining = who.groups.iter().any(|group| group.starts_with(BOOTSTRAPPERS));
    let verdict = match who.node_name() {
        Some(node) => decide(&server.store.lock(), node, target, verb, query),
        None if is_joining && target.resource.name != "certificatesigningrequests" => {
            Err("who joins may ask for a certificate".to_owned())
        }
        None => Ok(()),
    };
    let Err(why) = verdict else { return Ok(()) };
    let scope = match (target.resource.namespaced, target.namespace.as_str()) {
        (true, namespace) if !namespace.is_empty() => format!("in the namespace \"{namespace}\""),
        _ => "at the cluster scope".to_owned(),
    };
    let slash = if target.subresource.is_empty() { "" } else { "/" };
    let why = format!(
        "User \"{}\" cannot {verb} resource \"{}{slash}{}\" in API group \"{}\" {scope}: {why}",
        who.user, target.resource.name, target.subresource, target.resource.group
    );
    Err(ApiError::forbidden(target.resource, &target.name, &why))
}

fn decide(
    state: &State,
    node: &str,
    target: &Target,
    verb: &str,
    query: &[(String, String)],
) -> Result<(), String> {
    let is_read = READ.contains(&verb);
    let selected = |field: &str| {
        let selector = query.iter().find(|(key, _)| key == "fieldSelector").map(|(_, value)| value.as_str());
        let found = selector
            .unwrap_or_default()
            .split(',')
            .find_map(|piece| piece.strip_prefix(field)?.strip_prefix('='));
        found.map(|value| value.trim_start_matches('=').to_owned()).unwrap_or_default()
    };
    let named = if target.name.is_empty() { selected("metadata.name") } else { target.name.clone() };
    let no = |why: &str| Err(why.to_owned());
    match (target.resource.name, target.subresource.as_str()) {
        ("secrets" | "configmaps" | "persistentvolumeclaims", "") => {
            if !is_read {
                return no("can only read resources of this type");
            }
            if named.is_empty() {
                return no("No Object name found");
            }
            related(state, node, target.resource.name, &target.namespace, &named)
        }
        ("serviceaccounts", "token") if verb == "create" => {
            related(state, node, "serviceaccounts", &target.namespace, &named)
        }
        ("serviceaccounts", "") if verb == "get" => {
            related(state, node, "serviceaccounts", &target.namespace, &named)
        }
        ("leases", "") => {
            if target.namespace != "kube-node-lease" {
                return no("can only access leases in the \"kube-node-lease\" system namespace");
            }
            match verb {
                "create" => Ok(()),
                "get" | "update" | "patch" | "delete" if named == node => Ok(()),
                "get" | "update" | "patch" | "delete" => {
                    no("can only access node lease with the same name as the requesting node")
                }
                _ => no("can only get, create, update, patch, or delete a node lease"),
            }
        }
        ("csinodes", "") => match verb {
            "create" => Ok(()),
            "get" | "update" | "patch" | "delete" if named == node => Ok(()),
            _ => no("can only access CSINode with the same name as the requesting node"),
        },
        ("nodes", "" | "status") => match verb {
            "create" => Ok(()),
            "get" | "list" | "watch" | "update" | "patch" if named == node => Ok(()),
            "get" | "list" | "watch" => {
                no(&format!("node '{node}' cannot read all nodes, only its own Node object"))
            }
            _ => no(&format!("node '{node}' is not allowed to modify node '{named}'")),
        },
        ("pods", subresource) => pods(state, node, target, subresource, verb, &selected("spec.nodeName")),
        ("services" | "runtimeclasses" | "csidrivers", "") if is_read => Ok(()),
        ("endpoints" | "volumeattachments" | "persistentvolumes", "") if verb == "get" => Ok(()),
        ("certificatesigningrequests", "") if is_read || verb == "create" => Ok(()),
        ("events", "") if matches!(verb, "create" | "patch" | "update") => Ok(()),
        ("tokenreviews" | "subjectaccessreviews" | "selfsubjectreviews" | "selfsubjectaccessreviews", "") => {
            Ok(())
        }
        _ => no("no rule of the node role allows it"),
    }
}

fn pods(
    state: &State,
    node: &str,
    target: &Target,
    subresource: &str,
    verb: &str,
    selected: &str,
) -> Result<(), String> {
    let is_own = || {
        let pod = state.get(resources::named("pods"), &Key::new(&target.namespace, &target.name));
        // What isn't there is answered 404 by what comes later, to deletions and patches; a read of it is refused.
        pod.map(|pod| text(pod, "/spec/nodeName") == node)
    };
    let unrelated = || Err(format!("no relationship found between node '{node}' and this object"));
    match (subresource, verb) {
        ("", "list" | "watch") if selected == node => Ok(()),
        ("", "list" | "watch") => {
            Err("can only list/watch pods with spec.nodeName field selector".to_owned())
        }
        ("", "get") => {
            if is_own() == Some(true) {
                Ok(())
            } else {
                unrelated()
            }
        }
        ("", "create" | "delete") | ("status", "update" | "patch" | "get") | ("eviction", "create") => Ok(()),
        _ => Err("no rule of the node role allows it".to_owned()),
    }
}

/// Whether a pod on this node draws from the object.
fn related(state: &State, node: &str, resource: &str, namespace: &str, name: &str) -> Result<(), String> {
    let pods = state.table(resources::named("pods")).objects.range(Key::new(namespace, "")..);
    let mut here = pods
        .take_while(|(key, _)| key.namespace == namespace)
        .map(|(_, pod)| pod)
        .filter(|pod: &&std::sync::Arc<Value>| text(pod, "/spec/nodeName") == node && !is_mirror(pod));
    if here.any(|pod| references(pod, resource).iter().any(|found| found == name)) {
        return Ok(());
    }
    Err(format!("no relationship found between node '{node}' and this object"))
}
