//! Pushes to registries that are played here, and to such as misbehave.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use witlet_ports::{ArtifactSignature, ComponentFetcher as _, Reports};

use super::*;
use crate::address::AddressError;
use crate::manifest::MANIFEST_BYTES_MAX;
use crate::testing::{ReceivedRequest, ScriptedResponse, Server, at_once, ok, status};

const WASM: &[u8] = b"\0asm\x0d\0\x01\0";

fn answer(code: u16, headers: &[(&'static str, &str)]) -> ScriptedResponse {
    let headers = headers.iter().map(|(name, value)| (*name, (*value).to_owned())).collect();
    ScriptedResponse::Whole(code, headers, Vec::new())
}

/// A registry that keeps what is put, with an answer of its own for some requests.
fn registry(
    first: impl Fn(&ReceivedRequest) -> Option<ScriptedResponse> + Send + Sync + 'static,
) -> impl Fn(&ReceivedRequest) -> ScriptedResponse + Send + Sync {
    let kept: Mutex<BTreeMap<String, Vec<u8>>> = Mutex::default();
    move |asked| {
        if let Some(answer) = first(asked) {
            return answer;
        }
        let mut kept = kept.lock().expect("not poisoned");
        match (asked.method.as_str(), asked.path.as_str()) {
            ("POST", "/v2/a/b/blobs/uploads/") => {
                answer(202, &[("location", "/v2/a/b/blobs/uploads/1?state=x")])
            }
            ("PUT", "/v2/a/b/blobs/uploads/1") => {
                let digest = asked.query.strip_prefix("state=x&digest=").expect("state and digest");
                kept.insert(format!("/v2/a/b/blobs/{digest}"), asked.body.clone().into_bytes());
                status(201)
            }
            ("PUT", path) => {
                kept.insert(path.to_owned(), asked.body.clone().into_bytes());
                let digest = digest_of(asked.body.as_bytes());
                kept.insert(format!("/v2/a/b/manifests/{digest}"), asked.body.clone().into_bytes());
                answer(201, &[("docker-content-digest", &digest)])
            }
            (_, path) => kept.get(path).map_or_else(|| status(404), |bytes| ok(bytes.clone())),
        }
    }
}

fn artifact(report: Option<&'static [u8]>) -> Artifact {
    Artifact {
        wasm: Bytes::from_static(WASM),
        file_name: "a.wasm".to_owned(),
        exports: Vec::new(),
        imports: Vec::new(),
        created: "2026-01-01T00:00:00Z".parse().expect("a time"),
        annotations: BTreeMap::new(),
        report: report.map(Bytes::from_static),
    }
}

async fn push(server: &Server, artifact: &Artifact, login: Login) -> Result<Pushed, TransferError> {
    let target = format!("{}/a/b:1", server.address).parse().expect("a place");
    Client { wait: at_once, ..Client::new(Egress::system(), login, false) }
        .push(&target, artifact, &(Arc::new(|_bytes| {}) as BytesSink))
        .await
}

fn ann() -> Login {
    Login::User { username: "ann".to_owned(), password: "pw".to_owned() }
}

/// What was asked, as `METHOD path`.
fn requests(server: &Server) -> Vec<String> {
    server.asked().iter().map(|asked| format!("{} {}", asked.method, asked.path)).collect()
}

#[tokio::test]
async fn a_push_sends_what_is_not_there_and_the_manifest_last() {
    let server = Server::start(registry(|_| None)).await;
    let pushed = push(&server, &artifact(None), Login::Anonymous).await.expect("pushed");
    let requests = requests(&server);
    assert_eq!(requests.len(), 7, "{requests:?}");
    assert!(
        requests[0].starts_with("HEAD /v2/a/b/blobs/sha256:") && requests[6] == "PUT /v2/a/b/manifests/1",
        "{requests:?}"
    );
    let target = format!("{}/a/b:1", server.address).parse().expect("a place");
    let pulled = Client::new(Egress::system(), Login::Anonymous, false).pull(&target, &|_, _| {}).await;
    let pulled = pulled.expect("pulled");
    assert_eq!((pulled.digest, pulled.wasm.as_slice(), pulled.reports.len()), (pushed.digest, WASM, 0));
    let again = push(&server, &artifact(None), Login::Anonymous).await.expect("pushed");
    assert_eq!(again.sent, 0);
}

#[tokio::test]
async fn a_registry_that_knows_referrers_keeps_the_list_itself() {
    let server = Server::start(registry(|asked| {
        let body: Value = serde_json::from_str(&asked.body).unwrap_or_default();
        let subject = body["subject"]["digest"].as_str()?;
        Some(answer(201, &[("oci-subject", subject)]))
    }))
    .await;
    let pushed = push(&server, &artifact(Some(b"{}")), Login::Anonymous).await.expect("pushed");
    let report = pushed.report.expect("a report");
    let requests = requests(&server);
    assert_eq!(requests.last(), Some(&format!("PUT /v2/a/b/manifests/{report}")), "{requests:?}");
    assert!(!requests.iter().any(|requests| requests.contains("manifests/sha256-")), "{requests:?}");
}

#[tokio::test]
async fn a_registry_that_does_not_gets_the_list_under_a_tag() {
    let server = Server::start(registry(|_| None)).await;
    let pushed = push(&server, &artifact(Some(b"{}")), Login::Anonymous).await.expect("pushed");
    let requests = requests(&server);
    let tag = pushed.digest.replace(':', "-");
    assert_eq!(requests.last(), Some(&format!("PUT /v2/a/b/manifests/{tag}")), "{requests:?}");
    let target = format!("{}/a/b@{}", server.address, pushed.digest).parse().expect("a place");
    let pulled = Client::new(Egress::system(), Login::Anonymous, false).pull(&target, &|_, _| {}).await;
    assert_eq!(pulled.expect("pulled").reports, [b"{}"]);
}

/// A registry that wants tokens for pushes, and gives them itself; each is good for so many requests.
fn with_tokens(uses: u32) -> impl Fn(&ReceivedRequest) -> Option<ScriptedResponse> + Send + Sync {
    let state = Mutex::new((0_u32, 0_u32));
    move |asked| {
        let (token, used) = &mut *state.lock().expect("not poisoned");
        if asked.path == "/token" {
            (*token, *used) = (*token + 1, 0);
            assert_eq!(asked.authorization.as_deref(), Some("Basic YW5uOnB3"));
            let push = asked.query.contains("scope=repository%3Aa%2Fb%3Apull%2Cpush");
            return Some(if push {
                ok(json!({"token": format!("t{token}")}).to_string())
            } else {
                status(401)
            });
        }
        *used += 1;
        let good = asked.authorization == Some(format!("Bearer t{token}")) && *used <= uses;
        // As registries do, it asks for what the first request needs, which is less than the rest.
        let challenge = r#"Bearer realm="/token",service="s",scope="repository:a/b:pull""#;
        (!good).then(|| answer(401, &[("www-authenticate", challenge)]))
    }
}

#[tokio::test]
async fn a_token_that_runs_out_is_had_again() {
    let server = Server::start(registry(with_tokens(3))).await;
    push(&server, &artifact(None), ann()).await.expect("pushed");
    let tokens = requests(&server).iter().filter(|requests| *requests == "GET /token").count();
    assert_eq!(tokens, 3, "{:?}", requests(&server));
    // One that is never good for anything is given up.
    let server = Server::start(registry(with_tokens(0))).await;
    let error = push(&server, &artifact(None), ann()).await.expect_err("given up");
    assert!(matches!(error, TransferError::Refused { status: 401, .. }), "{error}");
    assert_eq!(requests(&server).iter().filter(|requests| *requests == "GET /token").count(), 1);
}

#[tokio::test]
async fn the_place_for_an_upload_gets_no_credentials_if_it_is_elsewhere() {
    let store = Server::start(|_| status(201)).await;
    let away = format!("http://{}/upload", store.address);
    let server = Server::start(registry(move |asked| match (&asked.authorization, asked.method.as_str()) {
        (None, _) => Some(answer(401, &[("www-authenticate", "Basic realm=\"x\"")])),
        (Some(_), "POST") => Some(answer(202, &[("location", &away)])),
        (Some(_), _) => None,
    }))
    .await;
    push(&server, &artifact(None), ann()).await.expect("pushed");
    let asked = store.asked();
    assert_eq!(asked.len(), 2, "the component and its configuration");
    assert!(
        asked
            .iter()
            .all(|asked| asked.authorization.is_none() && asked.query.starts_with("digest=sha256%3A")
                || asked.query.starts_with("digest=sha256:")),
        "{asked:?}"
    );
}

#[tokio::test]
async fn what_a_registry_does_not_take_is_reported_in_its_words() {
    let denied = |asked: &ReceivedRequest| {
        let body = br#"{"errors":[{"code":"DENIED","message":"quota exceeded"}]}"#.to_vec();
        (asked.method == "PUT").then(|| ScriptedResponse::Whole(403, Vec::new(), body))
    };
    let server = Server::start(registry(denied)).await;
    let error = push(&server, &artifact(None), Login::Anonymous).await.expect_err("denied");
    let words = error.to_string();
    assert!(words.ends_with("rejected the component (HTTP 403): DENIED quota exceeded"), "{words}");
    assert_eq!(requests(&server).iter().filter(|requests| requests.starts_with("PUT")).count(), 1, "once");
}

#[tokio::test]
async fn a_failing_registry_is_asked_again_from_the_start_of_the_upload() {
    let puts = Mutex::new(0);
    let server = Server::start(registry(move |asked| {
        let mut puts = puts.lock().expect("not poisoned");
        *puts += u32::from(asked.method == "PUT");
        (asked.method == "PUT" && *puts == 1).then(|| status(503))
    }))
    .await;
    push(&server, &artifact(None), Login::Anonymous).await.expect("pushed");
    let posts = requests(&server).iter().filter(|requests| requests.starts_with("POST")).count();
    assert_eq!(posts, 3, "{:?}", requests(&server));
}

#[tokio::test]
async fn a_registry_that_keeps_something_else_is_not_believed() {
    let other = digest_of(b"other");
    let server = Server::start(registry(move |asked| {
        let manifest = asked.method == "PUT" && asked.path.contains("/manifests/");
        manifest.then(|| answer(201, &[("docker-content-digest", &other)]))
    }))
    .await;
    let error = push(&server, &artifact(None), Login::Anonymous).await.expect_err("another digest");
    assert!(matches!(error, TransferError::Kept { what: TransferItem::Manifest, .. }), "{error}");
    let server = Server::start(registry(|asked| (asked.method == "POST").then(|| status(202)))).await;
    let error = push(&server, &artifact(None), Login::Anonymous).await.expect_err("no place");
    assert!(matches!(error, TransferError::Address(AddressError::Malformed { .. })), "{error}");
    let clear = |asked: &ReceivedRequest| {
        (asked.method == "POST").then(|| answer(202, &[("location", "http://registry.example.com/upload")]))
    };
    let server = Server::start(registry(clear)).await;
    let error = push(&server, &artifact(None), Login::Anonymous).await.expect_err("in the clear");
    assert!(matches!(error, TransferError::Address(AddressError::Unencrypted { .. })), "{error}");
}

/// A list, what is found where it leads, and how many reports come of it.
type Listed = (String, fn() -> ScriptedResponse, Result<usize, ()>);

#[tokio::test]
async fn broken_reports_are_passed_over_and_a_broken_list_is_reported() {
    let server = Server::start(registry(|_| None)).await;
    let pushed = push(&server, &artifact(Some(b"{}")), Login::Anonymous).await.expect("pushed");
    let report = pushed.report.expect("a report");
    let missing = format!("/v2/a/b/manifests/{report}");
    let index = json!({"manifests": [
        {"mediaType": MANIFEST_TYPE, "digest": report, "size": 1, "artifactType": referrers::REPORT_TYPE},
    ]});
    let lists = |list: String, report: fn() -> ScriptedResponse| {
        let (missing, inner) = (missing.clone(), registry(|_| None));
        let listing = move |asked: &ReceivedRequest| {
            if asked.path.contains("/referrers/") {
                assert_eq!(asked.query, format!("artifactType={}", referrers::REPORT_TYPE));
                return ok(list.clone());
            }
            if asked.path == missing { report() } else { inner(asked) }
        };
        Server::start(listing)
    };
    let cases: [Listed; 4] = [
        (index.to_string(), || status(404), Ok(0)),
        (index.to_string(), || ok("something else"), Ok(0)),
        (index.to_string(), || ok("x".repeat(MANIFEST_BYTES_MAX + 1)), Ok(0)),
        ("no list".to_owned(), || status(404), Err(())),
    ];
    for (list, report, expected) in cases {
        let server = lists(list, report).await;
        push(&server, &artifact(None), Login::Anonymous).await.expect("pushed");
        let target = format!("{}/a/b:1", server.address).parse().expect("a place");
        let pulled = Client::new(Egress::system(), Login::Anonymous, false).pull(&target, &|_, _| {}).await;
        assert_eq!(pulled.map(|pulled| pulled.reports.len()).map_err(|_| ()), expected);
    }
}

#[tokio::test]
async fn a_signature_is_put_under_cosigns_tag_next_to_those_that_are_there() {
    let server = Server::start(registry(|_| None)).await;
    let pushed = push(&server, &artifact(None), Login::Anonymous).await.expect("pushed");
    let target: Target = format!("{}/a/b:1", server.address).parse().expect("a place");
    let client = Client { wait: at_once, ..Client::new(Egress::system(), Login::Anonymous, false) };
    let digest = client.resolve(&target).await.expect("there");
    assert_eq!(digest, pushed.digest);
    for signature in ["c2ln", "b3RoZXI="] {
        let tag = client.put_signature(&target, &digest, b"{}", signature).await.expect("put");
        assert_eq!(tag, format!("{}.sig", digest.replace(':', "-")));
    }
    client.put_bundle(&target, &digest, b"{\"mediaType\":\"\"}".to_vec()).await.expect("put");
    let folder = tempfile::tempdir().expect("a folder");
    let config = crate::RegistriesConfig {
        folder: folder.path().join("components"),
        egress: Egress::system(),
        credentials: None,
        progress: Arc::new(|_progress| {}),
    };
    let node = crate::Registries::open(config).expect("opened");
    let reference = target.pinned(&digest).parse().expect("a reference");
    let newest = node.signatures(&reference, None, Reports::Newest).await.expect("had");
    let simple = |signature: &str| ArtifactSignature::Simple {
        payload: b"{}".to_vec(),
        signature: signature.to_owned(),
        certificate: false,
    };
    let bundle = ArtifactSignature::Bundle(b"{\"mediaType\":\"\"}".to_vec());
    assert_eq!(newest.signatures, [simple("c2ln"), simple("b3RoZXI="), bundle]);
    assert_eq!(client.signatures(&target, &digest).await.expect("had"), newest.signatures);
    assert_eq!(digest_of(&newest.manifest), digest);
    let asked = server.asked().len();
    assert_eq!(node.signatures(&reference, None, Reports::Kept).await.expect("kept"), newest);
    assert_eq!(server.asked().len(), asked, "the registry isn't asked for what was kept");
}
