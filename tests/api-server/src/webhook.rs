//! What an API server of 1.36 sends to a validating webhook, and what it makes of the answer: its rules, for tests of webhooks.

use std::time::Duration;

use http::Request;
use http::header::{ACCEPT, ACCEPT_ENCODING, CONTENT_TYPE, HOST, USER_AGENT};
use serde_json::{Map, Value, json};

/// The version that is sent, and the only one that may come back.
const API_VERSION: &str = "admission.k8s.io/v1";
const KIND: &str = "AdmissionReview";
/// The code of a denial whose status has none that is an error's.
const DENIAL_CODE: u64 = 400;
/// Characters of all warnings of a request together; beyond that each is cut.
const WARNINGS_CHARS_MAX: usize = 4096;
/// Characters of a warning that is cut.
const WARNING_CHARS_MAX: usize = 256;

/// A request about a pod, on its way to being stored.
#[derive(Clone, Debug)]
pub struct PodRequest {
    /// `CREATE` or `UPDATE`
    pub operation: &'static str,
    /// Of the pod; empty for itself.
    pub subresource: &'static str,
    /// As it is to be, as it would be stored.
    pub pod: Value,
    /// As it is; null if it is new.
    pub old_pod: Value,
    pub dry_run: bool,
}

impl PodRequest {
    /// A pod that is to be made.
    pub fn create(pod: Value) -> Self {
        Self { operation: "CREATE", subresource: "", pod, old_pod: Value::Null, dry_run: false }
    }

    /// A pod, or a subresource of it, that is to be another one.
    pub fn update(subresource: &'static str, old_pod: Value, pod: Value) -> Self {
        Self { operation: "UPDATE", subresource, pod, old_pod, dry_run: false }
    }

    /// The body of the review with this UID. What is empty isn't there.
    pub fn review(&self, uid: &str) -> Value {
        let metadata = &self.pod["metadata"];
        let kind = json!({"group": "", "version": "v1", "kind": "Pod"});
        let resource = json!({"group": "", "version": "v1", "resource": "pods"});
        let mut options = match self.operation {
            "CREATE" => json!({
                "kind": "CreateOptions", "apiVersion": "meta.k8s.io/v1", "fieldManager": "kubectl-client-side-apply",
                "fieldValidation": "Strict",
            }),
            _ => {
                json!({"kind": "UpdateOptions", "apiVersion": "meta.k8s.io/v1", "fieldManager": "kubectl-edit"})
            }
        };
        if self.dry_run {
            options["dryRun"] = json!(["All"]);
        }
        let mut request = Map::new();
        for (field, value) in [
            ("uid", json!(uid)),
            ("kind", kind.clone()),
            ("resource", resource.clone()),
            ("subResource", json!(self.subresource)),
            ("requestKind", kind),
            ("requestResource", resource),
            ("requestSubResource", json!(self.subresource)),
            ("name", metadata["name"].clone()),
            ("namespace", metadata["namespace"].clone()),
            ("operation", json!(self.operation)),
            (
                "userInfo",
                json!({
                    "username": "kubernetes-admin", "groups": ["kubeadm:cluster-admins", "system:authenticated"],
                    "extra": {"authentication.kubernetes.io/credential-id": ["X509SHA256=0123"]},
                }),
            ),
            ("object", self.pod.clone()),
            ("oldObject", self.old_pod.clone()),
            ("dryRun", json!(self.dry_run)),
            ("options", options),
        ] {
            // A null object is one that is written.
            if value != "" && (!value.is_null() || matches!(field, "object" | "oldObject")) {
                request.insert(field.to_owned(), value);
            }
        }
        json!({"kind": KIND, "apiVersion": API_VERSION, "request": request})
    }
}

/// A review as it goes to a webhook behind the service of this name, `NAME.NAMESPACE.svc`, which has so long.
///
/// # Panics
/// When path or name can't stand in a request.
pub fn request(service: &str, path: &str, timeout: Duration, review: &Value) -> Request<Vec<u8>> {
    let builder = Request::post(format!("{path}?timeout={}s", timeout.as_secs()));
    let builder = builder
        .header(HOST, format!("{service}:443"))
        .header(USER_AGENT, "kube-apiserver-admission")
        .header(ACCEPT, "application/json, */*")
        .header(CONTENT_TYPE, "application/json")
        .header(ACCEPT_ENCODING, "gzip");
    // Its encoder ends with the end of the line.
    let body = format!("{review}\n").into_bytes();
    builder.body(body).expect("a test's path and name can stand in a request")
}

/// What a request about a pod comes to by a webhook's answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WebhookOutcome {
    /// It goes on.
    Allowed {
        /// What the user is shown.
        warnings: Vec<String>,
    },
    /// The user gets an error.
    Denied {
        /// Of HTTP.
        code: u64,
        /// As kubectl shows it.
        message: String,
        /// What the user is shown next to it.
        warnings: Vec<String>,
    },
}

