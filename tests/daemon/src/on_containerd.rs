//! What only a real container runtime can show.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;
use witlet_harness::WAIT_TIMEOUT;

use libtest_mimic::Failed;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};
use witlet_harness::{BUSYBOX_IMAGE, report};

use crate::Test;
use witlet_harness::node::DaemonWorld;

/// All of them, by name.
pub(crate) const TESTS: &[(&str, Test)] = &[
    ("a_pod_has_an_address_of_its_own_and_answers_there", |world| Box::pin(answers(world))),
    ("a_pod_whose_host_port_is_taken_is_rejected", |world| Box::pin(host_port_taken(world))),
    ("container_output_environment_and_limits_arrive", |world| Box::pin(arrives(world))),
    ("names_users_groups_rights_and_files_are_as_asked", |world| Box::pin(is_as_asked(world))),
    (NEEDS_FEATURES, |world| Box::pin(features_hold(world))),
];

/// Ignored where the runtime is too old.
pub(crate) const NEEDS_FEATURES: &str =
    "user_namespaces_policies_of_groups_and_mounts_that_are_read_only_below_hold";

fn failed(error: &dyn std::error::Error) -> Failed {
    Failed::from(report(error))
}

fn manifest(name: &str, container: &Value) -> String {
    let mut container = container.clone();
    container["name"] = json!("app");
    container["image"] = json!(BUSYBOX_IMAGE);
    json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": name},
        "spec": {"terminationGracePeriodSeconds": 1, "containers": [container]},
    })
    .to_string()
}

/// The pod once it is as expected.
async fn pod(
    world: &DaemonWorld,
    name: &str,
    what: &str,
    expected: fn(&Value) -> bool,
) -> Result<Value, Failed> {
    let full = format!("{name}-node1");
    let is_it = |pod: &&Value| pod["metadata"]["name"] == *full && expected(pod);
    let pods = world.daemon.wait_for_pods(what, |pods| pods.iter().any(|pod| is_it(&pod))).await;
    let pods = pods.map_err(|error| failed(&error))?;
    pods.iter().find(is_it).cloned().ok_or_else(|| Failed::from("it was there a moment ago"))
}

fn runs(pod: &Value) -> bool {
    pod["status"]["phase"] == "Running" && pod["status"]["podIP"].is_string()
}

async fn answers(world: DaemonWorld) -> Result<(), Failed> {
    let script = "echo hello from the pod > /tmp/index.html; exec httpd -f -p 8080 -h /tmp";
    let container = json!({"command": ["/bin/sh", "-c", script]});
    world.daemon.write_manifest("web.json", &manifest("web", &container)).map_err(|error| failed(&error))?;
    let web = pod(&world, "web", "the pod runs", runs).await?;
    let address: IpAddr = web["status"]["podIP"].as_str().unwrap_or_default().parse()?;
    let deadline = Instant::now() + WAIT_TIMEOUT;
    loop {
        let answer = match &*world.containerd().await {
            Some(containerd) => containerd.http_get(SocketAddr::new(address, 8080), "/"),
            None => return Err(Failed::from("containerd doesn't run")),
        };
        match answer {
            Ok(text) if text.ends_with("hello from the pod\n") => break,
            Ok(text) => return Err(Failed::from(format!("it answered {text:?}"))),
            Err(error) if Instant::now() >= deadline => return Err(failed(&error)),
            Err(_) => sleep(Duration::from_millis(100)).await,
        }
    }
    world.end().await
}

async fn host_port_taken(world: DaemonWorld) -> Result<(), Failed> {
    let container =
        json!({"command": ["/bin/sleep", "600"], "ports": [{"containerPort": 80, "hostPort": 18_081}]});
    let write =
        |name: &str| world.daemon.write_manifest(&format!("{name}.json"), &manifest(name, &container));
    write("first").map_err(|error| failed(&error))?;
    pod(&world, "first", "the first pod runs", runs).await?;
    write("second").map_err(|error| failed(&error))?;
    let second =
        pod(&world, "second", "the second pod failed", |pod| pod["status"]["phase"] == "Failed").await?;
    let (reason, message) =
        (&second["status"]["reason"], second["status"]["message"].as_str().unwrap_or_default());
    if reason != "NodePorts" || !message.starts_with("Pod was rejected: ") {
        return Err(Failed::from(format!("rejected with {reason}, {message:?}")));
    }
    pod(&world, "first", "the first pod still runs", runs).await?;
    world.end().await
}

