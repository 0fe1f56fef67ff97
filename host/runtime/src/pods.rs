//! Sandboxes and containers: their lives, and the tasks that run them.
//!
//! The records are small files; they are written where the change is made, under the lock that orders the changes.

mod commands;
mod containers;
mod error;
mod events;
mod record;
mod resources;
mod stats;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::future::join_all;
use tokio::runtime::Handle;
use tokio::sync::Semaphore;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::address::{self, AddressPool, Claim};
use crate::clock::Now;
use crate::image::ImageStore;
use crate::mounts::Placed;
use crate::network::Network;
use crate::state::{Folder, StateError};
use crate::workload::{Account, Program, WorkloadSpec};

pub(crate) use commands::Output;
pub(crate) use error::PodsError;
pub(crate) use events::{Event, EventKind};
pub(crate) use record::{ContainerRecord, ContainerSpec, Life, SandboxRecord, SandboxSpec};
pub(crate) use resources::Resources;
pub(crate) use stats::{ContainerStats, SandboxStats};

/// How many sandboxes there may be, stopped ones among them.
pub(crate) const SANDBOXES_MAX: usize = 1000;
/// How many containers there may be, ended ones among them.
pub(crate) const CONTAINERS_MAX: usize = 4000;
/// How long a killed program may take to be gone. It gives way every few milliseconds, and its end is written to the disk, which a busy
/// machine may take long for; clients give a call at least as long.
const KILL_LIMIT: Duration = Duration::from_secs(60);

/// All sandboxes and containers of a runtime.
pub(crate) struct Pods {
    images: Arc<ImageStore>,
    sandbox_records: Folder,
    container_records: Folder,
    /// Where containers' private folders are.
    mounts: PathBuf,
    /// Where workloads run: threads of their own, so that busy ones don't hold up the server.
    workloads: Handle,
    http_deadline: Duration,
    tasks: TaskTracker,
    now: Now,
    events: events::Events,
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
    /// Processor time of containers that were removed, so that the pod's never decreases.
    cpu_nanoseconds_past: u64,
}

struct Container {
    record: ContainerRecord,
    account: Arc<Account>,
    process: Option<Process>,
}

impl Container {
    fn new(record: ContainerRecord) -> Self {
        let account = Arc::new(Account::new(record.config.resources.memory_limit()));
        Self { record, account, process: None }
    }
}

/// How a running container is reached.
#[derive(Clone)]
struct Process {
    program: Program,
    /// As its own program was started.
    spec: WorkloadSpec,
    kill: CancellationToken,
    ended: CancellationToken,
    /// Places for commands next to its own program.
    commands: Arc<Semaphore>,
    mounts: Arc<Placed>,
}

/// What the pods of a runtime are made of.
pub(crate) struct Parts {
    /// The images that containers are made from.
    pub(crate) images: Arc<ImageStore>,
    pub(crate) sandbox_records: Folder,
    pub(crate) container_records: Folder,
    pub(crate) mounts: Folder,
    pub(crate) workloads: Handle,
    /// How long a program may take to answer an HTTP request.
    pub(crate) http_deadline: Duration,
    pub(crate) now: Now,
}

fn new_id() -> String {
    hex::encode(rand::random::<[u8; 32]>())
}

fn record_name(id: &str) -> String {
    format!("{id}.json")
}

impl Pods {
    /// Takes up what an earlier process left: nothing of it runs any more.
    pub(crate) fn open(parts: Parts) -> Result<Self, StateError> {
        let Parts { images, sandbox_records, container_records, mounts, workloads, http_deadline, now } =
            parts;
        // Private folders are of containers that ran.
        mounts.clear()?;
        let sandboxes = sandbox_records.load_all()?.into_iter().map(|(_, record)| record).collect();
        let containers = container_records.load_all()?.into_iter().map(|(_, record)| record).collect();
        let (sandboxes, containers) = record::recover(sandboxes, containers, now());
        let mut registry = Registry::default();
        for record in sandboxes {
            sandbox_records.store(&record_name(&record.id), &record)?;
            let sandbox = Sandbox { record, claim: None, cpu_nanoseconds_past: 0 };
            registry.sandboxes.insert(sandbox.record.id.clone(), sandbox);
        }
        for record in containers {
            container_records.store(&record_name(&record.id), &record)?;
            registry.containers.insert(record.id.clone(), Container::new(record));
        }
        for name in container_records.names()? {
            if !registry.containers.keys().any(|id| record_name(id) == name) {
                container_records.remove(&name)?;
            }
        }
        Ok(Self {
            images,
            sandbox_records,
            container_records,
            mounts: mounts.folder().to_owned(),
            workloads,
            http_deadline,
            tasks: TaskTracker::new(),
            now,
            events: events::Events::default(),
            registry: Mutex::new(registry),
        })
    }

