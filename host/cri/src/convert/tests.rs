//! Every field that crosses the edge, both ways.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use expect_test::expect;
use jiff::Timestamp;
use proptest::prelude::*;
use witlet_core::pod::PodUid;
use witlet_core::runtime::{
    ContainerConfig, ContainerRunState, ContainerSecurity, DnsConfig, LinuxResources, Mount, NamespaceMode,
    ObservedPod, PortMapping, Protocol, SandboxConfig, SandboxState, SeccompProfile, labels,
};
use witlet_proto::cri;

use super::*;

fn sandbox() -> SandboxConfig {
    SandboxConfig {
        name: "web".to_owned(),
        namespace: "shop".to_owned(),
        uid: "u-1".to_owned(),
        attempt: 2,
        hostname: "web".to_owned(),
        log_directory: PathBuf::from("/var/log/pods/shop_web_u-1"),
        labels: BTreeMap::from([(labels::POD_UID.to_owned(), "u-1".to_owned())]),
        annotations: BTreeMap::from([("team".to_owned(), "tills".to_owned())]),
        dns: Some(DnsConfig {
            servers: vec!["10.0.0.10".to_owned()],
            searches: vec!["shop.svc".to_owned()],
            options: vec!["ndots:5".to_owned()],
        }),
        port_mappings: vec![PortMapping {
            protocol: Protocol::Udp,
            container_port: 53,
            host_port: 5353,
            host_ip: Some("127.0.0.1".parse().expect("an address")),
        }],
        network: NamespaceMode::Pod,
        pid: NamespaceMode::Container,
        ipc: NamespaceMode::Node,
        cgroup_parent: Some("/kubepods/podu-1".to_owned()),
        runtime_handler: "gvisor".to_owned(),
        privileged: true,
        security: ContainerSecurity {
            run_as_user: Some(65_534),
            run_as_group: Some(0),
            supplemental_groups: vec![7],
            read_only_root: true,
            seccomp: SeccompProfile::RuntimeDefault,
            ..ContainerSecurity::default()
        },
    }
}

#[test]
fn a_sandbox_goes_out_whole() {
    let sent = sandbox_config(&sandbox());
    let linux = sent.linux.clone().expect("always set");
    assert_eq!(
        sent,
        cri::PodSandboxConfig {
            metadata: Some(cri::PodSandboxMetadata {
                name: "web".to_owned(),
                uid: "u-1".to_owned(),
                namespace: "shop".to_owned(),
                attempt: 2,
            }),
            hostname: "web".to_owned(),
            log_directory: "/var/log/pods/shop_web_u-1".to_owned(),
            dns_config: Some(cri::DnsConfig {
                servers: vec!["10.0.0.10".to_owned()],
                searches: vec!["shop.svc".to_owned()],
                options: vec!["ndots:5".to_owned()],
            }),
            port_mappings: vec![cri::PortMapping {
                protocol: cri::Protocol::Udp.into(),
                container_port: 53,
                host_port: 5353,
                host_ip: "127.0.0.1".to_owned(),
            }],
            labels: BTreeMap::from([("io.kubernetes.pod.uid".to_owned(), "u-1".to_owned())]),
            annotations: BTreeMap::from([("team".to_owned(), "tills".to_owned())]),
            linux: Some(linux.clone()),
            windows: None,
        }
    );
    assert_eq!(linux.cgroup_parent, "/kubepods/podu-1");
    let security = linux.security_context.expect("always set");
    let namespaces = security.namespace_options.clone().expect("always set");
    assert_eq!(
        (namespaces.network(), namespaces.pid(), namespaces.ipc()),
        (cri::NamespaceMode::Pod, cri::NamespaceMode::Container, cri::NamespaceMode::Node)
    );
    assert_eq!(security.run_as_user, Some(cri::Int64Value { value: 65_534 }));
    assert_eq!(security.run_as_group, Some(cri::Int64Value { value: 0 }), "root's group isn't an absent one");
    assert_eq!(security.supplemental_groups, [7]);
    assert!(security.readonly_rootfs && security.privileged);
    assert_eq!(
        security.seccomp.map(|s| s.profile_type()),
        Some(cri::security_profile::ProfileType::RuntimeDefault)
    );
}

fn container() -> ContainerConfig {
    ContainerConfig {
        name: "app".to_owned(),
        attempt: 3,
        image: "sha256:aa".to_owned(),
        user_specified_image: "app:1".to_owned(),
        command: vec!["/bin/app".to_owned()],
        args: vec!["--fast".to_owned()],
        working_dir: "/srv".to_owned(),
        env: vec![("B".to_owned(), "2".to_owned()), ("A".to_owned(), "1".to_owned())],
        mounts: vec![Mount {
            container_path: "/data".into(),
            host_path: "/mnt/data".into(),
            read_only: true,
        }],
        labels: BTreeMap::from([("l".to_owned(), "1".to_owned())]),
        annotations: BTreeMap::from([("a".to_owned(), "2".to_owned())]),
        log_path: PathBuf::from("app/3.log"),
        stdin: true,
        stdin_once: true,
        tty: true,
        resources: LinuxResources {
            cpu_shares: 512,
            cpu_quota_us: 50_000,
            cpu_period_us: 100_000,
            memory_limit_bytes: 1 << 30,
            oom_score_adj: -997,
        },
        security: ContainerSecurity {
            run_as_user: None,
            privileged: true,
            read_only_root: true,
            no_new_privileges: true,
            capabilities_add: vec!["NET_ADMIN".to_owned()],
            capabilities_drop: vec!["ALL".to_owned()],
            seccomp: SeccompProfile::Localhost("/etc/seccomp/app.json".into()),
            ..ContainerSecurity::default()
        },
    }
}

