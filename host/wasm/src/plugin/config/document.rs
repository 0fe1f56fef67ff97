//! The file as it is written: field by field, nothing unknown taken. What each field means, its default and its bounds
//! stand here; the operators' book lists them from here.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::Deserialize;
use serde_json::Value;
use witlet_core::admission::chain::FailurePolicy;

use super::values::{BytesText, DurationText};

/// The file, as `file.rs` reads it.
#[derive(Default)]
pub(super) struct FileDocument {
    /// `witlet.dev/v1alpha1`
    pub(super) api_version: String,
    /// `PluginConfiguration`
    pub(super) kind: String,
    /// Features that a host must have to take the file; at most 32.
    pub(super) requires: Vec<String>,
    /// Values that plugins may be granted by name; at most 64.
    pub(super) secrets: Vec<SecretDocument>,
    /// Credentials for all components from registries whose entry has none of its own: a file in the form of a docker
    /// configuration. Default: the node's own credentials.
    pub(super) pull_credentials: Option<PathBuf>,
    /// Keeps components out that have no signed report of the conformance kit; what ships needs none. Default: none is asked
    /// for.
    pub(super) require_conformance: Option<RequireConformanceDocument>,
    /// Keeps components from registries out whose manifest isn't signed as `cosign sign --key` does it. Components at paths
    /// are not pulled, and need no signature. Default: none is asked for.
    pub(super) require_signature: Option<RequireSignatureDocument>,
    /// Whether each decision about a pod is written to the decision log. Default: false.
    pub(super) decision_log: bool,
    /// The plugins with their places in the list; at most 64. Names are unique, and none is a built-in's.
    pub(super) plugins: Vec<(usize, EntryDocument)>,
}

/// `requireConformance:`
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct RequireConformanceDocument {
    /// Files with Ed25519 public keys (PEM) whose signatures count, 1 to 16; relative to the configuration. Each must belong
    /// to root or to the agent's user, and no one else may write it. A key that changes is checked at once.
    #[serde(default)]
    pub(super) keys: Vec<PathBuf>,
    /// The oldest kit whose word counts, as `0.1.0`. Default: any.
    pub(super) kit_version: Option<String>,
    /// What a report means that the kit found something: `refuse` (as if there were none) or `warn` (it is loaded, and the log
    /// says so). Default: `refuse`.
    pub(super) failed: Option<String>,
}

/// `requireSignature:`
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct RequireSignatureDocument {
    /// Files with public keys (PEM) whose signatures count, 1 to 16: ECDSA of P-256 or P-384, Ed25519, or RSA; relative to the
    /// configuration. Each must belong to root or to the agent's user, and no one else may write it.
    #[serde(default)]
    pub(super) keys: Vec<PathBuf>,
}

/// One of `secrets`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct SecretDocument {
    /// What plugins ask for, and what `grants.secrets` names: lower case letters, digits and `-`.
    pub(super) name: String,
    /// The file with its value, byte for byte, at most 64 KiB; relative to the configuration. It must belong to root or
    /// to the agent's user and be closed to all others (mode 0600 or 0400). A value that is replaced is seen by the next
    /// call.
    pub(super) file: PathBuf,
}

/// One of `plugins`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct EntryDocument {
    /// Unique in the file: lower case letters, digits and `-`, at most 63. Logs, events and metrics carry it; a pod
    /// source's pods carry it as their source, and a probe type is called so unless `probe.type` says otherwise.
    pub(super) name: String,
    /// Features that a host must have for this entry; at most 32. A host that lacks one refuses the file.
    #[serde(default)]
    pub(super) requires: Vec<String>,
    /// Whether a host that lacks what `requires` names skips the entry instead, whatever else is in it. Default: false.
    #[serde(default)]
    pub(super) optional: bool,
    /// Where the component is: a path (relative to the configuration), `builtin:NAME` for one that is shipped and off, or
    /// `oci://HOST[:PORT]/REPOSITORY[:TAG]@sha256:DIGEST`. A file that changes is taken at once.
    pub(super) component: String,
    /// Credentials for this component's registry, in place of the file's `pullCredentials`. Only with `oci://`.
    pub(super) pull_credentials: Option<PathBuf>,
    /// The component's signed report; relative to the configuration. Only with `requireConformance`, and not for `builtin:`.
    /// Default: the component's path with `.conformance.json` behind, and for `oci://` what refers to it in the registry.
    pub(super) conformance: Option<PathBuf>,
    /// Makes it an admission handler. Each entry has one role at least, and may have several if its component does.
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
    /// What it may read next to its configuration; at most 8, and 32 of all entries. Default: nothing.
    #[serde(default)]
    pub(super) data: Vec<DataDocument>,
    /// Keeps its newest calls for `witlet plugin replay`. Default: none are kept.
    pub(super) record: Option<RecordDocument>,
    /// The plugin's own configuration, handed to it as JSON. `${node.name}` and `${node.labels['KEY']}` in its texts are the
    /// node's; at most 256 of them. Default: null.
    #[serde(default)]
    pub(super) config: Value,
}

