//! The kubelet's configuration files and its command line: `host/witlet`.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use witlet::kubelet::preview;

use crate::{Target, check_message, split_at_line};

pub(crate) const TARGET: Target = Target {
    name: "kubelet_configuration",
    run,
    words: &[
        "apiVersion: kubelet.config.k8s.io/v1beta1\n",
        "kind: KubeletConfiguration\n",
        "featureGates:\n",
        "  InPlacePodVerticalScaling: true\n",
        "staticPodPath: ",
        "syncFrequency: ",
        "1m30s",
        "-1s",
        "1h",
        "evictionHard:\n",
        "memory.available: ",
        "100Mi",
        "10%",
        "maxPods: ",
        "authentication:\n",
        "  anonymous:\n    enabled: false\n",
        "authorization:\n  mode: Webhook\n",
        "clusterDNS: [10.96.0.10]\n",
        "clusterDomain: cluster.local\n",
        "registerWithTaints:\n- key: a\n  effect: NoSchedule\n",
        "systemReserved:\n  cpu: 100m\n",
        "tlsCipherSuites: []\n",
        "logging:\n  format: json\n",
        "containerLogMaxSize: ",
        "port: ",
        "readOnlyPort: ",
        "serializeImagePulls: false\n",
        "shutdownGracePeriod: ",
        "imageGCHighThresholdPercent: ",
        "cpuManagerPolicy: static\n",
        "cgroupDriver: systemd\n",
        "address: ",
        "podCIDR: ",
        "resolvConf: ",
        "staticPodURLHeader:\n  A: [b]\n",
        "failSwapOn: false\n",
        "---file\n",
        "---flags\n",
        "--v=2\n",
        "--node-ip=::1\n",
        "--node-labels=a=b\n",
        "--feature-gates=A=true\n",
        "--config\n",
        "--hostname-override\n",
        "--kubeconfig=/a\n",
        "--max-pods=\n",
        "--register-with-taints=a=b:NoSchedule\n",
        "--system-reserved=cpu=1\n",
        "--no-such=\n",
        "-v\n",
        "--\n",
    ],
};

fn run(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let (files, flags) = split_at_line(text, "---flags");
    let (first, second) = split_at_line(files, "---file");
    let flags: Vec<String> = flags.lines().map(str::to_owned).collect();
    let mut files = vec![file("/etc/kubernetes/kubelet.yaml", first)];
    if !second.is_empty() {
        files.push(file("/etc/kubernetes/kubelet.conf.d/10.conf", second));
    }
    // What is wrong is shown as it stands: the files are root's, and are read once.
    let found = preview(&flags, &files);
    let again = preview(&flags, &files);
    match (found, again) {
        (Ok(found), Ok(again)) => {
            assert_eq!(found, again, "the same texts come to the same");
            found.warnings.iter().for_each(|warning| check_message(warning, 2 * text.len()));
            round_trip(&found.configz, &flags);
        }
        (Err(error), Err(again)) => {
            assert_eq!(error.to_string(), again.to_string());
            let words = std::iter::successors(Some(&*error as &(dyn std::error::Error + 'static)), |error| {
                error.source()
            });
            words.for_each(|error| check_message(&error.to_string(), 4 * text.len()));
        }
        (found, again) => panic!("once {found:?}, once {again:?}"),
    }
}

fn file(path: &str, text: &str) -> (PathBuf, String) {
    (Path::new(path).to_owned(), text.to_owned())
}

/// What `/configz` shows is a configuration that comes to the same.
fn round_trip(configz: &Value, flags: &[String]) {
    let Some(Value::Object(mut shown)) = configz.get("kubeletconfig").cloned() else {
        panic!("configz shows no configuration: {configz}");
    };
    shown.insert("apiVersion".to_owned(), json!("kubelet.config.k8s.io/v1beta1"));
    shown.insert("kind".to_owned(), json!("KubeletConfiguration"));
    let files = [file("/etc/kubernetes/shown.json", &Value::Object(shown).to_string())];
    let again =
        preview(flags, &files).unwrap_or_else(|error| panic!("{error:?} in what was shown: {configz}"));
    assert_eq!(&again.configz, configz);
}
