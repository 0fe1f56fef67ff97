//! What a guest may take: memory summed over its store, tables, instances, and time.

mod cpu;
mod shared;
mod ticker;

#[cfg(test)]
mod tests;

pub(crate) use cpu::thread_cpu;
pub(crate) use shared::{MemoryPool, PooledLimits, SHARED_MEMORY_BYTES_MAX, Usage};
pub use ticker::{EpochTicker, TickerError, Ticking};

use std::time::Duration;

use thiserror::Error;
use wasmtime::ResourceLimiter;
use wasmtime::component::Component;

use crate::engine;

/// How much a guest may hand to the host in one call, results of exports included, unless configured otherwise.
pub const HOSTCALL_BYTES_MAX: usize = 2 << 20;
/// How many handles a guest may hold.
pub const HANDLES_MAX: usize = 16 << 10;

/// What one store may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// All linear memories together, in bytes.
    pub memory_bytes_max: usize,
    /// All tables together, in elements.
    pub table_elements_max: usize,
    pub instances_max: usize,
    pub memories_max: usize,
    pub tables_max: usize,
    /// Bytes that one call may hand to the host.
    pub hostcall_bytes_max: usize,
}

impl Limits {
    /// The pool's limits with this much memory.
    pub fn with_memory(memory_bytes_max: usize) -> Self {
        Self {
            memory_bytes_max,
            table_elements_max: engine::POOL_TABLE_ELEMENTS,
            instances_max: engine::COMPONENT_CORE_INSTANCES_MAX as usize,
            memories_max: engine::COMPONENT_MEMORIES_MAX as usize,
            tables_max: engine::COMPONENT_TABLES_MAX as usize,
            hostcall_bytes_max: HOSTCALL_BYTES_MAX,
        }
    }
}

/// A component needs more than it may have before it does anything.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum NeedsError {
    /// Its memories start larger than allowed.
    #[error("needs {needed} bytes of memory to start, but its limit is {limit} bytes")]
    Memory {
        /// All memories together, as far as is known: memories × the largest.
        needed: u64,
        limit: usize,
    },
    /// Its tables start larger than allowed.
    #[error("needs tables of {needed} elements to start, but its limit is {limit} elements")]
    TableElements {
        /// Of the largest table.
        needed: u64,
        limit: usize,
    },
    /// It has more memories than allowed.
    #[error("has {needed} memories, but its limit is {limit}")]
    Memories { needed: u32, limit: usize },
    /// It has more tables than allowed.
    #[error("has {needed} tables, but its limit is {limit}")]
    Tables { needed: u32, limit: usize },
}

/// What a component takes as soon as it is instantiated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StaticNeeds {
    /// Number of linear memories.
    pub memories: u32,
    /// Bytes that the largest memory starts with.
    pub memory_bytes: u64,
    pub tables: u32,
    /// Elements that the largest table starts with.
    pub table_elements: u64,
}

/// Bytes of a WebAssembly page.
const PAGE_BYTES: u64 = 64 << 10;

impl StaticNeeds {
    /// Of a component. One that imports modules has needs that no one can know; such components aren't linked here
    /// anyway, and count as needing nothing.
    pub fn of(component: &Component) -> Self {
        let Some(required) = component.resources_required() else { return Self::default() };
        Self {
            memories: required.num_memories,
            memory_bytes: required.max_initial_memory_size.unwrap_or(0).saturating_mul(PAGE_BYTES),
            tables: required.num_tables,
            table_elements: required.max_initial_table_size.unwrap_or(0),
        }
    }

    /// Whether a store with these limits can hold it.
    ///
    /// # Errors
    /// It starts with more memory, table elements, memories or tables than the limits allow.
    pub fn check(&self, limits: &Limits) -> Result<(), NeedsError> {
        if self.memories as usize > limits.memories_max {
            return Err(NeedsError::Memories { needed: self.memories, limit: limits.memories_max });
        }
        if self.memory_bytes > limits.memory_bytes_max as u64 {
            return Err(NeedsError::Memory { needed: self.memory_bytes, limit: limits.memory_bytes_max });
        }
        if self.tables as usize > limits.tables_max {
            return Err(NeedsError::Tables { needed: self.tables, limit: limits.tables_max });
        }
        if self.table_elements > limits.table_elements_max as u64 {
            return Err(NeedsError::TableElements {
                needed: self.table_elements,
                limit: limits.table_elements_max,
            });
        }
        Ok(())
    }
}

