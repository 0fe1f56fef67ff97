//! Whether a container that ended runs again: the pod's restart policy, a container's own, and its restart rules
//! (KEP-5307, KEP-5532; upstream: `ContainerShouldRestart`, `ShouldContainerBeRestarted`).

use k8s_openapi::api::core::v1::{Container, ContainerRestartRule, Pod};

use super::spec::{ContainerKind, container_named, containers};
use crate::runtime::{ContainerRunState, ObservedContainer, ObservedPod};

/// What is done when a container ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RestartPolicy {
    Always,
    /// Restart it unless it ended with exit code 0.
    OnFailure,
    Never,
}

impl RestartPolicy {
    /// A pod's policy. Anything that the API doesn't know counts as `Always`, the API's default: validation refuses
    /// it before it comes here.
    pub fn of(pod: &Pod) -> Self {
        Self::of_word(pod.spec.as_ref().and_then(|spec| spec.restart_policy.as_deref()))
    }

    /// A container's policy: its own if it has one (a sidecar's is `Always`), else its pod's.
    pub fn of_container(pod: &Pod, container: &Container) -> Self {
        match container.restart_policy.as_deref() {
            Some(own) => Self::of_word(Some(own)),
            None => Self::of(pod),
        }
    }

    fn of_word(word: Option<&str>) -> Self {
        match word {
            Some("OnFailure") => Self::OnFailure,
            Some("Never") => Self::Never,
            Some(_) | None => Self::Always,
        }
    }

    /// Whether something that ended with this exit code runs again.
    pub fn restarts(self, exit_code: i32) -> bool {
        match self {
            Self::Always => true,
            Self::OnFailure => exit_code != 0,
            Self::Never => false,
        }
    }
}

/// What a restart rule does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RestartAction {
    Restart,
    /// Have all containers of the pod starts over, init containers first, in the same sandbox.
    RestartAll,
}

/// Returns what the first of a container's rules that matches the exit code does; none if none matches. Rules count only next to a
/// policy of the container's own.
pub fn restart_rule(container: &Container, exit_code: i32) -> Option<RestartAction> {
    container.restart_policy.as_ref()?;
    let rules = container.restart_policy_rules.iter().flatten();
    rules.filter(|rule| matches_exit_code(rule, exit_code)).map(action).next().flatten()
}

fn matches_exit_code(rule: &ContainerRestartRule, exit_code: i32) -> bool {
    rule.exit_codes.as_ref().is_some_and(|codes| {
        let listed = codes.values.iter().flatten().any(|code| *code == exit_code);
        match codes.operator.as_str() {
            "In" => listed,
            "NotIn" => !listed,
            _ => false,
        }
    })
}

/// Returns `None` for a word that the API doesn't have: then the policy decides.
fn action(rule: &ContainerRestartRule) -> Option<RestartAction> {
    match rule.action.as_str() {
        "Restart" => Some(RestartAction::Restart),
        "RestartAllContainers" => Some(RestartAction::RestartAll),
        _ => None,
    }
}

/// Whether a container that ended with this exit code runs again: by its rules, else by its policy, else by its pod's.
pub fn should_restart(pod: &Pod, container: &Container, exit_code: i32) -> bool {
    restart_rule(container, exit_code).is_some()
        || RestartPolicy::of_container(pod, container).restarts(exit_code)
}

/// Whether there is any exit code with which the container runs again (upstream: `IsContainerRestartable`).
pub fn is_restartable(pod: &Pod, container: &Container) -> bool {
    let has_rules = container.restart_policy.is_some()
        && container.restart_policy_rules.iter().flatten().any(|rule| action(rule).is_some());
    has_rules || RestartPolicy::of_container(pod, container) != RestartPolicy::Never
}

/// Whether a container that doesn't run is to be started: upstream's `ShouldContainerBeRestarted`. An ephemeral container
/// is started once; nothing of a deleted pod is; nothing is that the spec doesn't have.
pub fn should_start(pod: &Pod, name: &str, observed: &ObservedPod) -> bool {
    let Some(found) = container_named(pod, name) else { return false };
    if pod.metadata.deletion_timestamp.is_some() {
        return false;
    }
    match (observed.container(name), found.kind) {
        (None, _) => true,
        (Some(_), ContainerKind::Ephemeral) => false,
        (Some(newest), ContainerKind::Init | ContainerKind::Sidecar | ContainerKind::App) => {
            runs_again(pod, &found.container, newest)
        }
    }
}

/// Whether the instance gives way to another one by itself.
pub(super) fn runs_again(pod: &Pod, container: &Container, newest: &ObservedContainer) -> bool {
    match newest.state {
        ContainerRunState::Running => false,
        ContainerRunState::Created | ContainerRunState::Unknown => true,
        ContainerRunState::Exited => should_restart(pod, container, newest.exit_code),
    }
}

/// The ended containers whose rules have all containers of the pod starts over. Empty for a deleted pod. As long as there
/// is any, the others are on their way to being stopped and removed, whatever their states say.
pub fn restart_all_triggers<'a>(pod: &Pod, observed: &'a ObservedPod) -> Vec<&'a ObservedContainer> {
    if pod.metadata.deletion_timestamp.is_some() {
        return Vec::new();
    }
    let triggers =
        containers(pod).filter(|found| found.kind != ContainerKind::Ephemeral).filter_map(|found| {
            let newest = observed.container(&found.container.name)?;
            let ended = newest.state == ContainerRunState::Exited;
            let all = restart_rule(&found.container, newest.exit_code) == Some(RestartAction::RestartAll);
            (ended && all).then_some(newest)
        });
    triggers.collect()
}
