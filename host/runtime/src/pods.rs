//! Sandboxes and containers: their lives, and the tasks that run them.
//!
//! The records are small files in the page cache; they are written where the change is made, under the lock that
//! orders the changes.

mod error;
mod record;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::future::join_all;
use tokio::runtime::Handle;
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use witlet_wasm::limits::Limits;

use crate::address::{self, AddressPool, Claim};
use crate::clock::Now;
use crate::image::store::hex;
use crate::image::{ImageError, ImageStore};
use crate::log::LogFile;
use crate::network::Network;
use crate::state::{Folder, StateError};
use crate::workload::{self, Exit, Spec, StopSignal};

pub(crate) use error::PodsError;
pub(crate) use record::{ContainerConfig, ContainerRecord, Life, SandboxConfig, SandboxRecord};

/// How many sandboxes there may be, stopped ones among them.
pub(crate) const SANDBOXES_MAX: usize = 1000;
/// How many containers there may be, ended ones among them.
pub(crate) const CONTAINERS_MAX: usize = 4000;
/// A container without a limit may have this much memory.
pub(crate) const MEMORY_DEFAULT_BYTES: u64 = 256 << 20;
/// How long a killed program may take to be gone; it gives way every few milliseconds.
const KILL_LIMIT: Duration = Duration::from_secs(10);

/// All sandboxes and containers of a runtime.
pub(crate) struct Pods {
    images: Arc<ImageStore>,
    sandbox_records: Folder,
    container_records: Folder,
    /// Where workloads run: threads of their own, so that busy ones don't hold up the server.
    workloads: Handle,
    tasks: TaskTracker,
    now: Now,
    registry: Mutex<Registry>,
}

#[derive(Default)]
struct Registry {
    sandboxes: BTreeMap<String, Sandbox>,
    containers: BTreeMap<String, Container>,
    addresses: AddressPool,
}

struct Sandbox {
    record: SandboxRecord,
    claim: Option<Claim>,
}

struct Container {
    record: ContainerRecord,
    process: Option<Process>,
}

/// How a running container is reached.
#[derive(Clone)]
struct Process {
    stop: Arc<StopSignal>,
    kill: CancellationToken,
    ended: CancellationToken,
    log: Option<Arc<LogFile>>,
}

/// What the pods of a runtime are made of.
pub(crate) struct Parts {
    /// The images that containers are made from.
    pub(crate) images: Arc<ImageStore>,
    /// Records of sandboxes.
    pub(crate) sandbox_records: Folder,
    /// Records of containers.
    pub(crate) container_records: Folder,
    /// Where workloads run.
    pub(crate) workloads: Handle,
    /// The clock.
    pub(crate) now: Now,
}

fn new_id() -> String {
    hex(&rand::random::<[u8; 32]>())
}

fn record_name(id: &str) -> String {
    format!("{id}.json")
}

impl Pods {
    /// Takes up what an earlier process left: nothing of it runs any more.
    pub(crate) fn open(parts: Parts) -> Result<Self, StateError> {
        let Parts { images, sandbox_records, container_records, workloads, now } = parts;
        let sandboxes = sandbox_records.load_all()?.into_iter().map(|(_, record)| record).collect();
        let containers = container_records.load_all()?.into_iter().map(|(_, record)| record).collect();
        let (sandboxes, containers) = record::recover(sandboxes, containers, now());
        let mut registry = Registry::default();
        for record in sandboxes {
            sandbox_records.store(&record_name(&record.id), &record)?;
            registry.sandboxes.insert(record.id.clone(), Sandbox { record, claim: None });
        }
        for record in containers {
            container_records.store(&record_name(&record.id), &record)?;
            registry.containers.insert(record.id.clone(), Container { record, process: None });
        }
        for name in container_records.names()? {
            if !registry.containers.keys().any(|id| record_name(id) == name) {
                container_records.remove(&name)?;
            }
        }
        let tasks = TaskTracker::new();
        let registry = Mutex::new(registry);
        Ok(Self { images, sandbox_records, container_records, workloads, tasks, now, registry })
    }

