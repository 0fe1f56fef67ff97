//! What policies see of pods.

use serde_json::json;

use super::*;

fn pod(spec: Value) -> Pod {
    serde_json::from_value(json!({"metadata": {"name": "web"}, "spec": spec})).expect("it is a pod")
}

/// The security of an app container with this context in a pod with that one.
fn security(of_pod: Value, own: Value) -> SecurityFacts {
    let pod =
        pod(json!({"securityContext": of_pod, "containers": [{"name": "app", "securityContext": own}]}));
    container_facts(&pod)[0].security.clone()
}

/// Of a container of which nothing is said.
fn nothing() -> SecurityFacts {
    SecurityFacts {
        privileged: false,
        run_as_non_root: false,
        run_as_user: None,
        run_as_group: None,
        allow_privilege_escalation: true,
        read_only_root: false,
        capabilities_add: Vec::new(),
        capabilities_drop: Vec::new(),
        seccomp: None,
        apparmor: None,
    }
}

#[test]
fn a_container_s_security_context_goes_before_its_pod_s() {
    let word = |word: &str| Some(word.to_owned());
    let localhost = json!({"type": "Localhost", "localhostProfile": "profiles/a.json"});
    let cases = [
        (json!({}), json!({}), nothing()),
        (
            json!({"runAsNonRoot": true, "runAsUser": 1000, "runAsGroup": 1001}),
            json!({}),
            SecurityFacts {
                run_as_non_root: true,
                run_as_user: Some(1000),
                run_as_group: Some(1001),
                ..nothing()
            },
        ),
        (
            json!({"runAsNonRoot": true, "runAsUser": 1000, "runAsGroup": 1001}),
            json!({"runAsNonRoot": false, "runAsUser": 0, "runAsGroup": 0}),
            SecurityFacts { run_as_user: Some(0), run_as_group: Some(0), ..nothing() },
        ),
        (
            json!({"seccompProfile": {"type": "RuntimeDefault"}, "appArmorProfile": {"type": "RuntimeDefault"}}),
            json!({}),
            SecurityFacts { seccomp: word("RuntimeDefault"), apparmor: word("RuntimeDefault"), ..nothing() },
        ),
        (
            json!({"seccompProfile": {"type": "RuntimeDefault"}, "appArmorProfile": {"type": "RuntimeDefault"}}),
            json!({"seccompProfile": localhost, "appArmorProfile": {"type": "Unconfined"}}),
            SecurityFacts {
                seccomp: word("Localhost/profiles/a.json"),
                apparmor: word("Unconfined"),
                ..nothing()
            },
        ),
        (
            json!({}),
            json!({
                "privileged": true, "allowPrivilegeEscalation": false, "readOnlyRootFilesystem": true,
                "capabilities": {"add": ["NET_ADMIN"], "drop": ["ALL"]},
                "appArmorProfile": {"type": "Localhost", "localhostProfile": "own"},
            }),
            SecurityFacts {
                privileged: true,
                allow_privilege_escalation: false,
                read_only_root: true,
                capabilities_add: vec!["NET_ADMIN".to_owned()],
                capabilities_drop: vec!["ALL".to_owned()],
                apparmor: word("Localhost/own"),
                ..nothing()
            },
        ),
        (json!({}), json!({"appArmorProfile": {"type": "Localhost"}}), nothing()),
    ];
    for (of_pod, own, expected) in cases {
        assert_eq!(security(of_pod.clone(), own.clone()), expected, "{of_pod} {own}");
    }
}

#[test]
fn an_annotation_of_old_names_an_apparmor_profile() {
    let mut pod = pod(json!({"containers": [{"name": "app"}, {"name": "other"}]}));
    let annotation = "container.apparmor.security.beta.kubernetes.io/app".to_owned();
    pod.metadata.annotations = Some([(annotation, "localhost/own".to_owned())].into());
    let profiles: Vec<Option<String>> =
        container_facts(&pod).iter().map(|container| container.security.apparmor.clone()).collect();
    assert_eq!(profiles, [Some("Localhost/own".to_owned()), None]);
}

#[test]
fn containers_of_all_kinds_have_their_places() {
    let pod = pod(json!({
        "initContainers": [{"name": "first"}, {"name": "sidecar", "restartPolicy": "Always"}],
        "containers": [{"name": "app"}, {"name": "second"}],
        "ephemeralContainers": [{"name": "debug", "securityContext": {"privileged": true}}],
    }));
    let seen: Vec<_> = container_facts(&pod)
        .iter()
        .map(|container| {
            let place = container.image.place.clone();
            assert_eq!(place, format!("{}.image", container.place()));
            (container.name.clone(), container.kind.as_str(), place, container.security.privileged)
        })
        .collect();
    let expected = [
        ("first", "init", "spec.initContainers[0].image", false),
        ("sidecar", "sidecar", "spec.initContainers[1].image", false),
        ("app", "app", "spec.containers[0].image", false),
        ("second", "app", "spec.containers[1].image", false),
        ("debug", "ephemeral", "spec.ephemeralContainers[0].image", true),
    ]
    .map(|(name, kind, place, privileged)| (name.to_owned(), kind, place.to_owned(), privileged));
    assert_eq!(seen, expected);
}

