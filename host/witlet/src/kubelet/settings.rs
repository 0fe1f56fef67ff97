//! From the kubelet's flags and configuration to what the agent is to do.

use std::fmt::Display;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;

use jiff::SignedDuration;
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use serde_json::json;
use thiserror::Error;
use witlet_agent::{ImagePullLimits, LogLimits};
use witlet_core::container::gc::GcPolicy;
use witlet_core::duration;
use witlet_core::error::aggregate;
use witlet_core::eviction::ThresholdError;
use witlet_core::pod::quantity;
use witlet_core::runtime::CgroupDriver;
use witlet_node::ManifestUrl;

use super::configuration::Configuration;
use super::configuration::defaults::defaulted;
use super::effective_config::EffectiveConfig;
use super::flags::Flags;
use super::flags::shown::flagz;
use super::flags::table::Own;
use crate::cli::API_SOCKET;
use crate::logging::options::LogOptions;
use crate::settings::{
    Authorization, ClusterSettings, Folders, Manifests, PodSettings, RuntimeSettings, ServerSettings,
    Settings,
};
pub(crate) use logging::LoggingError;

mod cgroups;
mod endpoints;
mod image_gc;
mod image_verification;
mod logging;
mod node;
#[cfg(test)]
mod tests;
mod trace;
mod values;

/// Upstream's defaults.
const ROOT_DIR: &str = "/var/lib/kubelet";
const POD_LOGS_DIR: &str = "/var/log/pods";
const CERT_FOLDER: &str = "pki";
const RUNTIME_ENDPOINT: &str = "unix:///run/containerd/containerd.sock";
const RESOLV_CONF: &str = "/etc/resolv.conf";
const PORT: i64 = 10250;
const HEALTHZ_PORT: i64 = 10248;
const OOM_SCORE: i64 = -999;
const IMAGES_MAX: i64 = 50;
const LOG_SIZE: &str = "10Mi";
const STREAMING_IDLE: Duration = Duration::from_hours(4);

/// What upstream refuses to start on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Machine {
    /// Whether the cgroups are version 1.
    pub(crate) cgroup_v1: bool,
    /// Whether there is swap.
    pub(crate) swap: bool,
}

/// A setting that makes no sense.
#[derive(Debug, Error, PartialEq, Eq)]
pub(crate) enum SettingsError {
    /// A value that is out of bounds, or of no form that is known.
    #[error("{name}: {value}: {why}")]
    Value {
        /// The field or the flag.
        name: &'static str,
        value: String,
        /// What is wrong with it.
        why: String,
    },
    /// Thresholds of evictions, in upstream's words.
    #[error(transparent)]
    Eviction(#[from] ThresholdError),
    /// The merged configuration has something that no time or number can be.
    #[error("{path}: {message}")]
    Field {
        /// From the top, with dots.
        path: String,
        message: String,
    },
    /// Two settings that don't go together.
    #[error("{message}")]
    Together {
        /// Both, and the way out.
        message: &'static str,
    },
    /// Settings that upstream's validation refuses, in its words.
    #[error("{}", problems.iter().map(|problem| format!("invalid configuration: {problem}")).collect::<Vec<_>>().join(", "))]
    Invalid {
        /// All that is wrong.
        problems: Vec<String>,
    },
    /// Fields of `tracing`, which upstream refuses in other words.
    #[error("{}", aggregate(problems.iter().cloned()))]
    Tracing {
        /// All that is wrong.
        problems: Vec<String>,
    },
    /// The mode that ends after the first pods.
    #[error(
        "invalid configuration: runOnce (--runOnce) true, Runonce mode has been deprecated and should not be set"
    )]
    RunOnce,
    /// The machine has cgroups of version 1.
    #[error(
        "the kubelet is configured to not run on a host using cgroup v1, which this one does; move to cgroup v2, or set \
         failCgroupV1: false in the configuration (--fail-cgroupv1=false)"
    )]
    CgroupV1,
    /// The machine has swap.
    #[error(
        "running with swap on is not supported; turn it off (swapoff -a), or set failSwapOn: false in the configuration \
         (--fail-swap-on=false)"
    )]
    Swap,
    /// Swap is to be limited where that can't be done.
    #[error("swap feature is enabled and LimitedSwap but it is only supported with cgroupv2")]
    LimitedSwap,
}

