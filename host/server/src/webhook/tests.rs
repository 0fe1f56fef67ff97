//! What each request is answered, by handlers that do as the pod's name says.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use async_trait::async_trait;
use axum::body::to_bytes;
use futures::stream::{self, Stream};
use http_body_util::Full;
use jiff::Timestamp;
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::task::JoinSet;
use witlet_core::admission::chain::HandlerResponse;
use witlet_core::admission::verdicts::{HandlerVerdict, Remarks};
use witlet_core::admission::{Decision, Operation, Verdict};

use super::*;

mod connections;

#[derive(Default)]
struct Handlers {
    asked: AtomicUsize,
}

#[async_trait]
impl Admission for Handlers {
    fn answers(&self, _: Operation) -> bool {
        true
    }

    async fn admit(&self, request: AdmissionRequest) -> Decision {
        self.asked.fetch_add(1, Ordering::Relaxed);
        assert_eq!(request.source.as_str(), "api");
        assert!(request.other_pods.is_empty() && request.node.name.is_empty());
        match request.pod.metadata.name.as_deref() {
            Some("bad") => Decision::Reject {
                reason: "TeamMissing".to_owned(),
                message: "no label team (plugin team-label, sha256:c0dd30ab637d)".to_owned(),
                handler: Some("team-label".to_owned()),
            },
            Some("slow") => {
                tokio::time::sleep(Duration::from_secs(20)).await;
                Decision::Admit
            }
            Some("resized") if request.operation == Operation::Resize => Decision::Defer {
                reason: "Later".to_owned(),
                message: "not now".to_owned(),
                retry_after: Duration::from_secs(1),
            },
            _ => Decision::Admit,
        }
    }

    async fn admit_with_verdicts(&self, request: AdmissionRequest) -> AdmissionResult {
        let asked = (request.operation, request.now);
        let warns = request.pod.metadata.name.as_deref() == Some("untidy");
        let admit = HandlerResponse::Verdict(Verdict::Admit);
        let verdict = HandlerVerdict::new("tidy".into(), Some("c0dd".into()), asked, &admit, Duration::ZERO);
        let warnings = if warns { vec!["no label team".to_owned()] } else { Vec::new() };
        let remarks = Remarks { warnings, ..Remarks::default() };
        let decision = self.admit(request).await;
        AdmissionResult { decision, verdicts: vec![verdict.with_remarks(remarks)] }
    }

    fn generation(&self) -> watch::Receiver<u64> {
        watch::Sender::new(0).subscribe()
    }
}

struct Epoch;

impl Clock for Epoch {
    fn now(&self) -> Timestamp {
        Timestamp::UNIX_EPOCH
    }
}

fn webhook(handlers: &Arc<Handlers>) -> Arc<AdmissionWebhook> {
    AdmissionWebhook::new(handlers.clone(), Arc::new(Epoch), Box::new(|| None), Clients::Any)
}

fn review(name: &str) -> Value {
    json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {
        "uid": "705ab4f5", "operation": "CREATE", "namespace": "prod", "name": name,
        "resource": {"group": "", "version": "v1", "resource": "pods"},
        "object": {"metadata": {"name": name, "namespace": "prod"}, "spec": {"containers": []}},
    }})
}

fn request(method: Method, path: &str, content_type: &str, body: Vec<u8>) -> Request<Full<Bytes>> {
    let builder = Request::builder().method(method).uri(path).header(CONTENT_TYPE, content_type);
    builder.body(Full::new(Bytes::from(body))).unwrap()
}

/// Code and body, and whether the connection was held meanwhile.
async fn answered(webhook: &AdmissionWebhook, request: Request<Full<Bytes>>) -> (u16, String, bool) {
    let kept = AtomicBool::new(false);
    let answer = webhook.answer(request, true, || kept.store(true, Ordering::Relaxed)).await;
    let code = answer.status().as_u16();
    let body = to_bytes(answer.into_body(), BODY_BYTES_MAX).await.unwrap();
    (code, String::from_utf8(body.into()).unwrap(), kept.into_inner())
}