/// What an API server makes of an answer to the review with this UID by the webhook of this name.
///
/// # Errors
/// Why the call has failed, so that the webhook's `failurePolicy` counts.
pub fn outcome(
    webhook: &str,
    uid: &str,
    code: u16,
    content_type: &str,
    body: &[u8],
) -> Result<WebhookOutcome, String> {
    let media_type = content_type.split(';').next().unwrap_or_default().trim();
    if !(200..=206).contains(&code) {
        return Err(format!("failed to call webhook: the server answered {code}"));
    }
    if !media_type.is_empty() && media_type != "application/json" {
        return Err(format!("failed to call webhook: serializer for {media_type} doesn't exist"));
    }
    if body.is_empty() {
        return Err("failed to call webhook: the answer has no bytes".to_owned());
    }
    let review: Value =
        serde_json::from_slice(body).map_err(|error| format!("failed to call webhook: {error}"))?;
    let (kind, version) = (text(&review["kind"]), text(&review["apiVersion"]));
    if (kind, version) != (KIND, API_VERSION) {
        return Err(format!(
            "received invalid webhook response: {version} {kind} isn't {API_VERSION} {KIND}"
        ));
    }
    let Some(response) = review["response"].as_object() else {
        return Err("received invalid webhook response: the response is absent".to_owned());
    };
    let field = |name: &str| response.get(name).unwrap_or(&Value::Null);
    if text(field("uid")) != uid {
        return Err(format!("received invalid webhook response: the uid isn't {uid:?}: {}", field("uid")));
    }
    for patch in ["patch", "patchType"] {
        if !field(patch).is_null() {
            return Err(format!("received invalid webhook response: it validates, and has a {patch}"));
        }
    }
    let is_allowed = match field("allowed") {
        Value::Bool(allowed) => *allowed,
        other => return Err(format!("failed to call webhook: allowed must be a boolean, found {other}")),
    };
    let warnings = shown(field("warnings"))?;
    if is_allowed {
        return Ok(WebhookOutcome::Allowed { warnings });
    }
    let status = field("status");
    let code = status["code"].as_u64().filter(|code| *code >= DENIAL_CODE).unwrap_or(DENIAL_CODE);
    let why = [&status["message"], &status["reason"]].map(text).into_iter().find(|why| !why.is_empty());
    let why = why.map_or(" without explanation".to_owned(), |why| format!(": {why}"));
    let message = format!("admission webhook {webhook:?} denied the request{why}");
    Ok(WebhookOutcome::Denied { code, message, warnings })
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// Warnings as the user gets them: one that can't stand in a header is left out, as is one that was there before; too many are cut.
fn shown(warnings: &Value) -> Result<Vec<String>, String> {
    let mut all: Vec<String> = Vec::new();
    for warning in warnings.as_array().into_iter().flatten() {
        let Some(warning) = warning.as_str() else {
            return Err(format!("failed to call webhook: a warning must be a text, found {warning}"));
        };
        let fits = !warning.is_empty() && !warning.contains(char::is_control);
        if fits && !all.iter().any(|before| before == warning) {
            all.push(warning.to_owned());
        }
    }
    if all.iter().map(|warning| warning.chars().count()).sum::<usize>() <= WARNINGS_CHARS_MAX {
        return Ok(all);
    }
    let mut written = 0;
    let cut = all.into_iter().map(|warning| warning.chars().take(WARNING_CHARS_MAX).collect::<String>());
    Ok(cut
        .take_while(|warning| {
            let fits = written < WARNINGS_CHARS_MAX;
            written += warning.chars().count();
            fits
        })
        .collect())
}

#[cfg(test)]
mod tests {
    //! Each rule by an answer that breaks it.

    use super::*;

    fn answer(response: Value) -> Value {
        json!({"kind": KIND, "apiVersion": API_VERSION, "response": response})
    }

    fn outcome_of(body: &Value) -> Result<WebhookOutcome, String> {
        outcome("w", "u1", 200, "application/json", body.to_string().as_bytes())
    }

    #[test]
    fn an_answer_that_breaks_a_rule_is_a_call_that_failed() {
        let good = json!({"uid": "u1", "allowed": true});
        let with = |field: &str, value: Value| {
            let mut response = good.clone();
            response[field] = value;
            answer(response)
        };
        let mut other = answer(good.clone());
        other["apiVersion"] = json!("admission.k8s.io/v1beta1");
        for (body, words) in [
            (json!({"kind": KIND, "apiVersion": API_VERSION}), "the response is absent"),
            (with("uid", json!("u2")), "the uid isn't \"u1\": \"u2\""),
            (with("patch", json!("W10=")), "has a patch"),
            (with("patchType", json!("JSONPatch")), "has a patchType"),
            (with("allowed", json!("yes")), "allowed must be a boolean"),
            (with("warnings", json!([7])), "a warning must be a text"),
            (other, "v1beta1 AdmissionReview isn't"),
        ] {
            let error = outcome_of(&body).expect_err(words);
            assert!(error.contains(words), "{error}");
        }
        let bytes = answer(good).to_string().into_bytes();
        for (code, content_type, body, words) in [
            (500, "application/json", bytes.as_slice(), "the server answered 500"),
            (304, "application/json", &bytes, "the server answered 304"),
            (200, "text/plain; charset=utf-8", &bytes, "serializer for text/plain"),
            (200, "application/json", &[], "has no bytes"),
            (200, "application/json", b"{", "EOF"),
        ] {
            let error = outcome("w", "u1", code, content_type, body).expect_err(words);
            assert!(error.contains(words), "{error}");
        }
        for content_type in ["", "application/json", "application/json; charset=utf-8"] {
            assert!(outcome("w", "u1", 200, content_type, &bytes).is_ok(), "{content_type}");
        }
    }

    #[test]
    fn a_denial_has_an_error_s_code_and_the_words_that_there_are() {
        for (status, code, words) in [
            (json!({"code": 403, "message": "no", "reason": "R"}), 403, "denied the request: no"),
            (json!({"code": 200, "reason": "R"}), 400, "denied the request: R"),
            (Value::Null, 400, "denied the request without explanation"),
        ] {
            let found = outcome_of(&answer(json!({"uid": "u1", "allowed": false, "status": status})));
            let message = format!("admission webhook \"w\" {words}");
            assert_eq!(found, Ok(WebhookOutcome::Denied { code, message, warnings: Vec::new() }));
        }
    }

    #[test]
    fn warnings_are_cut_where_they_are_too_many() {
        let warned = |warnings: Value| match outcome_of(&answer(
            json!({"uid": "u1", "allowed": true, "warnings": warnings}),
        )) {
            Ok(WebhookOutcome::Allowed { warnings }) => warnings,
            other => panic!("{other:?}"),
        };
        assert_eq!(warned(json!(["a", "b\n", "", "a", "c"])), ["a", "c"]);
        let long = "ä".repeat(WARNINGS_CHARS_MAX);
        assert_eq!(warned(json!([long])), [long.clone()]);
        let cut = "ä".repeat(WARNING_CHARS_MAX);
        assert_eq!(warned(json!([long, "b"])), [cut, "b".to_owned()]);
        let many: Vec<String> = (0..100).map(|number| format!("{number:0256}")).collect();
        assert_eq!(warned(json!(many)).len(), WARNINGS_CHARS_MAX / WARNING_CHARS_MAX);
    }

    /// What the dispatcher of validating webhooks of Kubernetes 1.36.2 sent: of a pod that is made, and of one that gets an ephemeral
    /// container.
    const RECORDED: &str = include_str!("webhook/recorded.json");

    #[test]
    fn reviews_are_those_that_an_api_server_sends() {
        let recorded: Vec<Value> = serde_json::from_str(RECORDED).expect("it is JSON");
        assert_eq!(recorded.len(), 2);
        for review in recorded {
            let request = &review["request"];
            let (pod, old) = (request["object"].clone(), request["oldObject"].clone());
            let made = match request["operation"].as_str() {
                Some("CREATE") => PodRequest::create(pod),
                _ => PodRequest::update("ephemeralcontainers", old, pod),
            };
            assert_eq!(made.review(request["uid"].as_str().expect("it has one")), review);
        }
    }

    #[test]
    fn a_review_has_what_is_there_and_says_null_of_objects_alone() {
        let pod = json!({"metadata": {"name": "web", "namespace": "shop"}});
        let review = PodRequest { dry_run: true, ..PodRequest::create(pod.clone()) }.review("u1");
        let request = review["request"].as_object().expect("it is there");
        assert!(!request.contains_key("subResource") && request["oldObject"].is_null(), "{review}");
        assert_eq!((&request["dryRun"], &request["options"]["dryRun"]), (&json!(true), &json!(["All"])));
        let review = PodRequest::update("resize", pod.clone(), pod).review("u1");
        assert_eq!(review["request"]["subResource"], "resize");
        assert_eq!(review["request"]["options"]["kind"], "UpdateOptions");
        let sent = request_of(&review);
        assert_eq!(sent.uri(), "/validate?timeout=10s");
        assert_eq!(sent.headers()[HOST], "hook.policies.svc:443");
    }

    fn request_of(review: &Value) -> Request<Vec<u8>> {
        request("hook.policies.svc", "/validate", Duration::from_secs(10), review)
    }
}
