//! The example policies of contract 0.2 on a node, and the SDK's stand-in for the host against the host.

use k8s_openapi::api::core::v1::Pod;
use serde_json::{Value, json};
use witlet_core::admission::Decision;
use witlet_core::admission::facts::{
    container_facts, has_service_account_token, service_account, volume_facts,
};
use witlet_core::pod::resources;
use witlet_plugin_sdk_0_2::facts::RequestFacts;
use witlet_plugin_sdk_0_2::{Container, Image, Pod as SdkPod, Volume};
use witlet_wasm::plugin::PluginState;

use crate::claims;
use crate::node::{Node, Setting, cache, compiler};

claims!(
    each_policy_is_asked_on_a_node,
    a_policy_that_is_configured_wrongly_is_refused_in_its_own_words,
    common_policies_decide_the_same_on_both_contracts,
    the_sdk_reads_manifests_as_the_host_reads_pods,
);

/// A policy's configuration, and the reason for which it refuses [`bad`].
const POLICIES: &[(&str, &str)] = &[
    ("allowedRegistries, allow: [registry.example.com]", "ImageNotAllowed"),
    ("noLatestTag", "LatestTag"),
    ("digestRequired", "ImageNotPinned"),
    ("noPrivileged", "Privileged"),
    ("capabilities, drop: [ALL]", "Capabilities"),
    ("runAsNonRoot", "RunAsRoot"),
    ("noPrivilegeEscalation", "PrivilegeEscalation"),
    ("readOnlyRoot", "WritableRoot"),
    ("seccompRequired", "NoSeccomp"),
    ("userIds, min: 1000", "UserId"),
    ("userNamespaces", "HostUsers"),
    ("noHostPath", "HostPath"),
    ("hostPathsReadOnly", "HostPathWritable"),
    ("noHostNamespaces", "HostNamespace"),
    ("hostPortRange, min: 30000, max: 32767", "HostPort"),
    ("volumeKinds, allow: [emptyDir]", "VolumeKind"),
    ("limitsRequired, resources: [memory]", "NoLimit"),
    ("podSize, most: {cpu: 1000}", "PodTooLarge"),
    ("requiredLabels, labels: {team: []}", "RequiredLabel"),
    ("requiredAnnotations, annotations: [contact]", "RequiredAnnotation"),
    ("ownerKinds, allow: [ReplicaSet]", "NoOwner"),
    ("noServiceAccountToken", "ServiceAccountToken"),
    ("serviceAccounts, deny: [default]", "ServiceAccount"),
    ("spreadReplicas, most: 0", ""),
];

/// The policies that `tests/guests/policies-v0-1` has on contract 0.1.
const COMMON: &[&str] = &[
    "allowedRegistries",
    "noLatestTag",
    "digestRequired",
    "noPrivileged",
    "capabilities",
    "runAsNonRoot",
    "seccompRequired",
    "noHostPath",
    "noHostNamespaces",
    "limitsRequired",
    "noServiceAccountToken",
];

/// A pod of this namespace that does most of what policies are against.
fn bad(namespace: &str) -> Pod {
    let pod = json!({
        "metadata": {"namespace": namespace, "name": "web", "uid": "uid-of-web"},
        "spec": {
            "hostPID": true,
            "containers": [{
                "name": "app", "image": "nginx", "securityContext": {"privileged": true},
                "resources": {"requests": {"cpu": "2"}}, "ports": [{"containerPort": 80, "hostPort": 80}],
                "volumeMounts": [{"name": "logs", "mountPath": "/logs"}],
            }],
            "volumes": [
                {"name": "logs", "hostPath": {"path": "/var/log"}},
                {"name": "api", "projected": {"sources": [{"serviceAccountToken": {"path": "token"}}]}},
            ],
        },
    });
    serde_json::from_value(pod).expect("it is a pod")
}

/// A node with these policies, each for the pods of the namespace of its entry's name, once each was tried.
async fn node(policies: &[&str]) -> Node {
    let entries: String = policies
        .iter()
        .enumerate()
        .map(|(number, policy)| entry(&format!("p{number}"), "policies", policy))
        .collect();
    started(&entries).await
}

/// An entry for the pods of the namespace of its name.
fn entry(name: &str, component: &str, policy: &str) -> String {
    format!(
        "- {{name: {name}, component: {component}.wasm, admission: {{match: {{namespaces: [{name}]}}}}, \
         limits: {{timeout: 10s}}, config: {{policy: {policy}}}}}\n"
    )
}

