//! Fields of services, and what pods they make.

use std::path::Path;

use expect_test::{Expect, expect};
use serde_json::Value;

use crate::Config;
use crate::project::pods;

/// The manifest of the service with these fields.
fn manifest(fields: &str) -> Result<Value, String> {
    let config = Config {
        folder: Some("/compose".into()),
        variables: [("FROM_OUTSIDE".to_owned(), "x".to_owned())].into(),
        profiles: vec!["debug".to_owned()],
        ..Config::default()
    };
    let text = format!("name: p\nservices:\n  web:\n    image: a\n{}", indented(fields));
    match pods(&text, Path::new("/compose/c.yaml"), &config) {
        Ok(mut pods) => Ok(pods.pop().map_or(Value::Null, |pod| pod.manifest)),
        Err(problems) => Err(problems.join("\n")),
    }
}

fn indented(text: &str) -> String {
    text.lines().map(|line| format!("    {}\n", line.trim_start_matches("|"))).collect()
}

/// What stands at the pointer, or the error.
fn check(fields: &str, pointer: &str, expected: Expect) {
    let shown = match manifest(fields) {
        Ok(manifest) => manifest.pointer(pointer).map_or("nothing".to_owned(), Value::to_string),
        Err(error) => error,
    };
    expected.assert_eq(&shown);
}

const CONTAINER: &str = "/spec/containers/0";