/// Which limit a guest ran into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LimitHit {
    Memory,
    Table,
}

/// Counts what a store takes and refuses what exceeds its limits. Put it into the store's data and hand it out with
/// `Store::limiter`.
#[derive(Debug)]
pub struct StoreLimits {
    limits: Limits,
    memory_bytes: usize,
    memory_bytes_peak: usize,
    memory_granted: usize,
    table_elements: usize,
    table_granted: usize,
    hit: Option<LimitHit>,
}

impl StoreLimits {
    /// Creates limits with nothing taken yet.
    pub fn new(limits: Limits) -> Self {
        Self {
            limits,
            memory_bytes: 0,
            memory_bytes_peak: 0,
            memory_granted: 0,
            table_elements: 0,
            table_granted: 0,
            hit: None,
        }
    }

    /// Returns all linear memories together, in bytes.
    pub fn memory_bytes(&self) -> usize {
        self.memory_bytes
    }

    /// The most that all memories had together.
    pub fn memory_bytes_peak(&self) -> usize {
        self.memory_bytes_peak
    }

    /// The limit that was last run into, if one was: a trap that follows is reported as that.
    pub fn hit(&self) -> Option<LimitHit> {
        self.hit
    }

    /// Before a call: what a call before it ran into says nothing about this one.
    pub fn begin(&mut self) {
        self.hit = None;
    }

    /// Takes the memory that was granted last back: it isn't there.
    fn withdraw(&mut self) {
        self.memory_bytes = self.memory_bytes.saturating_sub(std::mem::take(&mut self.memory_granted));
    }
}

impl ResourceLimiter for StoreLimits {
    fn memory_growing(
        &mut self,
        current: usize,
        desired: usize,
        _maximum: Option<usize>,
    ) -> wasmtime::Result<bool> {
        let more = desired.saturating_sub(current);
        let total = self.memory_bytes.saturating_add(more);
        if total > self.limits.memory_bytes_max {
            self.hit = Some(LimitHit::Memory);
            return Ok(false);
        }
        self.memory_bytes = total;
        self.memory_granted = more;
        self.memory_bytes_peak = self.memory_bytes_peak.max(total);
        Ok(true)
    }

    fn memory_grow_failed(&mut self, error: wasmtime::Error) -> wasmtime::Result<()> {
        self.withdraw();
        self.hit = Some(LimitHit::Memory);
        tracing::debug!(%error, "Failed to grow memory of a guest");
        Ok(())
    }

    fn table_growing(
        &mut self,
        current: usize,
        desired: usize,
        _maximum: Option<usize>,
    ) -> wasmtime::Result<bool> {
        let more = desired.saturating_sub(current);
        let total = self.table_elements.saturating_add(more);
        if total > self.limits.table_elements_max {
            self.hit = Some(LimitHit::Table);
            return Ok(false);
        }
        self.table_elements = total;
        self.table_granted = more;
        Ok(true)
    }

    fn table_grow_failed(&mut self, error: wasmtime::Error) -> wasmtime::Result<()> {
        self.table_elements = self.table_elements.saturating_sub(self.table_granted);
        self.table_granted = 0;
        self.hit = Some(LimitHit::Table);
        tracing::debug!(%error, "Failed to grow table of a guest");
        Ok(())
    }

    fn instances(&self) -> usize {
        self.limits.instances_max
    }

    fn tables(&self) -> usize {
        self.limits.tables_max
    }

    fn memories(&self) -> usize {
        self.limits.memories_max
    }
}

/// How many epochs make up `time`, rounded up, and one more because the running one has begun already.
pub fn epochs(time: Duration, period: Duration) -> u64 {
    let ticks = time.as_nanos().div_ceil(period.as_nanos().max(1));
    u64::try_from(ticks).unwrap_or(u64::MAX - 1).saturating_add(1)
}
