//! Work for bodies, of which a bounded amount is done at the same time.

use std::io;
use std::sync::Arc;

use tokio::sync::{Semaphore, SemaphorePermit};

/// Bodies that are made or compressed at the same time, so that many clients at once don't take the machine's processors.
pub(super) const AT_ONCE_MAX: usize = 2;

/// Has work wait for its turn.
#[derive(Clone)]
pub(super) struct BoundedWork {
    pub(super) permits: Arc<Semaphore>,
}

impl Default for BoundedWork {
    fn default() -> Self {
        Self { permits: Arc::new(Semaphore::new(AT_ONCE_MAX)) }
    }
}

impl BoundedWork {
    /// A turn for work of some microseconds, which ends when it is dropped.
    pub(super) async fn turn(&self) -> Option<SemaphorePermit<'_>> {
        // It is never closed.
        self.permits.acquire().await.ok()
    }

    /// Does this on a thread that may take its time. Its permit is given back when it has ended, also if the caller is gone by then.
    pub(super) async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> io::Result<T> {
        let permit = self.permits.clone().acquire_owned().await.map_err(io::Error::other)?;
        let work = move || {
            let _permit = permit;
            work()
        };
        tokio::task::spawn_blocking(work).await.map_err(io::Error::other)
    }
}
