//! Tracing: the two fields of `tracing`.

use witlet_core::trace::endpoint::{CollectorEndpoint, validate};

use super::SettingsError;
use crate::kubelet::effective_config::EffectiveConfig;
use crate::settings::TracingSettings;

/// Returns what the configuration comes to; none where `tracing` isn't set. An endpoint that upstream takes, and that gRPC has no use for, is
/// kept as an error: it is no reason not to start.
pub(super) fn tracing(effective: &EffectiveConfig) -> Result<Option<TracingSettings>, SettingsError> {
    let Some(config) = &effective.tracing else { return Ok(None) };
    let rate = config.sampling_rate_per_million;
    let problems = validate(config.endpoint.as_deref(), rate);
    if !problems.is_empty() {
        return Err(SettingsError::Tracing { problems });
    }
    let endpoint = match config.endpoint.as_deref() {
        None | Some("") => Ok(CollectorEndpoint::default()),
        Some(endpoint) => endpoint.parse(),
    };
    let rate = u32::try_from(rate.unwrap_or_default()).unwrap_or_default();
    Ok(Some(TracingSettings { endpoint, sampling_rate_per_million: rate }))
}
