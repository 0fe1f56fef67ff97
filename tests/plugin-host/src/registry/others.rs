//! What the crate `oci-wasm` (which `wkg` is made of) writes is read here, and what is written here is read by it.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use oci_client::client::{ClientConfig, ClientProtocol};
use oci_client::secrets::RegistryAuth;
use oci_wasm::{WasmClient, WasmConfig};
use serde_json::json;
use witlet_egress::Egress;
use witlet_oci::{
    Artifact, Client, Login, PLUGIN_FILE, PLUGIN_FILE_TYPE, SET_COMPONENT_TYPE, SetArtifact, SetFile, Target,
    TransferError, set_plugin_file, verify_set,
};
use witlet_ports::{ComponentFetcher, ComponentReference, Reports};
use witlet_wasm::attestation::cosign::{ArtifactSigningKey, sign_artifact};
use witlet_wasm::attestation::{Conformance, LAYERS, SigningKey, Statement, Tested};
use witlet_wasm::host::{PluginFile, PluginHost};
use witlet_wasm::inspect::inspect;
use witlet_wasm::plugin::PluginState;

use super::{Registry, digest_of, loaded};

const WASM: &[u8] = witlet_test_guests::NO_LATEST_TAG;
const KEY: &str = "-----BEGIN PRIVATE KEY-----
MC4CAQAwBQYDK2VwBCIEIIZEkyYXsYlcllWOfZF8F777/U9QikkTEVLr7IYygXbg
-----END PRIVATE KEY-----
";

fn theirs() -> WasmClient {
    // The last one that installs it wins, and all install the same.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let config = ClientConfig { protocol: ClientProtocol::Http, ..ClientConfig::default() };
    WasmClient::new(oci_client::Client::new(config))
}

fn ours(login: Login) -> Client {
    Client::new(Egress::system(), login, false)
}

fn target(registry: &Registry, rest: &str) -> Target {
    format!("{}/plugins/tags{rest}", registry.address).parse().expect("a place")
}

fn artifact() -> Artifact {
    let inspection = inspect(WASM).expect("a component");
    Artifact {
        wasm: WASM.into(),
        file_name: "tags.wasm".to_owned(),
        exports: inspection.exports,
        imports: inspection.imports,
        created: "2026-01-02T03:04:05Z".parse().expect("a time"),
        annotations: BTreeMap::from([("org.opencontainers.image.version".to_owned(), "1.0".to_owned())]),
        report: None,
    }
}

fn report(seed: u64) -> Vec<u8> {
    let conformance = Conformance {
        kit_version: "0.1.0".to_owned(),
        roles: vec![Tested { role: "admission".to_owned(), version: "0.1.0".to_owned() }],
        config_digest: "0".repeat(64),
        passed: true,
        checks: LAYERS.map(|layer| (layer.to_owned(), Default::default())).into(),
        seed,
        time: "2026-01-02T03:04:05Z".parse().expect("a time"),
    };
    let key = SigningKey::from_pem(KEY.as_bytes()).expect("a key");
    Statement::new("tags.wasm", &digest_of(WASM)["sha256:".len()..], conformance).sign(&key)
}

async fn push(registry: &Registry, artifact: &Artifact) -> witlet_oci::Pushed {
    let sink: witlet_oci::BytesSink = Arc::new(|_bytes| {});
    ours(Login::Anonymous).push(&target(registry, ":1.0"), artifact, &sink).await.expect("pushed")
}

