//! The memory limit of a container: who wants more is killed at once, as by a cgroup.

use std::sync::Arc;

use wasmtime::ResourceLimiter;
use witlet_wasm::limits::{Limits, StoreLimits};

use super::account::Account;

/// Counts one instance's tables as [`StoreLimits`] does, and its memory on the container's account. A request that
/// exceeds the account ends the instance instead of failing. What the instance took is given back when it ends.
#[derive(Debug)]
pub(crate) struct InstanceLimits {
    tables: StoreLimits,
    account: Arc<Account>,
    taken_bytes: u64,
    granted_bytes: u64,
}

impl InstanceLimits {
    /// Creates the limiter with nothing taken yet.
    pub(crate) fn new(account: Arc<Account>) -> Self {
        // The account decides about memory.
        let tables = StoreLimits::new(Limits::with_memory(usize::MAX));
        Self { tables, account, taken_bytes: 0, granted_bytes: 0 }
    }
}

impl Drop for InstanceLimits {
    fn drop(&mut self) {
        self.account.give_back(self.taken_bytes);
    }
}

impl ResourceLimiter for InstanceLimits {
    fn memory_growing(
        &mut self,
        current: usize,
        desired: usize,
        _maximum: Option<usize>,
    ) -> wasmtime::Result<bool> {
        let more = desired.saturating_sub(current) as u64;
        self.account.take(more).map_err(wasmtime::Error::new)?;
        self.taken_bytes = self.taken_bytes.saturating_add(more);
        self.granted_bytes = more;
        Ok(true)
    }

    fn memory_grow_failed(&mut self, error: wasmtime::Error) -> wasmtime::Result<()> {
        self.account.give_back(self.granted_bytes);
        self.taken_bytes = self.taken_bytes.saturating_sub(self.granted_bytes);
        self.granted_bytes = 0;
        tracing::debug!(%error, "Failed to grow memory of workload");
        Ok(())
    }

    fn table_growing(
        &mut self,
        current: usize,
        desired: usize,
        maximum: Option<usize>,
    ) -> wasmtime::Result<bool> {
        self.tables.table_growing(current, desired, maximum)
    }

    fn table_grow_failed(&mut self, error: wasmtime::Error) -> wasmtime::Result<()> {
        self.tables.table_grow_failed(error)
    }

    fn instances(&self) -> usize {
        self.tables.instances()
    }

    fn tables(&self) -> usize {
        self.tables.tables()
    }

    fn memories(&self) -> usize {
        self.tables.memories()
    }
}