/// `admission:`
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct AdmissionDocument {
    /// Its place among the configured handlers, the smallest first; built-ins come before all. Default: 100. Equal ones
    /// are asked in the file's order.
    pub(super) order: Option<i32>,
    /// What it means for a pod when the handler gives no verdict, is still being loaded, couldn't be, or is in quarantine:
    /// `Defer` (the pod waits and is asked for again), `Reject` (it fails), `Admit` (as if nothing were against it).
    /// Default: `Defer`.
    pub(super) failure_policy: Option<FailurePolicy>,
    /// `enforce` (its verdicts count) or `shadow` (they are compared with the node's decision and change nothing).
    /// Default: `enforce`.
    pub(super) mode: Option<String>,
    /// Of a shadow: the entry whose verdicts it is compared with, another enforced admission handler. Default: none, it is compared
    /// with what the node decides.
    pub(super) shadow_of: Option<String>,
    /// How long pods wait for it while it is being loaded; then its failure policy answers for it, and loading goes on. 0s to
    /// 10m. Default: 10s.
    pub(super) load_timeout: Option<DurationText>,
    /// How often it is asked about pods that run, which it then may end: 1m to 24h. Default: never.
    pub(super) recheck: Option<DurationText>,
    /// Makes it take another entry's place by degrees, at whose place in the order it then stands. Default: it has its own place.
    pub(super) rollout: Option<RolloutDocument>,
    /// Which pods it is asked about. Default: all but system pods.
    #[serde(default, rename = "match")]
    pub(super) matches: MatchDocument,
}

/// `admission.rollout:`
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct RolloutDocument {
    /// The entry whose place it takes: another enforced admission handler, which judges the pods that this one doesn't.
    #[serde(default)]
    pub(super) of: String,
    /// The share of pods that it judges, by their owners: 0 to 100. Must be said unless there is a `labelSelector`; then 0.
    pub(super) percent: Option<i64>,
    /// Pods that it judges whatever the share is. Default: none.
    pub(super) label_selector: Option<LabelSelectorDocument>,
    /// How long a step lasts, 0s to 168h: then the share grows, and at 100 the rollout is complete. Default: it stays as it is.
    pub(super) soak: Option<DurationText>,
    /// By how much the share grows with each step: 1 to 100. Only with `soak`. Default: 100, to all pods at once.
    pub(super) step_percent: Option<i64>,
    /// What a step may cost before the entry that it replaces judges all pods again.
    #[serde(default)]
    pub(super) error_budget: ErrorBudgetDocument,
}

/// `admission.rollout.errorBudget:`
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct ErrorBudgetDocument {
    /// The share of a step's calls that may fail: 0 to 100. Default: 1.
    pub(super) max_error_percent: Option<i64>,
    /// How many of a step's calls may fail, whatever their share is. Default: any number.
    pub(super) max_errors: Option<u64>,
    /// How many calls a step needs, before which a share of failed ones says nothing: 1 to 1000000. Default: 20.
    pub(super) min_calls: Option<u64>,
    /// How many of a step's verdicts may differ from those of the entry that it replaces. Default: any number.
    pub(super) max_differences: Option<u64>,
}

