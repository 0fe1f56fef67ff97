//! Flags and what they come to.

use clap::Parser;

use super::*;
use crate::cli::{Cli, Command};
use crate::kubelet::configuration::Configuration;
use crate::kubelet::configuration::defaults::defaulted;

fn read(flags: &[&str]) -> Result<Settings, ArgsError> {
    let words = ["witlet", "run"].iter().chain(flags);
    match Cli::try_parse_from(words).expect("the command line makes sense").command {
        Command::Run(args) => settings(*args),
        _ => unreachable!("it says run"),
    }
}

fn good(flags: &[&str]) -> Settings {
    read(flags).expect("the flags make sense")
}

#[test]
fn what_is_not_given_is_as_upstream_has_it() {
    let settings = good(&[]);
    assert_eq!(settings.pods.image_pulls, ImagePullLimits::default());
    assert_eq!(settings.pods.logs, LogLimits::default());
    assert_eq!(settings.pods.resolv_conf, Some(PathBuf::from("/etc/resolv.conf")));
    assert_eq!(settings.folders.container_logs, PathBuf::from("/var/log/containers"));
    assert_eq!((settings.cluster, settings.server, settings.healthz), (None, None, None), "it stands alone");
}

#[test]
fn flags_say_what_pods_get() {
    let settings = good(&[
        "--cluster-dns=10.0.0.10,fd00::10",
        "--runtime-classes=gvisor=runsc",
        "--resolv-conf=",
        "--serialize-image-pulls=false",
        "--max-parallel-image-pulls=3",
        "--container-log-max-size=1Gi",
        "--pod-logs-dir=/srv/logs",
    ]);
    let pods = settings.pods;
    assert_eq!(pods.cluster_dns.len(), 2);
    assert_eq!(pods.runtime_classes["gvisor"], "runsc");
    assert_eq!(pods.resolv_conf, None);
    assert_eq!((pods.image_pulls.serialize, pods.image_pulls.parallel_max), (false, Some(3)));
    assert_eq!(pods.logs.bytes_max, 1 << 30);
    assert_eq!(settings.folders.container_logs, PathBuf::from("/srv/containers"));
}

#[test]
fn what_pods_would_be_evicted_at_is_reserved() {
    let reserved = |flags: &[&str]| {
        let settings = good(flags);
        assert_eq!(settings.node.reserved, settings.cgroups.reservations);
        let capacity = [("memory".to_owned(), 8 << 30)].into();
        let problem = settings.cgroups.reservations.check(&capacity).map_err(|error| error.to_string());
        let mebi = settings.node.reserved.reported(&capacity).get("memory").map(|bytes| bytes >> 20);
        (mebi, problem.err().unwrap_or_default())
    };
    assert_eq!(reserved(&[]), (Some(100), String::new()), "the default threshold");
    assert_eq!(reserved(&["--eviction-hard="]), (None, String::new()));
    let (mebi, problem) = reserved(&["--eviction-hard=memory.available<900Gi"]);
    let words =
        "invalid Node Allocatable configuration. Resource \"memory\" has a reservation of 966367641600 but";
    assert!(mebi == Some(900 << 10) && problem.starts_with(words), "{problem}");
}

#[test]
fn a_kubeconfig_makes_it_a_node_of_a_cluster_with_endpoints() {
    let settings = good(&[
        "--kubeconfig=/k.conf",
        "--bootstrap-kubeconfig=/b.conf",
        "--root-dir=/srv/witlet",
        "--node-ip=192.0.2.7,2001:db8::7",
        "--register-with-taints=a=b:NoSchedule,c:NoExecute",
        "--provider-id=cloud://7",
        "--kube-api-qps=0",
        "--plugin-sets=/etc/witlet/sets.yaml",
    ]);
    assert_eq!(settings.plugin_sets, Some("/etc/witlet/sets.yaml".into()));
    let cluster = settings.cluster.expect("there is a cluster");
    assert_eq!(cluster.bootstrap_kubeconfig, Some("/b.conf".into()));
    assert_eq!(cluster.cert_dir, PathBuf::from("/srv/witlet/pki"));
    assert!(cluster.rotate_certificates && cluster.register);
    assert_eq!(cluster.provider_id.as_deref(), Some("cloud://7"));
    assert_eq!((cluster.qps, cluster.burst), (0, 100));
    let taints: Vec<_> =
        cluster.taints.iter().map(|t| (t.key.as_str(), t.value.as_deref(), t.effect.as_str())).collect();
    assert_eq!(taints, [("a", Some("b"), "NoSchedule"), ("c", None, "NoExecute")]);
    let server = settings.server.expect("the endpoints are on");
    assert_eq!(server.address.to_string(), "0.0.0.0:10250");
    assert!(server.token_webhook && !server.anonymous);
    assert_eq!(settings.healthz.expect("it is on").to_string(), "127.0.0.1:10248");
    assert_eq!(settings.node.ips.len(), 2);
}

