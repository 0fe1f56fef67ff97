//! Upstream's cases of messages (`helpers_test.go`: `TestEvictionMessage`), and the thresholds in them.

use serde_json::{Value, json};

use super::*;
use crate::eviction::fixtures::{bytes, candidate, hard, left, soft};
use crate::eviction::signal::Signal;
use crate::stats::FsUsage;

const POD: &str = "pod-eviction-message";

type Requests<'a> = &'a [(&'a str, &'a str)];

fn containers(requests: Requests<'_>, is_sidecar: impl Fn(&str) -> bool) -> Value {
    let container = |(name, request): &(&str, &str)| {
        let requests = if request.is_empty() { json!({}) } else { json!({"memory": request}) };
        let policy = is_sidecar(name).then_some("Always");
        json!({"name": name, "restartPolicy": policy, "resources": {"requests": requests}})
    };
    requests.iter().map(container).collect()
}

fn pod(own: Value, init: Requests<'_>, app: Requests<'_>, ephemeral: Requests<'_>) -> Pod {
    let sidecar = |name: &str| name.starts_with("restartable");
    let manifest = json!({"metadata": {"name": POD, "namespace": "ns", "uid": POD}, "spec": {
        "resources": own,
        "initContainers": containers(init, sidecar),
        "containers": containers(app, |_| false),
        "ephemeralContainers": containers(ephemeral, |_| false),
    }});
    Pod::clone(&candidate(manifest).pod)
}

fn usage(of_pod: &str, containers: Requests<'_>) -> PodUsage {
    let unsigned = |text: &str| u64::try_from(bytes(text)).expect("no negative usage");
    let container = |(name, used): &(&str, &str)| ContainerUsage {
        name: (*name).to_owned(),
        memory: Some(unsigned(used)),
        ..ContainerUsage::default()
    };
    PodUsage {
        memory: Some(unsigned(of_pod)),
        containers: containers.iter().map(container).collect(),
        ..PodUsage::default()
    }
}

struct Case {
    name: &'static str,
    own: Value,
    init: Requests<'static>,
    app: Requests<'static>,
    ephemeral: Requests<'static>,
    of_pod: &'static str,
    used: Requests<'static>,
    expected: &'static [(&'static str, &'static str, &'static str)],
}

/// Without pod-level resources and ephemeral containers.
fn case(
    name: &'static str,
    init: Requests<'static>,
    app: Requests<'static>,
    used: Requests<'static>,
    expected: &'static [(&'static str, &'static str, &'static str)],
) -> Case {
    Case { name, own: json!(null), init, app, ephemeral: &[], of_pod: "1Mi", used, expected }
}

#[test]
fn containers_over_their_requests_are_named() {
    check(&[
        case(
            "No container exceeds memory usage",
            &[("init1", "100Mi"), ("restartable-init1", "200Mi")],
            &[("regular1", "200Mi")],
            &[("restartable-init1", "150Mi"), ("regular1", "100Mi")],
            &[],
        ),
        case(
            "Init container exceeds memory usage",
            &[("init1", "100Mi"), ("restartable-init1", "200Mi"), ("init2", "150Mi")],
            &[("regular1", "200Mi")],
            &[("init1", "150Mi")],
            &[("init1", "150Mi", "100Mi")],
        ),
        case(
            "Restartable init container exceeds memory usage",
            &[("init1", "100Mi"), ("restartable-init1", "200Mi"), ("restartable-init2", "200Mi")],
            &[("regular1", "200Mi")],
            &[("restartable-init1", "250Mi"), ("restartable-init2", "150Mi"), ("regular1", "200Mi")],
            &[("restartable-init1", "250Mi", "200Mi")],
        ),
        case(
            "Regular container exceeds memory usage",
            &[("init1", "100Mi"), ("restartable-init1", "200Mi")],
            &[("regular1", "200Mi"), ("regular2", "300Mi")],
            &[("restartable-init1", "200Mi"), ("regular1", "250Mi"), ("regular2", "250Mi")],
            &[("regular1", "250Mi", "200Mi")],
        ),
        Case {
            ephemeral: &[("ephemeral1", "")],
            ..case(
                "Ephemeral container exceeds memory usage",
                &[("init1", "100Mi"), ("restartable-init1", "200Mi")],
                &[("regular1", "200Mi")],
                &[("restartable-init1", "200Mi"), ("regular1", "150Mi"), ("ephemeral1", "250Mi")],
                &[],
            )
        },
    ]);
}

