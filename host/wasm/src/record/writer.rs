//! Writes recorded calls next to the calls themselves, and keeps the newest.

use std::fs::{DirBuilder, File, Permissions};
use std::io::{self, Read};
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use jiff::Timestamp;
use thiserror::Error;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use witlet_core::admission::Verdict;
use witlet_core::probe::{ProbeOutcome, ProbeRequest};
use witlet_core::sources::plugin::{PollResponse, SourceFault};
use witlet_ports::Clock;
use witlet_ports::whole_file::{Durability, replace_file_with};

use super::format::{
    API_VERSION, ExecRecord, KIND, Limits, RecordedCall, RecordedPollRequest, RecordedProbeRequest,
    RecordedRequest, RecordedResponse, RequestRecord,
};
use super::scrub::scrub;
use super::trigger::{EndedCall, RecordTrigger, keeps, keeps_difference};
use crate::guest::data::Data;
use crate::plugin::CallError;
use crate::worlds::admission::facts::RequestFacts;

/// How many calls of one plugin can be kept.
pub const RECORDS_MAX: usize = 1000;
/// How large one recorded call may be; 500 pods of 20 KB fit. A larger one isn't written, which is logged.
pub const RECORD_BYTES_MAX: usize = 16 << 20;
/// How many bytes the recorded calls of one plugin may take; the oldest go first.
pub const FOLDER_BYTES_MAX: u64 = 64 << 20;
/// Calls that wait to be written, of all plugins together. While there are as many, others aren't recorded.
pub const QUEUE_MAX: usize = 64;

/// End of the names of recorded calls.
const SUFFIX: &str = ".json";
/// End of the name of a file that isn't whole yet.
const UNFINISHED: &str = ".part";

/// What is reported in each file.
const NOTE: &str = "Values of secrets are replaced by their names, and what went over sockets, came from files, clocks \
    or random numbers isn't recorded; manifests of pods are here as they are.";

/// Where the writer writes, and when it is.
pub struct RecorderConfig {
    /// Has a folder for each plugin that records.
    pub folder: PathBuf,
    pub clock: Arc<dyn Clock>,
}

/// Why a recorded call can't be read.
#[derive(Debug, Error)]
pub enum RecordError {
    /// The file can't be read.
    #[error("failed to read {}", path.display())]
    Read {
        path: PathBuf,
        #[source]
        cause: io::Error,
    },
    /// More bytes than a recorded call has.
    #[error("{} has more than {RECORD_BYTES_MAX} bytes, so it is no recorded call", path.display())]
    TooLarge { path: PathBuf },
    #[error("{} is no recorded call", path.display())]
    Format {
        path: PathBuf,
        #[source]
        cause: serde_json::Error,
    },
    /// Of a release that writes another form.
    #[error("{} is {kind} of {api_version}; this witlet reads {KIND} of {API_VERSION}", path.display())]
    Version {
        path: PathBuf,
        /// What it says it is.
        kind: String,
        /// What it says it is of.
        api_version: String,
    },
}

/// Reads a recorded call.
///
/// # Errors
/// The file can't be read, is too large, or isn't a record of this version.
pub fn read(path: &Path) -> Result<RecordedCall, RecordError> {
    let failed = |cause| RecordError::Read { path: path.to_owned(), cause };
    let mut text = Vec::new();
    let limit = RECORD_BYTES_MAX as u64 + 1;
    File::open(path).map_err(failed)?.take(limit).read_to_end(&mut text).map_err(failed)?;
    if text.len() > RECORD_BYTES_MAX {
        return Err(RecordError::TooLarge { path: path.to_owned() });
    }
    let call: RecordedCall = serde_json::from_slice(&text)
        .map_err(|cause| RecordError::Format { path: path.to_owned(), cause })?;
    if call.kind != KIND || call.api_version != API_VERSION {
        let RecordedCall { kind, api_version, .. } = call;
        return Err(RecordError::Version { path: path.to_owned(), kind, api_version });
    }
    Ok(call)
}

