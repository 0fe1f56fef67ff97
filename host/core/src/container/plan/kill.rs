//! How things are stopped: in which order, with how much time, and with what words.

use std::collections::BTreeSet;

use k8s_openapi::api::core::v1::{Container, Pod};

use super::spec::{ContainerKind, container_names, containers};
use super::step::{KillContainer, KillPod, KillReason, Plan, Step};
use crate::runtime::{ContainerId, ObservedContainer, ObservedPod};

/// No container gets less time to end, in seconds (upstream: `minimumGracePeriodInSeconds`).
pub const GRACE_SECONDS_MIN: i64 = 2;
/// Time to end if the pod doesn't say, in seconds (the API's default of `terminationGracePeriodSeconds`).
pub const GRACE_SECONDS_DEFAULT: i64 = 30;

/// Stops all that a pod has. Empty if nothing of it is alive. `pod` is none for one that only the runtime has, whose
/// containers end all at once. `grace_seconds` is what its containers get, all together.
pub fn plan_kill(pod: Option<&Pod>, observed: &ObservedPod, grace_seconds: i64) -> Plan {
    let step = observed.is_alive().then(|| kill_pod(pod, observed, grace_seconds, KillReason::PodEnds));
    Plan { steps: step.into_iter().collect(), ..Plan::default() }
}

/// Seconds that a pod's containers get to end: what its deletion asked for, else what its spec says, at least 2.
pub fn grace_seconds(pod: &Pod) -> i64 {
    let spec_grace = pod.spec.as_ref().and_then(|spec| spec.termination_grace_period_seconds);
    let grace = pod.metadata.deletion_grace_period_seconds.or(spec_grace).unwrap_or(GRACE_SECONDS_DEFAULT);
    grace.max(GRACE_SECONDS_MIN)
}

/// A pod that is stopped for this reason, with the grace of its own.
pub(super) fn plan_end(pod: &Pod, observed: &ObservedPod, reason: KillReason) -> Plan {
    let step = observed.is_alive().then(|| kill_pod(Some(pod), observed, grace_seconds(pod), reason));
    Plan { steps: step.into_iter().collect(), ..Plan::default() }
}

pub(super) fn kill_pod(
    pod: Option<&Pod>,
    observed: &ObservedPod,
    grace_seconds: i64,
    reason: KillReason,
) -> Step {
    let alive: Vec<&ObservedContainer> =
        observed.containers.iter().filter(|container| container.state.may_run()).collect();
    let order = Order::of(pod, &alive);
    let containers = alive
        .iter()
        .map(|container| KillContainer {
            id: container.id.clone(),
            name: container.name.clone(),
            grace_seconds: grace_seconds.max(GRACE_SECONDS_MIN),
            reason,
            message: format!("Stopping container {}", container.name),
            stop_after: order.before(container),
        })
        .collect();
    let sandboxes = observed.sandboxes.iter().map(|sandbox| sandbox.id.clone()).collect();
    Step::KillPod(KillPod { reason, containers, sandboxes })
}

/// Who ends before whom (upstream: `terminationOrdering`).
struct Order {
    apps: Vec<ContainerId>,
    /// Name and instances of each sidecar, the last of the spec first.
    sidecars: Vec<(String, Vec<ContainerId>)>,
}

impl Order {
    fn of(pod: Option<&Pod>, alive: &[&ObservedContainer]) -> Self {
        let instances = |name: &str| -> Vec<ContainerId> {
            alive.iter().filter(|container| container.name == name).map(|c| c.id.clone()).collect()
        };
        let mut order = Self { apps: Vec::new(), sidecars: Vec::new() };
        for found in pod.into_iter().flat_map(containers) {
            let name = &found.container.name;
            match found.kind {
                ContainerKind::App => order.apps.extend(instances(name)),
                ContainerKind::Sidecar => order.sidecars.insert(0, (name.clone(), instances(name))),
                ContainerKind::Init | ContainerKind::Ephemeral => {}
            }
        }
        order
    }

    fn before(&self, container: &ObservedContainer) -> Vec<ContainerId> {
        let Some(place) = self.sidecars.iter().position(|(name, _)| *name == container.name) else {
            return Vec::new();
        };
        let later = self.sidecars[..place].iter().flat_map(|(_, ids)| ids);
        self.apps.iter().chain(later).cloned().collect()
    }
}

