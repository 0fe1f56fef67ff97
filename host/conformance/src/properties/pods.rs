//! Pods that people write, generated: every container kind, resources in every notation, labels, ports, priorities.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::Pod;
use proptest::collection::{btree_map, vec};
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Map, Value, json};

/// Labels that policies commonly look at.
const KEYS: [&str; 8] =
    ["app", "team", "tier", "app.kubernetes.io/name", "env", "owner", "version", "example.com/cost-centre"];
const IMAGES: [&str; 7] = [
    "nginx",
    "nginx:1.27",
    "docker.io/library/redis:latest",
    "registry.example.com/shop/web:v2",
    "registry.example.com:5000/shop/web",
    "localhost/tools",
    "ghcr.io/acme/api@sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
];
const CPUS: [&str; 8] = ["100m", "250m", "500m", "0.5", "1", "1.5", "2", "4000m"];
const MEMORIES: [&str; 8] = ["64Mi", "128Mi", "512Mi", "1Gi", "1G", "1500M", "2Gi", "1073741824"];

/// A pod, small enough to be read by people and to be made smaller.
#[derive(Clone, Debug)]
pub(crate) struct PodDraft {
    namespace: &'static str,
    name: String,
    labels: BTreeMap<&'static str, String>,
    annotations: BTreeMap<&'static str, String>,
    priority: Option<i32>,
    init: Vec<ContainerDraft>,
    app: Vec<ContainerDraft>,
    host_network: bool,
    node_selector: bool,
    overhead: Option<&'static str>,
}

#[derive(Clone, Debug)]
struct ContainerDraft {
    image: &'static str,
    sidecar: bool,
    cpu: Option<&'static str>,
    memory: Option<&'static str>,
    limits: bool,
    port: Option<u16>,
    privileged: bool,
}

/// All of them.
pub(crate) fn drafts() -> BoxedStrategy<PodDraft> {
    let labels = || btree_map(select(&KEYS[..]), "[a-z0-9]{0,8}", 0..4);
    let words =
        (select(vec!["default", "shop", "kube-system"]), "[a-z][a-z0-9-]{0,12}[a-z0-9]", labels(), labels());
    let containers = (vec(container(), 0..3), vec(container(), 1..4));
    let rest = (
        option::of(select(vec![-10, 0, 1000, 2_000_000_000])),
        any::<bool>(),
        any::<bool>(),
        option::weighted(0.2, select(&CPUS[..])),
    );
    (words, containers, rest)
        .prop_map(|(words, (init, app), (priority, host_network, node_selector, overhead))| {
            let (namespace, name, labels, annotations) = words;
            PodDraft {
                namespace,
                name,
                labels,
                annotations,
                priority,
                init,
                app,
                host_network,
                node_selector,
                overhead,
            }
        })
        .boxed()
}

fn container() -> impl Strategy<Value = ContainerDraft> {
    let resources = (option::of(select(&CPUS[..])), option::of(select(&MEMORIES[..])), any::<bool>());
    let rest = (any::<bool>(), option::weighted(0.3, 1_u16..), proptest::bool::weighted(0.1));
    (select(&IMAGES[..]), resources, rest).prop_map(
        |(image, (cpu, memory, limits), (sidecar, port, privileged))| ContainerDraft {
            image,
            sidecar,
            cpu,
            memory,
            limits,
            port,
            privileged,
        },
    )
}

impl PodDraft {
    /// As JSON.
    pub(crate) fn json(&self) -> Value {
        let containers = |containers: &[ContainerDraft], prefix: &str, init: bool| {
            let numbered = containers.iter().enumerate();
            numbered.map(|(index, one)| one.json(&format!("{prefix}-{index}"), init)).collect::<Vec<_>>()
        };
        let mut spec = json!({ "containers": containers(&self.app, "app", false) });
        if !self.init.is_empty() {
            spec["initContainers"] = containers(&self.init, "init", true).into();
        }
        if let Some(priority) = self.priority {
            spec["priority"] = priority.into();
        }
        if self.host_network {
            spec["hostNetwork"] = true.into();
        }
        if self.node_selector {
            spec["nodeSelector"] = json!({"kubernetes.io/os": "linux"});
        }
        if let Some(cpu) = self.overhead {
            spec["overhead"] = json!({ "cpu": cpu });
        }
        let mut metadata = json!({
            "name": self.name,
            "namespace": self.namespace,
            "uid": format!("uid-{}", self.name),
        });
        for (field, pairs) in [("labels", &self.labels), ("annotations", &self.annotations)] {
            if !pairs.is_empty() {
                metadata[field] = json!(pairs);
            }
        }
        json!({ "apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec })
    }

    /// As the host has it.
    pub(crate) fn pod(&self) -> Pod {
        pod(&self.json())
    }
}

impl ContainerDraft {
    fn json(&self, name: &str, init: bool) -> Value {
        let mut requests = Map::new();
        requests.extend(self.cpu.map(|cpu| ("cpu".to_owned(), cpu.into())));
        requests.extend(self.memory.map(|memory| ("memory".to_owned(), memory.into())));
        let mut container = json!({ "name": name, "image": self.image });
        if !requests.is_empty() {
            container["resources"] = json!({ "requests": requests });
            if self.limits {
                container["resources"]["limits"] = requests.into();
            }
        }
        if init && self.sidecar {
            container["restartPolicy"] = "Always".into();
        }
        if let Some(port) = self.port {
            container["ports"] = json!([{ "containerPort": port, "hostPort": port }]);
        }
        if self.privileged {
            container["securityContext"] = json!({ "privileged": true });
        }
        container
    }
}

/// A pod from JSON that has only fields which pods have, of their types; an empty one if it hasn't.
pub(crate) fn pod(json: &Value) -> Pod {
    Pod::deserialize(json).unwrap_or_default()
}

use serde::Deserialize as _;

#[cfg(test)]
mod tests {
    use proptest::test_runner::TestRunner;

    use super::*;

    #[test]
    fn every_draft_is_a_pod_with_all_that_it_says() {
        let mut runner = TestRunner::deterministic();
        let shown = runner.run(&drafts(), |draft| {
            let again = serde_json::to_value(draft.pod()).expect("pods are JSON");
            prop_assert_eq!(again, draft.json());
            Ok(())
        });
        assert!(shown.is_ok(), "{shown:?}");
    }
}
