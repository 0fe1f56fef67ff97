//! Components pushed to and pulled from Debian's `docker-registry` on the loopback, open and with a password, by this crate and
//! by others.

mod others;

use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response, header};
use http_body_util::{BodyExt, Full};
use libtest_mimic::{Arguments, Failed, Trial};
use serde_json::json;
use sha2::{Digest, Sha256};
use tokio::time::Instant;
use witlet_core::event::Event;
use witlet_egress::{Egress, Reach, ResponseBody, SendLimits, TlsPolicy};
use witlet_harness::is_required;
use witlet_oci::{Registries, RegistriesConfig, TransferError};
use witlet_ports::{Clock, ComponentFetcher, ComponentReference, EventSink};
use witlet_wasm::host::{DataConfig, PluginHost, PluginHostConfig};
use witlet_wasm::plugin::{PluginState, PluginStatus};

const PROGRAM: &str = "docker-registry";
const MANIFEST_TYPE: &str = "application/vnd.oci.image.manifest.v1+json";
/// The header by which a registry says whose it is.
const OWNER: &str = "x-witlet-owner";
/// `ann` and the bcrypt of `let me in`, the only kind that the registry takes.
const HTPASSWD: &str = "ann:$2b$05$witlettestregistrysaleaxXRxqXIAYCVy1gch707u8XpkyC1HVe\n";
/// The two as a header has them.
const BASIC: &str = "Basic YW5uOmxldCBtZSBpbg==";

/// The cases; ignored where no registry is installed.
#[allow(clippy::print_stderr, reason = "says why nothing ran, as a test may")]
pub(crate) fn trials(arguments: &Arguments) -> Vec<Trial> {
    let search = std::env::var_os("PATH").unwrap_or_default();
    let installed = std::env::split_paths(&search).any(|folder| folder.join(PROGRAM).is_file());
    if !installed && !arguments.list {
        eprintln!(
            "SKIPPED: components from a registry: {PROGRAM} isn't installed (Debian package {PROGRAM})"
        );
    }
    let tests = [
        Trial::test("a_pushed_component_is_pulled_by_its_digest", || run(open())),
        Trial::test("a_private_component_needs_the_password", || run(private())),
        Trial::test("an_image_is_no_component", || run(image())),
        Trial::test("what_is_pushed_here_is_read_by_others", || run(others::read_by_others())),
        Trial::test("what_others_push_is_pulled_here", || run(others::written_by_others())),
        Trial::test("reports_go_next_to_their_component_and_are_found_and_kept", || run(others::reports())),
        Trial::test("a_push_to_a_private_registry_needs_the_password", || run(others::private_push())),
        Trial::test("a_component_of_a_registry_is_loaded_on_the_word_of_its_report", || {
            run(others::vouched())
        }),
        Trial::test("a_component_of_a_registry_is_loaded_with_a_signature_of_a_key_that_counts", || {
            run(others::signed())
        }),
        Trial::test("a_set_of_plugins_is_brought_whole_and_serves_in_place_of_a_file", || run(others::set())),
        Trial::test("a_plugin_of_a_private_registry_is_loaded_with_its_credentials", || run(plugin())),
    ];
    tests.into_iter().map(|test| test.with_ignored_flag(!installed && !is_required())).collect()
}

fn run(test: impl Future<Output = ()>) -> Result<(), Failed> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    runtime.block_on(test);
    Ok(())
}

struct Registry {
    process: Child,
    address: SocketAddr,
    folder: tempfile::TempDir,
}

impl Drop for Registry {
    fn drop(&mut self) {
        drop(self.process.kill());
        drop(self.process.wait());
    }
}

fn digest_of(bytes: &[u8]) -> String {
    format!("sha256:{}", hex::encode(Sha256::digest(bytes)))
}

