//! Tests of whole specs: what the runtime is asked for a given pod.

use expect_test::expect_file;

use super::*;
use crate::container::plan::app_containers;
use crate::fixtures::pod as plain_pod;
use crate::runtime::{
    Device, DnsConfig, IdMapping, LinuxResources, Mount, NamespaceMode, Protocol, RuntimeHandler,
    SandboxSpec, UserNamespace,
};

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
    args: [--on, $(ADDRESS), $(UNSET)]
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

fn container_of(pod: &Pod, restart_count: u32) -> Result<ContainerSpec, SpecError> {
    let node = fixtures::node("1");
    let ips = ["10.0.0.7".parse().unwrap()];
    let input = fixtures::input(pod, &app_containers(pod)[0], fixtures::host(&node));
    container_spec(ContainerInput { restart_count, pod_ips: &ips, ..input })
}

fn sandbox_with(
    pod: &Pod,
    change: impl for<'a> FnOnce(&mut Host<'a>, &mut Option<&'a UserNamespace>),
) -> Result<SandboxSpec, SpecError> {
    let node = fixtures::node("1");
    let mut host = fixtures::host(&node);
    let mut user_namespace = None;
    change(&mut host, &mut user_namespace);
    let log_directory = Path::new("/var/log/pods/shop_web_uid-1");
    sandbox_spec(SandboxInput { pod, attempt: 2, log_directory, user_namespace, host })
}

fn sandbox_of(pod: &Pod) -> Result<SandboxSpec, SpecError> {
    sandbox_with(pod, |_, _| {})
}

/// The sandbox of a pod with these fields in its spec.
fn sandbox_from(fields: &str) -> Result<SandboxSpec, SpecError> {
    sandbox_of(&pod(&format!("{{metadata: {{name: web}}, spec: {{containers: [], {fields}}}}}")))
}

#[test]
fn a_sandbox_carries_the_pods_names_and_ports() {
    let sandbox = sandbox_of(&pod(POD)).unwrap();
    expect_file!["tests/sandbox.txt"].assert_debug_eq(&sandbox);
}

#[test]
fn a_container_carries_what_its_spec_says() {
    let mut container = container_of(&pod(POD), 3).unwrap();
    let pod = pod(POD);
    let app = &app_containers(&pod)[0];
    // A kubelet that takes this agent's place finds its own hash, and restarts nothing.
    let hashes =
        [labels::CONTAINER_HASH, labels::OWN_CONTAINER_HASH].map(|key| container.annotations.remove(key));
    assert_eq!(hashes, [Some(kubelet_hash(app)), Some(container_hash(app))]);
    expect_file!["tests/container.txt"].assert_debug_eq(&container);
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
        let sandbox = sandbox_from(fields).unwrap();
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
fn a_pod_gets_a_resolv_conf_where_there_is_something_to_say() {
    let own = "dnsPolicy: None, dnsConfig: {nameservers: [192.0.2.53], searches: [example.com],
               options: [{name: ndots, value: '2'}, {name: edns0}]}";
    let expected = DnsConfig {
        servers: vec!["192.0.2.53".to_owned()],
        searches: vec!["example.com".to_owned()],
        options: vec!["ndots:2".to_owned(), "edns0".to_owned()],
    };
    assert_eq!(sandbox_from(own).unwrap().dns, Some(expected));
    assert_eq!(sandbox_from("dnsPolicy: Default").unwrap().dns, None);
    let broken = sandbox_with(&plain_pod("Always", &["a"]), |host, _| host.resolv_conf = Some("nameserver"));
    assert!(matches!(broken, Err(SpecError::ResolvConf(_))));
}

#[test]
fn a_class_of_runtime_leads_to_its_handler() {
    let classes = BTreeMap::from([("sandboxed".to_owned(), "runsc".to_owned())]);
    let with_class = |class: &str| {
        let mut pod = plain_pod("Always", &["a"]);
        crate::fixtures::spec(&mut pod).runtime_class_name = Some(class.to_owned());
        let node = fixtures::node("1");
        let host = Host { runtime_classes: &classes, ..fixtures::host(&node) };
        let log_directory = Path::new("/");
        sandbox_spec(SandboxInput { pod: &pod, attempt: 0, log_directory, user_namespace: None, host })
            .map(|sandbox| sandbox.runtime_handler)
            .map_err(|error| error.to_string())
    };
    assert_eq!(with_class("sandboxed").as_deref(), Ok("runsc"));
    assert_eq!(with_class("").as_deref(), Ok(""));
    assert_eq!(with_class("other"), Err("runtimeclass.node.k8s.io \"other\" not found".to_owned()));
    assert_eq!(sandbox_from("restartPolicy: Always").unwrap().runtime_handler, "");
}

