//! What flags and files come to, and what is refused.

use std::collections::BTreeSet;

use witlet_agent::CgroupMode;
use witlet_core::cgroup::{CpuQuotaPolicy, MemoryReservation};
use witlet_core::container::spec::SwapBehavior;
use witlet_core::eviction::Threshold;
use witlet_core::node::allocatable::Enforcement;
use witlet_core::node::tunables::TunablePolicy;
use witlet_server::EndpointSwitches;

use super::node::may_be_set;
use super::*;

mod resources;
mod trace;
use crate::kubelet::configuration::fields::{FIELDS, FieldSupport, Kind};
use crate::kubelet::flags;

const MACHINE: Machine = Machine { cgroup_v1: false, swap: false };

/// Settings of a file's fields and flags.
pub(super) fn read(fields: &str, line: &str) -> Result<Settings, SettingsError> {
    read_on(fields, line, MACHINE)
}

fn read_on(fields: &str, line: &str, machine: Machine) -> Result<Settings, SettingsError> {
    let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
    let flags = flags::parse(&words).expect("the flags can be read");
    let text = format!("apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n{fields}\n");
    let mut found = Configuration::read(Path::new("/etc/config.yaml"), &text).expect("the file can be read");
    found.override_by(flags.fields.clone());
    settings(&flags, &found, machine)
}

pub(super) fn good(fields: &str, line: &str) -> Settings {
    read(fields, line).unwrap_or_else(|error| panic!("{fields} {line}: {error}"))
}

fn cluster_of(fields: &str) -> ClusterSettings {
    good(fields, "--kubeconfig=/k").cluster.expect("there is a cluster")
}

/// A value of a kind that isn't its default.
fn sample(kind: Kind) -> serde_json::Value {
    match kind {
        Kind::Bool => json!(true),
        Kind::Int => json!(7),
        Kind::Float => json!(0.5),
        Kind::Text | Kind::Any => json!("text"),
        Kind::Duration => json!("7s"),
        Kind::Texts => json!(["text"]),
        Kind::Ints => json!([7]),
        Kind::TextMap => json!({"a": "b"}),
        Kind::BoolMap => json!({"a": true}),
        Kind::TextsMap => json!({"a": ["b"]}),
        Kind::Maps(_) => json!([{}]),
        Kind::Taints => json!([{"key": "a", "effect": "NoSchedule"}]),
        Kind::Verbosity => json!(7),
        Kind::FilePatterns => json!([{"filePattern": "a", "verbosity": 7}]),
        Kind::Quantity => json!("64Ki"),
        Kind::Period => json!("7s"),
    }
}

#[test]
fn the_verification_of_image_pulls_is_chosen_and_checked() {
    use witlet_core::image::records::VerificationPolicy as Policy;
    let allowed = "preloadedImagesVerificationAllowlist: [busybox, reg.io/team/*]";
    let policy = |name: &str| format!("imagePullCredentialsVerificationPolicy: {name}");
    let off = "featureGates: {KubeletEnsureSecretPulledImages: false}";
    for (fields, expected) in [
        (String::new(), Policy::NeverVerifyPreloadedImages),
        (policy("NeverVerifyPreloadedImages"), Policy::NeverVerifyPreloadedImages),
        (policy("NeverVerify"), Policy::NeverVerify),
        (policy("AlwaysVerify"), Policy::AlwaysVerify),
        (
            format!("{}\n{allowed}", policy("NeverVerifyAllowlistedImages")),
            Policy::NeverVerifyAllowlistedImages(vec!["busybox".to_owned(), "reg.io/team/*".to_owned()]),
        ),
        (off.to_owned(), Policy::NeverVerify),
    ] {
        assert_eq!(good(&fields, "").pods.image_verification, expected, "{fields}");
    }
    for (fields, reported) in [
        (policy("Sometimes"), "expected NeverVerify, NeverVerifyPreloadedImages"),
        (allowed.to_owned(), "needs imagePullCredentialsVerificationPolicy"),
        (
            format!(
                "{}\npreloadedImagesVerificationAllowlist: ['reg.io/app:1']",
                policy("NeverVerifyAllowlistedImages")
            ),
            "neither a tag nor a digest",
        ),
        (format!("{}\n{off}", policy("AlwaysVerify")), "must not be set if the feature gate"),
        (format!("{allowed}\n{off}"), "must not be set if the feature gate"),
    ] {
        let error = read(&fields, "").expect_err(&fields).to_string();
        assert!(error.contains(reported), "{fields}: {error}");
    }
}