fn wrong(name: &'static str, value: impl Display, why: impl Display) -> SettingsError {
    SettingsError::Value { name, value: value.to_string(), why: why.to_string() }
}

/// Returns what is to be done. `configuration` has the files with the flags over them.
pub(crate) fn settings(
    flags: &Flags,
    configuration: &Configuration,
    machine: Machine,
) -> Result<Settings, SettingsError> {
    let document = configuration.document();
    let effective = effective_config(&document)?;
    if effective.run_once {
        return Err(SettingsError::RunOnce);
    }
    fits(&effective, machine)?;
    values::check(&effective)?;
    let root = PathBuf::from(flags.text(Own::RootDir).unwrap_or(ROOT_DIR));
    let cert_dir = flags.text(Own::CertDir).map_or_else(|| root.join(CERT_FOLDER), PathBuf::from);
    let cluster = cluster(flags, &effective, &cert_dir)?;
    let server = server(&effective, &cert_dir, cluster.is_some())?;
    let pod_logs = PathBuf::from(effective.pod_logs_dir.as_deref().unwrap_or(POD_LOGS_DIR));
    Ok(Settings {
        node: node::node(flags, &effective)?,
        folders: Folders {
            // Upstream's place, whatever folder the logs of pods are in.
            container_logs: PathBuf::from("/var/log/containers"),
            images: root.join("images"),
            component_cache: None,
            pod_logs,
            root,
        },
        manifests: manifests(&effective)?,
        runtime: runtime(flags, &effective)?,
        pods: pods(flags, &effective)?,
        cgroups: cgroups::cgroups(flags, &effective, machine)?,
        reserved_cpus: effective.reserved_system_cpus.clone(),
        eviction: node::eviction(flags, &effective)?,
        plugins: flags.text(Own::Plugins).map(PathBuf::from),
        plugin_sets: flags.text(Own::PluginSets).map(PathBuf::from),
        api_socket: PathBuf::from(flags.text(Own::ApiSocket).unwrap_or(API_SOCKET)),
        readmit_on_restart: flags.is_on(Own::ReadmitOnRestart),
        stop_pods_on_exit: flags.is_on(Own::StopPodsOnExit),
        resync: effective.sync_frequency.unwrap_or(Duration::from_mins(1)),
        healthz: healthz(&effective)?,
        read_only: read_only(&effective)?,
        oom_score: Some(oom_score(&effective)?),
        feature_gates: effective.feature_gates.clone(),
        tracing: trace::tracing(&effective)?,
        configz: json!({ "kubeletconfig": endpoints::shown(defaulted(&document), server.as_ref()) }),
        flags: flagz(flags),
        cluster,
        server,
    })
}

/// The log. Both errors end the start: the first is the configuration's as a whole, the second the log's.
pub(crate) fn log_options(
    flags: &Flags,
    configuration: &Configuration,
) -> Result<Result<LogOptions, LoggingError>, SettingsError> {
    let EffectiveConfig { logging, feature_gates, .. } = effective_config(&configuration.document())?;
    let flush_by_flag = flags.fields.contains_key("logging.flushFrequency");
    Ok(logging::options(&logging, flush_by_flag, &feature_gates))
}

fn effective_config(document: &serde_json::Value) -> Result<EffectiveConfig, SettingsError> {
    serde_path_to_error::deserialize(document).map_err(|error| SettingsError::Field {
        path: error.path().to_string(),
        message: error.inner().to_string(),
    })
}

/// What upstream checks before anything else.
fn fits(effective: &EffectiveConfig, machine: Machine) -> Result<(), SettingsError> {
    if machine.cgroup_v1 && effective.fail_cgroup_v1.unwrap_or(true) {
        return Err(SettingsError::CgroupV1);
    }
    if machine.swap && effective.fail_swap_on.unwrap_or(true) {
        return Err(SettingsError::Swap);
    }
    Ok(())
}

