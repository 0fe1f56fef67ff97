//! A container runtime without containers: it keeps books, follows scripts, and records what it is asked to do.

mod cut;
mod ending;
mod image;
mod image_store;
mod ports;

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use tokio::time::Instant;
use witlet_core::runtime::{
    CgroupDriver, ContainerId, ContainerRunState, ContainerSpec, NamespaceMode, ObservedContainer,
    ObservedSandbox, SandboxId, SandboxSpec, SandboxState, labels,
};
use witlet_ports::{Clock, Runtime, RuntimeError};

use crate::ManualClock;
use cut::CallCuts;
use image::ImageDisk;
pub use image::{Behaviour, FakeImage};

/// How a command in a container goes.
#[derive(Clone, Debug, Default)]
pub struct ExecScript {
    pub exit_code: i32,
    pub stdout: String,
    /// What it says to the standard error.
    pub stderr: String,
    /// How long it takes.
    pub takes: Duration,
}

/// The runtime. Survives restarts of the agent, as runtimes do.
#[derive(Debug)]
pub struct FakeRuntime {
    clock: ManualClock,
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    images: BTreeMap<String, FakeImage>,
    /// By number, so that later ones are newer.
    sandboxes: BTreeMap<u32, Sandbox>,
    containers: BTreeMap<u32, FakeContainer>,
    next: u32,
    log: Vec<String>,
    down: bool,
    network_down: bool,
    /// None is `cgroupfs`.
    cgroup_driver: Option<CgroupDriver>,
    no_user_namespaces: bool,
    sizes_sandboxes: bool,
    inspections_take: Duration,
    failures: BTreeMap<&'static str, u32>,
    /// By the command with its arguments; any other command ends well at once.
    execs: BTreeMap<String, ExecScript>,
    /// Sandboxes whose removal is never answered: by the name of their pod, how many more times.
    hung_removals: BTreeMap<String, u32>,
    starts: Vec<Start>,
    /// Commands that didn't come to their end by themselves.
    cut_execs: Vec<String>,
    image_disk: ImageDisk,
    /// By the names of pod and container.
    mounted_images: BTreeMap<(String, String), Vec<String>>,
    cuts: CallCuts,
}

/// A container's start, with what else there was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Start {
    /// UID of its pod.
    pub uid: String,
    /// Name of its pod.
    pub pod: String,
    /// Its name in the pod.
    pub container: String,
    /// Which instance it is, as the runtime was asked.
    pub attempt: u32,
    /// The other containers in its sandbox, and what runs of its pod elsewhere, the oldest first.
    pub others: Vec<OtherContainer>,
}

/// A container that was there when another one started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OtherContainer {
    /// Its name in the pod.
    pub container: String,
    pub state: ContainerRunState,
    /// Its exit code, if it had ended.
    pub exit_code: Option<i32>,
}

#[derive(Debug)]
struct Sandbox {
    id: SandboxId,
    config: SandboxSpec,
    created_at: Timestamp,
    state: SandboxState,
    ip: Option<IpAddr>,
}

#[derive(Debug)]
struct FakeContainer {
    id: ContainerId,
    sandbox: SandboxId,
    uid: String,
    config: ContainerSpec,
    behaviour: Behaviour,
    created_at: Timestamp,
    started_at: Option<Timestamp>,
    /// How long it runs doesn't depend on a clock that is set.
    runs_since: Option<Instant>,
    ended: Option<(Timestamp, i32)>,
    /// The runtime has lost track of it.
    is_unknown: bool,
}

/// Exit code of a process that ended as it was asked to (128 and SIGTERM).
const ASKED: i32 = 143;
/// Exit code of a process that was killed (128 and SIGKILL).
const KILLED: i32 = 137;

impl FakeRuntime {
    /// A runtime without images or pods.
    pub fn new(clock: ManualClock) -> Arc<Self> {
        Arc::new(Self { clock, inner: Mutex::default() })
    }

    /// Its ports.
    pub fn ports(self: &Arc<Self>) -> Runtime {
        Runtime {
            info: self.clone(),
            view: self.clone(),
            sandboxes: self.clone(),
            containers: self.clone(),
            images: self.clone(),
            image_store: self.clone(),
        }
    }

