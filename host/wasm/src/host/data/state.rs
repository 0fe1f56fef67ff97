//! What is known of one source of data, and what follows from a check of it.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use tokio::task::AbortHandle;
use tokio::time::Instant;
use witlet_core::refresh::{self, FetchOutcome};
use witlet_egress::Validators;

use crate::guest::data::{DataOrigin, Snapshot};

/// What entries want of a source: the shortest that one of them says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct RefreshPolicy {
    /// None for files, and for what never changes.
    pub(super) refresh: Option<Duration>,
    pub(super) max_age: Option<Duration>,
}

impl RefreshPolicy {
    /// What this and another entry want.
    pub(super) fn and(self, other: Self) -> Self {
        let shorter = |one: Option<Duration>, other: Option<Duration>| one.into_iter().chain(other).min();
        Self { refresh: shorter(self.refresh, other.refresh), max_age: shorter(self.max_age, other.max_age) }
    }
}

/// A moment, by both clocks.
#[derive(Clone, Copy, Debug)]
pub(super) struct TimePair {
    pub(super) at: Instant,
    pub(super) time: Timestamp,
}

/// What is kept of a source next to its bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Notes {
    /// When the bytes were last known to be the newest, as far as that is noted.
    pub(super) confirmed: Option<Timestamp>,
    pub(super) validators: Option<Validators>,
}

/// What is known of one source.
#[derive(Debug)]
pub(super) struct State {
    pub(super) origin: Arc<DataOrigin>,
    /// The newest that could be had.
    pub(super) snapshot: Option<Arc<Snapshot>>,
    pub(super) wish: RefreshPolicy,
    pub(super) notes: Notes,
    /// What was noted when it was kept last.
    pub(super) kept_confirmed: Option<Timestamp>,
    /// When it is fetched, if ever.
    pub(super) due: Option<Instant>,
    failures: u32,
    task: Option<AbortHandle>,
}

/// What a check of a source changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Differences {
    /// Its bytes, or what is wrong with it.
    pub(super) is_other: bool,
    /// What is kept of it.
    pub(super) is_unkept: bool,
}

impl State {
    pub(super) fn new(location: String, wish: RefreshPolicy) -> Self {
        Self {
            origin: Arc::new(DataOrigin::new(location)),
            snapshot: None,
            wish,
            notes: Notes::default(),
            kept_confirmed: None,
            due: None,
            failures: 0,
            task: None,
        }
    }

    /// Whether nothing is known of it yet but that it is being fetched.
    pub(super) fn is_pending(&self) -> bool {
        self.snapshot.is_none() && self.origin.problem().is_none()
    }

    /// Whether it is to be fetched now.
    pub(super) fn is_due(&self, now: Instant) -> bool {
        let is_running = self.task.as_ref().is_some_and(|task| !task.is_finished());
        !is_running && self.due.is_some_and(|due| due <= now)
    }

    /// Notes the task that fetches it.
    pub(super) fn fetching(&mut self, task: AbortHandle) {
        self.task = Some(task);
    }

    /// Goes on with what an earlier process kept.
    pub(super) fn restore(&mut self, snapshot: Snapshot, notes: Notes, now: TimePair) {
        self.snapshot = Some(Arc::new(snapshot));
        self.kept_confirmed = notes.confirmed;
        let age = notes.confirmed.map(|confirmed| refresh::age(confirmed, now.time));
        self.origin.set_age(age, now.at);
        self.notes = notes;
    }

    /// These are the newest bytes, with what their server knows them by.
    pub(super) fn take(&mut self, snapshot: Snapshot, validators: Option<Validators>) -> Differences {
        let before = self.snapshot.as_ref().map(|snapshot| snapshot.digest());
        let is_other = before != Some(snapshot.digest());
        if is_other {
            self.snapshot = Some(Arc::new(snapshot));
        }
        self.notes.validators = validators;
        let is_well = self.origin.set_problem(None);
        Differences { is_other: is_other || is_well, is_unkept: is_other || is_well }
    }

    /// The newest can't be had. What serves goes on.
    pub(super) fn fail(&mut self, problem: String) -> Differences {
        Differences { is_other: self.origin.set_problem(Some(problem)), is_unkept: false }
    }

    /// A file was checked. As long as it can be read, what was read is the newest.
    pub(super) fn checked(&mut self, is_well: bool, now: TimePair) -> Differences {
        if is_well {
            self.notes.confirmed = None;
            self.origin.set_age(None, now.at);
        } else if self.notes.confirmed.is_none() {
            self.notes.confirmed = Some(now.time);
            self.origin.set_age(Some(Duration::ZERO), now.at);
        }
        let is_due = refresh::is_confirmation_due(self.kept_confirmed, now.time, self.wish.max_age);
        let is_unkept = !is_well && self.kept_confirmed != self.notes.confirmed && is_due;
        Differences { is_other: false, is_unkept }
    }

    /// A fetch is over. `failure` is none if it brought the newest, or said that these are them.
    pub(super) fn fetched(
        &mut self,
        failure: Option<Option<Duration>>,
        now: TimePair,
        chance: f64,
    ) -> Differences {
        let outcome = match failure {
            None => {
                self.failures = 0;
                // What never changes is always the newest.
                let ages = self.wish.refresh.is_some();
                self.notes.confirmed = Some(now.time).filter(|_| ages);
                self.origin.set_age(Some(Duration::ZERO).filter(|_| ages), now.at);
                FetchOutcome::Fetched
            }
            Some(retry_after) => {
                self.failures = self.failures.saturating_add(1);
                FetchOutcome::Failed { failures: self.failures, retry_after }
            }
        };
        self.due = refresh::next_fetch(self.wish.refresh, outcome, chance).map(|wait| now.at + wait);
        let is_due = refresh::is_confirmation_due(self.kept_confirmed, now.time, self.wish.max_age);
        Differences { is_other: false, is_unkept: failure.is_none() && is_due }
    }
}

impl Drop for State {
    fn drop(&mut self) {
        if let Some(task) = &self.task {
            task.abort();
        }
    }
}
