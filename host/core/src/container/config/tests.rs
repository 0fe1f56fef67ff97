//! Tests of whole configurations: what the runtime is asked for a given pod.

use expect_test::expect;
use k8s_openapi::api::core::v1::{Node, NodeStatus};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;

use super::*;
use crate::fixtures::pod as plain_pod;
use crate::runtime::Protocol;

const POD: &str = "
metadata:
  name: web
  namespace: shop
  uid: uid-1
  labels: {app: web, io.kubernetes.pod.name: forged}
  annotations: {example.com/owner: me}
spec:
  terminationGracePeriodSeconds: 45
  containers:
  - name: main
    image: registry.example.com/web:1.2
    command: [/web, $(ADDRESS)]
    args: [--on, $(ADDRESS), $(NOBODY)]
    workingDir: /srv
    terminationMessagePath: /dev/termination-log
    terminationMessagePolicy: File
    env:
    - {name: IP, valueFrom: {fieldRef: {fieldPath: status.podIP}}}
    - {name: ADDRESS, value: '$(IP):80'}
    ports:
    - {containerPort: 80, hostPort: 8080}
    - {containerPort: 53, hostPort: 53, protocol: UDP, hostIP: 192.0.2.1}
    - {containerPort: 9090}
    resources: {requests: {cpu: 250m, memory: 1G}, limits: {memory: 2G}}
";

fn pod(yaml: &str) -> Pod {
    serde_saphyr::from_str(yaml).unwrap()
}

fn node() -> NodeFacts {
    let capacity = [("memory".to_owned(), Quantity("8G".to_owned()))].into();
    let status = Some(NodeStatus { capacity: Some(capacity), ..NodeStatus::default() });
    NodeFacts { name: "node-1".to_owned(), node: Node { status, ..Node::default() }, ..NodeFacts::default() }
}

fn container_of(pod: &Pod, restart_count: u32) -> Result<ContainerConfig, ConfigError> {
    let node = node();
    container_config(ContainerInput {
        pod,
        container: &app_containers(pod)[0],
        restart_count,
        image: ImageFacts { reference: "sha256:abc", ..ImageFacts::default() },
        mounts: &[],
        devices: &[],
        objects: Default::default(),
        pid_target: None,
        pod_ips: &["10.0.0.7".parse().unwrap()],
        host: Host::new(&node, Path::new("/var/lib/witlet/seccomp")),
    })
}

fn sandbox_of(pod: &Pod) -> Result<SandboxConfig, ConfigError> {
    let node = node();
    sandbox_config(SandboxInput {
        pod,
        attempt: 2,
        log_directory: Path::new("/var/log/pods/shop_web_uid-1"),
        user_namespace: None,
        host: Host::new(&node, Path::new("/")),
    })
}