/// `admission.match:` A pod must meet all fields that are there, and of each list one item. Lists are never empty and have at
/// most 64 items; in texts `*` stands for any run of characters.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct MatchDocument {
    /// Whether it is asked about system pods as well: pods of the namespace `kube-system`, pods of the priority classes
    /// `system-node-critical` and `system-cluster-critical`, and on a node with an API server static pods; but what a pod
    /// source brings is never a system pod. Default: false.
    #[serde(default)]
    pub(super) system_pods: bool,
    /// Namespaces. Default: all.
    pub(super) namespaces: Option<Vec<String>>,
    /// Labels of the pod, as Kubernetes selects by them. Default: any.
    pub(super) label_selector: Option<LabelSelectorDocument>,
    /// `add` (the pod is new to the node) and `resize` (a running one asks for other resources). Default: both.
    pub(super) operations: Option<Vec<String>>,
    /// Values of `spec.priorityClassName`; a pod without one has an empty text. Default: all.
    pub(super) priority_classes: Option<Vec<String>>,
    /// Where the pod comes from: `api`, `file`, `http`, or the name of a pod source. Default: all.
    pub(super) sources: Option<Vec<String>>,
    /// Service accounts as `NAMESPACE/NAME`; a pod that names none has `default`. Default: all.
    pub(super) service_accounts: Option<Vec<String>>,
    /// Images of containers and image volumes by their full names, such as `docker.io/library/nginx:1.27`: one of the pod's must
    /// be among them. Default: all.
    pub(super) images: Option<Vec<String>>,
    /// Pods that it isn't asked about: those that meet all fields of one of these; at most 16. Default: none.
    #[serde(default)]
    pub(super) exclude: Vec<CriteriaDocument>,
}

/// One of `admission.match.exclude`; the fields are those of `admission.match`.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct CriteriaDocument {
    pub(super) namespaces: Option<Vec<String>>,
    /// Labels of the pod.
    pub(super) label_selector: Option<LabelSelectorDocument>,
    /// `add` and `resize`.
    pub(super) operations: Option<Vec<String>>,
    /// Values of `spec.priorityClassName`.
    pub(super) priority_classes: Option<Vec<String>>,
    /// Where the pod comes from.
    pub(super) sources: Option<Vec<String>>,
    /// Service accounts as `NAMESPACE/NAME`.
    pub(super) service_accounts: Option<Vec<String>>,
    /// Images by their full names: all of the pod's must be among them.
    pub(super) images: Option<Vec<String>>,
}

/// `labelSelector:`
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct LabelSelectorDocument {
    /// Labels that the pod has, with these values; at most 64.
    #[serde(default)]
    pub(super) match_labels: BTreeMap<String, String>,
    /// What must hold of labels; at most 64.
    #[serde(default)]
    pub(super) match_expressions: Vec<RequirementDocument>,
}

/// One of `matchExpressions`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct RequirementDocument {
    pub(super) key: String,
    /// `In`, `NotIn`, `Exists` or `DoesNotExist`.
    pub(super) operator: String,
    /// For `In` and `NotIn`, one at least.
    #[serde(default)]
    pub(super) values: Vec<String>,
}

/// `probe:`
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct ProbeDocument {
    /// What pods call it in the annotation `probe.witlet.dev/<container>`. Default: the plugin's name. No two plugins
    /// have the same type, and none has a built-in's.
    #[serde(rename = "type")]
    pub(super) probe_type: Option<String>,
    /// Makes it a shadow of another entry's probe type: asked after that with the same question, compared, and without effect. It has no
    /// type of its own. Default: none.
    pub(super) shadow_of: Option<String>,
}

/// `podSource:`
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct PodSourceDocument {
    /// Between two polls, unless the plugin's answer asks for another time; 1s to 24h. Default: 10s.
    pub(super) interval: Option<DurationText>,
    /// Makes it a shadow of another entry's pod source: polled after that, compared, and none of its pods is run. Default: none.
    pub(super) shadow_of: Option<String>,
    /// What it may bring. What exceeds it isn't run, and reported by an event.
    #[serde(default)]
    pub(super) allow: AllowDocument,
}

/// `podSource.allow:`
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct AllowDocument {
    /// Namespaces that its pods may be in, with `*` for any run of characters. Must be said: there is no default.
    pub(super) namespaces: Option<Vec<String>>,
    /// What the names of its pods begin with. Default: anything.
    pub(super) name_prefix: Option<String>,
    /// The level of the Pod Security Standards that its pods must meet: `privileged`, `baseline` or `restricted`.
    /// Default: `baseline`.
    pub(super) pod_security: Option<String>,
    /// How many pods it may have, 1 to 1000. A set with more isn't taken at all. Default: 110.
    pub(super) max_pods: Option<usize>,
}

/// `limits:`
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct LimitsDocument {
    /// For one call: of an admission handler 1ms to 10s (default 100ms), of a pod source's poll 1ms to 5m (default 30s). A
    /// probe has the time that its pod gives it.
    pub(super) timeout: Option<DurationText>,
    /// Linear memory of one instance, up to 128Mi. Default: 16Mi, of a pod source 64Mi.
    pub(super) memory: Option<BytesText>,
}