async fn started(entries: &str) -> Node {
    let files = vec![
        ("policies.wasm", witlet_test_guests::POLICIES.to_vec()),
        ("before.wasm", witlet_test_guests::POLICIES_V0_1.to_vec()),
    ];
    let setting = Setting { files, ..Setting::new(compiler(cache())) };
    let node = Node::begin(entries, setting).await.expect("the host starts");
    let ready = tokio::time::timeout(witlet_harness::WAIT_TIMEOUT, node.host.ready()).await;
    assert!(ready.is_ok(), "every plugin was tried: {:#?}", node.host.list());
    node
}

async fn each_policy_is_asked_on_a_node() {
    let policies: Vec<&str> = POLICIES.iter().map(|(policy, _)| *policy).collect();
    let node = node(&policies).await;
    for (number, (policy, expected)) in POLICIES.iter().enumerate() {
        let name = format!("p{number}");
        match node.admit(bad(&name)).await {
            Decision::Admit => assert_eq!("", *expected, "{policy}"),
            Decision::Reject { reason, handler, .. } => {
                assert_eq!((reason.as_str(), handler), (*expected, Some(name.clone())), "{policy}");
            }
            other => panic!("{policy}: {other:?}"),
        }
        assert_eq!(node.status(&name).calls(), 1, "{policy}");
    }
}

async fn a_policy_that_is_configured_wrongly_is_refused_in_its_own_words() {
    let node = node(&["allowedRegistries, allow: []", "noSuchPolicy", "noLatestTag, allow: [a]"]).await;
    for (name, expected) in [
        ("p0", "InvalidConfiguration: allow: name one place at least"),
        ("p1", "unknown variant `noSuchPolicy`"),
        ("p2", "unknown field `allow`"),
    ] {
        let status = node.status(name);
        assert_eq!(status.state, PluginState::Failed, "{name}");
        let error = status.detail.unwrap_or_default();
        assert!(error.contains(expected), "{name}: {error}");
    }
}

/// The component of 0.1 and that of 0.2 are loaded many times next to each other, and refuse a pod in the same words.
async fn common_policies_decide_the_same_on_both_contracts() {
    let is_common = |(policy, _): &&(&str, &str)| {
        COMMON.iter().any(|name| policy.split(',').next().is_some_and(|own| own == *name))
    };
    let common: Vec<&(&str, &str)> = POLICIES.iter().filter(is_common).collect();
    assert_eq!(common.len(), COMMON.len(), "{common:?}");
    let both = |(number, (policy, _)): (usize, &&(&str, &str))| {
        entry(&format!("p{number}"), "policies", policy) + &entry(&format!("b{number}"), "before", policy)
    };
    let entries: String = common.iter().enumerate().map(both).collect();
    let node = started(&entries).await;
    for (number, (policy, expected)) in common.into_iter().enumerate() {
        let (now, before) = (format!("p{number}"), format!("b{number}"));
        let now = node.refused_by(&now, bad(&now)).await;
        let is_expected = matches!(&now, Decision::Reject { reason, .. } if reason == expected);
        assert!(is_expected, "{policy}: {now:?}");
        assert_eq!(node.refused_by(&before, bad(&before)).await, now, "{policy}");
    }
}

/// Manifests, and what is seen of each: the SDKs of all languages are held to them.
const MANIFESTS: &str = include_str!("../../../plugins/sdk/guest-0.2/manifests.json");

async fn the_sdk_reads_manifests_as_the_host_reads_pods() {
    let cases: Vec<Value> = serde_json::from_str(MANIFESTS).expect("it is JSON");
    assert!(!cases.is_empty());
    for case in cases {
        let (name, manifest, seen) = (&case["name"], &case["manifest"], &case["seen"]);
        let pod: Pod = serde_json::from_value(manifest.clone()).expect("it is a pod");
        assert_eq!(&of_host(&pod), seen, "what the host sees of {name}");
        assert_eq!(&of_sdk(&RequestFacts::of(manifest).request().pod()), seen, "what the SDK sees of {name}");
    }
}