async fn arrives(world: DaemonWorld) -> Result<(), Failed> {
    let script = "echo \"$GREETING $WHO\"; echo to stderr >&2; cat /proc/self/oom_score_adj; sleep 600";
    let container = json!({
        "command": ["/bin/sh", "-c", script],
        "env": [
            {"name": "WHO", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
            {"name": "GREETING", "value": "hello from $(WHO)"},
        ],
        "resources": {"requests": {"cpu": "100m", "memory": "32Mi"}, "limits": {"cpu": "100m", "memory": "32Mi"}},
    });
    world
        .daemon
        .write_manifest("talks.json", &manifest("talks", &container))
        .map_err(|error| failed(&error))?;
    let talks = pod(&world, "talks", "the pod runs", runs).await?;
    if talks["status"]["qosClass"] != "Guaranteed" {
        return Err(Failed::from(format!("its class is {}", talks["status"]["qosClass"])));
    }
    let uid = talks["metadata"]["uid"].as_str().unwrap_or_default();
    let log = world.pod_logs().join(format!("default_talks-node1_{uid}/app/0.log"));
    let deadline = Instant::now() + WAIT_TIMEOUT;
    let text = loop {
        let text = std::fs::read_to_string(&log).unwrap_or_default();
        if text.lines().count() >= 3 || Instant::now() >= deadline {
            break text;
        }
        sleep(Duration::from_millis(100)).await;
    };
    // CRI log lines: time, stream, tag, text.
    let lines: Vec<_> = text.lines().filter_map(|line| Some(line.split_once(' ')?.1)).collect();
    for expected in ["stdout F hello from talks-node1 talks-node1", "stderr F to stderr"] {
        if !lines.contains(&expected) {
            return Err(Failed::from(format!("{expected:?} isn't in {}: {text:?}", log.display())));
        }
    }
    world.end().await
}

/// What holds in the container of [`is_as_asked`], as tests of the shell. The first that doesn't is its exit code.
const CHECKS: [&str; 14] = [
    "[ \"$(hostname)\" = db ]",
    "grep -q 'db.rack.default' /etc/hosts || grep -q 'db' /etc/hosts",
    "grep -q '192.0.2.9.*other' /etc/hosts",
    "grep -q 'nameserver 192.0.2.53' /etc/resolv.conf",
    "grep -q 'ndots:3' /etc/resolv.conf",
    "[ \"$(id -u)\" = 1000 ]",
    "[ \"$(id -g)\" = 1001 ]",
    "id -G | grep -qw 2000",
    "[ \"$(stat -c %g /data)\" = 2000 ] && touch /data/mine && [ \"$(stat -c %g /data/mine)\" = 2000 ]",
    "! touch /cannot 2>/dev/null",
    "grep -q '^CapEff:.*0000000000000000$' /proc/self/status",
    "grep -q '^NoNewPrivs:.*1$' /proc/self/status",
    "[ \"$(cat /facts/labels)\" = 'colour=\"blue\"' ] && [ \"$(cat /facts/name)\" = asked-node1 ]",
    "grep -q ' /memory tmpfs .*size=1024k' /proc/mounts && ! touch /facts/new 2>/dev/null",
];

async fn is_as_asked(world: DaemonWorld) -> Result<(), Failed> {
    let lines: Vec<String> =
        CHECKS.iter().enumerate().map(|(n, check)| format!("{{ {check}; }} || exit {}", n + 1)).collect();
    let field = |path: &str, field: &str| json!({"path": path, "fieldRef": {"fieldPath": field}});
    let mounts =
        ["data", "facts", "memory"].map(|name| json!({"name": name, "mountPath": format!("/{name}")}));
    let pod_json = json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "asked", "labels": {"colour": "blue"}},
        "spec": {
            "terminationGracePeriodSeconds": 1, "restartPolicy": "Never", "hostname": "db", "subdomain": "rack",
            "hostAliases": [{"ip": "192.0.2.9", "hostnames": ["other"]}],
            "dnsPolicy": "None",
            "dnsConfig": {"nameservers": ["192.0.2.53"], "options": [{"name": "ndots", "value": "3"}]},
            "securityContext": {"runAsUser": 1000, "runAsGroup": 1001, "fsGroup": 2000},
            "volumes": [
                {"name": "data", "emptyDir": {}},
                {"name": "memory", "emptyDir": {"medium": "Memory", "sizeLimit": "1Mi"}},
                {"name": "facts", "downwardAPI": {"items": [
                    field("labels", "metadata.labels"), field("name", "metadata.name"),
                ]}},
            ],
            "containers": [{
                "name": "app", "image": BUSYBOX_IMAGE, "command": ["/bin/sh", "-c", lines.join("\n")],
                "volumeMounts": mounts,
                "securityContext": {
                    "readOnlyRootFilesystem": true, "allowPrivilegeEscalation": false,
                    "capabilities": {"drop": ["ALL"]},
                },
            }],
        },
    });
    world.daemon.write_manifest("asked.json", &pod_json.to_string()).map_err(|error| failed(&error))?;
    let ended = |pod: &Value| matches!(pod["status"]["phase"].as_str(), Some("Succeeded" | "Failed"));
    let asked = pod(&world, "asked", "the pod ended", ended).await?;
    let state = &asked["status"]["containerStatuses"][0]["state"]["terminated"];
    let code = state["exitCode"].as_u64().unwrap_or(u64::MAX);
    if code != 0 {
        let check = usize::try_from(code).ok().and_then(|code| CHECKS.get(code.wrapping_sub(1)));
        return Err(Failed::from(format!("{} doesn't hold: {state}", check.unwrap_or(&"something"))));
    }
    world.end().await
}

