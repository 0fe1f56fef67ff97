//! Which of the node's endpoints are on.

use std::time::Duration;

use serde_json::{Value, json};
use witlet_server::{EndpointSwitches, VOLUME_STATS_PERIOD};

use super::super::effective_config::EffectiveConfig;
use super::super::gates;
use super::SettingsError;
use crate::settings::ServerSettings;

/// The configuration as `/configz` shows it: with the certificate that the server makes for itself where it has none.
pub(super) fn shown(mut configuration: Value, server: Option<&ServerSettings>) -> Value {
    if let Some(ServerSettings { certificate: None, cert_dir, .. }) = server {
        for (field, file) in [("tlsCertFile", "kubelet.crt"), ("tlsPrivateKeyFile", "kubelet.key")] {
            configuration[field] = json!(cert_dir.join(file).display().to_string());
        }
    }
    configuration
}

/// How often volumes are measured; none if never, which a negative period says.
pub(super) fn volume_stats_period(effective: &EffectiveConfig) -> Option<Duration> {
    match effective.volume_stats_agg_period {
        None => Some(VOLUME_STATS_PERIOD),
        Some(nanoseconds) => u64::try_from(nanoseconds).ok().map(Duration::from_nanos),
    }
}

/// The switches and the feature gates of single endpoints. Logs of the node can be queried only where they are served.
pub(super) fn switches(effective: &EffectiveConfig) -> Result<EndpointSwitches, SettingsError> {
    let system_logs = effective.enable_system_log_handler.unwrap_or(true);
    if effective.enable_system_log_query && !system_logs {
        let problem = "enableSystemLogHandler is required for enableSystemLogQuery";
        return Err(SettingsError::Invalid { problems: vec![problem.to_owned()] });
    }
    let gate = |name| gates::is_enabled(&effective.feature_gates, name);
    Ok(EndpointSwitches {
        flagz: gate("ComponentFlagz"),
        statusz: gate("ComponentStatusz"),
        debug_flags: effective.enable_debug_flags_handler.unwrap_or(true),
        system_logs,
        system_log_query: effective.enable_system_log_query,
        profiling: effective.enable_profiling_handler.unwrap_or(true),
        checkpoint: gate("ContainerCheckpoint"),
    })
}
