//! The last good data on disk: what a start goes on with when their sources can't be had.
//!
//! One folder holds [`INDEX`], which says which data were a source's last, and a file for each of them, whose name is its digest.
//! A few older ones of each source stay, so that calls that were recorded with them can be replayed.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, DirBuilder, File};
use std::io::{self, Read as _};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use witlet_egress::Validators;

use super::super::last_good::write;
use super::state::Notes;
use crate::compile;
use crate::guest::data::{DATA_BYTES_MAX, Snapshot};

/// The file that says what is kept. It is written last, so that it never names data that aren't whole.
const INDEX: &str = "index.json";
/// The form of [`INDEX`]. Another one isn't read.
const FORM: u32 = 1;
/// Bytes of [`INDEX`] at most.
const INDEX_BYTES_MAX: u64 = 1 << 20;
/// How many data of one source are kept, the newest among them.
pub(super) const KEPT_MAX: usize = 3;

#[derive(Debug, Default, Serialize, Deserialize)]
struct Index {
    form: u32,
    /// Digests by source, the newest first.
    sources: BTreeMap<String, Vec<String>>,
    /// What is noted of the newest of them. Earlier builds have none.
    #[serde(default)]
    notes: BTreeMap<String, IndexNotes>,
}

/// As the index has them.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct IndexNotes {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    confirmed: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    etag: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    last_modified: Option<String>,
}

impl IndexNotes {
    fn of(notes: &Notes) -> Self {
        let Notes { confirmed, validators } = notes.clone();
        let Validators { etag, last_modified } = validators.unwrap_or_default();
        Self { confirmed, etag, last_modified }
    }

    fn notes(&self) -> Notes {
        let Self { confirmed, etag, last_modified } = self;
        let validators = Validators { etag: etag.clone(), last_modified: last_modified.clone() };
        let validators = Some(validators).filter(|known| *known != Validators::default());
        Notes { confirmed: *confirmed, validators }
    }
}

/// What is kept of one source.
#[derive(Debug)]
pub(super) struct KeptEntry {
    pub(super) snapshot: Arc<Snapshot>,
    pub(super) notes: Notes,
}

/// The folder with them.
#[derive(Clone, Debug)]
pub(super) struct KeptData {
    folder: PathBuf,
}

impl KeptData {
    pub(super) fn new(folder: PathBuf) -> Self {
        Self { folder }
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// The last good data of this source, if they are kept and whole, and what was noted of them. Blocks as long as the disk does.
    pub(super) fn load(&self, source: &str) -> Option<(Snapshot, Notes)> {
        let index = self.index();
        let snapshot = self.snapshot(index.sources.get(source)?.first()?)?;
        Some((snapshot, index.notes.get(source).map(IndexNotes::notes).unwrap_or_default()))
    }

    fn snapshot(&self, digest: &str) -> Option<Snapshot> {
        let file = compile::open_file(&self.folder.join(digest)).ok()?;
        let mut bytes = Vec::new();
        file.take(DATA_BYTES_MAX as u64).read_to_end(&mut bytes).ok()?;
        Some(Snapshot::new(bytes)).filter(|snapshot| snapshot.digest() == digest)
    }

    /// Returns what is kept; nothing if that can't be read.
    fn index(&self) -> Index {
        let read = || -> io::Result<Index> {
            let mut text = Vec::new();
            compile::open_file(&self.folder.join(INDEX))?.take(INDEX_BYTES_MAX).read_to_end(&mut text)?;
            Ok(serde_json::from_slice(&text)?)
        };
        let is_digest =
            |digest: &String| digest.len() == 64 && digest.bytes().all(|byte| byte.is_ascii_hexdigit());
        match read() {
            Ok(index) if index.form == FORM && index.sources.values().flatten().all(is_digest) => index,
            Ok(_) => Index::default(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Index::default(),
            Err(error) => {
                tracing::warn!(%error, "Failed to list saved data of plugins");
                Index::default()
            }
        }
    }

    /// Keeps what serves now of each source, and nothing of others. Blocks as long as the disk does.
    ///
    /// # Errors
    /// When something can't be written. What was kept before is then kept on.
    pub(super) fn save(&self, serve: &BTreeMap<String, KeptEntry>) -> io::Result<()> {
        DirBuilder::new().recursive(true).mode(0o700).create(&self.folder)?;
        let before = self.index();
        let mut sources = BTreeMap::new();
        for (source, KeptEntry { snapshot, .. }) in serve {
            let digest = snapshot.digest();
            if self.snapshot(digest).is_none() {
                write(&self.folder.join(digest), snapshot.bytes())?;
            }
            let older = before.sources.get(source).into_iter().flatten();
            let older = older.filter(|older| *older != digest).cloned();
            let digests = std::iter::once(digest.to_owned()).chain(older).take(KEPT_MAX);
            sources.insert(source.clone(), digests.collect::<Vec<_>>());
        }
        let notes = serve.iter().map(|(source, entry)| (source.clone(), IndexNotes::of(&entry.notes)));
        let notes = notes.filter(|(_, notes)| notes.notes() != Notes::default()).collect();
        let index = Index { form: FORM, sources, notes };
        write(&self.folder.join(INDEX), &serde_json::to_vec(&index)?)?;
        File::open(&self.folder)?.sync_all()?;
        self.remove_others(&index)
    }

    /// Removes data that the index doesn't name, and what a kill left unfinished.
    fn remove_others(&self, index: &Index) -> io::Result<()> {
        let kept: BTreeSet<&str> =
            index.sources.values().flatten().map(String::as_str).chain([INDEX]).collect();
        for entry in fs::read_dir(&self.folder)? {
            let entry = entry?;
            if !entry.file_name().to_str().is_some_and(|name| kept.contains(name)) {
                fs::remove_file(entry.path())?;
            }
        }
        Ok(())
    }
}