    fn registry(&self) -> MutexGuard<'_, Registry> {
        self.registry.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes a sandbox, with an address of its own unless it is on the node's network.
    pub(crate) fn run_sandbox(&self, config: SandboxConfig) -> Result<String, PodsError> {
        let mut registry = self.registry();
        if let Some(there) =
            registry.sandboxes.values().find(|there| there.record.config.same_attempt(&config))
        {
            let (name, attempt, id) = (config.name, config.attempt, there.record.id.clone());
            return Err(PodsError::NameTaken { what: "sandbox", name, attempt, id });
        }
        if registry.sandboxes.len() >= SANDBOXES_MAX {
            return Err(PodsError::TooManySandboxes);
        }
        let claim = match config.host_network {
            true => None,
            false => Some(address::claim(&mut registry.addresses)?),
        };
        let network = claim.as_ref().map_or(Network::Host, |claim| Network::Pod(claim.address()));
        let record = SandboxRecord { id: new_id(), config, network, created_at: (self.now)(), ready: true };
        let id = record.id.clone();
        if let Err(error) = self.sandbox_records.store(&record_name(&id), &record) {
            if let Some(claim) = claim {
                registry.addresses.give_back(claim.address());
            }
            return Err(error.into());
        }
        tracing::info!(sandbox = %id, pod = %record.config.name, ?network, "sandbox made");
        registry.sandboxes.insert(id.clone(), Sandbox { record, claim });
        Ok(id)
    }

    /// Kills what runs in a sandbox and gives its address up. A sandbox that isn't there is stopped.
    pub(crate) async fn stop_sandbox(&self, id: &str) -> Result<(), PodsError> {
        {
            let mut registry = self.registry();
            let Some(sandbox) = registry.sandboxes.get_mut(id) else { return Ok(()) };
            // First, so that no container starts while the others are being killed.
            sandbox.record.ready = false;
            self.sandbox_records.store(&record_name(id), &sandbox.record)?;
        }
        let kills = self
            .containers_of(id)
            .into_iter()
            .map(|container| async move { self.stop_container(&container, Duration::ZERO).await });
        join_all(kills).await.into_iter().collect::<Result<(), _>>()?;
        let mut registry = self.registry();
        if let Some(claim) = registry.sandboxes.get_mut(id).and_then(|sandbox| sandbox.claim.take()) {
            registry.addresses.give_back(claim.address());
        }
        Ok(())
    }

    fn containers_of(&self, sandbox_id: &str) -> Vec<String> {
        let registry = self.registry();
        let own = registry.containers.values().filter(|container| container.record.sandbox_id == sandbox_id);
        own.map(|container| container.record.id.clone()).collect()
    }

    /// Stops a sandbox and removes it with its containers. A sandbox that isn't there is removed.
    pub(crate) async fn remove_sandbox(&self, id: &str) -> Result<(), PodsError> {
        self.stop_sandbox(id).await?;
        for container in self.containers_of(id) {
            self.remove_container(&container).await?;
        }
        let mut registry = self.registry();
        self.sandbox_records.remove(&record_name(id))?;
        registry.sandboxes.remove(id);
        Ok(())
    }

    /// Every sandbox.
    pub(crate) fn sandboxes(&self) -> Vec<SandboxRecord> {
        self.registry().sandboxes.values().map(|sandbox| sandbox.record.clone()).collect()
    }

    /// One sandbox with its containers.
    pub(crate) fn sandbox(&self, id: &str) -> Result<(SandboxRecord, Vec<ContainerRecord>), PodsError> {
        let registry = self.registry();
        let none = || PodsError::NoSandbox { id: id.to_owned() };
        let sandbox = registry.sandboxes.get(id).ok_or_else(none)?.record.clone();
        let own = registry.containers.values().filter(|container| container.record.sandbox_id == id);
        Ok((sandbox, own.map(|container| container.record.clone()).collect()))
    }

    /// Makes a container in a sandbox, from an image that was pulled.
    pub(crate) fn create_container(
        &self,
        sandbox_id: &str,
        config: ContainerConfig,
    ) -> Result<String, PodsError> {
        let absent = || ImageError::Absent { reference: config.image.clone() };
        let image_id = self.images.find(&config.image).ok_or_else(absent)?.id;
        let mut registry = self.registry();
        let none = || PodsError::NoSandbox { id: sandbox_id.to_owned() };
        let sandbox = &registry.sandboxes.get(sandbox_id).ok_or_else(none)?.record;
        if !sandbox.ready {
            return Err(PodsError::SandboxNotReady { id: sandbox_id.to_owned() });
        }
        let same = |there: &&Container| {
            let own = &there.record.config;
            there.record.sandbox_id == sandbox_id
                && (&own.name, own.attempt) == (&config.name, config.attempt)
        };
        if let Some(there) = registry.containers.values().find(same) {
            let (name, attempt, id) = (config.name, config.attempt, there.record.id.clone());
            return Err(PodsError::NameTaken { what: "container", name, attempt, id });
        }
        if registry.containers.len() >= CONTAINERS_MAX {
            return Err(PodsError::TooManyContainers);
        }
        let record = ContainerRecord {
            id: new_id(),
            sandbox_id: sandbox_id.to_owned(),
            log: log_of(sandbox, &config),
            image_id,
            config,
            created_at: (self.now)(),
            life: Life::Created,
        };
        let id = record.id.clone();
        self.container_records.store(&record_name(&id), &record)?;
        registry.containers.insert(id.clone(), Container { record, process: None });
        Ok(id)
    }

