//! Command lines of clusters in use, pflag's forms, and what is refused in which words.

use std::collections::BTreeSet;

use super::table::FLAGS;
use super::*;
use crate::kubelet::configuration::fields::{FIELDS, field};

fn parsed(line: &str) -> Result<Flags, FlagError> {
    parse(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
}

fn fields(line: &str) -> BTreeMap<&'static str, Value> {
    parsed(line).unwrap_or_else(|error| panic!("{line}: {error}")).fields
}

#[test]
fn flags_stand_for_fields_that_exist_and_take_what_these_take() {
    let names: BTreeSet<_> = FLAGS.iter().map(|flag| flag.name).collect();
    assert_eq!(names.len(), FLAGS.len(), "a flag is listed twice");
    assert!(FLAGS.is_sorted_by_key(|flag| flag.name.replace('-', "\u{1}")), "flags are listed by name");
    for flag in FLAGS {
        if let Target::Field(path) = flag.target {
            let field = field(path).unwrap_or_else(|| panic!("--{}: no field {path}", flag.name));
            assert_eq!(field.kind, flag.kind, "--{}", flag.name);
        }
    }
}

#[test]
fn every_form_of_pflag_is_understood() {
    let cases = [
        ("--max-pods=7", "maxPods", json!(7)),
        ("--max-pods 7", "maxPods", json!(7)),
        ("--max_pods 7", "maxPods", json!(7)),
        ("--max-pods=7 --max-pods=9", "maxPods", json!(9)),
        ("--fail-swap-on", "failSwapOn", json!(true)),
        ("--fail-swap-on=false", "failSwapOn", json!(false)),
        ("--fail-swap-on=F", "failSwapOn", json!(false)),
        ("-v=2", "logging.verbosity", json!(2)),
        ("-v2", "logging.verbosity", json!(2)),
        ("-v 2", "logging.verbosity", json!(2)),
        ("--v=2", "logging.verbosity", json!(2)),
        (
            "--vmodule=a=1,,b*=2, --vmodule c=3",
            "logging.vmodule",
            json!([
                {"filePattern": "a", "verbosity": 1}, {"filePattern": "b*", "verbosity": 2},
                {"filePattern": "c", "verbosity": 3},
            ]),
        ),
        ("--log-flush-frequency=10s", "logging.flushFrequency", json!("10s")),
        ("--log-json-info-buffer-size=2Ki", "logging.options.json.infoBufferSize", json!("2Ki")),
        ("--cluster-dns=10.0.0.1,10.0.0.2", "clusterDNS", json!(["10.0.0.1", "10.0.0.2"])),
        ("--cluster-dns=10.0.0.1 --cluster-dns 10.0.0.2", "clusterDNS", json!(["10.0.0.1", "10.0.0.2"])),
        ("--system-reserved=cpu=1,memory=2Gi", "systemReserved", json!({"cpu": "1", "memory": "2Gi"})),
        ("--eviction-hard=memory.available<1Gi", "evictionHard", json!({"memory.available": "1Gi"})),
        ("--feature-gates=A=true,B=False", "featureGates", json!({"A": true, "B": false})),
        ("--sync-frequency=1m30s", "syncFrequency", json!("1m30s")),
        (
            "--manifest-url-header=a:hello,b:again --manifest-url-header=b:beautiful",
            "staticPodURLHeader",
            json!({"a": ["hello"], "b": ["again", "beautiful"]}),
        ),
        (
            "--register-with-taints=a=b:NoSchedule,node-role.kubernetes.io/control-plane:NoExecute",
            "registerWithTaints",
            json!([
                {"key": "a", "value": "b", "effect": "NoSchedule"},
                {"key": "node-role.kubernetes.io/control-plane", "effect": "NoExecute"},
            ]),
        ),
    ];
    for (line, path, expected) in cases {
        assert_eq!(fields(line).get(path), Some(&expected), "{line}");
    }
}