pub(super) async fn read_by_others() {
    let registry = Registry::start(false).await;
    let pushed = push(&registry, &artifact()).await;
    assert_eq!(pushed.component, digest_of(WASM));
    assert!(pushed.sent > WASM.len() as u64, "the component and its configuration: {pushed:?}");
    let image = format!("{}/plugins/tags:1.0", registry.address).parse().expect("a reference");
    let theirs = theirs();
    let pulled = theirs.pull(&image, &RegistryAuth::Anonymous).await.expect("they pull it");
    assert_eq!(pulled.layers[0].data, WASM);
    assert_eq!(pulled.digest, Some(pushed.digest.clone()));
    let (manifest, config, digest) =
        theirs.pull_manifest_and_config(&image, &RegistryAuth::Anonymous).await.expect("they read it");
    assert_eq!(digest, pushed.digest);
    let annotations = manifest.annotations.expect("it has some");
    assert_eq!(annotations["org.opencontainers.image.version"], "1.0");
    assert_eq!(annotations["org.opencontainers.image.created"], "2026-01-02T03:04:05Z");
    // Their own description of the same component.
    let (own, layer) = WasmConfig::from_raw_component(WASM.to_vec(), None).expect("they describe it");
    let (own_component, component) = (own.component.expect("one"), config.component.expect("one"));
    assert_eq!(component.exports, own_component.exports);
    assert_eq!(component.imports, own_component.imports);
    assert_eq!(component.target, own_component.target);
    assert_eq!((config.os, config.architecture), (own.os, own.architecture));
    assert_eq!(config.layer_digests, own.layer_digests);
    assert_eq!(manifest.layers[0].media_type, layer.media_type);
    // `oras pull` writes a layer under this name, and leaves out one without it.
    let of_layer = manifest.layers[0].annotations.as_ref().expect("it has some");
    assert_eq!(of_layer["org.opencontainers.image.title"], "tags.wasm");
    // Again: the same digest, and nothing to send.
    let again = push(&registry, &artifact()).await;
    assert_eq!((again.digest, again.sent), (pushed.digest, 0));
}

pub(super) async fn written_by_others() {
    let registry = Registry::start(false).await;
    let (config, layer) = WasmConfig::from_raw_component(WASM.to_vec(), None).expect("they describe it");
    let image = format!("{}/plugins/tags:2.0", registry.address).parse().expect("a reference");
    theirs().push(&image, &RegistryAuth::Anonymous, layer, config, None).await.expect("they push it");
    let pulled = ours(Login::Anonymous).pull(&target(&registry, ":2.0"), &|_, _| {}).await.expect("pulled");
    assert_eq!(pulled.wasm, WASM);
    assert!(pulled.reports.is_empty());
    let reference: ComponentReference =
        target(&registry, ":2.0").pinned(&pulled.digest).parse().expect("what a plugin file takes");
    let fetched = registry.registries("components").fetch(&reference, None).await.expect("pulled");
    assert_eq!(&*fetched, WASM);
    // By the digest, and by a tag that isn't there.
    let pinned: Target = reference.to_string().parse().expect("a place");
    assert_eq!(ours(Login::Anonymous).pull(&pinned, &|_, _| {}).await.expect("pulled"), pulled);
    let error =
        ours(Login::Anonymous).pull(&target(&registry, ":3.0"), &|_, _| {}).await.expect_err("not there");
    assert!(matches!(error, TransferError::NotFound { .. }), "{error}");
}

pub(super) async fn reports() {
    let mut registry = Registry::start(false).await;
    let first = push(&registry, &Artifact { report: Some(report(1).into()), ..artifact() }).await;
    // The same once more, and then another one.
    let same = push(&registry, &Artifact { report: Some(report(1).into()), ..artifact() }).await;
    assert_eq!((&same.report, same.sent), (&first.report, 0));
    push(&registry, &Artifact { report: Some(report(2).into()), ..artifact() }).await;
    let pulled = ours(Login::Anonymous).pull(&target(&registry, ":1.0"), &|_, _| {}).await.expect("pulled");
    assert_eq!(pulled.reports, [report(1), report(2)]);
    // Others see what refers to the component.
    let image = format!("{}/plugins/tags@{}", registry.address, first.digest).parse().expect("a reference");
    let theirs = theirs();
    let (index, _) = theirs
        .pull_manifest(
            &format!("{}/plugins/tags:{}", registry.address, first.digest.replace(':', "-"))
                .parse()
                .expect("a tag"),
            &RegistryAuth::Anonymous,
        )
        .await
        .expect("the list of referrers");
    let listed = serde_json::to_value(index).expect("JSON");
    let digest = first.report.as_deref().expect("a report");
    assert_eq!(listed["manifests"][0]["digest"], digest);
    let (manifest, _) =
        theirs.pull_manifest(&image, &RegistryAuth::Anonymous).await.expect("the component's");
    assert!(serde_json::to_value(manifest).expect("JSON")["layers"].is_array());
    // The daemon keeps what it has seen.
    let reference: ComponentReference =
        target(&registry, ":1.0").pinned(&first.digest).parse().expect("a reference");
    let registries = registry.registries("components");
    assert_eq!(
        registries.reports(&reference, None, Reports::Kept).await.expect("none yet"),
        Vec::<Vec<u8>>::new()
    );
    let newest = registries.reports(&reference, None, Reports::Newest).await.expect("brought");
    assert_eq!(newest, [report(1), report(2)]);
    registry.process.kill().expect("killed");
    registry.process.wait().expect("ended");
    assert_eq!(registries.reports(&reference, None, Reports::Kept).await.expect("kept"), newest);
    assert!(registries.reports(&reference, None, Reports::Newest).await.is_err());
}