async fn reviewed(webhook: &AdmissionWebhook, path: &str, review: &Value) -> (u16, Value) {
    let asks = request(Method::POST, path, "application/json", review.to_string().into_bytes());
    let (code, body, _) = answered(webhook, asks).await;
    (code, serde_json::from_str(&body).unwrap_or(Value::String(body)))
}

#[tokio::test]
async fn a_pod_is_allowed_or_denied_by_the_handlers() {
    let handlers = Arc::<Handlers>::default();
    let webhook = webhook(&handlers);
    let (code, good) = reviewed(&webhook, PATH, &review("good")).await;
    assert_eq!((code, &good["response"]), (200, &json!({"uid": "705ab4f5", "allowed": true})));
    let (code, bad) = reviewed(&webhook, PATH, &review("bad")).await;
    let status = json!({
        "status": "Failure", "code": 403, "reason": "TeamMissing",
        "message": "TeamMissing: no label team (plugin team-label, sha256:c0dd30ab637d)",
    });
    let denied = json!({"uid": "705ab4f5", "allowed": false, "status": status});
    assert_eq!((code, &bad["response"]), (200, &denied));
    let mut resize = review("resized");
    resize["request"]["operation"] = json!("UPDATE");
    resize["request"]["subResource"] = json!("resize");
    let (_, resized) = reviewed(&webhook, PATH, &resize).await;
    let warning = "witlet: the pod waits on its node while this is so: Later: not now";
    assert_eq!(resized["response"], json!({"uid": "705ab4f5", "allowed": true, "warnings": [warning]}));
    let (_, untidy) = reviewed(&webhook, PATH, &review("untidy")).await;
    let warning = "no label team (plugin tidy, sha256:c0dd)";
    assert_eq!(untidy["response"], json!({"uid": "705ab4f5", "allowed": true, "warnings": [warning]}));
    assert_eq!(handlers.asked.load(Ordering::Relaxed), 4);
    let mut service = review("bad");
    service["request"]["resource"]["resource"] = json!("services");
    let (_, allowed) = reviewed(&webhook, PATH, &service).await;
    assert_eq!(allowed["response"], json!({"uid": "705ab4f5", "allowed": true}));
    assert_eq!(handlers.asked.load(Ordering::Relaxed), 4, "handlers are asked about pods alone");
}

#[tokio::test]
async fn what_is_no_review_is_refused_before_any_handler_is_asked() {
    let handlers = Arc::<Handlers>::default();
    let webhook = webhook(&handlers);
    let good = || review("good").to_string().into_bytes();
    let json = "application/json";
    // One byte more than there may be, and none of it JSON.
    let large = vec![b' '; BODY_BYTES_MAX + 1];
    let cases = [
        (Method::POST, PATH, json, b"{".to_vec(), 400, "the body must be an AdmissionReview in JSON"),
        (Method::POST, PATH, json, b"{}".to_vec(), 400, "apiVersion must be admission.k8s.io/v1"),
        (Method::POST, PATH, json, large, 413, "the body must have at most 6356992 bytes"),
        (Method::POST, PATH, "application/yaml", good(), 415, "Content-Type must be application/json"),
        (Method::POST, PATH, "", good(), 415, "Content-Type must be application/json"),
        (Method::GET, PATH, json, good(), 405, "the method must be POST"),
        (Method::POST, "/healthz", json, good(), 405, "the method must be GET"),
        (Method::POST, "/", json, good(), 404, "reviews are sent to /validate"),
    ];
    for (method, path, content_type, body, code, words) in cases {
        let (found, answer, kept) = answered(&webhook, request(method, path, content_type, body)).await;
        assert!(found == code && answer.contains(words), "{words}: {found} {answer}");
        assert!(!kept, "{words}: anyone can send that");
    }
    assert_eq!(handlers.asked.load(Ordering::Relaxed), 0);
    let fits = vec![b' '; BODY_BYTES_MAX - good().len()];
    let whole = request(Method::POST, PATH, "Application/JSON; charset=utf-8", [fits, good()].concat());
    let (code, answer, kept) = answered(&webhook, whole).await;
    assert!(code == 200 && kept, "the largest body: {code} {answer}");
    // Without a length it gets no more than a review of one object.
    let parts = [vec![b' '; OBJECT_BYTES_MAX], b"{}".to_vec()].map(|part| Ok(Bytes::from(part)));
    let answer = webhook.answer(streamed(stream::iter(parts)), true, || {}).await;
    assert_eq!(answer.status().as_u16(), 413);
}

