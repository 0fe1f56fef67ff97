//! Each control of the standards, what it refuses and what it lets through.

use expect_test::{Expect, expect};
use serde_json::{Value, json};

use super::*;

/// A pod that the restricted level takes.
fn hardened() -> Value {
    json!({
        "metadata": {"name": "web"},
        "spec": {
            "securityContext": {"runAsNonRoot": true, "seccompProfile": {"type": "RuntimeDefault"}},
            "containers": [{"name": "app", "image": "a", "securityContext": {
                "allowPrivilegeEscalation": false, "capabilities": {"drop": ["ALL"]},
            }}],
        },
    })
}

/// The hardened pod with the value put at a JSON pointer; what lies on the way is made.
fn with(path: &str, value: Value) -> Pod {
    let mut pod = hardened();
    put(&mut pod, path, value);
    serde_json::from_value(pod).expect("the test's pod is one")
}

fn put(pod: &mut Value, path: &str, value: Value) {
    let mut place = pod;
    for part in path.trim_start_matches('/').split('/') {
        let part = part.replace("~1", "/");
        place = match part.parse::<usize>() {
            Ok(index) => {
                if place.is_null() {
                    *place = json!([]);
                }
                let items = place.as_array_mut().expect("a list");
                if items.len() <= index {
                    items.push(Value::Null);
                }
                &mut items[index]
            }
            Err(_) => &mut place[part.as_str()],
        };
    }
    *place = value;
}

fn check(level: SecurityLevel, path: &str, value: Value, expected: Expect) {
    let pod = with(path, value);
    assert_eq!(violations(&pod, SecurityLevel::Privileged), [""; 0], "{path}");
    expected.assert_eq(&violations(&pod, level).join("\n"));
}

/// Not allowed by the baseline, and so not by the restricted level.
fn baseline_refuses(path: &str, value: Value, expected: Expect) {
    assert!(!violations(&with(path, value.clone()), SecurityLevel::Restricted).is_empty(), "{path}");
    check(SecurityLevel::Baseline, path, value, expected);
}

/// Allowed by the baseline, and not by the restricted level.
fn restricted_refuses(path: &str, value: Value, expected: Expect) {
    assert_eq!(violations(&with(path, value.clone()), SecurityLevel::Baseline), [""; 0], "{path}");
    check(SecurityLevel::Restricted, path, value, expected);
}

fn restricted_takes(path: &str, value: Value) {
    assert_eq!(violations(&with(path, value.clone()), SecurityLevel::Baseline), [""; 0], "{path} {value}");
    assert_eq!(violations(&with(path, value.clone()), SecurityLevel::Restricted), [""; 0], "{path} {value}");
}

const CONTEXT: &str = "/spec/containers/0/securityContext";

fn context(field: &str) -> String {
    format!("{CONTEXT}/{field}")
}