/// What holds in the container of [`features_hold`], as [`CHECKS`].
const FEATURE_CHECKS: [&str; 4] = [
    "grep -q '^ *0 *[1-9]' /proc/self/uid_map",
    "[ \"$(id -G)\" = '1001 3000' ]",
    "touch /data/mine && [ \"$(stat -c %u /data/mine)\" = 1000 ]",
    "! touch /below/new 2>/dev/null",
];

/// The node says what its runtime can, and a pod that asks for all of it gets it.
async fn features_hold(world: DaemonWorld) -> Result<(), Failed> {
    let lines: Vec<String> = FEATURE_CHECKS
        .iter()
        .enumerate()
        .map(|(n, check)| format!("{{ {check}; }} || exit {}", n + 1))
        .collect();
    let pod_json = json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "newer"},
        "spec": {
            "terminationGracePeriodSeconds": 1, "restartPolicy": "Never", "hostUsers": false,
            "securityContext": {
                "runAsUser": 1000, "runAsGroup": 1001, "fsGroup": 3000, "supplementalGroupsPolicy": "Strict",
            },
            "volumes": [{"name": "data", "emptyDir": {}}, {"name": "below", "emptyDir": {}}],
            "containers": [{
                "name": "app", "image": BUSYBOX_IMAGE, "command": ["/bin/sh", "-c", lines.join("\n")],
                "volumeMounts": [
                    {"name": "data", "mountPath": "/data"},
                    {"name": "below", "mountPath": "/below", "readOnly": true, "recursiveReadOnly": "Enabled"},
                ],
            }],
        },
    });
    world.daemon.write_manifest("newer.json", &pod_json.to_string()).map_err(|error| failed(&error))?;
    let ended = |pod: &Value| matches!(pod["status"]["phase"].as_str(), Some("Succeeded" | "Failed"));
    let newer = pod(&world, "newer", "the pod ended", ended).await?;
    let status = &newer["status"]["containerStatuses"][0];
    let terminated = &status["state"]["terminated"];
    let code = terminated["exitCode"].as_u64().unwrap_or(u64::MAX);
    if code != 0 {
        let check = usize::try_from(code).ok().and_then(|code| FEATURE_CHECKS.get(code.wrapping_sub(1)));
        return Err(Failed::from(format!(
            "{} doesn't hold: {}",
            check.unwrap_or(&"something"),
            newer["status"]
        )));
    }
    let user = &status["user"]["linux"];
    if (&user["uid"], &user["gid"], &user["supplementalGroups"])
        != (&json!(1000), &json!(1001), &json!([1001, 3000]))
    {
        return Err(Failed::from(format!("the status has the user {user}")));
    }
    let node = world.daemon.get("node").await.map_err(|error| failed(&error))?;
    let said = &node["status"];
    if said["features"]["supplementalGroupsPolicy"] != json!(true)
        || said["runtimeHandlers"][0]["features"]["userNamespaces"] != json!(true)
    {
        return Err(Failed::from(format!(
            "the node says {} and {}",
            said["features"], said["runtimeHandlers"]
        )));
    }
    world.end().await
}
