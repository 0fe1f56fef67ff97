//! Probe types, statuses and time by script, and a manager among them.

use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::{
    Container, ContainerState, ContainerStateRunning, ContainerStateTerminated, ContainerStatus, ExecAction,
    PodSpec, PodStatus, Probe,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time};
use serde_json::Value;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;
use witlet_core::event::{Event, EventObject};
use witlet_core::probe::{ProbeOutcome, ProbeRequest, ProbeResult};
use witlet_core::runtime::ContainerId;
use witlet_ports::{Clock, EventSink, Jitter, ProbeError, ProbeTypes};

use crate::prober::*;

/// When the tests begin.
pub(in crate::prober) const BEGINNING: i64 = 1_800_000_000;
/// The agent's jitter.
pub(in crate::prober) const UNIT: f64 = 0.5;

/// How a probe goes.
#[derive(Clone, Debug)]
pub(in crate::prober) enum Script {
    Passes,
    Warns,
    Fails,
    Errs,
    NotNow,
    Refuses,
    Unknown,
    Panics,
    /// Passes after this time, whatever the timeout.
    Takes(Duration),
}

pub(in crate::prober) struct World {
    pub(in crate::prober) begun: Instant,
    pub(in crate::prober) scripts: Mutex<HashMap<String, Script>>,
    pub(in crate::prober) statuses: Mutex<HashMap<PodUid, Arc<PodStatus>>>,
    /// Milliseconds and name of each probe.
    pub(in crate::prober) log: Mutex<Vec<(u128, String)>>,
    pub(in crate::prober) running: AtomicUsize,
    pub(in crate::prober) most_running: AtomicUsize,
    pub(in crate::prober) events: Mutex<Vec<Event>>,
    /// The newest request of each name.
    pub(in crate::prober) requests: Mutex<HashMap<String, ProbeRequest>>,
}

impl World {
    pub(in crate::prober) fn script(&self, name: &str, script: Script) {
        self.scripts.lock().unwrap().insert(name.to_owned(), script);
    }

    /// When probes of this name began, in milliseconds.
    pub(in crate::prober) fn times(&self, name: &str) -> Vec<u128> {
        let log = self.log.lock().unwrap();
        log.iter().filter(|(_, probe)| probe == name).map(|(at, _)| *at).collect()
    }

    /// The newest request of this name.
    pub(in crate::prober) fn request(&self, name: &str) -> Option<ProbeRequest> {
        self.requests.lock().unwrap().get(name).cloned()
    }

    pub(in crate::prober) fn set_status(&self, pod: &Pod, status: PodStatus) {
        self.statuses.lock().unwrap().insert(PodUid::of(pod), Arc::new(status));
    }

    /// Where the spec has the containers that events are about.
    pub(in crate::prober) fn reported_of(&self) -> Vec<Option<String>> {
        let path = |event: &Event| match &event.object {
            EventObject::Pod { field_path, .. } => field_path.clone(),
            other => panic!("{other}"),
        };
        self.events.lock().unwrap().iter().map(path).collect()
    }

    pub(in crate::prober) fn events(&self) -> Vec<String> {
        let events = self.events.lock().unwrap();
        events.iter().map(|event| format!("{:?} {}: {}", event.kind, event.reason, event.message)).collect()
    }
}

/// A probe that runs, until it ends or is dropped.
pub(in crate::prober) struct Running<'a>(&'a AtomicUsize);

impl<'a> Running<'a> {
    pub(in crate::prober) fn new(count: &'a AtomicUsize) -> Self {
        count.fetch_add(1, Ordering::Relaxed);
        Self(count)
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

#[async_trait]
impl ProbeTypes for World {
    async fn probe(&self, request: &ProbeRequest) -> Result<ProbeOutcome, ProbeError> {
        let name = name_of(request);
        self.requests.lock().unwrap().insert(name.clone(), request.clone());
        let script = self.scripts.lock().unwrap().get(&name).cloned().unwrap_or(Script::Passes);
        self.log.lock().unwrap().push((self.begun.elapsed().as_millis(), name));
        let running = Running::new(&self.running);
        self.most_running.fetch_max(self.running.load(Ordering::Relaxed), Ordering::Relaxed);
        if let Script::Takes(time) = script {
            sleep(time).await;
        }
        drop(running);
        match script {
            Script::Passes | Script::Takes(_) => Ok(ProbeOutcome::Success("fine".to_owned())),
            Script::Warns => Ok(ProbeOutcome::Warning("moved".to_owned())),
            Script::Fails => Ok(ProbeOutcome::Failure("x".repeat(20_000))),
            Script::Errs => Err(ProbeError::NotCarriedOut { message: "no such container".to_owned() }),
            Script::NotNow => Err(ProbeError::NotNow { message: "it is in quarantine".to_owned() }),
            Script::Refuses => Err(ProbeError::Parameters { words: "no path".to_owned() }),
            Script::Unknown => Err(ProbeError::UnknownType { probe_type: request.probe_type.to_string() }),
            Script::Panics => panic!("a probe type is broken"),
        }
    }
}

/// The name that a script goes by: the command, or the type and its parameters.
fn name_of(request: &ProbeRequest) -> String {
    let parameters: Value = serde_json::from_str(&request.parameters).expect("parameters are JSON");
    match parameters["command"].as_array() {
        Some(words) => words.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" "),
        None => format!("{} {}", request.probe_type, request.parameters),
    }
}

impl PodStatuses for World {
    fn status(&self, uid: &PodUid) -> Option<Arc<PodStatus>> {
        self.statuses.lock().unwrap().get(uid).cloned()
    }
}

impl Clock for World {
    fn now(&self) -> Timestamp {
        let elapsed = SignedDuration::try_from(self.begun.elapsed()).unwrap();
        Timestamp::from_second(BEGINNING).unwrap() + elapsed
    }
}

impl Jitter for World {
    fn unit(&self) -> f64 {
        UNIT
    }
}

impl EventSink for World {
    fn record(&self, event: Event) {
        self.events.lock().unwrap().push(event);
    }
}

pub(in crate::prober) struct Bench {
    pub(in crate::prober) world: Arc<World>,
    pub(in crate::prober) prober: ProberHandle,
    pub(in crate::prober) updates: mpsc::Receiver<ProbeUpdate>,
    pub(in crate::prober) tasks: JoinSet<()>,
    pub(in crate::prober) stop: CancellationToken,
}

impl Bench {
    /// A manager of an agent that began `uptime` ago.
    pub(in crate::prober) async fn new(uptime: Duration) -> Self {
        let world = Arc::new(World {
            begun: Instant::now(),
            scripts: Mutex::default(),
            statuses: Mutex::default(),
            log: Mutex::default(),
            running: AtomicUsize::new(0),
            most_running: AtomicUsize::new(0),
            events: Mutex::default(),
            requests: Mutex::default(),
        });
        let ports = ProberPorts {
            types: world.clone(),
            statuses: world.clone(),
            events: world.clone(),
            clock: world.clone(),
            jitter: world.clone(),
        };
        let prober = ProberHandle::default();
        let (manager, updates) = prober.manager(ports, 20);
        let mut tasks = JoinSet::new();
        let stop = CancellationToken::new();
        tasks.spawn(manager.run(stop.clone()));
        sleep(uptime).await;
        Self { world, prober, updates, tasks, stop }
    }

