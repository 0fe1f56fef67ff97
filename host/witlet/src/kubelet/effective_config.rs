//! The fields that are acted on, with their types and upstream's defaults. Values that upstream takes for "not set" (empty
//! texts, zero durations, zero numbers of some fields) are none here.

use std::collections::BTreeMap;
use std::time::Duration;

use k8s_openapi::api::core::v1::Taint;
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use witlet_core::duration;

/// What the merged configuration asks for.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct EffectiveConfig {
    pub(crate) enable_server: Option<bool>,
    #[serde(deserialize_with = "text")]
    pub(crate) static_pod_path: Option<String>,
    #[serde(deserialize_with = "text")]
    pub(crate) pod_logs_dir: Option<String>,
    #[serde(deserialize_with = "time")]
    pub(crate) sync_frequency: Option<Duration>,
    #[serde(deserialize_with = "time")]
    pub(crate) file_check_frequency: Option<Duration>,
    #[serde(deserialize_with = "time")]
    pub(crate) http_check_frequency: Option<Duration>,
    #[serde(rename = "staticPodURL", deserialize_with = "text")]
    pub(crate) static_pod_url: Option<String>,
    #[serde(rename = "staticPodURLHeader")]
    pub(crate) static_pod_url_header: BTreeMap<String, Vec<String>>,
    #[serde(deserialize_with = "text")]
    pub(crate) address: Option<String>,
    #[serde(deserialize_with = "number")]
    pub(crate) port: Option<i64>,
    #[serde(deserialize_with = "number")]
    pub(crate) read_only_port: Option<i64>,
    #[serde(deserialize_with = "text")]
    pub(crate) tls_min_version: Option<String>,
    #[serde(deserialize_with = "time")]
    pub(crate) streaming_connection_idle_timeout: Option<Duration>,
    #[serde(deserialize_with = "text")]
    pub(crate) tls_cert_file: Option<String>,
    #[serde(deserialize_with = "text")]
    pub(crate) tls_private_key_file: Option<String>,
    pub(crate) rotate_certificates: bool,
    pub(crate) authentication: Authentication,
    pub(crate) authorization: AuthorizationMode,
    #[serde(rename = "registryPullQPS")]
    pub(crate) registry_pull_qps: Option<i64>,
    #[serde(deserialize_with = "number")]
    pub(crate) registry_burst: Option<i64>,
    #[serde(rename = "eventRecordQPS")]
    pub(crate) event_record_qps: Option<i64>,
    #[serde(deserialize_with = "number")]
    pub(crate) event_burst: Option<i64>,
    pub(crate) enable_debugging_handlers: Option<bool>,
    pub(crate) enable_debug_flags_handler: Option<bool>,
    pub(crate) enable_system_log_handler: Option<bool>,
    pub(crate) enable_system_log_query: bool,
    pub(crate) enable_profiling_handler: Option<bool>,
    pub(crate) healthz_port: Option<i64>,
    #[serde(deserialize_with = "text")]
    pub(crate) healthz_bind_address: Option<String>,
    pub(crate) oom_score_adj: Option<i64>,
    pub(crate) cluster_domain: String,
    #[serde(rename = "clusterDNS")]
    pub(crate) cluster_dns: Vec<String>,
    #[serde(deserialize_with = "time")]
    pub(crate) node_status_update_frequency: Option<Duration>,
    #[serde(deserialize_with = "time")]
    pub(crate) node_status_report_frequency: Option<Duration>,
    #[serde(deserialize_with = "number")]
    pub(crate) node_lease_duration_seconds: Option<i64>,
    #[serde(rename = "imageMinimumGCAge", deserialize_with = "signed_time")]
    pub(crate) image_minimum_gc_age: Option<i64>,
    #[serde(rename = "imageMaximumGCAge", deserialize_with = "signed_time")]
    pub(crate) image_maximum_gc_age: Option<i64>,
    #[serde(deserialize_with = "signed_time")]
    pub(crate) volume_stats_agg_period: Option<i64>,
    #[serde(rename = "imageGCHighThresholdPercent")]
    pub(crate) image_gc_high_threshold_percent: Option<i64>,
    #[serde(rename = "imageGCLowThresholdPercent")]
    pub(crate) image_gc_low_threshold_percent: Option<i64>,
    #[serde(deserialize_with = "time")]
    pub(crate) runtime_request_timeout: Option<Duration>,
    #[serde(deserialize_with = "text")]
    pub(crate) kubelet_cgroups: Option<String>,
    #[serde(deserialize_with = "text")]
    pub(crate) system_cgroups: Option<String>,
    pub(crate) protect_kernel_defaults: bool,
    pub(crate) cgroup_driver: Option<String>,
    #[serde(deserialize_with = "text")]
    pub(crate) cgroup_root: Option<String>,
    #[serde(rename = "cgroupsPerQOS")]
    pub(crate) cgroups_per_qos: Option<bool>,
    pub(crate) pod_pids_limit: Option<i64>,
    #[serde(rename = "cpuCFSQuota")]
    pub(crate) cpu_cfs_quota: Option<bool>,
    #[serde(rename = "cpuCFSQuotaPeriod", deserialize_with = "time")]
    pub(crate) cpu_cfs_quota_period: Option<Duration>,
    #[serde(rename = "singleProcessOOMKill")]
    pub(crate) single_process_oom_kill: Option<bool>,
    pub(crate) memory_swap: MemorySwap,
    pub(crate) memory_throttling_factor: Option<f64>,
    #[serde(deserialize_with = "text")]
    pub(crate) memory_reservation_policy: Option<String>,
    #[serde(rename = "qosReserved")]
    pub(crate) qos_reserved: BTreeMap<String, String>,
    /// None is upstream's default; an empty list enforces nothing.
    pub(crate) enforce_node_allocatable: Option<Vec<String>>,
    pub(crate) system_reserved_cgroup: String,
    pub(crate) kube_reserved_cgroup: String,
    #[serde(rename = "reservedSystemCPUs", deserialize_with = "text")]
    pub(crate) reserved_system_cpus: Option<String>,
    #[serde(deserialize_with = "number")]
    pub(crate) max_pods: Option<i64>,
    pub(crate) resolv_conf: Option<String>,
    pub(crate) node_status_max_images: Option<i64>,
    #[serde(rename = "kubeAPIQPS")]
    pub(crate) kube_api_qps: Option<i64>,
    #[serde(rename = "kubeAPIBurst", deserialize_with = "number")]
    pub(crate) kube_api_burst: Option<i64>,
    pub(crate) serialize_image_pulls: Option<bool>,
    pub(crate) max_parallel_image_pulls: Option<i64>,
    #[serde(deserialize_with = "text")]
    pub(crate) image_pull_credentials_verification_policy: Option<String>,
    pub(crate) preloaded_images_verification_allowlist: Vec<String>,
    /// None is upstream's default; an empty one has no thresholds.
    pub(crate) eviction_hard: Option<BTreeMap<String, String>>,
    pub(crate) eviction_soft: BTreeMap<String, String>,
    pub(crate) eviction_soft_grace_period: BTreeMap<String, String>,
    #[serde(deserialize_with = "time")]
    pub(crate) eviction_pressure_transition_period: Option<Duration>,
    #[serde(deserialize_with = "number")]
    pub(crate) eviction_max_pod_grace_period: Option<i64>,
    pub(crate) eviction_minimum_reclaim: BTreeMap<String, String>,
    pub(crate) merge_default_eviction_settings: bool,
    pub(crate) kernel_memcg_notification: bool,
    #[serde(deserialize_with = "number")]
    pub(crate) pods_per_core: Option<i64>,
    pub(crate) feature_gates: BTreeMap<String, bool>,
    pub(crate) fail_swap_on: Option<bool>,
    pub(crate) run_once: bool,
    #[serde(deserialize_with = "text")]
    pub(crate) container_log_max_size: Option<String>,
    pub(crate) container_log_max_files: Option<i64>,
    pub(crate) system_reserved: BTreeMap<String, String>,
    pub(crate) kube_reserved: BTreeMap<String, String>,
    pub(crate) local_storage_capacity_isolation: Option<bool>,
    pub(crate) allowed_unsafe_sysctls: Vec<String>,
    #[serde(rename = "providerID", deserialize_with = "text")]
    pub(crate) provider_id: Option<String>,
    pub(crate) logging: Logging,
    /// None is off.
    pub(crate) tracing: Option<Tracing>,
    pub(crate) seccomp_default: bool,
    pub(crate) register_with_taints: Vec<Taint>,
    pub(crate) register_node: Option<bool>,
    #[serde(deserialize_with = "text")]
    pub(crate) container_runtime_endpoint: Option<String>,
    #[serde(deserialize_with = "text")]
    pub(crate) image_service_endpoint: Option<String>,
    #[serde(rename = "failCgroupV1")]
    pub(crate) fail_cgroup_v1: Option<bool>,
}

