//! Waits for changes of the files that an evaluation reads.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::task::JoinSet;
use witlet_node::{FileStamp, FolderWatcher};
use witlet_wasm::plugin::config::{self, ComponentSource, FILE_BYTES_MAX};

use super::files::STANDARD_INPUT;
use super::handlers::config_file;
use crate::bounded;
use crate::cli::EvalArgs;

/// A change is taken when the files have stayed as they are for so long: editors write in several steps.
const SETTLE: Duration = Duration::from_millis(100);
/// How often the files are checked where nothing notes their changes.
const POLL_PERIOD: Duration = Duration::from_secs(2);
/// One note is as good as many.
const NOTES_MAX: usize = 1;

/// What was seen of each file; none of one that isn't there.
type FileStamps = BTreeMap<PathBuf, Option<FileStamp>>;

/// The files, and what was seen of them.
pub(super) struct FileWatch {
    seen: FileStamps,
    folders: BTreeSet<PathBuf>,
    /// One for each folder.
    watchers: JoinSet<()>,
    notes: mpsc::Receiver<()>,
}

impl FileWatch {
    pub(super) fn new() -> Self {
        let (_, notes) = mpsc::channel(NOTES_MAX);
        Self { seen: FileStamps::new(), folders: BTreeSet::new(), watchers: JoinSet::new(), notes }
    }

    /// Checks these files: what happens to them from now on is a change. Returns how many they are.
    pub(super) fn follow(&mut self, files: BTreeSet<PathBuf>) -> usize {
        let folders: BTreeSet<PathBuf> =
            files.iter().map(|path| path.parent().unwrap_or(Path::new("")).to_owned()).collect();
        if folders != self.folders {
            self.watchers = JoinSet::new();
            let (sender, notes) = mpsc::channel(NOTES_MAX);
            for folder in &folders {
                let mut watcher = FolderWatcher::new(folder.clone());
                watcher.follow();
                let sender = sender.clone();
                self.watchers.spawn(async move {
                    loop {
                        watcher.changed().await;
                        // A full channel already holds the note.
                        let _ = sender.try_send(());
                        watcher.follow();
                    }
                });
            }
            (self.folders, self.notes) = (folders, notes);
        }
        // After the watchers: what happens in between is seen here or noted there.
        self.seen = stamps(files);
        self.seen.len()
    }

    /// Returns when a file isn't what it was at [`Self::follow`], and stays so.
    pub(super) async fn changed(&mut self) {
        loop {
            let mut now = self.stamps();
            while now != self.seen {
                tokio::time::sleep(SETTLE).await;
                let next = self.stamps();
                if next == now {
                    return;
                }
                now = next;
            }
            tokio::select! {
                Some(()) = self.notes.recv() => {}
                () = tokio::time::sleep(POLL_PERIOD) => {}
            }
        }
    }

    fn stamps(&self) -> FileStamps {
        stamps(self.seen.keys().cloned())
    }
}

fn stamps(files: impl IntoIterator<Item = PathBuf>) -> FileStamps {
    let stamp = |path: &Path| std::fs::metadata(path).ok().as_ref().map(FileStamp::of);
    files.into_iter().map(|path| (path.clone(), stamp(&path))).collect()
}

/// Returns all files that the evaluation reads, as far as they can be read again.
pub(super) fn inputs(args: &EvalArgs) -> BTreeSet<PathBuf> {
    let mut files = all(args);
    files.remove(Path::new(STANDARD_INPUT));
    files
}

/// Whether standard input is one of them.
pub(super) fn has_standard_input(args: &EvalArgs) -> bool {
    all(args).contains(Path::new(STANDARD_INPUT))
}

fn all(args: &EvalArgs) -> BTreeSet<PathBuf> {
    let mut files: BTreeSet<PathBuf> = args.files.iter().chain(&args.recording).cloned().collect();
    let plugins = &args.handlers.plugins;
    files.extend([plugins, &args.node, &args.others, &args.old].into_iter().flatten().cloned());
    files.extend(args.config.iter().filter_map(|text| config_file(text)).map(PathBuf::from));
    let is_file = |component: &&String| !component.contains(':');
    files.extend(args.component.iter().filter(is_file).map(PathBuf::from));
    files.extend(plugins.iter().flat_map(|path| named_in(path)));
    files
}

/// The components and secrets that a plugin file names; none if it can't be read as one.
fn named_in(plugins: &Path) -> Vec<PathBuf> {
    // A pipe would be waited for again and again.
    let is_file = std::fs::metadata(plugins).is_ok_and(|metadata| metadata.is_file());
    let text = is_file.then(|| bounded::read_text(plugins, FILE_BYTES_MAX as u64).ok()).flatten();
    let text = text.unwrap_or_default();
    let shipped: Vec<&str> = witlet_plugins::SHIPPED.iter().map(|shipped| shipped.name).collect();
    let known = config::Shipped { reserved: &[], probe_types: &[], components: &shipped };
    let Ok(configuration) = config::parse(&text, known) else { return Vec::new() };
    let components = configuration.plugins.into_iter().filter_map(|entry| match entry.component {
        ComponentSource::File(path) => Some(path),
        ComponentSource::Shipped(_) | ComponentSource::Registry { .. } => None,
    });
    let secrets = configuration.secrets.into_iter().map(|secret| secret.file);
    let folder = plugins.parent().unwrap_or(Path::new(""));
    components.chain(secrets).map(|path| folder.join(path)).collect()
}

#[cfg(test)]
mod tests;
