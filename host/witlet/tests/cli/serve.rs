//! `witlet plugin serve`: the webhook as a process, with real components, asked over TLS as an API server does it.

mod api_server;

use std::fs::Permissions;
use std::io::{BufRead as _, BufReader, Read as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;

use kube::client::Body;
use serde_json::{Value, json};
use witlet_harness::{WAIT_TIMEOUT, poll_until};
use witlet_node::SystemClock;
use witlet_server::{ServerTls, TlsOptions};

use crate::daemon::{Owned, START_TIMEOUT, wait_for};
use crate::{scratch, witlet, write};

/// What the service of the webhook is called, which its certificate is for.
const SERVICE: &str = "witlet-webhook.policies.svc";

/// One entry for each namespace that is asked about.
const ENTRIES: &str = "\
- {name: tags, component: no-latest-tag.wasm, limits: {timeout: 5s}, admission: {match: {namespaces: [tags]}}}
- {name: defers, component: hostile.wasm, limits: {timeout: 5s}, config: defer, admission: {match: {namespaces: [defers]}}}
- {name: short, component: hostile.wasm, limits: {timeout: 5s}, config: shortage, admission: {match: {namespaces: [short]}}}
- {name: traps-reject, component: hostile.wasm, limits: {timeout: 5s}, config: trap, admission: {failurePolicy: Reject, match: {namespaces: [traps-reject]}}}
- {name: traps-admit, component: hostile.wasm, limits: {timeout: 5s}, config: trap, admission: {failurePolicy: Admit, match: {namespaces: [traps-admit]}}}
- {name: edits, component: v0-2.wasm, grants: {secrets: [none]}, limits: {timeout: 5s}, config: {do: operation, subscribe: [update, ephemeral]}, admission: {match: {namespaces: [edits]}}}
- {name: warns, component: v0-2.wasm, grants: {secrets: [none]}, limits: {timeout: 5s}, config: {do: remark}, admission: {match: {namespaces: [warns]}}}
- {name: traps-defer, component: hostile.wasm, limits: {timeout: 5s}, config: trap, admission: {failurePolicy: Defer, match: {namespaces: [traps-defer]}}}
";

pub(crate) fn plugins(folder: &Path, entries: &str) -> String {
    std::fs::write(folder.join("hostile.wasm"), witlet_test_guests::HOSTILE).expect("a temporary folder");
    std::fs::write(folder.join("no-latest-tag.wasm"), witlet_test_guests::NO_LATEST_TAG)
        .expect("a temporary folder");
    std::fs::write(folder.join("v0-2.wasm"), witlet_test_guests::ADMISSION_V0_2).expect("a temporary folder");
    // The guest of contract 0.2 imports all that there is, secrets too.
    let secret = write(folder, "none", "none");
    std::fs::set_permissions(&secret, Permissions::from_mode(0o600)).expect("it is the test's file");
    let secrets = if entries.contains("secrets:") { "secrets: [{name: none, file: none}]\n" } else { "" };
    let text =
        format!("apiVersion: witlet.dev/v1alpha1\nkind: PluginConfiguration\n{secrets}plugins:\n{entries}");
    write(folder, "plugins.yaml", &text).display().to_string()
}

/// A certificate for [`SERVICE`] with its authority behind it, and its key.
fn certificate(folder: &Path) -> (String, String) {
    let cert_dir = folder.join("pki");
    let options = TlsOptions {
        certificate: None,
        client_ca: None,
        cert_dir: cert_dir.clone(),
        node_name: "webhook".to_owned(),
        alternative_names: vec![SERVICE.to_owned()],
        only_tls13: false,
    };
    ServerTls::open(options, Arc::new(SystemClock)).expect("a certificate is made");
    let of = |name: &str| cert_dir.join(name).display().to_string();
    (of("kubelet.crt"), of("kubelet.key"))
}

/// A pod with this image, and with these ephemeral containers.
fn reviewed(namespace: &str, image: &str, debug: &[&str]) -> Value {
    let debug: Vec<Value> = debug.iter().map(|name| json!({"name": name, "image": "dbg:1"})).collect();
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": "web", "namespace": namespace, "uid": "u1"},
        "spec": {"containers": [{"name": "app", "image": image}], "ephemeralContainers": debug},
    })
}

struct Webhook {
    process: Owned,
    client: kube::Client,
    folder: tempfile::TempDir,
}