#[test]
fn every_field_that_acts_is_read_and_no_other() {
    let mut read = BTreeSet::new();
    for field in FIELDS {
        let document = field.path.rsplit('.').fold(sample(field.kind), |inner, name| json!({ name: inner }));
        let with = effective_config(&document).unwrap_or_else(|error| panic!("{}: {error}", field.path));
        if with != EffectiveConfig::default() {
            read.insert(field.path);
        }
    }
    let acting: BTreeSet<_> =
        FIELDS.iter().filter(|field| field.fate == FieldSupport::Acts).map(|field| field.path).collect();
    assert_eq!(read, acting);
}

#[test]
fn without_anything_it_is_upstreams_node_that_stands_alone() {
    let settings = good("", "");
    assert_eq!(settings.folders.root, PathBuf::from("/var/lib/kubelet"));
    assert_eq!(settings.folders.pod_logs, PathBuf::from("/var/log/pods"));
    assert_eq!(settings.runtime.endpoint, "unix:///run/containerd/containerd.sock");
    assert_eq!((settings.node.max_pods, settings.node.name), (110, None));
    assert!(settings.manifests.path.is_none(), "no manifests unless a path is given");
    assert_eq!(settings.pods.image_pulls, ImagePullLimits::default());
    assert_eq!(settings.pods.logs, LogLimits::default());
    assert_eq!(settings.resync, Duration::from_secs(60));
    assert_eq!(settings.oom_score, Some(-999));
    assert_eq!(settings.cluster, None);
    let server = settings.server.expect("the endpoints are on");
    assert_eq!(server.address.to_string(), "0.0.0.0:10250");
    assert!(!server.anonymous && !server.token_webhook && server.debugging);
    assert_eq!(server.authorization, Authorization::Webhook);
    assert_eq!(server.cert_dir, PathBuf::from("/var/lib/kubelet/pki"));
    assert_eq!(settings.healthz.expect("it is on").to_string(), "127.0.0.1:10248");
}

#[test]
fn in_a_cluster_upstreams_values_count_where_no_one_says_otherwise() {
    let expected = ClusterSettings {
        kubeconfig: PathBuf::from("/k"),
        cert_dir: PathBuf::from("/var/lib/kubelet/pki"),
        ..ClusterSettings::default()
    };
    assert_eq!(cluster_of(""), expected);
    // Zero is "not set" for these, as kubeadm writes them.
    let zeros = "nodeStatusUpdateFrequency: 0s\nnodeStatusReportFrequency: 0s\nnodeLeaseDurationSeconds: 0\nkubeAPIBurst: 0\n\
                 eventBurst: 0\nevictionPressureTransitionPeriod: 0s";
    assert_eq!(cluster_of(zeros), expected);
    let server = good("", "--kubeconfig=/k").server.expect("the endpoints are on");
    assert!(server.token_webhook);
}

#[test]
fn fields_of_the_cluster_are_taken() {
    let found = cluster_of(
        "nodeStatusUpdateFrequency: 20s\nnodeLeaseDurationSeconds: 60\nkubeAPIQPS: 10\nkubeAPIBurst: 20\neventRecordQPS: 0\n\
         eventBurst: 9\nregisterNode: false\nrotateCertificates: true\nproviderID: cloud://7\nnodeStatusMaxImages: -1\n\
         registerWithTaints: [{key: a, value: b, effect: NoSchedule}]",
    );
    assert_eq!(found.status_update, Duration::from_secs(20));
    assert_eq!(
        found.status_report,
        Duration::from_secs(20),
        "the update's, if that is set and the report isn't"
    );
    assert_eq!((found.lease, found.qps, found.burst), (Duration::from_secs(60), 10, 20));
    assert_eq!((found.event_qps, found.event_burst), (0, 9));
    assert!(!found.register && found.rotate_certificates);
    assert_eq!((found.provider_id.as_deref(), found.images_max), (Some("cloud://7"), None));
    assert_eq!(found.taints[0].value.as_deref(), Some("b"));
}

#[test]
fn flags_say_who_the_node_is_and_where_things_are() {
    let settings = good(
        "maxPods: 200\npodsPerCore: 10",
        "--hostname-override=Node-7 --node-ip=192.0.2.7,2001:db8::7 --node-labels=a=b,node.kubernetes.io/x=y \
         --root-dir=/srv/kubelet --plugins=/p.yaml --api-socket=/a.sock --stop-pods-on-exit --register-with-taints=a=b:NoSchedule",
    );
    assert_eq!(settings.node.name.as_deref(), Some("node-7"));
    assert_eq!(settings.node.ips.len(), 2);
    assert_eq!(settings.node.labels.len(), 2);
    assert_eq!((settings.node.max_pods, settings.node.pods_per_core), (200, 10));
    assert_eq!(settings.folders.root, PathBuf::from("/srv/kubelet"));
    assert_eq!(settings.pods.registry_credentials, Some("/srv/kubelet/config.json".into()));
    assert_eq!((settings.plugins, settings.api_socket), (Some("/p.yaml".into()), "/a.sock".into()));
    assert!(settings.stop_pods_on_exit);
}

