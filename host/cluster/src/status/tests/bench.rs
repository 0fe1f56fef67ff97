//! A manager, an API server, and a watch that brings what a test says when the test says so.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1::{Container, Node, Pod, PodCondition, PodIP, PodSpec, PodStatus};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use witlet_api_server::{ApiServer, Identity, Options};
use witlet_core::pod::static_pod::{CONFIG_HASH, CONFIG_SOURCE, is_mirror};
use witlet_core::pod::{PodFullName, PodUid};
use witlet_core::sources::SourceUpdate;
use witlet_ports::{Clock, PodReport, StatusSink};
use witlet_testkit::{FixedJitter, ManualClock};

use crate::pods::{KnownPods, Mirrors};
use crate::status::StatusManager;

/// How far a pod has come.
#[derive(Clone, Copy)]
pub(crate) struct Flags {
    may_run: bool,
    is_finished: bool,
    is_ending: bool,
}

impl Flags {
    pub(crate) const RUNS: Self = Self { may_run: true, is_finished: false, is_ending: false };
    pub(crate) const ENDS: Self = Self { may_run: true, is_finished: false, is_ending: true };
    pub(crate) const STOPPED: Self = Self { may_run: false, is_finished: false, is_ending: true };
    pub(crate) const FINISHED: Self = Self { may_run: false, is_finished: true, is_ending: true };
}

/// A status with this phase; one that runs is ready and has an address.
pub(crate) fn status(phase: &str) -> PodStatus {
    let ready = if phase == "Running" { "True" } else { "False" };
    let condition =
        PodCondition { type_: "Ready".to_owned(), status: ready.to_owned(), ..PodCondition::default() };
    PodStatus {
        phase: Some(phase.to_owned()),
        conditions: Some(vec![condition]),
        pod_ip: (phase != "Pending").then(|| "192.0.2.7".to_owned()),
        pod_ips: (phase != "Pending").then(|| vec![PodIP { ip: "192.0.2.7".to_owned() }]),
        ..PodStatus::default()
    }
}

pub(crate) struct Bench {
    pub(crate) server: Arc<ApiServer>,
    pub(crate) clock: Arc<ManualClock>,
    pub(crate) known: Arc<KnownPods>,
    pub(crate) mirrors: watch::Sender<Mirrors>,
    pub(crate) node: watch::Sender<Option<Arc<Node>>>,
    pub(crate) manager: Arc<StatusManager>,
    stop: CancellationToken,
    running: JoinSet<()>,
}

/// A list brought these pods.
pub(crate) fn listed(pods: impl IntoIterator<Item = Arc<Pod>>) -> SourceUpdate {
    SourceUpdate::Replaced { pods: pods.into_iter().collect(), incomplete: None }
}

impl Bench {
    pub(crate) fn new() -> Self {
        let clock = Arc::new(ManualClock::new());
        let at_server = clock.clone();
        let server = ApiServer::new(Options::new(Arc::new(move || at_server.now())));
        let metadata = ObjectMeta { name: Some("node1".to_owned()), ..ObjectMeta::default() };
        let node = server.create(&Node { metadata, ..Node::default() }).unwrap();
        let node = watch::Sender::new(Some(Arc::new(node)));
        let (known, mirrors) = (Arc::new(KnownPods::default()), watch::Sender::new(Mirrors::default()));
        known.take(&listed([]));
        let manager = manager(&server, &clock, &known, &mirrors, &node);
        let (stop, running) = (CancellationToken::new(), JoinSet::new());
        let mut bench = Self { server, clock, known, mirrors, node, manager, stop, running };
        bench.running.spawn(bench.manager.clone().run(bench.stop.clone()));
        bench
    }

    /// The agent dies, whatever it was doing, and another one begins that knows nothing.
    pub(crate) async fn restart(&mut self) {
        self.running.shutdown().await;
        self.manager = manager(&self.server, &self.clock, &self.known, &self.mirrors, &self.node);
        self.running.spawn(self.manager.clone().run(self.stop.clone()));
    }

    /// The manager is asked to end, and does.
    pub(crate) async fn end(&mut self) {
        self.stop.cancel();
        while self.running.join_next().await.is_some() {}
    }

