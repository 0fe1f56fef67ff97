//! Density as a node of a cluster: many pods created at once in an API server, left alone, and deleted at once.
//!
//! The API server and the runtime are in this process, the daemon is another one, so that its figures are its own.

mod objects;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures::StreamExt as _;
use k8s_openapi::api::core::v1::{Node, Pod};
use kube::api::{Api, WatchEvent, WatchParams};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use witlet_api_server::{Admission, ApiServer, Identity, Options, Security};
use witlet_fake_cri::FakeCri;
use witlet_node::SystemClock;
use witlet_ports::Clock as _;

use crate::daemon::{Daemon, START_DEADLINE};
use crate::{IDLE_WINDOW, SETTLE, percentile, rounded, say};

/// The node.
const NODE: &str = "bench";
/// The node's bearer token.
const TOKEN: &str = "token-of-the-node";
/// Events are reported once none came for so long.
const EVENTS_QUIET: Duration = Duration::from_secs(3);
/// Between two checks of what is waited for.
const POLL_INTERVAL: Duration = Duration::from_millis(5);

/// When each pod was seen ready, and gone, in seconds since the measured moment.
#[derive(Default)]
struct WatchProgress {
    begun: Option<Instant>,
    ready: BTreeMap<String, f64>,
    gone: BTreeMap<String, f64>,
}

/// Requests in a second that the daemon allows itself, and how many may come at once.
struct Rate {
    /// As the flag has it; none is the daemon's own default, 0 is no limit.
    per_second: Option<u32>,
}

impl Rate {
    /// `DENSITY_QPS`: a number, or `default`. The figures are of what the daemon can do, so that it is no limit unless asked for.
    fn from_arguments() -> Self {
        let per_second = match std::env::var("DENSITY_QPS") {
            Ok(text) if text == "default" => None,
            Ok(text) => Some(text.parse().expect("DENSITY_QPS is a number or `default`")),
            Err(_) => Some(0),
        };
        Self { per_second }
    }

    fn flag(&self) -> Option<String> {
        self.per_second.map(|per_second| format!("--kube-api-qps={per_second}"))
    }

    fn shown(&self) -> Value {
        self.per_second.map_or_else(|| "default".into(), Value::from)
    }
}

/// What is measured. The API server and the runtime end with it.
struct Bench {
    api: Arc<ApiServer>,
    cri: FakeCri,
    daemon: Daemon,
    seen: Arc<Mutex<WatchProgress>>,
    rate: Rate,
    stop: CancellationToken,
    servers: JoinSet<()>,
    /// The folder of all of them.
    _home: tempfile::TempDir,
}

/// Measures with so many pods; the figures as JSON.
pub(crate) async fn measure(pods: usize, arguments: Vec<String>) -> Value {
    let bench = Bench::start(arguments).await;
    let figures = bench.run(pods).await;
    bench.end().await;
    figures
}

/// Measures with so many config maps and secrets in use.
pub(crate) async fn measure_objects(count: usize, arguments: Vec<String>) -> Value {
    let bench = Bench::start(arguments).await;
    let figures = objects::run(&bench, count).await;
    bench.end().await;
    figures
}

