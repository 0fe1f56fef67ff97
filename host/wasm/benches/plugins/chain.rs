//! The chain of the shipped admission handlers, on contract 0.1 as they ship and on 0.2, through the port that the agent asks.
//!
//! Floor of 0.2: the same question to the chain on 0.1, asked in turns with it, each first every second time. Both chains must decide the
//! same. On 0.2 they are made of the same files, with `tests/guests/shipped-v0-2/sdk` in the SDK's place.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Node, Pod};
use serde_json::{Value, json};
use tokio::time::Instant;
use witlet_core::admission::{AdmissionRequest, AdmittedPod, Decision, Operation};
use witlet_core::node::NodeFacts;
use witlet_core::pod::SourceName;
use witlet_test_guests::{SHIPPED_V0_2, component_of};
use witlet_wasm::host::PluginHost;
use witlet_wasm::plugin::{Builtin, PluginState};

use crate::measure::{self, Line, Rounds, Times, describe, report};
use crate::probe_rate;

/// Rounds per measurement.
const ROUNDS: usize = 20;
/// Questions per round and chain.
const CALLS: usize = 200;
/// Questions before those that count.
const WARM_UP_CALLS: usize = 100;
/// The chain on 0.2 may cost this many times as much.
const RATIO_BUDGET: f64 = 1.1;

/// Name, containers, bytes of JSON and pods next to it, of the pods that are asked about.
const PODS: [(&str, usize, usize, usize); 3] =
    [("1-container", 1, 0, 0), ("5-containers", 5, 0, 0), ("40KB-110-neighbours", 5, 40 << 10, 110)];

pub(crate) fn measure() -> Result<bool, String> {
    measure::runtime()?.block_on(async {
        let (_folder, compiler) = measure::compiler()?;
        let older = witlet_plugins::ADMISSION
            .iter()
            .map(|shipped| Builtin::admission(shipped.name, shipped.component));
        let newer = witlet_plugins::ADMISSION
            .iter()
            .map(|shipped| Builtin::admission(shipped.name, component_of(SHIPPED_V0_2, shipped.name)));
        let hosts = [
            probe_rate::host(compiler.clone(), older.collect()).await?,
            probe_rate::host(compiler, newer.collect()).await?,
        ];
        for host in &hosts {
            if let Some(status) = host.list().iter().find(|status| status.state != PluginState::Ready) {
                return Err(format!("it isn't loaded: {status:#?}"));
            }
        }
        let mut kept = true;
        for (name, containers, bytes, neighbours) in PODS {
            let request = request(containers, bytes, neighbours)?;
            let [older, newer] = in_turns(&hosts, &request).await?;
            report(&format!("chain/0.1/{name}/p50"), "us", older.p50, None);
            report(&format!("chain/0.1/{name}/p99"), "us", older.p99, None);
            for (percentile, newer, older) in [("p50", newer.p50, older.p50), ("p99", newer.p99, older.p99)] {
                kept &= Line {
                    name: format!("chain/0.2/{name}/{percentile}"),
                    unit: "us",
                    value: newer,
                    floor: Some(older),
                    budget: Some(older * RATIO_BUDGET),
                }
                .print();
            }
        }
        Ok(kept)
    })
}

/// Times one question to both, in turns.
async fn in_turns(hosts: &[Arc<PluginHost>; 2], request: &AdmissionRequest) -> Result<[Times; 2], String> {
    let admissions = [hosts[0].admission(), hosts[1].admission()];
    let ask = async |chain: usize| {
        let request = request.clone();
        let begun = Instant::now();
        let decision = admissions[chain].admit(request).await;
        let took = begun.elapsed();
        match decision {
            Decision::Admit => Ok(took),
            other => Err(format!("an unexpected decision: {other:?}")),
        }
    };
    for _ in 0..WARM_UP_CALLS {
        for chain in 0..admissions.len() {
            ask(chain).await?;
        }
    }
    let mut all = [Rounds::new(), Rounds::new()];
    for _ in 0..ROUNDS {
        let mut rounds: [Vec<Duration>; 2] = [Vec::with_capacity(CALLS), Vec::with_capacity(CALLS)];
        for call in 0..CALLS {
            let first = call % 2;
            for chain in [first, 1 - first] {
                rounds[chain].push(ask(chain).await?);
            }
        }
        for (all, round) in all.iter_mut().zip(rounds) {
            all.add(round);
        }
    }
    Ok(all.map(Rounds::times))
}

fn pod(name: &str, containers: usize, variables: usize) -> Result<Pod, String> {
    let containers: Vec<Value> = (0..containers)
        .map(|number| {
            let env: Vec<Value> = (0..variables)
                .map(|index| json!({"name": format!("SETTING_{index}"), "value": "some value"}))
                .collect();
            json!({
                "name": format!("container-{number}"), "image": "registry.example.com/app:1.2.3", "env": env,
                "resources": {"requests": {"cpu": "10m", "memory": "16Mi"}, "limits": {"memory": "32Mi"}},
                "ports": [{"name": "http", "containerPort": 8080}],
                "securityContext": {"runAsNonRoot": true},
            })
        })
        .collect();
    serde_json::from_value(json!({
        "metadata": {
            "name": name, "namespace": "default", "uid": "6d1f6f5e-0000-4000-8000-000000000000",
            "labels": {"app": "web"}, "annotations": {"note": "measured"},
        },
        "spec": {
            "containers": containers, "nodeName": "node-1", "nodeSelector": {"disk": "fast"},
            "tolerations": [{"key": "dedicated", "operator": "Exists"}],
        },
    }))
    .map_err(describe)
}

fn request(containers: usize, bytes: usize, neighbours: usize) -> Result<AdmissionRequest, String> {
    let mut variables = 0;
    let pod = loop {
        let pod = pod("web", containers, variables)?;
        if serde_json::to_string(&pod).map_err(describe)?.len() >= bytes {
            break pod;
        }
        variables += 1;
    };
    let node: Node = serde_json::from_value(json!({
        "metadata": {"name": "node-1", "labels": {"disk": "fast", "kubernetes.io/os": "linux"}},
        "spec": {"taints": [{"key": "dedicated", "effect": "NoSchedule"}]},
        "status": {
            "capacity": {"cpu": "16", "memory": "64Gi", "ephemeral-storage": "500Gi", "pods": "200"},
            "allocatable": {"cpu": "16", "memory": "60Gi", "ephemeral-storage": "450Gi", "pods": "200"},
            "conditions": [
                {"type": "Ready", "status": "True"}, {"type": "MemoryPressure", "status": "False"},
                {"type": "DiskPressure", "status": "False"}, {"type": "PIDPressure", "status": "False"},
            ],
        },
    }))
    .map_err(describe)?;
    let facts = [("os", "linux"), ("kernel.version", "6.12.0"), ("apparmor.enabled", "false")];
    let facts = facts.map(|(key, value)| (key.to_owned(), value.to_owned())).into();
    let others: Result<Vec<AdmittedPod>, String> = (0..neighbours)
        .map(|number| {
            let pod = Arc::new(self::pod(&format!("other-{number}"), 2, 4)?);
            Ok(AdmittedPod { pod, source: SourceName::from("api") })
        })
        .collect();
    Ok(AdmissionRequest {
        operation: Operation::Add,
        now: Timestamp::UNIX_EPOCH,
        pod: Arc::new(pod),
        old_pod: None,
        image: None,
        source: SourceName::from("api"),
        node: Arc::new(NodeFacts { name: "node-1".to_owned(), node, facts, ..NodeFacts::default() }),
        other_pods: others?.into(),
    })
}
