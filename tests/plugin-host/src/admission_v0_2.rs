//! Handlers of contract 0.2: answers, subscriptions, and all that they see.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Node as KubeNode, Pod};
use serde_json::{Value, json};
use tempfile::TempDir;
use witlet_core::admission::{AdmissionRequest, AdmittedPod, Decision, Operation};
use witlet_core::node::NodeFacts;
use witlet_core::node::observed::ObservedNode;
use witlet_core::pod::SourceName;
use witlet_wasm::host::HandlerStep;
use witlet_wasm::plugin::PluginState;

use crate::claims;
use crate::node::{Node, Setting, cache, compiler, configuration, hostile, pod, pod_in, request};

claims!(
    handlers_of_both_contracts_are_asked_next_to_each_other,
    each_kind_of_answer_becomes_a_verdict,
    what_is_no_answer_is_a_bad_one,
    an_error_says_when_to_ask_again,
    a_handler_is_asked_about_what_it_subscribes_to,
    what_a_host_does_not_know_is_refused_by_name,
    warnings_and_annotations_go_where_people_search,
    a_handle_of_an_earlier_request_is_noticed,
    a_handler_sees_the_request_and_its_pods,
    a_handler_sees_containers_with_what_counts_of_their_security,
    a_handler_sees_images_volumes_and_the_node,
    a_handler_sees_the_node_and_its_secrets_by_the_host_s_interfaces,
);

/// The version of the contract.
const VERSION: &str = "0.2.0";

/// An entry with the guest, which imports secrets; each is asked about the pods of the namespace of its name.
fn entry(name: &str, config: &str, secrets: &str, more: &str) -> String {
    format!(
        "- {{name: {name}, component: v0-2.wasm, admission: {{match: {{namespaces: [{name}]}}}}, \
         limits: {{timeout: 10s}}, grants: {{secrets: [{secrets}]}}, config: {config}{more}}}\n"
    )
}

/// The same with one secret.
fn plain(name: &str, config: &str) -> String {
    entry(name, config, "granted", "")
}

/// Of guests that each do what they are called.
pub(crate) fn entries(behaviours: &[&str]) -> String {
    behaviours.iter().map(|name| plain(name, &format!("{{do: {name}, subscribe: {ALL}}}"))).collect()
}

/// All operations.
const ALL: &str = "[add, resize, update, ephemeral, image-resolved, readmit, recheck]";

fn setting() -> Setting {
    let files = vec![("v0-2.wasm", witlet_test_guests::ADMISSION_V0_2.to_vec())];
    Setting { files, ..Setting::new(compiler(cache())) }
}

/// A folder with the secret `granted`, and the section of the configuration that says so.
pub(crate) fn secrets() -> (TempDir, String) {
    let folder = TempDir::new().expect("a folder");
    let file = folder.path().join("granted");
    std::fs::write(&file, "open sesame").expect("the folder is writable");
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).expect("it is the test's file");
    let section = format!("secrets:\n- {{name: granted, file: {}}}\n", file.display());
    (folder, section)
}

/// A node with these entries and sections, once each plugin was tried.
async fn start(text: &str) -> Node {
    let node = Node::begin(text, setting()).await.expect("the host starts");
    let ready = tokio::time::timeout(witlet_harness::WAIT_TIMEOUT, node.host.ready()).await;
    assert!(ready.is_ok(), "every plugin was tried: {:#?}", node.host.list());
    node
}

/// A node with these entries, and the folder of its secret.
pub(crate) async fn node(entries: &str) -> (Node, TempDir) {
    let (folder, section) = secrets();
    (start(&format!("{entries}{section}")).await, folder)
}

/// Asks about a pod of this namespace, and returns the refusal of the plugin with the same name.
async fn refused(node: &Node, name: &str) -> Decision {
    node.refused_by(name, pod_in(name, "web")).await
}

