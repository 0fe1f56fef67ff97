//! What is shown of what was measured.

use std::sync::Arc;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::Pod;
use serde_json::{Value, json};

use super::*;
use crate::stats::FsUsage;
use crate::stats::cgroup_usage::{CgroupUsage, MemoryUsage, PressureUsage, Stall, Stalls, SwapUsage};
use crate::stats::network::InterfaceUsage;

const AT: &str = "2026-06-01T12:00:00Z";

fn time(text: &str) -> Timestamp {
    text.parse().expect("a time")
}

pub(in crate::stats) fn usage(cpu: u64, working_set: u64) -> CgroupUsage {
    let memory = MemoryUsage {
        usage: Some(working_set + 10),
        working_set,
        rss: Some(5),
        page_faults: Some(3),
        major_page_faults: Some(1),
        limit: Some(1000),
    };
    CgroupUsage {
        at: time(AT),
        cpu_nanoseconds: Some(cpu),
        memory: Some(memory),
        swap: Some(SwapUsage { usage: 7, limit: Some(20) }),
        pressure: PressureUsage::default(),
    }
}

fn container(name: &str, cpu: u64) -> ContainerMeasurement {
    ContainerMeasurement {
        name: name.to_owned(),
        started_at: time("2026-06-01T11:00:00Z"),
        usage: usage(cpu, 100),
        nanocores: Some(cpu / 10),
        rootfs: FsUsage::new(40, 4),
        logs: FsUsage::new(8, 1),
        processes: Some(2),
    }
}

pub(in crate::stats) fn measurements() -> Measurements {
    let pod: Pod = serde_json::from_value(json!({
        "metadata": {"name": "web", "namespace": "ns", "uid": "u-1"},
        "spec": {"containers": [], "volumes": [
            {"name": "scratch", "emptyDir": {}},
            {"name": "ram", "emptyDir": {"medium": "Memory"}},
            {"name": "data", "persistentVolumeClaim": {"claimName": "claim"}},
            {"name": "own", "ephemeral": {}},
        ]},
    }))
    .expect("a pod");
    let ram = FsMeasurement { capacity: 64, available: 32, used: 32, inodes: 8, inodes_free: 7 };
    let volume = |name: &str, bytes| VolumeMeasurement {
        name: name.to_owned(),
        usage: FsUsage::new(bytes, 1),
        system: (name == "ram").then_some(ram),
    };
    let fs = FsMeasurement { capacity: 5000, available: 2000, used: 2500, inodes: 100, inodes_free: 60 };
    let interface = |name: &str| InterfaceUsage { name: name.to_owned(), rx_bytes: 9, ..Default::default() };
    Measurements {
        at: time(AT),
        node_name: "node-1".to_owned(),
        booted_at: Some(time("2026-06-01T01:00:00Z")),
        node: Some(usage(9_000_000_000, 400)),
        node_nanocores: Some(77),
        system: vec![SystemMeasurement {
            name: "pods",
            started_at: None,
            usage: usage(5, 50),
            nanocores: None,
        }],
        network: vec![interface("eth1"), interface("ens3")],
        nodefs: Some(fs),
        imagefs: Some((Some(fs), FsUsage::new(300, 30))),
        containerfs: None,
        pids: Some((32768, 345)),
        pods: vec![PodMeasurement {
            name: "web".to_owned(),
            namespace: "ns".to_owned(),
            uid: "u-1".to_owned(),
            started_at: time("2026-06-01T10:59:59Z"),
            containers: vec![container("app", 1_000_000_000), container("side", 500_000_000)],
            usage: None,
            nanocores: None,
            network: Some(vec![interface("eth0")]),
            pod: Some(Arc::new(pod)),
            volumes: vec![
                volume("scratch", 1000),
                volume("ram", 2000),
                volume("data", 4000),
                volume("own", 8000),
            ],
            own: FsUsage::new(16, 1),
        }],
    }
}

fn shown(measurements: &Measurements, scope: Scope) -> Value {
    serde_json::to_value(measurements.summary(scope)).expect("it is JSON")
}

