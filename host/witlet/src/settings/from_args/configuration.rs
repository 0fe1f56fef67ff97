//! The `KubeletConfiguration` that the flags of `witlet run` come to, as `/configz` shows it.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use k8s_openapi::api::core::v1::Taint;
use serde_json::{Map, Value, json};
use witlet_core::go;
use witlet_core::runtime::CgroupDriver;

use crate::cli::{LogArgs, LogFormat, RunArgs, TracingArgs};
use crate::kubelet::configuration::defaults::defaulted;
use crate::logging::vmodule::FileVerbosity;

/// What was read of flags before.
pub(super) struct Parsed<'a> {
    /// Signals and values of `--eviction-hard`.
    pub(super) eviction_hard: &'a BTreeMap<String, String>,
    /// `--register-with-taints`
    pub(super) taints: &'a [Taint],
    /// `--pod-logs-dir`, absolute.
    pub(super) pod_logs: &'a Path,
    /// `--manifest-url` without user and password.
    pub(super) manifest_url: Option<&'a str>,
    /// Port of the node's endpoints, if they are on.
    pub(super) port: Option<u16>,
    /// Port of `/healthz`, if it is on.
    pub(super) healthz_port: Option<u16>,
}

/// Returns all fields: those that a flag stands for, those that `witlet run` decides, and defaults. Headers of `--manifest-url-header` are left
/// out, because they may hold tokens.
pub(super) fn configuration(args: &RunArgs, parsed: &Parsed<'_>) -> Value {
    let mut fields = Map::new();
    let groups = [node(args, parsed), server(args, parsed), sources(args, parsed), pods(args, parsed)];
    for (name, value) in groups.into_iter().flat_map(fields_of) {
        fields.insert(name, value);
    }
    fields.insert("logging".to_owned(), logging(&args.log));
    if let Some(tracing) = tracing(&args.tracing) {
        fields.insert("tracing".to_owned(), tracing);
    }
    let mut whole = defaulted(&Value::Object(fields));
    // The score stays as it is: no number says so.
    if let Value::Object(fields) = &mut whole {
        fields.remove("oomScoreAdj");
    }
    whole
}

/// What isn't set is null, and left out.
fn fields_of(group: Value) -> impl Iterator<Item = (String, Value)> {
    let Value::Object(group) = group else { return Map::new().into_iter() };
    let set: Map<String, Value> = group.into_iter().filter(|(_, value)| !value.is_null()).collect();
    set.into_iter()
}

fn node(args: &RunArgs, parsed: &Parsed<'_>) -> Value {
    let cluster = &args.cluster;
    let enforced: &[&str] = if args.cgroups_per_qos { &["pods"] } else { &[] };
    json!({
        "containerRuntimeEndpoint": args.container_runtime_endpoint,
        "imageServiceEndpoint": args.image_service_endpoint,
        "cgroupDriver": CgroupDriver::from(args.cgroup_driver).name(),
        "cgroupsPerQOS": args.cgroups_per_qos,
        "cgroupRoot": args.cgroup_root,
        "enforceNodeAllocatable": enforced,
        "maxPods": args.max_pods,
        "evictionHard": parsed.eviction_hard,
        "rotateCertificates": cluster.rotate_certificates,
        "registerNode": cluster.register_node,
        "registerWithTaints": (!parsed.taints.is_empty()).then_some(parsed.taints),
        "providerID": cluster.provider_id,
        "kubeAPIQPS": cluster.kube_api_qps,
        "kubeAPIBurst": cluster.kube_api_burst,
        // Neither is checked.
        "failSwapOn": false,
        "failCgroupV1": false,
    })
}

fn server(args: &RunArgs, parsed: &Parsed<'_>) -> Value {
    let cluster = &args.cluster;
    let mut authentication = json!({"webhook": {"enabled": cluster.kubeconfig.is_some()}});
    if let Some(file) = &cluster.client_ca_file {
        authentication["x509"] = json!({"clientCAFile": text(file)});
    }
    json!({
        "enableServer": parsed.port.is_some(),
        "address": cluster.address,
        "port": parsed.port,
        "healthzPort": parsed.healthz_port.unwrap_or(0),
        "tlsCertFile": cluster.tls_cert_file.as_deref().map(text),
        "tlsPrivateKeyFile": cluster.tls_private_key_file.as_deref().map(text),
        "authentication": authentication,
    })
}

fn sources(args: &RunArgs, parsed: &Parsed<'_>) -> Value {
    json!({
        "staticPodPath": text(&args.pod_manifest_path),
        "fileCheckFrequency": seconds(args.file_check_frequency),
        "staticPodURL": parsed.manifest_url,
        "httpCheckFrequency": seconds(args.http_check_frequency),
    })
}

fn pods(args: &RunArgs, parsed: &Parsed<'_>) -> Value {
    let pods = &args.pods;
    json!({
        "podLogsDir": text(parsed.pod_logs),
        "resolvConf": pods.resolv_conf,
        "clusterDNS": (!pods.cluster_dns.is_empty()).then_some(&pods.cluster_dns),
        "clusterDomain": Some(&pods.cluster_domain).filter(|domain| !domain.is_empty()),
        "allowedUnsafeSysctls": (!pods.allowed_unsafe_sysctls.is_empty()).then_some(&pods.allowed_unsafe_sysctls),
        "seccompDefault": pods.seccomp_default,
        "serializeImagePulls": pods.serialize_image_pulls,
        "maxParallelImagePulls": pods.max_parallel_image_pulls,
        "registryPullQPS": pods.registry_qps,
        "registryBurst": pods.registry_burst,
        "containerLogMaxSize": pods.container_log_max_size,
        "containerLogMaxFiles": pods.container_log_max_files,
    })
}

fn logging(log: &LogArgs) -> Value {
    let format = match log.log_format {
        LogFormat::Text => "text",
        LogFormat::Json => "json",
    };
    let mut logging = json!({"format": format, "verbosity": log.verbosity});
    if !log.vmodule.0.is_empty() {
        let entry = |file: &FileVerbosity| json!({"filePattern": file.pattern, "verbosity": file.verbosity});
        logging["vmodule"] = log.vmodule.0.iter().map(entry).collect();
    }
    logging
}

/// Returns `None` where tracing is off.
fn tracing(args: &TracingArgs) -> Option<Value> {
    let TracingArgs { tracing_endpoint, tracing_sampling_rate_per_million } = args;
    let group = json!({
        "endpoint": tracing_endpoint.as_ref().map(ToString::to_string),
        "samplingRatePerMillion": tracing_sampling_rate_per_million,
    });
    let set: Map<String, Value> = fields_of(group).collect();
    (!set.is_empty()).then_some(Value::Object(set))
}

/// A path need not be a text.
fn text(path: &Path) -> String {
    path.display().to_string()
}

fn seconds(seconds: u64) -> String {
    go::duration(i64::try_from(Duration::from_secs(seconds).as_nanos()).unwrap_or(i64::MAX))
}
