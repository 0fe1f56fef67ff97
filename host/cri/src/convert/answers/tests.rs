//! Every field that comes in.

use std::collections::BTreeMap;

use expect_test::expect;
use jiff::Timestamp;
use proptest::prelude::*;
use witlet_core::pod::PodUid;
use witlet_core::runtime::{ContainerRunState, ObservedPod, SandboxState, labels};
use witlet_proto::cri;

use super::*;

fn pod_labels(uid: &str) -> BTreeMap<String, String> {
    BTreeMap::from([
        (labels::POD_UID.to_owned(), uid.to_owned()),
        (labels::POD_NAME.to_owned(), format!("name-{uid}")),
        (labels::POD_NAMESPACE.to_owned(), "shop".to_owned()),
    ])
}

fn sandbox_item(id: &str, uid: &str, attempt: u32, created_at: i64) -> cri::PodSandbox {
    cri::PodSandbox {
        id: id.to_owned(),
        metadata: Some(cri::PodSandboxMetadata { attempt, ..cri::PodSandboxMetadata::default() }),
        created_at,
        labels: pod_labels(uid),
        ..cri::PodSandbox::default()
    }
}

fn container_item(id: &str, uid: &str, created_at: i64) -> cri::Container {
    let mut labels = pod_labels(uid);
    labels.insert(labels::CONTAINER_NAME.to_owned(), "app".to_owned());
    cri::Container {
        id: id.to_owned(),
        pod_sandbox_id: "s1".to_owned(),
        state: cri::ContainerState::ContainerRunning.into(),
        created_at,
        labels,
        ..cri::Container::default()
    }
}