#[test]
fn flags_win_over_files() {
    let settings = good(
        "maxPods: 200\nclusterDNS: [10.0.0.1]\nport: 1",
        "--max-pods=7 --cluster-dns=10.0.0.2 --port=12345",
    );
    assert_eq!(settings.node.max_pods, 7);
    assert_eq!(settings.pods.cluster_dns, [IpAddr::from([10, 0, 0, 2])]);
    assert_eq!(settings.server.expect("it is on").address.port(), 12345);
    assert_eq!(settings.configz["kubeletconfig"]["maxPods"], 7, "and are shown");
}

#[test]
fn what_pods_get_is_taken() {
    let pods = good(
        "clusterDNS: [10.96.0.10]\nclusterDomain: cluster.local\nresolvConf: \"\"\nseccompDefault: true\n\
         allowedUnsafeSysctls: [net.*]\nmaxParallelImagePulls: 3\nregistryPullQPS: 0\nregistryBurst: 0\n\
         containerLogMaxSize: 1Gi\ncontainerLogMaxFiles: 3",
        "--runtime-classes=gvisor=runsc",
    )
    .pods;
    assert_eq!((pods.cluster_domain.as_str(), pods.resolv_conf), ("cluster.local", None));
    assert!(pods.seccomp_default);
    let pulls = pods.image_pulls;
    assert_eq!(
        (pulls.serialize, pulls.parallel_max),
        (false, Some(3)),
        "upstream's default next to several at a time"
    );
    assert_eq!((pulls.per_second, pulls.burst), (0, 10), "no rate is none, no burst is the default");
    assert_eq!((pods.logs.bytes_max, pods.logs.files_max), (1 << 30, 3));
    assert_eq!(pods.runtime_classes["gvisor"], "runsc");
}

#[test]
fn endpoints_are_as_they_are_asked_for() {
    let settings = good(
        "address: 127.0.0.1\nport: 1250\nhealthzPort: 0\nenableDebuggingHandlers: false\n\
         enableDebugFlagsHandler: false\nfeatureGates: {ComponentStatusz: false}\n\
         authentication: {anonymous: {enabled: true}, webhook: {enabled: false}, x509: {clientCAFile: /ca.crt}}\n\
         authorization: {mode: AlwaysAllow}\ntlsCertFile: /a.crt\ntlsPrivateKeyFile: a.key\n\
         tlsMinVersion: VersionTLS13\nstreamingConnectionIdleTimeout: 1m\nreadOnlyPort: 1255",
        "--kubeconfig=/k --cert-dir=/srv/pki",
    );
    let expected = ServerSettings {
        address: "127.0.0.1:1250".parse().expect("an address"),
        certificate: Some(("/a.crt".into(), "/etc/a.key".into())),
        cert_dir: "/srv/pki".into(),
        client_ca: Some("/ca.crt".into()),
        anonymous: true,
        token_webhook: false,
        authorization: Authorization::AlwaysAllow,
        debugging: false,
        switches: EndpointSwitches { statusz: false, debug_flags: false, ..EndpointSwitches::default() },
        only_tls13: true,
        streaming_idle: Duration::from_secs(60),
        volume_stats_period: Some(Duration::from_secs(60)),
    };
    assert_eq!((settings.server, settings.healthz), (Some(expected), None));
    assert_eq!(settings.read_only.expect("it is on").to_string(), "127.0.0.1:1255");
    assert_eq!(good("enableServer: false", "").server, None);
    let query = "enableSystemLogQuery: true";
    assert!(good(query, "").server.expect("it is on").switches.system_log_query);
    let refused =
        read(&format!("{query}\nenableSystemLogHandler: false"), "").expect_err("upstream refuses it");
    let words = "invalid configuration: enableSystemLogHandler is required for enableSystemLogQuery";
    assert_eq!(refused.to_string(), words);
}

