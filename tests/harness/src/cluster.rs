//! A cluster of one node: an API server on a socket, the road to it, a runtime that answers at once, and the real daemon.

mod kubelet;
mod road;

use std::future::ready;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU16, AtomicU64, Ordering};
use std::time::Duration;

use crate::{Daemon, DaemonOptions, TestClock, WAIT_TIMEOUT, poll_until, report};
use jiff::SignedDuration;
use k8s_openapi::api::core::v1::{Event, Node, Pod};
use libtest_mimic::Failed;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use witlet_api_server::{Admission, ApiError, ApiServer, Identity, Issued, Options, Security};
use witlet_fake_cri::FakeCri;
use witlet_ports::Clock as _;

pub use road::{Road, Traffic};

/// The node.
pub const NODE: &str = "node1";
/// The node's bearer token.
pub const TOKEN: &str = "token-of-node1";
/// How many lines of the daemon's log are shown when something was waited for in vain.
const LOG_LINES_SHOWN: usize = 60;

/// The node's address, on the loopback link of containerd's network.
pub const ADDRESS: &str = "198.51.100.7";
/// Between two tries to reach what listens soon.
pub const AGAIN: Duration = Duration::from_millis(100);

/// A runtime that answers at once.
pub struct Runtime {
    pub cri: FakeCri,
    stop: CancellationToken,
    servers: JoinSet<()>,
}

impl Runtime {
    pub fn start(socket: PathBuf) -> Self {
        let (cri, stop, mut servers) = (FakeCri::default(), CancellationToken::new(), JoinSet::new());
        let (serving, until) = (cri.clone(), stop.clone());
        servers.spawn(
            async move { serving.serve(&socket, until).await.expect("it serves until it is stopped") },
        );
        Self { cri, stop, servers }
    }

    /// The machine goes down, and everything in it.
    pub async fn end(&mut self, socket: &Path) -> Result<(), Failed> {
        self.stop.cancel();
        while self.servers.join_next().await.is_some() {}
        if socket.exists() {
            std::fs::remove_file(socket)?;
        }
        Ok(())
    }
}

pub fn failed(error: impl std::error::Error) -> Failed {
    Failed::from(report(&error))
}

/// An answer of the API server to what a test does itself.
pub fn refused(error: ApiError) -> Failed {
    Failed::from(format!("{error:?}"))
}

/// What a cluster is made of, before a daemon runs in it.
pub struct Ground {
    pub api: Arc<ApiServer>,
    pub runtime: Runtime,
    /// Of the runtime, this one or another.
    pub endpoint: String,
    pub road: Road,
    pub folder: tempfile::TempDir,
    stop: CancellationToken,
    servers: JoinSet<()>,
}

impl Ground {
    /// An API server with these rules, and a runtime that answers at once.
    pub async fn new(admission: Admission) -> Result<Self, Failed> {
        // Short: socket paths have at most 107 bytes.
        let folder = tempfile::Builder::new().prefix("wtl").tempdir_in("/tmp")?;
        // UIDs of its own: a runtime may still have pods of the test before.
        static SEED: AtomicU64 = AtomicU64::new(0);
        let seed = SEED.fetch_add(1, Ordering::Relaxed);
        let options = Options { admission, seed, ..Options::new(Arc::new(|| TestClock.now())) };
        let api = ApiServer::new(options);
        api.add_token(TOKEN, Identity::node(NODE));
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let road = Road::new(free_address().await?, listener.local_addr()?);
        let (stop, mut servers) = (CancellationToken::new(), JoinSet::new());
        let serving = api.clone().serve(listener, Security::Tls, stop.clone());
        servers.spawn(async move { serving.await.expect("it serves until it is stopped") });
        std::fs::write(folder.path().join("ca.crt"), api.ca_pem())?;
        let runtime = Runtime::start(folder.path().join("cri.sock"));
        let endpoint = format!("unix://{}", folder.path().join("cri.sock").display());
        Ok(Self { api, runtime, endpoint, road, folder, stop, servers })
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Writes a kubeconfig with this user.
    pub fn kubeconfig(&self, name: &str, user: &Value) -> Result<PathBuf, Failed> {
        let path = self.path(name);
        std::fs::write(&path, self.api.kubeconfig(&format!("https://{}", self.road.address), user))?;
        Ok(path)
    }

    /// The same over another runtime.
    pub async fn on(admission: Admission, endpoint: String) -> Result<Self, Failed> {
        Ok(Self { endpoint, ..Self::new(admission).await? })
    }

    async fn end(mut self) -> Result<(), Failed> {
        self.stop.cancel();
        while self.servers.join_next().await.is_some() {}
        let socket = self.path("cri.sock");
        self.runtime.end(&socket).await
    }
}

/// A cluster of one node.
pub struct Cluster {
    // The first: it is ended before its folder is removed.
    pub daemon: Daemon,
    pub ground: Ground,
    /// Where `/healthz` answers.
    pub healthz: SocketAddr,
    /// Where the node's endpoints do.
    pub server: SocketAddr,
}

impl Cluster {
    /// A node with a token, under upstream's rules for nodes.
    pub async fn start() -> Result<Self, Failed> {
        let ground = Ground::new(Admission { node_rules: true, ..Admission::default() }).await?;
        Self::start_with_token(ground, Ipv4Addr::LOCALHOST, Vec::new()).await
    }

