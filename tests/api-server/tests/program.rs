//! The program as others start it: what it refuses, and that it serves.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

use k8s_openapi::api::core::v1::{Node, Pod, Secret};
use kube::api::{Api, ListParams, PostParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use serde_json::json;

fn program() -> Command {
    Command::new(env!("CARGO_BIN_EXE_witlet-api-server"))
}

fn output(arguments: &[&str]) -> Output {
    program().args(arguments).stdin(Stdio::null()).output().expect("the program starts")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("text")
}

/// The program while it serves; ended when this is dropped.
struct Running {
    program: Child,
    address: String,
}

impl Running {
    fn start(arguments: &[&str]) -> Self {
        let mut command = program();
        command.args(arguments).arg("--print-address").stdin(Stdio::null()).stdout(Stdio::piped());
        let mut program = command.spawn().expect("the program starts");
        let mut address = String::new();
        let mut said = BufReader::new(program.stdout.take().expect("it was asked for"));
        said.read_line(&mut address).expect("a line");
        Self { program, address: address.trim_end().to_owned() }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // One that ended by itself needs no end.
        let _ = self.program.kill();
        let _ = self.program.wait();
    }
}

fn client(config: Config) -> Client {
    Client::try_from(config).expect("a client")
}

async fn by_kubeconfig(path: &Path) -> Client {
    let kubeconfig = Kubeconfig::read_from(path).expect("a kubeconfig");
    let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await;
    client(config.expect("a whole one"))
}

#[test]
fn help_names_every_option() {
    let help = output(&["--help"]);
    assert!(help.status.success(), "{help:?}");
    let help = text(&help.stdout);
    for option in [
        "--listen",
        "--print-address",
        "--credentials",
        "--node",
        "--token",
        "--service-accounts",
        "--node-rules",
        "--sign-requests",
        "--history",
    ] {
        assert!(help.contains(option), "{option} isn't in:\n{help}");
    }
}

#[test]
fn options_that_cannot_be_used_are_refused() {
    for (arguments, code, words) in [
        (&["--nonsense"][..], 2, "unexpected argument '--nonsense'"),
        (&["--listen", "nowhere"], 2, "invalid value 'nowhere' for '--listen <LISTEN>'"),
        (&["--history", "-1"], 2, "unexpected argument '-1'"),
        (&["--token", "secret"], 1, "--token takes TOKEN=USER"),
        (&["--credentials", "/proc/nothing"], 1, "Error: "),
    ] {
        let refused = output(arguments);
        assert_eq!(refused.status.code(), Some(code), "{arguments:?}: {refused:?}");
        assert!(text(&refused.stderr).contains(words), "{arguments:?}: {}", text(&refused.stderr));
        assert_eq!(text(&refused.stdout), "", "{arguments:?}");
    }
}

#[tokio::test]
async fn in_the_clear_everyone_may_do_everything() {
    let running = Running::start(&[]);
    assert!(running.address.starts_with("http://127.0.0.1:"), "{}", running.address);
    let client = client(Config::new(running.address.parse().expect("a URL")));
    let pods: Api<Pod> = Api::namespaced(client, "default");
    let pod =
        json!({ "metadata": { "name": "a" }, "spec": { "containers": [{ "name": "c", "image": "i:1" }] } });
    let pod = serde_json::from_value(pod).expect("a pod");
    let made = pods.create(&PostParams::default(), &pod).await.expect("it is taken");
    let read = pods.get("a").await.expect("it is there");
    assert_eq!((&read.metadata.uid, read.metadata.uid.is_some()), (&made.metadata.uid, true));
}

#[tokio::test]
async fn over_tls_nodes_are_limited_and_tokens_known() {
    let folder = tempfile::tempdir().expect("a folder");
    let credentials = folder.path().join("credentials");
    let at = credentials.to_str().expect("text");
    let running = Running::start(&[
        "--credentials",
        at,
        "--node",
        "n1",
        "--node-rules",
        "--token",
        "abc=root,system:masters",
    ]);
    assert!(running.address.starts_with("https://127.0.0.1:"), "{}", running.address);

    let admin = by_kubeconfig(&credentials.join("admin.kubeconfig")).await;
    let none = Api::<Node>::all(admin).list(&ListParams::default()).await.expect("the administrator may");
    assert_eq!(none.items.len(), 0);

    let node = by_kubeconfig(&credentials.join("n1.kubeconfig")).await;
    let named = |name: &str| serde_json::from_value(json!({ "metadata": { "name": name } })).expect("a node");
    let nodes: Api<Node> = Api::all(node.clone());
    nodes.create(&PostParams::default(), &named("n1")).await.expect("it is itself");
    for refused in [
        nodes.create(&PostParams::default(), &named("n2")).await.map(drop),
        Api::<Secret>::all(node).list(&ListParams::default()).await.map(drop),
    ] {
        let refused = refused.expect_err("it may not");
        assert!(matches!(&refused, kube::Error::Api(status) if status.code == 403), "{refused}");
    }

    for (token, is_known) in [("abc", true), ("abd", false)] {
        let mut config = Config::new(running.address.parse().expect("a URL"));
        let authority = std::fs::read(credentials.join("ca.crt")).expect("it was written");
        let authority = pem_bytes(&authority);
        config.root_cert = Some(vec![authority]);
        config.auth_info.token = Some(token.to_owned().into());
        let answer = Api::<Node>::all(client(config)).list(&ListParams::default()).await;
        assert_eq!(answer.is_ok(), is_known, "{answer:?}");
    }
}

/// The certificate in a PEM file.
fn pem_bytes(pem: &[u8]) -> Vec<u8> {
    use rustls::pki_types::CertificateDer;
    use rustls::pki_types::pem::PemObject as _;
    CertificateDer::from_pem_slice(pem).expect("a certificate").to_vec()
}
