//! Which of the node's endpoints are on.

use witlet_server::EndpointSwitches;

use super::super::effective_config::EffectiveConfig;
use super::super::gates;

/// The switches and the feature gates of single endpoints.
pub(super) fn switches(effective: &EffectiveConfig) -> EndpointSwitches {
    let gate = |name| gates::is_enabled(&effective.feature_gates, name);
    EndpointSwitches {
        flagz: gate("ComponentFlagz"),
        statusz: gate("ComponentStatusz"),
        debug_flags: effective.enable_debug_flags_handler.unwrap_or(true),
    }
}