pub(super) async fn private_push() {
    let registry = Registry::start(true).await;
    let sink: witlet_oci::BytesSink = Arc::new(|_bytes| {});
    let to = target(&registry, ":1.0");
    let push = async |login: Login| ours(login).push(&to, &artifact(), &sink).await;
    let ann = |password: &str| Login::User { username: "ann".to_owned(), password: password.to_owned() };
    let error = push(Login::Anonymous).await.expect_err("private");
    assert!(matches!(error, TransferError::NoCredentials { .. }), "{error}");
    let error = push(ann("let me out")).await.expect_err("the wrong password");
    assert!(matches!(error, TransferError::Refused { status: 401, .. }), "{error}");
    let pushed = push(ann("let me in")).await.expect("pushed");
    let file = registry.folder.path().join("login.json");
    let entry = json!({"username": "ann", "password": "let me in"});
    let config = json!({"auths": {registry.address.to_string(): entry}});
    std::fs::write(&file, config.to_string()).expect("written");
    let pulled = ours(Login::File(file)).pull(&to, &|_, _| {}).await.expect("pulled");
    assert_eq!((pulled.digest, pulled.wasm.as_slice()), (pushed.digest, WASM));
    let error = ours(Login::File("/nonexistent/config.json".into())).pull(&to, &|_, _| {}).await;
    assert!(matches!(error, Err(TransferError::CredentialsFile { .. })));
}

pub(super) async fn vouched() {
    let registry = Registry::start(false).await;
    let public = SigningKey::from_pem(KEY.as_bytes()).expect("a key").public().to_pem();
    std::fs::write(registry.folder.path().join("ci.pub.pem"), public).expect("written");
    let pushed = push(&registry, &artifact()).await;
    let reference = target(&registry, ":1.0").pinned(&pushed.digest);
    let entry = format!("component: \"{reference}\"}}\nrequireConformance: {{keys: [ci.pub.pem]");
    let without = loaded(&registry, &entry).await;
    assert_eq!(without.state, PluginState::Failed);
    let detail = without.detail.unwrap_or_default();
    let words =
        format!("requireConformance does not allow it: there is no conformance report next to {reference}");
    assert!(detail.starts_with(&words) && detail.contains("witlet plugin push"), "{detail}");
    push(&registry, &Artifact { report: Some(report(1).into()), ..artifact() }).await;
    let with = loaded(&registry, &entry).await;
    assert_eq!(with.state, PluginState::Ready, "{with:?}");
    assert!(with.conformance.is_some_and(|by| by.passed && by.key.ends_with("ci.pub.pem")));
}

pub(super) async fn signed() {
    let registry = Registry::start(false).await;
    let public = SigningKey::from_pem(KEY.as_bytes()).expect("a key").public().to_pem();
    std::fs::write(registry.folder.path().join("cosign.pub"), public).expect("written");
    let pushed = push(&registry, &artifact()).await;
    let place = target(&registry, ":1.0");
    let reference = place.pinned(&pushed.digest);
    let entry = format!("component: \"{reference}\"}}\nrequireSignature: {{keys: [cosign.pub]");
    let without = loaded(&registry, &entry).await;
    assert_eq!(without.state, PluginState::Failed);
    let detail = without.detail.unwrap_or_default();
    let words = format!("requireSignature does not allow it: {reference} isn't signed with ");
    assert!(detail.starts_with(&words) && detail.ends_with("it has no signature"), "{detail}");
    let key = ArtifactSigningKey::from_pem(KEY.as_bytes()).expect("a key");
    let made = sign_artifact(&place.name(), &pushed.digest, &key).expect("signed");
    let client = ours(Login::Anonymous);
    let put = client.put_signature(&place, &pushed.digest, &made.payload, &made.signature).await;
    assert_eq!(put.expect("put"), format!("{}.sig", pushed.digest.replace(':', "-")));
    let with = loaded(&registry, &entry).await;
    assert_eq!(with.state, PluginState::Ready, "{with:?}");
    let by = with.signature.expect("someone signed it");
    assert!(by.signed_by == key.public().id() && by.key.ends_with("cosign.pub"), "{by:?}");
}

