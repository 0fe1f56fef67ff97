//! The life of a container: made, started, stopped, removed.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Semaphore;
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing::Instrument as _;

use super::commands::COMMANDS_MAX;
use super::{
    CONTAINERS_MAX, Container, ContainerRecord, ContainerSpec, EventKind, KILL_LIMIT, Life, Pods, PodsError,
    Process, Resources, SandboxRecord, new_id, record, record_name,
};
use crate::chain::in_one_line;
use crate::image::ImageError;
use crate::log::LogFile;
use crate::mounts::{self, Placed};
use crate::workload::{self, Exit, Program, StopSignal, WorkloadSpec};

/// What a container is started with.
struct Start {
    record: ContainerRecord,
    sandbox: SandboxRecord,
    program: Program,
    log: Option<Arc<LogFile>>,
    mounts: Arc<Placed>,
}

impl Pods {
    /// Makes a container in a sandbox, from an image that was pulled.
    pub(crate) fn create_container(
        &self,
        sandbox_id: &str,
        config: ContainerSpec,
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
            (&own.name, own.attempt) == (&config.name, config.attempt)
        };
        if let Some(there) = registry.of_sandbox(sandbox_id).find(same) {
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
        registry.containers.insert(id.clone(), Container::new(record));
        self.emit(&registry, EventKind::Created, &id, sandbox_id);
        Ok(id)
    }

