//! The file as it is written: field by field, nothing unknown taken.

use std::path::PathBuf;

use serde::Deserialize;
use serde_json::Value;
use witlet_core::admission::chain::FailurePolicy;

use super::values::{BytesText, DurationText};

/// The file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct FileDocument {
    /// `witlet.dev/v1alpha1`
    pub(super) api_version: String,
    /// `PluginConfiguration`
    pub(super) kind: String,
    /// Values that plugins may be granted by name.
    #[serde(default)]
    pub(super) secrets: Vec<SecretDocument>,
    /// Credentials for all components from registries whose entry has none of its own.
    pub(super) pull_credentials: Option<PathBuf>,
    /// The plugins.
    #[serde(default)]
    pub(super) plugins: Vec<EntryDocument>,
}

/// One of `secrets`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct SecretDocument {
    /// What plugins ask for.
    pub(super) name: String,
    /// The file with its value.
    pub(super) file: PathBuf,
}

/// One of `plugins`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct EntryDocument {
    /// Unique in the file.
    pub(super) name: String,
    /// A path, `builtin:NAME` or `oci://…@sha256:…`.
    pub(super) component: String,
    /// Credentials for `oci://`.
    pub(super) pull_credentials: Option<PathBuf>,
    /// Makes it an admission handler.
    pub(super) admission: Option<AdmissionDocument>,
    /// Makes it a probe type.
    pub(super) probe: Option<ProbeDocument>,
    /// Makes it a pod source.
    pub(super) pod_source: Option<PodSourceDocument>,
    /// What it may take.
    #[serde(default)]
    pub(super) limits: LimitsDocument,
    /// Whether instances are kept between calls.
    #[serde(default)]
    pub(super) instances: InstancesDocument,
    /// What it may reach.
    #[serde(default)]
    pub(super) grants: GrantsDocument,
    /// Whether its calls are kept for `witlet plugin replay`.
    pub(super) record: Option<RecordDocument>,
    /// The plugin's own configuration.
    #[serde(default)]
    pub(super) config: Value,
}

/// `admission:`
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct AdmissionDocument {
    pub(super) order: Option<i32>,
    pub(super) failure_policy: Option<FailurePolicy>,
    pub(super) mode: Option<String>,
    #[serde(default, rename = "match")]
    pub(super) matches: MatchDocument,
}

/// `admission.match:`
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct MatchDocument {
    pub(super) namespaces: Option<Vec<String>>,
}

/// `probe:`
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct ProbeDocument {
    #[serde(rename = "type")]
    pub(super) probe_type: Option<String>,
}

/// `podSource:`
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct PodSourceDocument {
    pub(super) interval: Option<DurationText>,
    #[serde(default)]
    pub(super) allow: AllowDocument,
}

/// `podSource.allow:`
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct AllowDocument {
    pub(super) namespaces: Option<Vec<String>>,
    pub(super) name_prefix: Option<String>,
    pub(super) pod_security: Option<String>,
    pub(super) max_pods: Option<usize>,
}

/// `limits:`
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct LimitsDocument {
    pub(super) timeout: Option<DurationText>,
    pub(super) memory: Option<BytesText>,
}

/// `instances:`
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct InstancesDocument {
    pub(super) warm: Option<WarmDocument>,
}

/// `instances.warm:`
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct WarmDocument {
    pub(super) max: usize,
    pub(super) uses: Option<u64>,
    pub(super) idle: Option<DurationText>,
}

/// `grants:`
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct GrantsDocument {
    #[serde(default)]
    pub(super) network: Vec<String>,
    #[serde(default)]
    pub(super) secrets: Vec<String>,
    #[serde(default)]
    pub(super) exec: bool,
    pub(super) tls: Option<String>,
    #[serde(default)]
    pub(super) files: Vec<FileGrantDocument>,
    #[serde(default)]
    pub(super) state: bool,
}

/// One of `grants.files`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct FileGrantDocument {
    pub(super) path: PathBuf,
    pub(super) read_only: Option<bool>,
    pub(super) guest_path: Option<String>,
}

/// `record:`
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct RecordDocument {
    pub(super) max: usize,
}