#[test]
fn the_node_is_shown() {
    let node = &shown(&measurements(), Scope::All)["node"];
    assert_eq!(node["nodeName"], "node-1");
    assert_eq!(node["startTime"], "2026-06-01T01:00:00Z");
    assert_eq!(
        node["cpu"],
        json!({"time": AT, "usageNanoCores": 77, "usageCoreNanoSeconds": 9_000_000_000_u64})
    );
    let memory = json!({
        "time": AT, "availableBytes": 600, "usageBytes": 410, "workingSetBytes": 400, "rssBytes": 5,
        "pageFaults": 3, "majorPageFaults": 1,
    });
    assert_eq!(node["memory"], memory);
    assert_eq!(node["swap"], json!({"time": AT, "swapAvailableBytes": 13, "swapUsageBytes": 7}));
    assert_eq!(node["network"]["name"], Value::Null, "there is no eth0");
    assert_eq!(node["network"]["interfaces"].as_array().map(Vec::len), Some(2));
    let fs = json!({
        "time": AT, "availableBytes": 2000, "capacityBytes": 5000, "usedBytes": 2500, "inodesFree": 60,
        "inodes": 100, "inodesUsed": 40,
    });
    assert_eq!(node["fs"], fs);
    assert_eq!(node["runtime"]["imageFs"]["usedBytes"], 300);
    assert_eq!(node["runtime"]["containerFs"], node["runtime"]["imageFs"]);
    assert_eq!(node["rlimit"], json!({"time": AT, "maxpid": 32768, "curproc": 345}));
    assert_eq!(node["systemContainers"][0]["name"], "pods");
    assert_eq!(node["systemContainers"][0]["cpu"], json!({"time": AT, "usageCoreNanoSeconds": 5}));
}

#[test]
fn a_pod_is_shown() {
    let pod = &shown(&measurements(), Scope::All)["pods"][0];
    assert_eq!(pod["podRef"], json!({"name": "web", "namespace": "ns", "uid": "u-1"}));
    assert_eq!(pod["startTime"], "2026-06-01T10:59:59Z");
    assert_eq!(pod["process_stats"], json!({"process_count": 4}));
    assert_eq!(pod["network"]["rxBytes"], 9);
    let app = &pod["containers"][0];
    assert_eq!(app["name"], "app");
    assert_eq!(app["startTime"], "2026-06-01T11:00:00Z");
    assert_eq!((&app["rootfs"]["usedBytes"], &app["rootfs"]["capacityBytes"]), (&json!(40), &json!(5000)));
    assert_eq!((&app["logs"]["usedBytes"], &app["logs"]["inodesUsed"]), (&json!(8), &json!(1)));
}

/// What is local and on disk counts, and nothing else.
#[test]
fn ephemeral_storage_is_what_goes_with_the_pod() {
    let pod = &shown(&measurements(), Scope::All)["pods"][0];
    let layers_and_logs = 2 * (40 + 8);
    assert_eq!(pod["ephemeral-storage"]["usedBytes"], 1000 + layers_and_logs + 16);
    assert_eq!(pod["ephemeral-storage"]["inodesUsed"], 1 + 2 * (4 + 1) + 1);
}

#[test]
fn volumes_name_their_claims() {
    let pod = &shown(&measurements(), Scope::All)["pods"][0];
    let claims: Vec<&Value> = (0..4).map(|place| &pod["volume"][place]["pvcRef"]).collect();
    let claim = |name: &str| json!({"name": name, "namespace": "ns"});
    assert_eq!(claims, [&Value::Null, &Value::Null, &claim("claim"), &claim("web-own")]);
    assert_eq!(pod["volume"][0]["usedBytes"], 1000);
}

/// The node's is that of volumes whose own isn't known.
#[test]
fn volumes_have_the_size_of_the_file_system_that_they_are_on() {
    let pod = &shown(&measurements(), Scope::All)["pods"][0];
    let figures = ["capacityBytes", "availableBytes", "inodes", "inodesFree", "usedBytes", "inodesUsed"];
    let volume =
        |place: usize| figures.map(|figure| pod["volume"][place][figure].as_u64().expect("a number"));
    assert_eq!(volume(0), [5000, 2000, 100, 60, 1000, 1]);
    assert_eq!(volume(1), [64, 32, 8, 7, 2000, 1]);
    assert_eq!(volume(2), [5000, 2000, 100, 60, 4000, 1]);
}

