//! Decides what the answers of a polled source mean: which set is sent, what is reported, and when it is asked again.
//!
//! The last good set stands whatever goes wrong, and what was never reported is never taken for nothing.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use crate::container::backoff::BackoffPolicy;

use k8s_openapi::api::core::v1::Pod;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::allow::{self, Allowance, AllowedPods, LeftOut, Rule, SetError};
use super::plugin::{LeftOutPod, PollResponse, Snapshot, SourceFault};
use crate::pod::SourceName;

#[cfg(test)]
mod tests;

/// A source isn't asked sooner than after this, whatever it wants.
pub const WAIT_MIN: Duration = Duration::from_millis(100);
/// Nor later than after this.
pub const WAIT_MAX: Duration = Duration::from_secs(3600);
/// A source that failed once is asked again after at most this long; each further time twice as long.
pub const BACK_OFF_MIN: Duration = Duration::from_secs(1);
/// At most this long.
pub const BACK_OFF_MAX: Duration = Duration::from_secs(300);
/// Bytes of a cursor: the contract's bound.
pub const CURSOR_BYTES_MAX: usize = 4096;
/// Left-out pods and manifests that are reported of one set; the rest is counted.
const LEFT_OUT_REPORTED_MAX: usize = 16;
/// Reports that a source may have at once, and how soon it may have one more: a source that flaps must not push all others
/// else's events out of memory.
const REPORTS_MAX: u32 = 64;
const REPORT_EVERY: Duration = Duration::from_secs(2);

/// How one source is polled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// What it may bring.
    pub allowance: Allowance,
    /// How often it is asked when it doesn't say.
    pub interval: Duration,
}

/// How a poll ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Polled {
    Answer(PollResponse),
    /// The source said why it can't.
    Fault(SourceFault),
    /// It can't be asked yet, and nothing is wrong with that.
    NotYet,
    /// It couldn't be asked, or gave no answer that is one.
    Failure {
        /// A CamelCase word.
        reason: String,
        message: String,
        /// It won't be asked before this is over.
        not_before: Option<Duration>,
    },
}

/// Something that an operator should know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Report {
    /// The source can't tell what it has; its last set stands.
    Failed {
        /// A CamelCase word.
        reason: String,
        message: String,
    },
    Recovered,
    /// A pod isn't among what runs.
    LeftOut(LeftOut),
    /// So many more aren't, either.
    MoreLeftOut {
        count: usize,
    },
}

/// A full set to send.
#[derive(Clone, Debug, PartialEq)]
pub struct Set {
    pub pods: Vec<Arc<Pod>>,
    /// Whether nothing is missing from them.
    pub complete: bool,
    /// Whether the source had them before the agent's start and hasn't answered since.
    pub restored: bool,
}

/// What outlives the agent: the last set as the source gave it, and the cursor that belongs to it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Record {
    /// Of the configuration that the cursor belongs to.
    pub config: String,
    /// As the source gave it.
    pub cursor: Option<String>,
    /// None of them: the source said that it has none.
    pub manifests: Vec<String>,
}

/// What a poll led to.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Outcome {
    /// To be sent, if it differs from the last.
    pub set: Option<Set>,
    pub reports: Vec<Report>,
    /// What isn't in the set and wasn't said so before, for the source.
    pub left_out: Vec<LeftOutPod>,
    /// To be kept, if the source may keep something.
    pub keep: Option<Kept>,
    /// How long until the next poll.
    pub wait: Duration,
}

/// A set to keep; see [`Record`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kept {
    /// As the source gave it.
    pub cursor: Option<String>,
    pub manifests: Vec<String>,
}

/// The last set that was taken.
#[derive(Clone, Debug)]
struct LastSnapshot {
    /// Of the manifests; none if they have to be judged again.
    digest: Option<[u8; 32]>,
    pods: Vec<Arc<Pod>>,
    complete: bool,
    /// The source hasn't said so since the agent's start.
    restored: bool,
}

impl LastSnapshot {
    fn set(&self) -> Set {
        Set { pods: self.pods.clone(), complete: self.complete, restored: self.restored }
    }
}

/// Budget of reports: full at first, refilled with time.
#[derive(Clone, Debug)]
struct Budget {
    left: u32,
    refilled: Duration,
}

