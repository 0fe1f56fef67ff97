//! Shadows: how their verdicts compare with what the node decided.

use std::collections::{BTreeSet, VecDeque};
use std::time::Duration;

use serde::Serialize;
use tokio::time::Instant;
use witlet_core::admission::{Decision, Shortage, Verdict};
use witlet_core::text::truncated;

/// How many verdicts that differed are kept, the newest.
pub const DIFFERENCES_MAX: usize = 32;
/// No more than one event about differing verdicts of one plugin in this time.
pub const EVENT_PERIOD: Duration = Duration::from_secs(60);
/// How much of a message is kept.
const MESSAGE_BYTES_MAX: usize = 512;

/// A verdict that isn't what the node decided.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Difference {
    /// Namespace and name of the pod; of a probe the container behind them.
    pub pod: String,
    /// Its UID; empty of a pod source's.
    pub uid: String,
    /// When it was asked for, in RFC 3339.
    pub time: String,
    /// What the shadow said.
    pub verdict: String,
    /// What the node decided without it, or what the entry says that it is compared with.
    pub decision: String,
}

/// How a shadow's verdicts compare with the node's decisions.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ShadowReport {
    /// Verdicts that were the node's decision.
    pub agreed: u64,
    pub differed: u64,
    /// Questions without a verdict: it failed, or is in quarantine.
    pub failed: u64,
    /// Questions that it wasn't asked, because the node was busy with real ones, it was still being loaded, or the one that it is
    /// compared with had no answer.
    pub skipped: u64,
    /// The newest verdicts that differed, the newest last.
    pub differences: Vec<Difference>,
}

/// Collects the report of one plugin.
#[derive(Debug, Default)]
pub(crate) struct Shadow {
    agreed: u64,
    differed: u64,
    failed: u64,
    skipped: u64,
    differences: VecDeque<Difference>,
    summary: Option<Instant>,
    /// Differences since the last event.
    unreported: u64,
}

impl Shadow {
    pub(crate) fn agreed(&mut self) {
        self.agreed += 1;
    }

    pub(crate) fn failed(&mut self) {
        self.failed += 1;
    }

    pub(crate) fn skipped(&mut self) {
        self.skipped += 1;
    }

    /// Notes a difference from what `by` did, such as `the node decided`. Returns what an event says about it, if it is time for
    /// one.
    pub(crate) fn differed(&mut self, difference: Difference, by: &str, now: Instant) -> Option<String> {
        self.differed += 1;
        self.unreported += 1;
        let due = self.summary.is_none_or(|summary| now.saturating_duration_since(summary) >= EVENT_PERIOD);
        let event = due.then(|| {
            let Difference { pod, verdict, decision, .. } = &difference;
            let others = self.unreported - 1;
            let more =
                if others == 0 { String::new() } else { format!(" ({others} more since the last event)") };
            format!("of pod {pod} it says {verdict}, but {by} {decision}{more}")
        });
        if due {
            self.summary = Some(now);
            self.unreported = 0;
        }
        if self.differences.len() == DIFFERENCES_MAX {
            self.differences.pop_front();
        }
        self.differences.push_back(difference);
        event
    }

    pub(crate) fn report(&self) -> ShadowReport {
        ShadowReport {
            agreed: self.agreed,
            differed: self.differed,
            failed: self.failed,
            skipped: self.skipped,
            differences: self.differences.iter().cloned().collect(),
        }
    }
}

/// Whether the node would have decided the same by the shadow's verdict: both let the pod run, or both refuse it in the
/// same way for the same reason. Messages may differ.
pub(crate) fn agrees(verdict: &Verdict, decision: &Decision) -> bool {
    match (verdict, decision) {
        (Verdict::Admit, Decision::Admit) => true,
        (Verdict::Reject { reason, .. }, Decision::Reject { reason: decided, .. })
        | (Verdict::Defer { reason, .. }, Decision::Defer { reason: decided, .. }) => reason == decided,
        (Verdict::Shortage(shortages), Decision::Reject { reason, .. }) => {
            shortages.first().is_some_and(|shortage| reason.strip_prefix("OutOf") == Some(&shortage.resource))
        }
        // Capacity is freed for what is short.
        (Verdict::Shortage(_), Decision::Preempt { .. }) => true,
        (Verdict::Admit, Decision::Reject { .. } | Decision::Preempt { .. } | Decision::Defer { .. })
        | (Verdict::Reject { .. }, Decision::Admit | Decision::Preempt { .. } | Decision::Defer { .. })
        | (Verdict::Defer { .. }, Decision::Admit | Decision::Reject { .. } | Decision::Preempt { .. })
        | (Verdict::Shortage(_), Decision::Admit | Decision::Defer { .. }) => false,
    }
}

/// Whether two handlers mean the same for the pod: both admit it, or both refuse it in the same way for the same reason.
pub(crate) fn agrees_with(verdict: &Verdict, other: &Verdict) -> bool {
    match (verdict, other) {
        (Verdict::Admit, Verdict::Admit) => true,
        (Verdict::Reject { reason, .. }, Verdict::Reject { reason: other, .. })
        | (Verdict::Defer { reason, .. }, Verdict::Defer { reason: other, .. }) => reason == other,
        (Verdict::Shortage(shortages), Verdict::Shortage(others)) => {
            let resources = |all: &[Shortage]| -> BTreeSet<String> {
                all.iter().map(|shortage| shortage.resource.clone()).collect()
            };
            resources(shortages) == resources(others)
        }
        (Verdict::Admit | Verdict::Reject { .. } | Verdict::Defer { .. } | Verdict::Shortage(_), _) => false,
    }
}

/// Summarizes it in a few words.
pub(crate) fn verdict_summary(verdict: &Verdict) -> String {
    match verdict {
        Verdict::Admit => "admit".to_owned(),
        Verdict::Reject { reason, message } => summary("reject", reason, message),
        Verdict::Defer { reason, message, .. } => summary("defer", reason, message),
        Verdict::Shortage(shortages) => {
            let resources: Vec<&str> = shortages.iter().map(|shortage| &*shortage.resource).collect();
            cut(format!("shortage of {}", resources.join(", ")))
        }
    }
}

/// Summarizes it in a few words.
pub(crate) fn decision_summary(decision: &Decision) -> String {
    match decision {
        Decision::Admit => "admit".to_owned(),
        Decision::Reject { reason, message, .. } => summary("reject", reason, message),
        Decision::Preempt { message, .. } => summary("preempt", "Preempting", message),
        Decision::Defer { reason, message, .. } => summary("defer", reason, message),
    }
}

fn summary(what: &str, reason: &str, message: &str) -> String {
    cut(format!("{what} {reason}: {message}"))
}

/// Returns what is kept of a message.
pub(crate) fn cut(text: String) -> String {
    truncated(text, MESSAGE_BYTES_MAX)
}

#[cfg(test)]
mod tests;
