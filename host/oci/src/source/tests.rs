//! Pulls from a registry that is played here, one that misbehaves in every way.

mod artifacts;
mod sets;

use std::collections::BTreeMap;
use std::error::Error;
use std::net::SocketAddr;
use std::sync::Mutex;
use std::time::Duration;

use serde_json::{Value, json};

use super::*;
use crate::address::AddressError;
use crate::digest::digest_of;
use crate::manifest::{MANIFEST_TYPE, ManifestError};
use crate::testing::{ReceivedRequest, ScriptedResponse, Server, at_once, ok, status};

const COMPONENT: &[u8] = b"\0asm\x0d\0\x01\0";

fn reference_of(server: &Server, manifest: &str) -> ComponentReference {
    let digest = digest_of(manifest.as_bytes());
    format!("oci://{}/probes/redis:1@{digest}", server.address).parse().expect("a reference")
}

fn manifest_of(component: &[u8]) -> Value {
    json!({
        "schemaVersion": 2,
        "mediaType": MANIFEST_TYPE,
        "config": {"mediaType": "application/vnd.wasm.config.v0+json", "digest": digest_of(b"{}"), "size": 2},
        "layers": [{
            "mediaType": "application/wasm", "digest": digest_of(component), "size": component.len(),
        }],
    })
}

/// A registry with one component, whose blob is at the usual place.
fn honest(
    manifest: String,
    component: &'static [u8],
) -> impl Fn(&ReceivedRequest) -> ScriptedResponse + Send + Sync + 'static {
    let paths: BTreeMap<String, Vec<u8>> = [
        (format!("/v2/probes/redis/manifests/{}", digest_of(manifest.as_bytes())), manifest.into_bytes()),
        (format!("/v2/probes/redis/blobs/{}", digest_of(component)), component.to_vec()),
    ]
    .into();
    move |asked| paths.get(&asked.path).map_or(status(404), |body| ok(body.clone()))
}

struct Node {
    folder: tempfile::TempDir,
    progress: Arc<Mutex<Vec<(u64, u64)>>>,
}

impl Node {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().expect("a folder"), progress: Arc::default() }
    }

    fn registries(&self) -> Registries {
        let progress = self.progress.clone();
        let config = RegistriesConfig {
            folder: self.folder.path().join("components"),
            egress: Egress::system(),
            credentials: Some(self.folder.path().join("config.json")),
            progress: Arc::new(move |now| {
                progress.lock().expect("not poisoned").push((now.bytes, now.total));
            }),
        };
        Registries { wait: at_once, ..Registries::open(config).expect("opened") }
    }

    /// The node's own credentials for a registry.
    fn logs_in(&self, registry: SocketAddr) {
        let config = json!({"auths": {registry.to_string(): {"username": "ann", "password": "pw"}}});
        std::fs::write(self.folder.path().join("config.json"), config.to_string()).expect("written");
    }

    async fn fetch(&self, reference: &ComponentReference) -> Result<Arc<[u8]>, FetchError> {
        self.registries().fetch(reference, None).await
    }

    async fn refused(&self, reference: &ComponentReference) -> TransferError {
        let error = self.fetch(reference).await.expect_err("refused");
        assert_eq!(error.to_string(), format!("fetch {reference}"));
        assert!(error.source().is_some_and(|cause| cause.is::<TransferError>()));
        *error.cause.downcast().expect("a pull's error")
    }
}

#[tokio::test]
async fn a_component_is_pulled_once_and_then_comes_from_the_folder() {
    let manifest = manifest_of(COMPONENT).to_string();
    let server = Server::start(honest(manifest.clone(), COMPONENT)).await;
    let (node, reference) = (Node::new(), reference_of(&server, &manifest));
    assert_eq!(&*node.fetch(&reference).await.expect("pulled"), COMPONENT);
    assert_eq!(server.asked().len(), 2);
    // Also by another one with the same folder.
    assert_eq!(&*node.fetch(&reference).await.expect("kept"), COMPONENT);
    assert_eq!(server.asked().len(), 2);
    // A layer that was tampered with is pulled again.
    let layer = digest_of(COMPONENT);
    let file = node.folder.path().join("components").join(layer.trim_start_matches("sha256:"));
    std::fs::write(file, b"evil").expect("tampered with");
    assert_eq!(&*node.fetch(&reference).await.expect("pulled"), COMPONENT);
    assert_eq!(server.asked().len(), 4);
}

