//! What plugins answer, in one form for all roles: how it is shown, which answers are the same, and which ones the contract has.

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::Value;
use witlet_core::admission::{Shortage, Verdict};
use witlet_core::probe::ProbeOutcome;
use witlet_core::sources::plugin::{PollResponse, Snapshot, SourceFault};
use witlet_wasm::plugin::CallError;

/// What the host puts where it cut a text.
const CUT: char = '…';
/// Where the host cuts messages of verdicts and of sources.
const MESSAGE_BYTES_MAX: usize = 4 << 10;
/// Where the host cuts details of probes.
const DETAIL_BYTES_MAX: usize = 10 << 10;
/// What `poll` promises of each manifest.
const MANIFEST: &str =
    "source.poll: pods are manifests as JSON or YAML text, one pod each, and each pod once";
const SENTENCE: &str = "handler.admit, source.poll: the message is one sentence for people, cut at 4 KiB";
const DETAIL: &str = "prober.probe: the texts of an outcome are for people, and the host cuts them at 10 KiB";
const OWN_WORDS: &str = "an error is reported in the plugin's own words";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ResponseKind {
    /// Nothing against a configuration, parameters or a status.
    Done,
    /// An error in the plugin's own words.
    Error,
    /// The parameters of a probe are refused, and nothing was probed.
    ParametersRefused,
    Admit,
    Reject,
    Defer,
    Shortage,
    Success,
    Warning,
    Failure,
    Pods,
    Empty,
    Unchanged,
    /// A source says why it can't tell what it has.
    SourceError,
}

impl ResponseKind {
    /// Returns the name as case files and findings name it.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Done => "ok",
            Self::Error => "an error",
            Self::ParametersRefused => "the parameters are refused",
            Self::Admit => "admit",
            Self::Reject => "reject",
            Self::Defer => "defer",
            Self::Shortage => "shortage",
            Self::Success => "success",
            Self::Warning => "warning",
            Self::Failure => "failure",
            Self::Pods => "pods",
            Self::Empty => "empty",
            Self::Unchanged => "unchanged",
            Self::SourceError => "the error",
        }
    }
}

impl ResponseKind {
    /// Whether it has a reason, and a message for people.
    fn has_reason(self) -> bool {
        matches!(self, Self::Reject | Self::Defer | Self::SourceError)
    }

    /// Whether it is what a probe found, with a detail.
    fn is_outcome(self) -> bool {
        matches!(self, Self::Success | Self::Warning | Self::Failure)
    }
}

/// An answer of a plugin in any role. What a kind of answer doesn't have is empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PluginResponse {
    pub(crate) kind: ResponseKind,
    /// The CamelCase word of a verdict or of a source's error.
    pub(crate) reason: String,
    /// The message of a verdict or an error, the detail of an outcome.
    pub(crate) text: String,
    /// When the plugin wants to be asked again.
    pub(crate) milliseconds: Option<u64>,
    pub(crate) shortages: Vec<Shortage>,
    pub(crate) manifests: Vec<String>,
    pub(crate) cursor: Option<String>,
}

/// An answer, or why there is none that counts. An error in the plugin's own words is an answer.
pub(crate) type CallResult = Result<PluginResponse, CallError>;

impl PluginResponse {
    pub(crate) fn new(kind: ResponseKind, text: impl Into<String>) -> Self {
        Self {
            kind,
            reason: String::new(),
            text: text.into(),
            milliseconds: None,
            shortages: Vec::new(),
            manifests: Vec::new(),
            cursor: None,
        }
    }
}

impl From<()> for PluginResponse {
    fn from((): ()) -> Self {
        Self::new(ResponseKind::Done, "")
    }
}

impl From<Verdict> for PluginResponse {
    fn from(verdict: Verdict) -> Self {
        match verdict {
            Verdict::Admit => Self::new(ResponseKind::Admit, ""),
            Verdict::Reject { reason, message } => {
                Self { reason, ..Self::new(ResponseKind::Reject, message) }
            }
            Verdict::Defer { reason, message, retry_after } => {
                let milliseconds = whole_milliseconds(Some(retry_after));
                Self { reason, milliseconds, ..Self::new(ResponseKind::Defer, message) }
            }
            Verdict::Shortage(shortages) => Self { shortages, ..Self::new(ResponseKind::Shortage, "") },
        }
    }
}

