//! How an admission handler takes another's place by degrees: which pods it judges, when these are more, and when it judges none any
//! more because it failed too often.
//!
//! Owners of pods are spread over a hundred buckets by a hash of their names, so that all pods of one owner have the same handler, on
//! every node and after every restart, and none has the older one again while the share grows.

use std::time::Duration;

use k8s_openapi::api::core::v1::Pod;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::pod::controller;

#[cfg(test)]
mod tests;

/// All pods.
pub const PERCENT_MAX: u8 = 100;
/// How much the share grows by a step unless the entry says otherwise: the step after the first is to all pods.
pub const STEP_PERCENT_DEFAULT: u8 = PERCENT_MAX;
/// The share of calls that may fail unless the entry says otherwise.
pub const MAX_ERROR_PERCENT_DEFAULT: u8 = 1;
/// Calls before which a share says nothing unless the entry says otherwise.
pub const MIN_CALLS_DEFAULT: u64 = 20;

/// The label of a Deployment's pods whose value ends the name of their ReplicaSet.
const TEMPLATE_HASH_LABEL: &str = "pod-template-hash";

/// How a rollout goes on, and what ends it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RolloutPolicy {
    /// The share of pods that it begins with.
    pub percent: u8,
    /// By how much the share grows when a step is over.
    pub step_percent: u8,
    /// How long a step lasts at least; without it the share stays as it is.
    pub soak: Option<Duration>,
    /// What a step may cost.
    pub budget: ErrorBudget,
}

/// What may go wrong in a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ErrorBudget {
    /// So many calls may fail, whatever their share is.
    pub max_errors: Option<u64>,
    /// This share of the calls may fail.
    pub max_error_percent: u8,
    /// So many calls a step needs, and a share of failed ones means something.
    pub min_calls: u64,
    /// So many verdicts may differ from the predecessor's.
    pub max_differences: Option<u64>,
}

impl Default for ErrorBudget {
    fn default() -> Self {
        Self {
            max_errors: None,
            max_error_percent: MAX_ERROR_PERCENT_DEFAULT,
            min_calls: MIN_CALLS_DEFAULT,
            max_differences: None,
        }
    }
}

/// Where a rollout stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum RolloutPhase {
    /// The new handler judges a share of the pods, the predecessor the others.
    Progressing,
    /// The new handler judges all pods, and nothing of this module ends that.
    Complete,
    /// The predecessor judges all pods again.
    Reverted,
}

/// Why a rollout was reverted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum RevertReason {
    /// Too many calls failed.
    ErrorBudgetExceeded,
    /// Too many verdicts differed from the predecessor's.
    TooManyDifferences,
    /// The plugin is in quarantine: its failure policy would answer for it.
    Quarantined,
}

impl RevertReason {
    /// The word for people and programs.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ErrorBudgetExceeded => "ErrorBudgetExceeded",
            Self::TooManyDifferences => "TooManyDifferences",
            Self::Quarantined => "Quarantined",
        }
    }
}

/// Why and by what a rollout was reverted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Revert {
    pub reason: RevertReason,
    pub message: String,
}

/// What happened to the new handler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RolloutObservation {
    /// A call had a verdict.
    Answered,
    /// A call had none, or one that the contract doesn't allow.
    Failed,
    /// It failed so often in a row that it isn't asked for a while.
    Quarantined,
    /// Its verdict wasn't the predecessor's. Counts next to the call itself.
    Differed,
}

/// What an observation or the time changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RolloutChange {
    /// It judges a larger share from now on.
    Stepped { percent: u8 },
    /// It judges all pods for good.
    Completed,
    /// It judges none any more.
    Reverted(Revert),
}

/// What is kept of a rollout over a restart. The step begins again: its time and its calls aren't kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RolloutCheckpoint {
    pub phase: RolloutPhase,
    /// The share of the step.
    pub percent: u8,
    /// Why it was reverted, if it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revert: Option<Revert>,
}

/// A rollout of one version of a handler on this node. Times are since the agent's start, of a clock that isn't set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rollout {
    phase: RolloutPhase,
    percent: u8,
    revert: Option<Revert>,
    /// When the step began.
    since: Duration,
    calls: u64,
    errors: u64,
    differences: u64,
}

impl Rollout {
    /// Begins with the policy's first share.
    pub fn begin(policy: &RolloutPolicy, now: Duration) -> Self {
        let percent = policy.percent.min(PERCENT_MAX);
        let checkpoint = RolloutCheckpoint { phase: RolloutPhase::Progressing, percent, revert: None };
        Self::resume(checkpoint, now)
    }

    /// Goes on after a restart, its step from the beginning.
    pub fn resume(checkpoint: RolloutCheckpoint, now: Duration) -> Self {
        let RolloutCheckpoint { phase, percent, revert } = checkpoint;
        let percent = percent.min(PERCENT_MAX);
        Self { phase, percent, revert, since: now, calls: 0, errors: 0, differences: 0 }
    }

    /// Returns what to keep over a restart.
    pub fn checkpoint(&self) -> RolloutCheckpoint {
        RolloutCheckpoint { phase: self.phase, percent: self.percent, revert: self.revert.clone() }
    }

    /// Where it stands.
    pub fn phase(&self) -> RolloutPhase {
        self.phase
    }

    /// Why it was reverted, if it was.
    pub fn revert(&self) -> Option<&Revert> {
        self.revert.as_ref()
    }

