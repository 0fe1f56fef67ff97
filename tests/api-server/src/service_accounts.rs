//! What the ServiceAccount admission adds to pods, and what each namespace has.

use serde_json::{Value, json};

use crate::error::ApiError;
use crate::prepare::is_mirror;
use crate::resources;
use crate::store::Key;
use crate::value::{as_map, default_to, list, object, text};
use crate::write::Cx;

/// Where containers find their account.
const MOUNT: &str = "/var/run/secrets/kubernetes.io/serviceaccount";
/// Life of a pod's token, with upstream's margin of seven seconds.
const EXPIRATION: i64 = 3607;

/// Gives the pod its account, the volume `kube-api-access-…` and its mounts, where the server does that. 403 without the account.
pub(crate) fn admit_pod(cx: &mut Cx<'_>, pod: &mut Value) -> Result<(), ApiError> {
    if !cx.admission.service_accounts || is_mirror(pod) {
        return Ok(());
    }
    default_to(object(pod, "spec"), "serviceAccountName", "default");
    let account = pod["spec"]["serviceAccountName"].clone();
    default_to(object(pod, "spec"), "serviceAccount", account);
    let (namespace, name) = (text(pod, "/metadata/namespace"), text(pod, "/spec/serviceAccountName"));
    let accounts = resources::named("serviceaccounts");
    let Some(account) = cx.state.get(accounts, &Key::new(namespace, name)).cloned() else {
        let why = format!(
            "error looking up service account {namespace}/{name}: serviceaccount \"{name}\" not found"
        );
        let pods = resources::named("pods");
        return Err(ApiError::forbidden(pods, text(pod, "/metadata/name"), &why));
    };
    let wish = pod
        .pointer("/spec/automountServiceAccountToken")
        .or_else(|| account.get("automountServiceAccountToken"));
    let secrets = list(&account, "/imagePullSecrets").to_vec();
    if wish == Some(&Value::Bool(false)) {
        return Ok(());
    }
    let volume = format!("kube-api-access-{}", cx.state.next_suffix());
    let spec = object(pod, "spec");
    if !secrets.is_empty() {
        default_to(spec, "imagePullSecrets", secrets);
    }
    let mut needed = false;
    for key in ["initContainers", "containers"] {
        for container in spec.get_mut(key).and_then(Value::as_array_mut).into_iter().flatten() {
            let mounts = as_map(container).entry("volumeMounts").or_insert_with(|| json!([]));
            let Some(mounts) = mounts.as_array_mut() else { continue };
            if mounts.iter().all(|mount| mount["mountPath"] != MOUNT) {
                mounts.push(json!({ "name": volume, "mountPath": MOUNT, "readOnly": true }));
                needed = true;
            }
        }
    }
    if needed {
        let volumes = spec.entry("volumes").or_insert_with(|| json!([]));
        if let Some(volumes) = volumes.as_array_mut() {
            volumes.push(access_volume(&volume));
        }
    }
    Ok(())
}

fn access_volume(name: &str) -> Value {
    let namespace =
        json!({ "path": "namespace", "fieldRef": { "apiVersion": "v1", "fieldPath": "metadata.namespace" } });
    json!({
        "name": name,
        "projected": {
            "defaultMode": 0o644,
            "sources": [
                { "serviceAccountToken": { "expirationSeconds": EXPIRATION, "path": "token" } },
                { "configMap": { "name": "kube-root-ca.crt", "items": [{ "key": "ca.crt", "path": "ca.crt" }] } },
                { "downwardAPI": { "items": [namespace] } },
            ],
        },
    })
}