/// `memorySwap`
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct MemorySwap {
    #[serde(deserialize_with = "text")]
    pub(crate) swap_behavior: Option<String>,
}

/// `authentication`
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(default)]
pub(crate) struct Authentication {
    pub(crate) x509: X509,
    pub(crate) webhook: Switch,
    pub(crate) anonymous: Switch,
}

/// `authentication.x509`
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(default)]
pub(crate) struct X509 {
    #[serde(rename = "clientCAFile", deserialize_with = "text")]
    pub(crate) client_ca_file: Option<String>,
}

/// A map with `enabled`.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(default)]
pub(crate) struct Switch {
    pub(crate) enabled: Option<bool>,
}

/// `authorization`
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(default)]
pub(crate) struct AuthorizationMode {
    #[serde(deserialize_with = "text")]
    pub(crate) mode: Option<String>,
}

/// `logging`
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct Logging {
    #[serde(deserialize_with = "text")]
    pub(crate) format: Option<String>,
    pub(crate) flush_frequency: Option<Period>,
    pub(crate) verbosity: u32,
    pub(crate) vmodule: Vec<FilePattern>,
    pub(crate) options: LoggingFormats,
}

/// A duration, or a number of nanoseconds.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(untagged)]
pub(crate) enum Period {
    Nanoseconds(i64),
    Text(String),
}

