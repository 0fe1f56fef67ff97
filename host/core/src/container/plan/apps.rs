//! Which app containers are kept, killed and started.

use k8s_openapi::api::core::v1::{Container, Pod};

use super::kill::kill_one;
use super::restart::{RestartPolicy, is_restartable, runs_again, should_restart};
use super::spec::{ContainerKind, app_containers, containers};
use super::{Actions, KillReason, PlanInput, resize};
use crate::container::hash::{container_hash, is_of_kubelet, kubelet_hash};
use crate::image::reference::ImageReference;
use crate::probe::ProbeResult;
use crate::runtime::{ContainerRunState, ObservedContainer, ObservedPod};

/// What a new sandbox starts: everything, except what ended and needn't run again. Nothing if the pod runs once and did.
pub(super) fn in_new_sandbox(pod: &Pod, observed: &ObservedPod, attempt: u32) -> Vec<usize> {
    // A pod of which nothing may restart gets its sandbox once; unless no container ever came to be in it, for then it
    // failed half-way.
    if runs_once(pod) && attempt != 0 && !observed.containers.is_empty() {
        return Vec::new();
    }
    let apps = app_containers(pod).iter().enumerate();
    apps.filter(|(_, container)| begins_anew(pod, container, observed)).map(|(index, _)| index).collect()
}

/// Whether no container of the pod restarts, whatever its end. Sidecars don't count: they serve the others.
fn runs_once(pod: &Pod) -> bool {
    containers(pod).all(|found| match found.kind {
        ContainerKind::Init | ContainerKind::App => !is_restartable(pod, &found.container),
        ContainerKind::Sidecar | ContainerKind::Ephemeral => true,
    })
}

/// A container that ended and doesn't restart stays ended. Under the pod's own `Never` this is a matter of the whole pod.
fn begins_anew(pod: &Pod, container: &Container, observed: &ObservedPod) -> bool {
    let Some(newest) = observed.container(&container.name) else { return true };
    if runs_once(pod) {
        return true;
    }
    match newest.state {
        ContainerRunState::Created => true,
        ContainerRunState::Running | ContainerRunState::Unknown => is_restartable(pod, container),
        ContainerRunState::Exited => should_restart(pod, container, newest.exit_code),
    }
}

/// Looks at each app container once. Says whether anything of the pod goes on.
pub(super) fn look(input: PlanInput<'_>, actions: &mut Actions) -> bool {
    let PlanInput { pod, observed, .. } = input;
    let mut kept = false;
    for (index, container) in app_containers(pod).iter().enumerate() {
        let newest = observed.container(&container.name);
        let Some(running) = newest.filter(|newest| newest.state == ContainerRunState::Running) else {
            if !input.is_deleted() && newest.is_none_or(|newest| runs_again(pod, container, newest)) {
                actions.apps.push(index);
                let unknown = newest.filter(|newest| newest.state == ContainerRunState::Unknown);
                actions.kills.extend(unknown.map(|unknown| {
                    kill_one(pod, ContainerKind::App, container, &unknown.id, KillReason::Unknown, true)
                }));
            }
            continue;
        };
        let Some(reason) = reason_to_kill(input, container, running, &mut actions.resize) else {
            kept = true;
            continue;
        };
        let restart = !input.is_deleted()
            && match reason {
                KillReason::SpecChanged | KillReason::Resize => true,
                // Which rule its exit code matches is known only once it has ended.
                KillReason::LivenessProbe
                | KillReason::StartupProbe
                | KillReason::PodEnds
                | KillReason::SandboxChanged
                | KillReason::NotInSpec
                | KillReason::Superseded
                | KillReason::Unknown
                | KillReason::RestartAll => {
                    RestartPolicy::of_container(pod, container) != RestartPolicy::Never
                }
            };
        if restart {
            actions.apps.push(index);
        }
        actions.kills.push(kill_one(pod, ContainerKind::App, container, &running.id, reason, restart));
    }
    kept || !actions.apps.is_empty()
}

/// Why a running container can't stay. One that can, but with other resources, is noted among the changes.
fn reason_to_kill(
    input: PlanInput<'_>,
    container: &Container,
    running: &ObservedContainer,
    changes: &mut resize::Changes,
) -> Option<KillReason> {
    if spec_changed(container, running) {
        return Some(KillReason::SpecChanged);
    }
    let probes = input.probes_of(&running.id);
    if probes.liveness == Some(ProbeResult::Failure) {
        return Some(KillReason::LivenessProbe);
    }
    if probes.startup == Some(ProbeResult::Failure) {
        return Some(KillReason::StartupProbe);
    }
    resize::look(input, ContainerKind::App, container, running, changes)
}

/// A container without the annotation was made by something else than this agent, which can't know better.
///
/// Of one that a kubelet made name and image can be compared: nothing else can change in the API. The hash that kubelets since
/// 1.31 give this name and image says that both are the same, whatever the runtime tells: containerd tells the first of all
/// names that the image has now. Another hash is of another image or of an earlier kubelet; then the image's name decides.
pub(super) fn spec_changed(container: &Container, running: &ObservedContainer) -> bool {
    match running.spec_hash.as_deref() {
        None => false,
        Some(hash) if is_of_kubelet(hash) => {
            hash != kubelet_hash(container)
                && are_other_images(container.image.as_deref().unwrap_or_default(), &running.image)
        }
        Some(hash) => hash != container_hash(container),
    }
}

/// Whether two references name other images for sure. Runtimes tell the full name of what a spec names shortly, a tag of what it
/// names by its digest, and an id of what lost its name.
fn are_other_images(wanted: &str, told: &str) -> bool {
    // An id looks like a name with a tag.
    if told.starts_with("sha256:") {
        return false;
    }
    let (Ok(wanted), Ok(told)) = (ImageReference::parse(wanted), ImageReference::parse(told)) else {
        return false;
    };
    if wanted.repository() != told.repository() {
        return true;
    }
    match (&wanted.digest, &told.digest) {
        (Some(wanted), Some(told)) => wanted != told,
        (None, None) => tag(&wanted) != tag(&told),
        (Some(_), None) | (None, Some(_)) => false,
    }
}

fn tag(reference: &ImageReference) -> &str {
    reference.tag.as_deref().unwrap_or("latest")
}
