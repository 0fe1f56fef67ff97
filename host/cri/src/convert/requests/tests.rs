//! Every field that goes out.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use expect_test::expect;
use witlet_core::runtime::{
    AppArmorProfile, ContainerSecurity, ContainerSpec, Device, DnsConfig, IdMapping, ImageAuth,
    LinuxResources, Mount, MountPropagation, NamespaceMode, PortMapping, Protocol, SandboxSpec,
    SeccompProfile, SelinuxLabel, SupplementalGroupsPolicy, UserNamespace, labels,
};
use witlet_proto::cri;
use witlet_proto::cri::security_profile::ProfileType;

use super::*;

fn ids(host_id: u32) -> IdMapping {
    IdMapping { host_id, container_id: 0, length: 65_536 }
}

fn sent_ids(host_id: u32) -> Vec<cri::IdMapping> {
    vec![cri::IdMapping { host_id, container_id: 0, length: 65_536 }]
}

fn sandbox() -> SandboxSpec {
    SandboxSpec {
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
        user_namespace: Some(UserNamespace { uids: vec![ids(100_000)], gids: vec![ids(200_000)] }),
        sysctls: BTreeMap::from([("net.core.somaxconn".to_owned(), "1024".to_owned())]),
        overhead: LinuxResources { memory_limit_bytes: 7, ..LinuxResources::default() },
        resources: LinuxResources { cpu_shares: 11, ..LinuxResources::default() },
        cgroup_parent: Some("/kubepods/podu-1".to_owned()),
        runtime_handler: "gvisor".to_owned(),
        privileged: true,
        security: ContainerSecurity {
            run_as_user: Some(65_534),
            run_as_group: Some(0),
            supplemental_groups: vec![7],
            supplemental_groups_policy: SupplementalGroupsPolicy::Strict,
            read_only_root: true,
            seccomp: SeccompProfile::RuntimeDefault,
            apparmor: Some(AppArmorProfile::RuntimeDefault),
            selinux: Some(SelinuxLabel { level: "s0:c1".to_owned(), ..SelinuxLabel::default() }),
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
    assert_eq!(security.supplemental_groups_policy(), cri::SupplementalGroupsPolicy::Strict);
    assert!(security.readonly_rootfs && security.privileged);
    assert_eq!(security.seccomp.map(|s| s.profile_type()), Some(ProfileType::RuntimeDefault));
    assert_eq!(security.apparmor.map(|s| s.profile_type()), Some(ProfileType::RuntimeDefault));
    assert_eq!(security.selinux_options.map(|s| s.level).as_deref(), Some("s0:c1"));
    let user = namespaces.userns_options.expect("the pod has its own");
    assert_eq!(user.mode(), cri::NamespaceMode::Pod);
    assert_eq!((user.uids, user.gids), (sent_ids(100_000), sent_ids(200_000)));
    assert_eq!(linux.sysctls, BTreeMap::from([("net.core.somaxconn".to_owned(), "1024".to_owned())]));
    assert_eq!(linux.overhead.map(|r| r.memory_limit_in_bytes), Some(7));
    assert_eq!(linux.resources.map(|r| r.cpu_shares), Some(11));
}

fn container() -> ContainerSpec {
    ContainerSpec {
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
            recursive_read_only: true,
            propagation: MountPropagation::HostToContainer,
            selinux_relabel: true,
        }],
        devices: vec![Device {
            container_path: "/dev/a".into(),
            host_path: "/dev/b".into(),
            permissions: "rw".to_owned(),
        }],
        labels: BTreeMap::from([("l".to_owned(), "1".to_owned())]),
        annotations: BTreeMap::from([("a".to_owned(), "2".to_owned())]),
        log_path: PathBuf::from("app/3.log"),
        stdin: true,
        stdin_once: true,
        tty: true,
        stop_signal: Some("SIGRTMIN+3".to_owned()),
        pid_target: None,
        resources: LinuxResources {
            cpu_shares: 512,
            cpu_quota_us: 50_000,
            cpu_period_us: 100_000,
            memory_limit_bytes: 1 << 30,
            oom_score_adj: -997,
            memory_swap_limit_bytes: 2 << 30,
            hugepage_limits: BTreeMap::from([("2MB".to_owned(), 4 << 20), ("1GB".to_owned(), 0)]),
            unified: BTreeMap::from([("memory.high".to_owned(), "1".to_owned())]),
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
    let sent = container_config(&container(), &sandbox()).expect("it has a signal that there is");
    assert_eq!(sent.metadata, Some(cri::ContainerMetadata { name: "app".to_owned(), attempt: 3 }));
    let image = sent.image.expect("always set");
    assert_eq!((image.image.as_str(), image.user_specified_image.as_str()), ("sha256:aa", "app:1"));
    assert_eq!((sent.command, sent.args), (vec!["/bin/app".to_owned()], vec!["--fast".to_owned()]));
    assert_eq!(sent.working_dir, "/srv");
    let env: Vec<_> = sent.envs.iter().map(|e| format!("{}={}", e.key, e.value)).collect();
    assert_eq!(env, ["B=2", "A=1"], "in order");
    let mount = cri::Mount {
        container_path: "/data".to_owned(),
        host_path: "/mnt/data".to_owned(),
        readonly: true,
        selinux_relabel: true,
        propagation: cri::MountPropagation::PropagationHostToContainer.into(),
        uid_mappings: sent_ids(100_000),
        gid_mappings: sent_ids(200_000),
        recursive_read_only: true,
        ..cri::Mount::default()
    };
    assert_eq!(sent.mounts, [mount]);
    let device = |one: &cri::Device| format!("{} {} {}", one.container_path, one.host_path, one.permissions);
    assert_eq!(sent.devices.iter().map(device).collect::<Vec<_>>(), ["/dev/a /dev/b rw"]);
    assert_eq!(sent.stop_signal, i32::from(cri::Signal::Sigrtminplus3));
    assert_eq!((sent.labels["l"].as_str(), sent.annotations["a"].as_str()), ("1", "2"));
    assert_eq!(
        (sent.log_path.as_str(), sent.stdin, sent.stdin_once, sent.tty),
        ("app/3.log", true, true, true)
    );
}

#[test]
fn a_containers_limits_and_powers_go_out_whole() {
    let sent = container_config(&container(), &sandbox()).expect("it has a signal that there is");
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
            hugepage_limits: [
                HugepageLimit {
                    page_size: "1GB",
                    limit: 0,
                },
                HugepageLimit {
                    page_size: "2MB",
                    limit: 4194304,
                },
            ],
            unified: {
                "memory.high": "1",
            },
            memory_swap_limit_in_bytes: 2147483648,
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
    assert_eq!(seccomp.profile_type(), ProfileType::Localhost);
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
        let sent = sandbox_config(&SandboxSpec { network: ours, ..sandbox() });
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

fn security_of(change: impl FnOnce(&mut ContainerSpec)) -> cri::LinuxContainerSecurityContext {
    let mut config = ContainerSpec::default();
    change(&mut config);
    let sent = container_config(&config, &SandboxSpec::default()).expect("no odd signal");
    sent.linux.and_then(|linux| linux.security_context).expect("always set")
}

#[test]
fn what_no_one_asks_for_is_left_to_the_runtime() {
    let sent = container_config(&ContainerSpec::default(), &SandboxSpec::default()).expect("no odd signal");
    assert_eq!(sent.stop_signal, 0);
    let linux = sent.linux.expect("always set");
    assert_eq!(linux.resources, Some(cri::LinuxContainerResources::default()));
    let security = linux.security_context.expect("always set");
    assert_eq!((security.selinux_options, security.apparmor), (None, None));
    assert_eq!((security.run_as_user, security.run_as_group), (None, None));
    assert_eq!(security.run_as_username, "");
    let linux = sandbox_config(&SandboxSpec::default()).linux.expect("always set");
    assert_eq!((linux.overhead, linux.resources), (None, None));
    let namespaces = linux.security_context.and_then(|s| s.namespace_options).expect("always set");
    assert_eq!(namespaces.userns_options, None);
}

#[test]
fn an_unmasked_proc_hides_nothing() {
    let masked = security_of(|_| {});
    assert_eq!((masked.masked_paths, masked.readonly_paths.len()), (MASKED_PATHS.clone(), 5));
    let unmasked = security_of(|config| config.security.proc_unmasked = true);
    assert!(unmasked.masked_paths.is_empty() && unmasked.readonly_paths.is_empty());
}

#[test]
fn a_name_of_a_user_goes_out_only_without_a_number() {
    let named = security_of(|config| config.security.run_as_username = Some("app".to_owned()));
    assert_eq!((named.run_as_username.as_str(), named.run_as_user), ("app", None));
    let both = security_of(|config| {
        config.security.run_as_username = Some("app".to_owned());
        config.security.run_as_user = Some(5);
    });
    assert_eq!((both.run_as_username.as_str(), both.run_as_user), ("", Some(cri::Int64Value { value: 5 })));
}

#[test]
fn a_target_of_processes_is_named_and_changes_no_other_namespace() {
    let security = security_of(|config| config.pid_target = Some("c-9".into()));
    let namespaces = security.namespace_options.expect("always set");
    assert_eq!((namespaces.pid(), namespaces.target_id.as_str()), (cri::NamespaceMode::Target, "c-9"));
    assert_eq!((namespaces.network(), namespaces.ipc()), (cri::NamespaceMode::Pod, cri::NamespaceMode::Pod));
}

#[test]
#[allow(deprecated, reason = "the field of old is what is checked")]
fn apparmor_profiles_go_out_in_both_forms() {
    for (profile, kind, name, of_old) in [
        (AppArmorProfile::RuntimeDefault, ProfileType::RuntimeDefault, "", "runtime/default"),
        (AppArmorProfile::Unconfined, ProfileType::Unconfined, "", "unconfined"),
        (AppArmorProfile::Localhost("p".to_owned()), ProfileType::Localhost, "p", "localhost/p"),
    ] {
        let security = security_of(|config| config.security.apparmor = Some(profile));
        let sent = security.apparmor.expect("asked for");
        assert_eq!((sent.profile_type(), sent.localhost_ref.as_str()), (kind, name));
        assert_eq!(security.apparmor_profile, of_old);
    }
}

#[test]
fn propagation_and_groups_keep_their_meaning() {
    for (ours, theirs) in [
        (MountPropagation::Private, cri::MountPropagation::PropagationPrivate),
        (MountPropagation::HostToContainer, cri::MountPropagation::PropagationHostToContainer),
        (MountPropagation::Bidirectional, cri::MountPropagation::PropagationBidirectional),
    ] {
        let mut config = container();
        config.mounts[0].propagation = ours;
        let sent = container_config(&config, &sandbox()).expect("a signal that there is");
        assert_eq!(sent.mounts[0].propagation(), theirs);
    }
    for (ours, theirs) in [
        (SupplementalGroupsPolicy::Merge, cri::SupplementalGroupsPolicy::Merge),
        (SupplementalGroupsPolicy::Strict, cri::SupplementalGroupsPolicy::Strict),
    ] {
        let sent = security_of(|config| config.security.supplemental_groups_policy = ours);
        assert_eq!(sent.supplemental_groups_policy(), theirs);
    }
    let selinux = SelinuxLabel {
        user: "u".to_owned(),
        role: "r".to_owned(),
        kind: "t".to_owned(),
        level: "l".to_owned(),
    };
    let sent =
        security_of(|config| config.security.selinux = Some(selinux)).selinux_options.expect("asked for");
    assert_eq!([sent.user, sent.role, sent.r#type, sent.level], ["u", "r", "t", "l"]);
}

#[test]
fn a_stop_signal_that_the_cri_lacks_fails_the_call() {
    let config = ContainerSpec { stop_signal: Some("SIGNOT".to_owned()), ..ContainerSpec::default() };
    let error = container_config(&config, &sandbox()).expect_err("there is no such signal");
    assert_eq!(error.to_string(), r#"CreateContainer: unknown stop signal "SIGNOT""#);
}

#[test]
fn an_update_names_only_what_changes() {
    let resources = LinuxResources { cpu_shares: 2, memory_limit_bytes: 64, ..LinuxResources::default() };
    let expected = cri::LinuxContainerResources {
        cpu_shares: 2,
        memory_limit_in_bytes: 64,
        ..cri::LinuxContainerResources::default()
    };
    let sent = update_resources(&"c-1".into(), &resources);
    assert_eq!((sent.container_id.as_str(), sent.linux), ("c-1", Some(expected)));
    assert!(sent.windows.is_none() && sent.annotations.is_empty());
}

#[test]
fn a_pull_brings_its_credentials_and_its_pod() {
    let auth = ImageAuth {
        username: "u".to_owned(),
        password: "p".to_owned(),
        email: "e".to_owned(),
        auth: "a".to_owned(),
        server_address: "s".to_owned(),
        identity_token: "i".to_owned(),
        registry_token: "r".to_owned(),
    };
    let sent = pull_image("app:1", Some(&auth), &sandbox());
    let image = sent.image.expect("always set");
    assert_eq!((image.image.as_str(), image.user_specified_image.as_str()), ("app:1", "app:1"));
    assert_eq!(image.annotations["team"], "tills");
    assert_eq!(sent.sandbox_config, Some(sandbox_config(&sandbox())));
    let sent = sent.auth.expect("given");
    let reported = [
        sent.username,
        sent.password,
        sent.auth,
        sent.server_address,
        sent.identity_token,
        sent.registry_token,
    ];
    assert_eq!(reported, ["u", "p", "a", "s", "i", "r"]);
    assert_eq!(pull_image("app:1", None, &sandbox()).auth, None);
}