impl Budget {
    fn take(&mut self, now: Duration) -> bool {
        let periods = now.saturating_sub(self.refilled).as_secs() / REPORT_EVERY.as_secs();
        let periods = u32::try_from(periods).unwrap_or(u32::MAX);
        self.left = self.left.saturating_add(periods).min(REPORTS_MAX);
        self.refilled = self.refilled.saturating_add(REPORT_EVERY.saturating_mul(periods));
        let may = self.left > 0;
        self.left = self.left.saturating_sub(1);
        may
    }
}

/// The memory between polls of one source.
#[derive(Clone, Debug)]
pub struct Polling {
    source: SourceName,
    node_name: String,
    settings: Settings,
    cursor: Option<String>,
    /// A set from before the agent's start, which the first `unchanged` refers to.
    resumed: Option<Vec<String>>,
    last_snapshot: Option<LastSnapshot>,
    /// The reason of the trouble that was reported.
    trouble: Option<String>,
    /// Failures since the last good answer.
    failures: u32,
    reported: BTreeSet<LeftOut>,
    budget: Budget,
}

impl Polling {
    /// A source that wasn't asked yet; `record` is what it left before the agent's start.
    pub fn new(source: SourceName, node_name: &str, settings: Settings, record: Option<Record>) -> Self {
        let (cursor, resumed) = match record {
            Some(Record { config: _, cursor, manifests }) => (cursor, Some(manifests)),
            None => (None, None),
        };
        Self {
            source,
            node_name: node_name.to_owned(),
            settings,
            cursor,
            resumed,
            last_snapshot: None,
            trouble: None,
            failures: 0,
            reported: BTreeSet::new(),
            budget: Budget { left: REPORTS_MAX, refilled: Duration::ZERO },
        }
    }

    /// Takes up what the source had before the agent's start, as far as it is still allowed: it is run until the source
    /// answers. What `unchanged` refers to stays what it was.
    pub fn restore(&mut self, manifests: &[String]) -> Option<Set> {
        if manifests.is_empty() || self.last_snapshot.is_some() {
            return None;
        }
        let taken = allow::take(manifests, &self.source, &self.node_name, &self.settings.allowance, &[]);
        let AllowedPods { pods, left_out: _, complete } = taken.ok()?;
        let last_snapshot = LastSnapshot { digest: None, pods, complete, restored: true };
        Some(self.last_snapshot.insert(last_snapshot).set())
    }

    /// Returns what the next poll is given.
    pub fn cursor(&self) -> Option<&str> {
        self.cursor.as_deref()
    }

    /// Takes over other settings. Of the last set only what is still allowed stays, at once. The source is asked for
    /// everything again: what it was asked to remember belongs to what it was before.
    pub fn reconfigure(&mut self, settings: Settings) -> Option<Set> {
        self.settings = settings;
        (self.cursor, self.resumed) = (None, None);
        let last_snapshot = self.last_snapshot.as_mut()?;
        last_snapshot.digest = None;
        let pods = allow::still_allowed(
            &last_snapshot.pods,
            &self.source,
            &self.node_name,
            &self.settings.allowance,
        );
        if pods.len() == last_snapshot.pods.len() {
            return None;
        }
        last_snapshot.pods = pods;
        Some(last_snapshot.set())
    }

    /// Takes a poll's end in. `now` is the time since the source was first asked, `chance` lies in [0, 1).
    pub fn observe(&mut self, polled: Polled, now: Duration, chance: f64) -> Outcome {
        match polled {
            Polled::Answer(answer) => self.answered(answer, now, chance),
            Polled::Fault(SourceFault { reason, message, retry_after }) => {
                let reason = if is_word(&reason) { reason } else { "SourceError".to_owned() };
                self.failed(reason, message, retry_after, now, chance)
            }
            Polled::NotYet => Outcome { wait: BACK_OFF_MIN, ..Outcome::default() },
            Polled::Failure { reason, message, not_before } => {
                self.failed(reason, message, not_before, now, chance)
            }
        }
    }

