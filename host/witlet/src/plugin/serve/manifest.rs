//! The `ValidatingWebhookConfiguration` that has an API server ask `witlet plugin serve`.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use witlet_server::webhook;

use crate::cli::{OutputFormat, WebhookTarget};
use crate::output::{OutputError, structured};

#[cfg(test)]
mod tests;

/// When the API server asks at all (CEL): labels, annotations, finalizers and owners change all the time, and no handler is asked about
/// them. Everything that handlers are asked about stands in the spec. If it can't be evaluated, the failure policy decides.
const SPEC_CHANGES: &str = "request.operation != 'UPDATE' || object.spec != oldObject.spec";

/// The configuration as YAML; `authority` is the PEM of who signed the webhook's certificate.
pub(crate) fn text(target: &WebhookTarget, authority: &[u8]) -> Result<String, OutputError> {
    structured(&configuration(target, authority), OutputFormat::Yaml)
}

fn configuration(target: &WebhookTarget, authority: &[u8]) -> Value {
    let mut client = match target {
        WebhookTarget::Url(url) => json!({"url": format!("{url}{}", webhook::PATH)}),
        WebhookTarget::Service { namespace, name } => {
            json!({"service": {"namespace": namespace, "name": name, "path": webhook::PATH, "port": 443}})
        }
    };
    client["caBundle"] = json!(STANDARD.encode(authority));
    let rule = |operation: &str, resource: &str| {
        json!({
            "apiGroups": [""], "apiVersions": ["v1"], "operations": [operation], "resources": [resource],
            "scope": "Namespaced",
        })
    };
    json!({
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": "witlet-plugins"},
        "webhooks": [{
            "name": "plugins.witlet.dev",
            "clientConfig": client,
            "rules": [
                rule("CREATE", "pods"), rule("UPDATE", "pods"), rule("UPDATE", "pods/resize"),
                rule("UPDATE", "pods/ephemeralcontainers"),
            ],
            // The nodes ask the same handlers, so that no pod is lost while the webhook is away, and none runs unchecked.
            "failurePolicy": "Ignore",
            "matchPolicy": "Equivalent",
            // A cluster whose own pods wait for a webhook may not come up.
            "namespaceSelector": {"matchExpressions": [
                {"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": ["kube-system"]},
            ]},
            "matchConditions": [{"name": "spec-changes", "expression": SPEC_CHANGES}],
            "sideEffects": "None",
            "timeoutSeconds": 10,
            "admissionReviewVersions": ["v1"],
        }],
    })
}