impl Registry {
    async fn start(password: bool) -> Self {
        let deadline = Instant::now() + witlet_harness::WAIT_TIMEOUT;
        loop {
            let mut registry = Self::spawn(password);
            loop {
                let is_own = registry.answers().await;
                // Another process may have taken the port meanwhile: once more with another.
                if registry.process.try_wait().expect("a child").is_some() {
                    break;
                }
                if is_own {
                    return registry;
                }
                assert!(Instant::now() < deadline, "{PROGRAM} doesn't answer");
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
            assert!(Instant::now() < deadline, "{PROGRAM} doesn't start");
        }
    }

    fn spawn(password: bool) -> Self {
        let free = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
        let address = free.expect("a free port");
        let folder = tempfile::tempdir().expect("a folder");
        let path = |name: &str| folder.path().join(name);
        let mut config = json!({
            "version": 0.1,
            "log": {"level": "warn", "accesslog": {"disabled": true}},
            "storage": {"filesystem": {"rootdirectory": path("images")}},
            "http": {
                "addr": address.to_string(),
                "secret": "of no use outside of this test",
                "headers": {OWNER: [folder.path()]},
            },
        });
        if password {
            std::fs::write(path("htpasswd"), HTPASSWD).expect("written");
            config["auth"] = json!({"htpasswd": {"realm": "witlet", "path": path("htpasswd")}});
        }
        std::fs::write(path("config.json"), config.to_string()).expect("written");
        let process = Command::new(PROGRAM)
            .arg("serve")
            .arg(path("config.json"))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("started");
        Self { process, address, folder }
    }

    /// Whether this one answers, and not who may have its port before it does.
    async fn answers(&self) -> bool {
        let answer = self.send("GET", "/v2/", "text/plain", &[]).await;
        let owner = answer.as_ref().and_then(|answer| answer.headers().get(OWNER));
        owner.is_some_and(|owner| owner.as_bytes() == self.folder.path().as_os_str().as_encoded_bytes())
    }

    /// The status and the place of an upload; none without an answer.
    async fn ask(&self, method: &str, path: &str, kind: &str, body: &[u8]) -> Option<(u16, String)> {
        let answer = self.send(method, path, kind, body).await?;
        let status = answer.status().as_u16();
        let place = answer.headers().get(header::LOCATION).and_then(|place| place.to_str().ok());
        let place = place.unwrap_or_default().to_owned();
        drop(answer.into_body().collect().await);
        Some((status, place))
    }

    async fn send(
        &self,
        method: &str,
        path: &str,
        kind: &str,
        body: &[u8],
    ) -> Option<Response<ResponseBody>> {
        let request = Request::builder()
            .method(method)
            .uri(format!("http://{}{path}", self.address))
            .header(header::CONTENT_TYPE, kind)
            .header(header::AUTHORIZATION, BASIC)
            .body(Full::new(Bytes::copy_from_slice(body)))
            .expect("a request");
        let limits = SendLimits::each(witlet_harness::WAIT_TIMEOUT);
        Egress::system().send(&Reach::everything(), TlsPolicy::Verify, request, limits).await.ok()
    }

    async fn push_blob(&self, bytes: &[u8]) {
        let begun =
            self.ask("POST", "/v2/probes/redis/blobs/uploads/", "application/octet-stream", &[]).await;
        let (status, place) = begun.expect("an answer");
        assert_eq!(status, 202);
        let place = place.trim_start_matches(&format!("http://{}", self.address)).to_owned();
        let joint = if place.contains('?') { '&' } else { '?' };
        let path = format!("{place}{joint}digest={}", digest_of(bytes));
        let pushed = self.ask("PUT", &path, "application/octet-stream", bytes).await;
        assert_eq!(pushed.expect("an answer").0, 201);
    }

    /// Pushes a component in the standard form, or as if it were the layer of an image.
    async fn push(&self, component: &[u8], config_type: &str, layer_type: &str) -> ComponentReference {
        let config = json!({
            "created": "2026-01-01T00:00:00Z", "architecture": "wasm", "os": "wasip2",
            "layerDigests": [digest_of(component)], "component": {"exports": [], "imports": []},
        })
        .to_string();
        self.push_blob(config.as_bytes()).await;
        self.push_blob(component).await;
        let part = |kind: &str, bytes: &[u8]| json!({"mediaType": kind, "digest": digest_of(bytes), "size": bytes.len()});
        let manifest = json!({
            "schemaVersion": 2,
            "mediaType": MANIFEST_TYPE,
            "config": part(config_type, config.as_bytes()),
            "layers": [part(layer_type, component)],
        })
        .to_string();
        let pushed =
            self.ask("PUT", "/v2/probes/redis/manifests/1.2", MANIFEST_TYPE, manifest.as_bytes()).await;
        assert_eq!(pushed.expect("an answer").0, 201);
        let digest = digest_of(manifest.as_bytes());
        format!("oci://{}/probes/redis:1.2@{digest}", self.address).parse().expect("a reference")
    }

    fn registries(&self, name: &str) -> Registries {
        let config = RegistriesConfig {
            folder: self.folder.path().join(name),
            egress: Egress::system(),
            credentials: None,
            progress: Arc::new(|_| {}),
        };
        Registries::open(config).expect("opened")
    }
}

async fn push_component(registry: &Registry, component: &[u8]) -> ComponentReference {
    registry.push(component, "application/vnd.wasm.config.v0+json", "application/wasm").await
}

async fn pull(
    registries: &Registries,
    reference: &ComponentReference,
    file: Option<&Path>,
) -> Result<Arc<[u8]>, TransferError> {
    let pulled = registries.fetch(reference, file).await;
    pulled.map_err(|error| *error.cause.downcast().expect("a pull's error"))
}

async fn open() {
    let registry = Registry::start(false).await;
    let component: Vec<u8> = b"\0asm\x0d\0\x01\0".iter().copied().chain(vec![0; 300_000]).collect();
    let reference = push_component(&registry, &component).await;
    let registries = registry.registries("components");
    assert_eq!(*pull(&registries, &reference, None).await.expect("pulled"), *component);
    let absent = reference.to_string().replace(&reference.digest()[7..], &"0".repeat(64));
    let absent: ComponentReference = absent.parse().expect("a reference");
    let error = pull(&registries, &absent, None).await.expect_err("not there");
    assert!(matches!(error, TransferError::NotFound { .. }), "{error}");
    // Without the registry it comes from the folder.
    let folder = registry.folder.path().to_owned();
    let mut registry = registry;
    registry.process.kill().expect("killed");
    registry.process.wait().expect("ended");
    assert!(folder.join("components").is_dir());
    assert_eq!(*pull(&registries, &reference, None).await.expect("kept"), *component);
    let empty = registry.registries("empty");
    let error = pull(&empty, &reference, None).await.expect_err("no one answers");
    assert!(matches!(error, TransferError::Send { .. }), "{error}");
}

async fn private() {
    let registry = Registry::start(true).await;
    let reference = push_component(&registry, b"\0asm\x0d\0\x01\0").await;
    let registries = registry.registries("components");
    let error = pull(&registries, &reference, None).await.expect_err("private");
    assert!(matches!(error, TransferError::NoCredentials { .. }), "{error}");
    let file = registry.folder.path().join("pull.json");
    let write = |password: &str| {
        let entry = json!({"username": "ann", "password": password});
        let config = json!({"auths": {registry.address.to_string(): entry}});
        std::fs::write(&file, config.to_string()).expect("written");
    };
    write("let me out");
    let error = pull(&registries, &reference, Some(&file)).await.expect_err("the wrong password");
    assert!(matches!(error, TransferError::Refused { status: 401, .. }), "{error}");
    write("let me in");
    assert_eq!(&*pull(&registries, &reference, Some(&file)).await.expect("pulled"), b"\0asm\x0d\0\x01\0");
}

async fn image() {
    let registry = Registry::start(false).await;
    let kinds = ("application/vnd.oci.image.config.v1+json", "application/vnd.oci.image.layer.v1.tar+gzip");
    let reference = registry.push(b"a layer", kinds.0, kinds.1).await;
    let error = pull(&registry.registries("components"), &reference, None).await.expect_err("an image");
    assert!(matches!(error, TransferError::Manifest(_)), "{error}");
    assert!(error.to_string().contains("wkg oci push"), "{error}");
}

struct Now;

impl Clock for Now {
    fn now(&self) -> jiff::Timestamp {
        jiff::Timestamp::UNIX_EPOCH
    }
}

impl EventSink for Now {
    fn record(&self, _event: Event) {}
}

/// The only plugin of a host whose configuration has this in its entry, once it was tried.
async fn loaded(registry: &Registry, entry: &str) -> PluginStatus {
    let path = registry.folder.path().join("plugins.yaml");
    let text = format!(
        "apiVersion: witlet.dev/v1alpha1\nkind: PluginConfiguration\nplugins:\n- {{name: p, admission: {{}}, {entry}}}\n"
    );
    std::fs::write(&path, text).expect("written");
    let host = host(registry, Some(path)).await;
    host.list().pop().expect("one plugin")
}

/// A host with this plugin file, whose plugins were all tried.
async fn host(registry: &Registry, plugins_file: Option<PathBuf>) -> Arc<PluginHost> {
    let host = PluginHost::start(PluginHostConfig {
        tracer: witlet_ports::Tracer::off(),
        compiler: crate::node::compiler(crate::node::cache()),
        plugins_file,
        builtins: Vec::new(),
        shipped: Vec::new(),
        fetcher: Some(Arc::new(registry.registries("components"))),
        containers: None,
        state_folder: None,
        last_good_folder: None,
        data: DataConfig::default(),
        decision_log_folder: None,
        in_cluster: false,
        node: None,
        recorder: None,
        clock: Arc::new(Now),
        events: Arc::new(Now),
    })
    .await
    .expect("the host starts");
    tokio::time::timeout(witlet_harness::WAIT_TIMEOUT, host.ready()).await.expect("tried in time");
    host
}

async fn plugin() {
    let registry = Registry::start(true).await;
    let reference = push_component(&registry, witlet_test_guests::NO_LATEST_TAG).await;
    let without = loaded(&registry, &format!("component: \"{reference}\"")).await;
    assert_eq!(without.state, PluginState::Failed);
    let detail = without.detail.unwrap_or_default();
    assert!(detail.contains(&reference.to_string()) && detail.contains("pullCredentials"), "{detail}");
    let entry = json!({"username": "ann", "password": "let me in"});
    let config = json!({"auths": {registry.address.to_string(): entry}});
    std::fs::write(registry.folder.path().join("pull.json"), config.to_string()).expect("written");
    let with = loaded(&registry, &format!("component: \"{reference}\", pullCredentials: ./pull.json")).await;
    assert_eq!(with.state, PluginState::Ready, "{with:?}");
    assert_eq!(with.digest.as_deref(), Some(&digest_of(witlet_test_guests::NO_LATEST_TAG)[7..]));
    assert_eq!(with.component, reference.to_string());
}
