//! Calls of probes and pod sources: guests that wait, on an engine and threads of their own.
//!
//! A guest gives way at every tick of the epoch and is cut by dropping its future: at its deadline, wherever it waits
//! then, or as soon as it has computed for longer than its share. What it takes is counted while it runs, so that it is
//! known of one that was cut, too.

mod checked;
mod error;
mod functions;
mod instance;
mod metered;
mod plugin;
mod state;
mod threads;

#[cfg(test)]
mod tests;

pub(crate) use error::AsyncStartError;
pub(crate) use plugin::{AsyncCalled, AsyncPlugin};
pub use state::StateExcess;

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::Semaphore;
use wasmtime::Engine;
use wasmtime::component::types::ComponentItem;
use wasmtime::component::{Component, Linker};
use witlet_egress::Egress;

use super::config::{Grants, Warm};
use super::pool::InstancePool;
use crate::engine::{self, EngineKind, WAITING_SLOTS, WAITING_TABLES_PER_SLOT};
use crate::guest::async_guest::{AsyncState, GuestSetting};
use crate::guest::data::Data;
use crate::guest::tls::TlsAccess;
use crate::guest::{GrantedSecrets, GuestLog, GuestServices};
use crate::limits::{EpochTicker, Limits, MemoryPool, SHARED_MEMORY_BYTES_MAX, StaticNeeds};
use crate::wasi::{self, async_host::CONNECTIONS_ALL_MAX};
use crate::worlds::detect::Detected;
use crate::worlds::host;
use crate::worlds::pod_source::{self, SourcePre};
use crate::worlds::probe::{self, ProberPre};
use crate::worlds::unserved;
use threads::Threads;

/// Time between two ticks of the epoch: how long a guest computes before others have their turn.
pub(crate) const YIELD_PERIOD: Duration = Duration::from_millis(2);
/// How many slots instances may hold while they wait for their next call; the rest is for calls.
pub(crate) const WARM_SLOTS_MAX: usize = WAITING_SLOTS as usize / 4;
/// How long a guest has to say what it makes of its time being over, before it is cut.
pub(crate) const GRACE: Duration = Duration::from_millis(150);
/// The least processor time that a call may take, whatever its timeout: instantiating an interpreter takes a part of it.
pub(crate) const CPU_MIN: Duration = Duration::from_millis(50);
/// How much a pod source may hand to the host in one call: as much text as pods may have together.
pub(crate) const SOURCE_HOSTCALL_BYTES_MAX: usize = 16 << 20;

/// How much processor time a call may take that has `time`: half of it. One that wants more than half a processor isn't
/// waiting for anything, and two of them would keep a small machine busy.
pub(crate) fn cpu_limit(time: Duration) -> Duration {
    (time / 2).max(CPU_MIN)
}

/// Runs probes and pod sources. The engine and its threads are there as soon as a component is to be linked.
pub(crate) struct AsyncHost {
    egress: Egress,
    machine: Mutex<Option<Arc<Machine>>>,
}

/// What the calls need.
struct Machine {
    engine: Engine,
    linker: Linker<AsyncState>,
    ticker: EpochTicker,
    threads: Threads,
    /// Of the pool, for instances that may be alive.
    slots: Arc<Semaphore>,
    /// Those of them that may wait for their next call.
    warm_slots: Arc<Semaphore>,
    connections: Arc<Semaphore>,
    memory: Arc<MemoryPool>,
}

/// The most that one plugin may have of what all share: whatever it does, a quarter is left to the others.
struct Share {
    slots: Arc<Semaphore>,
    connections: Arc<Semaphore>,
    memory: Arc<MemoryPool>,
}

impl Share {
    fn of(machine: &Machine) -> Self {
        Self {
            slots: Arc::new(Semaphore::new(three_quarters(WAITING_SLOTS as usize))),
            connections: Arc::new(Semaphore::new(three_quarters(CONNECTIONS_ALL_MAX))),
            memory: Arc::new(MemoryPool::share(
                machine.memory.clone(),
                three_quarters(SHARED_MEMORY_BYTES_MAX),
            )),
        }
    }
}

const fn three_quarters(of: usize) -> usize {
    of / 4 * 3
}

/// What the host needs to know of a plugin of these roles, next to its code.
#[derive(Clone, Debug)]
pub(crate) struct AsyncPluginSpec {
    pub(crate) name: Arc<str>,
    /// As JSON text.
    pub(crate) config: Arc<str>,
    /// For one call of a pod source.
    pub(crate) source_timeout: Duration,
    /// For checking the configuration or parameters.
    pub(crate) validate_timeout: Duration,
    pub(crate) memory_bytes: usize,
    /// Whether instances are kept.
    pub(crate) warm: Option<Warm>,
    pub(crate) grants: Arc<Grants>,
    /// The folder behind `/state`; not used unless that is granted.
    pub(crate) state_folder: Option<PathBuf>,
    /// What it may read next to its configuration.
    pub(crate) data: Arc<[Data]>,
}

impl AsyncHost {
    /// Connections leave the node through `egress`.
    pub(crate) fn new(egress: Egress) -> Self {
        Self { egress, machine: Mutex::default() }
    }

    /// The engine that components for this host are compiled for, as `EngineKind::Asynchronous`.
    pub(crate) fn engine(&self) -> Result<Engine, AsyncStartError> {
        Ok(self.machine()?.engine.clone())
    }