/// Flags that aren't taken, and how pflag says so.
const REFUSED: &[(&str, &str)] = &[
    ("--no-such-flag", "unknown flag: --no-such-flag"),
    ("--no-such-flag=1", "unknown flag: --no-such-flag"),
    ("--network-plugin=cni", "unknown flag: --network-plugin"),
    // Gone with 1.35, with 1.27 and with 1.31: upstream doesn't start either.
    ("--pod-infra-container-image=pause:3.10", "unknown flag: --pod-infra-container-image"),
    ("--container-runtime=remote", "unknown flag: --container-runtime"),
    ("--keep-terminated-pod-volumes", "unknown flag: --keep-terminated-pod-volumes"),
    ("--logtostderr=true", "unknown flag: --logtostderr"),
    ("--log-dir=/var/log", "unknown flag: --log-dir"),
    ("--log_file=/l", "unknown flag: --log_file"),
    ("--stderrthreshold=2", "unknown flag: --stderrthreshold"),
    ("--alsologtostderr", "unknown flag: --alsologtostderr"),
    ("--log-backtrace-at=a.go:1", "unknown flag: --log-backtrace-at"),
    ("--v=-1", "invalid argument \"-1\" for \"--v\" flag: strconv.ParseUint: parsing \"-1\": invalid syntax"),
    (
        "--v=2147483648",
        "invalid argument \"2147483648\" for \"--v\" flag: strconv.ParseUint: parsing \"2147483648\": value out of range",
    ),
    (
        "--vmodule=a",
        "invalid argument \"a\" for \"--vmodule\" flag: \"a\" does not have the pattern=N format",
    ),
    (
        "--vmodule=a=1,b=1=2",
        "invalid argument \"a=1,b=1=2\" for \"--vmodule\" flag: \"b=1=2\" does not have the pattern=N format",
    ),
    (
        "--vmodule==1",
        "invalid argument \"=1\" for \"--vmodule\" flag: \"=1\" does not have the pattern=N format",
    ),
    (
        "--vmodule=a=x",
        "invalid argument \"a=x\" for \"--vmodule\" flag: parsing verbosity in \"a=x\": strconv.ParseUint: parsing \"x\": invalid syntax",
    ),
    (
        "--log-flush-frequency=5",
        "invalid argument \"5\" for \"--log-flush-frequency\" flag: time: invalid duration \"5\"",
    ),
    (
        "--log-text-info-buffer-size=much",
        "invalid argument \"much\" for \"--log-text-info-buffer-size\" flag: quantities must match the regular expression \
         '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
    ),
    ("-x", "unknown shorthand flag: 'x' in -x"),
    ("-kubeconfig=x", "unknown shorthand flag: 'k' in -kubeconfig=x"),
    ("--=x", "bad flag syntax: --=x"),
    ("---v", "bad flag syntax: ---v"),
    ("--max-pods", "flag needs an argument: --max-pods"),
    ("-v", "flag needs an argument: --v"),
    (
        "--max-pods=many",
        "invalid argument \"many\" for \"--max-pods\" flag: strconv.ParseInt: parsing \"many\": invalid syntax",
    ),
    (
        "--fail-swap-on=maybe",
        "invalid argument \"maybe\" for \"--fail-swap-on\" flag: strconv.ParseBool: parsing \"maybe\": invalid syntax",
    ),
    (
        "--sync-frequency=1",
        "invalid argument \"1\" for \"--sync-frequency\" flag: time: invalid duration \"1\"",
    ),
    (
        "--node-labels=a",
        "invalid argument \"a\" for \"--node-labels\" flag: malformed pair, expect string=string",
    ),
    (
        "--register-with-taints=a=b",
        "invalid argument \"a=b\" for \"--register-with-taints\" flag: invalid taint spec: a=b",
    ),
    ("start", "unknown command \"start\": the kubelet takes flags only"),
    ("-- start", "unknown command \"start\": the kubelet takes flags only"),
    ("-", "unknown command \"-\": the kubelet takes flags only"),
    ("--fail-swap-on false", "unknown command \"false\": the kubelet takes flags only"),
];

#[test]
fn what_cannot_be_understood_is_refused_in_pflags_words() {
    for (line, expected) in REFUSED {
        let error = parsed(line).expect_err(line);
        assert_eq!(error.to_string(), *expected, "{line}");
    }
}