    fn answered(&mut self, answer: PollResponse, now: Duration, chance: f64) -> Outcome {
        let PollResponse { snapshot, cursor, next_poll } = answer;
        if let Some(cursor) = cursor.as_ref().filter(|cursor| cursor.len() > CURSOR_BYTES_MAX) {
            let message =
                format!("the cursor must have at most {CURSOR_BYTES_MAX} bytes, found {}", cursor.len());
            return self.failed("InvalidAnswer".to_owned(), message, None, now, chance);
        }
        let (set, left_out, keep) = match self.taken(snapshot) {
            Ok(taken) => taken,
            Err((reason, message)) => return self.failed(reason.to_owned(), message, None, now, chance),
        };
        let keep = keep.filter(|_| left_out.is_some() || cursor != self.cursor);
        self.cursor.clone_from(&cursor);
        self.failures = 0;
        let mut reports = Vec::new();
        if self.trouble.take().is_some() {
            self.report(Report::Recovered, now, &mut reports);
        }
        let left_out = match left_out {
            Some(left_out) => self.tell_left_out(left_out, now, &mut reports),
            None => Vec::new(),
        };
        let keep = keep.map(|manifests| Kept { cursor, manifests });
        let wait = next_poll.unwrap_or(self.settings.interval).clamp(WAIT_MIN, WAIT_MAX);
        Outcome { set, reports, left_out, keep, wait }
    }

    /// The set to send, what isn't in it, and the manifests to keep; or a reason and a sentence.
    #[allow(
        clippy::type_complexity,
        reason = "the parts of one answer, taken apart at once by the only caller"
    )]
    fn taken(
        &mut self,
        snapshot: Snapshot,
    ) -> Result<(Option<Set>, Option<Vec<LeftOut>>, Option<Vec<String>>), (&'static str, String)> {
        let (manifests, is_new) = match snapshot {
            Snapshot::Unchanged
                if self.last_snapshot.as_ref().is_some_and(|last_snapshot| !last_snapshot.restored) =>
            {
                return Ok((None, None, None));
            }
            Snapshot::Unchanged => match self.resumed.clone() {
                Some(manifests) => (manifests, false),
                None => {
                    // Asked without a cursor, it has nothing that it could compare with.
                    self.cursor = None;
                    let message = "the first answer must not be `unchanged`".to_owned();
                    return Err(("InvalidAnswer", message));
                }
            },
            Snapshot::Empty => (Vec::new(), true),
            Snapshot::Pods(manifests) if manifests.is_empty() => {
                return Err(("InvalidAnswer", SetError::NoPods.to_string()));
            }
            Snapshot::Pods(manifests) => (manifests, true),
        };
        let digest = digest(&manifests);
        if self.last_snapshot.as_ref().is_some_and(|last_snapshot| last_snapshot.digest == Some(digest)) {
            return Ok((None, None, Some(manifests)));
        }
        let last = self
            .last_snapshot
            .as_ref()
            .map(|last_snapshot| last_snapshot.pods.as_slice())
            .unwrap_or_default();
        let taken = if manifests.is_empty() {
            AllowedPods { complete: true, ..AllowedPods::default() }
        } else {
            let allowance = &self.settings.allowance;
            allow::take(&manifests, &self.source, &self.node_name, allowance, last)
                .map_err(|error| ("SetRefused", error.to_string()))?
        };
        self.resumed = None;
        let AllowedPods { pods, left_out, complete } = taken;
        let pods = reused(pods, last);
        let last_snapshot = LastSnapshot { digest: Some(digest), pods, complete, restored: false };
        let is_same = |old: &LastSnapshot| {
            !old.restored && old.complete == last_snapshot.complete && same(&old.pods, &last_snapshot.pods)
        };
        let changed = !self.last_snapshot.as_ref().is_some_and(is_same);
        let set = changed.then(|| last_snapshot.set());
        self.last_snapshot = Some(last_snapshot);
        Ok((set, Some(left_out), is_new.then_some(manifests)))
    }

    fn failed(
        &mut self,
        reason: String,
        message: String,
        not_before: Option<Duration>,
        now: Duration,
        chance: f64,
    ) -> Outcome {
        self.failures = self.failures.saturating_add(1);
        let wait = not_before.unwrap_or_else(|| back_off(self.failures, chance));
        let mut reports = Vec::new();
        if self.trouble.as_ref() != Some(&reason) {
            self.trouble = Some(reason.clone());
            self.report(Report::Failed { reason, message }, now, &mut reports);
        }
        let wait = wait.clamp(WAIT_MIN, WAIT_MAX);
        Outcome { set: None, reports, left_out: Vec::new(), keep: None, wait }
    }

    /// Each is reported once, until it changes or was gone in between. Returns what the source is to know of it.
    fn tell_left_out(
        &mut self,
        left_out: Vec<LeftOut>,
        now: Duration,
        reports: &mut Vec<Report>,
    ) -> Vec<LeftOutPod> {
        let current: BTreeSet<LeftOut> = left_out.into_iter().collect();
        let reported = std::mem::replace(&mut self.reported, current.clone());
        let news: Vec<LeftOut> = current.difference(&reported).cloned().collect();
        let pods = news.iter().map(|left_out| left_out.pod(&self.suffix())).collect();
        let beyond = news.len().saturating_sub(LEFT_OUT_REPORTED_MAX);
        for left_out in news.into_iter().take(LEFT_OUT_REPORTED_MAX) {
            self.report(Report::LeftOut(left_out), now, reports);
        }
        if beyond > 0 {
            self.report(Report::MoreLeftOut { count: beyond }, now, reports);
        }
        pods
    }

    /// Returns what the names of its pods end in, which the source doesn't say.
    fn suffix(&self) -> String {
        format!("-{}", self.node_name.to_lowercase())
    }

    fn report(&mut self, report: Report, now: Duration, reports: &mut Vec<Report>) {
        if self.budget.take(now) {
            reports.push(report);
        }
    }
}

