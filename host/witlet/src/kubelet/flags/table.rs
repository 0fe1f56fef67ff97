//! Every flag of the 1.36 kubelet, the field of the configuration that it stands for, and witlet's own flags.

use crate::kubelet::configuration::fields::Kind;

/// A flag that stands for no field of the configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Own {
    AllocatableIgnoreEviction,
    ApiSocket,
    BootstrapKubeconfig,
    CertDir,
    CloudProvider,
    Config,
    ConfigDir,
    Help,
    HostnameOverride,
    Kubeconfig,
    MaximumDeadContainers,
    MaximumDeadContainersPerContainer,
    MinimumContainerTtlDuration,
    NodeIp,
    NodeLabels,
    PluginSets,
    Plugins,
    ReadmitOnRestart,
    RegistryCredentials,
    RootDir,
    RuntimeCgroups,
    RuntimeClasses,
    StopPodsOnExit,
    Version,
}

/// What a flag stands for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Target {
    /// A field, by its path.
    Field(&'static str),
    /// Something that only flags say.
    Own(Own),
    /// Nothing that is done yet; these values (as Go writes them) ask for what happens anyway.
    NotYet(&'static [&'static str]),
    /// Nothing, here as upstream.
    Nothing,
}

/// A flag.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Flag {
    /// Its name, with `-` between words.
    pub(crate) name: &'static str,
    /// What it takes.
    pub(crate) kind: Kind,
    /// What it stands for.
    pub(crate) target: Target,
}

const fn field(name: &'static str, kind: Kind, path: &'static str) -> Flag {
    Flag { name, kind, target: Target::Field(path) }
}

const fn own(name: &'static str, kind: Kind, own: Own) -> Flag {
    Flag { name, kind, target: Target::Own(own) }
}