#[test]
fn a_plain_service_runs_once_with_composes_grace() {
    let shown = serde_json::to_string_pretty(&manifest("").expect("a pod")).expect("JSON");
    expect![[r#"
        {
          "apiVersion": "v1",
          "kind": "Pod",
          "metadata": {
            "annotations": {},
            "labels": {
              "app.kubernetes.io/name": "web",
              "app.kubernetes.io/part-of": "p"
            },
            "name": "p-web",
            "namespace": "p"
          },
          "spec": {
            "automountServiceAccountToken": false,
            "containers": [
              {
                "image": "a",
                "name": "web",
                "resources": {
                  "limits": {},
                  "requests": {}
                },
                "securityContext": {},
                "volumeMounts": []
              }
            ],
            "enableServiceLinks": false,
            "restartPolicy": "Never",
            "securityContext": {},
            "terminationGracePeriodSeconds": 10,
            "volumes": []
          }
        }"#]]
    .assert_eq(&shown);
}

#[test]
fn the_process() {
    let at = |field: &str| format!("{CONTAINER}/{field}");
    check("command: serve --port '80 80'", &at("args"), expect![[r#"["serve","--port","80 80"]"#]]);
    check(
        "entrypoint: [sh, -c, 'echo $$(HOME)']",
        &at("command"),
        expect![[r#"["sh","-c","echo $$(HOME)"]"#]],
    );
    check("command: ", &at("args"), expect!["nothing"]);
    check(
        "entrypoint: []",
        &at("command"),
        expect!["service web: entrypoint: must not be empty: a pod can't run an image without it"],
    );
    check(
        "environment: [A=b=c, FROM_OUTSIDE, MISSING]",
        &at("env"),
        expect![[r#"[{"name":"A","value":"b=c"},{"name":"FROM_OUTSIDE","value":"x"}]"#]],
    );
    check(
        "environment: {A: 1, B: true, C: }",
        &at("env"),
        expect![[r#"[{"name":"A","value":"1"},{"name":"B","value":"true"}]"#]],
    );
    check("working_dir: /w", &at("workingDir"), expect![[r#""/w""#]]);
    check("tty: true", &at("tty"), expect!["true"]);
    check("stdin_open: 'true'", &at("stdin"), expect!["true"]);
    check("pull_policy: missing", &at("imagePullPolicy"), expect![[r#""IfNotPresent""#]]);
    check(
        "pull_policy: build",
        &at("imagePullPolicy"),
        expect![[r#"service web: pull_policy: "build" isn't supported"#]],
    );
}

#[test]
fn what_the_process_may_do() {
    let at = |field: &str| format!("{CONTAINER}/securityContext{field}");
    check("user: '1000:2000'", &at(""), expect![[r#"{"runAsGroup":2000,"runAsUser":1000}"#]]);
    check("user: 1000", &at("/runAsUser"), expect!["1000"]);
    check(
        "user: root",
        &at(""),
        expect![[r#"service web: user: "root" must be a number: a pod knows no names"#]],
    );
    check("read_only: true", &at("/readOnlyRootFilesystem"), expect!["true"]);
    check("privileged: true", &at("/privileged"), expect!["true"]);
    check(
        "cap_add: [CAP_NET_ADMIN, CHOWN]\ncap_drop: [ALL]",
        &at("/capabilities"),
        expect![[r#"{"add":["NET_ADMIN","CHOWN"],"drop":["ALL"]}"#]],
    );
    check(
        "security_opt: ['no-new-privileges:true', 'seccomp=unconfined', 'apparmor:mine']",
        &at(""),
        expect![[
            r#"{"allowPrivilegeEscalation":false,"appArmorProfile":{"localhostProfile":"mine","type":"Localhost"},"seccompProfile":{"type":"Unconfined"}}"#
        ]],
    );
    check(
        "security_opt: ['label:disable']",
        &at(""),
        expect![[r#"service web: security_opt: "label:disable" isn't supported"#]],
    );
    check(
        "sysctls: {net.core.somaxconn: 1024}",
        "/spec/securityContext/sysctls",
        expect![[r#"[{"name":"net.core.somaxconn","value":"1024"}]"#]],
    );
    check("group_add: [1, '2']", "/spec/securityContext/supplementalGroups", expect!["[1,2]"]);
}

#[test]
fn the_life_of_the_service() {
    for (restart, policy) in [
        ("no", "Never"),
        ("'no'", "Never"),
        ("always", "Always"),
        ("unless-stopped", "Always"),
        ("on-failure", "OnFailure"),
    ] {
        let found = manifest(&format!("restart: {restart}")).expect("a pod");
        assert_eq!(found["spec"]["restartPolicy"], policy);
    }
    check("restart: on-failure:3", "", expect![[r#"service web: restart: "on-failure:3" isn't supported"#]]);
    check("stop_grace_period: 1m30s", "/spec/terminationGracePeriodSeconds", expect!["90"]);
    check("profiles: [other]", "", expect!["null"]);
    check("profiles: [other, debug]", "/metadata/name", expect![[r#""p-web""#]]);
    check("scale: 0", "", expect!["null"]);
    check(
        "deploy: {replicas: 3}",
        "",
        expect!["service web: deploy: replicas must be 0 or 1 on one node, found 3"],
    );
    let probe = "/spec/containers/0/readinessProbe";
    check(
        "healthcheck: {test: [CMD, a, b], interval: 1m, timeout: 1500ms, retries: 5, start_period: 1m}",
        probe,
        expect![[
            r#"{"exec":{"command":["a","b"]},"failureThreshold":5,"periodSeconds":60,"timeoutSeconds":2}"#
        ]],
    );
    check(
        "healthcheck: {test: curl -f localhost}",
        probe,
        expect![[
            r#"{"exec":{"command":["/bin/sh","-c","curl -f localhost"]},"failureThreshold":3,"periodSeconds":30,"timeoutSeconds":30}"#
        ]],
    );
    check(
        "healthcheck: {test: [CMD-SHELL, 'a b']}",
        &format!("{probe}/exec/command/2"),
        expect![[r#""a b""#]],
    );
    // What compose leaves to the shell, the pod leaves to it, too.
    check(
        "healthcheck: {test: 'a $$(HOME)'}",
        &format!("{probe}/exec/command/2"),
        expect![[r#""a $$(HOME)""#]],
    );
    check("healthcheck: {test: [NONE]}", probe, expect!["nothing"]);
    check("healthcheck: {disable: true, test: a}", probe, expect!["nothing"]);
    check(
        "healthcheck: {interval: 1s}",
        probe,
        expect!["service web: healthcheck: has no test: that of the image isn't known here"],
    );
    check(
        "healthcheck: {test: [a]}",
        probe,
        expect!["service web: healthcheck: test: must begin with NONE, CMD or CMD-SHELL"],
    );
    check(
        "healthcheck: {test: a, start_interval: 1s}",
        probe,
        expect!["service web: healthcheck: start_interval isn't supported"],
    );
}

#[test]
fn resources_labels_and_ports() {
    let resources = "/spec/containers/0/resources";
    check(
        "deploy: {resources: {limits: {cpus: '0.5', memory: 64M}, reservations: {memory: 32M}}}",
        resources,
        expect![[r#"{"limits":{"cpu":"500m","memory":"64Mi"},"requests":{"memory":"32Mi"}}"#]],
    );
    check(
        "mem_limit: 1g\ncpus: 2\nmem_reservation: 1m",
        resources,
        expect![[r#"{"limits":{"cpu":"2000m","memory":"1Gi"},"requests":{"memory":"1Mi"}}"#]],
    );
    check(
        "deploy: {resources: {limits: {pids: 5}}}",
        resources,
        expect!["service web: deploy: resources.limits.pids isn't supported"],
    );
    check(
        "deploy: {resources: {limit: {cpus: '1'}}}",
        "",
        expect!["service web: deploy: resources.limit isn't supported"],
    );
    check(
        "deploy: {resources: {limits: 64M}}",
        "",
        expect!["service web: deploy: resources.limits must be a map"],
    );
    check(
        "deploy: {resources: ~}",
        "/spec/containers/0/resources",
        expect![[r#"{"limits":{},"requests":{}}"#]],
    );
    check(
        "deploy: {placement: {constraints: [a]}}",
        resources,
        expect!["service web: deploy: placement isn't supported"],
    );
    check(
        "labels: ['com.example.x=any value!', y]",
        "/metadata/annotations",
        expect![[r#"{"com.example.x":"any value!","y":""}"#]],
    );
    check(
        "labels: {'a b': c}",
        "",
        expect![[r#"service web: labels: "a b" can't be the name of an annotation"#]],
    );
    check(
        "ports: ['8080:80']\nexpose: [80, 90]",
        "/spec/containers/0/ports",
        expect![[
            r#"[{"containerPort":90,"protocol":"TCP"},{"containerPort":80,"hostPort":8080,"protocol":"TCP"}]"#
        ]],
    );
    check(
        "x-own: 1\nlinks: []\nenv_file: a\nulimits: {}",
        "",
        expect!["service web: env_file isn't supported"],
    );
}
