//! Values that are refused whatever else is set, also where nothing reads them (upstream: `ValidateKubeletConfiguration`).

use std::path::Path;

use super::SettingsError;
use crate::kubelet::configuration::cleaned;
use crate::kubelet::effective_config::EffectiveConfig;

#[cfg(test)]
mod tests;

/// Checks them.
///
/// # Errors
/// All that is wrong, in upstream's words.
pub(super) fn check(effective: &EffectiveConfig) -> Result<(), SettingsError> {
    let mut problems = Vec::new();
    for (name, value) in [
        ("eventBurst (--event-burst)", effective.event_burst),
        ("eventRecordQPS (--event-qps)", effective.event_record_qps),
        ("kubeAPIBurst (--kube-api-burst)", effective.kube_api_burst),
        ("kubeAPIQPS (--kube-api-qps)", effective.kube_api_qps),
    ] {
        if let Some(value) = value.filter(|value| *value < 0) {
            problems.push(format!("{name} {value} must not be a negative number"));
        }
    }
    if let Some(most) = effective.node_status_max_images.filter(|most| *most < -1) {
        problems.push(format!("nodeStatusMaxImages (--node-status-max-images) {most} must be -1 or greater"));
    }
    if effective.node_lease_duration_seconds.is_some_and(|seconds| seconds < 0) {
        problems.push("nodeLeaseDurationSeconds must be greater than 0".to_owned());
    }
    if effective.register_with_taints.iter().any(|taint| taint.time_added.is_some()) {
        problems.push("taint.TimeAdded is not nil".to_owned());
    }
    if let Some(folder) = effective.pod_logs_dir.as_deref() {
        problems.extend(of_pod_logs(folder));
    }
    if problems.is_empty() { Ok(()) } else { Err(SettingsError::Invalid { problems }) }
}

/// The folder is in metrics, and in links that others read.
fn of_pod_logs(folder: &str) -> Vec<String> {
    let path = Path::new(folder);
    let is_normalized = cleaned(path).as_os_str() == folder;
    let checks = [
        (path.is_absolute(), "must be absolute path"),
        (is_normalized, "must be normalized"),
        (folder.is_ascii(), "mut contains ASCII characters only"),
    ];
    let failed = checks.into_iter().filter(|(is_kept, _)| !is_kept);
    failed.map(|(_, what)| format!("pod logs path {folder:?} {what}")).collect()
}
