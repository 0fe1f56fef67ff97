//! What a source leaves for the next start of the agent: its last good set, which runs again until the source answers, and
//! its cursor, if it may keep something.

use std::time::Duration;

use sha2::{Digest, Sha256};
use tokio::sync::watch;
use tokio::time::sleep;
use witlet_core::error::one_line;
use witlet_core::sources::polling::Record;
use witlet_ports::StateStore;

use super::spec::SourceSpec;

/// A source's record is written at most this often, however often its set changes.
pub(super) const SAVE_INTERVAL: Duration = Duration::from_secs(1);

/// A longer record isn't kept: no [`StateStore`] takes it, and a disk that refuses it would count as full.
const RECORD_BYTES_MAX: usize = 16 << 20;

/// Returns what the source left. What can't be read, or belongs to another configuration, is as good as nothing: the source is asked
/// for everything.
pub(super) async fn load(state: &dyn StateStore, spec: &SourceSpec) -> Option<Record> {
    let bytes = match state.load(&spec.state_name()).await {
        Ok(bytes) => bytes?,
        Err(error) => {
            let error = one_line(&error);
            tracing::warn!(
                plugin = spec.name.as_str(),
                error,
                "Failed to read the saved pods of a pod source"
            );
            return None;
        }
    };
    let record: Record = serde_json::from_slice(&bytes).ok()?;
    (record.config == spec.config_digest()).then_some(record)
}

/// Writes the newest record whenever it is another one, until the sender is gone.
pub(super) async fn write(
    state: &dyn StateStore,
    spec: &SourceSpec,
    mut records: watch::Receiver<Option<Record>>,
) {
    let mut written = None;
    while records.changed().await.is_ok() {
        let Some(record) = records.borrow_and_update().clone() else { continue };
        let mut bytes = serde_json::to_vec(&record).expect("a record is texts, so it always becomes JSON");
        if bytes.len() > RECORD_BYTES_MAX {
            tracing::warn!(
                plugin = spec.name.as_str(),
                bytes = bytes.len(),
                "Pods of a pod source exceed the limit, not saving them"
            );
            // Nothing is better than what it had once.
            bytes.clear();
        }
        let digest = Sha256::digest(&bytes);
        if written == Some(digest) {
            continue;
        }
        match state.save(&spec.state_name(), &bytes).await {
            Ok(()) => written = Some(digest),
            Err(error) => {
                let error = one_line(&error);
                tracing::warn!(plugin = spec.name.as_str(), error, "Failed to save the pods of a pod source");
            }
        }
        sleep(SAVE_INTERVAL).await;
    }
}

/// Forgets what a source left that is none any more: its pods have ended.
pub(super) async fn forget(state: &dyn StateStore, spec: &SourceSpec) {
    if let Err(error) = state.save(&spec.state_name(), b"").await {
        let error = one_line(&error);
        tracing::warn!(plugin = spec.name.as_str(), error, "Failed to remove the saved pods of a pod source");
    }
}