/// `instances:`
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct InstancesDocument {
    /// Keeps instances for the next calls, for guests that are slow to start. Default: a fresh instance for each call.
    pub(super) warm: Option<WarmDocument>,
}

/// `instances.warm:`
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct WarmDocument {
    /// How many wait at most, 1 to 16.
    pub(super) max: usize,
    /// After how many calls one is dropped. Default: 1000. One is dropped, too, when it has more than three quarters of its
    /// memory, and after a trap.
    pub(super) uses: Option<u64>,
    /// After how long without a call one is dropped. Default: 1m.
    pub(super) idle: Option<DurationText>,
}

/// `grants:`
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct GrantsDocument {
    /// Where connections of a probe type or a pod source may go; at most 64 of: `pod` (the probed pod's addresses),
    /// `pod-loopback` (the loopback interface of its own network, for probe types of contract 0.2), `probe-host` (the host that a probe's parameters name), addresses with ports (`10.0.0.0/8`, `192.0.2.7:6379`), names
    /// with ports (`*.example.com:443`).
    #[serde(default)]
    pub(super) network: Vec<String>,
    /// Names of secrets that it may read; at most 64.
    #[serde(default)]
    pub(super) secrets: Vec<String>,
    /// Whether a probe type may run commands in the container that it probes. Default: false.
    #[serde(default)]
    pub(super) exec: bool,
    /// `verify` (servers must prove who they are) or `insecure` (any certificate will do). Default: `verify`.
    pub(super) tls: Option<String>,
    /// Names of secrets, each a PEM text with certificate authorities that vouch for servers next to the node's; at most 64.
    #[serde(default)]
    pub(super) tls_authorities: Vec<String>,
    /// The name of a secret, a PEM text with the certificates and the key that are shown to servers that ask for one. Default: none.
    pub(super) tls_client_certificate: Option<String>,
    /// Folders of the node that a pod source sees; at most 64.
    #[serde(default)]
    pub(super) files: Vec<FileGrantDocument>,
    /// Whether a pod source has a writable folder of its own at `/state`, for 64 MiB in 1024 files and folders: one that
    /// keeps more has failed until it cleared up. Default: false.
    #[serde(default)]
    pub(super) state: bool,
}

/// One of `grants.files`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct FileGrantDocument {
    /// The folder on the node; absolute, without `..`.
    pub(super) path: PathBuf,
    /// Whether the plugin may only read there. Default: true.
    pub(super) read_only: Option<bool>,
    /// What the plugin finds it as; absolute, without `..`. Default: the same path.
    pub(super) guest_path: Option<String>,
}

/// One of `data`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct DataDocument {
    /// What the plugin asks for: lower case letters, digits and `-`; unique in the entry.
    pub(super) name: String,
    /// The file with its bytes, at most 16 MiB; relative to the configuration. One that changes is taken at once.
    pub(super) file: Option<PathBuf>,
    /// In its place: the URL that they are fetched from, `https://…`, or `http://…` on this machine.
    pub(super) url: Option<String>,
    /// In its place: the artifact in a registry that they are the one layer of, `oci://HOST/REPOSITORY:TAG` or with a digest.
    pub(super) oci: Option<String>,
    /// How often they are fetched again, 10s to 168h. Default: 15m; never if a digest says which they are.
    pub(super) refresh: Option<DurationText>,
    /// How long the last good ones may serve while newer can't be had before the node counts as not ready; 1m to 8760h. Default: for ever.
    pub(super) max_age: Option<DurationText>,
    /// Of a URL: SHA-256 of the bytes that count, in hexadecimal. Default: any bytes.
    pub(super) sha256: Option<String>,
    /// Of a URL: the secret that is sent to its server as `Authorization: Bearer`. Default: none.
    pub(super) token: Option<String>,
    /// Of a URL: a file with certificate authorities that count next to the node's, in PEM; relative to the configuration.
    pub(super) ca_file: Option<PathBuf>,
    /// Of an artifact: a file with the registry's credentials, as for `pullCredentials` of the entry.
    pub(super) pull_credentials: Option<PathBuf>,
}

/// `record:`
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct RecordDocument {
    /// How many calls are kept, 1 to 1000; the newest, in at most 64 MiB.
    pub(super) max: usize,
    /// Which calls are kept: those that meet one of `reject` (a pod was refused, a probe failed), `differ` (a shadow's answer isn't the one
    /// that it is compared with), `slow` (it took more than half of its time) and `error` (no usable answer). Default: every call.
    pub(super) on: Option<Vec<String>>,
}
