//! Records of pulls, where a kubelet keeps its own: `image_manager/pulled` and `image_manager/pulling` in the root folder.

use std::fs;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use async_trait::async_trait;
use witlet_core::error::one_line;
use witlet_core::image::records::{
    PulledRecord, RecordFileError, file_name, intent_from_json, intent_to_json,
};
use witlet_core::stats::exposition::Exposition;
use witlet_ports::{FilesError, MetricsSource, PullRecords};

use crate::state_store::write;
use crate::{blocking, failed};

#[cfg(test)]
mod tests;

/// Bytes of one record: a hundred secrets of some names have a quarter of it.
const RECORD_BYTES_MAX: u64 = 1024 * 1024;
/// How every record's name begins; what has another name is no one's record.
const PREFIX: &str = "sha256-";

/// Keeps each record in a file of its own, readable by the owner alone.
#[derive(Clone, Debug)]
pub struct FilePullRecords {
    pulled: PathBuf,
    pulling: PathBuf,
    counts: Arc<RecordCounts>,
}

/// How many records there were after the last change.
#[derive(Debug, Default)]
struct RecordCounts {
    pulled: AtomicU64,
    pulling: AtomicU64,
}

impl FilePullRecords {
    /// In this root folder. Folders are made when the first record is kept.
    pub fn new(root: &Path) -> Self {
        let folder = root.join("image_manager");
        let records =
            Self { pulled: folder.join("pulled"), pulling: folder.join("pulling"), counts: Arc::default() };
        records.count();
        records
    }

    fn count(&self) {
        self.counts.pulled.store(records_in(&self.pulled), Ordering::Relaxed);
        self.counts.pulling.store(records_in(&self.pulling), Ordering::Relaxed);
    }

    /// Counts the records again after a change, whatever came of it. What can't be counted stays as it was.
    async fn counted<T>(&self, changed: Result<T, FilesError>) -> Result<T, FilesError> {
        let records = self.clone();
        let count = move || {
            records.count();
            Ok(())
        };
        if let Err(error) = blocking("count", &self.pulled, count).await {
            tracing::debug!(%error, "Failed to count the records of image pulls");
        }
        changed
    }
}

#[async_trait]
impl PullRecords for FilePullRecords {
    async fn record(&self, image_ref: &str) -> Result<Option<PulledRecord>, FilesError> {
        let record = load(self.pulled.join(file_name(image_ref)), PulledRecord::from_json).await?;
        Ok(record.filter(|record| record.image_ref == image_ref))
    }

    async fn keep(&self, record: &PulledRecord) -> Result<(), FilesError> {
        self.counted(save(&self.pulled, file_name(&record.image_ref), record.to_json()).await).await
    }

    async fn records(&self) -> Result<Vec<PulledRecord>, FilesError> {
        load_all(self.pulled.clone(), PulledRecord::from_json).await
    }

    async fn forget(&self, image_ref: &str) -> Result<(), FilesError> {
        self.counted(remove(self.pulled.join(file_name(image_ref))).await).await
    }

    async fn intend(&self, image: &str) -> Result<(), FilesError> {
        self.counted(save(&self.pulling, file_name(image), intent_to_json(image)).await).await
    }

    async fn is_intended(&self, image: &str) -> Result<bool, FilesError> {
        let intent = load(self.pulling.join(file_name(image)), intent_from_json).await?;
        Ok(intent.is_some_and(|intended| intended == image))
    }

    async fn intents(&self) -> Result<Vec<String>, FilesError> {
        load_all(self.pulling.clone(), intent_from_json).await
    }

    async fn end_intent(&self, image: &str) -> Result<(), FilesError> {
        self.counted(remove(self.pulling.join(file_name(image))).await).await
    }
}

impl MetricsSource for FilePullRecords {
    fn write(&self, to: &mut Exposition) {
        let families = [
            (
                "kubelet_imagemanager_ondisk_pulledrecords",
                "[ALPHA] Number of ImagePulledRecords stored on disk.",
                &self.counts.pulled,
            ),
            (
                "kubelet_imagemanager_ondisk_pullintents",
                "[ALPHA] Number of ImagePullIntents stored on disk.",
                &self.counts.pulling,
            ),
        ];
        for (name, help, count) in families {
            to.gauge(name, help, count.load(Ordering::Relaxed) as f64);
        }
    }
}

/// None in a folder that can't be read, or isn't there.
fn records_in(folder: &Path) -> u64 {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let records = entries.filter(|entry| is_record(&entry.file_name().to_string_lossy()));
    u64::try_from(records.count()).unwrap_or(u64::MAX)
}

fn is_record(name: &str) -> bool {
    name.starts_with(PREFIX) && !name.ends_with(".tmp")
}

type Parse<T> = fn(&[u8]) -> Result<T, RecordFileError>;

async fn load<T: Send + 'static>(path: PathBuf, parse: Parse<T>) -> Result<Option<T>, FilesError> {
    let at = path.clone();
    blocking("read", &path, move || read(&at, parse).map_err(failed("read", &at))).await
}

/// A record that can't be read is reported and passed over.
async fn load_all<T: Send + 'static>(folder: PathBuf, parse: Parse<T>) -> Result<Vec<T>, FilesError> {
    let at = folder.clone();
    blocking("read", &folder, move || {
        let entries = match fs::read_dir(&at) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries.map_err(failed("read", &at))?,
        };
        let mut all = Vec::new();
        for entry in entries {
            let entry = entry.map_err(failed("read", &at))?;
            let name = entry.file_name();
            let name = name.to_string_lossy();
            if !is_record(&name) {
                continue;
            }
            match read(&entry.path(), parse) {
                Ok(found) => all.extend(found),
                Err(error) => {
                    let error = failed("read", &entry.path())(error);
                    tracing::warn!(error = one_line(&error), "Failed to read a record of an image pull");
                }
            }
        }
        Ok(all)
    })
    .await
}

async fn save(folder: &Path, name: String, text: Result<Vec<u8>, RecordFileError>) -> Result<(), FilesError> {
    let (folder, path) = (folder.to_owned(), folder.join(name));
    let text = text.map_err(|error| failed("write", &path)(io::Error::other(error)))?;
    let at = path.clone();
    blocking("write", &path, move || write(&folder, &at, &text).map_err(failed("write", &at))).await
}

async fn remove(path: PathBuf) -> Result<(), FilesError> {
    let at = path.clone();
    blocking("remove", &path, move || match fs::remove_file(&at) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(failed("remove", &at)(error)),
        Ok(()) | Err(_) => Ok(()),
    })
    .await
}

fn read<T>(path: &Path, parse: Parse<T>) -> io::Result<Option<T>> {
    let file = match fs::File::open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        file => file?,
    };
    let mut text = Vec::new();
    file.take(RECORD_BYTES_MAX + 1).read_to_end(&mut text)?;
    if u64::try_from(text.len()).is_ok_and(|bytes| bytes > RECORD_BYTES_MAX) {
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, "the file must have at most 1 MiB"));
    }
    parse(&text).map(Some).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
}