#[tokio::test(start_paused = true)]
async fn an_answer_comes_before_the_api_server_stops_waiting() {
    let handlers = Arc::<Handlers>::default();
    let webhook = webhook(&handlers);
    let cases = [
        ("/validate", 504, 9.0),
        ("/validate?timeout=3s", 504, 2.7),
        ("/validate?timeout=0s", 504, 9.0),
        ("/validate?timeout=soon", 504, 9.0),
        ("/validate?timeout=1h", 200, 20.0),
    ];
    for (path, expected, seconds) in cases {
        let begun = tokio::time::Instant::now();
        let (code, answer) = reviewed(&webhook, path, &review("slow")).await;
        let took = begun.elapsed().as_secs_f64();
        assert_eq!(code, expected, "{path}: {answer}");
        assert!((took - seconds).abs() < 0.1, "{path}: {took} s");
    }
}

/// A review whose body is this stream.
fn streamed<S>(body: S) -> Request<Body>
where
    S: Stream<Item = Result<Bytes, Infallible>> + Send + 'static,
{
    let builder = Request::builder().method(Method::POST).uri(PATH).header(CONTENT_TYPE, "application/json");
    builder.body(Body::from_stream(body)).unwrap()
}

#[tokio::test(start_paused = true)]
async fn bodies_that_never_come_hold_a_review_up_for_less_than_it_has() {
    let handlers = Arc::<Handlers>::default();
    let webhook = webhook(&handlers);
    let begun = tokio::time::Instant::now();
    let answer = |request: Request<Body>| {
        let webhook = webhook.clone();
        async move { (webhook.answer(request, true, || {}).await.status().as_u16(), begun.elapsed()) }
    };
    let silent: JoinSet<_> = (1..CONNECTIONS_MAX).map(|_| answer(streamed(stream::pending()))).collect();
    // All of them have a turn, or wait for one.
    tokio::time::sleep(Duration::from_millis(1)).await;
    let is_read = Arc::new(AtomicBool::new(false));
    let body = stream::once({
        let is_read = is_read.clone();
        async move {
            is_read.store(true, Ordering::Relaxed);
            Ok(Bytes::from(review("good").to_string()))
        }
    });
    let last = JoinSet::from_iter([answer(streamed(body))]);
    tokio::time::sleep(BODY_WITHIN / 2).await;
    assert!(!is_read.load(Ordering::Relaxed), "no body is read before its turn");
    let last = last.join_all().await;
    assert!(matches!(last[..], [(200, took)] if took >= BODY_WITHIN * 3), "{last:?}");
    let silent = silent.join_all().await;
    assert!(silent.iter().all(|(code, _)| *code == 408), "{silent:?}");
    assert_eq!(handlers.asked.load(Ordering::Relaxed), 1);
}

#[tokio::test]
async fn it_is_alive_at_once_and_ready_when_nothing_is_wrong() {
    let handlers = Arc::<Handlers>::default();
    let why = "plugin \"team-label\" is being loaded";
    let not_ready = Box::new(|| Some(why.to_owned()));
    let loading = AdmissionWebhook::new(handlers.clone(), Arc::new(Epoch), not_ready, Clients::Any);
    let get = |path| request(Method::GET, path, "", Vec::new());
    for path in ["/healthz", "/livez"] {
        assert_eq!(answered(&loading, get(path)).await, (200, "ok".to_owned(), false), "{path}");
    }
    assert_eq!(answered(&loading, get("/readyz")).await, (503, why.to_owned(), false));
    assert_eq!(answered(&webhook(&handlers), get("/readyz")).await, (200, "ok".to_owned(), false));
}