#[tokio::test]
async fn long_pulls_tell_how_far_they_are() {
    let component: &'static [u8] = vec![7; 3 << 20].leak();
    let manifest = manifest_of(component).to_string();
    let server = Server::start(honest(manifest.clone(), component)).await;
    let node = Node::new();
    assert_eq!(node.fetch(&reference_of(&server, &manifest)).await.expect("pulled").len(), component.len());
    let requests = node.progress.lock().expect("not poisoned").clone();
    assert!(!requests.is_empty() && requests.is_sorted(), "{requests:?}");
    assert!(requests.iter().all(|(bytes, total)| bytes <= total && *total == 3 << 20), "{requests:?}");
}

#[tokio::test]
async fn bytes_that_are_not_what_was_asked_for_are_named() {
    let manifest = manifest_of(COMPONENT).to_string();
    let node = Node::new();
    // The manifest: another one, whose digest isn't that which the operator wrote.
    let other = manifest_of(b"something else").to_string();
    let server = Server::start(move |_| ok(other.clone())).await;
    let error = node.refused(&reference_of(&server, &manifest)).await;
    assert!(matches!(error, TransferError::Digest { what: TransferItem::Manifest, .. }), "{error}");
    // The layer: the same size, other bytes.
    let bytes = manifest.clone();
    let server = Server::start(move |asked| {
        if asked.path.contains("/manifests/") { ok(bytes.clone()) } else { ok(*b"\0asm\x0d\0\x02\0") }
    })
    .await;
    let error = node.refused(&reference_of(&server, &manifest)).await;
    assert!(matches!(error, TransferError::Digest { what: TransferItem::Component, .. }), "{error}");
    assert!(error.to_string().contains(&digest_of(COMPONENT)), "{error}");
    // Larger, smaller.
    let bytes = manifest.clone();
    let server =
        Server::start(
            move |asked| {
                if asked.path.contains("/manifests/") { ok(bytes.clone()) } else { ok(vec![0; 5000]) }
            },
        )
        .await;
    let error = node.refused(&reference_of(&server, &manifest)).await;
    assert!(matches!(error, TransferError::TooLarge { limit: 8, .. }), "{error}");
    let bytes = manifest.clone();
    let server =
        Server::start(
            move |asked| {
                if asked.path.contains("/manifests/") { ok(bytes.clone()) } else { ok(*b"\0asm") }
            },
        )
        .await;
    let error = node.refused(&reference_of(&server, &manifest)).await;
    assert!(matches!(error, TransferError::Size { expected: 8, found: 4, .. }), "{error}");
    // Nothing of it was kept.
    let kept = std::fs::read_dir(node.folder.path().join("components")).expect("listed").count();
    assert_eq!(kept, 0);
}