pub(crate) fn rejected(reason: &str, message: &str) -> Decision {
    Decision::Reject { reason: reason.to_owned(), message: message.to_owned(), handler: None }
}

/// Asks, again where a handler had no thread within its time.
pub(crate) async fn ask(node: &Node, request: AdmissionRequest) -> Decision {
    let admission = node.host.admission();
    let asking = async {
        loop {
            match admission.admit(request.clone()).await {
                Decision::Defer { reason, .. } if reason == "HandlerNotAsked" => {}
                decision => return decision,
            }
        }
    };
    tokio::time::timeout(witlet_harness::WAIT_TIMEOUT, asking).await.expect("admission answers in time")
}

async fn handlers_of_both_contracts_are_asked_next_to_each_other() {
    let (node, _secrets) = node(&(hostile("old", "admit", "order: 1") + &entries(&["reject"]))).await;
    assert_eq!(refused(&node, "reject").await, rejected("NotNeeded", "this pod isn't needed"));
    for (name, version) in [("old", "0.1.0"), ("reject", VERSION)] {
        let status = node.status(name);
        let versions: Vec<_> = status.roles.iter().map(|role| role.version).collect();
        assert_eq!((versions, status.calls()), (vec![Some(version)], 1), "{name}");
    }
}

async fn each_kind_of_answer_becomes_a_verdict() {
    let (node, _secrets) = node(&entries(&["admit", "reject", "reject-badly", "defer", "shortage"])).await;
    assert_eq!(node.admit(pod_in("admit", "web")).await, Decision::Admit);
    assert_eq!(refused(&node, "reject").await, rejected("NotNeeded", "this pod isn't needed"));
    assert_eq!(refused(&node, "reject-badly").await, rejected("NotNeeded", "two\\nlines"));
    let deferred = Decision::Defer {
        reason: "NotNow".to_owned(),
        message: "not now".to_owned(),
        retry_after: Duration::from_secs(5),
    };
    assert_eq!(refused(&node, "defer").await, deferred);
    let out_of = Decision::Reject {
        reason: "OutOfcpu".to_owned(),
        message: "Node didn't have enough resource: cpu, requested: 500, used: 800, capacity: 1000"
            .to_owned(),
        handler: None,
    };
    assert_eq!(refused(&node, "shortage").await, out_of);
    assert_eq!(node.events.reasons(), ["PluginVerdictSanitized"], "a reason that is no word is reported");
}

/// The reason, message and time of a deferral.
fn deferral(decision: Decision) -> (String, String, Duration) {
    match decision {
        Decision::Defer { reason, message, retry_after } => (reason, message, retry_after),
        other => panic!("{other:?}"),
    }
}

async fn what_is_no_answer_is_a_bad_one() {
    let (node, _secrets) = node(&entries(&["nothing", "twice", "many-shortages"])).await;
    for (name, fault) in [
        ("nothing", "it answered nothing: an answer is one of admit, reject, defer, shortage"),
        ("twice", "it answered admit, and then reject"),
        ("many-shortages", "65 shortages are more than 64"),
    ] {
        let (reason, message, _) = deferral(node.admit(pod_in(name, "web")).await);
        assert_eq!(reason, "HandlerBadAnswer", "{name}");
        assert!(message.contains(&format!("{fault} (plugin {name}, sha256:")), "{name}: {message}");
    }
}

async fn an_error_says_when_to_ask_again() {
    let (node, _secrets) = node(&entries(&["error", "error-after-all"])).await;
    for name in ["error", "error-after-all"] {
        let (reason, message, retry_after) = deferral(node.admit(pod_in(name, "web")).await);
        assert_eq!((reason.as_str(), retry_after), ("HandlerFailed", Duration::from_secs(30)), "{name}");
        let error = format!("NoTable: the table can't be read (rows: 7) (plugin {name}, sha256:");
        assert!(message.contains(&error), "{name}: {message}");
    }
}

