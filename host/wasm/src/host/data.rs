//! The data that entries name: read or fetched, and the last good ones kept, on disk, too.

mod fetch;
mod kept;
mod state;

#[cfg(test)]
pub(super) mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio::task::JoinSet;
use tokio::time::Instant;
use witlet_core::error::one_line;
use witlet_core::refresh;
use witlet_ports::{ArtifactFetcher, Clock, Jitter};

use crate::compile;
use crate::guest::data::{DATA_BYTES_MAX, Data, Snapshot};
use crate::plugin::DataLack;
use crate::plugin::config::{DataEntry, DataSource, RemoteData};
pub(super) use fetch::FetchedData;
use fetch::{FetchFailure, Fetched, RemoteFetcher};
use kept::{KeptData, KeptEntry};
use state::{Differences, Notes, RefreshPolicy, State, TimePair};

/// What entries' data need of the host.
#[derive(Clone, Default)]
pub struct DataConfig {
    /// Keeps the last good data, for starts at which their sources can't be had; without it none are kept.
    pub folder: Option<PathBuf>,
    /// Brings artifacts from registries; without it data with `oci` can't be had.
    pub artifacts: Option<Arc<dyn ArtifactFetcher>>,
    /// Spreads what is fetched, so that nodes don't ask together; without it nothing is spread.
    pub jitter: Option<Arc<dyn Jitter>>,
    /// Fetches nothing: data from elsewhere are those that the folder has, and nothing is written there.
    pub offline: bool,
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
pub(super) struct DataStore {
    states: BTreeMap<DataSource, State>,
    kept: Option<KeptData>,
    fetcher: RemoteFetcher,
    jitter: Option<Arc<dyn Jitter>>,
    clock: Arc<dyn Clock>,
    offline: bool,
    /// Whether something serves that isn't kept, or is kept otherwise.
    is_unkept: bool,
    /// How often in a row nothing could be kept, and when that is tried again.
    keep_failures: u32,
    keep_due: Option<Instant>,
}

impl fmt::Debug for DataStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DataStore").field("states", &self.states).finish_non_exhaustive()
    }
}

impl DataStore {
    pub(super) fn new(config: DataConfig, clock: Arc<dyn Clock>) -> Self {
        let DataConfig { folder, artifacts, jitter, offline } = config;
        Self {
            states: BTreeMap::new(),
            kept: folder.map(KeptData::new),
            fetcher: RemoteFetcher::new(artifacts),
            jitter,
            clock,
            offline,
            is_unkept: false,
            keep_failures: 0,
            keep_due: None,
        }
    }

    fn moment(&self) -> TimePair {
        TimePair { at: Instant::now(), time: self.clock.now() }
    }