impl Webhook {
    /// Starts one, and waits until its plugins are loaded.
    async fn start() -> Self {
        let folder = scratch();
        let file = plugins(folder.path(), ENTRIES);
        let (certificate, key) = certificate(folder.path());
        let cache = witlet_harness::program::component_cache().expect("a test lies in a target folder");
        let process = Command::new(env!("CARGO_BIN_EXE_witlet"))
            .args(["plugin", "serve", &file, "--listen", "127.0.0.1:0", "--log-format", "json"])
            .args(["--tls-cert-file", &certificate, "--tls-private-key-file", &key])
            .env(witlet_harness::program::CACHE_VARIABLE, cache)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the binary runs");
        let mut process = Owned(process);
        let mut log = BufReader::new(process.0.stderr.take().expect("it is piped"));
        let mut address = None;
        while address.is_none() {
            let mut line = String::new();
            assert_ne!(log.read_line(&mut line).expect("the log is text"), 0, "it ended before it served");
            let line: Value = serde_json::from_str(&line).unwrap_or_default();
            address = line["address"].as_str().map(str::to_owned);
        }
        std::thread::spawn(move || log.read_to_end(&mut Vec::new()));
        let address = address.unwrap_or_default();
        let config = json!({
            "apiVersion": "v1", "kind": "Config", "current-context": "webhook",
            "clusters": [{"name": "webhook", "cluster": {
                "server": format!("https://{address}"), "certificate-authority": certificate, "tls-server-name": SERVICE,
            }}],
            "users": [{"name": "api-server", "user": {}}],
            "contexts": [{"name": "webhook", "context": {"cluster": "webhook", "user": "api-server"}}],
        });
        let (config, options) = (
            serde_json::from_value(config).expect("a kubeconfig"),
            kube::config::KubeConfigOptions::default(),
        );
        let config = kube::Config::from_custom_kubeconfig(config, &options);
        let client = kube::Client::try_from(config.await.expect("a configuration")).expect("a client");
        let webhook = Self { process, client, folder };
        let ready = async || (webhook.get("/readyz").await == 200).then_some(());
        let loaded = poll_until(START_TIMEOUT, ready).await;
        assert!(loaded.is_some(), "its plugins are never loaded");
        webhook
    }

    async fn get(&self, path: &str) -> u16 {
        let request = http::Request::get(path).body(Body::empty()).expect("a request");
        self.client.send(request).await.expect("an answer").status().as_u16()
    }

    async fn post(&self, content_type: &str, body: Vec<u8>) -> (u16, String) {
        let request = http::Request::post("/validate?timeout=10s").header("content-type", content_type);
        let (head, body) = self.send(request.body(body).expect("a request")).await;
        (head.status.as_u16(), body)
    }

    async fn send(&self, request: http::Request<Vec<u8>>) -> (http::response::Parts, String) {
        let answer = self.client.send(request.map(Body::from)).await;
        let (head, body) = answer.expect("an answer").into_parts();
        let body = body.collect_bytes().await.expect("a whole answer");
        (head, String::from_utf8(body.to_vec()).expect("text"))
    }

    /// The response about a pod with this image.
    async fn review(&self, namespace: &str, image: &str) -> Value {
        self.asked("CREATE", "", &reviewed(namespace, image, &[]), &Value::Null).await
    }

