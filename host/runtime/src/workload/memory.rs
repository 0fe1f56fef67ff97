//! The memory limit of a container: who wants more is killed at once, as by a cgroup.

use thiserror::Error;
use wasmtime::ResourceLimiter;
use witlet_wasm::limits::{Limits, StoreLimits};

/// A workload wanted more memory than it may have.
#[derive(Clone, Copy, Debug, Error)]
#[error("wanted more memory than its limit of {limit_bytes} bytes")]
pub(crate) struct MemoryExceeded {
    /// The limit.
    pub(crate) limit_bytes: usize,
}

/// Counts as [`StoreLimits`] does, but ends a workload instead of letting its request fail.
#[derive(Debug)]
pub(crate) struct MemoryLimit {
    counted: StoreLimits,
    limit_bytes: usize,
}

impl MemoryLimit {
    /// With nothing taken yet.
    pub(crate) fn new(limits: Limits) -> Self {
        Self { counted: StoreLimits::new(limits), limit_bytes: limits.memory_bytes_max }
    }

    fn exceeded(&self) -> wasmtime::Error {
        wasmtime::Error::new(MemoryExceeded { limit_bytes: self.limit_bytes })
    }
}

impl ResourceLimiter for MemoryLimit {
    fn memory_growing(
        &mut self,
        current: usize,
        desired: usize,
        maximum: Option<usize>,
    ) -> wasmtime::Result<bool> {
        if self.counted.memory_growing(current, desired, maximum)? { Ok(true) } else { Err(self.exceeded()) }
    }

    fn memory_grow_failed(&mut self, error: wasmtime::Error) -> wasmtime::Result<()> {
        self.counted.memory_grow_failed(error)
    }

    fn table_growing(
        &mut self,
        current: usize,
        desired: usize,
        maximum: Option<usize>,
    ) -> wasmtime::Result<bool> {
        self.counted.table_growing(current, desired, maximum)
    }

    fn table_grow_failed(&mut self, error: wasmtime::Error) -> wasmtime::Result<()> {
        self.counted.table_grow_failed(error)
    }

    fn instances(&self) -> usize {
        self.counted.instances()
    }

    fn tables(&self) -> usize {
        self.counted.tables()
    }

    fn memories(&self) -> usize {
        self.counted.memories()
    }
}
