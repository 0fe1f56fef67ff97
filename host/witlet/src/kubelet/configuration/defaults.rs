//! What fields are that no one set: upstream's `SetDefaults_KubeletConfiguration`, as `/configz` shows them.

use serde_json::{Map, Value, json};
use witlet_core::duration;

use super::{API_VERSION, KIND};

#[cfg(test)]
mod tests;

/// The five thresholds of `evictionHard` where a file doesn't set it.
pub(crate) fn eviction_hard() -> Value {
    json!({
        "imagefs.available": "15%", "imagefs.inodesFree": "5%", "memory.available": "100Mi",
        "nodefs.available": "10%", "nodefs.inodesFree": "5%",
    })
}

/// A configuration with all that it leaves out, its kind and version, in the form of v1beta1.
pub(crate) fn defaulted(document: &Value) -> Value {
    let mut whole = document.clone();
    let is_set = |pointer: &str| document.pointer(pointer).is_some();
    let (report, pulls) = (is_set("/nodeStatusUpdateFrequency"), document.pointer("/maxParallelImagePulls"));
    lay_under(&mut whole, server());
    lay_under(&mut whole, node());
    lay_under(&mut whole, pods());
    let report = if report { whole["nodeStatusUpdateFrequency"].clone() } else { json!("5m0s") };
    let serialize = pulls.and_then(Value::as_i64).is_none_or(|pulls| pulls < 2);
    let rest = json!({
        "apiVersion": API_VERSION, "kind": KIND,
        "nodeStatusReportFrequency": report, "serializeImagePulls": serialize,
    });
    lay_under(&mut whole, rest);
    if let Some(flush) = whole.pointer_mut("/logging/flushFrequency").filter(|flush| is_zero(flush)) {
        *flush = json!("5s");
    }
    whole
}

/// Whether this is no time, which kubeadm writes for what isn't set.
fn is_zero(time: &Value) -> bool {
    time.as_i64() == Some(0) || time.as_str().and_then(duration::nanoseconds) == Some(0)
}

fn server() -> Value {
    json!({
        "enableServer": true, "address": "0.0.0.0", "port": 10250, "healthzPort": 10248,
        "healthzBindAddress": "127.0.0.1", "streamingConnectionIdleTimeout": "4h0m0s",
        "authentication": {
            "anonymous": {"enabled": false}, "webhook": {"enabled": true, "cacheTTL": "2m0s"}, "x509": {},
        },
        "authorization": {
            "mode": "Webhook", "webhook": {"cacheAuthorizedTTL": "5m0s", "cacheUnauthorizedTTL": "30s"},
        },
        "registryPullQPS": 5, "registryBurst": 10, "eventRecordQPS": 50, "eventBurst": 100,
        "kubeAPIQPS": 50, "kubeAPIBurst": 100, "contentType": "application/vnd.kubernetes.protobuf",
        "enableDebuggingHandlers": true, "enableSystemLogHandler": true, "enableProfilingHandler": true,
        "enableDebugFlagsHandler": true, "maxOpenFiles": 1_000_000, "oomScoreAdj": -999,
        "logging": {
            "format": "text", "flushFrequency": "5s", "verbosity": 0,
            "options": {"text": {"infoBufferSize": "0"}, "json": {"infoBufferSize": "0"}},
        },
    })
}

fn node() -> Value {
    json!({
        "nodeStatusUpdateFrequency": "10s", "nodeLeaseDurationSeconds": 40, "nodeStatusMaxImages": 50,
        "registerNode": true, "maxPods": 110, "podPidsLimit": -1, "resolvConf": "/etc/resolv.conf",
        "imageMinimumGCAge": "2m0s", "imageMaximumGCAge": "0s", "imageGCHighThresholdPercent": 85,
        "imageGCLowThresholdPercent": 80, "volumeStatsAggPeriod": "1m0s", "cgroupsPerQOS": true,
        "cgroupDriver": "cgroupfs", "cpuManagerPolicy": "none", "cpuManagerReconcilePeriod": "10s",
        "memoryManagerPolicy": "None", "topologyManagerPolicy": "none", "topologyManagerScope": "container",
        "runtimeRequestTimeout": "2m0s", "hairpinMode": "promiscuous-bridge", "evictionHard": eviction_hard(),
        "evictionPressureTransitionPeriod": "5m0s", "mergeDefaultEvictionSettings": false,
        "enforceNodeAllocatable": ["pods"], "failSwapOn": true, "failCgroupV1": true, "memorySwap": {},
        "shutdownGracePeriod": "0s", "shutdownGracePeriodCriticalPods": "0s",
        "localStorageCapacityIsolation": true,
        "containerRuntimeEndpoint": "unix:///run/containerd/containerd.sock",
    })
}

fn pods() -> Value {
    json!({
        "syncFrequency": "1m0s", "fileCheckFrequency": "20s", "httpCheckFrequency": "20s",
        "podLogsDir": "/var/log/pods", "imagePullCredentialsVerificationPolicy": "NeverVerifyPreloadedImages",
        "cpuCFSQuota": true, "cpuCFSQuotaPeriod": "100ms", "enableControllerAttachDetach": true,
        "makeIPTablesUtilChains": true, "iptablesMasqueradeBit": 14, "iptablesDropBit": 15,
        "containerLogMaxSize": "10Mi", "containerLogMaxFiles": 5, "containerLogMaxWorkers": 1,
        "containerLogMonitorInterval": "10s", "configMapAndSecretChangeDetectionStrategy": "Watch",
        "volumePluginDir": "/usr/libexec/kubernetes/kubelet-plugins/volume/exec/", "seccompDefault": false,
        "memoryThrottlingFactor": 0.9, "memoryReservationPolicy": "None",
        "crashLoopBackOff": {"maxContainerRestartPeriod": "5m0s"},
    })
}

/// Puts what isn't there yet. Maps by name, such as `evictionHard`, are taken whole: who sets one sets all of it.
fn lay_under(whole: &mut Value, defaults: Value) {
    let (Value::Object(whole), Value::Object(defaults)) = (whole, defaults) else { return };
    for (name, default) in defaults {
        match whole.get_mut(&name) {
            None => drop(whole.insert(name, default)),
            Some(value @ Value::Object(_)) if name != "evictionHard" => lay_under(value, default),
            Some(_) => {}
        }
    }
}

/// Lays a drop-in's map over another by name; `null` takes a name away (RFC 7386).
pub(super) fn merge(old: &mut Map<String, Value>, new: Map<String, Value>) {
    for (name, value) in new {
        if value.is_null() {
            old.remove(&name);
        } else {
            old.insert(name, value);
        }
    }
}