#[test]
fn command_lines_of_clusters_in_use_are_understood() {
    let lines = [
        // kubeadm, by its systemd unit and kubeadm-flags.env.
        "--bootstrap-kubeconfig=/etc/kubernetes/bootstrap-kubelet.conf --kubeconfig=/etc/kubernetes/kubelet.conf \
         --config=/var/lib/kubelet/config.yaml --container-runtime-endpoint=unix:///run/containerd/containerd.sock \
         --register-with-taints=node-role.kubernetes.io/control-plane:NoSchedule --hostname-override=n1 --node-ip=192.0.2.7",
        // kind.
        "--bootstrap-kubeconfig=/etc/kubernetes/bootstrap-kubelet.conf --kubeconfig=/etc/kubernetes/kubelet.conf \
         --config=/var/lib/kubelet/config.yaml --node-ip=172.18.0.2 --node-labels= \
         --provider-id=kind://docker/kind/kind-control-plane --runtime-cgroups=/system.slice/containerd.service",
        // k3s.
        "--address=0.0.0.0 --allowed-unsafe-sysctls=net.ipv4.ip_forward,net.ipv6.conf.all.forwarding --anonymous-auth=false \
         --authentication-token-webhook=true --authorization-mode=Webhook --cgroup-driver=systemd \
         --client-ca-file=/ca.crt --cloud-provider=external --cluster-dns=10.43.0.10 --cluster-domain=cluster.local \
         --container-runtime-endpoint=unix:///run/k3s/containerd/containerd.sock --containerd=/run/k3s/containerd/containerd.sock \
         --eviction-hard=imagefs.available<5%,nodefs.available<5% --eviction-minimum-reclaim=imagefs.available=10%,nodefs.available=10% \
         --fail-swap-on=false --feature-gates=KubeletInUserNamespace=false --healthz-bind-address=127.0.0.1 \
         --hostname-override=n1 --kubeconfig=/kubelet.kubeconfig --kubelet-cgroups=/k3s --node-ip=192.0.2.7 \
         --node-labels=a=b,c=d --pod-manifest-path=/pod-manifests --read-only-port=0 --resolv-conf=/etc/resolv.conf \
         --root-dir=/var/lib/kubelet --runtime-cgroups=/k3s --serialize-image-pulls=false --tls-cert-file=/a --tls-private-key-file=/b",
    ];
    for line in lines {
        let flags = parsed(line).unwrap_or_else(|error| panic!("{line}: {error}"));
        assert!(flags.text(Own::Kubeconfig).is_some(), "{line}");
        assert_eq!(flags.not_yet, [""; 0], "{line}");
    }
}

#[test]
fn flags_that_are_not_acted_on_are_reported_once_unless_they_ask_for_what_happens_anyway() {
    let flags = parsed("--lock-file=/a --lock-file=/b --experimental-mounter-path= --runtime-cgroups=/x");
    assert_eq!(flags.expect("they are known").not_yet, ["lock-file"]);
}

#[test]
fn own_flags_have_values_of_their_kinds() {
    let flags =
        parsed("--node-labels=a=b,c= --plugins=/p.yaml --readmit-on-restart --kubeconfig=").expect("known");
    assert_eq!(
        flags.pairs(Own::NodeLabels).into_iter().collect::<Vec<_>>(),
        [("a".to_owned(), "b".to_owned()), ("c".to_owned(), String::new()),]
    );
    assert_eq!(flags.text(Own::Plugins), Some("/p.yaml"));
    assert!(flags.is_on(Own::ReadmitOnRestart) && !flags.is_on(Own::StopPodsOnExit));
    assert_eq!(flags.text(Own::Kubeconfig), None, "an empty path is none");
}

#[test]
fn fields_that_act_can_be_set_by_flags_or_in_a_file_only() {
    let by_flag: BTreeSet<_> = FLAGS
        .iter()
        .filter_map(|flag| if let Target::Field(path) = flag.target { Some(path) } else { None })
        .collect();
    let in_files_only: Vec<_> = FIELDS
        .iter()
        .filter(|field| field.fate == crate::kubelet::configuration::fields::FieldSupport::Acts)
        .map(|field| field.path)
        .filter(|path| !by_flag.contains(path))
        .collect();
    let expected = [
        "podLogsDir",
        "imagePullCredentialsVerificationPolicy",
        "preloadedImagesVerificationAllowlist",
        "nodeStatusReportFrequency",
        "nodeLeaseDurationSeconds",
        "imageMaximumGCAge",
        "singleProcessOOMKill",
        "maxParallelImagePulls",
        "mergeDefaultEvictionSettings",
        "memorySwap.swapBehavior",
        "enableSystemLogHandler",
        "enableSystemLogQuery",
        "enableProfilingHandler",
        "enableDebugFlagsHandler",
        "memoryThrottlingFactor",
        "memoryReservationPolicy",
        "tracing.endpoint",
        "tracing.samplingRatePerMillion",
    ];
    assert_eq!(in_files_only, expected, "upstream has no flags for these");
}