    /// The share of pods that the new handler judges now, those apart that it judges for their labels.
    pub fn percent(&self) -> u8 {
        match self.phase {
            RolloutPhase::Progressing => self.percent,
            RolloutPhase::Complete => PERCENT_MAX,
            RolloutPhase::Reverted => 0,
        }
    }

    /// How long the step has lasted.
    pub fn soaked(&self, now: Duration) -> Duration {
        now.saturating_sub(self.since)
    }

    /// Calls of the step.
    pub fn calls(&self) -> u64 {
        self.calls
    }

    /// Calls of the step that failed.
    pub fn errors(&self) -> u64 {
        self.errors
    }

    /// Verdicts of the step that weren't the predecessor's.
    pub fn differences(&self) -> u64 {
        self.differences
    }

    /// Whether the new handler judges a pod whose owner is in this bucket; `is_selected` says that its labels are those of the
    /// entry.
    pub fn judges(&self, bucket: u8, is_selected: bool) -> bool {
        match self.phase {
            RolloutPhase::Progressing => is_selected || bucket < self.percent,
            RolloutPhase::Complete => true,
            RolloutPhase::Reverted => false,
        }
    }

    /// Notes what happened to the new handler. Only a rollout in progress has a budget.
    pub fn observe(
        &mut self,
        policy: &RolloutPolicy,
        observation: RolloutObservation,
    ) -> Option<RolloutChange> {
        if self.phase != RolloutPhase::Progressing {
            return None;
        }
        match observation {
            RolloutObservation::Answered => self.calls += 1,
            RolloutObservation::Failed => {
                self.calls += 1;
                self.errors += 1;
            }
            RolloutObservation::Quarantined => {}
            RolloutObservation::Differed => self.differences += 1,
        }
        let is_quarantined = observation == RolloutObservation::Quarantined;
        let revert = self.excess(&policy.budget, is_quarantined)?;
        self.phase = RolloutPhase::Reverted;
        self.revert = Some(revert.clone());
        Some(RolloutChange::Reverted(revert))
    }

    /// Goes on to the next step when this one is over: it lasted for long enough, and had the calls that it needs.
    pub fn advance(&mut self, policy: &RolloutPolicy, now: Duration) -> Option<RolloutChange> {
        let soak = policy.soak?;
        let is_over = self.soaked(now) >= soak && self.calls >= policy.budget.min_calls;
        if self.phase != RolloutPhase::Progressing || !is_over {
            return None;
        }
        if self.percent >= PERCENT_MAX {
            self.phase = RolloutPhase::Complete;
            return Some(RolloutChange::Completed);
        }
        let percent = self.percent.saturating_add(policy.step_percent.max(1)).min(PERCENT_MAX);
        *self = Self::resume(RolloutCheckpoint { percent, ..self.checkpoint() }, now);
        Some(RolloutChange::Stepped { percent })
    }

    /// Returns what exceeds the budget.
    fn excess(&self, budget: &ErrorBudget, is_quarantined: bool) -> Option<Revert> {
        let Self { calls, errors, differences, .. } = self;
        let revert = |reason, message| Some(Revert { reason, message });
        if is_quarantined {
            let message = format!("{errors} of {calls} calls failed, and the plugin is in quarantine");
            return revert(RevertReason::Quarantined, message);
        }
        if let Some(max) = budget.max_errors.filter(|max| errors > max) {
            let message = format!("{errors} of {calls} calls failed, which is more than {max}");
            return revert(RevertReason::ErrorBudgetExceeded, message);
        }
        let percent = budget.max_error_percent;
        let share_counts = *calls >= budget.min_calls;
        if share_counts && errors.saturating_mul(100) > calls.saturating_mul(percent.into()) {
            let message = format!("{errors} of {calls} calls failed, which is more than {percent}%");
            return revert(RevertReason::ErrorBudgetExceeded, message);
        }
        let max = budget.max_differences.filter(|max| differences > max)?;
        let message =
            format!("{differences} verdicts differed from its predecessor's, which is more than {max}");
        revert(RevertReason::TooManyDifferences, message)
    }
}

/// The bucket, from 0 to 99, of the owner of this pod in the rollout of this handler: each rollout begins with other owners.
pub fn bucket(handler: &str, pod: &Pod) -> u8 {
    let (kind, name) = owner(pod);
    let namespace = pod.metadata.namespace.as_deref().unwrap_or_default();
    let mut hash = Sha256::new();
    for part in [handler, namespace, kind, &name] {
        hash.update(part.as_bytes());
        // No name has a zero byte, so that no two lists of them are the same bytes.
        hash.update([0]);
    }
    let number = hash
        .finalize()
        .iter()
        .fold(0_u32, |rest, byte| (rest * 256 + u32::from(*byte)) % u32::from(PERCENT_MAX));
    u8::try_from(number).unwrap_or(PERCENT_MAX - 1)
}

/// Kind and name of what a pod belongs to: its controller, of a ReplicaSet's pod the Deployment; the pod itself where it has none.
fn owner(pod: &Pod) -> (&str, String) {
    let Some(owner) = controller(pod) else {
        return ("Pod", pod.metadata.name.clone().unwrap_or_default());
    };
    let hash = pod.metadata.labels.as_ref().and_then(|labels| labels.get(TEMPLATE_HASH_LABEL));
    let of_deployment = hash.filter(|_| owner.kind == "ReplicaSet").and_then(|hash| {
        let name = owner.name.strip_suffix(hash.as_str())?.strip_suffix('-')?;
        Some(("Deployment", name.to_owned()))
    });
    of_deployment.unwrap_or((&owner.kind, owner.name.clone()))
}
