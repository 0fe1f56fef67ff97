//! Whether an answer is one that the contract has.

use std::collections::BTreeSet;

use serde_json::Value;
use witlet_core::admission::Verdict;
use witlet_core::config::source::{PollAnswer, Snapshot, SourceFault};
use witlet_core::probe::ProbeOutcome;
use witlet_wasm::plugin::CallError;

use crate::Finding;

/// What the host puts where it cut a text.
const CUT: char = '…';
/// Where the host cuts messages of verdicts and of sources.
const MESSAGE_BYTES_MAX: usize = 4 << 10;
/// Where the host cuts details of probes.
const DETAIL_BYTES_MAX: usize = 10 << 10;
/// What `poll` promises of each manifest.
const MANIFEST: &str =
    "source.poll: pods are manifests as JSON or YAML text, one pod each, and each pod once";

/// Something that the contract doesn't allow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    /// What the plugin did.
    pub(crate) seen: String,
    /// What the contract says instead.
    pub(crate) contract: &'static str,
}

impl Fault {
    fn new(seen: impl Into<String>, contract: &'static str) -> Self {
        Self { seen: seen.into(), contract }
    }

    /// With the input that brought it.
    pub(crate) fn on(self, input: impl Into<String>) -> Finding {
        Finding::new(input, self.seen, self.contract)
    }
}

/// What a verdict needs.
const VERDICT: &str =
    "handler.admit returns a verdict, or an error in its own words, within its limits of time and memory";
/// What an outcome needs.
const OUTCOME: &str =
    "prober.probe returns an outcome, or an error in its own words, within its limits of time and memory";

/// How a verdict failed to come, whatever it says where it came.
pub(crate) fn no_verdict(result: &Result<Verdict, CallError>) -> Option<Fault> {
    result.as_ref().err().and_then(|error| call(error, VERDICT))
}

/// How an outcome failed to come, whatever it says where it came.
pub(crate) fn no_outcome(result: &Result<ProbeOutcome, CallError>) -> Option<Fault> {
    result.as_ref().err().and_then(|error| call(error, OUTCOME))
}

/// What is wrong with a verdict, or with how it failed to come. An error in the plugin's own words is an answer.
pub(crate) fn verdict(result: &Result<Verdict, CallError>) -> Option<Fault> {
    match result {
        Ok(Verdict::Admit | Verdict::Shortage(_)) => None,
        Ok(Verdict::Reject { message, .. } | Verdict::Defer { message, .. }) => {
            sentence(message, "handler.admit: the message is one sentence for people, cut at 4 KiB")
        }
        Err(error) => call(error, VERDICT),
    }
}

/// What is wrong with an outcome, or with how it failed to come.
pub(crate) fn outcome(result: &Result<ProbeOutcome, CallError>) -> Option<Fault> {
    match result {
        Ok(ProbeOutcome::Success(detail) | ProbeOutcome::Warning(detail) | ProbeOutcome::Failure(detail)) => {
            was_cut(detail, DETAIL_BYTES_MAX).then(|| {
                Fault::new(
                    format!("a detail of more than {DETAIL_BYTES_MAX} bytes: {}", beginning(detail)),
                    "prober.probe: the texts of an outcome are for people, and the host cuts them at 10 KiB",
                )
            })
        }
        Err(error) => call(error, OUTCOME),
    }
}

/// What is wrong with what a source has, or with how it failed to tell.
pub(crate) fn poll(result: &Result<Result<PollAnswer, SourceFault>, CallError>) -> Option<Fault> {
    match result {
        Ok(Ok(answer)) => snapshot(&answer.snapshot),
        Ok(Err(fault)) => sentence(
            &fault.message,
            "source.poll: the message of an error is one sentence for people, cut at 4 KiB",
        ),
        Err(error) => call(
            error,
            "source.poll returns what the source has, or an error with a reason, within its limits of time and memory",
        ),
    }
}

/// What is wrong with how a call failed to bring an answer; nothing if that is the plugin's right.
pub(crate) fn call(error: &CallError, contract: &'static str) -> Option<Fault> {
    match error {
        CallError::Refused { words } if words.trim().is_empty() => {
            Some(Fault::new("an error without words", "an error is told in the plugin's own words"))
        }
        CallError::Refused { .. } => None,
        // Of these the host is the reason.
        CallError::Busy | CallError::Host | CallError::Loading | CallError::Quarantined { .. } => None,
        CallError::Trap { .. }
        | CallError::StackOverflow
        | CallError::Timeout { .. }
        | CallError::OutOfMemory { .. }
        | CallError::OutOfTable { .. }
        | CallError::WouldBlock(_)
        | CallError::TooMuchData { .. }
        | CallError::State(_)
        | CallError::Mismatch { .. }
        | CallError::Exited { .. }
        | CallError::BadAnswer { .. }
        | CallError::NotLoaded { .. } => Some(Fault::new(error.sentence(), contract)),
    }
}

fn sentence(message: &str, contract: &'static str) -> Option<Fault> {
    if message.trim().is_empty() {
        return Some(Fault::new("an empty message", contract));
    }
    let cut = was_cut(message, MESSAGE_BYTES_MAX);
    cut.then(|| {
        Fault::new(
            format!("a message of more than {MESSAGE_BYTES_MAX} bytes: {}", beginning(message)),
            contract,
        )
    })
}

fn was_cut(text: &str, bytes_max: usize) -> bool {
    // The host cuts at the border of a letter.
    text.ends_with(CUT) && text.len() > bytes_max - CUT.len_utf8()
}

fn beginning(text: &str) -> String {
    text.chars().take(40).chain([CUT]).collect()
}

fn snapshot(snapshot: &Snapshot) -> Option<Fault> {
    let manifests = match snapshot {
        Snapshot::Unchanged | Snapshot::Empty => return None,
        Snapshot::Pods(manifests) => manifests,
    };
    let mut seen = BTreeSet::new();
    for manifest in manifests {
        let identity = match identity(manifest) {
            Ok(identity) => identity,
            Err(problem) => {
                return Some(Fault::new(
                    format!("a manifest that {problem}: {}", beginning(manifest)),
                    MANIFEST,
                ));
            }
        };
        if !seen.insert(identity.clone()) {
            return Some(Fault::new(format!("the pod {} twice in one set", identity.join("/")), MANIFEST));
        }
    }
    None
}

/// Namespace and name of the pod that a manifest is, or what is wrong with it.
pub(crate) fn identity(manifest: &str) -> Result<[String; 2], String> {
    let decoded: Value = serde_saphyr::from_str(manifest)
        .map_err(|_| "is neither JSON nor YAML of one document".to_owned())?;
    let text = |pointer: &str| decoded.pointer(pointer).and_then(Value::as_str);
    if text("/kind") != Some("Pod") || text("/apiVersion") != Some("v1") {
        return Err("is no Pod of v1".to_owned());
    }
    let name = text("/metadata/name").or(text("/metadata/generateName"));
    let name = name.filter(|name| !name.is_empty()).ok_or("has no name")?;
    Ok([text("/metadata/namespace").unwrap_or("default").to_owned(), name.to_owned()])
}

#[cfg(test)]
mod tests;
