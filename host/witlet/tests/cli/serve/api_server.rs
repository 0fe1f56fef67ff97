//! Reviews just as an API server sends them, and answers held against its rules.

use std::time::Duration;

use serde_json::{Value, json};
use witlet_api_server::webhook::{PodRequest, WebhookOutcome, outcome, request};
use witlet_harness::{WAIT_TIMEOUT, poll_until};

use super::{SERVICE, Webhook, reviewed};

/// What `--print-webhook` calls the webhook.
const NAME: &str = "plugins.witlet.dev";
const UID: &str = "705ab4f5-3393-11e8-b7cc-42010a800002";
/// The longest that an API server waits.
const TIMEOUT: Duration = Duration::from_secs(30);
/// Codes of what didn't come in time.
const TOO_SLOW: [u16; 2] = [408, 504];
/// Bytes of a pod that is nearly as large as API servers take one.
const LARGE: usize = (3 << 20) - 4096;

impl Webhook {
    /// What a request of a user comes to. Asked again where a busy machine was too slow for it.
    async fn requested(&self, what: &PodRequest) -> Result<WebhookOutcome, String> {
        let review = what.review(UID);
        let asking = async || {
            let (head, body) = self.send(request(SERVICE, "/validate", TIMEOUT, &review)).await;
            let code = head.status.as_u16();
            let content_type = head.headers.get("content-type").and_then(|value| value.to_str().ok());
            let outcome = outcome(NAME, UID, code, content_type.unwrap_or_default(), body.as_bytes());
            (!TOO_SLOW.contains(&code)).then_some(outcome)
        };
        poll_until(WAIT_TIMEOUT, asking).await.expect("it answers in time once")
    }
}

fn allowed() -> Result<WebhookOutcome, String> {
    Ok(WebhookOutcome::Allowed { warnings: Vec::new() })
}

/// A pod as an API server has it once it is filled in.
fn stored(namespace: &str, image: &str, debug: &[&str], bytes: usize) -> Value {
    let mut pod = reviewed(namespace, image, debug);
    pod["metadata"]["creationTimestamp"] = json!("2026-01-02T03:04:05Z");
    pod["metadata"]["annotations"] = json!({"filler": "x".repeat(bytes)});
    pod["metadata"]["managedFields"] = json!([{
        "manager": "kubectl", "operation": "Update", "apiVersion": "v1", "time": "2026-01-02T03:04:05Z",
        "fieldsType": "FieldsV1", "fieldsV1": {"f:spec": {"f:containers": {"k:{\"name\":\"app\"}": {".": {}}}}},
    }]);
    pod["spec"]["restartPolicy"] = json!("Always");
    pod["spec"]["tolerations"] = json!([{
        "key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300,
    }]);
    pod["status"] = json!({"phase": "Pending", "qosClass": "BestEffort"});
    pod
}

#[tokio::test(flavor = "multi_thread")]
async fn an_api_server_takes_each_answer_and_shows_its_words() {
    let webhook = Webhook::start().await;
    let pod = |namespace: &str, image: &str| stored(namespace, image, &[], 0);
    assert_eq!(webhook.requested(&PodRequest::create(pod("tags", "app:1.2"))).await, allowed());
    let bad = PodRequest::create(pod("tags", "app:latest"));
    let denied = webhook.requested(&bad).await;
    let Ok(WebhookOutcome::Denied { code: 403, message, warnings }) = &denied else { panic!("{denied:?}") };
    let begin = "admission webhook \"plugins.witlet.dev\" denied the request: ";
    assert!(message.starts_with(begin) && message.contains("(plugin tags, sha256:"), "{message}");
    assert!(warnings.is_empty(), "{warnings:?}");
    let dry = PodRequest { dry_run: true, ..bad };
    assert_eq!(webhook.requested(&dry).await, denied, "a dry run is no other question");
    for namespace in ["defers", "short", "traps-defer"] {
        let found = webhook.requested(&PodRequest::create(pod(namespace, "app:1.2"))).await;
        let Ok(WebhookOutcome::Allowed { warnings }) = found else { panic!("{namespace}: {found:?}") };
        assert!(matches!(&warnings[..], [one] if one.starts_with("witlet: ")), "{namespace}: {warnings:?}");
    }
    assert_eq!(webhook.requested(&PodRequest::create(pod("traps-admit", "app:1.2"))).await, allowed());

    // Both objects may be as large as an API server takes one.
    for bytes in [0, LARGE] {
        let stored = |image: &str, debug: &[&str]| stored("edits", image, debug, bytes);
        for (subresource, new, asked) in [
            ("", stored("app:2", &[]), Some("update")),
            ("ephemeralcontainers", stored("app:1", &["dbg"]), Some("ephemeral")),
            ("", stored("app:1", &[]), None),
            ("resize", stored("app:1", &[]), None),
        ] {
            let found = webhook.requested(&PodRequest::update(subresource, stored("app:1", &[]), new)).await;
            let words = asked.map(|operation| format!("{begin}Asked: {operation}"));
            let is_expected = match (&found, &words) {
                (Ok(WebhookOutcome::Denied { code: 403, message, .. }), Some(words)) => {
                    message.starts_with(words)
                }
                (found, None) => *found == allowed(),
                _ => false,
            };
            assert!(is_expected, "{subresource:?} of {bytes} bytes: {words:?}: {found:?}");
        }
    }
    webhook.ends_well();
}