/// A container of the spec is stopped next to the others.
pub(super) fn kill_one(
    pod: &Pod,
    kind: ContainerKind,
    container: &Container,
    id: &ContainerId,
    reason: KillReason,
    restart: bool,
) -> KillContainer {
    let grace = container_grace_seconds(pod, container, reason);
    kill_now(id, &container.name, grace, reason, message(kind, &container.name, reason, restart))
}

/// Running containers that the spec doesn't have, and older instances that still run next to a newer one.
pub(super) fn stray(pod: &Pod, observed: &ObservedPod) -> Vec<KillContainer> {
    let known: BTreeSet<&str> = container_names(pod).collect();
    let mut seen = BTreeSet::new();
    let mut kills = Vec::new();
    for container in &observed.containers {
        let newest = seen.insert(container.name.as_str());
        let (reason, message) = if !known.contains(container.name.as_str()) {
            (KillReason::NotInSpec, format!("Container {} is no longer in the pod's spec", container.name))
        } else if !newest {
            let message = format!("An older instance of container {} still runs", container.name);
            (KillReason::Superseded, message)
        } else {
            continue;
        };
        if container.state.may_run() {
            kills.push(kill_now(&container.id, &container.name, grace_seconds(pod), reason, message));
        }
    }
    kills
}

fn kill_now(
    id: &ContainerId,
    name: &str,
    grace_seconds: i64,
    reason: KillReason,
    message: String,
) -> KillContainer {
    KillContainer {
        id: id.clone(),
        name: name.to_owned(),
        grace_seconds,
        reason,
        message,
        stop_after: Vec::new(),
    }
}

fn message(kind: ContainerKind, name: &str, reason: KillReason, restart: bool) -> String {
    let who = match kind {
        ContainerKind::Init | ContainerKind::Sidecar => "Init container",
        ContainerKind::App => "Container",
        ContainerKind::Ephemeral => "Ephemeral container",
    };
    let what = match reason {
        KillReason::SpecChanged => "definition changed",
        KillReason::LivenessProbe => "failed liveness probe",
        KillReason::StartupProbe => "failed startup probe",
        KillReason::NotInSpec => "is no longer in the pod's spec",
        KillReason::Superseded => "has a newer instance",
        KillReason::Unknown => "is in \"unknown\" state, try killing it before restart",
        KillReason::PodEnds | KillReason::SandboxChanged => "is stopped with its pod",
        KillReason::RestartAll => "is stopped: all containers of the pod restart",
        KillReason::Resize => "resize requires restart",
    };
    let then = match reason {
        KillReason::SpecChanged | KillReason::LivenessProbe | KillReason::StartupProbe if restart => {
            ", will be restarted"
        }
        KillReason::SpecChanged
        | KillReason::LivenessProbe
        | KillReason::StartupProbe
        | KillReason::NotInSpec
        | KillReason::Superseded
        | KillReason::Unknown
        | KillReason::PodEnds
        | KillReason::SandboxChanged
        | KillReason::RestartAll
        | KillReason::Resize => "",
    };
    match reason {
        // Upstream names no container here.
        KillReason::Unknown => format!("{who} {what}"),
        KillReason::PodEnds
        | KillReason::SandboxChanged
        | KillReason::SpecChanged
        | KillReason::NotInSpec
        | KillReason::Superseded
        | KillReason::LivenessProbe
        | KillReason::StartupProbe
        | KillReason::RestartAll
        | KillReason::Resize => format!("{who} {name} {what}{then}"),
    }
}

/// A probe may grant less time, or more, than the pod does (KEP-2238); a deletion overrides both.
fn container_grace_seconds(pod: &Pod, container: &Container, reason: KillReason) -> i64 {
    let probe = match reason {
        KillReason::LivenessProbe => container.liveness_probe.as_ref(),
        KillReason::StartupProbe => container.startup_probe.as_ref(),
        KillReason::PodEnds
        | KillReason::SandboxChanged
        | KillReason::SpecChanged
        | KillReason::NotInSpec
        | KillReason::Superseded
        | KillReason::Unknown
        | KillReason::RestartAll
        | KillReason::Resize => None,
    };
    let of_probe = probe.and_then(|probe| probe.termination_grace_period_seconds);
    match (pod.metadata.deletion_grace_period_seconds, of_probe) {
        (None, Some(seconds)) => seconds.max(GRACE_SECONDS_MIN),
        (Some(_), _) | (None, None) => grace_seconds(pod),
    }
}
