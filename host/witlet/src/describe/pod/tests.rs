//! A pod as people see it.

use expect_test::expect;
use serde_json::json;

use super::*;

fn now() -> Timestamp {
    "2026-06-01T12:00:00Z".parse().expect("a time")
}

fn pod() -> Arc<Pod> {
    let container_status = json!({
        "name": "app", "containerID": "containerd://c2", "image": "busybox:1.36", "imageID": "sha256:ab", "ready": true,
        "restartCount": 2, "started": true, "state": {"running": {"startedAt": "2026-06-01T11:59:00Z"}},
        "lastState": {"terminated": {
            "exitCode": 137, "reason": "OOMKilled", "startedAt": "2026-06-01T11:50:00Z", "finishedAt": "2026-06-01T11:58:50Z",
        }},
    });
    Arc::new(
        serde_json::from_value(json!({
            "metadata": {
                "name": "web-node1", "namespace": "default", "uid": "u-1", "labels": {"app": "web", "tier": "front"},
                "annotations": {"kubernetes.io/config.source": "file"},
            },
            "spec": {
                "nodeName": "node1", "priority": 2_000_001_000, "priorityClassName": "system-node-critical",
                "restartPolicy": "Always",
                "containers": [{
                    "name": "app", "image": "busybox:1.36", "command": ["sh", "-c"], "args": ["sleep 1d"],
                    "ports": [{"containerPort": 80, "hostPort": 8080, "name": "http"}],
                    "resources": {"limits": {"cpu": "500m", "memory": "64Mi"}, "requests": {"cpu": "250m"}},
                    "livenessProbe": {"httpGet": {"port": 80, "path": "/healthz"}, "periodSeconds": 5},
                    "env": [{"name": "MODE", "value": "fast"}],
                    "volumeMounts": [{"name": "data", "mountPath": "/data", "readOnly": true}],
                }],
                "volumes": [{"name": "data", "hostPath": {"path": "/srv", "type": "Directory"}}],
                "tolerations": [{"operator": "Exists", "effect": "NoExecute"}],
            },
            "status": {
                "phase": "Running", "hostIP": "10.0.0.5", "podIP": "10.88.0.2", "podIPs": [{"ip": "10.88.0.2"}],
                "qosClass": "Burstable", "startTime": "2026-06-01T11:49:00Z", "containerStatuses": [container_status],
                "conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": "2026-06-01T11:59:01Z"}],
            },
        }))
        .expect("a pod"),
    )
}

fn described() -> DescribedPod {
    let admission = json!([
        {"handler": "host-ports", "digest": "c0dd30ab637daaaa", "operation": "Add", "outcome": "Admitted", "reason": null,
            "message": null, "failurePolicy": null, "time": "2026-06-01T11:49:00Z", "durationSeconds": 0.000_25,
            "warnings": ["port 80"], "annotations": {"rule": "7"}},
        {"handler": "images", "digest": null, "operation": "Add", "outcome": "Failed", "reason": "HandlerTimedOut",
            "message": "no answer within 100ms", "failurePolicy": "Admit", "time": "2026-06-01T11:49:00Z",
            "durationSeconds": 0.1},
    ]);
    let probes = json!([
        {"container": "app", "kind": "Liveness", "type": "httpGet", "result": "Success", "successes": 12, "failures": 1,
            "unknowns": 0, "last": {"outcome": "Success", "message": "ok\n", "time": "2026-06-01T11:59:57Z",
            "durationSeconds": 0.001_5}},
        {"container": "app", "kind": "Readiness", "type": null, "result": null, "successes": 0, "failures": 0,
            "unknowns": 0, "last": null},
    ]);
    let event = json!({
        "type": "Warning", "reason": "BackOff", "message": "Back-off restarting", "count": 3,
        "firstTimestamp": "2026-06-01T11:50:00Z", "lastTimestamp": "2026-06-01T11:59:00Z",
    });
    DescribedPod { pod: pod(), admission, probes, events: vec![event] }
}