    /// The same on other ground.
    pub async fn start_with_token(
        ground: Ground,
        listens_on: Ipv4Addr,
        mut more: Vec<String>,
    ) -> Result<Self, Failed> {
        let kubeconfig = ground.kubeconfig("kubelet.conf", &json!({ "token": TOKEN }))?;
        more.push(format!("--kubeconfig={}", kubeconfig.display()));
        Self::start_on(ground, listens_on, more).await
    }

    /// `witlet run` with these arguments in addition to those that say where everything is.
    pub async fn start_on(ground: Ground, listens_on: Ipv4Addr, more: Vec<String>) -> Result<Self, Failed> {
        let (healthz, server) = (free_address().await?, free_address().await?);
        let folder = ground.folder.path();
        let mut options =
            DaemonOptions::below(folder, crate::program::witlet().map_err(failed)?, &*ground.endpoint);
        options.arguments = more;
        options.arguments.extend([
            format!("--client-ca-file={}", ground.path("ca.crt").display()),
            format!("--address={listens_on}"),
            format!("--port={}", server.port()),
            format!("--healthz-port={}", healthz.port()),
        ]);
        if crate::asks_for_systemd() {
            // Older runtimes don't say so themselves.
            options.arguments.push("--cgroup-driver=systemd".to_owned());
        }
        Self::launch(ground, options, [healthz, server]).await
    }

    /// Any command line. Returns once the daemon runs.
    pub async fn launch(
        ground: Ground,
        options: DaemonOptions,
        [healthz, server]: [SocketAddr; 2],
    ) -> Result<Self, Failed> {
        let daemon = Daemon::start(options).map_err(failed)?;
        let cluster = Self { daemon, ground, healthz, server };
        let started = poll_until(WAIT_TIMEOUT, || {
            let log = cluster.daemon.log();
            // What both say, this agent and a kubelet.
            let runs = ["Started witlet", "Started kubelet"].iter().any(|said| log.contains(said));
            let failed = log.lines().any(|line| line.starts_with("error: "));
            ready((runs || failed).then_some(runs))
        });
        if started.await == Some(true) { Ok(cluster) } else { Err(cluster.failure("the daemon doesn't run")) }
    }

    pub fn api(&self) -> &ApiServer {
        &self.ground.api
    }

    pub fn cri(&self) -> &FakeCri {
        &self.ground.runtime.cri
    }

    /// Waits for something, and tells what the daemon said if it doesn't come.
    pub async fn until<T>(&self, what: &str, mut check: impl FnMut(&Self) -> Option<T>) -> Result<T, Failed> {
        let found = poll_until(WAIT_TIMEOUT, || ready(check(self))).await;
        found.ok_or_else(|| self.failure(&format!("never: {what}")))
    }

    /// Waits until nothing is left that `check` misses; what it misses is reported.
    pub async fn until_nothing_is_missing(
        &self,
        what: &str,
        mut check: impl FnMut(&Self) -> Vec<String>,
    ) -> Result<(), Failed> {
        let mut missing = Vec::new();
        let none = self.until(what, |cluster| {
            missing = check(cluster);
            missing.is_empty().then_some(())
        });
        let none = none.await;
        none.map_err(|error| {
            Failed::from(format!("missing: {missing:#?}\n{}", error.message().unwrap_or_default()))
        })
    }

