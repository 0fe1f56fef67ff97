//! A short way to write pods and what a runtime has of them, so that a table of cases can be read.
//!
//! A pod is its restart policy and its containers: `Always i:setup s:proxy+S a:web a:batch:Never:in42=all e:debug`. `i` is an
//! init container, `s` a sidecar, `a` an app container and `e` an ephemeral one; `+S` has a startup probe and `+L` a liveness
//! probe; then come a policy of its own and its rules (`in` or `notin`, exit codes, `restart` or `all`).
//!
//! What is seen is the sandbox (`ready`, `dead`, `none`) and containers, newest first: `ready proxy=running/S-ok web=exit1`.

use k8s_openapi::api::core::v1::{
    Container, ContainerRestartRule, ContainerRestartRuleOnExitCodes, EphemeralContainer, Pod, Probe,
};

use super::super::{PodContainer, container_named};
use crate::container::hash::container_hash;
use crate::fixtures::{instance, observed, sandbox, spec};
use crate::probe::{ContainerProbes, ProbeResult, ProbeResults};
use crate::runtime::{ContainerRunState, ObservedContainer, ObservedPod, SandboxState};

/// A pod in the words above.
pub(super) fn pod(text: &str) -> Pod {
    let mut words = text.split_whitespace();
    let mut pod = crate::fixtures::pod(words.next().unwrap(), &[]);
    for word in words {
        let (kind, rest) = word.split_once(':').unwrap();
        let mut made = container(rest);
        let spec = spec(&mut pod);
        match kind {
            "i" => spec.init_containers.get_or_insert_default().push(made),
            "s" => {
                made.restart_policy = Some("Always".to_owned());
                spec.init_containers.get_or_insert_default().push(made);
            }
            "a" => spec.containers.push(made),
            "e" => {
                let ephemeral =
                    EphemeralContainer { name: made.name, image: made.image, ..Default::default() };
                spec.ephemeral_containers.get_or_insert_default().push(ephemeral);
            }
            other => panic!("no kind of container: {other}"),
        }
    }
    pod
}

fn container(text: &str) -> Container {
    let mut parts = text.split(':');
    let mut marks = parts.next().unwrap().split('+');
    let name = marks.next().unwrap();
    let mut made =
        Container { name: name.to_owned(), image: Some(format!("{name}-image")), ..Container::default() };
    for mark in marks {
        match mark {
            "S" => made.startup_probe = Some(Probe::default()),
            "L" => made.liveness_probe = Some(Probe::default()),
            other => panic!("no mark: {other}"),
        }
    }
    made.restart_policy = parts.next().filter(|policy| !policy.is_empty()).map(str::to_owned);
    made.restart_policy_rules = Some(parts.map(rule).collect::<Vec<_>>()).filter(|rules| !rules.is_empty());
    made
}

fn rule(text: &str) -> ContainerRestartRule {
    let (codes, action) = text.split_once('=').unwrap();
    let (operator, codes) = match codes.strip_prefix("notin") {
        Some(codes) => ("NotIn", codes),
        None => ("In", codes.strip_prefix("in").unwrap()),
    };
    let action = match action {
        "restart" => "Restart",
        "all" => "RestartAllContainers",
        other => other,
    };
    ContainerRestartRule {
        action: action.to_owned(),
        exit_codes: Some(ContainerRestartRuleOnExitCodes {
            operator: operator.to_owned(),
            values: Some(codes.split(',').map(|code| code.parse().unwrap()).collect()),
        }),
    }
}

/// What a runtime has of the pod, and what probes found out, in the words above.
pub(super) fn seen(pod: &Pod, text: &str) -> (ObservedPod, ProbeResults) {
    let mut words = text.split_whitespace();
    let sandboxes = match words.next().unwrap() {
        "ready" => vec![sandbox(0, SandboxState::Ready)],
        "dead" => vec![sandbox(0, SandboxState::NotReady)],
        "none" => Vec::new(),
        other => panic!("no state of a sandbox: {other}"),
    };
    let mut containers: Vec<ObservedContainer> = Vec::new();
    let mut probes = ProbeResults::new();
    for word in words {
        let (name, state) = word.split_once('=').unwrap();
        let (name, count) = name.split_once('#').unwrap_or((name, "0"));
        let mut parts = state.split('/');
        let made = one(pod, name, count.parse().unwrap(), parts.next().unwrap());
        for result in parts {
            set(probes.entry(made.id.clone()).or_default(), result);
        }
        containers.push(made);
    }
    (observed(sandboxes, containers), probes)
}

fn one(pod: &Pod, name: &str, count: u32, state: &str) -> ObservedContainer {
    let exit_code = state.strip_prefix("exit").map(|code| code.parse().unwrap());
    let state = match state {
        "running" => ContainerRunState::Running,
        "created" => ContainerRunState::Created,
        "unknown" => ContainerRunState::Unknown,
        _ if exit_code.is_some() => ContainerRunState::Exited,
        other => panic!("no state of a container: {other}"),
    };
    let hash = container_named(pod, name).map(|PodContainer { container, .. }| container_hash(&container));
    ObservedContainer {
        exit_code: exit_code.unwrap_or_default(),
        spec_hash: hash,
        ..instance(pod, name, count, state)
    }
}

fn set(probes: &mut ContainerProbes, word: &str) {
    let (probe, result) = word.split_once('-').unwrap();
    let result = match result {
        "ok" => ProbeResult::Success,
        "bad" => ProbeResult::Failure,
        "wait" => ProbeResult::Unknown,
        other => panic!("no result: {other}"),
    };
    match probe {
        "S" => probes.startup = Some(result),
        "L" => probes.liveness = Some(result),
        other => panic!("no probe: {other}"),
    }
}
