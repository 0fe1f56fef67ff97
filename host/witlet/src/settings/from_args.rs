//! From the flags of `witlet run` to what the agent is to do.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;

use k8s_openapi::api::core::v1::Taint;
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use serde_json::{Value, json};
use thiserror::Error;
use witlet_agent::{CgroupMode, CgroupSettings, ImagePullLimits, LogLimits};
use witlet_core::container::gc::GcPolicy;
use witlet_core::eviction::{EvictionConfig, ThresholdConfig, ThresholdError};
use witlet_core::image::gc::ImageGcPolicy;
use witlet_core::image::records::VerificationPolicy;
use witlet_core::node::allocatable::{Enforcement, Reservations};
use witlet_core::pod::quantity::{self, QuantityError};
use witlet_core::pod::validation::is_label;
use witlet_node::{ManifestUrl, ManifestUrlError};
use witlet_server::{EndpointSwitches, VOLUME_STATS_PERIOD};

use crate::cli::{ClusterArgs, PodArgs, RunArgs, TracingArgs};
use crate::settings::{
    Authorization, ClusterSettings, Folders, Manifests, NodeSettings, PodSettings, RuntimeSettings,
    ServerSettings, Settings, TracingSettings,
};

mod configuration;
#[cfg(test)]
mod tests;

use configuration::{Parsed, configuration};

/// Upstream's ports, taken with `--kubeconfig`.
const PORT: u16 = 10250;
const HEALTHZ_PORT: u16 = 10248;
/// Upstream's `streamingConnectionIdleTimeout`.
const STREAMING_IDLE: Duration = Duration::from_hours(4);