#[test]
fn lists_become_pods_newest_first_without_what_is_not_ours() {
    let mut foreign = sandbox_item("foreign", "x", 0, 9);
    foreign.labels.clear();
    let mut foreign_container = container_item("foreign", "x", 9);
    foreign_container.labels.remove(labels::POD_UID);
    let pods = group_by_pod(
        vec![
            sandbox_item("s1", "u-2", 0, 5),
            foreign,
            sandbox_item("s2", "u-2", 1, 7),
            sandbox_item("s0", "u-1", 0, 5),
        ],
        vec![
            container_item("c1", "u-2", 6),
            foreign_container,
            container_item("c2", "u-2", 8),
            container_item("c3", "u-3", 1),
        ],
    );
    let shown: Vec<_> = pods
        .iter()
        .map(|pod| {
            let sandboxes: Vec<_> = pod.sandboxes.iter().map(|s| s.id.as_str()).collect();
            let containers: Vec<_> = pod.containers.iter().map(|c| c.id.as_str()).collect();
            format!("{}/{} {} {sandboxes:?} {containers:?}", pod.namespace, pod.name, pod.uid)
        })
        .collect();
    expect![[r#"
        [
            "shop/name-u-1 u-1 [\"s0\"] []",
            "shop/name-u-2 u-2 [\"s2\", \"s1\"] [\"c2\", \"c1\"]",
            "shop/name-u-3 u-3 [] [\"c3\"]",
        ]
    "#]]
    .assert_debug_eq(&shown);
}

#[test]
fn an_impossible_item_of_a_list_hides_no_other() {
    let without_metadata = cri::PodSandbox { metadata: None, ..sandbox_item("s1", "u", 0, 1) };
    let without_id = cri::PodSandbox { id: String::new(), ..sandbox_item("s1", "u", 0, 1) };
    let without_sandbox = cri::Container { pod_sandbox_id: String::new(), ..container_item("c2", "u", 2) };
    let pods = group_by_pod(
        vec![without_metadata, without_id, sandbox_item("s2", "u", 1, 2)],
        vec![container_item("", "u", 1), without_sandbox],
    );
    let [pod] = &pods[..] else { panic!("one pod, not {pods:?}") };
    assert_eq!(pod.sandboxes.iter().map(|s| s.id.as_str()).collect::<Vec<_>>(), ["s2"]);
    assert_eq!(pod.containers.iter().map(|c| c.id.as_str()).collect::<Vec<_>>(), ["c2"]);
}

fn sandbox_status(network: cri::NamespaceMode, ips: &[&str]) -> cri::PodSandboxStatusResponse {
    let (first, rest) = ips.split_first().map_or(("", &[][..]), |(first, rest)| (*first, rest));
    let status = cri::PodSandboxStatus {
        id: "s1".to_owned(),
        metadata: Some(cri::PodSandboxMetadata { attempt: 4, ..cri::PodSandboxMetadata::default() }),
        created_at: 1_700_000_000_123_456_789,
        network: Some(cri::PodSandboxNetworkStatus {
            ip: first.to_owned(),
            additional_ips: rest.iter().map(|ip| cri::PodIp { ip: (*ip).to_owned() }).collect(),
        }),
        linux: Some(cri::LinuxPodSandboxStatus {
            namespaces: Some(cri::Namespace {
                options: Some(cri::NamespaceOption {
                    network: network.into(),
                    ..cri::NamespaceOption::default()
                }),
            }),
        }),
        ..cri::PodSandboxStatus::default()
    };
    cri::PodSandboxStatusResponse { status: Some(status), ..cri::PodSandboxStatusResponse::default() }
}

#[test]
fn addresses_of_a_sandbox_come_primary_first() {
    use cri::NamespaceMode::{Node, Pod};
    for (mode, ips, expected) in [
        (Pod, &["10.1.0.5", "fd00::5"][..], "[10.1.0.5, fd00::5]"),
        (Pod, &["", "fd00::5"], "[fd00::5]"),
        (Pod, &[], "[]"),
        (Node, &["192.0.2.1"], "[]"),
    ] {
        let observed = observed_sandbox(sandbox_status(mode, ips)).expect("well formed");
        assert_eq!(format!("{:?}", observed.ips), expected);
        assert_eq!(observed.attempt, 4);
        assert_eq!(observed.created_at.to_string(), "2023-11-14T22:13:20.123456789Z");
    }
    let error = observed_sandbox(sandbox_status(Pod, &["ten.one"])).expect_err("no address");
    assert_eq!(error.to_string(), r#"PodSandboxStatus: invalid response: "ten.one" is not an IP address"#);
}

fn limits() -> cri::LinuxContainerResources {
    cri::LinuxContainerResources {
        cpu_period: 1,
        cpu_quota: 2,
        cpu_shares: 3,
        memory_limit_in_bytes: 4,
        oom_score_adj: 5,
        hugepage_limits: vec![cri::HugepageLimit { page_size: "2MB".to_owned(), limit: 6 }],
        unified: BTreeMap::from([("memory.high".to_owned(), "7".to_owned())]),
        memory_swap_limit_in_bytes: 8,
        ..cri::LinuxContainerResources::default()
    }
}

fn full_status() -> cri::ContainerStatus {
    cri::ContainerStatus {
        id: "c1".to_owned(),
        metadata: Some(cri::ContainerMetadata { name: "app".to_owned(), attempt: 1 }),
        state: cri::ContainerState::ContainerExited.into(),
        created_at: 1_000_000_000,
        started_at: 2_000_000_000,
        finished_at: 3_000_000_001,
        exit_code: 137,
        image: Some(cri::ImageSpec {
            image: "docker.io/library/app:1".to_owned(),
            ..cri::ImageSpec::default()
        }),
        image_ref: "docker.io/library/app@sha256:aa".to_owned(),
        reason: "OOMKilled".to_owned(),
        message: "too much".to_owned(),
        labels: BTreeMap::from([(labels::CONTAINER_NAME.to_owned(), "app".to_owned())]),
        annotations: BTreeMap::from([
            (labels::CONTAINER_HASH.to_owned(), "beef".to_owned()),
            (labels::CONTAINER_RESTART_COUNT.to_owned(), "5".to_owned()),
            (labels::POD_TERMINATION_GRACE_PERIOD.to_owned(), "30".to_owned()),
        ]),
        log_path: "/var/log/pods/x/app/5.log".to_owned(),
        mounts: vec![cri::Mount {
            container_path: "/data".to_owned(),
            host_path: "/mnt".to_owned(),
            readonly: true,
            recursive_read_only: true,
            propagation: cri::MountPropagation::PropagationBidirectional.into(),
            selinux_relabel: true,
            ..cri::Mount::default()
        }],
        resources: Some(cri::ContainerResources { linux: Some(limits()), windows: None }),
        user: Some(cri::ContainerUser {
            linux: Some(cri::LinuxContainerUser { uid: 1, gid: 2, supplemental_groups: vec![3] }),
        }),
        stop_signal: cri::Signal::Sigrtminplus3.into(),
        ..cri::ContainerStatus::default()
    }
}

#[test]
fn a_container_status_comes_in_whole() {
    let status = cri::ContainerStatus {
        mounts: Vec::new(),
        resources: None,
        user: None,
        stop_signal: 0,
        ..full_status()
    };
    let answer = cri::ContainerStatusResponse { status: Some(status), info: BTreeMap::new() };
    let observed = observed_container(answer, "s1").expect("well formed");
    expect![[r#"
        ObservedContainer {
            id: ContainerId(
                "c1",
            ),
            name: "app",
            sandbox_id: Some(
                SandboxId(
                    "s1",
                ),
            ),
            state: Exited,
            created_at: 1970-01-01T00:00:01Z,
            started_at: Some(
                1970-01-01T00:00:02Z,
            ),
            finished_at: Some(
                1970-01-01T00:00:03.000000001Z,
            ),
            exit_code: 137,
            image: "docker.io/library/app:1",
            image_id: "docker.io/library/app@sha256:aa",
            spec_hash: Some(
                "beef",
            ),
            cgroup_parent: OfKubelet,
            restart_count: 5,
            termination_grace_seconds: Some(
                30,
            ),
            reason: "OOMKilled",
            message: "too much",
            log_path: "/var/log/pods/x/app/5.log",
            termination_message_path: None,
            termination_message_policy: None,
            termination_message: None,
            mounts: [],
            resources: None,
            user: None,
            stop_signal: None,
            ports: None,
            pre_stop: None,
        }
    "#]]
    .assert_debug_eq(&observed);
}

#[test]
fn what_a_container_was_made_with_comes_in_whole() {
    let answer = cri::ContainerStatusResponse { status: Some(full_status()), info: BTreeMap::new() };
    let observed = observed_container(answer, "s1").expect("well formed");
    let mount = Mount {
        container_path: "/data".into(),
        host_path: "/mnt".into(),
        read_only: true,
        recursive_read_only: true,
        propagation: MountPropagation::Bidirectional,
        selinux_relabel: true,
    };
    assert_eq!(observed.mounts, [mount]);
    let limits = LinuxResources {
        cpu_period_us: 1,
        cpu_quota_us: 2,
        cpu_shares: 3,
        memory_limit_bytes: 4,
        oom_score_adj: 5,
        hugepage_limits: BTreeMap::from([("2MB".to_owned(), 6)]),
        unified: BTreeMap::from([("memory.high".to_owned(), "7".to_owned())]),
        memory_swap_limit_bytes: 8,
    };
    assert_eq!(observed.resources, Some(limits));
    assert_eq!(observed.user, Some(ContainerUser { uid: 1, gid: 2, supplemental_groups: vec![3] }));
    assert_eq!(observed.stop_signal.as_deref(), Some("SIGRTMIN+3"));
}

#[test]
fn a_container_without_our_annotations_falls_back_to_what_the_cri_says() {
    let status = cri::ContainerStatus {
        id: "c1".to_owned(),
        metadata: Some(cri::ContainerMetadata { name: "app".to_owned(), attempt: 2 }),
        state: 99,
        started_at: 0,
        finished_at: -62_135_596_800_000_000,
        image_id: "sha256:bb".to_owned(),
        annotations: BTreeMap::from([(labels::CONTAINER_RESTART_COUNT.to_owned(), "many".to_owned())]),
        ..cri::ContainerStatus::default()
    };
    let answer = cri::ContainerStatusResponse { status: Some(status), info: BTreeMap::new() };
    let observed = observed_container(answer, "").expect("well formed");
    assert_eq!((observed.name.as_str(), observed.restart_count), ("app", 2));
    assert_eq!((observed.started_at, observed.finished_at), (None, None));
    assert_eq!(observed.state, ContainerRunState::Unknown, "a state from the future is unknown");
    assert_eq!(
        (observed.sandbox_id, observed.spec_hash, observed.termination_grace_seconds),
        (None, None, None)
    );
    assert_eq!((observed.resources, observed.user, observed.stop_signal), (None, None, None));
    assert!(observed.mounts.is_empty());
    assert_eq!(observed.image_id, "sha256:bb");
}

#[test]
fn a_stopped_pod_has_no_addresses() {
    let mut ready =
        observed_sandbox(sandbox_status(cri::NamespaceMode::Pod, &["10.1.0.5"])).expect("well formed");
    ready.state = SandboxState::Ready;
    let mut stopped = ready.clone();
    stopped.state = SandboxState::NotReady;
    stopped.created_at = ready.created_at + jiff::SignedDuration::from_secs(1);
    let pod = |sandboxes| {
        let absent = ObservedPod::absent(PodUid::from("u"), Timestamp::UNIX_EPOCH);
        observed_pod(ObservedPod { sandboxes, ..absent })
    };
    assert_eq!(format!("{:?}", pod(vec![ready.clone()]).ips), "[10.1.0.5]");
    let both = pod(vec![ready, stopped]);
    assert!(both.ips.is_empty(), "the newest sandbox counts, and it is stopped");
    assert_eq!(both.sandboxes[0].state, SandboxState::NotReady);
}

#[test]
fn answers_without_their_body_are_malformed() {
    assert_eq!(
        observed_sandbox(cri::PodSandboxStatusResponse::default()).expect_err("no status").to_string(),
        "PodSandboxStatus: invalid response: the status is missing"
    );
    assert_eq!(
        observed_container(cri::ContainerStatusResponse::default(), "s").expect_err("no status").to_string(),
        "ContainerStatus: invalid response: the status is missing"
    );
    assert_eq!(
        runtime_status(cri::StatusResponse::default()).expect_err("no status").to_string(),
        "Status: invalid response: the status is missing"
    );
    assert_eq!(
        image_info(cri::Image::default()).expect_err("no id").to_string(),
        "ImageStatus: invalid response: the id is empty"
    );
}

#[test]
fn what_the_runtime_can_do_is_read_and_silence_is_no() {
    let status = Some(cri::RuntimeStatus::default());
    let handler = |name: &str, features| cri::RuntimeHandler { name: name.to_owned(), features };
    let both = cri::RuntimeHandlerFeatures { recursive_read_only_mounts: true, user_namespaces: true };
    let answer = cri::StatusResponse {
        status: status.clone(),
        runtime_handlers: vec![handler("", Some(both)), handler("kata", None)],
        features: Some(cri::RuntimeFeatures {
            supplemental_groups_policy: true,
            ..cri::RuntimeFeatures::default()
        }),
        ..cri::StatusResponse::default()
    };
    let reported = runtime_status(answer).expect("well formed");
    let shown: Vec<_> = reported
        .handlers
        .iter()
        .map(|h| (h.name.as_str(), h.recursive_read_only_mounts, h.user_namespaces))
        .collect();
    assert_eq!(shown, [("", true, true), ("kata", false, false)]);
    assert!(reported.supplemental_groups_policy);
    let silent = runtime_status(cri::StatusResponse { status, ..cri::StatusResponse::default() });
    let silent = silent.expect("well formed");
    assert!(silent.handlers.is_empty() && !silent.supplemental_groups_policy);
}

#[test]
fn cgroup_drivers_of_now_are_known_and_those_of_later_are_not() {
    let answer = |cgroup_driver| cri::RuntimeConfigResponse {
        linux: Some(cri::LinuxRuntimeConfiguration { cgroup_driver }),
    };
    assert_eq!(cgroup_driver(answer(0)), Some(CgroupDriver::Systemd));
    assert_eq!(cgroup_driver(answer(1)), Some(CgroupDriver::Cgroupfs));
    assert_eq!(cgroup_driver(answer(2)), None);
    assert_eq!(cgroup_driver(cri::RuntimeConfigResponse { linux: None }), None);
}

#[test]
fn events_name_their_pod_if_they_can() {
    let event = |pod_sandbox_status| cri::ContainerEventResponse {
        container_id: "c-1".to_owned(),
        pod_sandbox_status,
        ..cri::ContainerEventResponse::default()
    };
    let of = |uid: &str| {
        let metadata =
            Some(cri::PodSandboxMetadata { uid: uid.to_owned(), ..cri::PodSandboxMetadata::default() });
        Some(cri::PodSandboxStatus { metadata, ..cri::PodSandboxStatus::default() })
    };
    for (status, uid) in [(of("u-1"), Some("u-1")), (of(""), None), (None, None)] {
        let reported = runtime_event(event(status));
        assert_eq!((reported.uid, reported.id.as_str()), (uid.map(PodUid::from), "c-1"));
    }
}

#[test]
fn an_image_comes_in_whole() {
    let image = cri::Image {
        id: "sha256:aa".to_owned(),
        repo_tags: vec!["a:1".to_owned()],
        repo_digests: vec!["a@sha256:bb".to_owned()],
        size: 9,
        uid: Some(cri::Int64Value { value: 0 }),
        username: "app".to_owned(),
        pinned: true,
        ..cri::Image::default()
    };
    let info = image_info(image).expect("well formed");
    expect![[r#"
        ImageInfo {
            id: "sha256:aa",
            repo_tags: [
                "a:1",
            ],
            repo_digests: [
                "a@sha256:bb",
            ],
            size_bytes: 9,
            uid: Some(
                0,
            ),
            username: "app",
            pinned: true,
        }
    "#]]
    .assert_debug_eq(&info);
}

#[test]
fn the_process_of_a_container_is_in_what_runtimes_say_next_to_its_status() {
    let cases = [
        (r#"{"sandboxID": "s", "pid": 4711, "snapshotter": "overlayfs"}"#, Some(4711)),
        (r#"{"pid": 0}"#, None),
        (r#"{"pid": -1}"#, None),
        (r#"{"pid": "4711"}"#, None),
        (r#"{"sandboxID": "s"}"#, None),
        ("no JSON", None),
    ];
    for (info, expected) in cases {
        let info = BTreeMap::from([("info".to_owned(), info.to_owned())]);
        let status = cri::ContainerStatusResponse { info: info.into_iter().collect(), ..Default::default() };
        assert_eq!(process(&status), expected, "{info:?}", info = status.info);
    }
    assert_eq!(process(&cri::ContainerStatusResponse::default()), None);
}

proptest! {
    #[test]
    fn any_time_that_a_runtime_can_send_is_a_time(created_at: i64, started_at: i64, finished_at: i64, state: i32) {
        let status = cri::ContainerStatus {
            id: "c".to_owned(), created_at, started_at, finished_at, state, ..cri::ContainerStatus::default()
        };
        let answer = cri::ContainerStatusResponse { status: Some(status), info: BTreeMap::new() };
        let observed = observed_container(answer, "s").expect("well formed");
        prop_assert_eq!(observed.created_at.as_nanosecond(), i128::from(created_at));
        prop_assert_eq!(observed.started_at.is_some(), started_at > 0);
    }
}
