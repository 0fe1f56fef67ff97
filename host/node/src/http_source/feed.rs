//! What answers of the URL mean: pure, from bytes or a failure to pods and reports.

use std::sync::Arc;

use k8s_openapi::api::core::v1::Pod;
use sha2::{Digest, Sha256};
use witlet_core::pod::SourceName;
use witlet_core::pod::static_pod::Origin;
use witlet_core::sources::manifest;

#[cfg(test)]
mod tests;

/// Why something is reported of the URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reason {
    /// It couldn't be read.
    FailedRead,
    /// What was read is no manifest that can run here.
    InvalidManifest,
    /// There was nothing to read, which means that there are no pods.
    EmptyAnswer,
}

impl Reason {
    /// The CamelCase word for events.
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::FailedRead => "FailedRead",
            Self::InvalidManifest => "InvalidManifest",
            Self::EmptyAnswer => "EmptyAnswer",
        }
    }
}

/// Something that an operator should know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Report {
    pub(super) reason: Reason,
    pub(super) message: String,
}

/// What one check led to.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Outcome {
    /// The full set, if it differs from the last one or is the first.
    pub(super) pods: Option<Vec<Arc<Pod>>>,
    /// What is to be reported now: another trouble than the last, or the same at the second, fourth, eighth, … time.
    pub(super) report: Option<Report>,
    /// Whether this is the first good check after bad ones.
    pub(super) recovered: bool,
    /// Bad checks since the last good one.
    pub(super) failures: u32,
}

/// The memory between checks.
#[derive(Clone, Debug)]
pub(super) struct Feed {
    source: SourceName,
    node_name: String,
    place: String,
    /// Of the last answer that was understood; an empty one has none.
    digest: Option<[u8; 32]>,
    sent: Option<Vec<Arc<Pod>>>,
    trouble: Option<Reason>,
    failures: u32,
}

impl Feed {
    pub(super) fn new(source: SourceName, node_name: String, place: String) -> Self {
        Self { source, node_name, place, digest: None, sent: None, trouble: None, failures: 0 }
    }

    /// Takes an answer in, or why there is none. A failure keeps the last set. An answer of no bytes means that there are
    /// no pods, as upstream has it, and is reported all the same: it is more often a fault than a wish. Unlike upstream's, a
    /// server that brings the same pods after that is believed.
    pub(super) fn observe(&mut self, response: Result<Vec<u8>, String>) -> Outcome {
        let bytes = match response {
            Ok(bytes) => bytes,
            Err(message) => return self.failed(Reason::FailedRead, message),
        };
        if bytes.is_empty() {
            self.digest = None;
            let message = "returned an empty response: no pods".to_owned();
            let outcome = self.failed(Reason::EmptyAnswer, message);
            return Outcome { pods: self.changed(Vec::new()), ..outcome };
        }
        let digest = Sha256::digest(&bytes).into();
        if self.digest == Some(digest) {
            return Outcome { recovered: self.is_well(), ..Outcome::default() };
        }
        let origin = Origin { source: &self.source, place: &self.place, node_name: &self.node_name };
        match manifest::static_pods(&bytes, origin) {
            Ok(pods) => {
                self.digest = Some(digest);
                let pods = self.changed(pods.into_iter().map(Arc::new).collect());
                Outcome { pods, recovered: self.is_well(), ..Outcome::default() }
            }
            Err(error) => {
                let problems: Vec<_> = error.problems.iter().map(ToString::to_string).collect();
                self.failed(Reason::InvalidManifest, problems.join("; "))
            }
        }
    }

    fn is_well(&mut self) -> bool {
        self.failures = 0;
        self.trouble.take().is_some()
    }

    fn failed(&mut self, reason: Reason, message: String) -> Outcome {
        let is_new = self.trouble != Some(reason);
        self.trouble = Some(reason);
        self.failures = if is_new { 1 } else { self.failures.saturating_add(1) };
        let report = self.failures.is_power_of_two().then_some(Report { reason, message });
        Outcome { report, failures: self.failures, ..Outcome::default() }
    }

    fn changed(&mut self, pods: Vec<Arc<Pod>>) -> Option<Vec<Arc<Pod>>> {
        if self.sent.as_ref() == Some(&pods) {
            return None;
        }
        self.sent = Some(pods.clone());
        Some(pods)
    }
}