    /// A pod that is bound to this node, as the watch brings it.
    pub(crate) fn pod(&self, name: &str) -> Arc<Pod> {
        self.server.create(&manifest(name)).unwrap();
        self.watch(name)
    }

    /// A static pod; the API server doesn't know it.
    pub(crate) fn static_pod(&self, name: &str, hash: &str) -> Arc<Pod> {
        let mut pod = manifest(name);
        pod.metadata.uid = Some(hash.to_owned());
        let annotations = [(CONFIG_HASH, hash), (CONFIG_SOURCE, "file")];
        let annotations = annotations.map(|(key, value)| (key.to_owned(), value.to_owned()));
        pod.metadata.annotations = Some(BTreeMap::from(annotations));
        Arc::new(pod)
    }

    /// The watch brings all pods as they are now.
    pub(crate) fn watch_all(&self) {
        let pods: Vec<Arc<Pod>> = self.server.list::<Pod>().into_iter().map(Arc::new).collect();
        let mirrors = pods.iter().filter(|pod| is_mirror(pod));
        let mirrors: Mirrors = Arc::new(mirrors.map(|pod| (PodFullName::of(pod), pod.clone())).collect());
        self.known.take(&listed(pods));
        self.mirrors.send_replace(mirrors);
    }

    /// The watch brings one pod as it is now.
    pub(crate) fn watch(&self, name: &str) -> Arc<Pod> {
        let pod = Arc::new(self.at_server(name));
        self.known.take(&SourceUpdate::Put(pod.clone()));
        pod
    }

    pub(crate) fn at_server(&self, name: &str) -> Pod {
        self.server.get("default", name).unwrap()
    }

    pub(crate) fn report(&self, pod: &Arc<Pod>, status: Option<PodStatus>, flags: Flags) {
        let Flags { may_run, is_finished, is_ending } = flags;
        let status = status.map(Arc::new);
        self.manager.report(PodReport { pod: pod.clone(), status, may_run, is_finished, is_ending });
    }

    pub(crate) fn forget(&self, pod: &Pod) {
        self.manager.forget(&PodUid::of(pod));
    }

    /// So many seconds go by.
    pub(crate) async fn pass(&self, seconds: u64) {
        tokio::time::sleep(Duration::from_secs(seconds)).await;
    }

    /// The phase that the server has, or `gone`.
    pub(crate) fn shown(&self, name: &str) -> String {
        let pod: Option<Pod> = self.server.get("default", name);
        pod.map_or_else(|| "gone".to_owned(), |pod| pod.status.unwrap().phase.unwrap())
    }

    /// What was asked of the server: action, name, and the phase of a patch if it has one.
    pub(crate) fn requests(&self) -> Vec<String> {
        let requests = self.server.requests().into_iter().map(|request| {
            let phase = request.json()["status"]["phase"].as_str().map(|phase| format!(": {phase}"));
            let phase = phase.filter(|_| request.verb == "patch").unwrap_or_default();
            format!("{} {}{phase}", request.action(), request.name)
        });
        requests.collect()
    }
}

fn manager(
    server: &Arc<ApiServer>,
    clock: &Arc<ManualClock>,
    known: &Arc<KnownPods>,
    mirrors: &watch::Sender<Mirrors>,
    node: &watch::Sender<Option<Arc<Node>>>,
) -> Arc<StatusManager> {
    let (client, jitter) = (server.client(&Identity::admin()), Arc::new(FixedJitter::default()));
    let (mirrors, node) = (mirrors.subscribe(), node.subscribe());
    StatusManager::new(client, known.clone(), mirrors, node, clock.clone(), jitter)
}

fn manifest(name: &str) -> Pod {
    let container = Container {
        name: "main".to_owned(),
        image: Some("example.com/main:1".to_owned()),
        ..Container::default()
    };
    Pod {
        metadata: ObjectMeta {
            name: Some(name.to_owned()),
            namespace: Some("default".to_owned()),
            ..ObjectMeta::default()
        },
        spec: Some(PodSpec {
            containers: vec![container],
            node_name: Some("node1".to_owned()),
            ..PodSpec::default()
        }),
        status: None,
    }
}