#[test]
fn a_container_goes_out_whole_and_shares_its_sandboxs_namespaces() {
    let sent = container_config(&container(), &sandbox());
    assert_eq!(sent.metadata, Some(cri::ContainerMetadata { name: "app".to_owned(), attempt: 3 }));
    let image = sent.image.expect("always set");
    assert_eq!((image.image.as_str(), image.user_specified_image.as_str()), ("sha256:aa", "app:1"));
    assert_eq!((sent.command, sent.args), (vec!["/bin/app".to_owned()], vec!["--fast".to_owned()]));
    assert_eq!(sent.working_dir, "/srv");
    let env: Vec<_> = sent.envs.iter().map(|e| format!("{}={}", e.key, e.value)).collect();
    assert_eq!(env, ["B=2", "A=1"], "in order");
    let mounts: Vec<_> =
        sent.mounts.iter().map(|m| (m.container_path.as_str(), m.host_path.as_str(), m.readonly)).collect();
    assert_eq!(mounts, [("/data", "/mnt/data", true)]);
    assert_eq!((sent.labels["l"].as_str(), sent.annotations["a"].as_str()), ("1", "2"));
    assert_eq!(
        (sent.log_path.as_str(), sent.stdin, sent.stdin_once, sent.tty),
        ("app/3.log", true, true, true)
    );
    let linux = sent.linux.expect("always set");
    expect![[r#"
        LinuxContainerResources {
            cpu_period: 100000,
            cpu_quota: 50000,
            cpu_shares: 512,
            memory_limit_in_bytes: 1073741824,
            oom_score_adj: -997,
            cpuset_cpus: "",
            cpuset_mems: "",
            hugepage_limits: [],
            unified: {},
            memory_swap_limit_in_bytes: 0,
        }
    "#]]
    .assert_debug_eq(&linux.resources.expect("always set"));
    let security = linux.security_context.expect("always set");
    assert_eq!(
        security.namespace_options,
        sandbox_config(&sandbox()).linux.and_then(|l| l.security_context).and_then(|s| s.namespace_options)
    );
    assert_eq!(security.run_as_user, None, "the image decides");
    assert!(security.privileged && security.readonly_rootfs && security.no_new_privs);
    let capabilities = security.capabilities.expect("always set");
    assert_eq!(
        (capabilities.add_capabilities, capabilities.drop_capabilities),
        (vec!["NET_ADMIN".to_owned()], vec!["ALL".to_owned()])
    );
    let seccomp = security.seccomp.expect("always set");
    assert_eq!(seccomp.profile_type(), cri::security_profile::ProfileType::Localhost);
    assert_eq!(seccomp.localhost_ref, "/etc/seccomp/app.json");
    assert!(security.masked_paths.contains(&"/proc/kcore".to_owned()));
    assert!(security.readonly_paths.contains(&"/proc/sys".to_owned()));
}

#[test]
fn protocols_and_namespaces_keep_their_meaning() {
    for (ours, theirs) in [
        (Protocol::Tcp, cri::Protocol::Tcp),
        (Protocol::Udp, cri::Protocol::Udp),
        (Protocol::Sctp, cri::Protocol::Sctp),
    ] {
        let mut config = sandbox();
        config.port_mappings[0].protocol = ours;
        assert_eq!(sandbox_config(&config).port_mappings[0].protocol(), theirs);
    }
    for (ours, theirs) in [
        (NamespaceMode::Pod, cri::NamespaceMode::Pod),
        (NamespaceMode::Container, cri::NamespaceMode::Container),
        (NamespaceMode::Node, cri::NamespaceMode::Node),
    ] {
        let sent = sandbox_config(&SandboxConfig { network: ours, ..sandbox() });
        let options = sent.linux.and_then(|l| l.security_context).and_then(|s| s.namespace_options);
        assert_eq!(options.map(|o| o.network()), Some(theirs));
    }
}

#[test]
fn a_grace_is_never_rounded_down() {
    for (grace, seconds) in [
        (Duration::ZERO, 0),
        (Duration::from_millis(1), 1),
        (Duration::from_secs(30), 30),
        (Duration::from_millis(30_001), 31),
        (Duration::MAX, i64::MAX),
    ] {
        assert_eq!(whole_seconds(grace), seconds, "{grace:?}");
    }
}

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
    assert_eq!(error.to_string(), r#"PodSandboxStatus: malformed answer: "ten.one" is no IP address"#);
}

#[test]
fn a_container_status_comes_in_whole() {
    let status = cri::ContainerStatus {
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
        ..cri::ContainerStatus::default()
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
            restart_count: 5,
            termination_grace_seconds: Some(
                30,
            ),
            reason: "OOMKilled",
            message: "too much",
            log_path: "/var/log/pods/x/app/5.log",
        }
    "#]]
    .assert_debug_eq(&observed);
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
        "PodSandboxStatus: malformed answer: the status is missing"
    );
    assert_eq!(
        observed_container(cri::ContainerStatusResponse::default(), "s").expect_err("no status").to_string(),
        "ContainerStatus: malformed answer: the status is missing"
    );
    assert_eq!(
        runtime_status(cri::StatusResponse::default()).expect_err("no status").to_string(),
        "Status: malformed answer: the status is missing"
    );
    assert_eq!(
        image_info(cri::Image::default()).expect_err("no id").to_string(),
        "ImageStatus: malformed answer: the id is empty"
    );
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