    /// A failure with all that helps to understand it.
    pub fn failure(&self, what: &str) -> Failed {
        let pods: Vec<String> = self.api().list::<Pod>().iter().map(summary).collect();
        let log = self.daemon.log();
        let lines: Vec<&str> = log.lines().collect();
        let tail = lines[lines.len().saturating_sub(LOG_LINES_SHOWN)..].join("\n");
        let (pods, counts) = (pods.join("\n"), self.api().counts());
        Failed::from(format!("{what}\npods:\n{pods}\nrequests: {counts:?}\nthe daemon's log:\n{tail}"))
    }

    pub fn pod(&self, name: &str) -> Option<Pod> {
        self.api().get("default", name)
    }

    /// A pod that is bound to the node.
    pub fn create(&self, name: &str) -> Result<Pod, Failed> {
        self.create_with(name, "Always")
    }

    /// The same with a restart policy.
    pub fn create_with(&self, name: &str, policy: &str) -> Result<Pod, Failed> {
        let pod: Pod = serde_json::from_value(json!({
            "apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": name, "namespace": "default"},
            "spec": {
                "nodeName": NODE,
                "automountServiceAccountToken": false,
                "enableServiceLinks": false,
                "restartPolicy": policy,
                "terminationGracePeriodSeconds": 1,
                "containers": [{"name": "main", "image": "registry.example.com/app:1.0"}],
            },
        }))?;
        self.api().create(&pod).map_err(refused)
    }

    pub fn delete(&self, name: &str, grace: Option<i64>) -> Result<(), Failed> {
        self.api().delete::<Pod>("default", name, grace).map_err(refused)
    }

    pub async fn ready(&self, name: &str) -> Result<Pod, Failed> {
        self.until(&format!("{name} is ready"), |cluster| {
            cluster.pod(name).filter(|pod| is_true(pod, "Ready"))
        })
        .await
    }

    /// The node's object, once it is ready.
    pub async fn node_ready(&self) -> Result<Node, Failed> {
        self.until("the node is registered and ready", |c| c.api().get::<Node>("", NODE).filter(is_ready))
            .await
    }

    /// How often an event was recorded for this object, all its objects together.
    pub fn event_count(&self, object: &str, reason: &str) -> usize {
        let events = self.api().list::<Event>();
        let reported = events.iter().filter(|event| {
            event.reason.as_deref() == Some(reason) && event.involved_object.name.as_deref() == Some(object)
        });
        reported.map(|event| usize::try_from(event.count.unwrap_or(1)).unwrap_or_default()).sum()
    }

    /// A client of the node's own endpoint.
    pub async fn node_client(&self, issued: &Issued) -> Result<kube::Client, Failed> {
        use base64::Engine as _;
        use base64::engine::general_purpose::STANDARD;
        let config = json!({
            "apiVersion": "v1", "kind": "Config", "current-context": "node",
            "clusters": [{"name": "node", "cluster": {
                "server": format!("https://{}", self.server), "insecure-skip-tls-verify": true,
            }}],
            "users": [{"name": "node", "user": {
                "client-certificate-data": STANDARD.encode(&issued.certificate_pem),
                "client-key-data": STANDARD.encode(&issued.key_pem),
            }}],
            "contexts": [{"name": "node", "context": {"cluster": "node", "user": "node"}}],
        });
        let options = kube::config::KubeConfigOptions::default();
        let config = kube::Config::from_custom_kubeconfig(serde_json::from_value(config)?, &options).await?;
        Ok(kube::Client::try_from(config)?)
    }

    /// Who may use the node's endpoints is whom the API server lets.
    pub async fn asks_who_may(&self, pod: &str) -> Result<(), Failed> {
        let masters = Identity::new("kube-apiserver-kubelet-client", &["system:masters"]);
        let unprivileged = Identity::new("alice", &["somewhere"]);
        for (who, expected) in [(masters, true), (unprivileged, false)] {
            let issued = self.api().client_certificate(&who, SignedDuration::from_hours(1))?;
            let request = http::Request::get("/pods").body(Vec::new())?;
            let answer = self.node_client(&issued).await?.request_text(request).await;
            let named = format!("\"name\":\"{pod}\"");
            if answer.as_ref().is_ok_and(|pods| pods.contains(&named)) != expected {
                return Err(format!("the node's endpoint tells {}: {answer:?}", who.user).into());
            }
        }
        match self.api().count("create subjectaccessreviews") {
            0 => Err("no one was asked who may".into()),
            _ => Ok(()),
        }
    }