impl Bench {
    async fn start(mut arguments: Vec<String>) -> Self {
        let home = tempfile::tempdir().expect("a temporary folder");
        let (cri, stop, mut servers) = (FakeCri::default(), CancellationToken::new(), JoinSet::new());
        let mut options = Options::new(Arc::new(|| SystemClock.now()));
        options.admission = Admission { service_accounts: true, node_rules: true, ..Admission::default() };
        let api = ApiServer::new(options);
        api.add_token(TOKEN, Identity::node(NODE));
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = format!("https://{}", listener.local_addr().expect("it is bound"));
        let kubeconfig = home.path().join("kubelet.conf");
        std::fs::write(&kubeconfig, api.kubeconfig(&address, &json!({ "token": TOKEN }))).expect("a file");
        let (serving, until) = (api.clone().serve(listener, Security::Tls, stop.clone()), stop.clone());
        servers.spawn(async move { serving.await.expect("it serves until it is stopped") });
        let (runtime, socket) = (cri.clone(), home.path().join("cri.sock"));
        servers.spawn(
            async move { runtime.serve(&socket, until).await.expect("it serves until it is stopped") },
        );
        std::fs::create_dir_all(home.path().join("pods")).expect("the manifest folder");
        let rate = Rate::from_arguments();
        arguments.extend([
            format!("--kubeconfig={}", kubeconfig.display()),
            "--port=0".to_owned(),
            "--healthz-port=0".to_owned(),
            // As in any cluster: without it each pod has a warning more.
            "--cluster-dns=192.0.2.10".to_owned(),
            "--cluster-domain=cluster.local".to_owned(),
        ]);
        arguments.extend(rate.flag());
        // The first start fills the code cache, as a package's installation does.
        Daemon::start_with(home.path(), &arguments).await.end();
        let daemon = Daemon::start_with(home.path(), &arguments).await;
        let is_ready = || api.get::<Node>("", NODE).is_some_and(|node| is_ready_node(&node));
        until_true("the node is ready", is_ready).await;
        let seen = Arc::<Mutex<WatchProgress>>::default();
        servers.spawn(follow(api.client(&Identity::admin()), seen.clone(), stop.clone()));
        tokio::time::sleep(SETTLE).await;
        Self { api, cri, daemon, seen, rate, stop, servers, _home: home }
    }

    async fn end(mut self) {
        self.daemon.end();
        self.stop.cancel();
        while self.servers.join_next().await.is_some() {}
    }

    /// Waits until the events of what happened are sent, which the daemon does at its own leisure.
    async fn events_are_reported(&self) {
        let events = || self.api.count("create events") + self.api.count("patch events");
        let (mut before, mut since, begun) = (events(), Instant::now(), Instant::now());
        while since.elapsed() < EVENTS_QUIET && begun.elapsed() < START_DEADLINE {
            tokio::time::sleep(POLL_INTERVAL).await;
            let now = events();
            if now != before {
                (before, since) = (now, Instant::now());
            }
        }
    }

    /// Percent of a CPU that the daemon takes while nothing happens.
    async fn idle(&self) -> f64 {
        let cpu = self.daemon.cpu_seconds();
        tokio::time::sleep(IDLE_WINDOW).await;
        (self.daemon.cpu_seconds() - cpu) / IDLE_WINDOW.as_secs_f64() * 100.0
    }

    async fn run(&self, pods: usize) -> Value {
        let daemon = &self.daemon;
        let (rss_before, anonymous_before) = (daemon.resident_mb("VmRSS"), daemon.resident_mb("RssAnon"));
        self.begin();
        let cpu = daemon.cpu_seconds();
        for number in 0..pods {
            self.api.create(&pod(number)).expect("the server takes it");
        }
        until_true("all pods are ready", || self.read(|seen| seen.ready.len() >= pods)).await;
        let start_cpu = daemon.cpu_seconds() - cpu;
        let starts = self.read(|seen| sorted(&seen.ready));
        let counts = self.api.counts();
        say(&format!("{pods} pods were ready after {:.2} s", starts.last().copied().unwrap_or_default()));
        self.events_are_reported().await;
        tokio::time::sleep(SETTLE).await;
        let (rss, threads) = (daemon.resident_mb("VmRSS"), daemon.threads());
        let (rss_heap, idle) = (daemon.resident_mb("RssAnon"), self.idle().await);
        self.begin();
        let cpu = daemon.cpu_seconds();
        for number in 0..pods {
            self.api.delete::<Pod>("default", &name(number), None).expect("it is there");
        }
        until_true("all pods are gone", || self.read(|seen| seen.gone.len() >= pods)).await;
        let delete_cpu = daemon.cpu_seconds() - cpu;
        let ends = self.read(|seen| sorted(&seen.gone));
        say(&format!("nothing was left of them after {:.2} s", ends.last().copied().unwrap_or_default()));
        let deletions = self.api.counts();
        until_true("no sandbox is left", || self.cri.sandboxes() == 0).await;
        tokio::time::sleep(SETTLE).await;
        let each = |counts: &BTreeMap<String, u64>, action: &str| {
            rounded(counts.get(action).copied().unwrap_or_default() as f64 / pods as f64)
        };
        json!({
            "api": true,
            "kube_api_qps": self.rate.shown(),
            "pods": pods,
            "pods_per_s": rounded(pods as f64 / starts.last().copied().unwrap_or(f64::INFINITY)),
            "start_p50_s": percentile(&starts, 50),
            "start_p90_s": percentile(&starts, 90),
            "start_p99_s": percentile(&starts, 99),
            "start_cpu_s": rounded(start_cpu),
            "idle_cpu_pct": rounded(idle),
            "delete_p50_s": percentile(&ends, 50),
            "delete_p99_s": percentile(&ends, 99),
            "delete_cpu_s": rounded(delete_cpu),
            "start_patches_per_pod": each(&counts, "patch pods/status"),
            "start_gets_per_pod": each(&counts, "get pods"),
            "start_events_per_pod": each(&counts, "create events"),
            "start_event_patches_per_pod": each(&counts, "patch events"),
            "start_token_requests_per_pod": each(&counts, "create serviceaccounts/token"),
            "delete_patches_per_pod": each(&deletions, "patch pods/status"),
            "delete_gets_per_pod": each(&deletions, "get pods"),
            "delete_deletes_per_pod": each(&deletions, "delete pods"),
            "delete_events_per_pod": each(&deletions, "create events"),
            "rss_before_mb": rounded(rss_before),
            "rss_anon_before_mb": rounded(anonymous_before),
            "rss_mb": rounded(rss),
            "rss_anon_mb": rounded(rss_heap),
            "rss_after_mb": rounded(daemon.resident_mb("VmRSS")),
            "threads": threads,
        })
    }