/// All that the SDK says of a pod from a manifest.
fn of_sdk(pod: &SdkPod) -> Value {
    let image = |image: Image| {
        json!([
            image.reference(),
            image.place(),
            image.name(),
            image.registry(),
            image.repository(),
            image.tag(),
            image.digest(),
        ])
    };
    let amount = |resource: &String| json!([resource, pod.request(resource), pod.limit(resource)]);
    let volume = |volume: Volume| json!([volume.name(), volume.kind(), volume.host_path()]);
    json!({
        "account": [pod.service_account(), pod.has_service_account_token().to_string()],
        "qos": pod.qos().as_str(),
        "amounts": pod.resources().iter().map(amount).collect::<Vec<_>>(),
        "images": pod.images().map(image).collect::<Vec<_>>(),
        "volumes": pod.volumes().map(volume).collect::<Vec<_>>(),
        "hostPorts": pod.host_ports().map(|it| json!([it.address(), it.protocol(), it.number()])).collect::<Vec<_>>(),
        "containers": pod.containers().map(|it| container_of_sdk(&it)).collect::<Vec<_>>(),
    })
}

fn container_of_sdk(it: &Container) -> Value {
    let amount = |resource: &String| json!([resource, it.request(resource), it.limit(resource)]);
    json!({
        "name": [it.name(), it.kind().as_str().to_owned(), it.place(), it.pull_policy()],
        "amounts": it.resources().iter().map(amount).collect::<Vec<_>>(),
        "flags": [
            it.privileged(), it.run_as_non_root(), it.allow_privilege_escalation(), it.read_only_root_filesystem(),
        ],
        "users": [it.run_as_user(), it.run_as_group()],
        "profiles": [it.seccomp_profile(), it.apparmor_profile()],
        "capabilities": [it.added_capabilities(), it.dropped_capabilities()],
        "env": it.env_names(),
        "ports": it.ports().map(|port| json!([port.name(), port.number(), port.protocol(), port.host_port()])).collect::<Vec<_>>(),
        "mounts": it.mounts().map(|mount| json!([
            mount.volume(), mount.path(), mount.sub_path(), mount.read_only(), mount.is_device(),
        ])).collect::<Vec<_>>(),
    })
}

/// The same of what the host hands out.
fn of_host(pod: &Pod) -> Value {
    let (containers, volumes) = (container_facts(pod), volume_facts(pod));
    let of_volumes = volumes.iter().filter_map(|volume| volume.image.as_ref());
    let images = containers.iter().map(|container| &container.image).chain(of_volumes).map(|image| {
        let parts = image.reference.as_ref();
        json!([
            image.written,
            image.place,
            image.full_name(),
            parts.map(|it| &it.registry),
            parts.map(|it| &it.path),
            parts.and_then(|it| it.effective_tag()),
            parts.and_then(|it| it.digest.as_ref()),
        ])
    });
    let ports = resources::host_ports(pod);
    let ports = ports.iter().map(|it| json!([it.ip.map(|ip| ip.to_string()), it.protocol.as_str(), it.port]));
    json!({
        "account": [service_account(pod), has_service_account_token(pod).to_string().as_str()],
        "qos": resources::qos(pod).as_str(),
        "amounts": amounts(&resources::requests(pod), &resources::limits(pod)),
        "images": images.collect::<Vec<_>>(),
        "volumes": volumes.iter().map(|it| json!([it.name, it.kind, it.host_path])).collect::<Vec<_>>(),
        "hostPorts": ports.collect::<Vec<_>>(),
        "containers": containers.iter().map(|it| container_of_host(it)).collect::<Vec<_>>(),
    })
}

fn container_of_host(it: &witlet_core::admission::facts::ContainerFacts) -> Value {
    let security = &it.security;
    json!({
        "name": [&it.name, it.kind.as_str(), &it.place(), &it.pull_policy],
        "amounts": amounts(&it.requests, &it.limits),
        "flags": [
            security.privileged, security.run_as_non_root, security.allow_privilege_escalation, security.read_only_root,
        ],
        "users": [security.run_as_user, security.run_as_group],
        "profiles": [&security.seccomp, &security.apparmor],
        "capabilities": [&security.capabilities_add, &security.capabilities_drop],
        "env": it.env_names,
        "ports": it.ports.iter().map(|port| json!([port.name, port.number, port.protocol.as_str(), port.host_port])).collect::<Vec<_>>(),
        "mounts": it.mounts.iter().map(|mount| json!([
            mount.volume, mount.path, mount.sub_path, mount.read_only, mount.is_device,
        ])).collect::<Vec<_>>(),
    })
}

/// Requests and limits by resource, sorted.
fn amounts(requests: &resources::Amounts, limits: &resources::Amounts) -> Value {
    let mut names: Vec<&String> = requests.keys().chain(limits.keys()).collect();
    names.sort();
    names.dedup();
    names.iter().map(|name| json!([name, requests.get(*name), limits.get(*name)])).collect()
}