#[test]
fn ports_can_be_chosen_and_switched_off_with_and_without_a_cluster() {
    let off = good(&["--kubeconfig=/k.conf", "--port=0", "--healthz-port=0"]);
    assert_eq!((off.server, off.healthz), (None, None));
    let alone = good(&["--port=1250", "--address=127.0.0.1", "--healthz-port=1248"]);
    let server = alone.server.expect("it is on");
    assert_eq!(server.address.to_string(), "127.0.0.1:1250");
    assert!(!server.token_webhook, "there is no server to ask");
    assert_eq!(alone.healthz.expect("it is on").to_string(), "127.0.0.1:1248");
}

#[test]
fn what_makes_no_sense_is_refused_by_the_name_of_its_flag() {
    for (flags, part) in [
        (
            &["--node-labels=a"][..],
            "--node-labels must be KEY=VALUE as labels of Kubernetes have them, found \"a\"",
        ),
        (
            &["--node-labels==a"],
            "--node-labels must be KEY=VALUE as labels of Kubernetes have them, found \"=a\"",
        ),
        (
            &["--node-labels=a b=c"],
            "--node-labels must be KEY=VALUE as labels of Kubernetes have them, found \"a b=c\"",
        ),
        (
            &["--node-labels=a=b c"],
            "--node-labels must be KEY=VALUE as labels of Kubernetes have them, found \"a=b c\"",
        ),
        (
            &["--eviction-hard=memory.availble<1Gi"],
            "--eviction-hard must be SIGNAL<VALUE, with a signal that `witlet run --help` names",
        ),
        (&["--runtime-classes=gvisor"], "--runtime-classes must be CLASS=HANDLER, found \"gvisor\""),
        (&["--runtime-classes==runsc"], "--runtime-classes must be CLASS=HANDLER, found \"=runsc\""),
        (&["--manifest-url=ftp://a"], "--manifest-url"),
        (&["--node-ip=192.0.2.1,192.0.2.2"], "--node-ip: two addresses must have different IP families"),
        (
            &["--kubeconfig=/k", "--register-with-taints=a=b"],
            "--register-with-taints must be KEY=VALUE:EFFECT with effect NoSchedule, PreferNoSchedule or NoExecute, found \"a=b\"",
        ),
    ] {
        let error = read(flags).expect_err("it makes no sense");
        assert_eq!(error.to_string(), part);
    }
    for size in ["0", "-1Mi", "large", ""] {
        let flag = format!("--container-log-max-size={size}");
        let error = read(&[&flag]).expect_err("it is no size");
        assert!(error.to_string().starts_with("--container-log-max-size must be a size"), "{error}");
    }
}

#[test]
fn either_flag_turns_tracing_on() {
    use witlet_core::trace::endpoint::CollectorEndpoint;
    assert_eq!(good(&[]).tracing, None);
    let socket = CollectorEndpoint::Unix(PathBuf::from("/run/otel.sock"));
    for (flags, endpoint, rate) in [
        (&["--tracing-endpoint=unix:///run/otel.sock"][..], socket, 0),
        (&["--tracing-sampling-rate-per-million=7"], CollectorEndpoint::default(), 7),
    ] {
        let tracing = good(flags).tracing.expect("it is on");
        assert_eq!((tracing.endpoint, tracing.sampling_rate_per_million), (Ok(endpoint), rate), "{flags:?}");
    }
    for flag in ["--tracing-endpoint=http://localhost", "--tracing-sampling-rate-per-million=1000001"] {
        assert!(Cli::try_parse_from(["witlet", "run", flag]).is_err(), "{flag}");
    }
}

/// The configuration that flags come to, which must be one.
fn shown(flags: &[&str]) -> Value {
    let whole = good(flags).configz["kubeletconfig"].clone();
    let read =
        Configuration::read(Path::new("/configz"), &whole.to_string()).expect("each field is of its kind");
    assert!(read.oddities().is_empty(), "{flags:?}: {:?}", read.oddities());
    whole
}

#[test]
fn configz_shows_what_is_not_given_as_the_kubelets_default() {
    let mut expected = defaulted(&json!({}));
    let own = json!({
        "enableServer": false, "healthzPort": 0, "failSwapOn": false, "failCgroupV1": false, "cgroupRoot": "/",
        "rotateCertificates": true, "staticPodPath": "/etc/kubernetes/manifests",
    });
    for (name, value) in own.as_object().expect("an object") {
        expected[name] = value.clone();
    }
    expected["authentication"]["webhook"]["enabled"] = json!(false);
    expected.as_object_mut().expect("an object").remove("oomScoreAdj");
    assert_eq!(shown(&[]), expected);
}

