//! Certificate signing requests: what the controllers of a cluster do with them.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use jiff::SignedDuration;
use serde_json::{Value, json};

use crate::error::ApiError;
use crate::identity::Identity;
use crate::patch::{self, PatchType};
use crate::resources;
use crate::server::ApiServer;
use crate::store::Key;
use crate::value::{list, number, text};
use crate::write::{self, Change, seconds};

/// The signer of node agents' client certificates: its requests are approved without a person.
const KUBELET_CLIENT: &str = "kubernetes.io/kube-apiserver-client-kubelet";
/// Life of a certificate whose request names none.
const LIFE: SignedDuration = SignedDuration::from_hours(365 * 24);

/// Does what the controllers do after a request was made or decided, where the server plays them.
pub(crate) fn attend(server: &ApiServer, name: &str) -> Result<(), ApiError> {
    if !server.admission.sign_requests {
        return Ok(());
    }
    let Some(request) = find(server, name) else { return Ok(()) };
    if text(&request, "/spec/signerName") == KUBELET_CLIENT && list(&request, "/status/conditions").is_empty()
    {
        decide(server, name, "Approved")?;
    }
    match find(server, name) {
        Some(request) if is_approved(&request) && text(&request, "/status/certificate").is_empty() => {
            sign(server, name, None)
        }
        _ => Ok(()),
    }
}

fn find(server: &ApiServer, name: &str) -> Option<std::sync::Arc<Value>> {
    server.store.lock().get(resources::named("certificatesigningrequests"), &Key::new("", name)).cloned()
}

fn is_approved(request: &Value) -> bool {
    list(request, "/status/conditions").iter().any(|c| c["type"] == "Approved" && c["status"] == "True")
}

/// Adds a decision to the request.
pub(crate) fn decide(server: &ApiServer, name: &str, decision: &str) -> Result<(), ApiError> {
    let now = seconds(server.now());
    let condition = json!({
        "type": decision, "status": "True", "reason": "AutoApproved", "message": "decided for a test",
        "lastUpdateTime": now, "lastTransitionTime": now,
    });
    change(server, name, "approval", json!({ "status": { "conditions": [condition] } }))
}

fn change(server: &ApiServer, name: &str, subresource: &str, patch: Value) -> Result<(), ApiError> {
    let resource = resources::named("certificatesigningrequests");
    let key = Key::new("", name);
    let change = Change { key: &key, subresource, is_whole: false };
    let make = |current: &Value| patch::apply(PatchType::Strategic, current, patch);
    server.write(&Identity::admin(), |cx| write::update(cx, resource, &change, make).map(|_| ()))
}

/// Signs the request, for this long or for as long as it asks for.
pub(crate) fn sign(server: &ApiServer, name: &str, life: Option<SignedDuration>) -> Result<(), ApiError> {
    let resource = resources::named("certificatesigningrequests");
    let request = find(server, name).ok_or_else(|| ApiError::not_found(resource, name))?;
    let asked = || number(&request, "/spec/expirationSeconds").map(SignedDuration::from_secs);
    let life = life.or_else(asked).unwrap_or(LIFE);
    let pem = STANDARD.decode(text(&request, "/spec/request")).unwrap_or_default();
    let pem = String::from_utf8_lossy(&pem);
    let certificate = server.authority().sign(&pem, server.now(), life).map_err(|cause| {
        ApiError::new(500, "InternalError", format!("the request can't be signed: {cause}"))
    })?;
    change(server, name, "status", json!({ "status": { "certificate": STANDARD.encode(certificate) } }))
}