#[test]
fn a_pod_with_ids_of_its_own_gets_those_that_were_set_apart() {
    let mapping = IdMapping { host_id: 65_536, container_id: 0, length: 65_536 };
    let ids = UserNamespace { uids: vec![mapping], gids: vec![mapping] };
    let with_ids = |host_users: Option<bool>, ids: Option<&UserNamespace>| {
        let mut pod = plain_pod("Always", &["a"]);
        crate::fixtures::spec(&mut pod).host_users = host_users;
        let node = fixtures::node("1");
        let handlers = [RuntimeHandler { user_namespaces: true, ..RuntimeHandler::default() }];
        let host = Host { runtime_handlers: &handlers, ..fixtures::host(&node) };
        let log_directory = Path::new("/");
        sandbox_spec(SandboxInput { pod: &pod, attempt: 0, log_directory, user_namespace: ids, host })
            .map(|sandbox| sandbox.user_namespace)
    };
    assert_eq!(with_ids(Some(false), Some(&ids)), Ok(Some(ids.clone())));
    assert_eq!(with_ids(Some(false), None), Err(SpecError::NoUserNamespace));
    assert_eq!(with_ids(Some(true), Some(&ids)), Ok(None));
    assert_eq!(with_ids(None, None), Ok(None));
}

#[test]
fn a_pod_with_ids_of_its_own_is_refused_where_its_handler_knows_no_user_namespaces() {
    let mapping = IdMapping { host_id: 65_536, container_id: 0, length: 65_536 };
    let ids = UserNamespace { uids: vec![mapping], gids: vec![mapping] };
    let handler = |name: &str, user_namespaces| RuntimeHandler {
        name: name.to_owned(),
        user_namespaces,
        ..RuntimeHandler::default()
    };
    let able = [handler("", true), handler("runsc", false)];
    let unable = [handler("", false), handler("runsc", true)];
    let classes = BTreeMap::from([("sandboxed".to_owned(), "runsc".to_owned())]);
    let refusal = |class: Option<&str>, runtime_handlers: &[RuntimeHandler]| {
        let mut pod = plain_pod("Always", &["a"]);
        let spec = crate::fixtures::spec(&mut pod);
        (spec.host_users, spec.runtime_class_name) = (Some(false), class.map(str::to_owned));
        let node = fixtures::node("1");
        let host = Host { runtime_classes: &classes, runtime_handlers, ..fixtures::host(&node) };
        let log_directory = Path::new("/");
        let input = SandboxInput { pod: &pod, attempt: 0, log_directory, user_namespace: Some(&ids), host };
        sandbox_spec(input).err().map(|error| error.to_string())
    };
    let of_runtime = "can't set `spec.hostUsers: false`, runtime does not support user namespaces";
    let of_class =
        "can't set `spec.hostUsers: false`, RuntimeClass handler \"runsc\" does not support user namespaces";
    assert_eq!(refusal(None, &able), None);
    assert_eq!(refusal(Some("sandboxed"), &unable), None);
    assert_eq!(refusal(None, &unable).as_deref(), Some(of_runtime));
    // An old runtime names no handlers.
    assert_eq!(refusal(None, &[]).as_deref(), Some(of_runtime));
    assert_eq!(refusal(Some("sandboxed"), &able).as_deref(), Some(of_class));
    let unknown = format!("{of_class}: the handler \"runsc\" is not known");
    assert_eq!(refusal(Some("sandboxed"), &able[..1]).as_deref(), Some(unknown.as_str()));
}

#[test]
fn kernel_parameters_have_points_in_their_names() {
    let sysctls = "securityContext: {sysctls: [
        {name: net.ipv4.tcp_rmem, value: '1'}, {name: net/ipv4/conf/eno2.100/rp_filter, value: '2'},
        {name: net.ipv4.conf.eno2/100.rp_filter, value: '3'}, {name: kernel/shm_rmid_forced, value: '4'},
        {name: plain, value: '5'}]}";
    let pod = pod(&format!("{{metadata: {{name: web}}, spec: {{containers: [], {sysctls}}}}}"));
    let expected = [
        ("net.ipv4.tcp_rmem", "1"),
        ("net.ipv4.conf.eno2/100.rp_filter", "3"),
        ("kernel.shm_rmid_forced", "4"),
        ("plain", "5"),
    ];
    let expected = BTreeMap::from(expected.map(|(name, value)| (name.to_owned(), value.to_owned())));
    let node = fixtures::node("1");
    let log_directory = Path::new("/");
    let host = fixtures::host(&node);
    let input = SandboxInput { pod: &pod, attempt: 0, log_directory, user_namespace: None, host };
    assert_eq!(sandbox_spec(input).unwrap().sysctls, expected);
}