fn bounded<T: TryFrom<i64>>(
    name: &'static str,
    value: i64,
    least: i64,
    most: i64,
) -> Result<T, SettingsError> {
    let refused = || wrong(name, value, format!("must be between {least} and {most}"));
    if !(least..=most).contains(&value) {
        return Err(refused());
    }
    T::try_from(value).map_err(|_| refused())
}

fn count<T: TryFrom<i64>>(name: &'static str, value: i64) -> Result<T, SettingsError> {
    bounded(name, value, 0, i32::MAX.into())
}

fn manifests(effective: &EffectiveConfig) -> Result<Manifests, SettingsError> {
    const PERIOD: Duration = Duration::from_secs(20);
    let url = match &effective.static_pod_url {
        None => None,
        Some(url) => {
            let mut headers = Vec::new();
            for (name, values) in &effective.static_pod_url_header {
                if values.iter().any(|value| value.contains(',')) {
                    return Err(wrong("staticPodURLHeader", name, "must not contain a comma"));
                }
                headers.extend(values.iter().map(|value| format!("{name}:{value}")));
            }
            Some(ManifestUrl::new(url, &headers).map_err(|cause| wrong("staticPodURL", "refused", cause))?)
        }
    };
    Ok(Manifests {
        path: effective.static_pod_path.as_ref().map(PathBuf::from),
        path_period: effective.file_check_frequency.unwrap_or(PERIOD),
        url,
        url_period: effective.http_check_frequency.unwrap_or(PERIOD),
    })
}

fn runtime(flags: &Flags, effective: &EffectiveConfig) -> Result<RuntimeSettings, SettingsError> {
    Ok(RuntimeSettings {
        endpoint: effective.container_runtime_endpoint.clone().unwrap_or_else(|| RUNTIME_ENDPOINT.to_owned()),
        image_endpoint: effective.image_service_endpoint.clone(),
        request_timeout: effective.runtime_request_timeout.unwrap_or(Duration::from_mins(2)),
        cgroup_driver: driver(effective)?,
        cgroup: flags.text(Own::RuntimeCgroups).map(str::to_owned),
    })
}

fn oom_score(effective: &EffectiveConfig) -> Result<i32, SettingsError> {
    bounded("oomScoreAdj", effective.oom_score_adj.unwrap_or(OOM_SCORE), -1000, 1000)
}

fn driver(effective: &EffectiveConfig) -> Result<CgroupDriver, SettingsError> {
    let driver = effective.cgroup_driver.as_deref().unwrap_or(CgroupDriver::Cgroupfs.name());
    CgroupDriver::of_name(driver).ok_or_else(|| wrong("cgroupDriver", driver, "expected cgroupfs or systemd"))
}

fn pods(flags: &Flags, effective: &EffectiveConfig) -> Result<PodSettings, SettingsError> {
    let mut cluster_dns = Vec::new();
    for server in &effective.cluster_dns {
        cluster_dns.push(server.parse().map_err(|_| wrong("clusterDNS", server, "expected an IP address"))?);
    }
    let serialize = effective
        .serialize_image_pulls
        .unwrap_or(effective.max_parallel_image_pulls.is_none_or(|most| most < 2));
    let parallel_max = match effective.max_parallel_image_pulls {
        None => None,
        Some(most) => Some(bounded("maxParallelImagePulls", most, 1, i32::MAX.into())?),
    };
    if serialize && parallel_max.is_some_and(|most: usize| most > 1) {
        let message = "maxParallelImagePulls cannot be larger than 1 unless serializeImagePulls is false";
        return Err(SettingsError::Together { message });
    }
    let size = effective.container_log_max_size.as_deref().unwrap_or(LOG_SIZE);
    let bytes = quantity::value(&Quantity(size.to_owned())).ok().and_then(|bytes| u64::try_from(bytes).ok());
    let bytes_max = bytes
        .filter(|bytes| *bytes > 0)
        .ok_or_else(|| wrong("containerLogMaxSize", size, "expected a size such as 10Mi"))?;
    Ok(PodSettings {
        resolv_conf: match effective.resolv_conf.as_deref() {
            None => Some(PathBuf::from(RESOLV_CONF)),
            Some("") => None,
            Some(path) => Some(PathBuf::from(path)),
        },
        cluster_dns,
        cluster_domain: effective.cluster_domain.clone(),
        runtime_classes: flags.pairs(Own::RuntimeClasses),
        allowed_unsafe_sysctls: effective.allowed_unsafe_sysctls.clone(),
        seccomp_default: effective.seccomp_default,
        registry_credentials: registry_credentials(flags),
        image_gc: image_gc::policy(effective)?,
        image_verification: image_verification::policy(effective)?,
        image_pulls: ImagePullLimits {
            serialize,
            parallel_max,
            per_second: count("registryPullQPS", effective.registry_pull_qps.unwrap_or(5))?,
            burst: count("registryBurst", effective.registry_burst.unwrap_or(10))?,
        },
        logs: LogLimits {
            bytes_max,
            files_max: bounded(
                "containerLogMaxFiles",
                effective.container_log_max_files.unwrap_or(5),
                2,
                1000,
            )?,
            ..LogLimits::default()
        },
        container_gc: container_gc(flags)?,
    })
}

