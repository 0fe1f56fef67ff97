//! Artifacts that are no components.

use witlet_ports::{Artifact, ArtifactError, ArtifactFetcher, Target};

use super::*;
use crate::manifest::LayerError;

const LIST: &[u8] = b"[\"CVE-2026-1\"]";

/// As `oras push` makes it.
fn manifest(layers: &[&[u8]]) -> String {
    let layer = |bytes: &&[u8]| json!({"mediaType": "application/json", "digest": digest_of(bytes), "size": bytes.len()});
    json!({
        "schemaVersion": 2,
        "mediaType": MANIFEST_TYPE,
        "artifactType": "application/vnd.unknown.artifact.v1",
        "config": {"mediaType": "application/vnd.oci.empty.v1+json", "digest": digest_of(b"{}"), "size": 2},
        "layers": layers.iter().map(layer).collect::<Vec<_>>(),
    })
    .to_string()
}

/// A registry with one artifact under a tag and its digest.
fn tagged(manifest: String) -> impl Fn(&ReceivedRequest) -> ScriptedResponse + Send + Sync + 'static {
    let by_digest = format!("/v2/lists/cves/manifests/{}", digest_of(manifest.as_bytes()));
    move |asked| match asked.path.as_str() {
        "/v2/lists/cves/manifests/latest" | "/v2/lists/cves/manifests/1" => ok(manifest.clone()),
        path if path == by_digest => ok(manifest.clone()),
        path if path.ends_with(&digest_of(LIST)) => ok(LIST),
        _ => status(404),
    }
}

async fn fetched(
    node: &Node,
    server: &Server,
    rest: &str,
    known: Option<&str>,
) -> Result<Artifact, ArtifactError> {
    let target: Target = format!("oci://{}/lists/cves{rest}", server.address).parse().expect("a reference");
    node.registries().artifact(&target, None, known, 64).await
}

async fn refused(manifest: String) -> TransferError {
    let server = Server::start(tagged(manifest)).await;
    let error = fetched(&Node::new(), &server, ":1", None).await.expect_err("refused");
    *error.cause.downcast().expect("a pull's error")
}

#[tokio::test]
async fn an_artifact_has_one_file_and_is_brought_by_tag_or_digest_unless_it_is_known() {
    let manifest = manifest(&[LIST]);
    let digest = digest_of(manifest.as_bytes());
    let server = Server::start(tagged(manifest)).await;
    let node = Node::new();
    let whole = Artifact { digest: digest.clone(), bytes: Some(LIST.to_vec()) };
    for rest in ["", ":1", &format!("@{digest}"), &format!(":gone@{digest}")] {
        let found = fetched(&node, &server, rest, None).await.expect("brought");
        assert_eq!(found, whole, "{rest}");
    }
    let before = server.asked().len();
    let known = fetched(&node, &server, ":1", Some(&digest)).await.expect("asked");
    assert_eq!(known, Artifact { digest, bytes: None });
    assert_eq!(server.asked().len(), before + 1, "the manifest alone");
    let other = fetched(&node, &server, ":1", Some("sha256:other")).await.expect("brought");
    assert_eq!(other, whole);
}

#[tokio::test]
async fn what_is_no_artifact_with_one_file_is_refused_by_name() {
    let error = refused(manifest(&[LIST, LIST])).await;
    assert!(matches!(error, TransferError::Layer(LayerError::Layers { layers: 2 })), "{error}");
    let error = refused(manifest(&[&[7; 65]])).await;
    let expected = LayerError::TooLarge { bytes: 65, bytes_max: 64 };
    assert!(matches!(&error, TransferError::Layer(found) if *found == expected), "{error}");
    let index =
        json!({"schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json", "manifests": []});
    let error = refused(index.to_string()).await;
    assert!(matches!(error, TransferError::Layer(LayerError::Type { .. })), "{error}");
    let error = refused("<html>".to_owned()).await;
    assert!(matches!(error, TransferError::Layer(LayerError::Malformed { .. })), "{error}");
    let error = refused(manifest(&[b"other than the registry has"])).await;
    assert!(matches!(error, TransferError::NotFound { what: TransferItem::Layer, .. }), "{error}");
    let server = Server::start(tagged(manifest(&[LIST]))).await;
    let error = fetched(&Node::new(), &server, ":gone", None).await.expect_err("refused");
    assert_eq!(error.to_string(), format!("fetch oci://{}/lists/cves:gone", server.address));
}

#[tokio::test]
async fn an_artifact_is_pulled_with_the_credentials_of_the_node() {
    let honest = tagged(manifest(&[LIST]));
    let server = Server::start(move |asked| match &asked.authorization {
        None => ScriptedResponse::Whole(
            401,
            vec![("www-authenticate", "Basic realm=\"x\"".to_owned())],
            Vec::new(),
        ),
        Some(_) => honest(asked),
    })
    .await;
    let node = Node::new();
    let error = fetched(&node, &server, ":1", None).await.expect_err("refused");
    assert!(error.cause.to_string().contains("requires credentials"), "{}", error.cause);
    node.logs_in(server.address);
    let found = fetched(&node, &server, ":1", None).await.expect("brought");
    assert_eq!(found.bytes.as_deref(), Some(LIST));
}