#[test]
fn several_containers_and_the_pod_over_their_requests_are_named() {
    check(&[
        case(
            "Both regular and restartable init containers exceed memory usage due to missing memory requests",
            &[("init1", "100Mi"), ("restartable-init1", ""), ("restartable-init2", "300Mi")],
            &[("regular1", "")],
            &[("restartable-init1", "250Mi"), ("restartable-init2", "250Mi"), ("regular1", "200Mi")],
            &[("restartable-init1", "250Mi", "0"), ("regular1", "200Mi", "0")],
        ),
        case(
            "Multiple regular and restartable init containers exceed memory usage",
            &[
                ("init1", "100Mi"),
                ("init2", "100Mi"),
                ("init3", "100Mi"),
                ("restartable-init1", "100Mi"),
                ("restartable-init2", "200Mi"),
                ("restartable-init3", "300Mi"),
            ],
            &[("regular1", "300Mi"), ("regular2", "200Mi"), ("regular3", "100Mi")],
            &[
                ("restartable-init1", "150Mi"),
                ("restartable-init2", "250Mi"),
                ("restartable-init3", "250Mi"),
                ("regular1", "50Mi"),
                ("regular2", "250Mi"),
                ("regular3", "400Mi"),
            ],
            &[
                ("restartable-init1", "150Mi", "100Mi"),
                ("restartable-init2", "250Mi", "200Mi"),
                ("regular2", "250Mi", "200Mi"),
                ("regular3", "400Mi", "100Mi"),
            ],
        ),
        Case {
            own: json!({"requests": {"memory": "250Mi"}, "limits": {"memory": "1000Mi"}}),
            of_pod: "600Mi",
            ..case(
                "Regular pod with pod level resources exceeds memory usage",
                &[],
                &[("regular1", ""), ("regular2", "")],
                &[("regular1", "250Mi"), ("regular2", "350Mi")],
                &[("regular1", "250Mi", "0"), ("regular2", "350Mi", "0")],
            )
        },
    ]);
}

fn check(cases: &[Case]) {
    for case in cases {
        let pod = pod(case.own.clone(), case.init, case.app, case.ephemeral);
        let usage = usage(case.of_pod, case.used);
        let (text, annotations) =
            message(StarvedResource::Memory, &pod, Some(&usage), &[], &Observations::new());
        let mut expected = "The node was low on resource: memory. ".to_owned();
        let line = |what: &str, name: &str, used: &str, asked: &str| {
            format!("{what} {name} was using {used}, request is {asked}, has larger consumption of memory. ")
        };
        if case.own.is_object() {
            expected += &line("Pod", POD, "600Mi", "250Mi");
            assert_eq!(annotations[OFFENDING_POD], POD);
            assert_eq!(annotations[OFFENDING_POD_USAGE], "600Mi");
        }
        expected.extend(case.expected.iter().map(|(name, used, asked)| line("Container", name, used, asked)));
        assert_eq!(text, expected, "{}", case.name);
        let (names, amounts): (Vec<_>, Vec<_>) =
            case.expected.iter().map(|(name, used, _)| (*name, *used)).unzip();
        assert_eq!(annotations[OFFENDING_CONTAINERS], names.join(","), "{}", case.name);
        assert_eq!(annotations[OFFENDING_CONTAINERS_USAGE], amounts.join(","), "{}", case.name);
        assert_eq!(annotations[STARVED_RESOURCE], "memory", "{}", case.name);
    }
}

#[test]
fn the_first_threshold_of_the_resource_is_reported_with_what_is_left() {
    let thresholds = [
        hard(Signal::NodeFsAvailable, "1Gi", None),
        soft(Signal::MemoryAvailable, "2Gi", None, 60),
        hard(Signal::MemoryAvailable, "1Gi", None),
        hard(Signal::NodeFsInodesFree, "1500", None),
        hard(Signal::PidAvailable, "1k", None),
    ];
    let observations = Observations::from([
        (Signal::MemoryAvailable, left("1500Mi", "4Gi")),
        (Signal::NodeFsInodesFree, left("1k", "5k")),
        (Signal::NodeFsAvailable, left("1Ki", "5Ki")),
        (Signal::PidAvailable, left("-5", "5")),
    ]);
    let cases = [
        (StarvedResource::Memory, "memory. Threshold quantity: 2Gi, available: 1500Mi. "),
        (StarvedResource::EphemeralStorage, "ephemeral-storage. Threshold quantity: 1Gi, available: 1Ki. "),
        (StarvedResource::Inodes, "inodes. Threshold quantity: 1500, available: 1k. "),
        (StarvedResource::Pids, "pids. Threshold quantity: 1k, available: -5. "),
    ];
    for (resource, expected) in cases {
        let (text, annotations) = message(resource, &Pod::default(), None, &thresholds, &observations);
        assert_eq!(text, format!("The node was low on resource: {expected}"));
        assert!(annotations.is_empty(), "nothing is known of the pod");
    }
}

#[test]
fn disk_of_containers_is_layers_and_logs_where_both_are_known() {
    let pod = pod(json!(null), &[], &[("a", ""), ("b", "")], &[]);
    let container = |name: &str, logs| ContainerUsage {
        name: name.to_owned(),
        rootfs: FsUsage::new(1 << 20, 9),
        logs,
        ..ContainerUsage::default()
    };
    let containers = vec![container("a", FsUsage::new(1 << 20, 9)), container("b", FsUsage::default())];
    let usage = PodUsage { containers, ..PodUsage::default() };
    let message_of = |resource| message(resource, &pod, Some(&usage), &[], &Observations::new()).0;
    assert_eq!(
        message_of(StarvedResource::EphemeralStorage),
        "The node was low on resource: ephemeral-storage. Container a was using 2Mi, request is 0, has larger \
         consumption of ephemeral-storage. "
    );
    assert_eq!(message_of(StarvedResource::Inodes), "The node was low on resource: inodes. ");
}
