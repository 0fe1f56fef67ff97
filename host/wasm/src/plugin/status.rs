//! What people see of a plugin.

use serde::Serialize;
use tokio::time::Instant;
use witlet_core::admission::chain::FailurePolicy;
use witlet_core::admission::rollout::{RevertReason, RolloutPhase};

use super::conformance::Vouched;
use super::shadow::ShadowReport;
use super::signatures::Signed;
use crate::guest::data::Data;
use crate::role::Role;

/// Where a plugin stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum PluginState {
    /// It is fetched, compiled or asked about its configuration: its failure policy answers for it.
    Loading,
    Ready,
    /// It couldn't be loaded: its failure policy answers for it.
    Failed,
    /// It failed too often in one role at least: its failure policy answers for it there until the quarantine is over.
    Quarantined,
}

impl PluginState {
    /// The word for tables.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Loading => "Loading",
            Self::Ready => "Ready",
            Self::Failed => "Failed",
            Self::Quarantined => "Quarantined",
        }
    }
}

/// A plugin in one of its roles.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RoleStatus {
    pub role: Role,
    /// The version of the contract that serves it; none while it isn't loaded.
    pub version: Option<&'static str>,
    /// Whether it is left alone in this role, and for how many seconds more.
    pub quarantine_seconds: Option<f64>,
    /// Calls that reached it.
    pub calls: u64,
    /// Those of them without a usable answer, timeouts among them.
    pub errors: u64,
    /// Those of them that took too long.
    pub timeouts: u64,
    /// How long half of the calls took at most, in seconds; none before the first.
    pub p50_seconds: Option<f64>,
    /// How long 99 of 100 calls took at most, in seconds; none before the first.
    pub p99_seconds: Option<f64>,
    /// Time spent in calls, in seconds.
    pub seconds_total: f64,
    /// CPU time of all calls, in seconds, as far as it is measured.
    pub cpu_seconds: f64,
    /// The most memory that one instance had.
    pub memory_bytes_peak: u64,
    /// Instances that wait for their next call.
    pub warm_instances: usize,
    /// Calls that run now.
    pub in_flight: u64,
}

/// Who vouches for a plugin's component, and with what.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ConformanceStatus {
    /// Id of the key that its report is signed with: SHA-256 of the public key (SubjectPublicKeyInfo), in hexadecimal.
    pub signed_by: String,
    /// The file with that key.
    pub key: String,
    /// The kit that examined it.
    pub kit_version: String,
    /// When, as RFC 3339 has it.
    pub examined: String,
    /// Whether nothing was found.
    pub passed: bool,
    /// SHA-256 of the configuration that the kit gave it, in hexadecimal.
    pub config_digest: String,
}

impl ConformanceStatus {
    pub(crate) fn of(vouched: &Vouched) -> Self {
        let Vouched { key, report } = vouched;
        Self {
            signed_by: report.key_id.clone(),
            key: key.display().to_string(),
            kit_version: report.kit_version.clone(),
            examined: report.time.to_string(),
            passed: report.passed,
            config_digest: report.config_digest.clone(),
        }
    }
}

/// Who signed a plugin's component in its registry.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SignatureStatus {
    /// Id of the key: SHA-256 of the public key (SubjectPublicKeyInfo), in hexadecimal.
    pub signed_by: String,
    /// The file with that key.
    pub key: String,
}

impl SignatureStatus {
    pub(crate) fn of(signed: &Signed) -> Self {
        Self { signed_by: signed.key_id.clone(), key: signed.key.display().to_string() }
    }
}

/// Data that a plugin has next to its configuration.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DataStatus {
    /// What the plugin calls them.
    pub name: String,
    /// Where they come from.
    pub source: String,
    /// SHA-256 of the bytes that it has, in hexadecimal.
    pub digest: String,
    /// How many these are.
    pub size_bytes: usize,
    /// Why it doesn't have newer ones; none if these are the newest.
    pub problem: Option<String>,
    /// How many seconds ago these were last known to be the newest; none for a file that can be read.
    pub age_seconds: Option<u64>,
    /// Whether that is longer than the `maxAge` of its entry.
    pub too_old: bool,
}

