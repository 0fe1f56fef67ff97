//! The real daemon as a node of a cluster: an API server on a socket, a runtime that answers at once, and what others see.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use jiff::SignedDuration;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::{Event, Node, Pod};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::config::KubeConfigOptions;
use libtest_mimic::Failed;
use serde_json::json;
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;
use witlet_api_server::{Admission, ApiServer, Identity, Options, Security};
use witlet_cluster::SAVED_PODS;
use witlet_containerd::{Daemon, DaemonOptions, TestClock, report};
use witlet_fake_cri::FakeCri;
use witlet_ports::Clock as _;

/// How long anything may take before it counts as never.
const PATIENCE: Duration = Duration::from_secs(60);
/// How often something is looked at that is waited for.
const POLL_INTERVAL: Duration = Duration::from_millis(50);
/// The node.
const NODE: &str = "node1";
/// The node's bearer token.
const TOKEN: &str = "token-of-node1";

/// A cluster of one node.
struct Cluster {
    api: Arc<ApiServer>,
    runtime: Runtime,
    daemon: Daemon,
    /// Where `/healthz` answers.
    healthz: std::net::SocketAddr,
    /// Where the node's endpoints do.
    port: u16,
    stop: CancellationToken,
    servers: JoinSet<()>,
    folder: tempfile::TempDir,
}

/// A runtime that answers at once.
struct Runtime {
    cri: FakeCri,
    stop: CancellationToken,
    servers: JoinSet<()>,
}

impl Runtime {
    fn start(socket: PathBuf) -> Self {
        let (cri, stop, mut servers) = (FakeCri::default(), CancellationToken::new(), JoinSet::new());
        let (serving, until) = (cri.clone(), stop.clone());
        servers.spawn(
            async move { serving.serve(&socket, until).await.expect("it serves until it is stopped") },
        );
        Self { cri, stop, servers }
    }

    /// The machine goes down, and everything in it.
    async fn end(&mut self, socket: &Path) -> Result<(), Failed> {
        self.stop.cancel();
        while self.servers.join_next().await.is_some() {}
        if socket.exists() {
            std::fs::remove_file(socket)?;
        }
        Ok(())
    }
}

fn failed(error: impl std::error::Error) -> Failed {
    Failed::from(report(&error))
}

impl Cluster {
    async fn start() -> Result<Self, Failed> {
        // Short: socket paths have at most 107 bytes.
        let folder = tempfile::Builder::new().prefix("wtl").tempdir_in("/tmp")?;
        let mut options = Options::new(Arc::new(|| TestClock.now()));
        options.admission = Admission { node_rules: true, ..Admission::default() };
        let api = ApiServer::new(options);
        api.add_token(TOKEN, Identity::node(NODE));
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = format!("https://{}", listener.local_addr()?);
        let kubeconfig = folder.path().join("kubelet.conf");
        std::fs::write(&kubeconfig, api.kubeconfig(&address, &json!({ "token": TOKEN })))?;
        let (stop, mut servers) = (CancellationToken::new(), JoinSet::new());
        let serving = api.clone().serve(listener, Security::Tls, stop.clone());
        servers.spawn(async move { serving.await.expect("it serves until it is stopped") });
        let (healthz, port) = (free_address().await?, free_address().await?.port());
        let authority = folder.path().join("ca.crt");
        std::fs::write(&authority, api.ca_pem())?;
        let socket = folder.path().join("cri.sock");
        let runtime = Runtime::start(socket.clone());
        let endpoint = format!("unix://{}", socket.display());
        let mut options = DaemonOptions::below(folder.path(), env!("CARGO_BIN_EXE_witlet"), &endpoint);
        options.arguments = vec![
            format!("--kubeconfig={}", kubeconfig.display()),
            format!("--client-ca-file={}", authority.display()),
            "--address=127.0.0.1".to_owned(),
            format!("--port={port}"),
            format!("--healthz-port={}", healthz.port()),
        ];
        let daemon = Daemon::start(options).map_err(failed)?;
        Ok(Self { api, runtime, daemon, healthz, port, stop, servers, folder })
    }

