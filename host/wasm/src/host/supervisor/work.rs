//! Loads that run, loads that failed, and what follows for a plugin when the file is read again.

use std::sync::Arc;

use tokio::task::AbortHandle;
use tokio::time::Instant;

use super::super::retry::Retry;
use crate::plugin::{Code, LoadError, Loading, Plugin, Spec};

/// A load that is over.
pub(super) struct FinishedLoad {
    pub(super) serial: u64,
    pub(super) loading: Loading,
}

/// A plugin that is being loaded, or was and doesn't run yet. Dropping it ends the load.
pub(super) struct Work {
    pub(super) spec: Spec,
    pub(super) serial: u64,
    /// Why the newest version failed, if this is the last good one in its place.
    pub(super) spare_for: Option<Arc<LoadError>>,
    pub(super) result: Option<Loading>,
    task: AbortHandle,
}

impl Work {
    pub(super) fn new(spec: Spec, serial: u64, spare_for: Option<Arc<LoadError>>, task: AbortHandle) -> Self {
        Self { spec, serial, spare_for, result: None, task }
    }

    /// Whether its task ended without a result.
    pub(super) fn is_dead(&self) -> bool {
        self.result.is_none() && self.task.is_finished()
    }
}

impl Drop for Work {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// A version that was tried and doesn't load.
#[derive(Clone, Debug)]
pub(crate) struct Failure {
    pub(crate) spec: Spec,
    /// Of the component, if that was read.
    pub(super) digest: Option<String>,
    pub(crate) error: Arc<LoadError>,
    retry: Option<Retry>,
}

impl Failure {
    /// At `now`; `previous` is the failure before, of this plugin.
    pub(super) fn new(
        spec: &Spec,
        digest: Option<String>,
        error: Arc<LoadError>,
        previous: Option<&Self>,
        now: Instant,
    ) -> Self {
        let again = previous.filter(|previous| previous.spec.runs_as(spec) && previous.digest == digest);
        let retry = Retry::after(&error, again.and_then(|previous| previous.retry), now);
        Self { spec: spec.clone(), digest, error, retry }
    }

    /// Whether it is time for another try.
    pub(super) fn is_due(&self, now: Instant) -> bool {
        self.retry.is_some_and(|retry| retry.at <= now)
    }

    /// Whether the same bytes would fail in the same way under this specification.
    pub(super) fn is_final_for(&self, spec: &Spec) -> bool {
        self.retry.is_none() && self.spec.runs_as(spec)
    }
}

/// What is to be done for one plugin when the file was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// It is as the file has it, or was tried so.
    Nothing,
    /// What is being loaded is what the file has.
    Respecify,
    /// What runs is what the file has again: newer versions that were tried are forgotten.
    Return,
    /// It must be loaded.
    Load,
}

/// Decides on one plugin: `old` runs under its name, `work` is being loaded, `failure` was the last that didn't load.
pub(super) fn next_step(
    spec: &Spec,
    old: Option<&Arc<Plugin>>,
    work: Option<&Work>,
    failure: Option<&Failure>,
) -> Step {
    if work.is_some_and(|work| work.spec.runs_as(spec)) {
        return Step::Respecify;
    }
    if work.is_none() && failure.is_some_and(|failure| failure.spec.runs_as(spec)) {
        return Step::Nothing;
    }
    match old.map(|old| (&old.code, old.spec.runs_as(spec))) {
        Some((Code::Ready(_), true)) if work.is_none() && failure.is_none() => Step::Nothing,
        // What was being loaded may have been another check of who vouches for it.
        Some((Code::Ready(_), true)) if spec.has_demands() => Step::Load,
        Some((Code::Ready(_), true)) => Step::Return,
        Some((Code::Loading | Code::Failed(_), _) | (Code::Ready(_), false)) | None => Step::Load,
    }
}

/// Whether what runs goes on although its newest entry or component doesn't load. Where a report or a signature is demanded, only what was
/// found good by the same demands does; not if these very bytes aren't found good any more, nor if a key that stands for
/// them doesn't count any more (`keys` are those that do, if that is known).
pub(super) fn failure_spares(
    old: &Plugin,
    spec: &Spec,
    digest: Option<&str>,
    keys: Option<&[String]>,
    error: &LoadError,
) -> bool {
    if !spec.has_demands() {
        return true;
    }
    let runs = old.code.ready();
    let taken_back = matches!(error, LoadError::Conformance(_) | LoadError::Signature(_))
        && runs.map(|loaded| &*loaded.digest) == digest;
    let by = runs.map(|loaded| loaded.key_ids()).unwrap_or_default();
    let key_lost = keys.is_some_and(|keys| by.is_empty() || by.iter().any(|key| !keys.contains(key)));
    old.spec.has_demands_of(spec) && !taken_back && !key_lost
}
