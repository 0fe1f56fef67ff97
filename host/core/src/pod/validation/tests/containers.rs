//! Containers of all kinds: variables, probes, hooks, restarts, identities.

use super::*;

#[test]
fn sources_of_variables_are_checked() {
    let of = |source: Value| {
        let spec =
            json!({"volumes": [{"name": "v", "emptyDir": {}}, {"name": "h", "hostPath": {"path": "/x"}}]});
        let found = container_fields_in(spec, json!({"env": [{"name": "A", "valueFrom": source}]}));
        found.into_iter().map(|field| field.replace("env[0].valueFrom.", "")).collect::<Vec<_>>()
    };
    let resource = |resource: &str, divisor: &str| json!({"resourceFieldRef": {"resource": resource, "divisor": divisor}});
    let file = |volume: &str, path: &str, key: &str| json!({"fileKeyRef": {"volumeName": volume, "path": path, "key": key}});
    let cases = [
        (resource("limits.cpu", "1m"), vec![]),
        (resource("limits.cpu", "1"), vec![]),
        (resource("limits.cpu", "0"), vec![]),
        (resource("limits.cpu", "10m"), vec!["resourceFieldRef.divisor"]),
        (resource("requests.memory", "1Mi"), vec![]),
        (resource("requests.memory", "1m"), vec!["resourceFieldRef.divisor"]),
        (resource("limits.hugepages-2Mi", "1Mi"), vec![]),
        (resource("limits.ephemeral-storage", "1G"), vec![]),
        (resource("limits.gpu", "1"), vec!["resourceFieldRef.resource"]),
        (resource("cpu", "1"), vec!["resourceFieldRef.resource"]),
        (json!({"resourceFieldRef": {"resource": "limits.cpu"}}), vec![]),
        (file("v", "a/b.env", "KEY"), vec![]),
        (file("h", "a", "KEY"), vec!["fileKeyRef.volumeName"]),
        (file("none", "a", "KEY"), vec!["fileKeyRef.volumeName"]),
        (file("v", "/a", "KEY"), vec!["fileKeyRef.path"]),
        (file("v", "../a", "KEY"), vec!["fileKeyRef.path"]),
        (file("v", "", "A=B"), vec!["fileKeyRef.key", "fileKeyRef.path"]),
    ];
    for (source, expected) in cases {
        assert_eq!(of(source.clone()), expected, "{source}");
    }
}

#[test]
fn probes_do_exactly_one_thing() {
    let of = |probe: Value| {
        let found = container_fields(json!({"livenessProbe": probe}));
        found.into_iter().map(|field| field.replace("livenessProbe.", "")).collect::<Vec<_>>()
    };
    let cases = [
        (json!({"exec": {"command": ["x"]}}), vec![]),
        (json!({"httpGet": {"port": 80}}), vec![]),
        (
            json!({"httpGet": {"port": "http", "scheme": "HTTPS", "httpHeaders": [{"name": "X-A", "value": ""}]}}),
            vec![],
        ),
        (json!({"tcpSocket": {"port": 65535}}), vec![]),
        (json!({"grpc": {"port": 1}}), vec![]),
        (json!({}), vec!["livenessProbe"]),
        (json!({"exec": {"command": ["x"]}, "grpc": {"port": 1}}), vec!["livenessProbe"]),
        (json!({"exec": {"command": []}}), vec!["exec.command"]),
        (json!({"httpGet": {"port": 0}}), vec!["httpGet.port"]),
        (json!({"httpGet": {"port": "HTTP"}}), vec!["httpGet.port"]),
        (json!({"httpGet": {"port": 1, "scheme": "http"}}), vec!["httpGet.scheme"]),
        (
            json!({"httpGet": {"port": 1, "httpHeaders": [{"name": "a b", "value": ""}]}}),
            vec!["httpGet.httpHeaders[0].name"],
        ),
        (json!({"tcpSocket": {"port": 65536}}), vec!["tcpSocket.port"]),
        (json!({"grpc": {"port": 0}}), vec!["grpc.port"]),
        (
            json!({"exec": {"command": ["x"]}, "initialDelaySeconds": -1, "timeoutSeconds": -1, "periodSeconds": -1,
                   "successThreshold": 1, "failureThreshold": -1}),
            vec!["initialDelaySeconds", "timeoutSeconds", "periodSeconds", "failureThreshold"],
        ),
        (json!({"exec": {"command": ["x"]}, "successThreshold": 2}), vec!["successThreshold"]),
        (
            json!({"exec": {"command": ["x"]}, "terminationGracePeriodSeconds": 0}),
            vec!["terminationGracePeriodSeconds"],
        ),
        (json!({"exec": {"command": ["x"]}, "terminationGracePeriodSeconds": 1}), vec![]),
    ];
    for (probe, expected) in cases {
        assert_eq!(of(probe.clone()), expected, "{probe}");
    }
    let exec = |more: Value| {
        let mut probe = json!({"exec": {"command": ["x"]}});
        if let (Some(probe), Value::Object(more)) = (probe.as_object_mut(), more) {
            probe.extend(more);
        }
        probe
    };
    let readiness = json!({"readinessProbe": exec(json!({"successThreshold": 2}))});
    assert_eq!(container_fields(readiness), [""; 0]);
    let grace = json!({"readinessProbe": exec(json!({"terminationGracePeriodSeconds": 1}))});
    assert_eq!(container_fields(grace), ["readinessProbe.terminationGracePeriodSeconds"]);
    let startup = json!({"startupProbe": exec(json!({"successThreshold": 2}))});
    assert_eq!(container_fields(startup), ["startupProbe.successThreshold"]);
}

