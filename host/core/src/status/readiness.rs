//! Whether a container has started and is ready: what its probes found, or that it has none (`UpdatePodStatus` of
//! upstream's probe manager).

use k8s_openapi::api::core::v1::ContainerStatus;

use super::containers::{Context, is_running, terminated_state};
use crate::container::plan::ContainerKind;
use crate::probe::ProbeResult;
use crate::runtime::ObservedContainer;

/// Fills in `started` and `ready`. Without a result, which after a restart of the agent is so for a while, what was said
/// of the same instance before stands: by the last status, or by what was saved.
pub(super) fn set(status: &mut ContainerStatus, context: Context<'_>, newest: Option<&ObservedContainer>) {
    let Context { input, kind, container, before, .. } = context;
    let results = newest.and_then(|newest| input.probes.get(&newest.id)).copied().unwrap_or_default();
    let runs = is_running(status);
    let same = before.filter(|before| before.container_id == status.container_id && is_running(before));
    let saved = newest.and_then(|newest| input.started_before.get(&newest.id)).filter(|_| same.is_none());
    let started = runs
        && match results.startup {
            Some(result) => result == ProbeResult::Success,
            None => {
                container.startup_probe.is_none()
                    || saved.is_some()
                    || same.is_some_and(|before| before.started == Some(true))
            }
        };
    let serves = started
        && match results.readiness {
            Some(result) => result == ProbeResult::Success,
            None => {
                container.readiness_probe.is_none()
                    || saved.is_some_and(|ready| *ready)
                    || same.is_some_and(|before| before.ready)
            }
        };
    (status.started, status.ready) = match kind {
        ContainerKind::App | ContainerKind::Sidecar => (Some(started), serves),
        // Nothing waits for it any more once it is done.
        ContainerKind::Init => {
            (Some(started), terminated_state(status).is_some_and(|ended| ended.exit_code == 0))
        }
        // No one probes it, and no one waits for it.
        ContainerKind::Ephemeral => (None, false),
    };
}