/// The values of a plugin's secrets as they are now, by name: what must not be written.
pub(crate) type SecretValues = Arc<dyn Fn() -> Vec<(String, Arc<[u8]>)> + Send + Sync>;

/// What a plugin's calls have in common.
pub(crate) struct About {
    /// Its name, which names its folder: a DNS label.
    pub(crate) plugin: Arc<str>,
    /// How many calls are kept, at most [`RECORDS_MAX`].
    pub(crate) max: usize,
    /// Which; empty for every call.
    pub(crate) on: Arc<[RecordTrigger]>,
    /// A path, `oci://…`, or `builtin:NAME`.
    pub(crate) component: String,
    /// SHA-256 in hexadecimal.
    pub(crate) digest: String,
    /// `config:` as JSON text.
    pub(crate) config: Arc<str>,
    /// What it has next to that.
    pub(crate) data: Arc<[Data]>,
    pub(crate) timeout: Duration,
    pub(crate) memory_bytes: usize,
    /// Fields of `grants` that grant something.
    pub(crate) grants: Vec<String>,
    /// What must not be written.
    pub(crate) secrets: SecretValues,
}

/// Records one plugin's calls. Cheap to clone; nothing here waits.
#[derive(Clone)]
pub(crate) struct PluginRecorder {
    about: Arc<About>,
    shared: Arc<Shared>,
}

impl std::fmt::Debug for PluginRecorder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PluginRecorder").field("plugin", &self.about.plugin).finish_non_exhaustive()
    }
}

/// A call that waits to be written. What it holds is shared with the call, or small.
struct Entry {
    about: Arc<About>,
    secrets: Vec<(String, Arc<[u8]>)>,
    recorded_at: Timestamp,
    took: Duration,
    asked: CallInput,
    answer: RecordedResponse,
}

enum CallInput {
    Admission(Arc<RequestFacts>),
    Probe(Box<RecordedProbeRequest>),
    Poll(RecordedPollRequest),
}

struct Shared {
    queue: mpsc::Sender<Entry>,
    dropped: AtomicU64,
    clock: Arc<dyn Clock>,
}

/// The writer of a host's recorded calls. Ends when it is dropped; what waits then is lost.
pub struct Recorder {
    shared: Arc<Shared>,
    _task: JoinSet<()>,
}

impl Recorder {
    /// Starts the writer. Folders are made when there is something to write.
    pub fn start(config: RecorderConfig) -> Self {
        let RecorderConfig { folder, clock } = config;
        let (queue, entries) = mpsc::channel(QUEUE_MAX);
        let mut task = JoinSet::new();
        task.spawn(write_all(folder, entries));
        Self { shared: Arc::new(Shared { queue, dropped: AtomicU64::new(0), clock }), _task: task }
    }

    /// Returns the recorder of one plugin.
    pub(crate) fn plugin(&self, about: About) -> PluginRecorder {
        PluginRecorder { about: Arc::new(about), shared: self.shared.clone() }
    }

    /// Calls that weren't recorded because the writer didn't keep up.
    pub fn dropped(&self) -> u64 {
        self.shared.dropped.load(Ordering::Relaxed)
    }
}

impl PluginRecorder {
    /// A question about a pod.
    pub(crate) fn admission(
        &self,
        facts: &Arc<RequestFacts>,
        result: &Result<Verdict, CallError>,
        took: Duration,
    ) {
        if keeps(&self.about.on, EndedCall::of_verdict(result, took, self.about.timeout)) {
            self.push(|| (CallInput::Admission(facts.clone()), RecordedResponse::of_verdict(result)), took);
        }
    }

    /// The same of a shadow's verdict that isn't the one that it was compared with.
    pub(crate) fn differing_admission(&self, facts: &Arc<RequestFacts>, verdict: &Verdict, took: Duration) {
        let result = Ok(verdict.clone());
        if keeps_difference(&self.about.on, EndedCall::of_verdict(&result, took, self.about.timeout)) {
            self.push(|| (CallInput::Admission(facts.clone()), RecordedResponse::of_verdict(&result)), took);
        }
    }

