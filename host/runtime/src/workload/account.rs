//! What a container takes, over all its instances: its program, the commands run in it, the requests it answers.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};
use thiserror::Error;

/// A container exceeded its memory limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("exceeded its memory limit of {limit_bytes} bytes")]
pub(crate) struct MemoryExceeded {
    pub(crate) limit_bytes: u64,
}

/// A limit that is lower than what is in use. Linear memories don't shrink, so that such a limit can't be kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("{used_bytes} bytes of memory are in use: the limit can't become {limit_bytes} bytes")]
pub(crate) struct LimitTooLow {
    pub(crate) used_bytes: u64,
    pub(crate) limit_bytes: u64,
}

/// The account of one container.
#[derive(Debug)]
pub(crate) struct Account {
    cpu_nanoseconds: AtomicU64,
    memory: Mutex<Memory>,
}

#[derive(Clone, Copy, Debug)]
struct Memory {
    used_bytes: u64,
    limit_bytes: u64,
}

impl Account {
    /// With nothing taken.
    pub(crate) fn new(memory_limit_bytes: u64) -> Self {
        let memory = Memory { used_bytes: 0, limit_bytes: memory_limit_bytes };
        Self { cpu_nanoseconds: AtomicU64::new(0), memory: Mutex::new(memory) }
    }

    fn memory(&self) -> MutexGuard<'_, Memory> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes `bytes` more memory.
    pub(crate) fn take(&self, bytes: u64) -> Result<(), MemoryExceeded> {
        let mut memory = self.memory();
        let total = memory.used_bytes.saturating_add(bytes);
        if total > memory.limit_bytes {
            return Err(MemoryExceeded { limit_bytes: memory.limit_bytes });
        }
        memory.used_bytes = total;
        Ok(())
    }

    /// Gives `bytes` back.
    pub(crate) fn give_back(&self, bytes: u64) {
        let mut memory = self.memory();
        memory.used_bytes = memory.used_bytes.saturating_sub(bytes);
    }

    /// Returns what all instances' memories have grown to, in bytes.
    pub(crate) fn memory_bytes(&self) -> u64 {
        self.memory().used_bytes
    }

    /// The limit, in bytes.
    pub(crate) fn memory_limit_bytes(&self) -> u64 {
        self.memory().limit_bytes
    }

    /// Changes the limit, unless more is in use already.
    pub(crate) fn set_memory_limit(&self, limit_bytes: u64) -> Result<(), LimitTooLow> {
        let mut memory = self.memory();
        if memory.used_bytes > limit_bytes {
            return Err(LimitTooLow { used_bytes: memory.used_bytes, limit_bytes });
        }
        memory.limit_bytes = limit_bytes;
        Ok(())
    }

    /// Runs `work`, and counts the time that it takes of this thread.
    pub(crate) fn timed<T>(&self, work: impl FnOnce() -> T) -> T {
        let begin = thread_time();
        let result = work();
        let spent = thread_time().saturating_sub(begin);
        self.cpu_nanoseconds
            .fetch_add(u64::try_from(spent.as_nanos()).unwrap_or(u64::MAX), Ordering::Relaxed);
        result
    }

    /// Processor time that was counted, in nanoseconds.
    pub(crate) fn cpu_nanoseconds(&self) -> u64 {
        self.cpu_nanoseconds.load(Ordering::Relaxed)
    }
}

/// Processor time of the calling thread.
fn thread_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(
        u64::try_from(time.tv_sec).unwrap_or_default(),
        u32::try_from(time.tv_nsec).unwrap_or_default(),
    )
}

#[cfg(test)]
mod tests;