    /// Adds an image, under its full reference with a tag.
    pub fn add_image(&self, name: &str, image: FakeImage) {
        self.lock().images.insert(name.to_owned(), image);
    }

    /// While it is down it doesn't answer. What runs goes on running.
    pub fn set_down(&self, down: bool) {
        self.lock().down = down;
    }

    /// While the network is down the runtime says so, and still does what it is asked.
    pub fn set_network_down(&self, down: bool) {
        self.lock().network_down = down;
    }

    /// Whether it can give containers ids of their own; at first it can.
    pub fn set_user_namespaces(&self, can: bool) {
        self.lock().no_user_namespaces = !can;
    }

    /// Inspecting a pod takes this long.
    pub fn set_inspections_take(&self, inspections_take: Duration) {
        self.lock().inspections_take = inspections_take;
    }

    /// The next calls of this name fail.
    pub fn fail_next(&self, call: &'static str, times: u32) {
        self.lock().failures.insert(call, times);
    }

    /// How a command goes from now on, whichever container it runs in.
    pub fn set_exec(&self, command: &str, script: ExecScript) {
        self.lock().execs.insert(command.to_owned(), script);
    }

    /// The process of the newest instance of a container ends by itself.
    ///
    /// # Panics
    /// If it doesn't run: the test is wrong.
    pub fn end_container(&self, pod: &str, container: &str, code: i32) {
        let now = self.clock.now();
        let mut inner = self.lock();
        let of_pod =
            |c: &FakeContainer| c.config.labels.get(labels::POD_NAME).is_some_and(|name| name == pod);
        let mut found = inner.containers.values_mut().rev();
        let newest = found.find(|c| of_pod(c) && c.config.name == container);
        let newest = newest.filter(|container| container.state() == ContainerRunState::Running);
        newest.expect("the container runs").end(now, code);
    }

    /// The newest instance of a container as it was asked for.
    pub fn container_spec(&self, pod: &str, container: &str) -> Option<ContainerSpec> {
        let of_pod =
            |c: &&FakeContainer| c.config.labels.get(labels::POD_NAME).is_some_and(|name| name == pod);
        let inner = self.lock();
        let mut found = inner.containers.values().rev().filter(of_pod);
        found.find(|c| c.config.name == container).map(|c| c.config.clone())
    }

    /// The runtime says that this driver makes its cgroups; `cgroupfs` until then.
    pub fn set_cgroup_driver(&self, driver: CgroupDriver) {
        self.lock().cgroup_driver = Some(driver);
    }

    /// The newest sandbox of a pod as it was asked for.
    pub fn sandbox_spec(&self, pod: &str) -> Option<SandboxSpec> {
        let inner = self.lock();
        inner.sandboxes.values().rev().find(|sandbox| sandbox.config.name == pod).map(|s| s.config.clone())
    }

    /// The next removals of this pod's sandboxes or containers hang until the caller gives up.
    pub fn hang_removals(&self, pod: &str, times: u32) {
        self.lock().hung_removals.insert(pod.to_owned(), times);
    }

    /// The runtime loses track of the newest instance of a container, until it is asked to stop it.
    ///
    /// # Panics
    /// If there is no such container: the test is wrong.
    pub fn lose_track(&self, pod: &str, container: &str) {
        let mut inner = self.lock();
        let of_pod =
            |c: &FakeContainer| c.config.labels.get(labels::POD_NAME).is_some_and(|name| name == pod);
        let mut found = inner.containers.values_mut().rev();
        let newest = found.find(|c| of_pod(c) && c.config.name == container);
        newest.expect("the container exists").is_unknown = true;
    }

    /// The newest instance of a container is gone without a trace.
    ///
    /// # Panics
    /// If there is no such container: the test is wrong.
    pub fn forget_container(&self, pod: &str, container: &str) {
        let mut inner = self.lock();
        let is_it = |c: &FakeContainer| {
            c.config.name == container
                && c.config.labels.get(labels::POD_NAME).is_some_and(|name| name == pod)
        };
        let newest = inner.containers.iter().rfind(|(_, c)| is_it(c)).map(|(number, _)| *number);
        inner.containers.remove(&newest.expect("the container exists"));
    }

