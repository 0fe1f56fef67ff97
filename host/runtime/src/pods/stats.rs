//! What containers and sandboxes take.

use jiff::Timestamp;

use super::{Container, ContainerRecord, Life, Pods, PodsError, Registry, SandboxRecord};

/// What a container takes.
#[derive(Clone, Debug)]
pub(crate) struct ContainerStats {
    pub(crate) record: ContainerRecord,
    /// When it was checked.
    pub(crate) at: Timestamp,
    /// Processor time since it was made: of its program, of commands in it, and of requests that it answered.
    /// Filesystem calls are carried out by other threads, and aren't in it.
    pub(crate) cpu_nanoseconds: u64,
    /// What the linear memories of all its instances have grown to.
    pub(crate) memory_bytes: u64,
    /// What they may grow to.
    pub(crate) memory_limit_bytes: u64,
    /// Bytes and files in its private folders.
    pub(crate) layer: (u64, u64),
    /// What runs in it: its program, commands, and with a handler also connections and requests.
    pub(crate) programs: u64,
}

/// What a sandbox takes.
#[derive(Clone, Debug)]
pub(crate) struct SandboxStats {
    pub(crate) record: SandboxRecord,
    /// When it was checked.
    pub(crate) at: Timestamp,
    /// Its containers that run.
    pub(crate) containers: Vec<ContainerStats>,
    /// Processor time of all its containers, also of those that were removed.
    pub(crate) cpu_nanoseconds: u64,
}

impl Pods {
    fn measure(&self, container: &Container) -> ContainerStats {
        let process = container.process.as_ref();
        ContainerStats {
            record: container.record.clone(),
            at: (self.now)(),
            cpu_nanoseconds: container.account.cpu_nanoseconds(),
            memory_bytes: container.account.memory_bytes(),
            memory_limit_bytes: container.account.memory_limit_bytes(),
            layer: process.map(|process| process.mounts.usage()).unwrap_or_default(),
            programs: process.map_or(0, |process| 1 + process.spec.helpers.len() as u64),
        }
    }

    /// One container, however it is.
    pub(crate) fn container_stats(&self, id: &str) -> Result<ContainerStats, PodsError> {
        Ok(self.measure(self.registry().container(id)?))
    }

    /// The containers that run and are chosen.
    pub(crate) fn running_stats(&self, chosen: impl Fn(&ContainerRecord) -> bool) -> Vec<ContainerStats> {
        let registry = self.registry();
        let running = registry.containers.values().filter(|container| is_running(container));
        running
            .filter(|container| chosen(&container.record))
            .map(|container| self.measure(container))
            .collect()
    }

    fn measure_sandbox(&self, registry: &Registry, id: &str) -> Option<SandboxStats> {
        let sandbox = registry.sandboxes.get(id)?;
        let own = || registry.of_sandbox(id);
        let cpu = own().map(|container| container.account.cpu_nanoseconds()).sum::<u64>();
        Some(SandboxStats {
            record: sandbox.record.clone(),
            at: (self.now)(),
            containers: own().filter(|one| is_running(one)).map(|one| self.measure(one)).collect(),
            cpu_nanoseconds: cpu + sandbox.cpu_nanoseconds_past,
        })
    }

    /// One sandbox, however it is.
    pub(crate) fn sandbox_stats(&self, id: &str) -> Result<SandboxStats, PodsError> {
        let none = || PodsError::NoSandbox { id: id.to_owned() };
        self.measure_sandbox(&self.registry(), id).ok_or_else(none)
    }

    /// The sandboxes that are ready and chosen.
    pub(crate) fn ready_stats(&self, chosen: impl Fn(&SandboxRecord) -> bool) -> Vec<SandboxStats> {
        let registry = self.registry();
        let ready =
            registry.sandboxes.values().filter(|sandbox| sandbox.record.ready && chosen(&sandbox.record));
        ready.filter_map(|sandbox| self.measure_sandbox(&registry, &sandbox.record.id)).collect()
    }
}

fn is_running(container: &Container) -> bool {
    matches!(container.record.life, Life::Running { .. })
}
