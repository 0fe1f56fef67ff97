//! Asks a recorded question again, and compares the answers.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use sha2::{Digest, Sha256};
use thiserror::Error;
use tokio::time::Instant;
use witlet_core::runtime::{ContainerId, ExecOutput};
use witlet_ports::{Clock, CommandRunner, RuntimeError};

use super::format::{
    ExecRecord, RecordedCall, RecordedProbeRequest, RecordedRequest, RecordedRequestError, RecordedResponse,
    RequestRecord,
};
use crate::compile::CompilerConfig;
use crate::guest::data::{Data, Snapshot};
use crate::guest::{CapturedLine, GuestServices, LogTap};
use crate::host::{PluginServices, StartError, Surroundings};
use crate::plugin::config::{Grants, ProbeRole};
use crate::plugin::{LoadError, Spec};
use crate::worlds::admission::facts::RequestFacts;
use crate::worlds::probe::facts::ProbeFacts;

/// The name of the call that runs commands, as the runtime's client has it.
const EXEC_CALL: &str = "ExecSync";
/// Grants whose effects are in a recording, or have none of their own.
const REPLAYABLE_GRANTS: [&str; 2] = ["exec", "tls"];

/// Why a recorded question can't be asked again.
#[derive(Debug, Error)]
pub enum ReplayError {
    /// It is another component.
    #[error(
        "the component's digest is {found}, and the recorded one's was {recorded}; name the component with --component to compare another one"
    )]
    Digest {
        /// SHA-256 in hexadecimal.
        recorded: String,
        /// SHA-256 in hexadecimal.
        found: String,
    },
    /// The answer of a source depends on what it read.
    #[error("a pod source can't be replayed: what it read isn't recorded")]
    Source,
    /// The answer may depend on what isn't recorded.
    #[error("cannot replay a call with the grants {}: what they returned is not recorded", grants.join(", "))]
    NotRecorded {
        /// Fields of `grants`.
        grants: Vec<String>,
    },
    /// It had data that aren't given now.
    #[error(
        "it had the data {name:?} (sha256:{recorded}): name a file with them by --data {name}=FILE; the agent keeps the newest in plugin-data below its own folder"
    )]
    NoData {
        /// What the plugin calls them.
        name: String,
        /// SHA-256 in hexadecimal.
        recorded: String,
    },
    /// It had other data.
    #[error("the data {name:?} are sha256:{found}, and the recorded ones were sha256:{recorded}")]
    OtherData {
        /// What the plugin calls them.
        name: String,
        /// SHA-256 in hexadecimal.
        recorded: String,
        /// SHA-256 in hexadecimal.
        found: String,
    },
    /// It had no such data.
    #[error("it had no data {name:?}")]
    UnknownData {
        /// As they are given.
        name: String,
    },
    /// The question makes no sense.
    #[error("failed to repeat the recorded call")]
    RecordedRequest(#[from] RecordedRequestError),
    /// The machinery couldn't be set up.
    #[error(transparent)]
    Start(#[from] StartError),
    /// The component can't be loaded with the recorded configuration.
    #[error(transparent)]
    Load(#[from] LoadError),
}

/// What came of it.
#[derive(Clone, Debug)]
pub struct Replayed {
    /// What the component answers now.
    pub answer: RecordedResponse,
    /// How long it took now.
    pub took: Duration,
    /// The most linear memory that the instance had; 0 where the call didn't begin.
    pub memory_bytes_peak: usize,
    /// What it logged during the call.
    pub lines: Vec<CapturedLine>,
    /// SHA-256 of the component that was asked, in hexadecimal.
    pub digest: String,
    /// Whether the answer is the recorded one.
    pub same: bool,
    /// How the probe's commands differ from the recorded ones; none if they don't.
    pub commands: Option<String>,
}

/// Whether a component may be another one than the recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Identity {
    Recorded,
    /// Any: two components are compared.
    Any,
}

/// Data for a plugin by the names that it has for them.
pub type GivenData = BTreeMap<String, Vec<u8>>;

/// Asks the question that was recorded, with the recorded configuration, limits and grants, and with data that must be the recorded ones.
///
/// # Errors
/// The component or the data are others, or the call depended on what isn't recorded.
pub async fn replay(
    recorded: &RecordedCall,
    wasm: Arc<[u8]>,
    data: GivenData,
    identity: Identity,
    compiler: CompilerConfig,
    clock: Arc<dyn Clock>,
) -> Result<Replayed, ReplayError> {
    let digest = digest_of(&wasm);
    if identity == Identity::Recorded && digest != recorded.digest {
        return Err(ReplayError::Digest { recorded: recorded.digest.clone(), found: digest });
    }
    if let RecordedRequest::PodSource(_) = recorded.question {
        return Err(ReplayError::Source);
    }
    let others = recorded.grants.iter().filter(|grant| !REPLAYABLE_GRANTS.contains(&grant.as_str()));
    let grants: Vec<String> = others.cloned().collect();
    if !grants.is_empty() {
        return Err(ReplayError::NotRecorded { grants });
    }
    let data = data_as_recorded(&recorded.data, data)?;
    let ReplayedCall { answer, took, memory_bytes_peak, lines, commands } = match &recorded.question {
        RecordedRequest::Admission(request) => {
            admission(recorded, request, (wasm, data), compiler, clock).await?
        }
        RecordedRequest::Probe(question) => probe(recorded, question, (wasm, data), compiler, clock).await?,
        RecordedRequest::PodSource(_) => return Err(ReplayError::Source),
    };
    let same = answer.agrees_with(&recorded.answer) && commands.is_none();
    Ok(Replayed { answer, took, memory_bytes_peak, lines, digest, same, commands })
}

/// What came of a question, as [`Replayed`] has it.
struct ReplayedCall {
    answer: RecordedResponse,
    took: Duration,
    memory_bytes_peak: usize,
    lines: Vec<CapturedLine>,
    commands: Option<String>,
}

/// A component's digest as recordings have it: SHA-256 in hexadecimal.
pub fn digest_of(wasm: &[u8]) -> String {
    hex::encode(Sha256::digest(wasm))
}

/// Whether these are the data that the plugin had then.
///
/// # Errors
/// When some are missing, others, or too many.
pub fn check_data(recorded: &RecordedCall, given: &GivenData) -> Result<(), ReplayError> {
    data_as_recorded(&recorded.data, given.clone()).map(drop)
}

/// The data with which the call was recorded.
fn data_as_recorded(
    recorded: &BTreeMap<String, String>,
    mut given: GivenData,
) -> Result<Arc<[Data]>, ReplayError> {
    let mut data = Vec::with_capacity(recorded.len());
    for (name, recorded) in recorded {
        let (name, recorded) = (name.clone(), recorded.clone());
        let Some(bytes) = given.remove(&name) else { return Err(ReplayError::NoData { name, recorded }) };
        let snapshot = Snapshot::new(bytes);
        if snapshot.digest() != recorded {
            let found = snapshot.digest().to_owned();
            return Err(ReplayError::OtherData { name, recorded, found });
        }
        data.push(Data::given(&name, snapshot));
    }
    match given.into_keys().next() {
        Some(name) => Err(ReplayError::UnknownData { name }),
        None => Ok(data.into()),
    }
}

/// Returns the spec of the recorded plugin in the role of an admission handler.
fn spec(recorded: &RecordedCall, grants: Grants, data: Arc<[Data]>) -> Spec {
    let timeout = Duration::from_millis(recorded.limits.timeout_milliseconds);
    Spec { data, ..Spec::direct(timeout, recorded.limits.memory_bytes, None, grants, &recorded.config) }
}

async fn admission(
    recorded: &RecordedCall,
    request: &RequestRecord,
    (wasm, data): (Arc<[u8]>, Arc<[Data]>),
    compiler: CompilerConfig,
    clock: Arc<dyn Clock>,
) -> Result<ReplayedCall, ReplayError> {
    let machinery = PluginServices::new(compiler, clock, Surroundings::default())?;
    let log = LogTap::default();
    let given = GuestServices { log: Some(log.clone()), ..GuestServices::default() };
    let loaded = machinery.loader.load_given(&spec(recorded, Grants::default(), data), &given, wasm).await?;
    let guests = loaded.admission.ok_or(LoadError::Interrupted)?;
    let facts = Arc::new(RequestFacts::new(request.request()));
    // What `validate` said is no answer's.
    drop(log.take());
    let started = Instant::now();
    let (result, memory_bytes_peak) = match machinery.caller.admit(&guests, &facts).await {
        Ok(called) => (called.result, called.memory_bytes_peak),
        Err(error) => (Err(error), 0),
    };
    let took = started.elapsed();
    let answer = RecordedResponse::of_verdict(&result);
    Ok(ReplayedCall { answer, took, memory_bytes_peak, lines: log.take(), commands: None })
}

async fn probe(
    recorded: &RecordedCall,
    question: &RecordedProbeRequest,
    (wasm, data): (Arc<[u8]>, Arc<[Data]>),
    compiler: CompilerConfig,
    clock: Arc<dyn Clock>,
) -> Result<ReplayedCall, ReplayError> {
    let request = question.request()?;
    let tape = Arc::new(Tape::new(question.execs.clone()));
    let log = LogTap::default();
    let given =
        GuestServices { containers: Some(tape.clone()), log: Some(log.clone()), ..GuestServices::default() };
    let machinery = PluginServices::new(compiler, clock, Surroundings::default())?;
    let exec = recorded.grants.iter().any(|grant| grant == "exec");
    let role = ProbeRole {
        probe_type: request.probe_type.clone(),
        shadow_of: None,
        memory_bytes: recorded.limits.memory_bytes,
    };
    let grants = Grants { exec, ..Grants::default() };
    let spec = Spec { admission: None, probe: Some(role), ..spec(recorded, grants, data) };
    let loaded = machinery.loader.load_given(&spec, &given, wasm).await?;
    let guests = loaded.async_plugin.ok_or(LoadError::Interrupted)?;
    // What `validate` said is no answer's.
    drop(log.take());
    let started = Instant::now();
    let parameters = request.parameters.clone();
    let checked = guests.check_parameters(&parameters, request.timeout).await;
    let (result, memory_bytes_peak) = match checked.result {
        Ok(()) => {
            let probed = guests.probe(Arc::new(ProbeFacts::new(request, false))).await;
            (probed.result, probed.memory_bytes_peak)
        }
        Err(error) => (Err(error), checked.memory_bytes_peak),
    };
    let took = started.elapsed();
    let answer = RecordedResponse::of_probe(&result);
    Ok(ReplayedCall { answer, took, memory_bytes_peak, lines: log.take(), commands: tape.difference() })
}

/// Plays the recorded results of commands back.
struct Tape(Mutex<Playing>);

struct Playing {
    rest: VecDeque<ExecRecord>,
    difference: Option<String>,
}

impl Tape {
    fn new(execs: Vec<ExecRecord>) -> Self {
        Self(Mutex::new(Playing { rest: execs.into(), difference: None }))
    }

    fn next(&self, command: &[String]) -> Result<ExecOutput, RuntimeError> {
        let mut playing = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let next = playing.rest.pop_front();
        match next {
            Some(record) if record.command == command => played(record),
            other => {
                let instead = match other {
                    Some(record) => format!("where it ran {:?} then", record.command),
                    None => "where it ran none then".to_owned(),
                };
                let difference = format!("it ran {command:?} {instead}");
                playing.difference.get_or_insert(difference.clone());
                Err(RuntimeError::failed(EXEC_CALL, format!("not recorded: {difference}")))
            }
        }
    }

    /// The first command that wasn't the recorded one, or those that weren't run any more.
    fn difference(&self) -> Option<String> {
        let playing = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let unused = || playing.rest.front().map(|record| format!("it didn't run {:?}", record.command));
        playing.difference.clone().or_else(unused)
    }
}

fn played(record: ExecRecord) -> Result<ExecOutput, RuntimeError> {
    let ExecRecord { command: _, output, exit_code, error } = record;
    match (exit_code, error) {
        (Some(exit_code), _) => {
            let stdout = output.unwrap_or_default().into_bytes();
            Ok(ExecOutput { stdout, stderr: Vec::new(), exit_code })
        }
        (None, Some(words)) if words == ExecRecord::TIMED_OUT => {
            Err(RuntimeError::DeadlineExceeded { call: EXEC_CALL, limit: Duration::ZERO })
        }
        (None, words) => {
            // The words have the call's name in front, and get it again.
            let words = words.unwrap_or_default();
            let message = words.strip_prefix(&format!("{EXEC_CALL}: ")).unwrap_or(&words).to_owned();
            Err(RuntimeError::failed(EXEC_CALL, message))
        }
    }
}

#[async_trait]
impl CommandRunner for Tape {
    async fn exec_sync(
        &self,
        _id: &ContainerId,
        command: &[String],
        _timeout: Option<Duration>,
    ) -> Result<ExecOutput, RuntimeError> {
        self.next(command)
    }
}

#[cfg(test)]
mod tests;