    /// Every command that was cut before its own end so far, by its time or by its container's end: when, command, container.
    pub fn cut_execs(&self) -> Vec<String> {
        self.lock().cut_execs.clone()
    }

    /// Every start of a container so far.
    pub fn starts(&self) -> Vec<Start> {
        self.lock().starts.clone()
    }

    /// The machine restarts: every sandbox and container ends, none is gone.
    pub fn lose_sandboxes(&self) {
        let now = self.clock.now();
        let mut inner = self.lock();
        for sandbox in inner.sandboxes.values_mut() {
            sandbox.state = SandboxState::NotReady;
            sandbox.ip = None;
        }
        for container in inner.containers.values_mut() {
            container.end(now, KILLED);
        }
    }

    /// What it was asked to do so far, one line each: seconds since the beginning, action, object.
    pub fn log(&self) -> Vec<String> {
        self.lock().log.clone()
    }

    /// Forgets what it was asked.
    pub fn clear_log(&self) {
        self.lock().log.clear();
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Fails if the script says so.
    fn answer(&self, call: &'static str) -> Result<MutexGuard<'_, Inner>, RuntimeError> {
        let mut inner = self.lock();
        if inner.down {
            let (endpoint, message) = ("fake".to_owned(), "connection refused".to_owned());
            return Err(RuntimeError::Unavailable { call, endpoint, message });
        }
        if let Some(left) = inner.failures.get_mut(call).filter(|left| **left > 0) {
            *left -= 1;
            return Err(RuntimeError::failed(call, "failed as the test planned"));
        }
        for container in inner.containers.values_mut() {
            container.pass_time();
        }
        Ok(inner)
    }

    fn record(&self, inner: &mut Inner, action: &str, object: &str) {
        let at = self.clock.elapsed().as_secs_f64();
        inner.log.push(format!("{at:.3} {action} {object}"));
    }
}

impl Inner {
    fn next_id(&mut self) -> u32 {
        self.next += 1;
        self.next
    }

    fn sandbox_mut(&mut self, id: &SandboxId) -> Option<&mut Sandbox> {
        self.sandboxes.values_mut().find(|sandbox| sandbox.id == *id)
    }

    fn container_mut(&mut self, id: &ContainerId) -> Option<&mut FakeContainer> {
        self.containers.values_mut().find(|container| container.id == *id)
    }

    fn container_name(&self, id: &ContainerId) -> String {
        let found = self.containers.values().find(|container| container.id == *id);
        found.map_or_else(|| id.to_string(), FakeContainer::name)
    }

    fn sandbox_name(&self, id: &SandboxId) -> String {
        let found = self.sandboxes.values().find(|sandbox| sandbox.id == *id);
        found.map_or_else(|| id.to_string(), Sandbox::name)
    }

    /// Records what else there is when a container has just started.
    fn note_start(&mut self, id: &ContainerId) {
        let Some(started) = self.containers.values().find(|container| container.id == *id) else { return };
        let counts = |other: &&FakeContainer| {
            other.uid == started.uid
                && other.id != started.id
                && (other.sandbox == started.sandbox || other.state().may_run())
        };
        let start = Start {
            uid: started.uid.clone(),
            pod: started.config.labels.get(labels::POD_NAME).cloned().unwrap_or_default(),
            container: started.config.name.clone(),
            attempt: started.config.attempt,
            others: self.containers.values().filter(counts).map(FakeContainer::as_other).collect(),
        };
        self.starts.push(start);
    }

    /// Whether the removal of this sandbox is one of those that hang.
    fn hangs(&mut self, id: &SandboxId) -> bool {
        let pod = self.sandboxes.values().find(|sandbox| sandbox.id == *id).map(|s| s.config.name.clone());
        let Some(left) = pod.and_then(|pod| self.hung_removals.get_mut(&pod)).filter(|left| **left > 0)
        else {
            return false;
        };
        *left -= 1;
        true
    }

    fn free_ip(&self) -> IpAddr {
        let taken = |ip: &IpAddr| self.sandboxes.values().any(|sandbox| sandbox.ip == Some(*ip));
        let mut ips = (1..=254u8).map(|last| IpAddr::V4(Ipv4Addr::new(10, 0, 0, last)));
        ips.find(|ip| !taken(ip)).unwrap_or(IpAddr::V4(Ipv4Addr::new(10, 0, 0, 255)))
    }
}

impl Sandbox {
    fn name(&self) -> String {
        format!("{}#{}", self.config.name, self.config.attempt)
    }

    fn observed(&self) -> ObservedSandbox {
        ObservedSandbox {
            id: self.id.clone(),
            attempt: self.config.attempt,
            state: self.state,
            created_at: self.created_at,
            network: self.config.network,
            ips: self.ip.into_iter().collect(),
        }
    }
}

impl FakeContainer {
    fn name(&self) -> String {
        let pod = self.config.labels.get(labels::POD_NAME).map_or("?", String::as_str);
        format!("{pod}/{}#{}", self.config.name, self.config.attempt)
    }

    fn state(&self) -> ContainerRunState {
        match (self.started_at, self.ended) {
            _ if self.is_unknown => ContainerRunState::Unknown,
            (_, Some(_)) => ContainerRunState::Exited,
            (Some(_), None) => ContainerRunState::Running,
            (None, None) => ContainerRunState::Created,
        }
    }

    fn end(&mut self, at: Timestamp, code: i32) {
        if self.state().may_run() {
            self.is_unknown = false;
            self.ended = Some((at, code));
        }
    }

    fn as_other(&self) -> OtherContainer {
        let exit_code = self.ended.map(|(_, code)| code);
        OtherContainer { container: self.config.name.clone(), state: self.state(), exit_code }
    }

    fn pass_time(&mut self) {
        if self.is_unknown {
            return;
        }
        let Behaviour::Exits { code, after } = self.behaviour else { return };
        let (Some(started_at), Some(since)) = (self.started_at, self.runs_since) else { return };
        if since.elapsed() >= after {
            let lifetime = SignedDuration::try_from(after).unwrap_or(SignedDuration::MAX);
            self.end(started_at.saturating_add(lifetime).unwrap_or(Timestamp::MAX), code);
        }
    }

    fn observed(&self) -> ObservedContainer {
        let annotation = |name: &str| self.config.annotations.get(name).cloned();
        let exit_code = self.ended.map_or(0, |(_, code)| code);
        let reason = match self.ended {
            None => "",
            Some((_, 0)) => "Completed",
            Some(_) => "Error",
        };
        ObservedContainer {
            sandbox_id: Some(self.sandbox.clone()),
            started_at: self.started_at,
            finished_at: self.ended.map(|(at, _)| at),
            exit_code,
            image: self.config.user_specified_image.clone(),
            image_id: self.config.image.clone(),
            spec_hash: labels::spec_hash(annotation),
            cgroup_parent: labels::cgroup_parent(annotation),
            restart_count: annotation(labels::CONTAINER_RESTART_COUNT)
                .and_then(|n| n.parse().ok())
                .unwrap_or(0),
            termination_grace_seconds: annotation(labels::POD_TERMINATION_GRACE_PERIOD)
                .and_then(|n| n.parse().ok()),
            reason: reason.to_owned(),
            log_path: format!("/var/log/pods/{}", self.config.log_path.display()),
            termination_message_path: annotation(labels::TERMINATION_MESSAGE_PATH),
            termination_message_policy: annotation(labels::TERMINATION_MESSAGE_POLICY),
            ports: annotation(labels::CONTAINER_PORTS),
            pre_stop: annotation(labels::PRE_STOP_HANDLER),
            mounts: self.config.mounts.clone(),
            resources: Some(self.config.resources.clone()),
            ..ObservedContainer::new(self.id.clone(), &self.config.name, self.state(), self.created_at)
        }
    }
}

/// Whether the sandbox has an address of its own.
fn has_own_network(config: &SandboxSpec) -> bool {
    match config.network {
        NamespaceMode::Pod | NamespaceMode::Container => true,
        NamespaceMode::Node => false,
    }
}