#[test]
fn hooks_and_stop_signals_are_checked() {
    let of = |spec: Value, lifecycle: Value| {
        let found = container_fields_in(spec, json!({"lifecycle": lifecycle}));
        found.into_iter().map(|field| field.replace("lifecycle.", "")).collect::<Vec<_>>()
    };
    let sleep = |seconds: i64| json!({"preStop": {"sleep": {"seconds": seconds}}});
    let none: [&str; 0] = [];
    assert_eq!(
        of(
            json!({}),
            json!({"postStart": {"exec": {"command": ["x"]}}, "preStop": {"tcpSocket": {"port": 1}}})
        ),
        none
    );
    assert_eq!(
        of(json!({}), json!({"postStart": {}, "preStop": {"exec": {}}})),
        ["postStart", "preStop.exec.command"]
    );
    assert_eq!(of(json!({}), sleep(30)), none);
    assert_eq!(of(json!({}), sleep(0)), none);
    assert_eq!(of(json!({}), sleep(31)), ["preStop.sleep.seconds"]);
    assert_eq!(of(json!({}), sleep(-1)), ["preStop.sleep.seconds"]);
    assert_eq!(of(json!({"terminationGracePeriodSeconds": 60}), sleep(31)), none);
    let on_linux = json!({"os": {"name": "linux"}});
    for signal in ["SIGTERM", "SIGUSR1", "SIGRTMIN", "SIGRTMIN+15", "SIGRTMAX-14", "SIGRTMAX"] {
        assert_eq!(of(on_linux.clone(), json!({"stopSignal": signal})), none, "{signal}");
        assert_eq!(of(json!({}), json!({"stopSignal": signal})), ["stopSignal"], "{signal} without an os");
    }
    for signal in ["", "TERM", "SIGRTMIN+16", "SIGRTMIN+0", "SIGRTMAX-15", "SIGRTMIN-1", "SIGRTMIN+", "15"] {
        assert_eq!(of(on_linux.clone(), json!({"stopSignal": signal})), ["stopSignal"], "{signal}");
    }
}

#[test]
fn plain_init_containers_have_nothing_that_needs_them_to_stay() {
    let probe = json!({"exec": {"command": ["x"]}});
    let init = |policy: Value| {
        let mut container = json!({
            "name": "i", "image": "b:1", "livenessProbe": probe, "readinessProbe": probe, "startupProbe": probe,
            "lifecycle": {"preStop": probe}, "resizePolicy": [{"resourceName": "cpu", "restartPolicy": "NotRequired"}],
        });
        if policy.is_string() {
            container["restartPolicy"] = policy;
        }
        let found = fields(json!({"initContainers": [container]}));
        found.into_iter().map(|field| field.replace("spec.initContainers[0].", "")).collect::<Vec<_>>()
    };
    let all = ["lifecycle", "livenessProbe", "readinessProbe", "startupProbe", "resizePolicy"];
    assert_eq!(init(json!("Always")), [""; 0]);
    assert_eq!(init(Value::Null), all);
    assert_eq!(init(json!("OnFailure")), all);
}

#[test]
fn names_are_unique_over_all_kinds() {
    let container = |name: &str| json!({"name": name, "image": "b:1"});
    let spec = json!({
        "containers": [container("a"), container("b")],
        "initContainers": [container("a"), container("i")],
        "ephemeralContainers": [container("i"), container("e"), container("b")],
    });
    let expected = [
        "spec.initContainers[0].name",
        "spec.ephemeralContainers[0].name",
        "spec.ephemeralContainers[2].name",
    ];
    assert_eq!(fields(spec), expected);
}

#[test]
fn ephemeral_containers_have_nothing_that_the_pod_depends_on() {
    let of = |more: Value| {
        let mut container = json!({"name": "e", "image": "b:1"});
        if let (Some(container), Value::Object(more)) = (container.as_object_mut(), more) {
            container.extend(more);
        }
        let volumes = json!([{"name": "v", "emptyDir": {}}]);
        let found = fields(json!({"ephemeralContainers": [container], "volumes": volumes}));
        found.into_iter().map(|field| field.replace("spec.ephemeralContainers[0].", "")).collect::<Vec<_>>()
    };
    let none: [&str; 0] = [];
    assert_eq!(
        of(json!({"targetContainerName": "a", "volumeMounts": [{"name": "v", "mountPath": "/v"}]})),
        none
    );
    assert_eq!(of(json!({"targetContainerName": "x"})), ["targetContainerName"]);
    let probe = json!({"exec": {"command": ["x"]}});
    let all = json!({
        "livenessProbe": probe, "lifecycle": {"preStop": probe}, "ports": [{"containerPort": 1}],
        "resources": {"limits": {"cpu": "1"}}, "restartPolicy": "Always",
        "restartPolicyRules": [{"action": "Restart"}], "volumeMounts": [{"name": "v", "mountPath": "/v", "subPath": "a"}],
    });
    let expected = [
        "lifecycle",
        "livenessProbe",
        "volumeMounts[0].subPath",
        "ports",
        "resources",
        "restartPolicy",
        "restartPolicyRules",
    ];
    assert_eq!(of(all), expected);
}