impl From<ProbeOutcome> for PluginResponse {
    fn from(outcome: ProbeOutcome) -> Self {
        match outcome {
            ProbeOutcome::Success(detail) => Self::new(ResponseKind::Success, detail),
            ProbeOutcome::Warning(detail) => Self::new(ResponseKind::Warning, detail),
            ProbeOutcome::Failure(detail) => Self::new(ResponseKind::Failure, detail),
        }
    }
}

impl From<Result<PollResponse, SourceFault>> for PluginResponse {
    fn from(polled: Result<PollResponse, SourceFault>) -> Self {
        match polled {
            Ok(PollResponse { snapshot, cursor, next_poll }) => {
                let (kind, manifests) = match snapshot {
                    Snapshot::Unchanged => (ResponseKind::Unchanged, Vec::new()),
                    Snapshot::Empty => (ResponseKind::Empty, Vec::new()),
                    Snapshot::Pods(manifests) => (ResponseKind::Pods, manifests),
                };
                let milliseconds = whole_milliseconds(next_poll);
                Self { manifests, cursor, milliseconds, ..Self::new(kind, "") }
            }
            Err(SourceFault { reason, message, retry_after }) => {
                let milliseconds = whole_milliseconds(retry_after);
                Self { reason, milliseconds, ..Self::new(ResponseKind::SourceError, message) }
            }
        }
    }
}

fn whole_milliseconds(time: Option<Duration>) -> Option<u64> {
    time.map(|time| u64::try_from(time.as_millis()).unwrap_or(u64::MAX))
}

/// Returns what a call of the host's came to.
pub(crate) fn answered<T: Into<PluginResponse>>(result: Result<T, CallError>) -> CallResult {
    match result {
        Ok(answer) => Ok(answer.into()),
        Err(CallError::Refused { words }) => Ok(PluginResponse::new(ResponseKind::Error, words)),
        Err(error) => Err(error),
    }
}

/// An answer in one line, for people.
pub(crate) fn in_words(answered: &CallResult) -> String {
    let answer = match answered {
        Ok(answer) => answer,
        Err(error) => return format!("no answer: {}", error.sentence()),
    };
    let PluginResponse { kind, reason, text, .. } = answer;
    let word = kind.as_str();
    match kind {
        ResponseKind::Done => "it has nothing against it".to_owned(),
        ResponseKind::Admit | ResponseKind::Empty | ResponseKind::Unchanged => word.to_owned(),
        ResponseKind::Reject | ResponseKind::SourceError => format!("{word} {reason}: {text}"),
        ResponseKind::Defer => {
            format!("{word} {reason} for {}ms: {text}", answer.milliseconds.unwrap_or_default())
        }
        ResponseKind::Shortage => {
            let listed = answer.shortages.iter().map(|shortage| {
                let Shortage { resource, requested, used, capacity } = shortage;
                format!("{resource} (requested {requested}, used {used}, capacity {capacity})")
            });
            format!("shortage of {}", listed.collect::<Vec<_>>().join(", "))
        }
        ResponseKind::Pods => format!("{} pods ({})", answer.manifests.len(), names(&answer.manifests)),
        ResponseKind::Error
        | ResponseKind::ParametersRefused
        | ResponseKind::Success
        | ResponseKind::Warning
        | ResponseKind::Failure => format!("{word}: {text}"),
    }
}

/// An answer by which it is compared with others. None where only the machine's load may be the reason.
pub(crate) fn comparable(answered: &CallResult) -> Option<String> {
    match answered {
        Err(CallError::Busy | CallError::Host | CallError::Timeout { .. }) => None,
        // Details may hold times.
        Ok(answer) if answer.kind.is_outcome() => decision(answered),
        Ok(_) | Err(_) => Some(in_words(answered)),
    }
}

/// The same without what is said to people, who may be shown a pod's own words.
pub(crate) fn decision(answered: &CallResult) -> Option<String> {
    let Ok(PluginResponse { kind, reason, .. }) = answered else { return comparable(answered) };
    Some(match kind {
        ResponseKind::Shortage | ResponseKind::Pods => in_words(answered),
        kind if kind.has_reason() => format!("{} {reason}", kind.as_str()),
        kind => kind.as_str().to_owned(),
    })
}

pub(crate) fn is(answered: &CallResult, kind: ResponseKind) -> bool {
    answered.as_ref().is_ok_and(|answer| answer.kind == kind)
}

pub(crate) fn passes(answered: &CallResult) -> bool {
    is(answered, ResponseKind::Success) || is(answered, ResponseKind::Warning)
}

