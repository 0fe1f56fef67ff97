//! Pods that the API server takes and the shipped handlers refuse: what people see of them, in upstream's words.

use k8s_openapi::api::core::v1::{Event, Pod};
use libtest_mimic::Failed;
use serde_json::{Value, json};

use witlet_harness::cluster::{Cluster, NODE, refused};

/// A pod that is refused.
struct Case {
    name: &'static str,
    labels: Value,
    /// What its spec has in addition to the usual.
    spec: Value,
    reason: &'static str,
    /// Behind `Pod was rejected: ` in its status, and alone in the event.
    message: &'static str,
}

/// As upstream's handlers put it.
fn cases() -> Vec<Case> {
    let affinity = json!({"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [
        {"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "NotIn", "values": [NODE]}]},
    ]}}});
    let selects = "Predicate NodeAffinity failed: node(s) didn't match Pod's node affinity/selector";
    let (none, no_labels) = (json!({}), json!({}));
    vec![
        Case {
            name: "sysctl",
            labels: no_labels.clone(),
            spec: json!({"securityContext": {"sysctls": [{"name": "kernel.msgmax", "value": "65536"}]}}),
            reason: "SysctlForbidden",
            message: "forbidden sysctl: \"kernel.msgmax\" not allowlisted",
        },
        Case {
            name: "selector",
            labels: no_labels.clone(),
            spec: json!({"nodeSelector": {"disktype": "ssd"}}),
            reason: "NodeAffinity",
            message: selects,
        },
        Case {
            name: "affinity",
            labels: no_labels.clone(),
            spec: json!({"affinity": affinity}),
            reason: "NodeAffinity",
            message: selects,
        },
        Case {
            name: "os",
            labels: no_labels.clone(),
            spec: json!({"os": {"name": "windows"}}),
            reason: "PodOSNotSupported",
            message: "Failed to admit pod as the OS field doesn't match node OS",
        },
        Case {
            name: "label",
            labels: json!({"kubernetes.io/os": "windows"}),
            spec: none.clone(),
            reason: "PodOSSelectorNodeLabelDoesNotMatch",
            message: "Failed to admit pod as the `kubernetes.io/os` label doesn't match node label",
        },
        Case {
            name: "cpu",
            labels: no_labels,
            spec: json!({"containers": [{
                "name": "main", "image": "registry.example.com/app:1.0",
                "resources": {"requests": {"cpu": "100k"}},
            }]}),
            reason: "OutOfcpu",
            message: "Node didn't have enough resource: cpu, requested: 100000000, used: 0, capacity: ",
        },
    ]
}

impl Case {
    fn pod(&self) -> Result<Pod, Failed> {
        let mut pod = json!({
            "metadata": {"name": self.name, "namespace": "default", "labels": self.labels},
            "spec": {
                "nodeName": NODE,
                "automountServiceAccountToken": false,
                "enableServiceLinks": false,
                "containers": [{"name": "main", "image": "registry.example.com/app:1.0"}],
            },
        });
        for (field, value) in self.spec.as_object().into_iter().flatten() {
            pod["spec"][field] = value.clone();
        }
        Ok(serde_json::from_value(pod)?)
    }

    /// What of the refusal can't be seen yet, or is another one.
    fn is_missing(&self, cluster: &Cluster) -> Option<String> {
        let status = cluster.pod(self.name).and_then(|pod| pod.status).unwrap_or_default();
        let has =
            |text: &Option<String>, start: &str| text.as_deref().is_some_and(|text| text.starts_with(start));
        let is_reported = |event: &Event| {
            event.involved_object.name.as_deref() == Some(self.name)
                && event.type_.as_deref() == Some("Warning")
                && event.reason.as_deref() == Some(self.reason)
                && has(&event.message, self.message)
        };
        let is_whole = status.phase.as_deref() == Some("Failed")
            && status.reason.as_deref() == Some(self.reason)
            && has(&status.message, &format!("Pod was rejected: {}", self.message));
        let events = cluster.api().list::<Event>();
        let reported = events.iter().filter(|event| is_reported(event)).count();
        if is_whole && reported == 1 {
            return None;
        }
        let own = events.iter().filter(|event| event.involved_object.name.as_deref() == Some(self.name));
        let own: Vec<_> = own.map(|event| (&event.reason, &event.message)).collect();
        Some(format!(
            "{}: {:?} {:?} {:?}, events {own:?}",
            self.name, status.phase, status.reason, status.message
        ))
    }
}

/// Each fails with upstream's reason and message, in its status and in an event; nothing of it reaches the runtime, no other pod is
/// touched, and it goes when it is deleted.
pub(super) async fn by_the_shipped_handlers() -> Result<(), Failed> {
    let cluster = Cluster::start().await?;
    cluster.node_ready().await?;
    let cases = cases();
    for case in &cases {
        cluster.api().create(&case.pod()?).map_err(refused)?;
    }
    cluster.create("web")?;
    cluster
        .until_nothing_is_missing("each says why it was refused", |cluster| {
            cases.iter().filter_map(|case| case.is_missing(cluster)).collect()
        })
        .await?;
    cluster.ready("web").await?;
    if cluster.cri().starts().len() != 1 || cluster.cri().sandboxes() != 1 {
        return Err(cluster.failure("something of a pod that was refused ran"));
    }
    for case in &cases {
        cluster.delete(case.name, None)?;
    }
    cluster
        .until_nothing_is_missing("they go with their objects", |cluster| {
            let left = cases.iter().filter(|case| cluster.pod(case.name).is_some());
            left.map(|case| case.name.to_owned()).collect()
        })
        .await?;
    cluster.end().await
}
