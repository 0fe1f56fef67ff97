//! What each handler made of one question, for commands that try handlers out.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use witlet_core::admission::Decision;
use witlet_core::admission::chain::{FailurePolicy, HandlerResponse};

use crate::guest::{CapturedLine, LogTap};

/// A decision with how it came about.
#[derive(Clone, Debug)]
pub struct Explanation {
    /// What the node decides.
    pub decision: Decision,
    /// The handler after whose answer no other was asked; none if all were.
    pub decided_by: Option<String>,
    /// All handlers in the order of asking.
    pub handlers: Vec<HandlerReport>,
}

/// One handler.
#[derive(Clone, Debug)]
pub struct HandlerReport {
    pub name: String,
    /// Whether it is there without being configured.
    pub builtin: bool,
    /// Whether its verdicts are compared and don't count.
    pub shadow: bool,
    /// SHA-256 of its component in hexadecimal, if that is loaded.
    pub digest: Option<String>,
    /// What its failure means for a pod.
    pub failure_policy: FailurePolicy,
    /// What became of the question.
    pub step: HandlerStep,
}

/// What became of the question at one handler.
#[derive(Clone, Debug)]
pub enum HandlerStep {
    /// Its entry leaves the pod out.
    NotMatched {
        /// Path of the rule in the entry.
        rule: String,
        message: String,
    },
    /// An earlier one decided.
    NotAsked,
    Answered(HandlerAnswer),
}

/// An answer, and what it took.
#[derive(Clone, Debug)]
pub struct HandlerAnswer {
    /// As the host took it: what a failure comes to stands in its policy.
    pub response: HandlerResponse,
    /// Whether it was part of the decision.
    pub counts: bool,
    /// What the contract doesn't allow of it, of which the host made something that it does.
    pub fault: Option<String>,
    /// What it warned the pod's owner of.
    pub warnings: Vec<String>,
    /// What it noted for the decision log.
    pub annotations: BTreeMap<String, String>,
    /// From the question to the answer.
    pub took: Duration,
    pub cpu: Duration,
    /// The most linear memory that its instance had.
    pub memory_bytes_peak: u64,
    /// What it logged meanwhile.
    pub log: Vec<CapturedLine>,
}

/// What is measured of a call.
pub(super) struct MeasuredCall {
    pub(super) fault: Option<String>,
    pub(super) warnings: Vec<String>,
    pub(super) annotations: BTreeMap<String, String>,
    pub(super) took: Duration,
    pub(super) memory_bytes_peak: u64,
    pub(super) cpu: Duration,
}

/// Keeps the answers to one question.
pub(super) struct Answers {
    log: LogTap,
    /// By the names of handlers.
    kept: BTreeMap<Arc<str>, HandlerAnswer>,
}

impl Answers {
    /// Creates an empty explanation; what was logged before is dropped.
    pub(super) fn new(log: LogTap) -> Self {
        log.take();
        Self { log, kept: BTreeMap::new() }
    }

    pub(super) fn keep(&mut self, handler: &Arc<str>, response: &HandlerResponse, measured: MeasuredCall) {
        let answer = self.answer(response.clone(), measured, true);
        self.kept.insert(handler.clone(), answer);
    }

    /// An answer with what its handler has logged since the last one.
    pub(super) fn answer(
        &self,
        response: HandlerResponse,
        measured: MeasuredCall,
        counts: bool,
    ) -> HandlerAnswer {
        let MeasuredCall { fault, warnings, annotations, took, memory_bytes_peak, cpu } = measured;
        let log = self.log.take();
        HandlerAnswer { response, counts, fault, warnings, annotations, took, cpu, memory_bytes_peak, log }
    }

    pub(super) fn take(&mut self, handler: &str) -> Option<HandlerAnswer> {
        self.kept.remove(handler)
    }
}