#[test]
fn a_sandbox_says_what_it_costs_and_what_its_containers_need() {
    let pod = pod("{spec: {overhead: {cpu: 250m, memory: 120Mi}, containers: [
        {name: a, resources: {requests: {cpu: 500m}, limits: {cpu: 1, memory: 1Gi}}},
        {name: b, resources: {limits: {cpu: 1, memory: 1Gi}, requests: {cpu: 500m}}}],
        initContainers: [{name: i, resources: {limits: {cpu: 3, memory: 1Gi}}}]}}");
    let sandbox = sandbox_of(&pod).unwrap();
    let figures = |cpu_shares, cpu_quota_us, mib: i64| LinuxResources {
        cpu_shares,
        cpu_quota_us,
        cpu_period_us: 100_000,
        memory_limit_bytes: mib << 20,
        ..LinuxResources::default()
    };
    assert_eq!(sandbox.overhead, figures(256, 25_000, 120));
    assert_eq!(sandbox.resources, figures(1_024, 300_000, 2_048));
    assert_eq!(sandbox_from("restartPolicy: Always").unwrap().overhead, LinuxResources::default());
}

#[test]
fn the_full_name_is_the_kernels_name_where_the_pod_says_so() {
    let named = |fields: &str| {
        let pod =
            pod(&format!("{{metadata: {{name: web, namespace: ns}}, spec: {{containers: [], {fields}}}}}"));
        sandbox_with(&pod, |host, _| host.cluster_domain = "cluster.test").map(|sandbox| sandbox.hostname)
    };
    assert_eq!(named("subdomain: sub").as_deref(), Ok("web"));
    assert_eq!(
        named("subdomain: sub, setHostnameAsFQDN: true").as_deref(),
        Ok("web.sub.ns.svc.cluster.test")
    );
    assert_eq!(named("setHostnameAsFQDN: true").as_deref(), Ok("web"));
    let long = format!("subdomain: {}, setHostnameAsFQDN: true", "s".repeat(50));
    assert!(matches!(named(&long), Err(SpecError::Hostname(_))));
    assert_eq!(named(&format!("{long}, hostNetwork: true")).as_deref(), Ok(""));
}

#[test]
fn ports_of_sidecars_are_mapped_and_of_init_containers_not() {
    let ports = sandbox_from(
        "initContainers: [{name: s, restartPolicy: Always, ports: [{containerPort: 1, hostPort: 2}]},
                          {name: i, ports: [{containerPort: 3, hostPort: 4}]}]",
    );
    assert_eq!(ports.unwrap().port_mappings.iter().map(|port| port.host_port).collect::<Vec<_>>(), [2]);
}

#[test]
fn what_others_hand_in_is_passed_on() {
    let pod =
        pod("{spec: {containers: [{name: a, lifecycle: {stopSignal: SIGUSR1}, stdin: true, tty: true}]}}");
    let node = fixtures::node("1");
    let mounts = [Mount {
        container_path: "/data".into(),
        host_path: "/srv/data".into(),
        read_only: true,
        recursive_read_only: false,
        propagation: Default::default(),
        selinux_relabel: false,
    }];
    let devices = [Device {
        container_path: "/dev/fuse".into(),
        host_path: "/dev/fuse".into(),
        permissions: "rw".to_owned(),
    }];
    let target = "c1".into();
    let input = fixtures::input(&pod, &app_containers(&pod)[0], fixtures::host(&node));
    let spec = container_spec(ContainerInput {
        mounts: &mounts,
        devices: &devices,
        pid_target: Some(&target),
        ..input
    });
    let spec = spec.unwrap();
    assert_eq!((spec.mounts.as_slice(), spec.devices.as_slice()), (&mounts[..], &devices[..]));
    assert_eq!((spec.pid_target, spec.stop_signal.as_deref()), (Some(target), Some("SIGUSR1")));
    assert!(spec.stdin && spec.tty && !spec.stdin_once);
}

#[test]
fn the_processes_of_another_container_are_aimed_at_only_where_each_has_its_own() {
    let aimed = |fields: &str| {
        let pod = pod(&format!("{{metadata: {{name: web}}, spec: {{containers: [{{name: a}}], {fields}}}}}"));
        let (node, target) = (fixtures::node("1"), "c1".into());
        let input = fixtures::input(&pod, &app_containers(&pod)[0], fixtures::host(&node));
        container_spec(ContainerInput { pid_target: Some(&target), ..input }).unwrap().pid_target.is_some()
    };
    assert!(aimed("restartPolicy: Always"));
    assert!(!aimed("shareProcessNamespace: true"));
    assert!(!aimed("hostPID: true"));
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
    assert_eq!(crate::pod::resources::protocol(Some("SCTP")), Protocol::Sctp);
}

#[test]
fn block_devices_are_refused_and_never_left_out() {
    let pod = pod("{spec: {containers: [{name: a, volumeDevices: [{name: v, devicePath: /v}]}]}}");
    let expected = Err(SpecError::Unsupported { field: "volumeDevices of container a".to_owned() });
    assert_eq!(container_of(&pod, 0), expected);
}

#[test]
fn a_pod_without_anything_makes_no_trouble() {
    assert_eq!(sandbox_of(&Pod::default()).unwrap().hostname, "");
    assert_eq!(linux::memory_capacity(fixtures::host(&Default::default())), 0);
}