    /// Starts a container's program. One whose mounts can't be had has ended with that, as with other runtimes.
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
        let (requested, private) = (record.config.mounts.clone(), self.mounts.join(new_id()));
        let placing = tokio::task::spawn_blocking(move || mounts::place(&requested, private));
        match placing.await.map_err(|_cancelled| ImageError::Ending)? {
            Ok(placed) => {
                let mounts = Arc::new(placed);
                self.begin(Start { record, sandbox, program, log, mounts })
            }
            Err(cause) => self.fail(id, &Exit::not_started(&in_one_line(&cause))),
        }
    }

    /// A container that couldn't be started has ended.
    fn fail(&self, id: &str, exit: &Exit) -> Result<(), PodsError> {
        let mut registry = self.registry();
        let created = |container: &&mut Container| matches!(container.record.life, Life::Created);
        let Some(container) = registry.containers.get_mut(id).filter(created) else { return Ok(()) };
        container.record.life = container.record.life.end(exit.clone(), (self.now)());
        self.container_records.store(&record_name(id), &container.record)?;
        let sandbox_id = container.record.sandbox_id.clone();
        self.emit(&registry, EventKind::Stopped, id, &sandbox_id);
        Ok(())
    }

    fn begin(self: &Arc<Self>, start: Start) -> Result<(), PodsError> {
        let Start { record, sandbox, program, log, mounts } = start;
        let id = record.id.clone();
        // The wait for the program and the mounts may have been long: check again.
        let mut registry = self.registry();
        let ready = registry.sandboxes.get(&record.sandbox_id).is_some_and(|sandbox| sandbox.record.ready);
        let none = || PodsError::NoContainer { id: id.clone() };
        let container = registry.containers.get_mut(&id).ok_or_else(none)?;
        check_startable(&container.record, ready)?;
        let mut running = container.record.clone();
        running.life = Life::Running { started_at: (self.now)() };
        self.container_records.store(&record_name(&id), &running)?;
        container.record = running;
        let spec = WorkloadSpec {
            arguments: record::arguments(&record.config),
            environment: record::environment(&record.config, &sandbox.config.hostname),
            working_dir: record.config.working_dir.clone(),
            preopens: mounts.preopens.clone().into(),
            network: sandbox.network,
            port: record::port(&record.config),
            http_deadline: self.http_deadline,
            account: container.account.clone(),
            log,
            stop: Arc::new(StopSignal::default()),
            over: CancellationToken::new(),
            helpers: TaskTracker::new(),
            now: self.now,
        };
        let process = Process {
            program: program.clone(),
            spec: spec.clone(),
            kill: CancellationToken::new(),
            ended: CancellationToken::new(),
            commands: Arc::new(Semaphore::new(COMMANDS_MAX)),
            mounts,
        };
        container.process = Some(process.clone());
        let work = self.tasks.spawn_on(workload::run(program, spec), &self.workloads);
        let span = tracing::error_span!(
            "container",
            pod = sandbox.config.full_name(),
            pod_uid = sandbox.config.uid,
            container_name = record.config.name,
            container_id = id
        );
        span.in_scope(|| tracing::info!("Started container"));
        self.tasks.spawn(self.clone().watch(id.clone(), work, process).instrument(span));
        self.emit(&registry, EventKind::Started, &id, &record.sandbox_id);
        Ok(())
    }

    fn startable(&self, id: &str) -> Result<(ContainerRecord, SandboxRecord), PodsError> {
        let registry = self.registry();
        let record = registry.container(id)?.record.clone();
        let none = || PodsError::NoSandbox { id: record.sandbox_id.clone() };
        let sandbox = registry.sandboxes.get(&record.sandbox_id).ok_or_else(none)?.record.clone();
        check_startable(&record, sandbox.ready)?;
        Ok((record, sandbox))
    }

    /// Waits for a program to end, or kills it by dropping it. Whatever else runs in the container ends with it.
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
        process.spec.over.cancel();
        process.spec.helpers.close();
        if timeout(KILL_LIMIT, process.spec.helpers.wait()).await.is_err() {
            tracing::error!("Timed out stopping commands and requests");
        }
        let mounts = process.mounts.clone();
        // It ends with the process, as the runtime's own threads do.
        _ = tokio::task::spawn_blocking(move || mounts.write_back()).await;
        tracing::info!(code = exit.code, reason = exit.reason.name(), "Container exited");
        {
            let mut registry = self.registry();
            if let Some(container) = registry.containers.get_mut(&id) {
                container.record.life = container.record.life.end(exit, (self.now)());
                container.process = None;
                if let Err(error) = self.container_records.store(&record_name(&id), &container.record) {
                    // A restart would report it as lost, which is the truth as far as the files know it.
                    tracing::error!(%error, "Failed to save exit of container");
                }
                let sandbox_id = container.record.sandbox_id.clone();
                self.emit(&registry, EventKind::Stopped, &id, &sandbox_id);
            }
        }
        process.ended.cancel();
        // Its private folders go with it, and may hold a great many files.
        _ = tokio::task::spawn_blocking(move || drop(process)).await;
    }

    /// Asks a container's program to stop, and kills it after `grace`. One that isn't there or doesn't run is
    /// stopped.
    pub(crate) async fn stop_container(&self, id: &str, grace: Duration) -> Result<(), PodsError> {
        let process = self.registry().containers.get(id).and_then(|container| container.process.clone());
        let Some(Process { spec, kill, ended, .. }) = process else { return Ok(()) };
        if !grace.is_zero() {
            let stopped = async {
                spec.stop.ask().await;
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
        let Some(container) = registry.containers.remove(id) else { return Ok(()) };
        let sandbox_id = container.record.sandbox_id;
        if let Some(sandbox) = registry.sandboxes.get_mut(&sandbox_id) {
            sandbox.cpu_nanoseconds_past += container.account.cpu_nanoseconds();
        }
        self.emit(&registry, EventKind::Deleted, id, &sandbox_id);
        Ok(())
    }

    /// Every container.
    pub(crate) fn containers(&self) -> Vec<ContainerRecord> {
        self.registry().containers.values().map(|container| container.record.clone()).collect()
    }

    /// One container.
    pub(crate) fn container(&self, id: &str) -> Result<ContainerRecord, PodsError> {
        Ok(self.registry().container(id)?.record.clone())
    }

    /// Opens a running container's log again, after it was moved away.
    pub(crate) fn reopen_log(&self, id: &str) -> Result<(), PodsError> {
        let (process, record) = self.running(id)?;
        let (Some(log), Some(path)) = (process.spec.log, record.log) else { return Ok(()) };
        log.reopen().map_err(|cause| PodsError::Log { path, cause })
    }

    /// A container that runs.
    pub(super) fn running(&self, id: &str) -> Result<(Process, ContainerRecord), PodsError> {
        let registry = self.registry();
        let container = registry.container(id)?;
        let not_running = || PodsError::NotRunning { id: id.to_owned(), life: container.record.life.name() };
        Ok((container.process.clone().ok_or_else(not_running)?, container.record.clone()))
    }

    /// Changes what a container may take, at once. The limit of memory can't become lower than what is in use.
    pub(crate) fn update_resources(&self, id: &str, update: &Resources) -> Result<(), PodsError> {
        let mut registry = self.registry();
        let none = || PodsError::NoContainer { id: id.to_owned() };
        let container = registry.containers.get_mut(id).ok_or_else(none)?;
        let mut updated = container.record.clone();
        updated.config.resources = updated.config.resources.updated(update);
        let limit = updated.config.resources.memory_limit();
        container
            .account
            .set_memory_limit(limit)
            .map_err(|cause| PodsError::Memory { id: id.to_owned(), cause })?;
        self.container_records.store(&record_name(id), &updated)?;
        container.record = updated;
        Ok(())
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

/// A container has a log if both it and its sandbox have a place for it (CRI: `log_directory`, `log_path`).
fn log_of(sandbox: &SandboxRecord, config: &ContainerSpec) -> Option<PathBuf> {
    let directory = &sandbox.config.log_directory;
    let named = !directory.as_os_str().is_empty() && !config.log_path.as_os_str().is_empty();
    named.then(|| directory.join(&config.log_path))
}
