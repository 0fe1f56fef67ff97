//! Tests of the hash. The values in them must never change: running containers carry them.

use k8s_openapi::api::core::v1::Container;

use super::{container_hash, is_of_kubelet, kubelet_hash};

fn hash(yaml: &str) -> String {
    let container: Container = serde_saphyr::from_str(yaml).unwrap();
    container_hash(&container)
}

const FULL: &str = "
name: web
image: registry.example.com/web:1.2
command: [/web]
args: [--listen, ':80']
workingDir: /srv
env: [{name: A, value: b}, {name: IP, valueFrom: {fieldRef: {fieldPath: status.podIP}}}]
ports: [{containerPort: 80, hostPort: 8080}]
securityContext: {runAsUser: 7, readOnlyRootFilesystem: true}
stdin: true
tty: true
";

#[test]
fn known_specs_have_the_hashes_that_earlier_releases_gave_them() {
    let known = [("{name: a, image: b}", "c7c8cf852716eab6"), (FULL, "2da2801e113a98f6")];
    for (yaml, expected) in known {
        assert_eq!(hash(yaml), expected, "{yaml}");
    }
}

#[test]
fn everything_that_the_process_is_made_from_changes_the_hash() {
    let changes = [
        ("image: registry.example.com/web:1.2", "image: registry.example.com/web:1.3"),
        ("name: web", "name: webs"),
        ("command: [/web]", "command: [/webs]"),
        ("args: [--listen, ':80']", "args: [--listen, ':81']"),
        ("workingDir: /srv", "workingDir: /"),
        ("value: b", "value: c"),
        ("hostPort: 8080", "hostPort: 8081"),
        ("runAsUser: 7", "runAsUser: 8"),
        ("stdin: true", "stdin: false"),
        ("tty: true", "tty: false"),
    ];
    for (from, to) in changes {
        assert!(FULL.contains(from));
        assert_ne!(hash(FULL), hash(&FULL.replace(from, to)), "{to}");
    }
}

#[test]
fn what_joined_later_counts_where_it_is_set() {
    let additions = [
        "lifecycle: {stopSignal: SIGUSR1}",
        "lifecycle: {stopSignal: SIGUSR2}",
        "resources: {limits: {cpu: 1, hugepages-2Mi: 4Mi}}",
        "resources: {limits: {cpu: 1, hugepages-2Mi: 8Mi}}",
    ];
    let mut hashes: Vec<String> =
        additions.iter().map(|addition| hash(&format!("{FULL}{addition}\n"))).collect();
    hashes.push(hash(FULL));
    hashes.sort();
    hashes.dedup();
    assert_eq!(hashes.len(), additions.len() + 1);
}

#[test]
fn what_the_agent_changes_under_a_running_process_does_not_change_the_hash() {
    let additions = [
        "resources: {limits: {cpu: 1, memory: 1Gi}}",
        "resizePolicy: [{resourceName: cpu, restartPolicy: NotRequired}]",
        "livenessProbe: {tcpSocket: {port: 80}}",
        "readinessProbe: {tcpSocket: {port: 80}}",
        "startupProbe: {tcpSocket: {port: 80}}",
        "imagePullPolicy: Always",
        "terminationMessagePath: /dev/other",
        "terminationMessagePolicy: File",
        "lifecycle: {preStop: {sleep: {seconds: 1}}}",
    ];
    for addition in additions {
        assert_eq!(hash(FULL), hash(&format!("{FULL}{addition}\n")), "{addition}");
    }
}

#[test]
fn the_order_of_fields_and_what_is_empty_make_no_difference() {
    let reversed: String = FULL.lines().rev().map(|line| format!("{line}\n")).collect();
    assert_eq!(hash(FULL), hash(&reversed));
    let small = "{name: a, image: b}";
    assert_eq!(hash(small), hash("{image: b, name: a, env: [], args: [], stdin: false, tty: false}"));
}

#[test]
fn hashes_of_kubelets_are_known_by_their_form() {
    for (hash, expected) in [
        ("7d2b5c1f", true),
        ("0", true),
        ("", false),
        ("7d2b5c1f0", false),
        ("of another spec", false),
        ("7D2B", false),
    ] {
        assert_eq!(is_of_kubelet(hash), expected, "{hash}");
    }
    assert!(!is_of_kubelet(&hash(FULL)));
}

#[test]
fn the_kubelets_own_hash_is_known() {
    let known = [
        // Upstream's `sampleV131HashValue`.
        ("test_container", "foo/image:v1", "8e45cbd0"),
        // From the log of a kubelet.
        ("vllm", "vllm/vllm-openai:v0.8.5", "d3768701"),
        // Made with Go's own JSON.
        ("a", "<b>&\"\\\u{1}\t\u{2028}é", "9737de0f"),
    ];
    for (name, image, expected) in known {
        let (name, image) = (name.to_owned(), Some(image.to_owned()));
        let container = Container { name, image, ..Container::default() };
        let hash = kubelet_hash(&container);
        assert_eq!(hash, expected, "{container:?}");
        assert!(is_of_kubelet(&hash));
    }
    let without = Container::default();
    let empty = Container { image: Some(String::new()), ..Container::default() };
    assert_eq!(kubelet_hash(&without), kubelet_hash(&empty), "Go knows no other absence");
}