    /// One that has run for long.
    pub(in crate::prober) async fn settled() -> Self {
        Self::new(Duration::from_secs(1_000)).await
    }

    pub(in crate::prober) fn add(&self, pod: &Pod) {
        self.prober.add_pod(&Arc::new(pod.clone()));
    }

    /// Milliseconds since the agent had run for as long as [`Bench::settled`] says.
    pub(in crate::prober) fn times(&self, name: &str) -> Vec<u128> {
        self.world.times(name).into_iter().map(|at| at - 1_000_000).collect()
    }

    /// All updates so far: instance, kind, result.
    pub(in crate::prober) fn updates(&mut self) -> Vec<(String, ProbeKind, ProbeResult)> {
        let mut updates = Vec::new();
        while let Ok(update) = self.updates.try_recv() {
            updates.push((update.container.to_string(), update.kind, update.result));
        }
        updates
    }

    pub(in crate::prober) fn result(
        &self,
        pod: &Pod,
        instance: &str,
        kind: ProbeKind,
    ) -> Option<ProbeResult> {
        self.prober.results(&PodUid::of(pod)).get(&ContainerId::from(instance))?.get(kind)
    }

    pub(in crate::prober) fn probes(&self) -> usize {
        self.prober.shared.lock().len()
    }

    pub(in crate::prober) async fn end(mut self) {
        self.stop.cancel();
        while let Some(ended) = self.tasks.join_next().await {
            ended.expect("the manager ends well");
        }
    }
}

/// A probe that runs a command of this name each second.
pub(in crate::prober) fn probe(name: &str) -> Option<Probe> {
    Some(Probe {
        exec: Some(ExecAction { command: Some(vec![name.to_owned()]) }),
        period_seconds: Some(1),
        failure_threshold: Some(1),
        ..Probe::default()
    })
}

pub(in crate::prober) fn container(name: &str) -> Container {
    Container { name: name.to_owned(), ..Container::default() }
}

pub(in crate::prober) fn pod(uid: &str, containers: Vec<Container>) -> Pod {
    Pod {
        metadata: ObjectMeta {
            name: Some("web".to_owned()),
            namespace: Some("ns".to_owned()),
            uid: Some(uid.to_owned()),
            ..ObjectMeta::default()
        },
        spec: Some(PodSpec { containers, restart_policy: Some("Always".to_owned()), ..PodSpec::default() }),
        status: None,
    }
}

/// A pod whose only container `a` has a readiness probe `ready` and a liveness probe `live`.
pub(in crate::prober) fn web() -> Pod {
    pod(
        "u1",
        vec![Container { readiness_probe: probe("ready"), liveness_probe: probe("live"), ..container("a") }],
    )
}

pub(in crate::prober) fn runs(name: &str, id: &str, since: Timestamp, started: bool) -> ContainerStatus {
    ContainerStatus {
        name: name.to_owned(),
        container_id: Some(format!("containerd://{id}")),
        started: Some(started),
        state: Some(ContainerState {
            running: Some(ContainerStateRunning { started_at: Some(Time(since)) }),
            ..ContainerState::default()
        }),
        ..ContainerStatus::default()
    }
}

pub(in crate::prober) fn ended(name: &str, id: &str) -> ContainerStatus {
    let terminated = ContainerStateTerminated { exit_code: 1, ..ContainerStateTerminated::default() };
    ContainerStatus {
        name: name.to_owned(),
        container_id: Some(format!("containerd://{id}")),
        state: Some(ContainerState { terminated: Some(terminated), ..ContainerState::default() }),
        ..ContainerStatus::default()
    }
}

pub(in crate::prober) fn status(containers: Vec<ContainerStatus>) -> PodStatus {
    PodStatus {
        phase: Some("Running".to_owned()),
        pod_ip: Some("10.0.0.7".to_owned()),
        container_statuses: Some(containers),
        ..PodStatus::default()
    }
}

/// Lets everything happen that is due now.
pub(in crate::prober) async fn settle() {
    sleep(Duration::from_millis(1)).await;
}

pub(in crate::prober) async fn seconds(seconds: u64) {
    sleep(Duration::from_secs(seconds)).await;
}
