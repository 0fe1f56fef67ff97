//! Fixtures of the tests of decisions: pods, and what a runtime has of them.

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Container, Pod, PodSpec, ResourceRequirements};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use proptest::test_runner::Config as ProptestConfig;

use crate::container::hash::container_hash;
use crate::runtime::{
    ContainerRunState, NamespaceMode, ObservedContainer, ObservedPod, ObservedSandbox, SandboxState,
};

/// A property that is tried on this many cases, or on as many as `PROPTEST_CASES` says, where it is set.
pub(crate) fn property(cases: u32) -> ProptestConfig {
    let asked_for = std::env::var_os("PROPTEST_CASES").is_some();
    if asked_for { ProptestConfig::default() } else { ProptestConfig::with_cases(cases) }
}

/// So many seconds after the tests' beginning.
pub(crate) fn at(seconds: i64) -> Timestamp {
    Timestamp::from_second(1_800_000_000 + seconds).unwrap()
}

/// `ns/web` with these containers, UID `uid-1`, not static.
pub(crate) fn pod(restart_policy: &str, containers: &[&str]) -> Pod {
    let containers = containers
        .iter()
        .map(|name| Container {
            name: (*name).to_owned(),
            image: Some(format!("{name}-image")),
            ..Container::default()
        })
        .collect();
    Pod {
        metadata: ObjectMeta {
            name: Some("web".to_owned()),
            namespace: Some("ns".to_owned()),
            uid: Some("uid-1".to_owned()),
            ..ObjectMeta::default()
        },
        spec: Some(PodSpec {
            containers,
            restart_policy: Some(restart_policy.to_owned()),
            termination_grace_period_seconds: Some(30),
            ..PodSpec::default()
        }),
        status: None,
    }
}

/// The spec of a pod of these tests.
pub(crate) fn spec(pod: &mut Pod) -> &mut PodSpec {
    pod.spec.as_mut().unwrap()
}

/// The first container of a pod of these tests.
pub(crate) fn first(pod: &mut Pod) -> &mut Container {
    &mut spec(pod).containers[0]
}

/// The same pod as a file source brings it.
pub(crate) fn from_file(mut pod: Pod) -> Pod {
    let source = ("kubernetes.io/config.source".to_owned(), "file".to_owned());
    pod.metadata.annotations.get_or_insert_default().extend([source]);
    pod
}

/// A sandbox `s<attempt>`; a ready one has an address.
pub(crate) fn sandbox(attempt: u32, state: SandboxState) -> ObservedSandbox {
    let ips = match state {
        SandboxState::Ready => vec!["10.0.0.7".parse().unwrap()],
        SandboxState::NotReady => Vec::new(),
    };
    ObservedSandbox {
        id: format!("s{attempt}").into(),
        attempt,
        state,
        created_at: at(i64::from(attempt)),
        network: NamespaceMode::Pod,
        ips,
    }
}

/// An instance `<name>-<restart_count>` of a container, as this pod's spec has it. One that ended did so at second 100.
pub(crate) fn instance(
    pod: &Pod,
    name: &str,
    restart_count: u32,
    state: ContainerRunState,
) -> ObservedContainer {
    let containers = pod.spec.as_ref().map(|spec| spec.containers.as_slice()).unwrap_or_default();
    let spec = containers.iter().find(|container| container.name == name);
    let started = state != ContainerRunState::Created;
    ObservedContainer {
        started_at: started.then(|| at(i64::from(restart_count))),
        finished_at: (state == ContainerRunState::Exited).then(|| at(100)),
        image: format!("{name}-image"),
        image_id: format!("sha256:{name}"),
        spec_hash: spec.map(container_hash),
        restart_count,
        ..ObservedContainer::new(
            format!("{name}-{restart_count}").into(),
            name,
            state,
            at(i64::from(restart_count)),
        )
    }
}

/// The same, running for the first time.
pub(crate) fn running(pod: &Pod, name: &str) -> ObservedContainer {
    instance(pod, name, 0, ContainerRunState::Running)
}

/// The same, ended after its first run.
pub(crate) fn exited(pod: &Pod, name: &str, exit_code: i32) -> ObservedContainer {
    let reason = if exit_code == 0 { "Completed" } else { "Error" }.to_owned();
    ObservedContainer { exit_code, reason, ..instance(pod, name, 0, ContainerRunState::Exited) }
}

/// Returns what the runtime has, newest first.
pub(crate) fn observed(sandboxes: Vec<ObservedSandbox>, containers: Vec<ObservedContainer>) -> ObservedPod {
    ObservedPod {
        ips: sandboxes.first().map(|sandbox| sandbox.ips.clone()).unwrap_or_default(),
        name: "web".to_owned(),
        namespace: "ns".to_owned(),
        sandboxes,
        containers,
        ..ObservedPod::absent("uid-1".into(), at(0))
    }
}

/// One ready sandbox with these containers.
pub(crate) fn in_sandbox(containers: Vec<ObservedContainer>) -> ObservedPod {
    observed(vec![sandbox(0, SandboxState::Ready)], containers)
}

/// A sandbox that broke, with these containers.
pub(crate) fn in_dead_sandbox(containers: Vec<ObservedContainer>) -> ObservedPod {
    observed(vec![sandbox(0, SandboxState::NotReady)], containers)
}

/// Requests and limits in short: `cpu 100m/200m memory 64Mi/128Mi`; `-` is none.
pub(crate) fn resources(text: &str) -> Option<ResourceRequirements> {
    let mut made = ResourceRequirements::default();
    let mut words = text.split_whitespace();
    while let (Some(name), Some(amounts)) = (words.next(), words.next()) {
        let (request, limit) = amounts.split_once('/').unwrap();
        if request != "-" {
            made.requests.get_or_insert_default().insert(name.to_owned(), Quantity(request.to_owned()));
        }
        if limit != "-" {
            made.limits.get_or_insert_default().insert(name.to_owned(), Quantity(limit.to_owned()));
        }
    }
    Some(made)
}