impl DataStatus {
    pub(crate) fn of(data: &Data, now: Instant) -> Self {
        let Data { name, origin, snapshot, .. } = data;
        Self {
            name: name.to_string(),
            source: origin.location.clone(),
            digest: snapshot.digest().to_owned(),
            size_bytes: snapshot.bytes().len(),
            problem: origin.problem(),
            age_seconds: origin.age(now).map(|age| age.as_secs()),
            too_old: data.is_too_old(now),
        }
    }
}

/// Where a plugin stands that takes another's place by degrees.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RolloutStatus {
    /// The plugin that it replaces.
    pub of: String,
    pub phase: RolloutPhase,
    /// The share of pods that it judges now; those that its entry selects by their labels are further ones.
    pub percent: u8,
    /// By how much the share grows.
    pub step_percent: u8,
    /// How long a step lasts at least; none if the share stays as it is.
    pub soak_seconds: Option<f64>,
    /// How long the step has lasted.
    pub soaked_seconds: f64,
    /// Calls of the step, those for comparison among them.
    pub calls: u64,
    /// How many the step needs.
    pub min_calls: u64,
    /// Those of them that failed.
    pub errors: u64,
    /// Verdicts of the step that weren't those of the plugin that it replaces.
    pub differences: u64,
    /// Why it was reverted, in a word; none if it wasn't.
    pub reason: Option<RevertReason>,
    /// Why it was reverted, in a sentence; none if it wasn't.
    pub message: Option<String>,
}

/// A plugin as it is now.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PluginStatus {
    pub name: String,
    /// Whether it is part of the program and there without being configured.
    pub builtin: bool,
    /// Where its component comes from: a path, a reference with its digest, `builtin:NAME`, or `builtin` if it
    /// is there without being configured.
    pub component: String,
    /// SHA-256 of the component that runs, in hexadecimal; none while none does.
    pub digest: Option<String>,
    /// Size of the component that runs.
    pub size_bytes: Option<usize>,
    /// Who vouches for the component that runs, if the configuration demands that someone does.
    pub conformance: Option<ConformanceStatus>,
    /// Who signed the component that runs, if the configuration demands that someone does.
    pub signature: Option<SignatureStatus>,
    /// Data that it has next to its configuration.
    pub data: Vec<DataStatus>,
    /// Its place among the configured handlers; built-ins come first. None if it is no admission handler.
    pub order: Option<i32>,
    /// What its failure as an admission handler means for a pod.
    pub failure_policy: Option<FailurePolicy>,
    /// Whether it is asked about system pods. None if it is no admission handler.
    pub system_pods: Option<bool>,
    /// The operations that it is asked about as an admission handler: those that it subscribes to. Empty while it isn't loaded.
    pub operations: Vec<&'static str>,
    /// The probe type that it is.
    pub probe_type: Option<String>,
    /// Whether its answers are compared and don't count, in one of its roles.
    pub shadow: bool,
    /// Whether it is asked.
    pub state: PluginState,
    /// Why it isn't ready, in one sentence.
    pub detail: Option<String>,
    /// Why the newest component or entry isn't the one that runs; none if it is.
    pub pending: Option<String>,
    /// What it warned of when it was loaded: of its configuration, and of grants that it wants and isn't given. Each a sentence.
    pub warnings: Vec<String>,
    /// The latest failure, in one sentence.
    pub last_error: Option<String>,
    /// Its roles, one at least.
    pub roles: Vec<RoleStatus>,
    /// How its answers compare, if it is a shadow: with the node's decisions or those of the entry that it is a shadow of; if it takes
    /// another's place, with the verdicts of that.
    pub shadow_report: Option<ShadowReport>,
    /// Where it stands, if it takes another's place and is loaded.
    pub rollout: Option<RolloutStatus>,
}

impl PluginStatus {
    /// Calls that reached it, in all roles.
    pub fn calls(&self) -> u64 {
        self.roles.iter().map(|role| role.calls).sum()
    }

    /// Calls without a usable answer, in all roles.
    pub fn errors(&self) -> u64 {
        self.roles.iter().map(|role| role.errors).sum()
    }

    /// Calls that took too long, in all roles.
    pub fn timeouts(&self) -> u64 {
        self.roles.iter().map(|role| role.timeouts).sum()
    }

    /// Instances that wait for their next call, in all roles.
    pub fn warm_instances(&self) -> usize {
        self.roles.iter().map(|role| role.warm_instances).sum()
    }
}