    /// Forgets all sources but those of these entries, whose configuration lies in `folder`. Returns those of them that are new.
    pub(super) fn want<'a>(
        &mut self,
        entries: impl IntoIterator<Item = &'a DataEntry>,
        folder: &Path,
    ) -> Vec<DataSource> {
        let mut wishes: BTreeMap<DataSource, RefreshPolicy> = BTreeMap::new();
        for DataEntry { source, refresh, max_age, .. } in entries {
            let wish = wishes.entry(source.below(folder));
            let own = RefreshPolicy { refresh: *refresh, max_age: *max_age };
            wish.and_modify(|wish| *wish = wish.and(own)).or_insert(own);
        }
        self.states.retain(|source, _| wishes.contains_key(source));
        let now = Instant::now();
        let mut new = Vec::new();
        for (source, wish) in wishes {
            match self.states.get_mut(&source) {
                Some(state) if state.wish == wish => {}
                Some(state) => {
                    // Another interval begins now.
                    state.due = state.due.map(|_| now);
                    state.wish = wish;
                }
                None => {
                    self.states.insert(source.clone(), State::new(source.location(), wish));
                    new.push(source);
                }
            }
        }
        new
    }

    /// The files that data come from.
    pub(super) fn paths(&self) -> impl Iterator<Item = &Path> {
        self.states.keys().filter_map(|source| match source {
            DataSource::File(path) => Some(path.as_path()),
            DataSource::Remote(_) => None,
        })
    }

    /// Files whose newest data couldn't be had.
    pub(super) fn failing(&self) -> impl Iterator<Item = &DataSource> {
        let failing = self.states.iter().filter(|(_, state)| state.origin.problem().is_some());
        failing.map(|(source, _)| source).filter(|source| matches!(source, DataSource::File(_)))
    }

    /// Reads these sources. Of those that are fetched it reads what was kept. Returns what is other than before.
    pub(super) async fn read(&mut self, sources: Vec<DataSource>) -> Vec<DataChange> {
        if sources.is_empty() {
            return Vec::new();
        }
        let have = self.states.iter().filter(|(_, state)| state.snapshot.is_some());
        let have: BTreeSet<DataSource> = have.map(|(source, _)| source.clone()).collect();
        let kept = self.kept.clone();
        let reading = tokio::task::spawn_blocking(move || {
            let read = |source: DataSource| {
                let read = match &source {
                    DataSource::File(path) => Some(read(path)),
                    DataSource::Remote(_) => None,
                };
                let needs_kept = !matches!(read, Some(Ok(_))) && !have.contains(&source);
                let kept = kept.as_ref().filter(|_| needs_kept);
                let kept = kept.and_then(|kept| kept.load(&source.key()));
                (source, read, kept)
            };
            sources.into_iter().map(read).collect::<Vec<_>>()
        });
        let Ok(reads) = reading.await else { return Vec::new() };
        let now = self.moment();
        reads
            .into_iter()
            .filter_map(|(source, read, kept)| self.note_read(&source, read, kept, now))
            .collect()
    }

    /// Notes what came of reading a source, `kept` being what was kept of it.
    fn note_read(
        &mut self,
        source: &DataSource,
        read: Option<Result<Snapshot, String>>,
        kept: Option<(Snapshot, Notes)>,
        now: TimePair,
    ) -> Option<DataChange> {
        let offline = self.offline;
        let state = self.states.get_mut(source)?;
        let mut restored = false;
        if let Some((snapshot, notes)) = kept.filter(|(snapshot, _)| takes(source, snapshot)) {
            state.restore(snapshot, notes, now);
            restored = true;
        }
        let differences = match (source, read) {
            (DataSource::File(_), Some(Ok(snapshot))) => {
                let taken = state.take(snapshot, None);
                Differences { is_unkept: taken.is_unkept | state.checked(true, now).is_unkept, ..taken }
            }
            (DataSource::File(_), Some(Err(problem))) => {
                let failed = state.fail(problem);
                Differences { is_unkept: state.checked(false, now).is_unkept, ..failed }
            }
            (DataSource::Remote(_), _) if offline => match &state.snapshot {
                Some(_) => Differences::default(),
                None => {
                    state.fail(format!("{} not found in the kept data (--kept-data)", state.origin.location))
                }
            },
            (DataSource::Remote(remote), _) => {
                let is_final = remote.is_pinned() && state.snapshot.is_some();
                state.due = Some(now.at).filter(|_| !is_final);
                Differences::default()
            }
            (DataSource::File(_), None) => Differences::default(),
        };
        self.is_unkept |= differences.is_unkept;
        let is_other = differences.is_other || restored;
        is_other.then(|| self.change(source)).flatten()
    }

    fn change(&self, source: &DataSource) -> Option<DataChange> {
        let state = self.states.get(source)?;
        let digest = state.snapshot.as_ref().map(|snapshot| snapshot.digest().to_owned());
        Some(DataChange { location: source.location(), problem: state.origin.problem(), digest })
    }

    /// Begins to fetch what is due.
    pub(super) fn fetch_due(&mut self, fetches: &mut JoinSet<FetchedData>) {
        let now = Instant::now();
        for (source, state) in &mut self.states {
            let DataSource::Remote(remote) = source else { continue };
            if !state.is_due(now) {
                continue;
            }
            // What isn't there can't be unchanged.
            let known = state.notes.validators.clone().filter(|_| state.snapshot.is_some());
            let task = fetches.spawn(self.fetcher.clone().fetch(remote.clone(), known));
            state.fetching(task);
        }
    }

    /// Notes what was fetched. Returns what is other than before.
    pub(super) fn fetched(&mut self, fetched: FetchedData) -> Option<DataChange> {
        let (now, chance) = (self.moment(), self.jitter.as_ref().map_or(0.0, |jitter| jitter.unit()));
        let FetchedData { source, result } = fetched;
        let source = DataSource::Remote(source);
        // No entry wants it any more.
        let state = self.states.get_mut(&source)?;
        let (found, failure) = match result {
            Ok(Fetched::File { snapshot, validators }) => (state.take(snapshot, Some(validators)), None),
            Ok(Fetched::Unchanged) => {
                let is_other = state.origin.set_problem(None);
                (Differences { is_other, is_unkept: false }, None)
            }
            Err(FetchFailure { problem, retry_after }) => (state.fail(problem), Some(retry_after)),
        };
        let over = state.fetched(failure, now, chance);
        self.is_unkept |= found.is_unkept || over.is_unkept;
        found.is_other.then(|| self.change(&source)).flatten()
    }

    /// Keeps what serves now for the next start, and nothing of other sources, unless that was tried in vain a moment ago. Returns why it
    /// can't be kept, the first time.
    pub(super) async fn keep(&mut self) -> Option<String> {
        let now = Instant::now();
        let is_late = self.keep_due.is_none_or(|due| due <= now);
        let kept = self.kept.clone().filter(|_| self.is_unkept && is_late && !self.offline)?;
        self.is_unkept = false;
        let serve = self.states.iter();
        let serve = serve.filter_map(|(source, state)| {
            let (snapshot, notes) = (state.snapshot.clone()?, state.notes.clone());
            Some((source.key(), KeptEntry { snapshot, notes }))
        });
        let serve: BTreeMap<String, KeptEntry> = serve.collect();
        let failure = match tokio::task::spawn_blocking(move || kept.save(&serve)).await {
            Ok(Ok(())) => {
                tracing::debug!("Saved data of plugins");
                (self.keep_failures, self.keep_due) = (0, None);
                for state in self.states.values_mut() {
                    state.kept_confirmed = state.notes.confirmed;
                }
                return None;
            }
            Ok(Err(error)) => one_line(&error),
            Err(error) => one_line(&error),
        };
        self.is_unkept = true;
        self.keep_failures = self.keep_failures.saturating_add(1);
        let wait = refresh::RETRY.after(self.keep_failures);
        self.keep_due = Some(now + wait);
        tracing::warn!(error = failure, retry_in_ms = wait.as_millis(), "Failed to save data of plugins");
        Some(failure).filter(|_| self.keep_failures == 1)
    }

    /// The folder in which data are kept.
    pub(super) fn folder(&self) -> Option<&Path> {
        self.kept.as_ref().map(KeptData::folder)
    }

    /// An entry's data.
    ///
    /// # Errors
    /// When there are none of one of its sources.
    pub(super) fn of_entry(&self, data: &[DataEntry], folder: &Path) -> Result<Vec<Data>, DataLack> {
        let one = |DataEntry { name, source, max_age, .. }: &DataEntry| {
            let state = self.states.get(&source.below(folder));
            let Some(state) = state.filter(|state| source.is_remote() || !state.is_pending()) else {
                return Err(DataLack::Missing(format!("data {name:?} not read yet")));
            };
            let Some(snapshot) = state.snapshot.clone() else {
                return Err(match state.origin.problem() {
                    Some(problem) => DataLack::Missing(format!("failed to read data {name:?}: {problem}")),
                    None => DataLack::Pending,
                });
            };
            Ok(Data { name: name.as_str().into(), origin: state.origin.clone(), snapshot, max_age: *max_age })
        };
        data.iter().map(one).collect()
    }
}

fn takes(source: &DataSource, snapshot: &Snapshot) -> bool {
    match source {
        DataSource::File(_) => true,
        DataSource::Remote(remote) => RemoteData::takes(remote, snapshot.digest()),
    }
}

/// Reads a file. Blocks as long as the disk does.
fn read(path: &Path) -> Result<Snapshot, String> {
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
    // Checked first: it is tried again each second.
    if file.metadata()?.len() > limit {
        return Ok(None);
    }
    let mut bytes = Vec::new();
    file.take(limit + 1).read_to_end(&mut bytes)?;
    Ok(Some(bytes).filter(|bytes| bytes.len() <= DATA_BYTES_MAX))
}