/// Upstream's defaults; a negative number is no bound.
fn container_gc(flags: &Flags) -> Result<GcPolicy, SettingsError> {
    const TTL: &str = "--minimum-container-ttl-duration";
    let bound = |name, own, default: i64| -> Result<Option<usize>, SettingsError> {
        let given = flags.integer(own).unwrap_or(default);
        let number: i32 = bounded(name, given, i32::MIN.into(), i32::MAX.into())?;
        Ok(usize::try_from(number).ok())
    };
    let age = flags.text(Own::MinimumContainerTtlDuration).unwrap_or("0");
    let age_min = duration::parse(age).and_then(|age| SignedDuration::try_from(age).ok());
    Ok(GcPolicy {
        age_min: age_min.ok_or_else(|| wrong(TTL, age, "invalid minimum garbage collection age"))?,
        per_container_max: bound(
            "--maximum-dead-containers-per-container",
            Own::MaximumDeadContainersPerContainer,
            1,
        )?,
        total_max: bound("--maximum-dead-containers", Own::MaximumDeadContainers, -1)?,
    })
}

/// The flag's file, or the one in the agent's folder that upstream looks for first.
fn registry_credentials(flags: &Flags) -> Option<PathBuf> {
    let root = flags.text(Own::RootDir).unwrap_or(ROOT_DIR);
    let given = flags.text(Own::RegistryCredentials).map(PathBuf::from);
    Some(given.unwrap_or_else(|| Path::new(root).join("config.json")))
}

fn address(name: &'static str, text: Option<&str>, default: IpAddr) -> Result<IpAddr, SettingsError> {
    text.map_or(Ok(default), |text| text.parse().map_err(|_| wrong(name, text, "expected an IP address")))
}

fn healthz(effective: &EffectiveConfig) -> Result<Option<SocketAddr>, SettingsError> {
    let port: u16 = bounded("healthzPort", effective.healthz_port.unwrap_or(HEALTHZ_PORT), 0, 65535)?;
    let bind = effective.healthz_bind_address.as_deref();
    let address = address("healthzBindAddress", bind, IpAddr::from([127, 0, 0, 1]))?;
    Ok((port != 0).then(|| SocketAddr::new(address, port)))
}

fn bind_address(effective: &EffectiveConfig) -> Result<IpAddr, SettingsError> {
    address("address", effective.address.as_deref(), IpAddr::from([0, 0, 0, 0]))
}

fn read_only(effective: &EffectiveConfig) -> Result<Option<SocketAddr>, SettingsError> {
    let port: u16 = bounded("readOnlyPort", effective.read_only_port.unwrap_or(0), 0, 65535)?;
    Ok(if port == 0 { None } else { Some(SocketAddr::new(bind_address(effective)?, port)) })
}