#[test]
fn the_configuration_names_the_certificate_that_is_served() {
    for (fields, expected) in [
        ("", [Some("/srv/pki/kubelet.crt"), Some("/srv/pki/kubelet.key")]),
        ("tlsCertFile: /a.crt\ntlsPrivateKeyFile: /a.key", [Some("/a.crt"), Some("/a.key")]),
        ("enableServer: false", [None, None]),
    ] {
        let shown = good(fields, "--cert-dir=/srv/pki").configz;
        let files = ["tlsCertFile", "tlsPrivateKeyFile"].map(|field| shown["kubeletconfig"][field].as_str());
        assert_eq!(files, expected, "{fields}");
    }
}

#[test]
fn volumes_are_measured_as_often_as_that_is_asked_for() {
    for (fields, line, expected) in [
        ("volumeStatsAggPeriod: 10s", "", Some(10)),
        ("volumeStatsAggPeriod: 0s", "", Some(60)),
        ("volumeStatsAggPeriod: 10s", "--volume-stats-agg-period=2m", Some(120)),
        ("volumeStatsAggPeriod: -1s", "", None),
    ] {
        let server = good(fields, line).server.expect("it is on");
        assert_eq!(server.volume_stats_period, expected.map(Duration::from_secs), "{fields} {line}");
    }
}

#[test]
fn the_cgroup_driver_is_for_runtimes_that_do_not_say() {
    for (fields, line, expected) in [
        ("", "", CgroupDriver::Cgroupfs),
        ("cgroupDriver: systemd", "", CgroupDriver::Systemd),
        ("cgroupDriver: systemd", "--cgroup-driver=cgroupfs", CgroupDriver::Cgroupfs),
    ] {
        assert_eq!(good(fields, line).runtime.cgroup_driver, expected, "{fields} {line}");
    }
}

#[test]
fn the_url_of_manifests_has_its_headers() {
    let manifests = good(
        "staticPodURL: http://127.0.0.1/pods\nstaticPodURLHeader: {a: [b, c]}\nhttpCheckFrequency: 5s",
        "",
    )
    .manifests;
    assert_eq!(manifests.url.expect("it is set").place(), "http://127.0.0.1/pods");
    assert_eq!(manifests.url_period, Duration::from_secs(5));
}

#[test]
fn what_makes_no_sense_is_refused_by_name() {
    let cases = [
        ("maxPods: -1", "", "maxPods: -1: must be between 0 and 2147483647"),
        ("port: 70000", "", "port: 70000: must be between 1 and 65535"),
        ("healthzPort: -1", "", "healthzPort: -1: must be between 0 and 65535"),
        ("oomScoreAdj: 2000", "", "oomScoreAdj: 2000: must be between -1000 and 1000"),
        ("clusterDNS: [here]", "", "clusterDNS: here: expected an IP address"),
        ("address: localhost", "", "address: localhost: expected an IP address"),
        ("authorization: {mode: RBAC}", "", "authorization.mode: RBAC: expected AlwaysAllow or Webhook"),
        ("containerLogMaxSize: \"0\"", "", "containerLogMaxSize: 0: expected a size such as 10Mi"),
        ("cgroupDriver: cgroupsfs", "", "cgroupDriver: cgroupsfs: expected cgroupfs or systemd"),
        ("containerLogMaxFiles: 1", "", "containerLogMaxFiles: 1: must be between 2 and 1000"),
        ("syncFrequency: -1s", "", "syncFrequency: \"-1s\" is out of range for a duration"),
        ("tlsMinVersion: TLS13", "", "tlsMinVersion: TLS13: expected VersionTLS12 or VersionTLS13"),
        ("tlsCertFile: /a", "", "tlsCertFile and tlsPrivateKeyFile go together: set both, or none"),
        (
            "serializeImagePulls: true\nmaxParallelImagePulls: 2",
            "",
            "maxParallelImagePulls cannot be larger than 1 unless serializeImagePulls is false",
        ),
        (
            "systemReserved: {gpu: \"1\"}",
            "--kubeconfig=/k",
            "systemReserved: gpu=1: cannot reserve this resource",
        ),
        ("kubeReserved: {cpu: much}", "--kubeconfig=/k", "kubeReserved: cpu=much: expected a quantity"),
        ("evictionHard: {no.signal: 1Gi}", "--kubeconfig=/k", "unsupported eviction signal no.signal"),
        (
            "staticPodURL: http://a\nstaticPodURLHeader: {a: [\"b,c\"]}",
            "",
            "staticPodURLHeader: a: must not contain a comma",
        ),
        ("", "--node-ip=here", "--node-ip: here: expected an IP address"),
        (
            "",
            "--node-ip=192.0.2.1,192.0.2.2",
            "--node-ip: 192.0.2.1,192.0.2.2: two addresses must have different IP families",
        ),
        (
            "",
            "--bootstrap-kubeconfig=/b",
            "--bootstrap-kubeconfig needs --kubeconfig, the file that is written from it",
        ),
        (
            "",
            "--kubeconfig=/k --cloud-provider=aws",
            "--cloud-provider: aws: expected external: in-tree cloud providers were removed",
        ),
        (
            "",
            "--node-labels=a_=b",
            "--node-labels: a_=b: a label's key must be NAME or DOMAIN/NAME; name and value have at most 63 letters, digits, `-`, \
             `_` and `.`, and begin and end with a letter or digit",
        ),
        (
            "",
            "--node-labels=node-role.kubernetes.io/worker=",
            "--node-labels: node-role.kubernetes.io/worker: labels of kubernetes.io and k8s.io must begin with \
             kubelet.kubernetes.io or node.kubernetes.io, or be one of the well-known ones",
        ),
    ];
    for (fields, line, expected) in cases {
        let error = read(fields, line).expect_err(expected);
        assert_eq!(error.to_string(), expected);
    }
}

