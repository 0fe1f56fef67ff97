//! Values in pflag's forms.

use super::super::parse;
use super::*;

fn shown_of(line: &str) -> BTreeMap<String, String> {
    let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
    flagz(&parse(&words).expect("a command line"))
}

#[test]
fn every_flag_has_its_value_or_its_default() {
    let shown = shown_of("");
    assert!(FLAGS.iter().all(|flag| shown.contains_key(flag.name)), "{shown:?}");
    for (name, expected) in [
        ("max-pods", "110"),
        ("address", "0.0.0.0"),
        ("cgroups-per-qos", "true"),
        ("runonce", "false"),
        ("sync-frequency", "1m0s"),
        ("enforce-node-allocatable", "[pods]"),
        ("cluster-dns", "[]"),
        ("kube-reserved", ""),
        (
            "eviction-hard",
            "imagefs.available<15%,imagefs.inodesFree<5%,memory.available<100Mi,nodefs.available<10%,nodefs.inodesFree<5%",
        ),
        ("root-dir", "/var/lib/kubelet"),
        ("maximum-dead-containers", "-1"),
        ("minimum-container-ttl-duration", "0s"),
        ("kubeconfig", ""),
        ("v", "0"),
        ("vmodule", ""),
        ("log-flush-frequency", "5s"),
        ("log-text-info-buffer-size", "0"),
        ("log-json-split-stream", "false"),
        ("version", "false"),
        ("manifest-url-header", ""),
    ] {
        assert_eq!(shown[name], expected, "{name}");
    }
}

#[test]
fn given_values_are_shown_and_secrets_are_not() {
    let shown = shown_of(
        "--max-pods=7 -v=4 --feature-gates=AllAlpha=true,EnvFiles=true --cluster-dns=10.0.0.10 --cluster-dns=10.0.0.11 \
         --kube-reserved=cpu=1,memory=1Gi --eviction-hard=memory.available<1Gi --register-with-taints=a=b:NoSchedule,c:NoExecute \
         --manifest-url-header=Authorization:secret --storage-driver-password=secret --lock-file=/l --boot-id-file=/b",
    );
    for (name, expected) in [
        ("max-pods", "7"),
        ("v", "4"),
        ("feature-gates", "AllAlpha=true,EnvFiles=true"),
        ("cluster-dns", "[10.0.0.10,10.0.0.11]"),
        ("kube-reserved", "cpu=1,memory=1Gi"),
        ("eviction-hard", "memory.available<1Gi"),
        ("register-with-taints", "a=b:NoSchedule,c:NoExecute"),
        ("manifest-url-header", "CLASSIFIED"),
        ("storage-driver-password", "CLASSIFIED"),
        ("lock-file", "/l"),
        ("boot-id-file", "/b"),
    ] {
        assert_eq!(shown[name], expected, "{name}");
    }
}