fn server(
    effective: &EffectiveConfig,
    cert_dir: &Path,
    in_cluster: bool,
) -> Result<Option<ServerSettings>, SettingsError> {
    let port: u16 = bounded("port", effective.port.unwrap_or(PORT), 1, 65535)?;
    let address = bind_address(effective)?;
    let only_tls13 = match effective.tls_min_version.as_deref() {
        // TLS before 1.2 is never spoken.
        None | Some("VersionTLS10" | "VersionTLS11" | "VersionTLS12") => false,
        Some("VersionTLS13") => true,
        Some(other) => return Err(wrong("tlsMinVersion", other, "expected VersionTLS12 or VersionTLS13")),
    };
    let authentication = &effective.authentication;
    let authorization = match effective.authorization.mode.as_deref() {
        None | Some("Webhook") => Authorization::Webhook,
        Some("AlwaysAllow") => Authorization::AlwaysAllow,
        Some(other) => return Err(wrong("authorization.mode", other, "expected AlwaysAllow or Webhook")),
    };
    let certificate = match (&effective.tls_cert_file, &effective.tls_private_key_file) {
        (Some(certificate), Some(key)) => Some((certificate.into(), key.into())),
        (None, None) => None,
        _ => {
            let message = "tlsCertFile and tlsPrivateKeyFile go together: set both, or none";
            return Err(SettingsError::Together { message });
        }
    };
    if !effective.enable_server.unwrap_or(true) {
        return Ok(None);
    }
    Ok(Some(ServerSettings {
        address: SocketAddr::new(address, port),
        certificate,
        cert_dir: cert_dir.to_owned(),
        client_ca: authentication.x509.client_ca_file.as_ref().map(PathBuf::from),
        anonymous: authentication.anonymous.enabled.unwrap_or(false),
        // Without an API server there is no one to ask.
        token_webhook: in_cluster && authentication.webhook.enabled.unwrap_or(true),
        authorization,
        debugging: effective.enable_debugging_handlers.unwrap_or(true),
        switches: endpoints::switches(effective)?,
        only_tls13,
        streaming_idle: effective.streaming_connection_idle_timeout.unwrap_or(STREAMING_IDLE),
        volume_stats_period: endpoints::volume_stats_period(effective),
    }))
}

fn cluster(
    flags: &Flags,
    effective: &EffectiveConfig,
    cert_dir: &Path,
) -> Result<Option<ClusterSettings>, SettingsError> {
    let bootstrap_kubeconfig = flags.text(Own::BootstrapKubeconfig).map(PathBuf::from);
    let Some(kubeconfig) = flags.text(Own::Kubeconfig).map(PathBuf::from) else {
        let message = "--bootstrap-kubeconfig needs --kubeconfig, the file that is written from it";
        return bootstrap_kubeconfig.map_or(Ok(None), |_| Err(SettingsError::Together { message }));
    };
    let external_cloud = match flags.text(Own::CloudProvider) {
        None => false,
        Some("external") => true,
        Some(other) => {
            return Err(wrong(
                "--cloud-provider",
                other,
                "expected external: in-tree cloud providers were removed",
            ));
        }
    };
    let update = effective.node_status_update_frequency;
    let images_max: i64 = bounded(
        "nodeStatusMaxImages",
        effective.node_status_max_images.unwrap_or(IMAGES_MAX),
        -1,
        i32::MAX.into(),
    )?;
    let lease = bounded(
        "nodeLeaseDurationSeconds",
        effective.node_lease_duration_seconds.unwrap_or(40),
        1,
        i32::MAX.into(),
    )?;
    Ok(Some(ClusterSettings {
        kubeconfig,
        bootstrap_kubeconfig,
        cert_dir: cert_dir.to_owned(),
        rotate_certificates: effective.rotate_certificates,
        qps: count("kubeAPIQPS", effective.kube_api_qps.unwrap_or(50))?,
        burst: count("kubeAPIBurst", effective.kube_api_burst.unwrap_or(100))?,
        event_qps: count("eventRecordQPS", effective.event_record_qps.unwrap_or(50))?,
        event_burst: count("eventBurst", effective.event_burst.unwrap_or(100))?,
        register: effective.register_node.unwrap_or(true),
        taints: effective.register_with_taints.clone(),
        status_update: update.unwrap_or(Duration::from_secs(10)),
        // Upstream's, for the days when the update was the report.
        status_report: effective.node_status_report_frequency.or(update).unwrap_or(Duration::from_mins(5)),
        images_max: usize::try_from(images_max).ok(),
        lease: Duration::from_secs(lease),
        provider_id: effective.provider_id.clone(),
        external_cloud,
    }))
}
