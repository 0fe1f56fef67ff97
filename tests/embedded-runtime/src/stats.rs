//! What is measured, and limits that change while a container runs.

use std::time::Duration;

use libtest_mimic::Trial;
use tonic::Code;
use witlet_proto::cri::*;

use crate::client::{Runtime, eventually, program};
use crate::on_shared;

pub(crate) fn trials() -> Vec<Trial> {
    vec![
        on_shared("processor_time_and_memory_are_counted_by_container_and_pod", counted),
        on_shared("a_memory_limit_can_be_changed_while_a_container_runs", resized),
    ]
}

fn value(value: Option<UInt64Value>) -> u64 {
    value.expect("it is measured").value
}

fn cpu_of(usage: Option<CpuUsage>) -> Duration {
    Duration::from_nanos(value(usage.expect("it is measured").usage_core_nano_seconds))
}

async fn counted(runtime: Runtime) {
    let pod = runtime.pod().await;
    let idle = runtime.run(&pod, "idle", program("subject", &["read-input"])).await;
    runtime.says(&idle, "waiting").await;
    let busy = runtime.run(&pod, "busy", program("subject", &["spin"])).await;
    let busy_time = eventually("it computes", async || {
        let time = cpu_of(runtime.stats(&busy).await.expect("stats").cpu);
        (time > Duration::from_millis(500)).then_some(time)
    })
    .await;
    let stats = runtime.stats(&idle).await.expect("stats");
    assert!(cpu_of(stats.cpu) < busy_time / 2, "who waits takes nothing");
    let memory = stats.memory.expect("it is measured");
    let (used, available) = (value(memory.usage_bytes), value(memory.available_bytes));
    assert!(used >= 1 << 20, "a program has a stack: {used}");
    assert_eq!(used + available, 256 << 20, "what it has without a limit of its own");
    assert_eq!(stats.attributes.expect("attributes").metadata.expect("a name").name, "idle");

    // Commands count with the container.
    let before = cpu_of(runtime.stats(&idle).await.expect("stats").cpu);
    let ran = runtime.exec(&idle, &["subject", "compute", "300"], 60).await.expect("it runs");
    assert_eq!(ran.exit_code, 0);
    let after = cpu_of(runtime.stats(&idle).await.expect("stats").cpu);
    assert!(after > before, "{before:?} {after:?}");

    let filter = ContainerStatsFilter { pod_sandbox_id: pod.id.clone(), ..Default::default() };
    let listed = async || {
        let request = ListContainerStatsRequest { filter: Some(filter.clone()) };
        let listed = runtime.pods.clone().list_container_stats(request).await.expect("a list").into_inner();
        let name =
            |stats: ContainerStats| stats.attributes.expect("attributes").metadata.expect("a name").name;
        let mut names: Vec<_> = listed.stats.into_iter().map(name).collect();
        names.sort();
        names
    };
    assert_eq!(listed().await, ["busy", "idle"]);
    let of_pod = async || {
        let request = PodSandboxStatsRequest { pod_sandbox_id: pod.id.clone() };
        let stats = runtime.pods.clone().pod_sandbox_stats(request).await?.into_inner().stats;
        Ok::<_, tonic::Status>(stats.expect("stats").linux.expect("of Linux"))
    };
    let whole = of_pod().await.expect("stats");
    assert_eq!(value(whole.process.expect("it is measured").process_count), 2);
    assert!(value(whole.memory.expect("it is measured").usage_bytes) >= 2 << 20);
    let all_time = cpu_of(whole.cpu);
    assert!(all_time >= busy_time + after);

    runtime.stop(&busy, 0).await.expect("it is killed");
    assert_eq!(listed().await, ["idle"]);
    assert!(cpu_of(runtime.stats(&busy).await.expect("it is still there").cpu) >= busy_time);
    runtime.remove(&busy).await.expect("it is removed");
    let whole = of_pod().await.expect("stats");
    assert!(cpu_of(whole.cpu) >= all_time, "a pod's time never decreases");
    assert_eq!(whole.containers.len(), 1);
    assert_eq!(runtime.stats(&busy).await.expect_err("it is gone").code(), Code::NotFound);
    let filter = PodSandboxStatsFilter { id: pod.id.clone(), ..Default::default() };
    let ready = async || {
        let request = ListPodSandboxStatsRequest { filter: Some(filter.clone()) };
        runtime.pods.clone().list_pod_sandbox_stats(request).await.expect("a list").into_inner().stats.len()
    };
    assert_eq!(ready().await, 1);
    runtime.stop_pod(&pod.id).await.expect("it stops");
    assert_eq!(ready().await, 0);
    runtime.remove_pod(&pod.id).await.expect("it is removed");
    assert_eq!(of_pod().await.expect_err("it is gone").code(), Code::NotFound);
}

async fn resized(runtime: Runtime) {
    let pod = runtime.pod().await;
    let mut own = program("subject", &["read-input"]);
    own.memory = 64 << 20;
    let id = runtime.run(&pod, "own", own).await;
    runtime.says(&id, "waiting").await;
    let update = async |resources: LinuxContainerResources| {
        let request = UpdateContainerResourcesRequest {
            container_id: id.clone(),
            linux: Some(resources),
            ..Default::default()
        };
        runtime.pods.clone().update_container_resources(request).await.map(drop)
    };
    let memory = |bytes: i64| LinuxContainerResources { memory_limit_in_bytes: bytes, ..Default::default() };
    let reported = async || {
        let resources = runtime.status(&id).await.expect("a status").resources.expect("resources");
        let LinuxContainerResources { memory_limit_in_bytes, cpu_shares, cpu_quota, .. } =
            resources.linux.expect("of Linux");
        (memory_limit_in_bytes, cpu_shares, cpu_quota)
    };
    let eat = async |mebibytes: &str| {
        runtime.exec(&id, &["subject", "eat-some", mebibytes], 60).await.expect("it runs").exit_code
    };
    assert_eq!(reported().await, (64 << 20, 0, 0));
    assert_eq!((eat("32").await, eat("96").await), (0, 137));
    update(memory(128 << 20)).await.expect("it can have more");
    assert_eq!(eat("96").await, 0);
    update(memory(32 << 20)).await.expect("it can have less, as it doesn't use it");
    assert_eq!(eat("64").await, 137);
    let low = update(memory(4096)).await.expect_err("it uses more than that");
    assert_eq!(low.code(), Code::FailedPrecondition, "{low}");
    assert!(low.message().contains("bytes of memory are in use"), "{low}");
    let cpu = LinuxContainerResources { cpu_shares: 512, cpu_quota: 20_000, ..Default::default() };
    update(cpu).await.expect("it is noted");
    assert_eq!(reported().await, (32 << 20, 512, 20_000), "the limit of memory stayed as it was");
    let request = UpdatePodSandboxResourcesRequest { pod_sandbox_id: pod.id.clone(), ..Default::default() };
    runtime.pods.clone().update_pod_sandbox_resources(request).await.expect("it is taken note of");
    runtime.remove_pod(&pod.id).await.expect("it is removed");
    assert_eq!(update(memory(0)).await.expect_err("it is gone").code(), Code::NotFound);
}