#[test]
fn all_that_is_known_is_laid_out_as_kubectl_does() {
    expect![[r#"
        Name:                 web-node1
        Namespace:            default
        UID:                  u-1
        Priority:             2000001000
        Priority Class Name:  system-node-critical
        Node:                 node1/10.0.0.5
        Start Time:           Mon, 01 Jun 2026 11:49:00 +0000
        Labels:               app=web
                              tier=front
        Annotations:          kubernetes.io/config.source: file
        Status:               Running
        IP:                   10.88.0.2
        IPs:                  10.88.0.2
        Restart Policy:       Always
        Containers:
          app:
            Container ID:  containerd://c2
            Image:         busybox:1.36
            Image ID:      sha256:ab
            Ports:         80/TCP (http), host port 8080
            Command:
              sh
              -c
            Args:
              sleep 1d
            State:          Running
              Started:      Mon, 01 Jun 2026 11:59:00 +0000
            Last State:     Terminated
              Reason:       OOMKilled
              Exit Code:    137
              Started:      Mon, 01 Jun 2026 11:50:00 +0000
              Finished:     Mon, 01 Jun 2026 11:58:50 +0000
            Ready:          True
            Restart Count:  2
            Limits:
              cpu:     500m
              memory:  64Mi
            Requests:
              cpu:        250m
            Liveness:     http-get http://:80/healthz delay=0s timeout=1s period=5s #success=1 #failure=3
            Environment:  MODE=fast
            Mounts:       /data from data (ro)
        Conditions:
          TYPE    STATUS   SINCE                             REASON   MESSAGE
          Ready   True     Mon, 01 Jun 2026 11:59:01 +0000
        Volumes:
          data:
            Type:          HostPath
            Path:          /srv
            HostPathType:  Directory
        QoS Class:         Burstable
        Node-Selectors:    <none>
        Tolerations:       :NoExecute op=Exists
        Admission:
          HANDLER      OUTCOME    ASKED   TOOK    FOR   DIGEST         MESSAGE
          host-ports   Admitted   11m     250µs   Add   c0dd30ab637d   (warning: port 80) [rule=7]
          images       Failed     11m     100ms   Add   -              HandlerTimedOut: no answer within 100ms (failurePolicy Admit)
        Probes:
          CONTAINER   PROBE       TYPE      RESULT    LAST      WHEN   TOOK    OK/FAILED/UNKNOWN   MESSAGE
          app         Liveness    httpGet   Success   Success   3s     1.5ms   12/1/0              ok
          app         Readiness   -         -         -         -      -       0/0/0
        Events:
          TYPE      REASON    AGE                 MESSAGE
          Warning   BackOff   60s (x3 over 10m)   Back-off restarting
    "#]].assert_eq(&text(&described(), now()));
}

#[test]
fn a_pod_of_which_little_is_known_says_so() {
    let pod = Arc::new(Pod::default());
    let described = DescribedPod { pod, admission: json!([]), probes: json!([]), events: Vec::new() };
    let text = text(&described, now());
    for line in [
        "Status:       Unknown",
        "Volumes:         <none>",
        "Admission:       <not asked since the agent started>",
        "Probes:          <none>",
        "Events:          <none>",
    ] {
        let found = text.lines().any(|found| found.split_whitespace().eq(line.split_whitespace()));
        assert!(found, "{line:?} isn't in:\n{text}");
    }
}

#[test]
fn a_pod_that_ends_says_since_when() {
    let mut described = described();
    let mut ending = Pod::clone(&described.pod);
    ending.metadata.deletion_timestamp = Some(k8s_openapi::apimachinery::pkg::apis::meta::v1::Time(now()));
    ending.metadata.deletion_grace_period_seconds = Some(30);
    described.pod = Arc::new(ending);
    let text = text(&described, now());
    assert!(text.contains("Terminating (since Mon, 01 Jun 2026 12:00:00 +0000)"), "{text}");
    assert!(text.contains("30s"), "{text}");
}

#[test]
fn tolerations_are_written_as_kubectl_does() {
    let shown = |value: Value| toleration(&serde_json::from_value(value).expect("a toleration"));
    for (value, expected) in [
        (json!({"operator": "Exists", "effect": "NoExecute"}), ":NoExecute op=Exists"),
        (json!({"operator": "Exists"}), "op=Exists"),
        (
            json!({"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}),
            "node.kubernetes.io/not-ready:NoExecute op=Exists for 300s",
        ),
        (json!({"key": "a", "operator": "Equal", "value": "b", "effect": "NoSchedule"}), "a=b:NoSchedule"),
    ] {
        assert_eq!(shown(value), expected);
    }
}