    /// Starts a container's program.
    pub(crate) async fn start_container(self: &Arc<Self>, id: &str) -> Result<(), PodsError> {
        let (record, sandbox) = self.startable(id)?;
        let program = self.images.program(&record.image_id).await?;
        let log = match &record.log {
            None => None,
            Some(path) => {
                let failed = |cause| PodsError::Log { path: path.clone(), cause };
                Some(Arc::new(LogFile::open(path).map_err(failed)?))
            }
        };
        // The wait for the program may have been long: look again.
        let mut registry = self.registry();
        let ready = registry.sandboxes.get(&record.sandbox_id).is_some_and(|sandbox| sandbox.record.ready);
        let none = || PodsError::NoContainer { id: id.to_owned() };
        let container = registry.containers.get_mut(id).ok_or_else(none)?;
        check_startable(&container.record, ready)?;
        let mut running = container.record.clone();
        running.life = Life::Running { started_at: (self.now)() };
        self.container_records.store(&record_name(id), &running)?;
        container.record = running;
        let stop = Arc::new(StopSignal::default());
        let process = Process {
            stop: stop.clone(),
            kill: CancellationToken::new(),
            ended: CancellationToken::new(),
            log: log.clone(),
        };
        container.process = Some(process.clone());
        let spec = spec(&record, &sandbox, stop, log, self.now);
        let work = self.tasks.spawn_on(workload::run(program, spec), &self.workloads);
        self.tasks.spawn(self.clone().watch(id.to_owned(), work, process));
        tracing::info!(container = %id, name = %record.config.name, "container started");
        Ok(())
    }

    fn startable(&self, id: &str) -> Result<(ContainerRecord, SandboxRecord), PodsError> {
        let registry = self.registry();
        let none = || PodsError::NoContainer { id: id.to_owned() };
        let record = registry.containers.get(id).ok_or_else(none)?.record.clone();
        let none = || PodsError::NoSandbox { id: record.sandbox_id.clone() };
        let sandbox = registry.sandboxes.get(&record.sandbox_id).ok_or_else(none)?.record.clone();
        check_startable(&record, sandbox.ready)?;
        Ok((record, sandbox))
    }

    /// Waits for a program to end, or kills it by dropping it.
    async fn watch(self: Arc<Self>, id: String, mut work: JoinHandle<Exit>, process: Process) {
        let ended = tokio::select! {
            ended = &mut work => ended,
            () = process.kill.cancelled() => {
                work.abort();
                work.await
            }
        };
        let exit = match ended {
            Ok(exit) => exit,
            Err(error) if error.is_cancelled() => Exit::killed(),
            Err(error) => Exit::not_started(&format!("the runtime failed: {error}")),
        };
        tracing::info!(container = %id, code = exit.code, reason = exit.reason.name(), "container ended");
        {
            let mut registry = self.registry();
            if let Some(container) = registry.containers.get_mut(&id) {
                container.record.life = container.record.life.end(exit, (self.now)());
                container.process = None;
                if let Err(error) = self.container_records.store(&record_name(&id), &container.record) {
                    // A restart would report it as lost, which is the truth as far as the files know it.
                    tracing::error!(container = %id, %error, "the end of a container can't be kept");
                }
            }
        }
        process.ended.cancel();
    }

