//! Every field of `KubeletConfiguration` v1beta1 in 1.36: its type, and what becomes of it here.

/// What a field or a flag takes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Kind {
    Bool,
    Int,
    Float,
    Text,
    /// A duration in Go's form, as a text.
    Duration,
    /// A list of texts.
    Texts,
    /// A list of whole numbers.
    Ints,
    TextMap,
    BoolMap,
    /// Lists of texts by name.
    TextsMap,
    /// A list of maps with these fields.
    Maps(&'static [(&'static str, Kind)]),
    /// One of klog's numbers.
    Verbosity,
    /// Verbosities of files: a list of maps in files, `pattern=N,…` in flags.
    FilePatterns,
    /// A quantity, as a text or, in files, a number.
    Quantity,
    /// A duration in Go's form or, in files, a number of nanoseconds.
    Period,
    /// A taint list: a list of maps in files, `key=value:effect` in flags.
    Taints,
    /// Whatever the file says; a later reader judges it.
    Any,
}

/// What becomes of a field.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum FieldSupport {
    Acts,
    /// It isn't acted on; what happens anyway is what these values ask for (JSON). Others are warned of.
    Fixed(&'static [&'static str]),
    /// There is nothing to act on: the runtime decides, or upstream ignores it as well. No value is warned of.
    Moot,
}

/// A field.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Field {
    /// Names from the top, with dots.
    pub(crate) path: &'static str,
    pub(crate) kind: Kind,
    /// What becomes of it.
    pub(crate) fate: FieldSupport,
}

const fn acts(path: &'static str, kind: Kind) -> Field {
    Field { path, kind, fate: FieldSupport::Acts }
}

