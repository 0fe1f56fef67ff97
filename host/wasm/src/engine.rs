//! The engines that components run on, and the settings of their pools.
//!
//! Both engines are made by the same functions in the daemon and in the compiling child, so that what one compiled
//! fits the other.

use std::fmt;

use thiserror::Error;
use wasmtime::{Config, Engine, InstanceAllocationStrategy, PoolingAllocationConfig};

/// How many instances may be alive at once on the synchronous engine. A node asks about one pod at a time, so that
/// this is many; each slot costs address space only.
pub const POOL_SLOTS: u32 = 64;
/// How many memories of probes and pod sources may be alive at once on their engine, most of which wait. As many as
/// probes run at once.
pub const WAITING_SLOTS: u32 = 1024;
/// How many tables there are for each of them. Components have two or three; one with more takes several slots.
pub const WAITING_TABLES_PER_SLOT: u32 = 4;
/// How large the linear memory of one instance may become in a pool, whatever its configuration says.
pub const POOL_MEMORY_BYTES_MAX: usize = 128 << 20;
/// How many elements a table may have. Large C# and Go programs need more than ten thousand.
pub const POOL_TABLE_ELEMENTS: usize = 40_000;
/// How many core instances, memories and tables one component may consist of.
pub const COMPONENT_CORE_INSTANCES_MAX: u32 = 32;
/// See [`COMPONENT_CORE_INSTANCES_MAX`].
pub const COMPONENT_MEMORIES_MAX: u32 = 4;
/// See [`COMPONENT_CORE_INSTANCES_MAX`].
pub const COMPONENT_TABLES_MAX: u32 = 16;
/// What a slot's memory keeps from its start between two instances, cleared by hand; the rest goes back to the kernel.
/// Nothing: guests have their stack first (a megabyte, of which they use the far end), so that clearing the start
/// costs microseconds and saves no page fault.
pub const MEMORY_KEEP_RESIDENT_BYTES: usize = 0;
/// The same for tables.
pub const TABLE_KEEP_RESIDENT_BYTES: usize = 8 << 10;
/// Slots that stay tied to a component's image after use.
pub const POOL_WARM_SLOTS_MAX: u32 = 16;
/// How much of the native stack a guest may use.
pub const GUEST_STACK_BYTES: usize = 512 << 10;
/// The stack of one asynchronous guest: the guest's share and as much again for host functions.
pub const ASYNC_STACK_BYTES: usize = 2 * GUEST_STACK_BYTES;

/// Which engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum EngineKind {
    /// Synchronous calls that never block: admission.
    Synchronous,
    /// Guests that wait and yield: probes, pod sources, and workloads of the embedded runtime.
    Asynchronous,
}

impl EngineKind {
    /// The word for it on the compiler's command line and in the cache.
    pub fn name(self) -> &'static str {
        match self {
            Self::Synchronous => "synchronous",
            Self::Asynchronous => "asynchronous",
        }
    }

    /// The kind of this name.
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::Synchronous, Self::Asynchronous].into_iter().find(|kind| kind.name() == name)
    }
}

impl fmt::Display for EngineKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// An engine couldn't be made: the settings don't fit the machine, or it has no address space left.
#[derive(Debug, Error)]
#[error("failed to make the {kind} engine")]
pub struct EngineError {
    pub kind: EngineKind,
    #[source]
    pub cause: Box<dyn std::error::Error + Send + Sync>,
}

/// Everything that compiled code depends on. The allocator isn't part of it, so that the compiler needs no pool.
fn settings(kind: EngineKind) -> Config {
    let mut config = Config::new();
    config
        .wasm_component_model(true)
        .epoch_interruption(true)
        .concurrency_support(false)
        .memory_init_cow(true)
        // 64-bit memories lose the cheap bounds checks and no toolchain for components makes them.
        .wasm_memory64(false)
        // Guests are small: an address map costs more than a backtrace with names is worth.
        .generate_address_map(false)
        .native_unwind_info(false)
        .max_wasm_stack(GUEST_STACK_BYTES);
    match kind {
        EngineKind::Synchronous => {}
        EngineKind::Asynchronous => {
            config.async_stack_size(ASYNC_STACK_BYTES);
        }
    }
    config
}

fn make(kind: EngineKind, config: &Config) -> Result<Engine, EngineError> {
    Engine::new(config).map_err(|cause| EngineError { kind, cause: cause.into() })
}

/// The engine that a compiling child uses: code for `kind`, without its pool.
///
/// # Errors
/// The engine can't be made on this machine.
pub fn compiling(kind: EngineKind) -> Result<Engine, EngineError> {
    make(kind, &settings(kind))
}

/// A pool of `slots` instances with one memory and so many tables each; more slots cost address space and a few bytes of
/// bookkeeping.
fn pool(slots: u32, tables: u32) -> PoolingAllocationConfig {
    let mut pool = PoolingAllocationConfig::new();
    pool.total_component_instances(slots)
        .total_core_instances(slots * COMPONENT_CORE_INSTANCES_MAX)
        .total_memories(slots)
        .total_tables(slots * tables)
        .total_stacks(slots)
        .max_core_instances_per_component(COMPONENT_CORE_INSTANCES_MAX)
        .max_memories_per_component(COMPONENT_MEMORIES_MAX)
        .max_tables_per_component(COMPONENT_TABLES_MAX)
        .max_tables_per_module(COMPONENT_TABLES_MAX)
        .max_memories_per_module(COMPONENT_MEMORIES_MAX)
        .table_elements(POOL_TABLE_ELEMENTS)
        .max_memory_size(POOL_MEMORY_BYTES_MAX)
        .max_unused_warm_slots(POOL_WARM_SLOTS_MAX)
        .linear_memory_keep_resident(MEMORY_KEEP_RESIDENT_BYTES)
        .table_keep_resident(TABLE_KEEP_RESIDENT_BYTES);
    pool
}

fn pooled(kind: EngineKind, pool: PoolingAllocationConfig) -> Result<Engine, EngineError> {
    let mut config = settings(kind);
    config.allocation_strategy(InstanceAllocationStrategy::Pooling(pool));
    make(kind, &config)
}

/// The engine of admission: instances from a pool, copy-on-write memory images, calls that epochs interrupt.
///
/// # Errors
/// The engine can't be made on this machine.
pub fn synchronous() -> Result<Engine, EngineError> {
    pooled(EngineKind::Synchronous, pool(POOL_SLOTS, COMPONENT_TABLES_MAX))
}

/// The engine of probes and pod sources: as admission's, with calls that wait and give way. Code for
/// [`EngineKind::Asynchronous`] fits.
///
/// # Errors
/// The engine can't be made on this machine.
pub fn async_pooled() -> Result<Engine, EngineError> {
    pooled(EngineKind::Asynchronous, pool(WAITING_SLOTS, WAITING_TABLES_PER_SLOT))
}

/// The engine of workloads, which live long: memory is allocated on demand, because there are few and they stay.
///
/// # Errors
/// The engine can't be made on this machine.
pub fn asynchronous() -> Result<Engine, EngineError> {
    make(EngineKind::Asynchronous, &settings(EngineKind::Asynchronous))
}
