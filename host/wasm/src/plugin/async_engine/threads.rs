//! The threads that probes and pod sources run on, apart from the agent's.

use std::io;

use tokio::runtime::{Builder, Handle, Runtime};

/// How many threads run guests.
const WORKERS: usize = 2;
/// How many may wait for files and names.
const BLOCKING_MAX: usize = 64;
/// After how many steps of guests the threads look for what came in. Each step of one that computes takes a tick of the
/// epoch, so that the runtime's own 61 would be a third of a second.
const STEPS_BETWEEN_CHECKS: u32 = 2;

/// Threads with a reactor of their own. What still runs on them when they go is cut.
pub(super) struct Threads(Option<Runtime>);

impl Threads {
    pub(super) fn start() -> io::Result<Self> {
        let runtime = Builder::new_multi_thread()
            .worker_threads(WORKERS)
            .max_blocking_threads(BLOCKING_MAX)
            .thread_name("plugins")
            .event_interval(STEPS_BETWEEN_CHECKS)
            .global_queue_interval(STEPS_BETWEEN_CHECKS)
            .enable_all()
            .build()?;
        Ok(Self(Some(runtime)))
    }

    /// Returns `None` while they end.
    pub(super) fn handle(&self) -> Option<&Handle> {
        self.0.as_ref().map(Runtime::handle)
    }
}

impl Drop for Threads {
    /// They may be dropped by a task that mustn't wait.
    fn drop(&mut self) {
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}
