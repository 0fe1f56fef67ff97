//! Instances of a plugin that are kept between calls (`warm`): how many, for how long, and for how many calls.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;

use super::config::Warm;
use crate::role::Role;

#[cfg(test)]
mod tests;

/// What a pool has to know of an instance, whichever engine it belongs to.
pub(super) trait Instance {
    /// The role that it was made for.
    fn role(&self) -> Role;

    /// Bytes of all its linear memories.
    fn memory_bytes(&self) -> usize;
}

/// An instance that may be kept after its call.
pub(super) struct Pooled<I> {
    pub(super) instance: I,
    /// Calls that it has answered.
    uses: u64,
    last_used: Instant,
    /// Its slots of those that kept instances may hold; none before it was kept for the first time.
    slots: Option<OwnedSemaphorePermit>,
}

impl<I> Pooled<I> {
    /// A fresh instance.
    pub(super) fn new(instance: I) -> Self {
        Self { instance, uses: 0, last_used: Instant::now(), slots: None }
    }
}

/// The kept instances of one plugin.
pub(super) struct InstancePool<I> {
    /// None keeps no instances.
    warm: Option<Warm>,
    memory_bytes_max: usize,
    /// That one instance takes of `shared`.
    slots: u32,
    /// What kept instances of all plugins of the engine may hold together.
    shared: Arc<Semaphore>,
    idle: Mutex<Idle<I>>,
}

struct Idle<I> {
    instances: Vec<Pooled<I>>,
    /// The plugin was replaced: no instance is kept any more.
    retired: bool,
}

impl<I: Instance> InstancePool<I> {
    /// A pool of instances that have at most `memory_bytes_max` and take `slots` of `shared`, at least one.
    pub(super) fn new(
        warm: Option<Warm>,
        memory_bytes_max: usize,
        slots: u32,
        shared: Arc<Semaphore>,
    ) -> Self {
        let idle = Mutex::new(Idle { instances: Vec::new(), retired: false });
        Self { warm, memory_bytes_max, slots: slots.max(1), shared, idle }
    }

    /// Returns how many instances of this role are kept.
    pub(super) fn count(&self, role: Role) -> usize {
        self.lock().count(role)
    }

    /// Takes the instance of this role that was used last.
    pub(super) fn take(&self, role: Role) -> Option<Pooled<I>> {
        let mut idle = self.lock();
        let at = idle.instances.iter().rposition(|kept| kept.instance.role() == role)?;
        Some(idle.instances.remove(at))
    }

    /// Keeps an instance for the next call, unless it has answered enough calls, has grown too large, or enough are kept,
    /// of this plugin or of all together.
    pub(super) fn keep(&self, mut pooled: Pooled<I>) {
        let Some(warm) = &self.warm else { return };
        pooled.uses += 1;
        if pooled.uses >= warm.uses || has_grown(pooled.instance.memory_bytes(), self.memory_bytes_max) {
            return;
        }
        if pooled.slots.is_none() {
            match self.shared.clone().try_acquire_many_owned(self.slots) {
                Ok(slots) => pooled.slots = Some(slots),
                Err(_none_left) => return,
            }
        }
        pooled.last_used = Instant::now();
        let mut idle = self.lock();
        if !idle.retired && idle.count(pooled.instance.role()) < warm.max {
            idle.instances.push(pooled);
        }
    }

    /// Drops instances that have been idle for too long.
    pub(super) fn shrink(&self, now: Instant) {
        let Some(warm) = &self.warm else { return };
        self.lock().instances.retain(|kept| now.saturating_duration_since(kept.last_used) < warm.idle);
    }

    /// Drops all kept instances, and keeps none from now on, not even those that are in a call.
    pub(super) fn retire(&self) {
        let mut idle = self.lock();
        idle.retired = true;
        let dropped = std::mem::take(&mut idle.instances);
        // Unmapping them takes time that a call needn't wait for.
        drop(idle);
        drop(dropped);
    }

    fn lock(&self) -> MutexGuard<'_, Idle<I>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<I: Instance> Idle<I> {
    fn count(&self, role: Role) -> usize {
        self.instances.iter().filter(|kept| kept.instance.role() == role).count()
    }
}

/// Whether an instance has more than three quarters of its memory, so that the next call would soon reach the limit.
fn has_grown(memory_bytes: usize, limit: usize) -> bool {
    memory_bytes > limit / 4 * 3
}
