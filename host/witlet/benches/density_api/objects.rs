//! Many config maps and secrets in use at the same time: what they cost in memory and requests.

use k8s_openapi::api::core::v1::{ConfigMap, Pod, Secret};
use serde_json::{Value, json};

use super::{Bench, NODE, until_true};
use crate::{SETTLE, rounded, say};

/// Objects that one pod uses, half of them secrets.
const OBJECTS_OF_POD: usize = 40;
/// Bytes of each.
const OBJECT_BYTES: usize = 1024;

/// Half of them are config maps, half secrets; each is used by one pod.
pub(super) async fn run(bench: &Bench, count: usize) -> Value {
    let pods = count.div_ceil(OBJECTS_OF_POD);
    let each = count / 2;
    let rss_before = bench.daemon.resident_mb("VmRSS");
    for number in 0..each {
        bench.api.create(&config_map(number)).expect("the server takes it");
        bench.api.create(&secret(number)).expect("the server takes it");
    }
    bench.begin();
    let cpu = bench.daemon.cpu_seconds();
    for number in 0..pods {
        bench.api.create(&pod(number, each)).expect("the server takes it");
    }
    until_true("all pods are ready", || bench.read(|seen| seen.ready.len() >= pods)).await;
    let start_cpu = bench.daemon.cpu_seconds() - cpu;
    say(&format!("{pods} pods with {count} objects were ready"));
    bench.events_are_reported().await;
    tokio::time::sleep(SETTLE).await;
    let counts = bench.api.counts();
    let of = |action: &str| counts.get(action).copied().unwrap_or_default();
    let both = |verb: &str| of(&format!("{verb} configmaps")) + of(&format!("{verb} secrets"));
    let rss = bench.daemon.resident_mb("VmRSS");
    let anon = bench.daemon.resident_mb("RssAnon");
    bench.api.clear_requests();
    let idle = bench.idle().await;
    let idle_requests: u64 = bench.api.counts().values().sum();
    // Mounts of pods that are there would outlive the daemon.
    for number in 0..pods {
        bench.api.delete::<Pod>("default", &super::name(number), None).expect("it is there");
    }
    until_true("all pods are gone", || bench.read(|seen| seen.gone.len() >= pods)).await;
    json!({
        "api": true,
        "objects": count,
        "pods": pods,
        "object_bytes": OBJECT_BYTES,
        "watches": both("watch"),
        "lists": both("list"),
        "gets": both("get"),
        "requests": counts.values().sum::<u64>(),
        "idle_requests": idle_requests,
        "start_cpu_s": rounded(start_cpu),
        "idle_cpu_pct": rounded(idle),
        "rss_before_mb": rounded(rss_before),
        "rss_mb": rounded(rss),
        "rss_anon_mb": rounded(anon),
        "kib_per_object": rounded((rss - rss_before) * 1e6 / 1024.0 / count.max(1) as f64),
        "threads": bench.daemon.threads(),
    })
}

fn config_map(number: usize) -> ConfigMap {
    let text = "x".repeat(OBJECT_BYTES);
    let metadata = json!({"name": format!("map-{number}"), "namespace": "default"});
    serde_json::from_value(
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"file": text}}),
    )
    .expect("a config map")
}

fn secret(number: usize) -> Secret {
    let text = "x".repeat(OBJECT_BYTES);
    let metadata = json!({"name": format!("secret-{number}"), "namespace": "default"});
    let mut secret: Secret = serde_json::from_value(
        json!({"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "type": "Opaque"}),
    )
    .expect("a secret");
    secret.data = Some([("file".to_owned(), k8s_openapi::ByteString(text.into_bytes()))].into());
    secret
}

/// Has its part of the objects in one projected volume.
fn pod(number: usize, each: usize) -> Pod {
    let half = OBJECTS_OF_POD / 2;
    let own = (number * half)..((number + 1) * half).min(each);
    let items = |name: String| json!([{"key": "file", "path": name}]);
    let maps = own.clone().map(|number| {
        let name = format!("map-{number}");
        json!({"configMap": {"name": name, "items": items(name.clone())}})
    });
    let secrets = own.map(|number| {
        let name = format!("secret-{number}");
        json!({"secret": {"name": name, "items": items(name.clone())}})
    });
    let sources: Vec<Value> = maps.chain(secrets).collect();
    serde_json::from_value(json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": super::name(number), "namespace": "default"},
        "spec": {
            "nodeName": NODE,
            "containers": [{
                "name": "main", "image": "registry.example.com/app:1.0",
                "volumeMounts": [{"name": "objects", "mountPath": "/objects"}],
            }],
            "volumes": [{"name": "objects", "projected": {"sources": sources}}],
        },
    }))
    .expect("a pod")
}