/// Waits until the host's plugins are these, by name.
async fn serves(host: &PluginHost, names: &[&str]) {
    let served = async {
        loop {
            let ready = host.list().into_iter().filter(|plugin| plugin.state == PluginState::Ready);
            if ready.map(|plugin| plugin.name).collect::<Vec<_>>() == names {
                return;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(witlet_harness::WAIT_TIMEOUT, served).await.expect("they serve in time");
}

pub(super) async fn set() {
    let registry = Registry::start(false).await;
    let entry =
        |name: &str| format!("plugins:\n- {{name: {name}, admission: {{}}, component: ./team/tags.wasm}}\n");
    let head = "apiVersion: witlet.dev/v1alpha1\nkind: PluginConfiguration\n";
    let file = |name: &str, media_type, bytes: &[u8]| SetFile {
        name: name.to_owned(),
        media_type,
        bytes: bytes.to_vec().into(),
    };
    let text = format!("{head}{}", entry("of-the-set"));
    let set = SetArtifact {
        files: vec![
            file(PLUGIN_FILE, PLUGIN_FILE_TYPE, text.as_bytes()),
            file("team/tags.wasm", SET_COMPONENT_TYPE, WASM),
        ],
        code: Vec::new(),
        created: "2026-01-02T03:04:05Z".parse().expect("a time"),
        annotations: BTreeMap::new(),
    };
    let place = target(&registry, "/fleet:1");
    let pushed = ours(Login::Anonymous).push_set(&place, &set).await.expect("pushed");
    let reference: ComponentReference = place.pinned(&pushed.digest).parse().expect("a reference");
    let registries = registry.registries("components");
    let folder = registry.folder.path().join("set");
    std::fs::create_dir(&folder).expect("made");
    registries.fetch_set(&reference, None, &folder).await.expect("brought");
    assert_eq!(std::fs::read(set_plugin_file(&folder)).expect("there"), text.as_bytes());
    let component = set_plugin_file(&folder).with_file_name("team").join("tags.wasm");
    assert_eq!(std::fs::read(component).expect("there"), WASM);
    verify_set(&folder, &pushed.digest).expect("whole");
    // A component is no set, and a set no component.
    let component = push(&registry, &artifact()).await;
    let component: ComponentReference =
        target(&registry, ":1.0").pinned(&component.digest).parse().expect("a reference");
    let error = registries.fetch_set(&component, None, &folder).await.expect_err("no set");
    assert!(error.cause.to_string().contains("witlet plugin push-set"), "{error:?}");
    assert!(registries.fetch(&reference, None).await.is_err());

    let local = registry.folder.path().join("local");
    std::fs::create_dir_all(local.join("team")).expect("made");
    std::fs::write(local.join("team/tags.wasm"), WASM).expect("written");
    std::fs::write(local.join("plugins.yaml"), format!("{head}{}", entry("local"))).expect("written");
    let host = super::host(&registry, Some(local.join("plugins.yaml"))).await;
    serves(&host, &["local"]).await;
    let file = |path: Option<PathBuf>| PluginFile { path, last_good_folder: None };
    host.use_file(file(Some(set_plugin_file(&folder))));
    serves(&host, &["of-the-set"]).await;
    assert_eq!(host.problems(), Vec::<String>::new());
    host.use_file(file(Some(local.join("plugins.yaml"))));
    serves(&host, &["local"]).await;
    host.use_file(file(None));
    serves(&host, &[]).await;
    assert!(!host.is_configured());
}