    fn registry(&self) -> MutexGuard<'_, Registry> {
        self.registry.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tells what has just happened to a sandbox or to a container in it.
    fn emit(&self, registry: &Registry, kind: EventKind, id: &str, sandbox_id: &str) {
        self.events.emit(|| Event {
            kind,
            id: id.to_owned(),
            at: (self.now)(),
            sandbox: registry.sandboxes.get(sandbox_id).map(|sandbox| sandbox.record.clone()),
            containers: registry.of_sandbox(sandbox_id).map(|container| container.record.clone()).collect(),
        });
    }

    /// The events from now on.
    pub(crate) fn events(&self) -> Result<tokio::sync::broadcast::Receiver<Arc<Event>>, PodsError> {
        self.events.listen().ok_or(PodsError::TooManyListeners)
    }

    /// Makes a sandbox, with an address of its own unless it is on the node's network.
    pub(crate) fn run_sandbox(&self, config: SandboxSpec) -> Result<String, PodsError> {
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
        let (pod, pod_uid) = (record.config.full_name(), &record.config.uid);
        tracing::info!(pod, pod_uid, pod_sandbox_id = %id, ?network, "Created sandbox");
        registry.sandboxes.insert(id.clone(), Sandbox { record, claim, cpu_nanoseconds_past: 0 });
        self.emit(&registry, EventKind::Created, &id, &id);
        self.emit(&registry, EventKind::Started, &id, &id);
        Ok(id)
    }

    /// Kills what runs in a sandbox and gives its address up. A sandbox that isn't there is stopped.
    pub(crate) async fn stop_sandbox(&self, id: &str) -> Result<(), PodsError> {
        let was_ready = {
            let mut registry = self.registry();
            let Some(sandbox) = registry.sandboxes.get_mut(id) else { return Ok(()) };
            let was_ready = sandbox.record.ready;
            // First, so that no container starts while the others are being killed.
            sandbox.record.ready = false;
            if was_ready {
                self.sandbox_records.store(&record_name(id), &sandbox.record)?;
            }
            was_ready
        };
        let kills = self
            .containers_of(id)
            .into_iter()
            .map(|container| async move { self.stop_container(&container, Duration::ZERO).await });
        join_all(kills).await.into_iter().collect::<Result<(), _>>()?;
        let mut registry = self.registry();
        if let Some(claim) = registry.sandboxes.get_mut(id).and_then(|sandbox| sandbox.claim.take()) {
            registry.addresses.give_back(claim.address());
        }
        if was_ready {
            self.emit(&registry, EventKind::Stopped, id, id);
        }
        Ok(())
    }

    fn containers_of(&self, sandbox_id: &str) -> Vec<String> {
        let registry = self.registry();
        registry.of_sandbox(sandbox_id).map(|container| container.record.id.clone()).collect()
    }

    /// Stops a sandbox and removes it with its containers. A sandbox that isn't there is removed.
    pub(crate) async fn remove_sandbox(&self, id: &str) -> Result<(), PodsError> {
        self.stop_sandbox(id).await?;
        for container in self.containers_of(id) {
            self.remove_container(&container).await?;
        }
        let mut registry = self.registry();
        self.sandbox_records.remove(&record_name(id))?;
        if registry.sandboxes.remove(id).is_some() {
            self.emit(&registry, EventKind::Deleted, id, id);
        }
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
        Ok((sandbox, registry.of_sandbox(id).map(|container| container.record.clone()).collect()))
    }

    /// Stops everything that runs, as the process is about to end.
    pub(crate) async fn shut_down(&self, grace: Duration) {
        self.events.close();
        let running: Vec<String> = {
            let registry = self.registry();
            let running = registry.containers.values().filter(|container| container.process.is_some());
            running.map(|container| container.record.id.clone()).collect()
        };
        let stops = running.iter().map(|id| self.stop_container(id, grace));
        for error in join_all(stops).await.into_iter().filter_map(Result::err) {
            tracing::error!(%error, "Failed to stop container");
        }
        self.tasks.close();
        if timeout(KILL_LIMIT, self.tasks.wait()).await.is_err() {
            tracing::error!("Timed out stopping workloads");
        }
    }
}

impl Registry {
    fn of_sandbox(&self, sandbox_id: &str) -> impl Iterator<Item = &Container> {
        self.containers.values().filter(move |container| container.record.sandbox_id == sandbox_id)
    }

    fn container(&self, id: &str) -> Result<&Container, PodsError> {
        self.containers.get(id).ok_or_else(|| PodsError::NoContainer { id: id.to_owned() })
    }
}