async fn a_handler_is_asked_about_what_it_subscribes_to() {
    let new = "{do: operation, subscribe: [update, ephemeral]}";
    let (folder, section) = secrets();
    let new = plain("new", new) + &section;
    let node = start(&(hostile("old", "admit", "order: 1") + &new)).await;
    for operation in Operation::ALL {
        let asked = AdmissionRequest { operation, ..request(pod_in("new", "web")) };
        let decision = ask(&node, asked).await;
        let expected = match operation {
            Operation::Add | Operation::Resize => Decision::Admit,
            Operation::Update | Operation::Ephemeral => rejected("Asked", operation.as_str()),
            Operation::ImageResolved | Operation::Readmit | Operation::Recheck => Decision::Admit,
        };
        match decision {
            Decision::Admit => assert_eq!(expected, Decision::Admit, "{operation:?}"),
            decision => assert_eq!(node.unsigned("new", decision), expected, "{operation:?}"),
        }
    }
    assert_eq!((node.status("old").calls(), node.status("new").calls()), (2, 2));
    let trial = Node::trial(&new, setting()).await;
    drop(folder);
    let explained = trial.host.explain(request(pod_in("new", "web")), false).await;
    assert!(
        matches!(&explained.handlers[0].step, HandlerStep::NotMatched { message, .. } if message.contains("add")),
        "{explained:?}"
    );
}

async fn what_a_host_does_not_know_is_refused_by_name() {
    let refuses = plain("refuses", "{do: refuse}");
    let unknown = plain("unknown", "{do: admit, subscribe: [add, evict]}");
    let (node, _secrets) =
        node(&(refuses + &unknown + &plain("nothing", "{do: admit, subscribe: []}"))).await;
    for (name, expected) in [
        ("refuses", "the plugin refuses its configuration: NoTable: the table can't be read (rows: 7)"),
        (
            "unknown",
            "it subscribes to \"evict\", which this host doesn't know; it has add, resize, update, ephemeral, image-resolved, readmit, recheck",
        ),
        (
            "nothing",
            "it subscribes to nothing; this host has add, resize, update, ephemeral, image-resolved, readmit, recheck",
        ),
    ] {
        let status = node.status(name);
        assert_eq!(status.state, PluginState::Failed, "{name}");
        let error = status.detail.unwrap_or_default();
        assert!(error.contains(expected), "{name}: {error}");
    }
}