/// The manifests that a poll brought, sorted; none if it brought none.
pub(crate) fn set(answered: &CallResult) -> Option<Vec<String>> {
    let answer = answered.as_ref().ok().filter(|answer| answer.kind == ResponseKind::Pods)?;
    let mut manifests = answer.manifests.clone();
    manifests.sort();
    Some(manifests)
}

/// Something that the contract doesn't allow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    pub(crate) seen: String,
    pub(crate) contract: &'static str,
    /// Whether there was no answer in time: to ask more of the kind costs as much time again.
    pub(crate) is_late: bool,
}

impl Fault {
    pub(crate) fn new(seen: impl Into<String>, contract: &'static str) -> Self {
        Self { seen: seen.into(), contract, is_late: false }
    }

    /// Where it came of something that the plugin had nothing against.
    pub(crate) fn after(self, before: &str) -> Self {
        Self { seen: format!("{before}: {}", self.seen), ..self }
    }
}

/// Returns what is wrong with an answer, or with how it failed to come. `contract` is what the function promises.
pub(crate) fn fault(answered: &CallResult, contract: &'static str) -> Option<Fault> {
    failure(answered, contract).or_else(|| {
        let PluginResponse { kind, text, .. } = answered.as_ref().ok()?;
        if kind.is_outcome() {
            return was_cut("detail", text, DETAIL_BYTES_MAX, DETAIL);
        }
        let empty = kind.has_reason() && text.trim().is_empty();
        let empty = empty.then(|| Fault::new("an empty message", SENTENCE));
        empty.or_else(|| was_cut("message", text, MESSAGE_BYTES_MAX, SENTENCE))
    })
}

/// The same whatever it says to people: an answer to a hostile question may hold the question.
pub(crate) fn failure(answered: &CallResult, contract: &'static str) -> Option<Fault> {
    match answered {
        // Of these the host is the reason.
        Err(CallError::Busy | CallError::Host | CallError::Loading | CallError::Quarantined { .. }) => None,
        Err(error) => {
            let is_late = matches!(error, CallError::Timeout { .. });
            Some(Fault { is_late, ..Fault::new(error.sentence(), contract) })
        }
        Ok(PluginResponse { kind: ResponseKind::Error | ResponseKind::ParametersRefused, text, .. }) => {
            text.trim().is_empty().then(|| Fault::new("an error without words", OWN_WORDS))
        }
        Ok(answer) => snapshot(&answer.manifests),
    }
}

fn was_cut(what: &str, text: &str, bytes_max: usize, contract: &'static str) -> Option<Fault> {
    // The host cuts at the border of a letter.
    let cut = text.ends_with(CUT) && text.len() > bytes_max - CUT.len_utf8();
    cut.then(|| Fault::new(format!("a {what} of more than {bytes_max} bytes: {}", beginning(text)), contract))
}

fn beginning(text: &str) -> String {
    text.chars().take(40).chain([CUT]).collect()
}

fn snapshot(manifests: &[String]) -> Option<Fault> {
    let mut seen = BTreeSet::new();
    manifests.iter().find_map(|manifest| match identity(manifest) {
        Err(problem) => {
            Some(Fault::new(format!("a manifest that {problem}: {}", beginning(manifest)), MANIFEST))
        }
        Ok(pod) => (!seen.insert(pod.clone()))
            .then(|| Fault::new(format!("the pod {pod} twice in one set"), MANIFEST)),
    })
}

/// Namespace and name of the pod that a manifest is, or what is wrong with it.
fn identity(manifest: &str) -> Result<String, &'static str> {
    let decoded: Value =
        serde_saphyr::from_str(manifest).map_err(|_| "is neither JSON nor YAML of one document")?;
    let text = |pointer: &str| decoded.pointer(pointer).and_then(Value::as_str);
    if text("/kind") != Some("Pod") || text("/apiVersion") != Some("v1") {
        return Err("is no Pod of v1");
    }
    let name = text("/metadata/name").or(text("/metadata/generateName"));
    let name = name.filter(|name| !name.is_empty()).ok_or("has no name")?;
    Ok(format!("{}/{name}", text("/metadata/namespace").unwrap_or("default")))
}

/// Which pods a set has, for people.
pub(crate) fn names(manifests: &[String]) -> String {
    let name = |manifest: &String| identity(manifest).unwrap_or_else(|problem| format!("one that {problem}"));
    manifests.iter().map(name).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests;