    /// A probe, with the commands that it ran in its container.
    pub(crate) fn probe(
        &self,
        request: &ProbeRequest,
        execs: Vec<ExecRecord>,
        result: &Result<ProbeOutcome, CallError>,
        took: Duration,
    ) {
        if !keeps(&self.about.on, EndedCall::of_probe(result, took, request.timeout)) {
            return;
        }
        let question = || CallInput::Probe(Box::new(RecordedProbeRequest::new(request, execs)));
        self.push(|| (question(), RecordedResponse::of_probe(result)), took);
    }

    /// The same of a shadow that found something else than the one that it was compared with.
    pub(crate) fn differing_probe(
        &self,
        request: &ProbeRequest,
        execs: Vec<ExecRecord>,
        outcome: &ProbeOutcome,
        took: Duration,
    ) {
        let (result, on) = (Ok(outcome.clone()), &self.about.on);
        let call = EndedCall::of_probe(&result, took, request.timeout);
        if keeps(on, call) || keeps_difference(on, call) {
            let question = || CallInput::Probe(Box::new(RecordedProbeRequest::new(request, execs)));
            self.push(|| (question(), RecordedResponse::of_probe(&result)), took);
        }
    }

    /// A poll of a source.
    pub(crate) fn poll(
        &self,
        cursor: Option<&str>,
        result: &Result<Result<PollResponse, SourceFault>, CallError>,
        took: Duration,
    ) {
        let failed = !matches!(result, Ok(Ok(_)));
        let call = EndedCall { refused: false, failed, took, timeout: self.about.timeout };
        if !keeps(&self.about.on, call) {
            return;
        }
        let question = RecordedPollRequest { cursor: cursor.map(str::to_owned) };
        self.push(|| (CallInput::Poll(question), RecordedResponse::of_poll(result)), took);
    }

    /// The same of a shadow whose set isn't the one that it was compared with.
    pub(crate) fn differing_poll(&self, cursor: Option<&str>, answer: PollResponse, took: Duration) {
        let call = EndedCall { refused: false, failed: false, took, timeout: self.about.timeout };
        if keeps_difference(&self.about.on, call) {
            let question = RecordedPollRequest { cursor: cursor.map(str::to_owned) };
            self.push(|| (CallInput::Poll(question), RecordedResponse::of_poll(&Ok(Ok(answer)))), took);
        }
    }

    /// Copies only what fits.
    fn push(&self, call: impl FnOnce() -> (CallInput, RecordedResponse), took: Duration) {
        match self.shared.queue.try_reserve() {
            Ok(place) => {
                let (asked, answer) = call();
                let recorded_at = self.shared.clock.now();
                let secrets = (self.about.secrets)();
                place.send(Entry { about: self.about.clone(), secrets, recorded_at, took, asked, answer });
            }
            Err(_full_or_ended) => {
                self.shared.dropped.fetch_add(1, Ordering::Relaxed);
            }
        }
    }
}

async fn write_all(folder: PathBuf, mut entries: mpsc::Receiver<Entry>) {
    let mut serial: u64 = 0;
    while let Some(entry) = entries.recv().await {
        serial += 1;
        let plugin = entry.about.plugin.clone();
        let folder = folder.clone();
        let written = tokio::task::spawn_blocking(move || write(&folder, entry, serial)).await;
        if let Ok(Err(error)) = written {
            tracing::warn!(
                plugin = &*plugin,
                error = witlet_core::error::one_line(&error),
                "Failed to record plugin call"
            );
        }
    }
}