#[tokio::test]
async fn manifests_of_something_else_are_refused_before_a_layer_is_pulled() {
    let index = json!({"schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json", "manifests": [{}]});
    let mut two = manifest_of(COMPONENT);
    two["layers"] = json!([two["layers"][0], two["layers"][0]]);
    let mut huge = manifest_of(COMPONENT);
    huge["layers"][0]["size"] = json!(65 << 20);
    let cases = [
        (index, ManifestError::Index { manifests: 1 }),
        (two, ManifestError::Layers { layers: 2 }),
        (huge, ManifestError::TooLarge { bytes: 65 << 20 }),
    ];
    for (manifest, expected) in cases {
        let manifest = manifest.to_string();
        let server = Server::start(honest(manifest.clone(), COMPONENT)).await;
        let error = Node::new().refused(&reference_of(&server, &manifest)).await;
        assert!(matches!(&error, TransferError::Manifest(found) if *found == expected), "{error}");
        assert_eq!(server.asked().len(), 1);
    }
    // One that is too large to be a manifest at all.
    let endless = " ".repeat(2 << 20);
    let server = Server::start(honest(endless.clone(), COMPONENT)).await;
    let error = Node::new().refused(&reference_of(&server, &endless)).await;
    assert!(matches!(error, TransferError::TooLarge { what: TransferItem::Manifest, .. }), "{error}");
}

#[tokio::test]
async fn a_registry_that_hangs_is_given_up() {
    let manifest = manifest_of(COMPONENT).to_string();
    let bytes = manifest.clone();
    let server = Server::start(move |asked| {
        if asked.path.contains("/manifests/") {
            ok(bytes.clone())
        } else {
            ScriptedResponse::Stuck(8, b"\0asm".to_vec())
        }
    })
    .await;
    let node = Node::new();
    let between_bytes = Duration::from_millis(1);
    let limits = SendLimits { between_bytes, ..SendLimits::each(Duration::from_hours(24)) };
    let (registries, reference) = (node.registries().with_limits(limits), reference_of(&server, &manifest));
    // Time stands still while the registry answers, and passes while it is silent in the middle of a body.
    tokio::time::pause();
    let silence = async {
        for asked in 2.. {
            while server.asked().len() < asked {
                tokio::task::yield_now().await;
            }
            while server.asked().len() == asked {
                tokio::time::advance(between_bytes).await;
            }
        }
    };
    let error = tokio::select! {
        biased;
        fetched = registries.fetch(&reference, None) => fetched.expect_err("given up"),
        () = silence => unreachable!("it goes on for ever"),
    };
    let error: TransferError = *error.cause.downcast().expect("a pull's error");
    assert!(matches!(error, TransferError::Body { what: TransferItem::Component, .. }), "{error}");
    assert_eq!(server.asked().len(), 1 + retry::ATTEMPTS_MAX as usize);
}

#[tokio::test]
async fn failures_that_pass_are_waited_out_and_refusals_are_not() {
    let manifest = manifest_of(COMPONENT).to_string();
    let honest_answer = honest(manifest.clone(), COMPONENT);
    let count = Mutex::new(0);
    let server = Server::start(move |asked| {
        let mut count = count.lock().expect("not poisoned");
        *count += 1;
        match *count {
            1 => status(503),
            3 => ScriptedResponse::Cut(8, b"\0a".to_vec()),
            _ => honest_answer(asked),
        }
    })
    .await;
    assert_eq!(&*Node::new().fetch(&reference_of(&server, &manifest)).await.expect("pulled"), COMPONENT);
    assert_eq!(server.asked().len(), 4);

    let server = Server::start(|_| status(404)).await;
    let error = Node::new().refused(&reference_of(&server, &manifest)).await;
    assert!(matches!(error, TransferError::NotFound { what: TransferItem::Manifest, .. }), "{error}");
    assert_eq!(server.asked().len(), 1);
}

#[tokio::test]
async fn credentials_do_not_follow_a_redirect_to_another_server() {
    let manifest = manifest_of(COMPONENT).to_string();
    let store = Server::start(|_| ok(COMPONENT)).await;
    let away = format!("http://{}/somewhere?signature=1", store.address);
    let bytes = manifest.clone();
    let server = Server::start(move |asked| match &asked.authorization {
        None => ScriptedResponse::Whole(
            401,
            vec![("www-authenticate", "Basic realm=\"x\"".to_owned())],
            Vec::new(),
        ),
        Some(_) if asked.path.contains("/manifests/") => ok(bytes.clone()),
        Some(_) => ScriptedResponse::Whole(307, vec![("location", away.clone())], Vec::new()),
    })
    .await;
    let node = Node::new();
    node.logs_in(server.address);
    assert_eq!(&*node.fetch(&reference_of(&server, &manifest)).await.expect("pulled"), COMPONENT);
    let asked = server.asked();
    assert_eq!(asked.iter().filter(|asked| asked.authorization.is_some()).count(), 2, "{asked:?}");
    let [elsewhere] = store.asked().try_into().expect("one request");
    assert_eq!((elsewhere.authorization, elsewhere.query.as_str()), (None, "signature=1"));
}