    /// Waits for something, and tells what the daemon said if it doesn't come.
    async fn until<T>(&self, what: &str, mut look: impl FnMut(&Self) -> Option<T>) -> Result<T, Failed> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            if let Some(found) = look(self) {
                return Ok(found);
            }
            if Instant::now() >= deadline {
                let pods = serde_json::to_string(&self.api.list::<Pod>())?;
                let counts = self.api.counts();
                return Err(Failed::from(format!(
                    "never: {what}\npods: {pods}\nrequests: {counts:?}\nthe daemon's log:\n{}",
                    self.daemon.log()
                )));
            }
            sleep(POLL_INTERVAL).await;
        }
    }

    fn pod(&self, name: &str) -> Option<Pod> {
        self.api.get("default", name)
    }

    /// A pod that is bound to the node.
    fn create(&self, name: &str) -> Result<(), Failed> {
        let pod: Pod = serde_json::from_value(json!({
            "apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": name, "namespace": "default"},
            "spec": {
                "nodeName": NODE,
                "automountServiceAccountToken": false,
                "enableServiceLinks": false,
                "terminationGracePeriodSeconds": 1,
                "containers": [{"name": "main", "image": "registry.example.com/app:1.0"}],
            },
        }))?;
        self.api.create(&pod).map(drop).map_err(|error| Failed::from(format!("{error:?}")))
    }

    async fn ready(&self, name: &str) -> Result<(), Failed> {
        self.until(&format!("{name} is ready"), |cluster| is_true(&cluster.pod(name)?, "Ready").then_some(()))
            .await
    }

    /// Who may use the node's endpoints is whom the API server lets.
    async fn asks_who_may(&self) -> Result<(), Failed> {
        let masters = Identity::new("kube-apiserver-kubelet-client", &["system:masters"]);
        let nobody = Identity::new("somebody", &["somewhere"]);
        for (who, expected) in [(masters, true), (nobody, false)] {
            let issued = self.api.client_certificate(&who, SignedDuration::from_hours(1))?;
            let answer = self.node_client(&issued).await?.request_text(get_pods()).await;
            let answers = answer.as_ref().is_ok_and(|pods| pods.contains("\"name\":\"web\""));
            if answers != expected {
                return Err(format!("the node's endpoint tells {}: {answer:?}", who.user).into());
            }
        }
        match self.api.count("create subjectaccessreviews") {
            0 => Err("nobody was asked who may".into()),
            _ => Ok(()),
        }
    }

    /// A client of the node's own endpoint.
    async fn node_client(&self, issued: &witlet_api_server::Issued) -> Result<kube::Client, Failed> {
        let config = json!({
            "apiVersion": "v1", "kind": "Config", "current-context": "node",
            "clusters": [{"name": "node", "cluster": {
                "server": format!("https://127.0.0.1:{}", self.port), "insecure-skip-tls-verify": true,
            }}],
            "users": [{"name": "node", "user": {
                "client-certificate-data": STANDARD.encode(&issued.certificate_pem),
                "client-key-data": STANDARD.encode(&issued.key_pem),
            }}],
            "contexts": [{"name": "node", "context": {"cluster": "node", "user": "node"}}],
        });
        let config = serde_json::from_value(config)?;
        let config = kube::Config::from_custom_kubeconfig(config, &KubeConfigOptions::default()).await?;
        Ok(kube::Client::try_from(config)?)
    }

    async fn end(mut self) -> Result<(), Failed> {
        let ended = self.daemon.stop().await.map_err(failed);
        self.stop.cancel();
        while self.servers.join_next().await.is_some() {}
        self.runtime.end(&self.folder.path().join("cri.sock")).await?;
        ended
    }
}

/// An address of the loopback that nobody listens on.
async fn free_address() -> Result<std::net::SocketAddr, Failed> {
    Ok(TcpListener::bind("127.0.0.1:0").await?.local_addr()?)
}

fn get_pods() -> http::Request<Vec<u8>> {
    http::Request::get("/pods").body(Vec::new()).expect("it is a request")
}

/// Whether a condition of a pod holds.
fn is_true(pod: &Pod, name: &str) -> bool {
    let conditions = pod.status.as_ref().and_then(|status| status.conditions.as_deref()).unwrap_or_default();
    conditions.iter().any(|condition| condition.type_ == name && condition.status == "True")
}

