//! Records of pulls in memory.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use witlet_core::image::records::PulledRecord;
use witlet_ports::{FilesError, PullRecords};

/// Survives a restart of the agent, as long as the test holds on to it.
#[derive(Debug, Default)]
pub struct MemoryPullRecords {
    records: Mutex<BTreeMap<String, PulledRecord>>,
    intents: Mutex<BTreeSet<String>>,
}

impl MemoryPullRecords {
    /// A pull of this image was begun, and the machine fell over.
    pub fn begin(&self, image: &str) {
        lock(&self.intents).insert(image.to_owned());
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[async_trait]
impl PullRecords for MemoryPullRecords {
    async fn record(&self, image_ref: &str) -> Result<Option<PulledRecord>, FilesError> {
        Ok(lock(&self.records).get(image_ref).cloned())
    }

    async fn keep(&self, record: &PulledRecord) -> Result<(), FilesError> {
        lock(&self.records).insert(record.image_ref.clone(), record.clone());
        Ok(())
    }

    async fn records(&self) -> Result<Vec<PulledRecord>, FilesError> {
        Ok(lock(&self.records).values().cloned().collect())
    }

    async fn forget(&self, image_ref: &str) -> Result<(), FilesError> {
        lock(&self.records).remove(image_ref);
        Ok(())
    }

    async fn intend(&self, image: &str) -> Result<(), FilesError> {
        lock(&self.intents).insert(image.to_owned());
        Ok(())
    }

    async fn is_intended(&self, image: &str) -> Result<bool, FilesError> {
        Ok(lock(&self.intents).contains(image))
    }

    async fn intents(&self) -> Result<Vec<String>, FilesError> {
        Ok(lock(&self.intents).iter().cloned().collect())
    }

    async fn end_intent(&self, image: &str) -> Result<(), FilesError> {
        lock(&self.intents).remove(image);
        Ok(())
    }
}
