//! Which of the node's endpoints are on.

use witlet_server::EndpointSwitches;

use super::super::effective_config::EffectiveConfig;
use super::super::gates;
use super::SettingsError;

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