    /// Ends everything; the daemon must end well.
    pub async fn end(mut self) -> Result<(), Failed> {
        let ended = self.daemon.stop().await.map_err(failed);
        self.ground.end().await?;
        ended
    }
}

/// The first port that may be asked for, and how many follow: below those that the kernel hands out, so that no one's
/// connection takes one between two starts of the daemon.
const PORTS: (u16, u16) = (20_000, 12_000);

/// An address of the loopback that nothing listens on, another one each time.
pub async fn free_address() -> Result<SocketAddr, Failed> {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    let (first, all) = PORTS;
    // Other processes begin elsewhere, and stay apart: their ids are often next to each other.
    let begin = u16::try_from(std::process::id() % 120 * 100).unwrap_or_default();
    for _ in 0..all {
        let step = (begin + NEXT.fetch_add(1, Ordering::Relaxed) % all) % all;
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, first + step));
        if TcpListener::bind(address).await.is_ok() {
            return Ok(address);
        }
    }
    Err("no port is free".into())
}

/// Whether a condition of a pod holds.
pub fn is_true(pod: &Pod, name: &str) -> bool {
    let conditions = pod.status.as_ref().and_then(|status| status.conditions.as_deref()).unwrap_or_default();
    conditions.iter().any(|condition| condition.type_ == name && condition.status == "True")
}

/// Whether a node says that it is ready.
pub fn is_ready(node: &Node) -> bool {
    let conditions = node.status.as_ref().and_then(|status| status.conditions.as_deref()).unwrap_or_default();
    conditions.iter().any(|condition| condition.type_ == "Ready" && condition.status == "True")
}

/// The pod's phase; empty while there is none.
pub fn phase(pod: &Pod) -> &str {
    pod.status.as_ref().and_then(|status| status.phase.as_deref()).unwrap_or_default()
}

/// The id of its only container, and how often that was restarted.
pub fn container(pod: &Pod) -> Option<(String, i32)> {
    let status = pod.status.as_ref()?.container_statuses.as_ref()?.first()?;
    Some((status.container_id.clone()?, status.restart_count))
}

/// With which code its only container ended.
pub fn exit_code(pod: &Pod) -> Option<i32> {
    let status = pod.status.as_ref()?.container_statuses.as_ref()?.first()?;
    Some(status.state.as_ref()?.terminated.as_ref()?.exit_code)
}

/// A pod in a line.
fn summary(pod: &Pod) -> String {
    let (name, uid) = (pod.metadata.name.as_deref(), pod.metadata.uid.as_deref());
    let leaves = if pod.metadata.deletion_timestamp.is_some() { " is being deleted" } else { "" };
    let (name, uid, phase) = (name.unwrap_or_default(), uid.unwrap_or_default(), phase(pod));
    let (ready, container, code) = (is_true(pod, "Ready"), container(pod), exit_code(pod));
    format!("{name} {uid} {phase} ready {ready} {container:?} exit {code:?}{leaves}")
}

/// The answer to a plain GET, head and all.
pub async fn get(address: SocketAddr, path: &str) -> Result<String, Failed> {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    let mut stream = tokio::net::TcpStream::connect(address).await?;
    stream
        .write_all(format!("GET {path} HTTP/1.1\r\nHost: node\r\nConnection: close\r\n\r\n").as_bytes())
        .await?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await?;
    Ok(answer)
}

/// Adds the node's address to the network that this thread is in, or takes it away.
pub fn address(action: &str) -> Result<(), Failed> {
    let done = std::process::Command::new("ip")
        .args(["address", action, &format!("{ADDRESS}/32"), "dev", "lo"])
        .output()?;
    let said = String::from_utf8_lossy(&done.stderr).into_owned();
    if done.status.success() { Ok(()) } else { Err(format!("ip address {action}: {said}").into()) }
}