#[test]
fn labels_of_kubernetes_are_those_that_a_node_may_choose() {
    let cases = [
        ("a", true),
        ("example.com/a", true),
        ("notkubernetes.io/a", true),
        ("kubernetes.io/os", true),
        ("kubernetes.io/other", false),
        ("kubelet.kubernetes.io/a", true),
        ("sub.kubelet.kubernetes.io/a", true),
        ("node.kubernetes.io/a", true),
        ("node-role.kubernetes.io/control-plane", false),
        ("node-restriction.kubernetes.io/a", false),
        ("topology.kubernetes.io/zone", true),
        ("k8s.io/a", false),
        ("sub.k8s.io/a", false),
    ];
    for (label, expected) in cases {
        assert_eq!(may_be_set(label), expected, "{label}");
    }
}

#[test]
fn upstreams_refusals_of_a_machine_name_the_way_out() {
    let on = |machine: Machine, fields: &str, line: &str| read_on(fields, line, machine).map(drop);
    let cgroup_v1 = Machine { cgroup_v1: true, ..MACHINE };
    assert_eq!(on(cgroup_v1, "", ""), Err(SettingsError::CgroupV1));
    assert_eq!(on(cgroup_v1, "failCgroupV1: false", ""), Ok(()));
    assert_eq!(on(cgroup_v1, "", "--fail-cgroupv1=false"), Ok(()));
    assert!(SettingsError::CgroupV1.to_string().contains("failCgroupV1: false"));
    let swap = Machine { swap: true, ..MACHINE };
    assert_eq!(on(swap, "", ""), Err(SettingsError::Swap));
    assert_eq!(on(swap, "failSwapOn: false", ""), Ok(()));
    assert!(SettingsError::Swap.to_string().contains("swapoff"));
}

#[test]
fn container_gc_follows_its_flags_with_upstreams_defaults() {
    let policy = |seconds, per_container_max, total_max| GcPolicy {
        age_min: SignedDuration::from_secs(seconds),
        per_container_max,
        total_max,
    };
    let cases = [
        ("", policy(0, Some(1), None)),
        ("--maximum-dead-containers=-1 --maximum-dead-containers-per-container=1", policy(0, Some(1), None)),
        ("--maximum-dead-containers=100", policy(0, Some(1), Some(100))),
        ("--maximum-dead-containers=0", policy(0, Some(1), Some(0))),
        ("--maximum-dead-containers-per-container=3", policy(0, Some(3), None)),
        ("--maximum-dead-containers-per-container=0", policy(0, Some(0), None)),
        ("--maximum-dead-containers-per-container=-2", policy(0, None, None)),
        ("--minimum-container-ttl-duration=1m30s", policy(90, Some(1), None)),
        ("--maximum-dead-containers=5 --maximum-dead-containers=-5", policy(0, Some(1), None)),
    ];
    for (line, expected) in cases {
        assert_eq!(crate::run::agent_settings(&good("", line)).container_gc, expected, "{line}");
    }
    let refused = [
        (
            "--minimum-container-ttl-duration=-1s",
            "--minimum-container-ttl-duration: -1s: invalid minimum garbage collection age",
        ),
        (
            "--maximum-dead-containers=2147483648",
            "--maximum-dead-containers: 2147483648: must be between -2147483648 and 2147483647",
        ),
    ];
    for (line, expected) in refused {
        assert_eq!(read("", line).expect_err(line).to_string(), expected);
    }
}
