//! Memory that all guests on the asynchronous engine share, next to what each may take.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use wasmtime::ResourceLimiter;

use super::{LimitHit, Limits, StoreLimits};

/// How much linear memory all probes and pod sources may have together. Most of it is never touched: a thousand probes
/// of the usual 1.1 MiB fit.
pub(crate) const SHARED_MEMORY_BYTES_MAX: usize = 2 << 30;

/// Memory that several stores draw from.
#[derive(Debug)]
pub(crate) struct MemoryPool {
    taken: AtomicUsize,
    bytes_max: usize,
    /// What this is a share of.
    whole: Option<Arc<MemoryPool>>,
}

impl MemoryPool {
    /// Creates a pool with this much in it.
    pub(crate) fn new(bytes_max: usize) -> Self {
        Self { taken: AtomicUsize::new(0), bytes_max, whole: None }
    }

    /// Creates a share of at most this much of `whole`.
    pub(crate) fn share(whole: Arc<Self>, bytes_max: usize) -> Self {
        Self { taken: AtomicUsize::new(0), bytes_max, whole: Some(whole) }
    }

    /// How much is taken.
    #[cfg(test)]
    pub(crate) fn taken(&self) -> usize {
        self.taken.load(Ordering::Relaxed)
    }

    fn take(&self, bytes: usize) -> bool {
        let taken = |taken: usize| taken.checked_add(bytes).filter(|sum| *sum <= self.bytes_max);
        if self.taken.fetch_update(Ordering::Relaxed, Ordering::Relaxed, taken).is_err() {
            return false;
        }
        let has_all = self.whole.as_ref().is_none_or(|whole| whole.take(bytes));
        if !has_all {
            self.taken.fetch_sub(bytes, Ordering::Relaxed);
        }
        has_all
    }

    fn give_back(&self, bytes: usize) {
        self.taken.fetch_sub(bytes, Ordering::Relaxed);
        if let Some(whole) = &self.whole {
            whole.give_back(bytes);
        }
    }
}

/// What a call took so far; outlives an instance that is cut.
#[derive(Debug, Default)]
pub(crate) struct Usage {
    memory_bytes_peak: AtomicUsize,
    cpu_nanoseconds: AtomicU64,
    runnable_nanoseconds: AtomicU64,
    waited_nanoseconds: AtomicU64,
    /// Whether the guest gave way since this was last asked: it computes and doesn't wait.
    yielded: AtomicBool,
}

impl Usage {
    /// The most that all memories of the instance had together.
    pub(crate) fn memory_bytes_peak(&self) -> usize {
        self.memory_bytes_peak.load(Ordering::Relaxed)
    }

    /// Processor time.
    pub(crate) fn cpu(&self) -> Duration {
        Duration::from_nanos(self.cpu_nanoseconds.load(Ordering::Relaxed))
    }

    /// Adds processor time, and gives the sum.
    pub(crate) fn add_cpu(&self, more: Duration) -> Duration {
        add(&self.cpu_nanoseconds, more)
    }

    /// Time in which it computed or waited for its turn to, not for anything else.
    pub(crate) fn runnable(&self) -> Duration {
        Duration::from_nanos(self.runnable_nanoseconds.load(Ordering::Relaxed))
    }

    /// Adds to [`Self::runnable`].
    pub(crate) fn add_runnable(&self, more: Duration) {
        add(&self.runnable_nanoseconds, more);
    }

    /// Time before it began.
    pub(crate) fn waited(&self) -> Duration {
        Duration::from_nanos(self.waited_nanoseconds.load(Ordering::Relaxed))
    }

    /// Adds to [`Self::waited`].
    pub(crate) fn add_waited(&self, more: Duration) {
        add(&self.waited_nanoseconds, more);
    }

    /// The guest gives way.
    pub(crate) fn note_yield(&self) {
        self.yielded.store(true, Ordering::Relaxed);
    }

    /// Whether it gave way since this was last asked.
    pub(crate) fn take_yielded(&self) -> bool {
        self.yielded.swap(false, Ordering::Relaxed)
    }
}

fn add(nanoseconds: &AtomicU64, more: Duration) -> Duration {
    let more = u64::try_from(more.as_nanos()).unwrap_or(u64::MAX);
    Duration::from_nanos(nanoseconds.fetch_add(more, Ordering::Relaxed).saturating_add(more))
}

/// The limits of a store that draws from a pool.
#[derive(Debug)]
pub(crate) struct PooledLimits {
    own: StoreLimits,
    pool: Arc<MemoryPool>,
    usage: Arc<Usage>,
    /// What the latest growth took from the pool.
    latest: usize,
    /// Whether the pool was empty when this store needed more.
    crowded: bool,
}

impl PooledLimits {
    pub(crate) fn new(limits: Limits, pool: Arc<MemoryPool>) -> Self {
        Self { own: StoreLimits::new(limits), pool, usage: Arc::default(), latest: 0, crowded: false }
    }

    /// The guest gives way.
    pub(crate) fn note_yield(&self) {
        self.usage.note_yield();
    }

    /// Before a call, whose usage is counted here.
    pub(crate) fn begin(&mut self, usage: Arc<Usage>) {
        self.own.begin();
        self.crowded = false;
        self.usage = usage;
        self.note_peak();
    }

    /// See [`StoreLimits::memory_bytes`].
    pub(crate) fn memory_bytes(&self) -> usize {
        self.own.memory_bytes()
    }

    /// See [`StoreLimits::hit`].
    pub(crate) fn hit(&self) -> Option<LimitHit> {
        self.own.hit()
    }

    /// Whether others had taken the memory that this store needed and may have.
    pub(crate) fn crowded(&self) -> bool {
        self.crowded
    }

    fn note_peak(&self) {
        self.usage.memory_bytes_peak.fetch_max(self.own.memory_bytes_peak(), Ordering::Relaxed);
    }
}

impl Drop for PooledLimits {
    fn drop(&mut self) {
        self.pool.give_back(self.own.memory_bytes());
    }
}

impl ResourceLimiter for PooledLimits {
    fn memory_growing(
        &mut self,
        current: usize,
        desired: usize,
        maximum: Option<usize>,
    ) -> wasmtime::Result<bool> {
        self.latest = 0;
        // Its own limit first: who wants more than that can't say that others have it.
        if !self.own.memory_growing(current, desired, maximum)? {
            return Ok(false);
        }
        let more = desired.saturating_sub(current);
        if !self.pool.take(more) {
            self.own.withdraw();
            self.crowded = true;
            return Ok(false);
        }
        self.latest = more;
        self.note_peak();
        Ok(true)
    }

    fn memory_grow_failed(&mut self, error: wasmtime::Error) -> wasmtime::Result<()> {
        self.pool.give_back(std::mem::take(&mut self.latest));
        self.own.memory_grow_failed(error)
    }

    fn table_growing(
        &mut self,
        current: usize,
        desired: usize,
        maximum: Option<usize>,
    ) -> wasmtime::Result<bool> {
        self.own.table_growing(current, desired, maximum)
    }

    fn table_grow_failed(&mut self, error: wasmtime::Error) -> wasmtime::Result<()> {
        self.own.table_grow_failed(error)
    }

    fn instances(&self) -> usize {
        self.own.instances()
    }

    fn tables(&self) -> usize {
        self.own.tables()
    }

    fn memories(&self) -> usize {
        self.own.memories()
    }
}

#[cfg(test)]
mod tests;