#[test]
fn images_are_taken_apart() {
    let digest = format!("sha256:{}", "a".repeat(64));
    let pinned = format!("localhost:5000/team/app@{digest}");
    /// Registry, path, tag and digest.
    type Parts<'a> = [Option<&'a str>; 4];
    // As written, in full, and its parts.
    let cases: [(&str, &str, Option<Parts<'_>>); 6] = [
        (
            "nginx",
            "docker.io/library/nginx:latest",
            Some([Some("docker.io"), Some("library/nginx"), Some("latest"), None]),
        ),
        (
            "registry.k8s.io/pause:3.10",
            "registry.k8s.io/pause:3.10",
            Some([Some("registry.k8s.io"), Some("pause"), Some("3.10"), None]),
        ),
        (&pinned, &pinned, Some([Some("localhost:5000"), Some("team/app"), None, Some(&digest)])),
        ("file:/opt/app.wasm", "file:/opt/app.wasm", None),
        ("Not An Image", "Not An Image", None),
        ("", "", None),
    ];
    for (written, name, parts) in cases {
        let image = PodImage::new(Some(written), "spec.containers[0].image".to_owned());
        assert_eq!(image.full_name(), name);
        let found = image.reference.as_ref().map(|found| {
            let (registry, path) = (Some(found.registry.as_str()), Some(found.path.as_str()));
            [registry, path, found.effective_tag(), found.digest.as_deref()]
        });
        assert_eq!(found, parts, "{written}");
    }
}

#[test]
fn amounts_ports_variables_and_mounts_are_those_of_the_spec() {
    let pod = pod(json!({"containers": [{
        "name": "app",
        "imagePullPolicy": "Never",
        "resources": {
            "requests": {"cpu": "1500m", "memory": "1Gi"},
            "limits": {"cpu": "2", "example.com/gpu": "1"},
        },
        "env": [{"name": "B", "value": "1"}, {"name": "A"}],
        "ports": [
            {"name": "dns", "containerPort": 53, "protocol": "UDP", "hostPort": 53},
            {"containerPort": 70000},
        ],
        "volumeMounts": [
            {"name": "data", "mountPath": "/data", "subPathExpr": "$(POD)", "readOnly": true},
            {"name": "data", "mountPath": "/all"},
        ],
        "volumeDevices": [{"name": "disk", "devicePath": "/dev/xvda"}],
    }]}));
    let found = &container_facts(&pod)[0];
    let amounts =
        |list: &[(&str, i64)]| list.iter().map(|(name, amount)| ((*name).to_owned(), *amount)).collect();
    let expected: [Amounts; 2] =
        [amounts(&[("cpu", 1500), ("memory", 1 << 30)]), amounts(&[("cpu", 2000), ("example.com/gpu", 1)])];
    assert_eq!([&found.requests, &found.limits], [&expected[0], &expected[1]]);
    assert_eq!((&*found.pull_policy, &*found.env_names), ("Never", &["B".to_owned(), "A".to_owned()][..]));
    let dns = PortFacts { name: "dns".to_owned(), number: 53, protocol: Protocol::Udp, host_port: Some(53) };
    let none = PortFacts { name: String::new(), number: 0, protocol: Protocol::Tcp, host_port: None };
    assert_eq!(found.ports, [Arc::new(dns), Arc::new(none)]);
    let mount = |volume: &str, path: &str, sub_path: &str, read_only, is_device| {
        let (volume, path, sub_path) = (volume.to_owned(), path.to_owned(), sub_path.to_owned());
        Arc::new(MountFacts { volume, path, sub_path, read_only, is_device })
    };
    let expected = [
        mount("data", "/data", "$(POD)", true, false),
        mount("data", "/all", "", false, false),
        mount("disk", "/dev/xvda", "", false, true),
    ];
    assert_eq!(found.mounts, expected);
}

#[test]
fn volumes_say_what_they_are() {
    let pod = pod(json!({"containers": [], "volumes": [
        {"name": "scratch", "emptyDir": {}},
        {"name": "logs", "hostPath": {"path": "/var/log"}},
        {"name": "models", "image": {"reference": "registry.example.com/models:1"}},
        {"name": "none"},
    ]}));
    let seen: Vec<_> = volume_facts(&pod)
        .iter()
        .map(|volume| {
            let image = volume.image.as_ref().map(|image| image.place.clone());
            (volume.name.clone(), volume.kind.clone(), volume.host_path.clone(), image)
        })
        .collect();
    let text = |text: &str| Some(text.to_owned());
    let expected = [
        ("scratch", "emptyDir", None, None),
        ("logs", "hostPath", text("/var/log"), None),
        ("models", "image", None, text("spec.volumes[2].image.reference")),
        ("none", "", None, None),
    ]
    .map(|(name, kind, path, image)| (name.to_owned(), kind.to_owned(), path, image));
    assert_eq!(seen, expected);
}

#[test]
fn a_token_comes_by_a_projected_volume() {
    let token = json!({"containers": [], "serviceAccountName": "robot", "volumes": [
        {"name": "other", "projected": {"sources": [{"configMap": {"name": "ca"}}]}},
        {"name": "api", "projected": {"sources": [{"serviceAccountToken": {"path": "token"}}]}},
    ]});
    let (with, without) = (pod(token), pod(json!({"containers": []})));
    assert_eq!((has_service_account_token(&with), service_account(&with)), (true, "robot"));
    assert_eq!((has_service_account_token(&without), service_account(&without)), (false, "default"));
}
