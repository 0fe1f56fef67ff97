//! Keeps bursts of work small: hundreds of pods that begin at once would all be half done, and held in memory, at the same
//! time, and none of them sooner ready for it.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Semaphore;

#[cfg(test)]
mod tests;

/// How many pods' work may begin at the same time.
pub(crate) const TURNS_MAX: usize = 32;
/// Work that takes longer than this waits for something, such as a pull or a grace, and no longer holds up others.
const TURN_MAX: Duration = Duration::from_millis(200);

/// Turns, taken in the order of asking. Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct Turns(Arc<Semaphore>);

impl Turns {
    pub(crate) fn new(at_once: usize) -> Self {
        Self(Arc::new(Semaphore::new(at_once)))
    }

    /// Does the work when it is its turn. Work that takes long goes on without one, so that none ever waits for it. What
    /// the work holds is made only then.
    pub(crate) async fn take<T, F: Future<Output = T>>(&self, work: impl FnOnce() -> F) -> T {
        // Nobody closes it, so that this never fails.
        let turn = self.0.acquire().await.ok();
        let mut work = Box::pin(work());
        match tokio::time::timeout(TURN_MAX, &mut work).await {
            Ok(done) => done,
            Err(_) => {
                drop(turn);
                work.await
            }
        }
    }
}