/// A flag that makes no sense.
#[derive(Debug, Error)]
pub(crate) enum ArgsError {
    /// A label isn't `KEY=VALUE`, or not one that an API server takes.
    #[error("--node-labels must be KEY=VALUE as labels of Kubernetes have them, found {label:?}")]
    Label { label: String },
    /// A runtime class isn't `CLASS=HANDLER`.
    #[error("--runtime-classes must be CLASS=HANDLER, found {class:?}")]
    RuntimeClass { class: String },
    /// A taint isn't `KEY=VALUE:EFFECT`.
    #[error(
        "--register-with-taints must be KEY=VALUE:EFFECT with effect NoSchedule, PreferNoSchedule or NoExecute, found {taint:?}"
    )]
    Taint { taint: String },
    /// More than one address of a family.
    #[error("--node-ip: two addresses must have different IP families")]
    NodeIps,
    /// The size isn't one.
    #[error("--container-log-max-size must be a size such as 10Mi, found {size:?}")]
    LogSize {
        size: String,
        /// What is wrong with it.
        #[source]
        cause: Option<QuantityError>,
    },
    /// A threshold isn't `SIGNAL<VALUE`.
    #[error("--eviction-hard must be SIGNAL<VALUE such as memory.available<100Mi, found {threshold:?}")]
    Eviction { threshold: String },
    /// Its signal or value makes no sense.
    #[error("--eviction-hard must be SIGNAL<VALUE, with a signal that `witlet run --help` names")]
    Threshold(#[from] ThresholdError),
    /// `--manifest-url` or a header makes no sense.
    #[error("--manifest-url")]
    ManifestUrl(#[from] ManifestUrlError),
    /// There is no working folder that a relative path could start at.
    #[error("failed to make {} absolute", path.display())]
    Path {
        path: PathBuf,
        #[source]
        cause: std::io::Error,
    },
}

/// Returns what is to be done.
pub(crate) fn settings(args: RunArgs) -> Result<Settings, ArgsError> {
    let root = absolute(&args.root_dir)?;
    let pod_logs = absolute(&args.pod_logs_dir)?;
    let eviction = eviction(&args.pods)?;
    // Pods can't have what they would be evicted at.
    let reserved = Reservations { eviction: eviction.thresholds.clone(), ..Reservations::default() };
    let node = NodeSettings {
        name: args.node_name.clone(),
        labels: node_labels(&args.node_labels)?,
        max_pods: args.max_pods,
        pods_per_core: 0,
        reserved: reserved.clone(),
        ips: node_ips(&args.cluster)?,
    };
    let manifests = manifests(&args)?;
    let configz = configz(&args, &pod_logs, &manifests)?;
    let container_logs = args.pods.container_logs_dir.clone();
    let cert_dir = args.cluster.cert_dir.clone().unwrap_or_else(|| root.join("pki"));
    Ok(Settings {
        node,
        folders: Folders {
            container_logs: container_logs.unwrap_or_else(|| pod_logs.with_file_name("containers")),
            images: absolute(&args.image_root)?,
            component_cache: args.cache.component_cache_dir.as_ref().map(absolute).transpose()?,
            root,
            pod_logs,
        },
        manifests,
        runtime: RuntimeSettings {
            endpoint: args.container_runtime_endpoint,
            image_endpoint: args.image_service_endpoint,
            request_timeout: Duration::from_mins(2),
            cgroup_driver: args.cgroup_driver.into(),
            cgroup: None,
        },
        cgroups: CgroupSettings {
            mode: if args.cgroups_per_qos { CgroupMode::Kept } else { CgroupMode::Off },
            driver: Some(args.cgroup_driver.into()),
            root: args.cgroup_root,
            enforce: args.cgroups_per_qos.then_some(Enforcement::Pods).into_iter().collect(),
            reservations: reserved,
            ..CgroupSettings::default()
        },
        reserved_cpus: None,
        eviction,
        pods: pods(args.pods)?,
        plugins: args.plugins,
        plugin_sets: args.plugin_sets,
        api_socket: args.api_socket,
        readmit_on_restart: args.readmit_on_restart,
        stop_pods_on_exit: args.stop_pods_on_exit,
        resync: Duration::from_mins(1),
        healthz: healthz(&args.cluster),
        server: server(&args.cluster, &cert_dir),
        cluster: cluster(args.cluster, cert_dir)?,
        read_only: None,
        oom_score: None,
        feature_gates: BTreeMap::new(),
        tracing: tracing(args.tracing),
        configz,
        flags: BTreeMap::new(),
    })
}

/// Returns what `/configz` shows.
fn configz(args: &RunArgs, pod_logs: &Path, manifests: &Manifests) -> Result<Value, ArgsError> {
    let parsed = Parsed {
        eviction_hard: &eviction_hard(&args.pods)?,
        taints: &taints(&args.cluster)?,
        pod_logs,
        manifest_url: manifests.url.as_ref().map(ManifestUrl::place),
        port: port(&args.cluster, args.cluster.port, PORT),
        healthz_port: port(&args.cluster, args.cluster.healthz_port, HEALTHZ_PORT),
    };
    Ok(json!({ "kubeletconfig": configuration(args, &parsed) }))
}

/// Either flag turns tracing on.
fn tracing(args: TracingArgs) -> Option<TracingSettings> {
    let TracingArgs { tracing_endpoint, tracing_sampling_rate_per_million } = args;
    (tracing_endpoint.is_some() || tracing_sampling_rate_per_million.is_some()).then(|| TracingSettings {
        endpoint: Ok(tracing_endpoint.unwrap_or_default()),
        sampling_rate_per_million: tracing_sampling_rate_per_million.unwrap_or_default(),
    })
}

/// Runtimes take absolute paths only, and an embedded one may have another working directory.
fn absolute(path: &PathBuf) -> Result<PathBuf, ArgsError> {
    std::path::absolute(path).map_err(|cause| ArgsError::Path { path: path.clone(), cause })
}

/// Labels of the node, as `--node-labels` has them.
pub(crate) fn node_labels(labels: &[String]) -> Result<BTreeMap<String, String>, ArgsError> {
    pairs(labels, |label| ArgsError::Label { label }, is_label)
}

fn pairs(
    all: &[String],
    refused: impl Fn(String) -> ArgsError,
    fits: impl Fn(&str, &str) -> bool,
) -> Result<BTreeMap<String, String>, ArgsError> {
    let pair = |text: &String| match text.split_once('=') {
        Some((key, value)) if fits(key, value) => Ok((key.to_owned(), value.to_owned())),
        Some(_) | None => Err(refused(text.clone())),
    };
    all.iter().map(pair).collect()
}

fn manifests(args: &RunArgs) -> Result<Manifests, ArgsError> {
    let url = match args.manifest_url.as_deref().filter(|url| !url.is_empty()) {
        Some(url) => Some(ManifestUrl::new(url, &args.manifest_url_header)?),
        None => None,
    };
    Ok(Manifests {
        path: Some(args.pod_manifest_path.clone()),
        path_period: Duration::from_secs(args.file_check_frequency),
        url,
        url_period: Duration::from_secs(args.http_check_frequency),
    })
}

fn pods(args: PodArgs) -> Result<PodSettings, ArgsError> {
    Ok(PodSettings {
        logs: log_limits(&args)?,
        image_gc: ImageGcPolicy::default(),
        image_verification: VerificationPolicy::default(),
        image_pulls: ImagePullLimits {
            serialize: args.serialize_image_pulls,
            parallel_max: args.max_parallel_image_pulls.and_then(|most| usize::try_from(most).ok()),
            per_second: args.registry_qps,
            burst: args.registry_burst,
        },
        runtime_classes: pairs(
            &args.runtime_classes,
            |class| ArgsError::RuntimeClass { class },
            |name, handler| !name.is_empty() && !handler.is_empty(),
        )?,
        resolv_conf: (!args.resolv_conf.is_empty()).then(|| PathBuf::from(args.resolv_conf)),
        cluster_dns: args.cluster_dns,
        cluster_domain: args.cluster_domain,
        allowed_unsafe_sysctls: args.allowed_unsafe_sysctls,
        seccomp_default: args.seccomp_default,
        registry_credentials: args.registry_credentials,
        container_gc: GcPolicy::default(),
    })
}

/// Values by signals.
fn eviction_hard(args: &PodArgs) -> Result<BTreeMap<String, String>, ArgsError> {
    let mut hard = BTreeMap::new();
    for threshold in args.eviction_hard.split(',').map(str::trim).filter(|threshold| !threshold.is_empty()) {
        let refused = || ArgsError::Eviction { threshold: threshold.to_owned() };
        let (signal, value) = threshold.split_once('<').ok_or_else(refused)?;
        hard.insert(signal.trim().to_owned(), value.trim().to_owned());
    }
    Ok(hard)
}

fn eviction(args: &PodArgs) -> Result<EvictionConfig, ArgsError> {
    let hard = Some(eviction_hard(args)?);
    let config = ThresholdConfig { hard, enforces_pods: true, ..ThresholdConfig::default() };
    Ok(EvictionConfig { thresholds: config.thresholds()?, ..EvictionConfig::default() })
}

fn log_limits(args: &PodArgs) -> Result<LogLimits, ArgsError> {
    let size = &args.container_log_max_size;
    let refuse = |cause| ArgsError::LogSize { size: size.clone(), cause };
    let bytes = quantity::value(&Quantity(size.clone())).map_err(|cause| refuse(Some(cause)))?;
    let bytes_max = u64::try_from(bytes).ok().filter(|bytes| *bytes > 0).ok_or_else(|| refuse(None))?;
    let files_max = usize::try_from(args.container_log_max_files).unwrap_or(usize::MAX);
    Ok(LogLimits { bytes_max, files_max, ..LogLimits::default() })
}

fn node_ips(args: &ClusterArgs) -> Result<Vec<IpAddr>, ArgsError> {
    let of_one_family =
        |ip: &&IpAddr| args.node_ip.iter().filter(|other| other.is_ipv4() == ip.is_ipv4()).count() > 1;
    if args.node_ip.iter().any(|ip| of_one_family(&ip)) {
        return Err(ArgsError::NodeIps);
    }
    Ok(args.node_ip.clone())
}

/// A port that is on: the one given, or upstream's in a cluster.
fn port(args: &ClusterArgs, given: Option<u16>, default: u16) -> Option<u16> {
    let port = given.unwrap_or(if args.kubeconfig.is_some() { default } else { 0 });
    (port != 0).then_some(port)
}

fn healthz(args: &ClusterArgs) -> Option<SocketAddr> {
    let port = port(args, args.healthz_port, HEALTHZ_PORT)?;
    Some(SocketAddr::new(Ipv4Addr::LOCALHOST.into(), port))
}

fn server(args: &ClusterArgs, cert_dir: &Path) -> Option<ServerSettings> {
    Some(ServerSettings {
        address: SocketAddr::new(args.address, port(args, args.port, PORT)?),
        certificate: args.tls_cert_file.clone().zip(args.tls_private_key_file.clone()),
        cert_dir: cert_dir.to_owned(),
        client_ca: args.client_ca_file.clone(),
        anonymous: false,
        token_webhook: args.kubeconfig.is_some(),
        authorization: Authorization::Webhook,
        debugging: true,
        switches: EndpointSwitches::default(),
        only_tls13: false,
        streaming_idle: STREAMING_IDLE,
        volume_stats_period: Some(VOLUME_STATS_PERIOD),
    })
}

fn cluster(args: ClusterArgs, cert_dir: PathBuf) -> Result<Option<ClusterSettings>, ArgsError> {
    let taints = taints(&args)?;
    let Some(kubeconfig) = args.kubeconfig else { return Ok(None) };
    Ok(Some(ClusterSettings {
        kubeconfig,
        bootstrap_kubeconfig: args.bootstrap_kubeconfig,
        cert_dir,
        rotate_certificates: args.rotate_certificates,
        register: args.register_node,
        taints,
        provider_id: args.provider_id,
        qps: args.kube_api_qps.into(),
        burst: args.kube_api_burst.into(),
        ..ClusterSettings::default()
    }))
}

fn taints(args: &ClusterArgs) -> Result<Vec<Taint>, ArgsError> {
    args.register_with_taints.iter().map(|text| taint(text)).collect()
}

fn taint(text: &str) -> Result<Taint, ArgsError> {
    let refused = || ArgsError::Taint { taint: text.to_owned() };
    let (name, effect) = text.rsplit_once(':').ok_or_else(refused)?;
    let (key, value) = name.split_once('=').unwrap_or((name, ""));
    if key.is_empty() || !matches!(effect, "NoSchedule" | "PreferNoSchedule" | "NoExecute") {
        return Err(refused());
    }
    let value = (!value.is_empty()).then(|| value.to_owned());
    Ok(Taint { key: key.to_owned(), value, effect: effect.to_owned(), time_added: None })
}

impl Default for ClusterSettings {
    /// Upstream's values.
    fn default() -> Self {
        Self {
            kubeconfig: PathBuf::new(),
            bootstrap_kubeconfig: None,
            cert_dir: PathBuf::new(),
            rotate_certificates: false,
            qps: 50,
            burst: 100,
            event_qps: 50,
            event_burst: 100,
            register: true,
            taints: Vec::new(),
            status_update: Duration::from_secs(10),
            status_report: Duration::from_mins(5),
            images_max: Some(50),
            lease: Duration::from_secs(40),
            provider_id: None,
            external_cloud: false,
        }
    }
}