#[test]
fn a_sandbox_carries_the_pods_names_and_ports() {
    let sandbox = sandbox_of(&pod(POD)).unwrap();
    expect![[r#"
        SandboxConfig {
            name: "web",
            namespace: "shop",
            uid: "uid-1",
            attempt: 2,
            hostname: "web",
            log_directory: "/var/log/pods/shop_web_uid-1",
            labels: {
                "app": "web",
                "io.kubernetes.pod.name": "web",
                "io.kubernetes.pod.namespace": "shop",
                "io.kubernetes.pod.uid": "uid-1",
            },
            annotations: {
                "example.com/owner": "me",
            },
            dns: None,
            port_mappings: [
                PortMapping {
                    protocol: Tcp,
                    container_port: 80,
                    host_port: 8080,
                    host_ip: None,
                },
                PortMapping {
                    protocol: Udp,
                    container_port: 53,
                    host_port: 53,
                    host_ip: Some(
                        192.0.2.1,
                    ),
                },
            ],
            network: Pod,
            pid: Container,
            ipc: Pod,
            cgroup_parent: None,
            runtime_handler: "",
            privileged: false,
            security: ContainerSecurity {
                run_as_user: None,
                run_as_group: None,
                supplemental_groups: [],
                privileged: false,
                read_only_root: false,
                no_new_privileges: false,
                capabilities_add: [],
                capabilities_drop: [],
                seccomp: RuntimeDefault,
            },
        }
    "#]]
    .assert_debug_eq(&sandbox);
}

#[test]
fn a_container_carries_what_its_spec_says() {
    let mut container = container_of(&pod(POD), 3).unwrap();
    let hash = container.annotations.remove(labels::CONTAINER_HASH);
    assert_eq!(hash, Some(container_hash(&app_containers(&pod(POD))[0])));
    expect![[r#"
        ContainerConfig {
            name: "main",
            attempt: 3,
            image: ImageFacts { reference: "sha256:abc", ..ImageFacts::default() },
            user_specified_image: "registry.example.com/web:1.2",
            command: [
                "/web",
                "10.0.0.7:80",
            ],
            args: [
                "--on",
                "10.0.0.7:80",
                "$(NOBODY)",
            ],
            working_dir: "/srv",
            env: [
                (
                    "IP",
                    "10.0.0.7",
                ),
                (
                    "ADDRESS",
                    "10.0.0.7:80",
                ),
            ],
            mounts: [],
            labels: {
                "io.kubernetes.container.name": "main",
                "io.kubernetes.pod.name": "web",
                "io.kubernetes.pod.namespace": "shop",
                "io.kubernetes.pod.uid": "uid-1",
            },
            annotations: {
                "io.kubernetes.container.restartCount": "3",
                "io.kubernetes.container.terminationMessagePath": "/dev/termination-log",
                "io.kubernetes.container.terminationMessagePolicy": "File",
                "io.kubernetes.pod.terminationGracePeriod": "45",
            },
            log_path: "main/3.log",
            stdin: false,
            stdin_once: false,
            tty: false,
            resources: LinuxResources {
                cpu_shares: 256,
                cpu_quota_us: 0,
                cpu_period_us: 100000,
                memory_limit_bytes: 2000000000,
                oom_score_adj: 875,
            },
            security: ContainerSecurity {
                run_as_user: None,
                run_as_group: None,
                supplemental_groups: [],
                privileged: false,
                read_only_root: false,
                no_new_privileges: false,
                capabilities_add: [],
                capabilities_drop: [],
                seccomp: Unconfined,
            },
        }
    "#]]
    .assert_debug_eq(&container);
}

#[test]
fn a_restarted_container_differs_in_nothing_but_its_count() {
    let pod = pod(POD);
    let mut second = container_of(&pod, 1).unwrap();
    second.attempt = 0;
    second.log_path = log_path("main", 0);
    second.annotations.insert(labels::CONTAINER_RESTART_COUNT.to_owned(), "0".to_owned());
    assert_eq!(second, container_of(&pod, 0).unwrap());
}

#[test]
fn namespaces_are_the_pods_own_unless_it_asks_for_others() {
    let of = |fields: &str| {
        let sandbox = sandbox_of(&pod(&format!("{{spec: {{containers: [], {fields}}}}}"))).unwrap();
        (sandbox.network, sandbox.pid, sandbox.ipc)
    };
    use NamespaceMode::{Container, Node, Pod};
    assert_eq!(of("restartPolicy: Always"), (Pod, Container, Pod));
    assert_eq!(of("hostNetwork: true"), (Node, Container, Pod));
    assert_eq!(of("hostPID: true"), (Pod, Node, Pod));
    assert_eq!(of("hostIPC: true"), (Pod, Container, Node));
    assert_eq!(of("shareProcessNamespace: true"), (Pod, Pod, Pod));
}

#[test]
fn a_pod_on_the_host_network_maps_no_ports_and_keeps_the_hosts_name() {
    let mut pod = pod(POD);
    crate::fixtures::spec(&mut pod).host_network = Some(true);
    let sandbox = sandbox_of(&pod).unwrap();
    assert_eq!((sandbox.port_mappings, sandbox.hostname), (vec![], String::new()));
}

#[test]
fn host_names_are_cut_to_what_linux_takes() {
    let long = "a".repeat(62);
    let cases = [
        ("web".to_owned(), "web".to_owned()),
        ("a".repeat(63), "a".repeat(63)),
        ("a".repeat(64), "a".repeat(63)),
        (format!("{long}-b"), long.clone()),
        (format!("{long}.-b"), long.clone()),
        (format!("{long}üb"), long.clone()),
    ];
    for (name, expected) in cases {
        let mut pod = plain_pod("Always", &["a"]);
        pod.metadata.name = Some(name.clone());
        assert_eq!(sandbox_of(&pod).unwrap().hostname, expected, "{name}");
        crate::fixtures::spec(&mut pod).hostname = Some("own".to_owned());
        assert_eq!(sandbox_of(&pod).unwrap().hostname, "own");
    }
}

#[test]
fn a_pod_that_brings_its_own_resolv_conf_gets_it() {
    let of = |fields: &str| sandbox_of(&pod(&format!("{{spec: {{containers: [], {fields}}}}}")));
    let config = "dnsConfig: {nameservers: [192.0.2.53], searches: [example.com],
                  options: [{name: ndots, value: '2'}, {name: edns0}]}";
    let expected = DnsConfig {
        servers: vec!["192.0.2.53".to_owned()],
        searches: vec!["example.com".to_owned()],
        options: vec!["ndots:2".to_owned(), "edns0".to_owned()],
    };
    assert_eq!(of(&format!("dnsPolicy: None, {config}")).unwrap().dns, Some(expected));
    assert_eq!(of("dnsPolicy: Default").unwrap().dns, None);
    assert!(matches!(of(&format!("dnsPolicy: Default, {config}")), Err(ConfigError::Unsupported { .. })));
}

#[test]
fn ports_that_are_none_are_refused() {
    let of = |port: &str| {
        sandbox_of(&pod(&format!("{{spec: {{containers: [{{name: a, ports: [{port}]}}]}}}}")))
            .map(|sandbox| sandbox.port_mappings.len())
            .map_err(|error| error.to_string())
    };
    let no_port = |port| Err(format!("container a: port {port} is not between 1 and 65535"));
    assert_eq!(of("{containerPort: 65535, hostPort: 1, protocol: SCTP}"), Ok(1));
    assert_eq!(of("{containerPort: 80, hostPort: 0}"), Ok(0));
    assert_eq!(of("{containerPort: 80, hostPort: 65536}"), no_port(65536));
    assert_eq!(of("{containerPort: 0, hostPort: 80}"), no_port(0));
    assert_eq!(of("{containerPort: 80, hostPort: -1}"), no_port(-1));
    let no_address = Err("container a: hostIP \"here\" is not an IP address".to_owned());
    assert_eq!(of("{containerPort: 80, hostPort: 80, hostIP: here}"), no_address);
    assert_eq!(protocol(Some("SCTP")), Protocol::Sctp);
}

#[test]
fn what_this_release_does_not_do_is_refused_and_never_left_out() {
    for (field, yaml) in [
        ("envFrom of container a", "envFrom: [{configMapRef: {name: c}}]"),
        ("volumeMounts of container a", "volumeMounts: [{name: v, mountPath: /v}]"),
        ("volumeDevices of container a", "volumeDevices: [{name: v, devicePath: /v}]"),
    ] {
        let pod = pod(&format!("{{spec: {{containers: [{{name: a, {yaml}}}]}}}}"));
        let expected = Err(ConfigError::Unsupported { field: field.to_owned() });
        assert_eq!(container_of(&pod, 0), expected);
    }
    for (field, yaml) in [
        ("spec.runtimeClassName", "runtimeClassName: gvisor"),
        ("spec.initContainers", "initContainers: [{name: a}]"),
        ("spec.ephemeralContainers", "ephemeralContainers: [{name: a}]"),
    ] {
        let pod = pod(&format!("{{spec: {{containers: [], {yaml}}}}}"));
        assert_eq!(sandbox_of(&pod), Err(ConfigError::Unsupported { field: field.to_owned() }));
    }
}

#[test]
fn a_pod_without_anything_makes_no_trouble() {
    assert_eq!(sandbox_of(&Pod::default()).unwrap().hostname, "");
    assert_eq!(memory_capacity(&NodeFacts::default()), 0);
}