#[test]
fn configz_shows_flags_in_the_places_of_their_fields() {
    for (flag, pointer, value) in [
        ("--pod-manifest-path=/m", "/staticPodPath", json!("/m")),
        ("--file-check-frequency=90", "/fileCheckFrequency", json!("1m30s")),
        ("--http-check-frequency=3600", "/httpCheckFrequency", json!("1h0m0s")),
        ("--manifest-url=http://user:secret@h/pods", "/staticPodURL", json!("http://h/pods")),
        ("--container-runtime-endpoint=embedded", "/containerRuntimeEndpoint", json!("embedded")),
        ("--image-service-endpoint=unix:///i", "/imageServiceEndpoint", json!("unix:///i")),
        ("--cgroup-driver=systemd", "/cgroupDriver", json!("systemd")),
        ("--cgroups-per-qos=false", "/cgroupsPerQOS", json!(false)),
        ("--cgroups-per-qos=false", "/enforceNodeAllocatable", json!([])),
        ("--cgroup-root=/pods", "/cgroupRoot", json!("/pods")),
        ("--pod-logs-dir=/logs", "/podLogsDir", json!("/logs")),
        ("--max-pods=7", "/maxPods", json!(7)),
        ("--resolv-conf=", "/resolvConf", json!("")),
        ("--cluster-dns=10.0.0.10,fd00::10", "/clusterDNS", json!(["10.0.0.10", "fd00::10"])),
        ("--cluster-domain=cluster.local", "/clusterDomain", json!("cluster.local")),
        ("--allowed-unsafe-sysctls=kernel.msg*", "/allowedUnsafeSysctls", json!(["kernel.msg*"])),
        ("--seccomp-default", "/seccompDefault", json!(true)),
        ("--serialize-image-pulls=false", "/serializeImagePulls", json!(false)),
        ("--max-parallel-image-pulls=3", "/maxParallelImagePulls", json!(3)),
        ("--registry-qps=0", "/registryPullQPS", json!(0)),
        ("--registry-burst=4", "/registryBurst", json!(4)),
        ("--container-log-max-size=1Gi", "/containerLogMaxSize", json!("1Gi")),
        ("--container-log-max-files=9", "/containerLogMaxFiles", json!(9)),
        ("--eviction-hard=memory.available<1Gi", "/evictionHard", json!({"memory.available": "1Gi"})),
        ("--eviction-hard=", "/evictionHard", json!({})),
        ("--port=1250", "/port", json!(1250)),
        ("--port=1250", "/enableServer", json!(true)),
        ("--address=127.0.0.1", "/address", json!("127.0.0.1")),
        ("--healthz-port=1248", "/healthzPort", json!(1248)),
        ("--client-ca-file=/ca.crt", "/authentication/x509/clientCAFile", json!("/ca.crt")),
        ("--log-format=json", "/logging/format", json!("json")),
        ("-v=4", "/logging/verbosity", json!(4)),
        ("--vmodule=pods=6", "/logging/vmodule", json!([{"filePattern": "pods", "verbosity": 6}])),
        ("--tracing-endpoint=h:4317", "/tracing", json!({"endpoint": "h:4317"})),
        ("--tracing-sampling-rate-per-million=7", "/tracing", json!({"samplingRatePerMillion": 7})),
    ] {
        assert_eq!(shown(&[flag]).pointer(pointer), Some(&value), "{flag}");
    }
    assert!(
        !shown(&["--manifest-url=http://h/", "--manifest-url-header=A:secret"])
            .to_string()
            .contains("secret")
    );
}

#[test]
fn configz_shows_a_node_of_a_cluster() {
    let whole = shown(&[
        "--kubeconfig=/k",
        "--register-with-taints=a=b:NoSchedule,c:NoExecute",
        "--register-node=false",
        "--rotate-certificates=false",
        "--provider-id=cloud://7",
        "--kube-api-qps=0",
        "--kube-api-burst=7",
        "--tls-cert-file=/c.crt",
        "--tls-private-key-file=/c.key",
    ]);
    let taints =
        json!([{"key": "a", "value": "b", "effect": "NoSchedule"}, {"key": "c", "effect": "NoExecute"}]);
    for (pointer, value) in [
        ("/registerWithTaints", taints),
        ("/registerNode", json!(false)),
        ("/rotateCertificates", json!(false)),
        ("/providerID", json!("cloud://7")),
        ("/kubeAPIQPS", json!(0)),
        ("/kubeAPIBurst", json!(7)),
        ("/tlsCertFile", json!("/c.crt")),
        ("/tlsPrivateKeyFile", json!("/c.key")),
        ("/authentication/webhook/enabled", json!(true)),
        ("/enableServer", json!(true)),
        ("/port", json!(10250)),
        ("/healthzPort", json!(10248)),
    ] {
        assert_eq!(whole.pointer(pointer), Some(&value), "{pointer}");
    }
}