    /// The response about what becomes of a pod.
    async fn asked(&self, operation: &str, subresource: &str, object: &Value, old: &Value) -> Value {
        let review = json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {
            "uid": "705ab4f5", "operation": operation, "subResource": subresource,
            "namespace": object["metadata"]["namespace"], "name": "web",
            "kind": {"group": "", "version": "v1", "kind": "Pod"},
            "resource": {"group": "", "version": "v1", "resource": "pods"},
            "object": object, "oldObject": old,
        }});
        let (code, body) = self.post("application/json", review.to_string().into_bytes()).await;
        assert_eq!(code, 200, "{body}");
        let mut answer: Value = serde_json::from_str(&body).expect("JSON");
        assert_eq!(answer["response"]["uid"], "705ab4f5");
        answer["response"].take()
    }

    /// It ends well after it was asked to.
    fn ends_well(mut self) {
        let process = rustix::process::Pid::from_child(&self.process.0);
        rustix::process::kill_process(process, rustix::process::Signal::TERM).expect("it can be signalled");
        let ended = || self.process.0.try_wait().expect("it is this program's child");
        let status = wait_for("the webhook ends", WAIT_TIMEOUT, ended);
        assert!(status.success(), "{status}");
        drop(self.folder);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_webhook_answers_by_the_components_of_a_plugin_file() {
    let webhook = Webhook::start().await;
    assert_eq!(webhook.review("tags", "app:1.2").await, json!({"uid": "705ab4f5", "allowed": true}));
    assert_eq!(webhook.review("elsewhere", "app:latest").await["allowed"], true);
    let denied = webhook.review("tags", "app:latest").await;
    assert_eq!((&denied["allowed"], &denied["status"]["code"]), (&json!(false), &json!(403)), "{denied}");
    let message = denied["status"]["message"].as_str().unwrap_or_default();
    let reason = denied["status"]["reason"].as_str().unwrap_or_default();
    assert!(!reason.is_empty() && message.starts_with(&format!("{reason}: ")), "{denied}");
    assert!(message.contains("(plugin tags, sha256:"), "{denied}");

    let warns = async |namespace: &str, words: &str| {
        let answer = webhook.review(namespace, "app:1.2").await;
        let warning = answer["warnings"][0].as_str().unwrap_or_default();
        assert!(answer["allowed"] == true && warning.contains(words), "{namespace}: {answer}");
    };
    warns("defers", "the pod waits on its node while this is so: NotNow").await;
    warns("short", "only the node can say whether it has the resources: OutOfcpu").await;
    warns("traps-defer", "HandlerTrapped: Admission handler traps-defer trapped").await;
    warns("warns", "warning 0 (plugin warns, sha256:").await;
    assert_eq!(webhook.review("traps-admit", "app:1.2").await, json!({"uid": "705ab4f5", "allowed": true}));
    let trapped = webhook.review("traps-reject", "app:1.2").await;
    assert_eq!((&trapped["allowed"], &trapped["status"]["code"]), (&json!(false), &json!(403)), "{trapped}");
    let message = trapped["status"]["message"].as_str().unwrap_or_default();
    assert!(message.contains("Admission handler traps-reject trapped"), "{trapped}");
    assert!(message.contains("(plugin traps-reject, sha256:"), "{trapped}");

    let (old, edited) = (reviewed("edits", "app:1", &[]), reviewed("edits", "app:2", &[]));
    let debugged = reviewed("edits", "app:1", &["dbg"]);
    for (subresource, new, operation) in [
        ("", &edited, Some("update")),
        ("ephemeralcontainers", &debugged, Some("ephemeral")),
        ("", &old, None),
    ] {
        let answer = webhook.asked("UPDATE", subresource, new, &old).await;
        let message = answer["status"]["message"].as_str().unwrap_or_default();
        assert_eq!(answer["allowed"], operation.is_none(), "{answer}");
        assert!(operation.is_none_or(|name| message.starts_with(&format!("Asked: {name}"))), "{answer}");
    }
    assert_eq!(webhook.review("edits", "app:1").await["allowed"], true, "it doesn't subscribe to add");

    let cases = [
        ("application/json", b"{\"kind\": \"AdmissionReview\"}".to_vec(), 400, "apiVersion must be"),
        ("text/plain", b"{}".to_vec(), 415, "Content-Type must be application/json"),
        ("application/json", vec![b' '; (7 << 20) + 1], 413, "at most 6356992 bytes"),
    ];
    for (content_type, body, expected, words) in cases {
        let (code, answer) = webhook.post(content_type, body).await;
        assert!(code == expected && answer.contains(words), "{words}: {code} {answer}");
    }
    assert_eq!((webhook.get("/healthz").await, webhook.get("/elsewhere").await), (200, 404));
    webhook.ends_well();
}

#[test]
fn what_cannot_be_served_is_named_with_the_exit_code() {
    let folder = scratch();
    let (certificate, key) = certificate(folder.path());
    let file = plugins(folder.path(), ENTRIES);
    let broken = write(folder.path(), "broken.yaml", "apiVersion: witlet.dev/v1alpha1\nkind: Other\n");
    let broken = broken.display().to_string();
    let tls = |certificate: &str, key: &str| {
        ["--tls-cert-file", certificate, "--tls-private-key-file", key].map(str::to_owned)
    };
    let serve = |file: &str, more: &[String]| {
        let more = more.iter().map(String::as_str);
        witlet(&["plugin", "serve", file].into_iter().chain(more).collect::<Vec<_>>())
    };
    let usage = serve(&file, &[]);
    assert!(usage.code == 2 && usage.err.contains("--tls-cert-file"), "{}", usage.err);
    let bad_target = witlet(&["plugin", "serve", "--print-webhook", "http://host"]);
    assert!(bad_target.code == 2 && bad_target.err.contains("expected https://HOST"), "{}", bad_target.err);
    let cases = [
        (serve(&broken, &tls(&certificate, &key)), "broken.yaml"),
        (serve("/nonexistent.yaml", &tls(&certificate, &key)), "/nonexistent.yaml"),
        (serve(&file, &tls("/nonexistent.crt", &key)), "/nonexistent.crt"),
        (serve(&file, &tls(&certificate, &certificate)), "invalid private key"),
        (
            witlet(&["plugin", "serve", "--print-webhook", "policies/webhook"]),
            "--print-webhook needs --ca-file",
        ),
    ];
    for (answer, words) in cases {
        assert!(answer.code == 1 && answer.err.contains(words), "{words}: {} {}", answer.code, answer.err);
    }
    let help = witlet(&["plugin", "serve", "--help"]);
    assert!(
        help.code == 0 && help.out.contains("/readyz") && help.out.contains("--print-webhook"),
        "{}",
        help.out
    );
}

#[test]
fn the_configuration_of_the_api_server_is_printed_with_the_authority() {
    let folder = scratch();
    let authority = write(folder.path(), "ca.crt", "PEM").display().to_string();
    let printed =
        witlet(&["plugin", "serve", "--print-webhook", "policies/webhook", "--ca-file", &authority]);
    assert_eq!(printed.code, 0, "{}", printed.err);
    for words in [
        "kind: ValidatingWebhookConfiguration",
        "caBundle: UEVN",
        "namespace: policies",
        "/validate",
        "name: spec-changes",
    ] {
        assert!(printed.out.contains(words), "{words:?} isn't in: {}", printed.out);
    }
}
