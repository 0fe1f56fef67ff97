//! Reads the data that entries name, and keeps the last good ones, on disk, too.

mod kept;

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use witlet_core::error::one_line;

use crate::compile;
use crate::guest::data::{DATA_BYTES_MAX, Data, DataOrigin, Snapshot};
use crate::plugin::config::{DataEntry, DataSource};
use kept::KeptData;

/// What is known of one source.
#[derive(Debug)]
struct State {
    origin: Arc<DataOrigin>,
    /// The newest that could be had.
    snapshot: Option<Arc<Snapshot>>,
}

/// A source of which something is other than before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct DataChange {
    pub(super) location: String,
    /// Why the newest can't be had; none if they can.
    pub(super) problem: Option<String>,
    /// The digest of what serves.
    pub(super) digest: Option<String>,
}

/// The data of all entries.
#[derive(Debug, Default)]
pub(super) struct DataStore {
    states: BTreeMap<DataSource, State>,
    kept: Option<KeptData>,
    /// Whether something serves that isn't kept.
    is_unkept: bool,
}

impl DataStore {
    /// With a folder, the last good data outlive the host.
    pub(super) fn new(folder: Option<PathBuf>) -> Self {
        Self { kept: folder.map(KeptData::new), ..Self::default() }
    }

    /// Forgets all sources but these. Returns those of them that were never read.
    pub(super) fn want(&mut self, sources: BTreeSet<DataSource>) -> Vec<DataSource> {
        self.states.retain(|source, _| sources.contains(source));
        sources.into_iter().filter(|source| !self.states.contains_key(source)).collect()
    }

    /// The files that data come from.
    pub(super) fn paths(&self) -> impl Iterator<Item = &Path> {
        self.states.keys().map(|DataSource::File(path)| path.as_path())
    }

    /// Sources whose newest data couldn't be had.
    pub(super) fn failing(&self) -> impl Iterator<Item = &DataSource> {
        self.states.iter().filter(|(_, state)| state.origin.problem().is_some()).map(|(source, _)| source)
    }

    /// Reads these sources. Returns what is other than before.
    pub(super) async fn read(&mut self, sources: Vec<DataSource>) -> Vec<DataChange> {
        if sources.is_empty() {
            return Vec::new();
        }
        let known: BTreeSet<DataSource> = self
            .states
            .iter()
            .filter(|(_, state)| state.snapshot.is_some())
            .map(|(source, _)| source.clone())
            .collect();
        let kept = self.kept.clone();
        let read = tokio::task::spawn_blocking(move || {
            let read = |source: DataSource| {
                let read = read(&source);
                let spare = match &read {
                    Err(_) if !known.contains(&source) => {
                        kept.as_ref().and_then(|kept| kept.load(&source.location()))
                    }
                    Ok(_) | Err(_) => None,
                };
                (source, read, spare)
            };
            sources.into_iter().map(read).collect::<Vec<_>>()
        });
        let Ok(read) = read.await else { return Vec::new() };
        let changes: Vec<DataChange> =
            read.into_iter().filter_map(|(source, read, spare)| self.note(source, read, spare)).collect();
        self.is_unkept |= changes.iter().any(|change| change.problem.is_none());
        changes
    }

    /// Notes what came of reading a source; `spare` is what was kept of it.
    fn note(
        &mut self,
        source: DataSource,
        read: Result<Snapshot, String>,
        spare: Option<Snapshot>,
    ) -> Option<DataChange> {
        let location = source.location();
        let state = self
            .states
            .entry(source)
            .or_insert_with(|| State { origin: Arc::new(DataOrigin::new(location.clone())), snapshot: None });
        let (snapshot, problem) = match read {
            Ok(snapshot) => (Some(snapshot), None),
            Err(problem) => (spare, Some(problem)),
        };
        let before = state.snapshot.as_ref().map(|snapshot| snapshot.digest().to_owned());
        let is_other = snapshot.as_ref().is_some_and(|snapshot| before.as_deref() != Some(snapshot.digest()));
        if is_other {
            state.snapshot = snapshot.map(Arc::new);
        }
        let says_other = state.origin.set_problem(problem.clone());
        let digest = state.snapshot.as_ref().map(|snapshot| snapshot.digest().to_owned());
        (is_other || says_other).then_some(DataChange { location, problem, digest })
    }

    /// Keeps what serves now for the next start, and nothing of other sources.
    pub(super) async fn keep(&mut self) {
        let Some(kept) = self.kept.clone().filter(|_| std::mem::take(&mut self.is_unkept)) else { return };
        let serve = self.states.iter();
        let serve = serve.filter_map(|(source, state)| Some((source.location(), state.snapshot.clone()?)));
        let serve: BTreeMap<String, Arc<Snapshot>> = serve.collect();
        match tokio::task::spawn_blocking(move || kept.save(&serve)).await {
            Ok(Ok(())) => tracing::debug!("Kept data of plugins"),
            Ok(Err(error)) => tracing::warn!(%error, "Failed to keep data of plugins"),
            Err(error) => tracing::debug!(%error, "Task that keeps data of plugins failed"),
        }
    }

    /// An entry's data.
    ///
    /// # Errors
    /// In one sentence, when there are none of one of its sources.
    pub(super) fn of_entry(&self, data: &[DataEntry], folder: &Path) -> Result<Vec<Data>, String> {
        let one = |DataEntry { name, source }: &DataEntry| {
            let state = self.states.get(&source.below(folder));
            let (origin, snapshot) = match state {
                Some(State { origin, snapshot: Some(snapshot) }) => (origin.clone(), snapshot.clone()),
                Some(State { origin, snapshot: None }) => {
                    let problem = origin.problem().unwrap_or_default();
                    return Err(format!("its data {name:?} can't be had: {problem}"));
                }
                None => return Err(format!("its data {name:?} weren't read yet")),
            };
            Ok(Data { name: name.as_str().into(), origin, snapshot })
        };
        data.iter().map(one).collect()
    }
}

/// Reads a source. Blocks as long as the disk does.
fn read(source: &DataSource) -> Result<Snapshot, String> {
    let DataSource::File(path) = source;
    match read_bytes(path) {
        Ok(Some(bytes)) => Ok(Snapshot::new(bytes)),
        Ok(None) => {
            let mebibytes = DATA_BYTES_MAX >> 20;
            Err(format!("{} has more than {DATA_BYTES_MAX} bytes ({mebibytes} MiB)", path.display()))
        }
        Err(error) => Err(format!("read {}: {}", path.display(), one_line(&error))),
    }
}

/// The bytes; none if there are too many.
fn read_bytes(path: &Path) -> io::Result<Option<Vec<u8>>> {
    let file = compile::open_file(path)?;
    let limit = DATA_BYTES_MAX as u64;
    // Looked at first: it is tried again each second.
    if file.metadata()?.len() > limit {
        return Ok(None);
    }
    let mut bytes = Vec::new();
    file.take(limit + 1).read_to_end(&mut bytes)?;
    Ok(Some(bytes).filter(|bytes| bytes.len() <= DATA_BYTES_MAX))
}