/// When its container began to run.
fn began(pod: &Pod) -> Option<Time> {
    let status = pod.status.as_ref()?.container_statuses.as_ref()?.first()?;
    status.state.as_ref()?.running.as_ref()?.started_at.clone()
}

/// Whether a node says that it is ready.
fn is_ready(node: &Node) -> bool {
    let conditions = node.status.as_ref().and_then(|status| status.conditions.as_deref()).unwrap_or_default();
    conditions.iter().any(|condition| condition.type_ == "Ready" && condition.status == "True")
}

/// The answer to a plain GET, head and all.
async fn get(address: std::net::SocketAddr, path: &str) -> Result<String, Failed> {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    let mut stream = tokio::net::TcpStream::connect(address).await?;
    stream
        .write_all(format!("GET {path} HTTP/1.1\r\nHost: node\r\nConnection: close\r\n\r\n").as_bytes())
        .await?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await?;
    Ok(answer)
}

/// A pod that is bound to the node runs and is told of; one that is deleted goes, and its object with it.
pub(crate) async fn pods_come_and_go() -> Result<(), Failed> {
    let cluster = Cluster::start().await?;
    let node = cluster
        .until("the node is registered and ready", |c| c.api.get::<Node>("", NODE).filter(is_ready))
        .await?;
    let info = node.status.and_then(|status| status.node_info).unwrap_or_default();
    if !info.kubelet_version.starts_with("v1.36.0") {
        return Err(format!("tools compare the version {:?}", info.kubelet_version).into());
    }
    cluster.until("it has its lease", |c| c.api.get::<Lease>("kube-node-lease", NODE)).await?;
    let healthz = get(cluster.healthz, "/healthz").await?;
    if !healthz.starts_with("HTTP/1.1 200") || !healthz.ends_with("ok") {
        return Err(format!("/healthz answers {healthz}").into());
    }
    cluster.create("web")?;
    cluster.ready("web").await?;
    cluster
        .until("its start was told", |c| {
            let events = c.api.list::<Event>();
            events
                .iter()
                .any(|event| {
                    event.reason.as_deref() == Some("Started")
                        && event.involved_object.name.as_deref() == Some("web")
                })
                .then_some(())
        })
        .await?;
    if cluster.runtime.cri.running() != 1 {
        return Err(format!("{} containers run", cluster.runtime.cri.running()).into());
    }
    cluster.asks_who_may().await?;
    let gets = cluster.api.count("get pods");
    if gets != 0 {
        return Err(format!("statuses cost {gets} reads").into());
    }
    cluster.api.delete::<Pod>("default", "web", None).map_err(|error| Failed::from(format!("{error:?}")))?;
    cluster.until("its object is gone", |c| c.pod("web").is_none().then_some(())).await?;
    cluster.until("so is its sandbox", |c| (c.runtime.cri.sandboxes() == 0).then_some(())).await?;
    cluster.end().await
}

/// The machine restarts while nobody serves the API: the pods of the last set run again, and are told of when it is back.
pub(crate) async fn pods_run_again_without_it() -> Result<(), Failed> {
    let mut cluster = Cluster::start().await?;
    cluster.create("web")?;
    cluster.ready("web").await?;
    let before = cluster.pod("web").as_ref().and_then(began);
    let saved = cluster.folder.path().join("agent/state").join(SAVED_PODS);
    cluster
        .until("the last set is on disk", |_| {
            let text = std::fs::read_to_string(&saved).ok()?;
            text.contains("\"web\"").then_some(())
        })
        .await?;
    cluster.daemon.kill().map_err(failed)?;
    let socket = cluster.folder.path().join("cri.sock");
    cluster.runtime.end(&socket).await?;
    cluster.api.down();
    cluster.runtime = Runtime::start(socket);
    cluster.daemon.launch().map_err(failed)?;
    cluster
        .until("it runs again, on its last word", |c| (c.runtime.cri.running() == 1).then_some(()))
        .await?;
    cluster.api.up();
    cluster
        .until("its new container is told", |c| {
            let pod = c.pod("web")?;
            let began = began(&pod)?;
            (Some(&began) != before.as_ref() && is_true(&pod, "Ready")).then_some(())
        })
        .await?;
    cluster.create("late")?;
    cluster.ready("late").await?;
    cluster.end().await
}