#[test]
fn a_pod_without_a_cgroup_is_the_sum_of_its_containers() {
    let mut measured = measurements();
    let pod = &shown(&measured, Scope::All)["pods"][0];
    let cpu = json!({"time": AT, "usageNanoCores": 150_000_000, "usageCoreNanoSeconds": 1_500_000_000});
    assert_eq!(pod["cpu"], cpu);
    assert_eq!(
        (&pod["memory"]["workingSetBytes"], &pod["memory"]["availableBytes"]),
        (&json!(200), &json!(1800))
    );
    assert_eq!(pod["swap"]["swapUsageBytes"], 14);
    measured.pods[0].usage = Some(usage(1_600_000_000, 250));
    let pod = &shown(&measured, Scope::All)["pods"][0];
    assert_eq!(pod["cpu"]["usageCoreNanoSeconds"], 1_600_000_000);
    assert_eq!(pod["memory"]["workingSetBytes"], 250);
}

#[test]
fn only_cpu_and_memory_has_nothing_else() {
    let summary = shown(&measurements(), Scope::CpuAndMemory);
    let keys =
        |value: &Value| -> Vec<String> { value.as_object().expect("an object").keys().cloned().collect() };
    assert_eq!(
        keys(&summary["node"]),
        ["cpu", "memory", "nodeName", "startTime", "swap", "systemContainers"]
    );
    assert_eq!(keys(&summary["pods"][0]), ["containers", "cpu", "memory", "podRef", "startTime", "swap"]);
    assert_eq!(keys(&summary["pods"][0]["containers"][0]), ["cpu", "memory", "name", "startTime", "swap"]);
}

#[test]
fn a_pod_of_which_nothing_runs_is_not_shown() {
    let mut measured = measurements();
    measured.pods[0].containers.clear();
    assert_eq!(shown(&measured, Scope::All)["pods"], json!([]));
}

#[test]
fn what_is_not_known_is_left_out() {
    let measured = Measurements {
        node: None,
        network: Vec::new(),
        nodefs: None,
        imagefs: None,
        pids: None,
        system: Vec::new(),
        booted_at: None,
        pods: Vec::new(),
        ..measurements()
    };
    assert_eq!(shown(&measured, Scope::All), json!({"node": {"nodeName": "node-1"}, "pods": []}));
}

#[test]
fn pressures_are_shown() {
    let mut measured = measurements();
    let some = Stall { total_nanoseconds: 12_000, avg10: 1.5, avg60: 0.25, avg300: 0.0 };
    let stalls = Stalls { some, full: Stall::default() };
    let mut of_node = usage(1, 1);
    of_node.pressure = PressureUsage { cpu: Some(stalls), memory: None, io: Some(stalls) };
    measured.node = Some(of_node);
    let node = &shown(&measured, Scope::All)["node"];
    let none = json!({"total": 0, "avg10": 0.0, "avg60": 0.0, "avg300": 0.0});
    let psi = json!({"full": none, "some": {"total": 12_000, "avg10": 1.5, "avg60": 0.25, "avg300": 0.0}});
    assert_eq!(node["cpu"]["psi"], psi);
    assert_eq!(node["io"], json!({"time": AT, "psi": psi}));
    assert_eq!(node["memory"]["psi"], Value::Null);
}

#[test]
fn times_are_written_as_those_of_objects() {
    for text in [
        "1970-01-01T00:00:00Z",
        "2026-06-01T12:00:00.999999999Z",
        "2024-02-29T23:59:59Z",
        "1969-12-31T23:59:59.5Z",
        "0001-02-03T04:05:06Z",
        "9999-12-30T00:00:00Z",
        "-000001-01-01T00:00:00Z",
    ] {
        let of_object = k8s_openapi::apimachinery::pkg::apis::meta::v1::Time(time(text));
        assert_eq!(json!(Time(time(text))), json!(of_object), "{text}");
    }
}