    fn machine(&self) -> Result<Arc<Machine>, AsyncStartError> {
        let mut machine = self.machine.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(machine) = &*machine {
            return Ok(machine.clone());
        }
        let made = Arc::new(Machine::start()?);
        *machine = Some(made.clone());
        Ok(made)
    }

    /// Returns what a store of this plugin may take.
    pub(crate) fn limits(spec: &AsyncPluginSpec, detected: &Detected) -> Limits {
        let mut limits = Limits::with_memory(spec.memory_bytes);
        if detected.pod_source.is_some() {
            limits.hostcall_bytes_max = SOURCE_HOSTCALL_BYTES_MAX;
        }
        limits
    }

    /// Links a component that was compiled for this host's engine. Its needs were checked before. An error says what of
    /// its imports or exports doesn't fit the contract.
    pub(crate) fn link(
        &self,
        spec: AsyncPluginSpec,
        given: &GuestServices,
        component: &Component,
        detected: &Detected,
    ) -> Result<Arc<AsyncPlugin>, AsyncStartError> {
        let machine = self.machine()?;
        let linked = machine
            .link(component, detected)
            .map_err(|error| AsyncStartError::Mismatch { message: format!("{error:#}") })?;
        let limits = Self::limits(&spec, detected);
        let slots = slots(&StaticNeeds::of(component));
        let warm_slots = machine.warm_slots.clone();
        let setting = GuestSetting {
            log: GuestLog::new(spec.name.clone(), given.log.clone()),
            metrics: given.metrics.plugin(&spec.name).custom().clone(),
            name: spec.name,
            config: spec.config,
            secrets: GrantedSecrets::new(given.secrets.clone(), spec.grants.secrets.clone()),
            data: spec.data,
            state_folder: spec.state_folder.filter(|_| spec.grants.state),
            containers: given.containers.clone(),
            node: given.node.clone(),
            clock_ahead: given.clock_ahead,
            prolongs_calls: given.prolongs_calls,
            egress: self.egress.share(),
            tls: TlsAccess::new(given.secrets.clone(), &spec.grants),
            grants: spec.grants,
        };
        Ok(Arc::new(AsyncPlugin {
            share: Share::of(&machine),
            machine,
            setting: Arc::new(setting),
            linked,
            limits,
            slots,
            source_timeout: spec.source_timeout,
            validate_timeout: spec.validate_timeout,
            pool: InstancePool::new(spec.warm, limits.memory_bytes_max, slots, warm_slots),
            checked: Mutex::default(),
        }))
    }
}

/// How many of the pool's slots an instance takes: each has one memory and a few tables.
fn slots(needs: &StaticNeeds) -> u32 {
    needs.memories.max(needs.tables.div_ceil(WAITING_TABLES_PER_SLOT)).max(1)
}

/// A component's roles, linked and type-checked.
struct Linked {
    prober: Option<Box<dyn ProberPre>>,
    source: Option<Box<dyn SourcePre>>,
}

impl Machine {
    fn start() -> Result<Self, AsyncStartError> {
        let engine = engine::async_pooled()?;
        let ticker = EpochTicker::start(&engine, YIELD_PERIOD)?;
        let threads = Threads::start().map_err(|cause| AsyncStartError::Threads { cause })?;
        let linker =
            linker(&engine).map_err(|error| AsyncStartError::Linker { message: format!("{error:#}") })?;
        Ok(Self {
            engine,
            linker,
            ticker,
            threads,
            slots: Arc::new(Semaphore::new(WAITING_SLOTS as usize)),
            warm_slots: Arc::new(Semaphore::new(WARM_SLOTS_MAX)),
            connections: Arc::new(Semaphore::new(CONNECTIONS_ALL_MAX)),
            memory: Arc::new(MemoryPool::new(SHARED_MEMORY_BYTES_MAX)),
        })
    }

    fn link(&self, component: &Component, detected: &Detected) -> wasmtime::Result<Linked> {
        let ty = component.component_type();
        let imports: Vec<_> = ty.imports(&self.engine).collect();
        let refused = [detected.denied_async.as_slice(), &detected.unserved];
        let given = wasi::LinkedResources::of(&self.engine, &imports, &refused, unserved::borrowed);
        let (kind, mut linker) = (EngineKind::Asynchronous, self.linker.clone());
        for (name, item) in &imports {
            if let ComponentItem::ComponentInstance(expected) = &item.ty
                && detected.denied_async.iter().any(|denied| denied == name)
            {
                let mut instance = linker.instance(name)?;
                wasi::define_denied(kind, &self.engine, &mut instance, expected, &given)?;
            }
        }
        let denied = &detected.denied_async;
        unserved::define(kind, &self.engine, &mut linker, &imports, denied, &given, AsyncState::host)?;
        let pre = linker.instantiate_pre(component)?;
        let source = match detected.pod_source {
            Some(adapter) => Some((adapter.link)(pre.clone())?),
            None => None,
        };
        let prober = match detected.probe {
            Some(adapter) => Some((adapter.link)(pre)?),
            None => None,
        };
        Ok(Linked { prober, source })
    }
}

fn linker(engine: &Engine) -> wasmtime::Result<Linker<AsyncState>> {
    let mut linker = Linker::new(engine);
    wasi::async_link::add_to_linker(&mut linker)?;
    host::add_to_linker(&mut linker, AsyncState::host)?;
    probe::add_to_linker(&mut linker)?;
    pod_source::add_to_linker(&mut linker)?;
    Ok(linker)
}