    /// Counts from now on.
    fn begin(&self) {
        self.api.clear_requests();
        *self.seen.lock().unwrap_or_else(PoisonError::into_inner) =
            WatchProgress { begun: Some(Instant::now()), ..WatchProgress::default() };
    }

    fn read<T>(&self, read: impl FnOnce(&WatchProgress) -> T) -> T {
        read(&self.seen.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Notes when pods become ready, and when they go.
async fn follow(client: kube::Client, seen: Arc<Mutex<WatchProgress>>, stop: CancellationToken) {
    let api: Api<Pod> = Api::namespaced(client, "default");
    let following = async {
        loop {
            let Ok(watch) = api.watch(&WatchParams::default(), "0").await else { continue };
            let mut watch = std::pin::pin!(watch);
            while let Some(Ok(event)) = watch.next().await {
                let mut seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
                let Some(begun) = seen.begun else { continue };
                let since = begun.elapsed().as_secs_f64();
                match event {
                    WatchEvent::Added(pod) | WatchEvent::Modified(pod) if is_ready(&pod) => {
                        seen.ready.entry(pod.metadata.name.unwrap_or_default()).or_insert(since);
                    }
                    WatchEvent::Deleted(pod) => {
                        seen.gone.entry(pod.metadata.name.unwrap_or_default()).or_insert(since);
                    }
                    _ => {}
                }
            }
        }
    };
    tokio::select! {
        () = following => {}
        () = stop.cancelled() => {}
    }
}

fn is_ready(pod: &Pod) -> bool {
    let conditions = pod.status.as_ref().and_then(|status| status.conditions.as_deref()).unwrap_or_default();
    conditions.iter().any(|condition| condition.type_ == "Ready" && condition.status == "True")
}

fn is_ready_node(node: &Node) -> bool {
    let conditions = node.status.as_ref().and_then(|status| status.conditions.as_deref()).unwrap_or_default();
    conditions.iter().any(|condition| condition.type_ == "Ready" && condition.status == "True")
}

fn sorted(moments: &BTreeMap<String, f64>) -> Vec<f64> {
    let mut all: Vec<f64> = moments.values().copied().collect();
    all.sort_by(f64::total_cmp);
    all
}

async fn until_true(what: &str, holds: impl Fn() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(begun.elapsed() < START_DEADLINE, "never: {what}");
        tokio::time::sleep(POLL_INTERVAL).await;
    }
}

fn name(number: usize) -> String {
    format!("pod-{number}")
}

fn pod(number: usize) -> Pod {
    serde_json::from_value(json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": name(number), "namespace": "default"},
        "spec": {
            "nodeName": NODE,
            "terminationGracePeriodSeconds": 1,
            "containers": [{"name": "main", "image": "registry.example.com/app:1.0"}],
        },
    }))
    .expect("a pod")
}
