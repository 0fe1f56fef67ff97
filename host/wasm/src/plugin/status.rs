//! What people see of a plugin.

use std::path::PathBuf;

use serde::Serialize;
use witlet_core::admission::chain::FailurePolicy;

/// Where a plugin stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum PluginState {
    /// It is asked.
    Ready,
    /// It couldn't be loaded: its failure policy answers for it.
    Failed,
    /// It failed too often: its failure policy answers for it until the quarantine is over.
    Quarantined,
}

impl PluginState {
    /// The word for tables.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ready => "Ready",
            Self::Failed => "Failed",
            Self::Quarantined => "Quarantined",
        }
    }
}

/// A plugin as it is now.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PluginStatus {
    /// Its configured name.
    pub name: String,
    /// `admission`
    pub role: &'static str,
    /// Whether it is part of the program.
    pub builtin: bool,
    /// Its file; none for a built-in.
    pub component: Option<PathBuf>,
    /// SHA-256 of the component that runs, in hexadecimal; none while none does.
    pub digest: Option<String>,
    /// Size of the component that runs.
    pub size_bytes: Option<usize>,
    /// Its place among the configured ones; built-ins come first.
    pub order: i32,
    /// What its failure means for a pod.
    pub failure_policy: FailurePolicy,
    /// Whether it is asked.
    pub state: PluginState,
    /// Why it isn't ready, in one sentence.
    pub detail: Option<String>,
    /// Why the newest component or entry isn't the one that runs; none if it is.
    pub pending: Option<String>,
    /// Calls since it was loaded.
    pub calls: u64,
    /// Calls that failed, timeouts among them.
    pub failures: u64,
    /// Calls that took too long.
    pub timeouts: u64,
    /// Time spent in calls, in seconds.
    pub seconds_total: f64,
    /// The most memory that one instance had.
    pub memory_bytes_peak: u64,
    /// Instances that wait for their next call.
    pub warm_instances: usize,
    /// The latest failure, in one sentence.
    pub last_error: Option<String>,
}