#[test]
fn restart_rules_are_checked() {
    let rule = |action: &str, operator: &str, count: usize| json!({"action": action, "exitCodes": {"operator": operator, "values": vec![1; count]}});
    let with =
        |policy: &str, rules: Vec<Value>| json!({"restartPolicy": policy, "restartPolicyRules": rules});
    let cases = [
        (with("Never", vec![rule("Restart", "In", 255), rule("RestartAllContainers", "NotIn", 0)]), vec![]),
        (json!({"restartPolicy": "OnFailure"}), vec![]),
        (json!({"restartPolicy": "Sometimes"}), vec!["restartPolicy"]),
        (json!({"restartPolicyRules": [rule("Restart", "In", 1)]}), vec!["restartPolicy"]),
        (with("Never", vec![rule("Restart", "In", 1); 20]), vec![]),
        (with("Never", vec![rule("Restart", "In", 1); 21]), vec!["restartPolicyRules"]),
        (with("Never", vec![rule("Stop", "In", 1)]), vec!["restartPolicyRules[0].action"]),
        (with("Never", vec![rule("Restart", "Has", 1)]), vec!["restartPolicyRules[0].exitCodes.operator"]),
        (with("Never", vec![rule("Restart", "In", 256)]), vec!["restartPolicyRules[0].exitCodes.values"]),
        (with("Never", vec![json!({"action": "Restart"})]), vec!["restartPolicyRules[0].exitCodes"]),
    ];
    for (container, expected) in cases {
        assert_eq!(container_fields(container.clone()), expected, "{container}");
    }
}

#[test]
fn resize_policies_are_checked() {
    let policy = |resource: &str, restart: &str| json!({"resourceName": resource, "restartPolicy": restart});
    let of = |pod_policy: &str, policies: Vec<Value>| {
        container_fields_in(json!({"restartPolicy": pod_policy}), json!({"resizePolicy": policies}))
    };
    let none: [&str; 0] = [];
    assert_eq!(of("Always", vec![policy("cpu", "NotRequired"), policy("memory", "RestartContainer")]), none);
    assert_eq!(of("Never", vec![policy("cpu", "NotRequired")]), none);
    assert_eq!(of("Never", vec![policy("cpu", "RestartContainer")]), ["resizePolicy[0].restartPolicy"]);
    assert_eq!(
        of("Always", vec![policy("disk", "x")]),
        ["resizePolicy[0].resourceName", "resizePolicy[0].restartPolicy"]
    );
    let twice = vec![policy("cpu", "NotRequired"), policy("cpu", "NotRequired")];
    assert_eq!(of("Always", twice), ["resizePolicy[1].resourceName"]);
}

#[test]
fn powers_that_exclude_each_other_are_refused() {
    let of = |spec: Value, context: Value| {
        let found = container_fields_in(spec, json!({"securityContext": context}));
        found.into_iter().map(|field| field.replace("securityContext.", "")).collect::<Vec<_>>()
    };
    let no_escalation = |more: Value| {
        let mut context = json!({"allowPrivilegeEscalation": false});
        if let (Some(context), Value::Object(more)) = (context.as_object_mut(), more) {
            context.extend(more);
        }
        context
    };
    let none: [&str; 0] = [];
    let add = |capability: &str| json!({"capabilities": {"add": [capability]}});
    assert_eq!(of(json!({}), no_escalation(add("NET_ADMIN"))), none);
    for capability in ["CAP_SYS_ADMIN", "SYS_ADMIN"] {
        assert_eq!(of(json!({}), no_escalation(add(capability))), ["allowPrivilegeEscalation"]);
        assert_eq!(of(json!({}), add(capability)), none);
    }
    assert_eq!(of(json!({}), no_escalation(json!({"privileged": true}))), ["allowPrivilegeEscalation"]);
    assert_eq!(of(json!({}), json!({"procMount": "Unmasked"})), ["procMount"]);
    assert_eq!(of(json!({"hostUsers": false}), json!({"procMount": "Unmasked"})), none);
    assert_eq!(of(json!({}), json!({"procMount": "x", "runAsUser": -1})), ["runAsUser", "procMount"]);
    assert_eq!(
        of(json!({}), json!({"seccompProfile": {"type": "Localhost"}})),
        ["seccompProfile.localhostProfile"]
    );
}