const fn not_yet(name: &'static str, kind: Kind, values: &'static [&'static str]) -> Flag {
    Flag { name, kind, target: Target::NotYet(values) }
}

const fn nothing(name: &'static str, kind: Kind) -> Flag {
    Flag { name, kind, target: Target::Nothing }
}

/// Letters that stand for a flag.
pub(super) const SHORTHANDS: &[(char, &str)] = &[('v', "v"), ('h', "help")];

/// Flags without a field that upstream warns of, and what it says. What fields stand for, it says of all flags.
pub(crate) const DEPRECATED: &[(&str, &str)] = &[
    ("experimental-allocatable-ignore-eviction", "will be removed in 1.25 or later."),
    ("experimental-mounter-path", "will be removed in 1.25 or later. in favor of using CSI."),
    ("maximum-dead-containers", EVICTION_INSTEAD),
    ("maximum-dead-containers-per-container", EVICTION_INSTEAD),
    ("minimum-container-ttl-duration", EVICTION_INSTEAD),
];

const EVICTION_INSTEAD: &str =
    "Use --eviction-hard or --eviction-soft instead. Will be removed in a future version.";

/// Flags of fields, of cAdvisor or without effect that upstream hasn't deprecated.
pub(crate) const CURRENT: &[&str] = &[
    "exit-on-lock-contention",
    "fail-cgroupv1",
    "housekeeping-interval",
    "image-credential-provider-bin-dir",
    "image-credential-provider-config",
    "lock-file",
    "log-flush-frequency",
    "provider-id",
    "seccomp-default",
    "v",
    "vmodule",
];

/// The flags, by name.
#[rustfmt::skip]
pub(crate) const FLAGS: &[Flag] = &[
    field("address", Kind::Text, "address"),
    field("allowed-unsafe-sysctls", Kind::Texts, "allowedUnsafeSysctls"),
    field("anonymous-auth", Kind::Bool, "authentication.anonymous.enabled"),
    own("api-socket", Kind::Text, Own::ApiSocket),
    nothing("application-metrics-count-limit", Kind::Int),
    field("authentication-token-webhook", Kind::Bool, "authentication.webhook.enabled"),
    field("authentication-token-webhook-cache-ttl", Kind::Duration, "authentication.webhook.cacheTTL"),
    field("authorization-mode", Kind::Text, "authorization.mode"),
    field("authorization-webhook-cache-authorized-ttl", Kind::Duration, "authorization.webhook.cacheAuthorizedTTL"),
    field("authorization-webhook-cache-unauthorized-ttl", Kind::Duration, "authorization.webhook.cacheUnauthorizedTTL"),
    nothing("boot-id-file", Kind::Text),
    own("bootstrap-kubeconfig", Kind::Text, Own::BootstrapKubeconfig),
    own("cert-dir", Kind::Text, Own::CertDir),
    field("cgroup-driver", Kind::Text, "cgroupDriver"),
    field("cgroup-root", Kind::Text, "cgroupRoot"),
    field("cgroups-per-qos", Kind::Bool, "cgroupsPerQOS"),
    field("client-ca-file", Kind::Text, "authentication.x509.clientCAFile"),
    own("cloud-provider", Kind::Text, Own::CloudProvider),
    field("cluster-dns", Kind::Texts, "clusterDNS"),
    field("cluster-domain", Kind::Text, "clusterDomain"),
    own("config", Kind::Text, Own::Config),
    own("config-dir", Kind::Text, Own::ConfigDir),
    nothing("container-hints", Kind::Text),
    field("container-log-max-files", Kind::Int, "containerLogMaxFiles"),
    field("container-log-max-size", Kind::Text, "containerLogMaxSize"),
    field("container-runtime-endpoint", Kind::Text, "containerRuntimeEndpoint"),
    nothing("containerd", Kind::Text),
    nothing("containerd-namespace", Kind::Text),
    field("contention-profiling", Kind::Bool, "enableContentionProfiling"),
    field("cpu-cfs-quota", Kind::Bool, "cpuCFSQuota"),
    field("cpu-cfs-quota-period", Kind::Duration, "cpuCFSQuotaPeriod"),
    field("cpu-manager-policy", Kind::Text, "cpuManagerPolicy"),
    field("cpu-manager-policy-options", Kind::TextMap, "cpuManagerPolicyOptions"),
    field("cpu-manager-reconcile-period", Kind::Duration, "cpuManagerReconcilePeriod"),
    field("enable-controller-attach-detach", Kind::Bool, "enableControllerAttachDetach"),
    field("enable-debugging-handlers", Kind::Bool, "enableDebuggingHandlers"),
    nothing("enable-load-reader", Kind::Bool),
    field("enable-server", Kind::Bool, "enableServer"),
    field("enforce-node-allocatable", Kind::Texts, "enforceNodeAllocatable"),
    field("event-burst", Kind::Int, "eventBurst"),
    field("event-qps", Kind::Int, "eventRecordQPS"),
    nothing("event-storage-age-limit", Kind::Text),
    nothing("event-storage-event-limit", Kind::Text),
    field("eviction-hard", Kind::TextMap, "evictionHard"),
    field("eviction-max-pod-grace-period", Kind::Int, "evictionMaxPodGracePeriod"),
    field("eviction-minimum-reclaim", Kind::TextMap, "evictionMinimumReclaim"),
    field("eviction-pressure-transition-period", Kind::Duration, "evictionPressureTransitionPeriod"),
    field("eviction-soft", Kind::TextMap, "evictionSoft"),
    field("eviction-soft-grace-period", Kind::TextMap, "evictionSoftGracePeriod"),
    not_yet("exit-on-lock-contention", Kind::Bool, &["false"]),
    own("experimental-allocatable-ignore-eviction", Kind::Bool, Own::AllocatableIgnoreEviction),
    not_yet("experimental-mounter-path", Kind::Text, &[""]),
    field("fail-cgroupv1", Kind::Bool, "failCgroupV1"),
    field("fail-swap-on", Kind::Bool, "failSwapOn"),
    field("feature-gates", Kind::BoolMap, "featureGates"),
    field("file-check-frequency", Kind::Duration, "fileCheckFrequency"),
    nothing("global-housekeeping-interval", Kind::Duration),
    field("hairpin-mode", Kind::Text, "hairpinMode"),
    field("healthz-bind-address", Kind::Text, "healthzBindAddress"),
    field("healthz-port", Kind::Int, "healthzPort"),
    own("help", Kind::Bool, Own::Help),
    own("hostname-override", Kind::Text, Own::HostnameOverride),
    nothing("housekeeping-interval", Kind::Duration),
    field("http-check-frequency", Kind::Duration, "httpCheckFrequency"),
    not_yet("image-credential-provider-bin-dir", Kind::Text, &[""]),
    not_yet("image-credential-provider-config", Kind::Text, &[""]),
    field("image-gc-high-threshold", Kind::Int, "imageGCHighThresholdPercent"),
    field("image-gc-low-threshold", Kind::Int, "imageGCLowThresholdPercent"),
    field("image-service-endpoint", Kind::Text, "imageServiceEndpoint"),
    field("kernel-memcg-notification", Kind::Bool, "kernelMemcgNotification"),
    field("kube-api-burst", Kind::Int, "kubeAPIBurst"),
    field("kube-api-content-type", Kind::Text, "contentType"),
    field("kube-api-qps", Kind::Int, "kubeAPIQPS"),
    field("kube-reserved", Kind::TextMap, "kubeReserved"),
    field("kube-reserved-cgroup", Kind::Text, "kubeReservedCgroup"),
    own("kubeconfig", Kind::Text, Own::Kubeconfig),
    field("kubelet-cgroups", Kind::Text, "kubeletCgroups"),
    field("local-storage-capacity-isolation", Kind::Bool, "localStorageCapacityIsolation"),
    not_yet("lock-file", Kind::Text, &[""]),
    nothing("log-cadvisor-usage", Kind::Bool),
    field("log-flush-frequency", Kind::Period, "logging.flushFrequency"),
    field("log-json-info-buffer-size", Kind::Quantity, "logging.options.json.infoBufferSize"),
    field("log-json-split-stream", Kind::Bool, "logging.options.json.splitStream"),
    field("log-text-info-buffer-size", Kind::Quantity, "logging.options.text.infoBufferSize"),
    field("log-text-split-stream", Kind::Bool, "logging.options.text.splitStream"),
    field("logging-format", Kind::Text, "logging.format"),
    nothing("machine-id-file", Kind::Text),
    field("make-iptables-util-chains", Kind::Bool, "makeIPTablesUtilChains"),
    field("manifest-url", Kind::Text, "staticPodURL"),
    field("manifest-url-header", Kind::TextsMap, "staticPodURLHeader"),
    field("max-open-files", Kind::Int, "maxOpenFiles"),
    field("max-pods", Kind::Int, "maxPods"),
    own("maximum-dead-containers", Kind::Int, Own::MaximumDeadContainers),
    own("maximum-dead-containers-per-container", Kind::Int, Own::MaximumDeadContainersPerContainer),
    field("memory-manager-policy", Kind::Text, "memoryManagerPolicy"),
    own("minimum-container-ttl-duration", Kind::Duration, Own::MinimumContainerTtlDuration),
    field("minimum-image-ttl-duration", Kind::Duration, "imageMinimumGCAge"),
    own("node-ip", Kind::Text, Own::NodeIp),
    own("node-labels", Kind::TextMap, Own::NodeLabels),
    field("node-status-max-images", Kind::Int, "nodeStatusMaxImages"),
    field("node-status-update-frequency", Kind::Duration, "nodeStatusUpdateFrequency"),
    field("oom-score-adj", Kind::Int, "oomScoreAdj"),
    own("plugin-sets", Kind::Text, Own::PluginSets),
    own("plugins", Kind::Text, Own::Plugins),
    field("pod-cidr", Kind::Text, "podCIDR"),
    field("pod-manifest-path", Kind::Text, "staticPodPath"),
    field("pod-max-pids", Kind::Int, "podPidsLimit"),
    field("pods-per-core", Kind::Int, "podsPerCore"),
    field("port", Kind::Int, "port"),
    field("protect-kernel-defaults", Kind::Bool, "protectKernelDefaults"),
    field("provider-id", Kind::Text, "providerID"),
    field("qos-reserved", Kind::TextMap, "qosReserved"),
    field("read-only-port", Kind::Int, "readOnlyPort"),
    own("readmit-on-restart", Kind::Bool, Own::ReadmitOnRestart),
    field("register-node", Kind::Bool, "registerNode"),
    field("register-with-taints", Kind::Taints, "registerWithTaints"),
    field("registry-burst", Kind::Int, "registryBurst"),
    own("registry-credentials", Kind::Text, Own::RegistryCredentials),
    field("registry-qps", Kind::Int, "registryPullQPS"),
    field("reserved-cpus", Kind::Text, "reservedSystemCPUs"),
    not_yet("reserved-memory", Kind::Text, &[""]),
    field("resolv-conf", Kind::Text, "resolvConf"),
    own("root-dir", Kind::Text, Own::RootDir),
    field("rotate-certificates", Kind::Bool, "rotateCertificates"),
    field("rotate-server-certificates", Kind::Bool, "serverTLSBootstrap"),
    field("runonce", Kind::Bool, "runOnce"),
    own("runtime-cgroups", Kind::Text, Own::RuntimeCgroups),
    own("runtime-classes", Kind::TextMap, Own::RuntimeClasses),
    field("runtime-request-timeout", Kind::Duration, "runtimeRequestTimeout"),
    field("seccomp-default", Kind::Bool, "seccompDefault"),
    field("serialize-image-pulls", Kind::Bool, "serializeImagePulls"),
    own("stop-pods-on-exit", Kind::Bool, Own::StopPodsOnExit),
    nothing("storage-driver-buffer-duration", Kind::Duration),
    nothing("storage-driver-db", Kind::Text),
    nothing("storage-driver-host", Kind::Text),
    nothing("storage-driver-password", Kind::Text),
    nothing("storage-driver-secure", Kind::Bool),
    nothing("storage-driver-table", Kind::Text),
    nothing("storage-driver-user", Kind::Text),
    field("streaming-connection-idle-timeout", Kind::Duration, "streamingConnectionIdleTimeout"),
    field("sync-frequency", Kind::Duration, "syncFrequency"),
    field("system-cgroups", Kind::Text, "systemCgroups"),
    field("system-reserved", Kind::TextMap, "systemReserved"),
    field("system-reserved-cgroup", Kind::Text, "systemReservedCgroup"),
    field("tls-cert-file", Kind::Text, "tlsCertFile"),
    field("tls-cipher-suites", Kind::Texts, "tlsCipherSuites"),
    field("tls-min-version", Kind::Text, "tlsMinVersion"),
    field("tls-private-key-file", Kind::Text, "tlsPrivateKeyFile"),
    field("topology-manager-policy", Kind::Text, "topologyManagerPolicy"),
    field("topology-manager-policy-options", Kind::TextMap, "topologyManagerPolicyOptions"),
    field("topology-manager-scope", Kind::Text, "topologyManagerScope"),
    field("v", Kind::Verbosity, "logging.verbosity"),
    own("version", Kind::Text, Own::Version),
    field("vmodule", Kind::FilePatterns, "logging.vmodule"),
    field("volume-plugin-dir", Kind::Text, "volumePluginDir"),
    field("volume-stats-agg-period", Kind::Duration, "volumeStatsAggPeriod"),
];

/// A flag by its name.
pub(super) fn flag(name: &str) -> Option<&'static Flag> {
    FLAGS.iter().find(|flag| flag.name == name)
}