#[test]
fn a_hardened_pod_passes_every_level_and_a_plain_one_the_baseline() {
    restricted_takes("/metadata/labels", json!({"a": "b"}));
    let plain: Pod =
        serde_json::from_value(json!({"spec": {"containers": [{"name": "app"}]}})).expect("a pod");
    assert_eq!(violations(&plain, SecurityLevel::Baseline), [""; 0]);
    expect![[r#"
        spec.containers[0] (app).securityContext.allowPrivilegeEscalation must be false
        spec.containers[0] (app).securityContext.capabilities.drop must have ALL
        spec.containers[0] (app).securityContext.runAsNonRoot must be true
        spec.containers[0] (app).securityContext.seccompProfile.type must be RuntimeDefault or Localhost"#]]
    .assert_eq(&violations(&plain, SecurityLevel::Restricted).join("\n"));
}

#[test]
fn host_namespaces_and_privilege_are_beyond_the_baseline() {
    baseline_refuses("/spec/hostNetwork", json!(true), expect!["spec.hostNetwork may not be true"]);
    baseline_refuses("/spec/hostPID", json!(true), expect!["spec.hostPID may not be true"]);
    baseline_refuses("/spec/hostIPC", json!(true), expect!["spec.hostIPC may not be true"]);
    baseline_refuses(
        &context("privileged"),
        json!(true),
        expect!["spec.containers[0] (app).securityContext.privileged may not be true"],
    );
    baseline_refuses(
        &context("windowsOptions"),
        json!({"hostProcess": true}),
        expect!["spec.containers[0] (app).securityContext.windowsOptions.hostProcess may not be true"],
    );
    baseline_refuses(
        "/spec/securityContext/windowsOptions",
        json!({"hostProcess": true}),
        expect!["spec.securityContext.windowsOptions.hostProcess may not be true"],
    );
    for path in ["/spec/hostNetwork", "/spec/hostPID", "/spec/hostIPC", &context("privileged")] {
        restricted_takes(path, json!(false));
    }
}

#[test]
fn init_and_ephemeral_containers_are_checked_as_the_others() {
    for kind in ["initContainers", "ephemeralContainers"] {
        let path = format!("/spec/{kind}/0");
        let privileged = json!({"name": "other", "securityContext": {"privileged": true}});
        let found = violations(&with(&path, privileged), SecurityLevel::Baseline);
        assert_eq!(found, [format!("spec.{kind}[0] (other).securityContext.privileged may not be true")]);
        let found = violations(&with(&path, json!({"name": "other"})), SecurityLevel::Restricted);
        // The pod's own seccomp profile and user hold for it.
        assert_eq!(
            found,
            [
                format!("spec.{kind}[0] (other).securityContext.allowPrivilegeEscalation must be false"),
                format!("spec.{kind}[0] (other).securityContext.capabilities.drop must have ALL"),
            ]
        );
    }
}

#[test]
fn capabilities() {
    baseline_refuses(
        &context("capabilities"),
        json!({"drop": ["ALL"], "add": ["NET_ADMIN", "CHOWN"]}),
        expect!["spec.containers[0] (app).securityContext.capabilities.add may not be NET_ADMIN"],
    );
    for spelled in ["CAP_CHOWN", "chown", "ALL", ""] {
        let pod = with(&context("capabilities"), json!({"drop": ["ALL"], "add": [spelled]}));
        assert_eq!(violations(&pod, SecurityLevel::Baseline).len(), 1, "{spelled}");
    }
    for name in CAPABILITIES.into_iter().filter(|name| *name != "NET_BIND_SERVICE") {
        let pod = with(&context("capabilities"), json!({"drop": ["ALL"], "add": [name]}));
        assert_eq!(violations(&pod, SecurityLevel::Baseline), [""; 0]);
        assert_eq!(violations(&pod, SecurityLevel::Restricted).len(), 1);
    }
    restricted_takes(&context("capabilities"), json!({"drop": ["ALL"], "add": ["NET_BIND_SERVICE"]}));
    restricted_refuses(
        &context("capabilities"),
        json!({"drop": ["NET_RAW"]}),
        expect!["spec.containers[0] (app).securityContext.capabilities.drop must have ALL"],
    );
}

#[test]
fn volumes() {
    baseline_refuses(
        "/spec/volumes/0",
        json!({"name": "v", "hostPath": {"path": "/"}}),
        expect!["spec.volumes[0] (v) may not be a hostPath"],
    );
    restricted_refuses(
        "/spec/volumes/0",
        json!({"name": "v", "nfs": {"server": "s", "path": "/"}}),
        expect!["spec.volumes[0] (v) may not be of a type that isn't the cluster's"],
    );
    for (kind, source) in [
        ("configMap", json!({})),
        ("csi", json!({"driver": "d"})),
        ("downwardAPI", json!({})),
        ("emptyDir", json!({})),
        ("ephemeral", json!({})),
        ("image", json!({"reference": "a"})),
        ("persistentVolumeClaim", json!({"claimName": "c"})),
        ("projected", json!({})),
        ("secret", json!({})),
    ] {
        restricted_takes("/spec/volumes/0", json!({"name": "v", kind: source}));
    }
}

#[test]
fn hosts_of_probes_by_annotation_are_hosts_of_probes() {
    let annotation = "/metadata/annotations/probe.witlet.dev~1app";
    let check = |parameters: Value| json!({"readiness": {"type": "tcpSocket", "parameters": parameters}});
    baseline_refuses(
        annotation,
        json!(check(json!({"host": "10.0.0.1", "port": 80})).to_string()),
        expect![[r#"the annotation probe.witlet.dev/app: readiness.parameters.host may not be "10.0.0.1""#]],
    );
    // It may become anything once variables are replaced.
    baseline_refuses(
        annotation,
        json!(check(json!({"host": "$(TARGET)", "port": 80})).to_string()),
        expect![[r#"the annotation probe.witlet.dev/app: readiness.parameters.host may not be "$(TARGET)""#]],
    );
    restricted_takes(annotation, json!(check(json!({"host": "", "port": 80})).to_string()));
    restricted_takes(annotation, json!(check(json!({"port": 80})).to_string()));
    restricted_takes(annotation, json!("{not json"));
}

#[test]
fn host_ports_and_hosts_of_probes_and_hooks() {
    baseline_refuses(
        "/spec/containers/0/ports/0",
        json!({"containerPort": 80, "hostPort": 8080}),
        expect!["spec.containers[0] (app).ports.hostPort may not be 8080"],
    );
    restricted_takes("/spec/containers/0/ports/0", json!({"containerPort": 80, "hostPort": 0}));
    for (field, action) in [
        ("startupProbe", "httpGet"),
        ("livenessProbe", "tcpSocket"),
        ("readinessProbe", "httpGet"),
        ("lifecycle/postStart", "httpGet"),
        ("lifecycle/preStop", "tcpSocket"),
    ] {
        for host in ["169.254.169.254", "127.0.0.1", "localhost"] {
            let path = format!("/spec/containers/0/{field}/{action}");
            let found = violations(&with(&path, json!({"port": 80, "host": host})), SecurityLevel::Baseline);
            let field = field.replace('/', ".");
            assert_eq!(
                found,
                [format!("spec.containers[0] (app).{field}.{action}.host may not be {host:?}")]
            );
        }
        let path = format!("/spec/containers/0/{field}/{action}");
        restricted_takes(&path, json!({"port": 80, "host": ""}));
        restricted_takes(&path, json!({"port": 80}));
    }
}

#[test]
fn confinement_by_the_kernel() {
    for (profile, path) in [("appArmorProfile", "type"), ("seccompProfile", "type")] {
        for place in ["/spec/securityContext", CONTEXT] {
            let pod = with(&format!("{place}/{profile}"), json!({"type": "Unconfined"}));
            let found = violations(&pod, SecurityLevel::Baseline);
            assert_eq!(found.len(), 1, "{place} {profile}");
            assert!(found[0].ends_with(&format!("{profile}.{path} may not be Unconfined")), "{}", found[0]);
            restricted_takes(&format!("{place}/{profile}"), json!({"type": "RuntimeDefault"}));
            restricted_takes(
                &format!("{place}/{profile}"),
                json!({"type": "Localhost", "localhostProfile": "p"}),
            );
        }
    }
    let annotation = "/metadata/annotations/container.apparmor.security.beta.kubernetes.io~1app";
    baseline_refuses(
        annotation,
        json!("unconfined"),
        expect!["the annotation container.apparmor.security.beta.kubernetes.io/app may not be unconfined"],
    );
    restricted_takes(annotation, json!("runtime/default"));
    restricted_takes(annotation, json!("localhost/p"));
    for place in ["/spec/securityContext", CONTEXT] {
        for (field, value) in [("type", "spc_t"), ("user", "system_u"), ("role", "system_r")] {
            let pod = with(&format!("{place}/seLinuxOptions/{field}"), json!(value));
            assert_eq!(violations(&pod, SecurityLevel::Baseline).len(), 1, "{place} {field}");
        }
        for allowed in SELINUX_TYPES {
            restricted_takes(&format!("{place}/seLinuxOptions"), json!({"type": allowed, "level": "s0"}));
        }
    }
}

#[test]
fn kernel_parameters_are_the_safe_ones_in_both_spellings() {
    let path = "/spec/securityContext/sysctls/0";
    baseline_refuses(
        path,
        json!({"name": "kernel.msgmax", "value": "1"}),
        expect!["spec.securityContext.sysctls may not be kernel.msgmax"],
    );
    for name in SYSCTLS {
        restricted_takes(path, json!({"name": name, "value": "1"}));
        restricted_takes(path, json!({"name": name.replace('.', "/"), "value": "1"}));
    }
}

#[test]
fn the_user_of_a_restricted_pod_is_not_root() {
    restricted_refuses(
        "/spec/securityContext/runAsNonRoot",
        json!(false),
        expect!["spec.securityContext.runAsNonRoot must be true"],
    );
    restricted_refuses(
        &context("runAsNonRoot"),
        json!(false),
        expect!["spec.containers[0] (app).securityContext.runAsNonRoot must be true"],
    );
    restricted_refuses(
        "/spec/securityContext/runAsUser",
        json!(0),
        expect!["spec.securityContext.runAsUser may not be 0"],
    );
    restricted_refuses(
        &context("runAsUser"),
        json!(0),
        expect!["spec.containers[0] (app).securityContext.runAsUser may not be 0"],
    );
    restricted_takes(&context("runAsUser"), json!(1000));
    restricted_refuses(
        &context("allowPrivilegeEscalation"),
        json!(true),
        expect!["spec.containers[0] (app).securityContext.allowPrivilegeEscalation must be false"],
    );
    restricted_refuses(
        "/spec/securityContext/seccompProfile",
        Value::Null,
        expect![
            "spec.containers[0] (app).securityContext.seccompProfile.type must be RuntimeDefault or Localhost"
        ],
    );
}

#[test]
fn a_user_namespace_relaxes_who_one_is_and_what_the_baseline_shows_of_proc() {
    let mut pod = with("/spec/hostUsers", json!(false));
    let spec = pod.spec.as_mut().expect("a spec");
    let user = spec.security_context.as_mut().expect("a context");
    (user.run_as_non_root, user.run_as_user) = (None, Some(0));
    assert_eq!(violations(&pod, SecurityLevel::Restricted), [""; 0]);
    let mut unmasked = with("/spec/hostUsers", json!(false));
    let first = &mut unmasked.spec.as_mut().expect("a spec").containers[0];
    first.security_context.as_mut().expect("a context").proc_mount = Some("Unmasked".to_owned());
    assert_eq!(violations(&unmasked, SecurityLevel::Baseline), [""; 0]);
    expect!["spec.containers[0] (app).securityContext.procMount may not be Unmasked"]
        .assert_eq(&violations(&unmasked, SecurityLevel::Restricted).join("\n"));
    baseline_refuses(
        &context("procMount"),
        json!("Unmasked"),
        expect!["spec.containers[0] (app).securityContext.procMount may not be Unmasked"],
    );
    restricted_takes(&context("procMount"), json!("Default"));
}

/// A corpus that is written for it; the rules in CEL answer it, too (`plugins/cel/src/tests/restricted.rs`).
#[test]
fn pods_are_restricted_as_kubernetes_restricts_them() {
    let corpus = include_str!("../../../../../examples/plugins/cel/restricted-pods.yaml");
    let corpus: Vec<Value> = serde_saphyr::from_str(corpus).expect("YAML");
    assert_eq!(corpus.len(), 200);
    for case in &corpus {
        let mut pod = hardened();
        for list in case["more"].as_array().into_iter().flatten().filter_map(Value::as_str) {
            pod["spec"][list] = pod["spec"]["containers"].clone();
        }
        for change in case["set"].as_array().into_iter().flatten() {
            put(&mut pod, change[0].as_str().unwrap_or_default(), change[1].clone());
        }
        let pod: Pod = serde_json::from_value(pod).expect("a pod");
        let found = violations(&pod, SecurityLevel::Restricted);
        assert_eq!(found.is_empty(), case["allowed"] == true, "{case}: {found:?}");
    }
}

#[test]
fn no_pod_has_more_to_say_than_a_message_holds() {
    let ports: Vec<_> = (1..1000).map(|port| json!({"containerPort": port, "hostPort": port})).collect();
    let found = violations(&with("/spec/containers/0/ports", json!(ports)), SecurityLevel::Baseline);
    assert_eq!(found.len(), VIOLATIONS_MAX + 1);
    assert_eq!(found.last().map(String::as_str), Some("and 979 more"));
}