impl LeftOut {
    /// In the source's words: without what the names of its pods end in.
    fn pod(&self, suffix: &str) -> LeftOutPod {
        let (reason, message) = self.words();
        let (namespace, name, message) = match self {
            Self::Forbidden { pod, .. } => {
                let name = pod.name.strip_suffix(suffix).unwrap_or(&pod.name);
                (pod.namespace.to_string(), name.to_owned(), message)
            }
            Self::Invalid { place, .. } => (String::new(), String::new(), format!("{place}: {message}")),
        };
        LeftOutPod { namespace, name, reason: reason.to_owned(), message }
    }

    /// Reason and sentence for an event.
    fn words(&self) -> (&'static str, String) {
        match self {
            Self::Forbidden { pod: _, rules } => {
                let rules: Vec<_> = rules.iter().map(Rule::to_string).collect();
                ("PodForbidden", format!("was not admitted: {}", rules.join("; ")))
            }
            Self::Invalid { place: _, message } => ("InvalidManifest", message.clone()),
        }
    }
}

impl Report {
    /// Reason and sentence for an event.
    pub fn words(&self) -> (&'static str, String) {
        match self {
            Self::Failed { reason, message } => ("PodSourceFailed", format!("{reason}: {message}")),
            Self::Recovered => ("PodSourceRecovered", "Resynced".to_owned()),
            Self::LeftOut(left_out) => left_out.words(),
            Self::MoreLeftOut { count } => ("PodForbidden", format!("{count} more pods were not admitted")),
        }
    }
}

/// Half of it is certain, the other half chance, so that sources that failed together aren't asked together.
fn back_off(failures: u32, chance: f64) -> Duration {
    let policy = BackoffPolicy { initial: BACK_OFF_MIN, max: BACK_OFF_MAX };
    policy.after(failures).mul_f64(0.5 + 0.5 * chance.clamp(0.0, 1.0))
}

/// A foreign word that may stand in an event.
fn is_word(text: &str) -> bool {
    (1..=64).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

/// Pods that mean the same are the same, so that no one behind has to check.
fn reused(mut pods: Vec<Arc<Pod>>, last: &[Arc<Pod>]) -> Vec<Arc<Pod>> {
    for pod in &mut pods {
        let uid = &pod.metadata.uid;
        if let Some(old) = last.iter().find(|old| old.metadata.uid == *uid && **old == *pod) {
            *pod = old.clone();
        }
    }
    pods
}

fn same(left: &[Arc<Pod>], right: &[Arc<Pod>]) -> bool {
    left.len() == right.len() && left.iter().zip(right).all(|(left, right)| Arc::ptr_eq(left, right))
}

fn digest(manifests: &[String]) -> [u8; 32] {
    let mut hash = Sha256::new();
    for text in manifests {
        hash.update(u64::try_from(text.len()).unwrap_or(u64::MAX).to_le_bytes());
        hash.update(text);
    }
    hash.finalize().into()
}
