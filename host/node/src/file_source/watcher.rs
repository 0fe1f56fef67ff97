//! inotify on the folder, wherever it is now.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use notify::event::{AccessKind, AccessMode, EventKind, ModifyKind, RenameMode};
use notify::{RecommendedWatcher, RecursiveMode, Watcher as _};
use tokio::sync::mpsc;

/// One note is as good as many: a check sees everything.
const NOTES_MAX: usize = 1;
/// Removed files that are remembered until a scan asks for them; beyond that one that is there again counts as never gone.
const REMOVED_MAX: usize = 1000;

/// Notes that something happened in a folder (for a file: in the folder that it is in). A folder that doesn't exist is
/// waited for in its parent. Without inotify (its limits are the machine's), there are no notes, and the full list has to
/// do.
pub struct FolderWatcher {
    path: PathBuf,
    watcher: Option<RecommendedWatcher>,
    notes: mpsc::Receiver<()>,
    removed: RemovedFiles,
    watched: Option<Watched>,
}

/// Files that were removed or renamed since that was last asked.
#[derive(Clone, Debug, Default)]
pub(super) struct RemovedFiles(Arc<Mutex<BTreeSet<PathBuf>>>);

impl RemovedFiles {
    /// Gives them, and forgets them.
    pub(super) fn take(&self) -> BTreeSet<PathBuf> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn note(&self, event: &notify::Event) {
        if !takes_away(&event.kind) {
            return;
        }
        let mut removed = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(path) = event.paths.first().filter(|_| removed.len() < REMOVED_MAX) {
            removed.insert(path.clone());
        }
    }
}

#[derive(Debug, PartialEq, Eq)]
struct Watched {
    path: PathBuf,
    device: u64,
    inode: u64,
    /// A folder removed and made again may get the inode of the old one, and the old one's watch is gone.
    born: Option<SystemTime>,
}

impl FolderWatcher {
    /// Of what is at the path, or will be. Nothing is watched before [`Self::follow`].
    pub fn new(path: PathBuf) -> Self {
        let (sender, notes) = mpsc::channel(NOTES_MAX);
        let removed = RemovedFiles::default();
        let noted = removed.clone();
        let handler = move |event: notify::Result<notify::Event>| {
            if let Ok(event) = &event {
                noted.note(event);
            }
            if event.as_ref().map_or(true, |event| matters(&event.kind)) {
                // A full channel already holds the note.
                let _ = sender.try_send(());
            }
        };
        let watcher = notify::recommended_watcher(handler)
            .inspect_err(|error| {
                tracing::warn!(%error, "Unable to create inotify; changes of files are noticed by listing only");
            })
            .ok();
        Self { path, watcher, notes, removed, watched: None }
    }

    /// Returns when something happened since it last returned; never without inotify. Cancel-safe.
    pub async fn changed(&mut self) {
        if self.notes.recv().await.is_none() {
            std::future::pending().await
        }
    }

    /// Files that were removed since that was last asked, and may be there again.
    pub(super) fn removed(&self) -> RemovedFiles {
        self.removed.clone()
    }

    /// Watches what is at the path now, if it isn't what was there before.
    pub fn follow(&mut self) {
        let Some(watcher) = &mut self.watcher else { return };
        let target = target(&self.path);
        if target == self.watched {
            return;
        }
        if let Some(old) = self.watched.take() {
            // It may be gone, and its watch with it.
            let _ = watcher.unwatch(&old.path);
        }
        if let Some(target) = target {
            match watcher.watch(&target.path, RecursiveMode::NonRecursive) {
                Ok(()) => self.watched = Some(target),
                Err(error) => {
                    let path = target.path.display();
                    tracing::warn!(%path, %error, "Unable to watch folder; its changes are noticed by listing only");
                }
            }
        }
    }
}

/// The folder, else the nearest folder above that exists.
fn target(path: &Path) -> Option<Watched> {
    path.ancestors().map(|path| if path.as_os_str().is_empty() { Path::new(".") } else { path }).find_map(
        |path| {
            let metadata = fs::metadata(path).ok().filter(fs::Metadata::is_dir)?;
            let born = metadata.created().ok();
            Some(Watched { path: path.to_owned(), device: metadata.dev(), inode: metadata.ino(), born })
        },
    )
}

/// Reading is nothing new; the agent itself reads.
fn matters(kind: &EventKind) -> bool {
    match kind {
        EventKind::Access(AccessKind::Close(AccessMode::Write)) => true,
        EventKind::Access(_) => false,
        EventKind::Any
        | EventKind::Create(_)
        | EventKind::Modify(_)
        | EventKind::Remove(_)
        | EventKind::Other => true,
    }
}

/// Whether a name is gone after that.
fn takes_away(kind: &EventKind) -> bool {
    match kind {
        EventKind::Remove(_) | EventKind::Modify(ModifyKind::Name(RenameMode::From)) => true,
        EventKind::Modify(_)
        | EventKind::Any
        | EventKind::Access(_)
        | EventKind::Create(_)
        | EventKind::Other => false,
    }
}