#[tokio::test]
async fn only_the_registry_itself_says_whom_its_credentials_go_to() {
    let manifest = manifest_of(COMPONENT).to_string();
    let thief = Server::start(|_| ok(r#"{"token": "t0ken"}"#)).await;
    let challenge = format!(r#"Bearer realm="http://{}/token",service="s""#, thief.address);
    let store = Server::start(move |_| {
        ScriptedResponse::Whole(401, vec![("www-authenticate", challenge.clone())], Vec::new())
    })
    .await;
    let away = format!("http://{}/somewhere", store.address);
    let bytes = manifest.clone();
    let server = Server::start(move |asked| match asked.path.contains("/manifests/") {
        true => ok(bytes.clone()),
        false => ScriptedResponse::Whole(307, vec![("location", away.clone())], Vec::new()),
    })
    .await;
    let node = Node::new();
    node.logs_in(server.address);
    let error = node.refused(&reference_of(&server, &manifest)).await;
    assert!(
        matches!(error, TransferError::Status { status: 401, what: TransferItem::Component, .. }),
        "{error}"
    );
    assert!(thief.asked().is_empty(), "{:?}", thief.asked());
}

#[tokio::test]
async fn redirects_end_and_do_not_lead_into_the_clear() {
    let manifest = manifest_of(COMPONENT).to_string();
    let server = Server::start(|asked| {
        ScriptedResponse::Whole(302, vec![("location", asked.path.clone())], Vec::new())
    })
    .await;
    let error = Node::new().refused(&reference_of(&server, &manifest)).await;
    assert!(matches!(error, TransferError::Redirects { .. }), "{error}");
    assert_eq!(server.asked().len(), 6);

    let away = vec![("location", "http://registry.example.com/x".to_owned())];
    let server = Server::start(move |_| ScriptedResponse::Whole(302, away.clone(), Vec::new())).await;
    let error = Node::new().refused(&reference_of(&server, &manifest)).await;
    assert!(matches!(error, TransferError::Address(AddressError::Unencrypted { .. })), "{error}");
}

/// A registry that wants tokens, and gives them itself to clients with the password.
fn with_tokens(
    manifest: String,
    realm: SocketAddr,
) -> impl Fn(&ReceivedRequest) -> ScriptedResponse + Send + Sync + 'static {
    let honest = honest(manifest, COMPONENT);
    move |asked| match &asked.authorization {
        Some(token) if token == "Bearer t0ken" => honest(asked),
        _ => {
            let challenge = format!(
                r#"Bearer realm="http://{realm}/token",service="s",scope="repository:probes/redis:pull""#
            );
            ScriptedResponse::Whole(401, vec![("www-authenticate", challenge)], Vec::new())
        }
    }
}

#[tokio::test]
async fn a_token_is_had_with_the_password_and_used_for_all_requests() {
    let manifest = manifest_of(COMPONENT).to_string();
    let realm = Server::start(|asked| {
        let ann = "Basic YW5uOnB3";
        if asked.authorization.as_deref() == Some(ann) { ok(r#"{"token": "t0ken"}"#) } else { status(401) }
    })
    .await;
    let server = Server::start(with_tokens(manifest.clone(), realm.address)).await;
    let node = Node::new();
    let reference = reference_of(&server, &manifest);
    // An anonymous client gets none.
    let error = node.refused(&reference).await;
    assert!(matches!(error, TransferError::Token { status: 401, .. }), "{error}");
    node.logs_in(server.address);
    assert_eq!(&*node.fetch(&reference).await.expect("pulled"), COMPONENT);
    let asked = realm.asked();
    assert_eq!(asked.len(), 2, "one token is enough: {asked:?}");
    assert_eq!(asked[1].query, "service=s&scope=repository%3Aprobes%2Fredis%3Apull");
}

#[tokio::test]
async fn an_answer_with_a_token_has_a_bound_however_it_comes() {
    let manifest = manifest_of(COMPONENT).to_string();
    let token = r#"{"token": "t0ken"}"#;
    let answer = move |bytes: usize| format!("{token}{}", " ".repeat(bytes - token.len()));
    for (bytes, is_taken) in [(64 << 10, true), ((64 << 10) + 1, false)] {
        let realm = Server::start(move |_| ok(answer(bytes))).await;
        let server = Server::start(with_tokens(manifest.clone(), realm.address)).await;
        let (node, reference) = (Node::new(), reference_of(&server, &manifest));
        if is_taken {
            assert_eq!(&*node.fetch(&reference).await.expect("pulled"), COMPONENT);
            continue;
        }
        let error = node.refused(&reference).await;
        assert!(matches!(error, TransferError::TooLarge { what: TransferItem::Token, .. }), "{error}");
    }
}

#[tokio::test]
async fn an_identity_token_goes_as_a_form_and_never_in_a_url() {
    let manifest = manifest_of(COMPONENT).to_string();
    let realm = Server::start(|asked| {
        let right = asked.body.contains("refresh_token=secret-id&") && asked.query.is_empty();
        if right { ok(r#"{"access_token": "t0ken"}"#) } else { status(401) }
    })
    .await;
    let server = Server::start(with_tokens(manifest.clone(), realm.address)).await;
    let node = Node::new();
    let file = node.folder.path().join("pull.json");
    let config = json!({"auths": {server.address.to_string(): {"identitytoken": "secret-id"}}});
    std::fs::write(&file, config.to_string()).expect("written");
    let pulled = node.registries().fetch(&reference_of(&server, &manifest), Some(&file)).await;
    assert_eq!(&*pulled.expect("pulled"), COMPONENT);
}

#[tokio::test]
async fn missing_wrong_and_unreadable_credentials_are_distinguished() {
    let manifest = manifest_of(COMPONENT).to_string();
    let server = Server::start(|_| {
        ScriptedResponse::Whole(401, vec![("www-authenticate", "Basic realm=\"x\"".to_owned())], Vec::new())
    })
    .await;
    let (node, reference) = (Node::new(), reference_of(&server, &manifest));
    let error = node.refused(&reference).await;
    assert!(matches!(error, TransferError::NoCredentials { .. }), "{error}");
    assert!(error.to_string().contains("pullCredentials"), "{error}");
    node.logs_in(server.address);
    let error = node.refused(&reference).await;
    assert!(matches!(error, TransferError::Refused { status: 401, .. }), "{error}");

    let named = node.folder.path().join("named.json");
    let fetch = async || {
        let error = node.registries().fetch(&reference, Some(&named)).await.expect_err("refused");
        *error.cause.downcast::<TransferError>().expect("a pull's error")
    };
    let error = fetch().await;
    assert!(matches!(error, TransferError::CredentialsFile { .. }), "{error}");
    std::fs::write(&named, "user: ann").expect("written");
    let error = fetch().await;
    assert!(matches!(error, TransferError::Credentials { .. }), "{error}");

    let strange = Server::start(|_| {
        ScriptedResponse::Whole(401, vec![("www-authenticate", "Negotiate".to_owned())], Vec::new())
    })
    .await;
    let error = node.refused(&reference_of(&strange, &manifest)).await;
    assert!(matches!(error, TransferError::Challenge { .. }), "{error}");
}