async fn warnings_and_annotations_go_where_people_search() {
    let (_secrets, section) = secrets();
    let remark = plain("remark", "{do: remark, warn: soon gone}") + &section;
    let node = start(&remark).await;
    assert_eq!(node.events.reasons(), ["PluginWarning"]);
    assert_eq!(node.events.messages(), ["soon gone (add: true, fly: false)"]);
    node.configure(&configuration(&remark).replace("plugins:", "decisionLog: true\nplugins:"));
    let path = node.folder.path().join("decisions/decisions.jsonl");
    // Asked again and again, because nothing else shows that the file was taken.
    let logged = async {
        while lines(&path).is_empty() {
            assert_eq!(node.admit(pod_in("remark", "web")).await, Decision::Admit);
        }
    };
    tokio::time::timeout(witlet_harness::WAIT_TIMEOUT, logged).await.expect("it is logged");
    let line: Value = serde_json::from_str(lines(&path).lines().next().unwrap_or_default()).expect("JSON");
    assert_eq!(line["annotations"], json!({"remark/image": "second"}), "{line}");
    let warned: Vec<String> = node.events.messages().into_iter().skip(1).take(16).collect();
    let digest = node.status("remark").digest.expect("it is loaded");
    let by = format!("(plugin remark, sha256:{})", &digest[..12]);
    let expected: Vec<String> = (0..16).map(|number| format!("warning {number} {by}")).collect();
    assert_eq!(warned, expected, "an event of the pod for each, and no more than 16");
    assert_eq!(node.events.reasons()[1], "AdmissionWarning");
    let trial = Node::trial(&remark, setting()).await;
    let explained = trial.host.explain(request(pod_in("remark", "web")), false).await;
    match &explained.handlers[0].step {
        HandlerStep::Answered(answer) => {
            assert_eq!((answer.warnings.len(), answer.annotations.len()), (16, 1));
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(trial.events.reasons(), ["PluginWarning"], "a trial warns no pod's owner");
}

fn lines(path: &Path) -> String {
    // A line that is being written has no end yet.
    let text = std::fs::read_to_string(path).unwrap_or_default();
    text.rfind('\n').map(|end| text[..=end].to_owned()).unwrap_or_default()
}

async fn a_handle_of_an_earlier_request_is_noticed() {
    let warm = ", instances: {warm: {max: 1}}";
    let (node, _secrets) = node(&entry("keep", "{do: keep}", "granted", warm)).await;
    assert_eq!(refused(&node, "keep").await, rejected("Kept", "nothing"));
    let (reason, message, _) = deferral(node.admit(pod_in("keep", "web")).await);
    assert_eq!(reason, "HandlerTrapped");
    assert!(message.contains("the handle belongs to an earlier request, which is over"), "{message}");
}

/// A pod with all that handlers see.
fn rich(namespace: &str) -> Pod {
    let pod = json!({
        "metadata": {
            "namespace": namespace, "name": "web", "uid": "uid-of-web", "labels": {"app": "web"},
            "annotations": {"note": "n"},
            "ownerReferences": [
                {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web-1", "uid": "u", "controller": true},
            ],
        },
        "spec": {
            "serviceAccountName": "robot", "priority": 7, "priorityClassName": "high",
            "runtimeClassName": "wasm", "hostPID": true, "hostUsers": false,
            "initContainers": [{"name": "side", "image": "nginx", "restartPolicy": "Always"}],
            "containers": [{
                "name": "main", "image": "registry.example.com/app:1.2", "imagePullPolicy": "Always",
                "resources": {"requests": {"cpu": "250m"}, "limits": {"memory": "64Mi"}},
                "env": [{"name": "MODE"}],
                "ports": [{"name": "http", "containerPort": 80, "hostPort": 8080}],
                "volumeMounts": [{"name": "data", "mountPath": "/data", "subPath": "sub", "readOnly": true}],
                "securityContext": {
                    "privileged": true, "runAsNonRoot": true, "runAsUser": 1, "readOnlyRootFilesystem": true,
                    "allowPrivilegeEscalation": false, "seccompProfile": {"type": "RuntimeDefault"},
                    "capabilities": {"add": ["NET_ADMIN"], "drop": ["ALL"]},
                },
            }],
            "volumes": [
                {"name": "data", "hostPath": {"path": "/srv"}},
                {"name": "models", "image": {"reference": "models:1"}},
            ],
        },
    });
    serde_json::from_value(pod).expect("it is a pod")
}

fn rich_node() -> NodeFacts {
    let node: KubeNode = serde_json::from_value(json!({
        "metadata": {"labels": {"disk": "fast", "topology.kubernetes.io/zone": "z1"}},
        "spec": {"taints": [{"key": "dedicated", "effect": "NoSchedule"}]},
        "status": {
            "capacity": {"cpu": "4", "pods": "110"},
            "allocatable": {"cpu": "3", "pods": "110"},
            "conditions": [{"type": "Ready", "status": "True", "reason": "Up", "message": "it is up"}],
        },
    }))
    .expect("it is a node");
    NodeFacts {
        name: "node-1".to_owned(),
        node,
        addresses: vec!["10.0.0.7".parse().expect("an address")],
        facts: [("cgroup.version".to_owned(), "2".to_owned())].into(),
        observed: ObservedNode {
            used: Arc::new([("memory".to_owned(), 5 << 30)].into()),
            runtime_classes: Arc::new([("wasm".to_owned(), "wasmtime".to_owned())].into()),
        },
        ..NodeFacts::default()
    }
}

/// An image was changed of a pod, next to which there is one other.
pub(crate) fn rich_request(namespace: &str) -> AdmissionRequest {
    let other = json!({
        "metadata": {"namespace": "a", "name": "other"},
        "spec": {"containers": [{
            "name": "c", "resources": {"requests": {"cpu": "1"}},
            "ports": [{"containerPort": 53, "hostPort": 53, "hostIP": "10.0.0.1", "protocol": "UDP"}],
        }]},
    });
    let other = AdmittedPod {
        pod: Arc::new(serde_json::from_value(other).expect("it is a pod")),
        source: SourceName::from("api"),
    };
    AdmissionRequest {
        operation: Operation::Update,
        old_pod: Some(Arc::new(pod("as-it-runs"))),
        node: Arc::new(rich_node()),
        other_pods: [other].into(),
        ..request(rich(namespace))
    }
}

/// What the guest with this name tells of that request.
async fn reported(node: &Node, name: &str) -> Value {
    match node.unsigned(name, ask(node, rich_request(name)).await) {
        Decision::Reject { reason, message, .. } if reason == "Reported" => {
            serde_json::from_str(&message).unwrap_or_else(|error| panic!("{name}: {error}: {message}"))
        }
        other => panic!("{name}: {other:?}"),
    }
}

async fn a_handler_sees_the_request_and_its_pods() {
    let (node, _secrets) = node(&entries(&["tell-request", "tell-pod", "tell-old-pod"])).await;
    let now: Timestamp = crate::node::now();
    let seconds = (now.as_second(), now.subsec_nanosecond());
    assert_eq!(
        reported(&node, "tell-request").await,
        json!({
            "operation": "update", "now": [seconds.0, seconds.1], "pod": "web", "oldPod": "as-it-runs",
            "node": "node-1", "otherPods": ["other"],
        })
    );
    assert_eq!(
        reported(&node, "tell-pod").await,
        json!({
            "namespace": "tell-pod", "name": "web", "uid": "uid-of-web", "source": "file",
            "label": ["web", null], "labels": [["app", "web"]],
            "annotation": ["n", null], "annotations": [["note", "n"]],
            "owners": [["apps/v1", "ReplicaSet", "web-1", "u", true]],
            "serviceAccount": "robot", "hasServiceAccountToken": false, "priority": 7, "priorityClass": "high",
            "runtimeClass": "wasm", "runtimeHandler": "wasmtime", "qos": "Burstable", "host": [false, true, false, false],
            "resources": ["cpu", "memory"], "request": [250, null], "limit": [64 << 20, null],
            "hostPorts": [[null, "TCP", 8080]], "hasJson": true, "pointer": ["\"web\"", null],
        })
    );
    assert_eq!(reported(&node, "tell-old-pod").await["name"], "as-it-runs");
}

async fn a_handler_sees_containers_with_what_counts_of_their_security() {
    let (node, _secrets) = node(&entries(&["tell-containers", "tell-security"])).await;
    let containers = reported(&node, "tell-containers").await;
    let side = json!({
        "name": "side", "kind": "sidecar", "place": "spec.initContainers[0]",
        "image": "docker.io/library/nginx:latest", "pullPolicy": "", "resources": [], "request": [null, null],
        "limit": [null, null], "env": [], "ports": [], "mounts": [], "pointer": ["\"side\"", null, null],
    });
    let main = json!({
        "name": "main", "kind": "app", "place": "spec.containers[0]", "image": "registry.example.com/app:1.2",
        "pullPolicy": "Always", "resources": ["cpu", "memory"], "request": [250, null], "limit": [64 << 20, null],
        "env": ["MODE"], "ports": [["http", 80, "TCP", 8080]], "mounts": [["data", "/data", "sub", true, false]],
        "pointer": ["\"main\"", null, null],
    });
    assert_eq!(containers, json!([side, main]));
    let unsaid = json!({
        "privileged": false, "runAsNonRoot": false, "runAs": [null, null], "allowPrivilegeEscalation": true,
        "readOnly": false, "profiles": [null, null], "capabilities": [[], []],
    });
    let said = json!({
        "privileged": true, "runAsNonRoot": true, "runAs": [1, null], "allowPrivilegeEscalation": false,
        "readOnly": true, "profiles": ["RuntimeDefault", null], "capabilities": [["NET_ADMIN"], ["ALL"]],
    });
    assert_eq!(reported(&node, "tell-security").await, json!([unsaid, said]));
}

async fn a_handler_sees_images_volumes_and_the_node() {
    let (node, _secrets) = node(&entries(&["tell-images", "tell-volumes", "tell-node"])).await;
    assert_eq!(
        reported(&node, "tell-images").await,
        json!([
            {
                "reference": "nginx", "place": "spec.initContainers[0].image",
                "name": "docker.io/library/nginx:latest",
                "parts": ["docker.io", "library/nginx", "latest", null],
            },
            {
                "reference": "registry.example.com/app:1.2", "place": "spec.containers[0].image",
                "name": "registry.example.com/app:1.2", "parts": ["registry.example.com", "app", "1.2", null],
            },
            {
                "reference": "models:1", "place": "spec.volumes[1].image.reference",
                "name": "docker.io/library/models:1", "parts": ["docker.io", "library/models", "1", null],
            },
        ])
    );
    assert_eq!(
        reported(&node, "tell-volumes").await,
        json!([
            {"name": "data", "kind": "hostPath", "hostPath": "/srv", "image": null, "pointer": "\"data\""},
            {
                "name": "models", "kind": "image", "hostPath": null,
                "image": "spec.volumes[1].image.reference", "pointer": "\"models\"",
            },
        ])
    );
    assert_eq!(
        reported(&node, "tell-node").await,
        json!({
            "name": "node-1", "label": ["fast", null],
            "labels": [["disk", "fast"], ["topology.kubernetes.io/zone", "z1"]],
            "taints": [["dedicated", "", "NoSchedule"]],
            "condition": [["Ready", "True", "Up", "it is up"], null], "conditions": 1,
            "resources": ["cpu", "pods"], "cpu": [4000, 3000, 1000, 2000], "used": [5_u64 << 30, null], "none": [null, null, 0, null],
            "usedHostPorts": [["10.0.0.1", "UDP", 53]], "fact": ["2", null], "facts": [["cgroup.version", "2"]],
            "devices": "[]", "hasJson": true, "pointer": "\"fast\"",
        })
    );
}

async fn a_handler_sees_the_node_and_its_secrets_by_the_host_s_interfaces() {
    let (folder, section) = secrets();
    let config = format!("{{do: tell-host, subscribe: {ALL}}}");
    let missing = folder.path().join("missing");
    let missing = format!("- {{name: missing, file: {}}}\n", missing.display());
    let node = start(&(entry("tell-host", &config, "granted, missing", "") + &section + &missing)).await;
    let mut reported = reported(&node, "tell-host").await;
    // Which levels are enabled is the log's business.
    let enabled = reported.as_object_mut().and_then(|reported| reported.remove("enabled"));
    assert!(enabled.is_some_and(|enabled| enabled.as_u64() <= Some(5)));
    assert_eq!(
        reported,
        json!({
            "node": ["node-1", "fast", null, "z1"],
            "labels": [["disk", "fast"], ["topology.kubernetes.io/zone", "z1"]],
            "addresses": ["10.0.0.7"], "allocatable": [3000, null], "features": [true, false],
            "secrets": [
                "open sesame",
                ["NotFound", "the node doesn't have the secret \"missing\"", null, null],
                ["NotGranted", "the plugin isn't granted the secret \"other\" (grants.secrets)", null, null],
            ],
        })
    );
}