    /// Asks a container's program to stop, and kills it after `grace`. One that isn't there or doesn't run is
    /// stopped.
    pub(crate) async fn stop_container(&self, id: &str, grace: Duration) -> Result<(), PodsError> {
        let process = self.registry().containers.get(id).and_then(|container| container.process.clone());
        let Some(Process { stop, kill, ended, .. }) = process else { return Ok(()) };
        if !grace.is_zero() {
            let stopped = async {
                stop.ask().await;
                ended.cancelled().await;
            };
            if timeout(grace, stopped).await.is_ok() {
                return Ok(());
            }
        }
        kill.cancel();
        let late = |_| PodsError::DoesNotEnd { id: id.to_owned() };
        timeout(KILL_LIMIT, ended.cancelled()).await.map_err(late)
    }

    /// Removes a container; one that runs is killed. One that isn't there is removed.
    pub(crate) async fn remove_container(&self, id: &str) -> Result<(), PodsError> {
        self.stop_container(id, Duration::ZERO).await?;
        let mut registry = self.registry();
        self.container_records.remove(&record_name(id))?;
        registry.containers.remove(id);
        Ok(())
    }

    /// Every container.
    pub(crate) fn containers(&self) -> Vec<ContainerRecord> {
        self.registry().containers.values().map(|container| container.record.clone()).collect()
    }

    /// One container.
    pub(crate) fn container(&self, id: &str) -> Result<ContainerRecord, PodsError> {
        let none = || PodsError::NoContainer { id: id.to_owned() };
        Ok(self.registry().containers.get(id).ok_or_else(none)?.record.clone())
    }

    /// Opens a running container's log anew, after it was moved away.
    pub(crate) fn reopen_log(&self, id: &str) -> Result<(), PodsError> {
        let (log, record) = {
            let registry = self.registry();
            let none = || PodsError::NoContainer { id: id.to_owned() };
            let container = registry.containers.get(id).ok_or_else(none)?;
            let record = container.record.clone();
            let not_running = PodsError::NotRunning { id: id.to_owned(), life: record.life.name() };
            (container.process.as_ref().ok_or(not_running)?.log.clone(), record)
        };
        let (Some(log), Some(path)) = (log, record.log) else { return Ok(()) };
        log.reopen().map_err(|cause| PodsError::Log { path, cause })
    }

    /// Stops everything that runs, as the process is about to end.
    pub(crate) async fn shut_down(&self, grace: Duration) {
        let running: Vec<String> = {
            let registry = self.registry();
            let running = registry.containers.values().filter(|container| container.process.is_some());
            running.map(|container| container.record.id.clone()).collect()
        };
        let stops = running.iter().map(|id| self.stop_container(id, grace));
        for error in join_all(stops).await.into_iter().filter_map(Result::err) {
            tracing::error!(%error, "a container is left behind");
        }
        self.tasks.close();
        if timeout(KILL_LIMIT, self.tasks.wait()).await.is_err() {
            tracing::error!("workloads are left behind");
        }
    }
}

fn check_startable(record: &ContainerRecord, sandbox_ready: bool) -> Result<(), PodsError> {
    let id = || record.id.clone();
    match record.life {
        Life::Created if sandbox_ready => Ok(()),
        Life::Created => Err(PodsError::SandboxNotReady { id: record.sandbox_id.clone() }),
        Life::Running { .. } | Life::Exited { .. } => {
            Err(PodsError::NotCreated { id: id(), life: record.life.name() })
        }
    }
}

/// A container has a log if both it and its sandbox were told where (CRI: `log_directory`, `log_path`).
fn log_of(sandbox: &SandboxRecord, config: &ContainerConfig) -> Option<PathBuf> {
    let directory = &sandbox.config.log_directory;
    let named = !directory.as_os_str().is_empty() && !config.log_path.as_os_str().is_empty();
    named.then(|| directory.join(&config.log_path))
}

fn spec(
    record: &ContainerRecord,
    sandbox: &SandboxRecord,
    stop: Arc<StopSignal>,
    log: Option<Arc<LogFile>>,
    now: Now,
) -> Spec {
    let config = &record.config;
    let memory_bytes_max = config.memory_bytes_max.unwrap_or(MEMORY_DEFAULT_BYTES);
    Spec {
        arguments: record::arguments(config),
        environment: record::environment(config, &sandbox.config.hostname),
        working_dir: config.working_dir.clone(),
        // WASI knows folders only: a single file, such as the termination log, can't be mounted.
        mounts: config.mounts.iter().filter(|mount| !mount.host_path.is_file()).cloned().collect(),
        network: sandbox.network,
        limits: Limits::with_memory(usize::try_from(memory_bytes_max).unwrap_or(usize::MAX)),
        log,
        stop,
        now,
    }
}
