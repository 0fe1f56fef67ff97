//! Turns and names of archives of containers that are saved.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

#[cfg(test)]
mod tests;

/// Containers that are saved at the same time; further ones wait.
const AT_ONCE_MAX: usize = 4;
/// So many wait; further ones are refused.
const WAITING_MAX: usize = 32;
/// Archives of one container and second.
const OF_SECOND_MAX: usize = 1000;

/// Capacity for checkpoints. What is saved has its place until the runtime is done with it, also for a client that is gone.
pub(super) struct CheckpointCapacity {
    /// One for each request.
    places: Arc<Semaphore>,
    /// One for each container that is being saved.
    turns: Arc<Semaphore>,
    /// Archives that are being written, and aren't there yet.
    pub(super) names: Arc<Mutex<BTreeSet<PathBuf>>>,
}

impl Default for CheckpointCapacity {
    fn default() -> Self {
        Self {
            places: Arc::new(Semaphore::new(AT_ONCE_MAX + WAITING_MAX)),
            turns: Arc::new(Semaphore::new(AT_ONCE_MAX)),
            names: Arc::default(),
        }
    }
}

impl CheckpointCapacity {
    /// Waits for a turn; none if too many wait.
    pub(super) async fn turn(&self) -> Option<[OwnedSemaphorePermit; 2]> {
        let place = self.places.clone().try_acquire_owned().ok()?;
        Some([self.turns.clone().acquire_owned().await.ok()?, place])
    }
}

/// The name of an archive, given until this is dropped.
pub(super) struct ArchiveName {
    pub(super) path: PathBuf,
    given: Arc<Mutex<BTreeSet<PathBuf>>>,
}

impl ArchiveName {
    /// The first name that no archive has: the one that upstream gives, or the same with a number for a further archive of the second.
    pub(super) fn give(folder: &Path, name: &str, given: &Arc<Mutex<BTreeSet<PathBuf>>>) -> io::Result<Self> {
        let numbered = (2..=OF_SECOND_MAX).map(|number| format!("{name}-{number}.tar"));
        let mut paths = std::iter::once(format!("{name}.tar")).chain(numbered).map(|name| folder.join(name));
        let mut names = given.lock().unwrap_or_else(PoisonError::into_inner);
        let is_free = |path: &PathBuf| !path.exists() && names.insert(path.clone());
        let path = paths.find(is_free).ok_or(io::ErrorKind::AlreadyExists)?;
        Ok(Self { path, given: given.clone() })
    }
}

impl Drop for ArchiveName {
    fn drop(&mut self) {
        self.given.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.path);
    }
}