/// Why a call wasn't written.
#[derive(Debug, Error)]
pub(super) enum WriteError {
    #[error("{action} {}", path.display())]
    Io {
        action: &'static str,
        path: PathBuf,
        #[source]
        cause: io::Error,
    },
    #[error("failed to encode it")]
    Json(#[source] serde_json::Error),
    #[error("it has {bytes} bytes, more than {RECORD_BYTES_MAX}")]
    TooLarge { bytes: usize },
}

fn failed(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> WriteError {
    let path = path.to_owned();
    move |cause| WriteError::Io { action, path, cause }
}

fn write(root: &Path, entry: Entry, serial: u64) -> Result<(), WriteError> {
    let folder = root.join(&*entry.about.plugin);
    let max = entry.about.max.min(RECORDS_MAX);
    DirBuilder::new().recursive(true).mode(0o700).create(&folder).map_err(failed("make", &folder))?;
    std::fs::set_permissions(&folder, Permissions::from_mode(0o700)).map_err(failed("close", &folder))?;
    let name = format!(
        "{}-{serial:06}-{}{SUFFIX}",
        entry.recorded_at.strftime("%Y%m%dT%H%M%S.%6fZ"),
        match &entry.asked {
            CallInput::Admission(_) => "admission",
            CallInput::Probe(_) => "probe",
            CallInput::Poll(_) => "podSource",
        }
    );
    let text = encode(entry)?;
    free_capacity(&folder, max, text.len() as u64)?;
    let path = folder.join(&name);
    let unfinished = folder.join(format!("{name}{UNFINISHED}"));
    replace_file_with(&path, &unfinished, &text, 0o600, Durability::None).map_err(failed("write", &path))
}

fn encode(entry: Entry) -> Result<Vec<u8>, WriteError> {
    let Entry { about, secrets, recorded_at, took, asked, answer } = entry;
    let call = RecordedCall {
        api_version: API_VERSION.to_owned(),
        kind: KIND.to_owned(),
        note: NOTE.to_owned(),
        plugin: about.plugin.to_string(),
        component: about.component.clone(),
        digest: about.digest.clone(),
        config: serde_json::from_str(&about.config).map_err(WriteError::Json)?,
        data: about.data.iter().map(Data::named_digest).collect(),
        limits: Limits {
            timeout_milliseconds: super::format::milliseconds(about.timeout),
            memory_bytes: about.memory_bytes,
        },
        grants: about.grants.clone(),
        recorded_at,
        took_nanoseconds: u64::try_from(took.as_nanos()).unwrap_or(u64::MAX),
        question: match asked {
            CallInput::Admission(facts) => RecordedRequest::Admission(Box::new(RequestRecord::new(&facts))),
            CallInput::Probe(question) => RecordedRequest::Probe(question),
            CallInput::Poll(question) => RecordedRequest::PodSource(question),
        },
        answer,
    };
    let mut value = serde_json::to_value(&call).map_err(WriteError::Json)?;
    scrub(&mut value, &secrets);
    let mut text = serde_json::to_vec_pretty(&value).map_err(WriteError::Json)?;
    text.push(b'\n');
    if text.len() > RECORD_BYTES_MAX {
        return Err(WriteError::TooLarge { bytes: text.len() });
    }
    Ok(text)
}

/// Removes the oldest until one more of this size fits, and what a crash left unfinished. Names sort by time.
fn free_capacity(folder: &Path, max: usize, bytes: u64) -> Result<(), WriteError> {
    let mut records: Vec<(PathBuf, u64)> = Vec::new();
    for found in std::fs::read_dir(folder).map_err(failed("list", folder))? {
        let found = found.map_err(failed("list", folder))?;
        let path = found.path();
        let name = found.file_name();
        let name = name.to_string_lossy();
        if name.ends_with(UNFINISHED) {
            std::fs::remove_file(&path).map_err(failed("remove", &path))?;
        } else if name.ends_with(SUFFIX) {
            records.push((path, found.metadata().map_or(0, |metadata| metadata.len())));
        }
    }
    records.sort();
    let mut capacity: u64 = records.iter().map(|(_, size)| size).sum::<u64>() + bytes;
    let mut count = records.len() + 1;
    for (path, size) in records {
        if count <= max.max(1) && capacity <= FOLDER_BYTES_MAX {
            break;
        }
        std::fs::remove_file(&path).map_err(failed("remove", &path))?;
        capacity -= size;
        count -= 1;
    }
    Ok(())
}
