//! Cgroups whose processes do nothing.

use super::*;

fn machine() -> Machine {
    let machine = Machine::new(&[("proc/77/fd/0", "")]);
    for (controller, name, text) in [
        ("memory", "memory.usage_in_bytes", "60"),
        ("memory", "memory.max_usage_in_bytes", "70"),
        ("memory", "memory.stat", "total_cache 1\n"),
        ("memory", "cgroup.procs", "77\n"),
        ("cpuacct", "cpuacct.usage", "5"),
    ] {
        machine.write(&file(controller, name), text);
    }
    machine
}

fn file(controller: &str, name: &str) -> String {
    format!("cgroup/{controller}/kubepods/podu-1/c1/{name}")
}

/// The most memory that was used, pages of files, processes and their open files.
async fn figures(machine: &Machine) -> [u64; 4] {
    let details = machine.meter.details(vec![running_pod("u-1", &["c1"])]).await.expect("in time");
    let details = &details.pods[&PodUid::from("u-1")].containers[&ContainerId::from("c1")].details;
    let processes = details.processes;
    [details.memory.max_usage, details.memory.cache, processes.count, processes.file_descriptors]
}

#[tokio::test]
async fn what_only_they_change_is_not_read_again_while_they_do_nothing() {
    let machine = machine();
    assert_eq!(figures(&machine).await, [70, 1, 1, 1]);
    // The kernel wouldn't change the first and the last of these.
    machine.write(&file("memory", "memory.max_usage_in_bytes"), "71");
    machine.write(&file("memory", "memory.stat"), "total_cache 2\n");
    machine.write("proc/77/fd/1", "");
    machine.later(60);
    assert_eq!(figures(&machine).await, [70, 2, 1, 1]);
    // Usage that is read between in full changes nothing of it.
    machine.later(60);
    machine.counts(Scope::All).await;
    assert_eq!(figures(&machine).await, [70, 2, 1, 1]);
    // A process may be moved there while it sleeps.
    machine.write(&file("memory", "cgroup.procs"), "77\n78\n");
    machine.later(60);
    assert_eq!(figures(&machine).await, [70, 2, 2, 2]);
    machine.write(&file("cpuacct", "cpuacct.usage"), "6");
    machine.later(1);
    assert_eq!(figures(&machine).await, [71, 2, 2, 2]);
}

#[tokio::test]
async fn all_is_read_again_after_ten_minutes_and_what_happened_between_is_seen() {
    let machine = machine();
    figures(&machine).await;
    machine.write(&file("memory", "memory.max_usage_in_bytes"), "7");
    for minute in 1..=10 {
        machine.later(60);
        let expected = if minute < 10 { 70 } else { 7 };
        assert_eq!(figures(&machine).await[0], expected, "after {minute} min");
    }
    // Seen first by a summary, which keeps the new usage.
    machine.write(&file("memory", "memory.max_usage_in_bytes"), "80");
    machine.write(&file("memory", "memory.usage_in_bytes"), "61");
    machine.later(1);
    machine.counts(Scope::All).await;
    machine.later(60);
    assert_eq!(figures(&machine).await[0], 80);
}