/// An item of `logging.vmodule`
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct FilePattern {
    pub(crate) file_pattern: Option<String>,
    pub(crate) verbosity: Option<u32>,
}

/// `logging.options`
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(default)]
pub(crate) struct LoggingFormats {
    pub(crate) text: OutputRouting,
    pub(crate) json: OutputRouting,
}

/// `logging.options.text`, `logging.options.json`
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct OutputRouting {
    pub(crate) split_stream: bool,
    #[serde(deserialize_with = "quantity")]
    pub(crate) info_buffer_size: Option<Quantity>,
}

/// A quantity, as a text or a number.
fn quantity<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Quantity>, D::Error> {
    Ok(match Value::deserialize(from)? {
        Value::Null => None,
        Value::String(text) => Some(Quantity(text)),
        other => Some(Quantity(other.to_string())),
    })
}

/// `tracing`
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct Tracing {
    pub(crate) endpoint: Option<String>,
    pub(crate) sampling_rate_per_million: Option<i64>,
}

/// A text that isn't empty.
fn text<'de, D: Deserializer<'de>>(from: D) -> Result<Option<String>, D::Error> {
    Ok(Some(String::deserialize(from)?).filter(|text| !text.is_empty()))
}

/// A number that isn't 0.
fn number<'de, D: Deserializer<'de>>(from: D) -> Result<Option<i64>, D::Error> {
    Ok(Some(i64::deserialize(from)?).filter(|number| *number != 0))
}

/// Nanoseconds of a duration that isn't 0, for fields whose negative values are refused in upstream's words.
fn signed_time<'de, D: Deserializer<'de>>(from: D) -> Result<Option<i64>, D::Error> {
    let text = String::deserialize(from)?;
    let nanoseconds = duration::nanoseconds(&text)
        .ok_or_else(|| serde::de::Error::custom(format!("{text:?} is not a duration")))?;
    Ok(Some(nanoseconds).filter(|nanoseconds| *nanoseconds != 0))
}

/// A duration that isn't 0.
fn time<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Duration>, D::Error> {
    let text = String::deserialize(from)?;
    let parsed = duration::parse(&text)
        .ok_or_else(|| serde::de::Error::custom(format!("{text:?} is out of range for a duration")))?;
    Ok(Some(parsed).filter(|time| !time.is_zero()))
}
