//! Whose figures decide which pod goes: the kernel's, whatever the runtime says, and the runtime's where that has none.

use k8s_openapi::api::core::v1::Pod;
use serde_json::json;
use witlet_core::stats::ContainerUsage;
use witlet_testkit::{FakeNode, FakePodFigures};

use super::{MIB, api_pod, clinging, evicted, left, pass, started, status_of, uses_memory};

fn counts(node: &FakeNode, pod: &Pod, memory: u64, container_memory: u64, processes: u64) {
    node.usage.set_cgroups(pod, FakePodFigures { memory, container_memory, processes });
}

fn guaranteed(name: &str) -> Pod {
    let amounts = json!({"memory": "64Mi", "cpu": "100m"});
    let resources = json!({"requests": amounts, "limits": amounts});
    api_pod(
        name,
        json!({"containers": [{"name": "app", "image": "clinging:1", "resources": resources}],
        "terminationGracePeriodSeconds": 1}),
    )
}

/// Checks each second: a pod that is evicted takes longer than that to end, and then the next one may go.
async fn until_evicted(node: &FakeNode, name: &str) {
    for _ in 0..15 {
        pass(1.0).await;
        if evicted(node, &[name]) == [true] {
            return;
        }
    }
    panic!("pod {name} wasn't evicted: {:?}", status_of(node, name));
}

#[tokio::test(start_paused = true)]
async fn a_runtime_that_reports_no_memory_costs_no_pod_its_life() {
    let node = started(&[("memory.available", "100Mi")], &[], &[]);
    let (calm, hog) = (guaranteed("calm"), clinging("hog", "10Mi"));
    node.source.put_as_is("pods", vec![calm.clone(), hog.clone()]);
    for pod in [&calm, &hog] {
        node.usage.set_container(pod, ContainerUsage { name: "app".to_owned(), ..ContainerUsage::default() });
    }
    counts(&node, &calm, 30 * MIB, 20 * MIB, 1);
    counts(&node, &hog, 900 * MIB, 800 * MIB, 1);
    pass(15.0).await;
    node.usage.set(|seen| seen.memory = left(50 * MIB));
    until_evicted(&node, "hog").await;
    assert_eq!(evicted(&node, &["calm", "hog"]), [false, true]);
    let message = status_of(&node, "hog").message.unwrap_or_default();
    assert!(message.contains("Container app was using 800Mi, request is 10Mi"), "{message}");
}

#[tokio::test(start_paused = true)]
async fn a_runtime_that_hangs_holds_up_no_eviction_where_pods_have_cgroups() {
    let node = started(&[("memory.available", "100Mi"), ("pid.available", "1k")], &[], &[]);
    let (calm, hog, forks) = (guaranteed("calm"), clinging("hog", "10Mi"), clinging("forks", "10Mi"));
    node.source.put_as_is("pods", vec![calm.clone(), hog.clone(), forks.clone()]);
    counts(&node, &calm, 30 * MIB, 20 * MIB, 1);
    counts(&node, &hog, 900 * MIB, 800 * MIB, 2);
    counts(&node, &forks, 5 * MIB, 4 * MIB, 30_000);
    pass(15.0).await;
    node.usage.set_down(true);
    node.usage.set(|seen| seen.memory = left(50 * MIB));
    until_evicted(&node, "hog").await;
    node.usage.set(|seen| seen.memory = left(4096 * MIB));
    pass(30.0).await;
    assert_eq!(evicted(&node, &["calm", "hog", "forks"]), [false, true, false]);
    node.usage.set(|seen| seen.pids = left(500));
    until_evicted(&node, "forks").await;
    assert_eq!(evicted(&node, &["calm", "hog", "forks"]), [false, true, true]);
    assert_eq!(node.usage.stats_calls(), 0, "the kernel says all of it");
}

#[tokio::test(start_paused = true)]
async fn pods_without_cgroups_are_measured_by_the_runtime() {
    let node = started(&[("memory.available", "100Mi"), ("pid.available", "1k")], &[], &[]);
    let (bomb, tame) = (clinging("bomb", "10Mi"), clinging("tame", "10Mi"));
    node.source.put_as_is("pods", vec![bomb.clone(), tame.clone()]);
    counts(&node, &tame, 20 * MIB, 20 * MIB, 7);
    uses_memory(&node, &bomb, 900 * MIB);
    // What the runtime says of a pod that has cgroups doesn't count.
    uses_memory(&node, &tame, 2000 * MIB);
    pass(15.0).await;
    node.usage.set(|seen| seen.memory = left(50 * MIB));
    until_evicted(&node, "bomb").await;
    assert_eq!(evicted(&node, &["bomb", "tame"]), [true, false]);

    // A runtime that doesn't count processes: those that the kernel has are all that is known.
    let (forks, next) = (clinging("forks", "10Mi"), clinging("next", "10Mi"));
    node.usage.set(|seen| seen.memory = left(4096 * MIB));
    node.source.put_as_is("more", vec![forks.clone(), next]);
    counts(&node, &forks, MIB, MIB, 30_000);
    pass(60.0).await;
    node.usage.set_down(true);
    node.usage.set(|seen| seen.pids = left(500));
    until_evicted(&node, "forks").await;
    assert_eq!(evicted(&node, &["forks", "next", "tame"]), [true, false, false]);
}