const fn fixed(path: &'static str, kind: Kind, values: &'static [&'static str]) -> Field {
    Field { path, kind, fate: FieldSupport::Fixed(values) }
}

const fn moot(path: &'static str, kind: Kind) -> Field {
    Field { path, kind, fate: FieldSupport::Moot }
}

/// The values that ask for nothing at all: they are never warned of.
pub(super) const NOTHING: &[&str] = &["\"\"", "0", "\"0s\"", "[]", "{}", "null"];

const RESERVATION: &[(&str, Kind)] = &[("numaNode", Kind::Int), ("limits", Kind::Any)];
const GRACE_BY_PRIORITY: &[(&str, Kind)] =
    &[("priority", Kind::Int), ("shutdownGracePeriodSeconds", Kind::Int)];

/// The fields, in upstream's order; those of maps follow each other.
#[rustfmt::skip]
pub(crate) const FIELDS: &[Field] = &[
    acts("enableServer", Kind::Bool),
    acts("staticPodPath", Kind::Text),
    acts("podLogsDir", Kind::Text),
    acts("syncFrequency", Kind::Duration),
    acts("fileCheckFrequency", Kind::Duration),
    acts("httpCheckFrequency", Kind::Duration),
    acts("staticPodURL", Kind::Text),
    acts("staticPodURLHeader", Kind::TextsMap),
    acts("address", Kind::Text),
    acts("port", Kind::Int),
    acts("readOnlyPort", Kind::Int),
    acts("tlsCertFile", Kind::Text),
    acts("tlsPrivateKeyFile", Kind::Text),
    fixed("tlsCipherSuites", Kind::Texts, &[]),
    fixed("tlsCurvePreferences", Kind::Ints, &[]),
    acts("tlsMinVersion", Kind::Text),
    acts("rotateCertificates", Kind::Bool),
    fixed("serverTLSBootstrap", Kind::Bool, &["false"]),
    acts("authentication.x509.clientCAFile", Kind::Text),
    acts("authentication.webhook.enabled", Kind::Bool),
    fixed("authentication.webhook.cacheTTL", Kind::Duration, &["\"2m\""]),
    acts("authentication.anonymous.enabled", Kind::Bool),
    acts("authorization.mode", Kind::Text),
    fixed("authorization.webhook.cacheAuthorizedTTL", Kind::Duration, &["\"5m\""]),
    fixed("authorization.webhook.cacheUnauthorizedTTL", Kind::Duration, &["\"30s\""]),
    acts("registryPullQPS", Kind::Int),
    acts("registryBurst", Kind::Int),
    acts("imagePullCredentialsVerificationPolicy", Kind::Text),
    acts("preloadedImagesVerificationAllowlist", Kind::Texts),
    acts("eventRecordQPS", Kind::Int),
    acts("eventBurst", Kind::Int),
    acts("enableDebuggingHandlers", Kind::Bool),
    fixed("enableContentionProfiling", Kind::Bool, &["false"]),
    acts("healthzPort", Kind::Int),
    acts("healthzBindAddress", Kind::Text),
    acts("oomScoreAdj", Kind::Int),
    acts("clusterDomain", Kind::Text),
    acts("clusterDNS", Kind::Texts),
    acts("streamingConnectionIdleTimeout", Kind::Duration),
    acts("nodeStatusUpdateFrequency", Kind::Duration),
    acts("nodeStatusReportFrequency", Kind::Duration),
    acts("nodeLeaseDurationSeconds", Kind::Int),
    acts("imageMinimumGCAge", Kind::Duration),
    acts("imageMaximumGCAge", Kind::Duration),
    acts("imageGCHighThresholdPercent", Kind::Int),
    acts("imageGCLowThresholdPercent", Kind::Int),
    acts("volumeStatsAggPeriod", Kind::Duration),
    acts("kubeletCgroups", Kind::Text),
    acts("systemCgroups", Kind::Text),
    acts("cgroupRoot", Kind::Text),
    acts("cgroupsPerQOS", Kind::Bool),
    // For runtimes that don't say which one they use.
    acts("cgroupDriver", Kind::Text),
    fixed("cpuManagerPolicy", Kind::Text, &["\"none\"", "\"None\""]),
    acts("singleProcessOOMKill", Kind::Bool),
    fixed("cpuManagerPolicyOptions", Kind::TextMap, &[]),
    moot("cpuManagerReconcilePeriod", Kind::Duration),
    fixed("memoryManagerPolicy", Kind::Text, &["\"None\"", "\"none\""]),
    fixed("topologyManagerPolicy", Kind::Text, &["\"none\""]),
    moot("topologyManagerScope", Kind::Text),
    fixed("topologyManagerPolicyOptions", Kind::TextMap, &[]),
    acts("qosReserved", Kind::TextMap),
    acts("runtimeRequestTimeout", Kind::Duration),
    // Anyone who sets the network up decides.
    moot("hairpinMode", Kind::Text),
    acts("maxPods", Kind::Int),
    fixed("podCIDR", Kind::Text, &[]),
    acts("podPidsLimit", Kind::Int),
    acts("resolvConf", Kind::Text),
    // True is refused, as upstream.
    acts("runOnce", Kind::Bool),
    acts("cpuCFSQuota", Kind::Bool),
    acts("cpuCFSQuotaPeriod", Kind::Duration),
    acts("nodeStatusMaxImages", Kind::Int),
    // As many as the process may have are taken.
    moot("maxOpenFiles", Kind::Int),
    // JSON is spoken with the API server.
    moot("contentType", Kind::Text),
    acts("kubeAPIQPS", Kind::Int),
    acts("kubeAPIBurst", Kind::Int),
    acts("serializeImagePulls", Kind::Bool),
    acts("maxParallelImagePulls", Kind::Int),
    acts("evictionHard", Kind::TextMap),
    acts("evictionSoft", Kind::TextMap),
    acts("evictionSoftGracePeriod", Kind::TextMap),
    acts("evictionPressureTransitionPeriod", Kind::Duration),
    acts("evictionMaxPodGracePeriod", Kind::Int),
    acts("evictionMinimumReclaim", Kind::TextMap),
    acts("mergeDefaultEvictionSettings", Kind::Bool),
    acts("podsPerCore", Kind::Int),
    fixed("enableControllerAttachDetach", Kind::Bool, &["true"]),
    acts("protectKernelDefaults", Kind::Bool),
    fixed("makeIPTablesUtilChains", Kind::Bool, &["false"]),
    moot("iptablesMasqueradeBit", Kind::Int),
    moot("iptablesDropBit", Kind::Int),
    acts("featureGates", Kind::BoolMap),
    acts("failSwapOn", Kind::Bool),
    acts("memorySwap.swapBehavior", Kind::Text),
    acts("containerLogMaxSize", Kind::Text),
    acts("containerLogMaxFiles", Kind::Int),
    fixed("containerLogMaxWorkers", Kind::Int, &["1"]),
    fixed("containerLogMonitorInterval", Kind::Duration, &["\"10s\""]),
    fixed("configMapAndSecretChangeDetectionStrategy", Kind::Text, &["\"Watch\""]),
    acts("systemReserved", Kind::TextMap),
    acts("kubeReserved", Kind::TextMap),
    acts("reservedSystemCPUs", Kind::Text),
    fixed("showHiddenMetricsForVersion", Kind::Text, &[]),
    acts("systemReservedCgroup", Kind::Text),
    acts("kubeReservedCgroup", Kind::Text),
    acts("enforceNodeAllocatable", Kind::Texts),
    acts("allowedUnsafeSysctls", Kind::Texts),
    moot("volumePluginDir", Kind::Text),
    acts("providerID", Kind::Text),
    acts("kernelMemcgNotification", Kind::Bool),
    acts("logging.format", Kind::Text),
    acts("logging.flushFrequency", Kind::Period),
    acts("logging.verbosity", Kind::Verbosity),
    acts("logging.vmodule", Kind::FilePatterns),
    acts("logging.options.text.splitStream", Kind::Bool),
    acts("logging.options.text.infoBufferSize", Kind::Quantity),
    acts("logging.options.json.splitStream", Kind::Bool),
    acts("logging.options.json.infoBufferSize", Kind::Quantity),
    acts("enableSystemLogHandler", Kind::Bool),
    acts("enableSystemLogQuery", Kind::Bool),
    fixed("shutdownGracePeriod", Kind::Duration, &[]),
    fixed("shutdownGracePeriodCriticalPods", Kind::Duration, &[]),
    fixed("shutdownGracePeriodByPodPriority", Kind::Maps(GRACE_BY_PRIORITY), &[]),
    fixed("crashLoopBackOff.maxContainerRestartPeriod", Kind::Duration, &["\"5m\""]),
    fixed("reservedMemory", Kind::Maps(RESERVATION), &[]),
    acts("enableProfilingHandler", Kind::Bool),
    acts("enableDebugFlagsHandler", Kind::Bool),
    acts("seccompDefault", Kind::Bool),
    acts("memoryThrottlingFactor", Kind::Float),
    acts("memoryReservationPolicy", Kind::Text),
    acts("registerWithTaints", Kind::Taints),
    acts("registerNode", Kind::Bool),
    acts("tracing.endpoint", Kind::Text),
    acts("tracing.samplingRatePerMillion", Kind::Int),
    acts("localStorageCapacityIsolation", Kind::Bool),
    acts("containerRuntimeEndpoint", Kind::Text),
    acts("imageServiceEndpoint", Kind::Text),
    acts("failCgroupV1", Kind::Bool),
    fixed("userNamespaces.idsPerPod", Kind::Int, &["65536"]),
];

/// A field by its path.
pub(crate) fn field(path: &str) -> Option<&'static Field> {
    FIELDS.iter().find(|field| field.path == path)
}

/// Whether this path is a map that has fields.
pub(super) fn is_map(path: &str) -> bool {
    FIELDS.iter().any(|field| field.path.strip_prefix(path).is_some_and(|rest| rest.starts_with('.')))
}
