//! The decision log: a line of JSON for each decision about a pod, if the configuration wants it.
//!
//! Decisions never wait for the disk: what the writer doesn't keep up with is counted and left out.

use std::collections::BTreeMap;
use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use jiff::Timestamp;
use serde::Serialize;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use witlet_core::admission::{AdmissionRequest, Decision};

use crate::guest::data::Data;
use crate::plugin::Plugin;

#[cfg(test)]
mod tests;

/// The file that is written to; rotated ones have a number behind.
const FILE: &str = "decisions.jsonl";
/// Bytes of a file at most, but for one line.
const FILE_BYTES_MAX: u64 = 10 << 20;
/// How many files are kept, the one that is written to among them.
const FILES_MAX: usize = 5;
/// Decisions that wait to be written. While there are as many, others are left out.
const QUEUE_MAX: usize = 256;

/// A decision as the log has it.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct DecisionLine {
    /// When it was asked for.
    time: Timestamp,
    namespace: String,
    name: String,
    uid: String,
    source: String,
    /// Its name in an entry's `match.operations`.
    operation: &'static str,
    /// The container whose image was asked about.
    #[serde(skip_serializing_if = "Option::is_none")]
    container: Option<String>,
    /// `admit`, `reject`, `defer` or `preempt`.
    decision: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<String>,
    /// The handler whose answer decided, if one did.
    #[serde(skip_serializing_if = "Option::is_none")]
    plugin: Option<Arc<str>>,
    /// SHA-256 of its component, in hexadecimal, if that is loaded.
    #[serde(skip_serializing_if = "Option::is_none")]
    digest: Option<String>,
    /// Digests of the data that it has next to its configuration, by their names.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    data: BTreeMap<String, String>,
    /// What handlers noted, under `<plugin>/<key>`.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    annotations: BTreeMap<String, String>,
    took_microseconds: u64,
}

impl DecisionLine {
    /// Creates the entry of a question: what was decided, and by whose answer.
    pub(super) fn new(
        request: &AdmissionRequest,
        decision: &Decision,
        decider: Option<&Plugin>,
        annotations: BTreeMap<String, String>,
        took: Duration,
    ) -> Self {
        let metadata = &request.pod.metadata;
        let text = |text: &Option<String>| text.clone().unwrap_or_default();
        let (word, reason, message) = match decision {
            Decision::Admit => ("admit", None, None),
            Decision::Reject { reason, message, .. } => {
                ("reject", Some(reason.clone()), Some(message.clone()))
            }
            Decision::Defer { reason, message, .. } => ("defer", Some(reason.clone()), Some(message.clone())),
            Decision::Preempt { message, .. } => ("preempt", None, Some(message.clone())),
        };
        Self {
            time: request.now,
            namespace: text(&metadata.namespace),
            name: text(&metadata.name),
            uid: text(&metadata.uid),
            source: request.source.to_string(),
            operation: request.operation.as_str(),
            container: request.image.as_ref().map(|image| image.container.clone()),
            decision: word,
            reason,
            message,
            plugin: decider.map(|plugin| plugin.spec.name.clone()),
            digest: decider.and_then(|plugin| plugin.code.ready()).map(|loaded| loaded.digest.to_string()),
            data: decider
                .into_iter()
                .flat_map(|plugin| plugin.spec.data.iter())
                .map(Data::named_digest)
                .collect(),
            annotations,
            took_microseconds: u64::try_from(took.as_micros()).unwrap_or(u64::MAX),
        }
    }
}

/// The log of a host. Ends when it is dropped; what waits then is lost.
pub(super) struct DecisionLog {
    is_on: AtomicBool,
    dropped: AtomicU64,
    queue: mpsc::Sender<DecisionLine>,
    _task: JoinSet<()>,
}

impl DecisionLog {
    /// Starts the writer, off. The folder is made when there is something to write.
    pub(super) fn start(folder: PathBuf) -> Self {
        let (queue, lines) = mpsc::channel(QUEUE_MAX);
        let mut task = JoinSet::new();
        task.spawn(write_all(folder, lines));
        Self { is_on: AtomicBool::default(), dropped: AtomicU64::default(), queue, _task: task }
    }

    /// Has decisions written, or not.
    pub(super) fn set(&self, is_on: bool) {
        self.is_on.store(is_on, Ordering::Relaxed);
    }

    /// Writes a decision, if it is configured. Never waits.
    pub(super) fn push(&self, line: impl FnOnce() -> DecisionLine) {
        if !self.is_on.load(Ordering::Relaxed) {
            return;
        }
        match self.queue.try_reserve() {
            Ok(place) => place.send(line()),
            Err(_full_or_ended) => {
                let dropped = self.dropped.fetch_add(1, Ordering::Relaxed) + 1;
                if dropped.is_power_of_two() {
                    tracing::warn!(dropped, "Left decisions out of the decision log");
                }
            }
        }
    }
}

async fn write_all(folder: PathBuf, mut lines: mpsc::Receiver<DecisionLine>) {
    let mut has_failed = false;
    while let Some(line) = lines.recv().await {
        let folder = folder.clone();
        let written = tokio::task::spawn_blocking(move || write(&folder, &line, FILE_BYTES_MAX)).await;
        match written {
            Ok(Err(error)) if !has_failed => {
                has_failed = true;
                tracing::warn!(%error, "Failed to write the decision log");
            }
            Ok(Ok(())) => has_failed = false,
            Ok(Err(_)) | Err(_) => {}
        }
    }
}

/// Appends a line, in a new file if the present one has `bytes_max` bytes. Blocks as long as the disk does.
fn write(folder: &Path, line: &DecisionLine, bytes_max: u64) -> io::Result<()> {
    let mut text = serde_json::to_vec(line)?;
    text.push(b'\n');
    DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    let path = folder.join(FILE);
    if fs::symlink_metadata(&path).is_ok_and(|file| file.len() >= bytes_max) {
        rotate(folder)?;
    }
    append(&path, text)
}

/// Appends a line by one write. What a full disk or a power cut has left of an earlier one stays a line of its own.
fn append(path: &Path, mut text: Vec<u8>) -> io::Result<()> {
    let mut file = OpenOptions::new().read(true).append(true).create(true).mode(0o600).open(path)?;
    if file.seek(SeekFrom::End(0))? > 0 {
        let mut last = [0];
        file.seek(SeekFrom::End(-1))?;
        file.read_exact(&mut last)?;
        if last != *b"\n" {
            text.insert(0, b'\n');
        }
    }
    file.write_all(&text)
}

/// Gives each file the next number; the last one is overwritten.
fn rotate(folder: &Path) -> io::Result<()> {
    let numbered = |number: usize| match number {
        0 => folder.join(FILE),
        number => folder.join(format!("{FILE}.{number}")),
    };
    for number in (0..FILES_MAX - 1).rev() {
        match fs::rename(numbered(number), numbered(number + 1)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            Ok(()) | Err(_) => {}
        }
    }
    Ok(())
}
