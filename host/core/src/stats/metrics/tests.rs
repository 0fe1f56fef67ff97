//! CPU between two measurements.

use super::*;
use crate::fixtures::at;
use crate::stats::ContainerUsage;

const MS: u64 = 1_000_000;

fn measured(name: &str, attempt: u32, cpu_ms: u64, second: Option<i64>, memory: u64) -> Measured {
    let cpu = Some(CpuTime { nanoseconds: cpu_ms * MS, at: second.map(at) });
    let usage =
        ContainerUsage { name: name.to_owned(), memory: Some(memory), cpu, ..ContainerUsage::default() };
    ("pod".into(), attempt, usage)
}

fn shown(before: Vec<Measured>, after: Vec<Measured>) -> String {
    let pods = metrics(before, after, Duration::from_secs(2));
    let container = |one: &ContainerMetrics| {
        let cpu = one.cpu_nanocores.map_or_else(|| "?".to_owned(), |cores| format!("{}m", cores / MS));
        format!("{} {cpu} {}", one.name, one.memory.unwrap_or(0))
    };
    let pod = |(uid, all): (&PodUid, &Vec<ContainerMetrics>)| {
        format!("{uid}: {}", all.iter().map(container).collect::<Vec<_>>().join(", "))
    };
    pods.iter().map(pod).collect::<Vec<_>>().join("; ")
}

#[test]
fn cpu_is_what_was_used_between_two_measurements() {
    let one = |attempt, cpu, second, memory| vec![measured("app", attempt, cpu, second, memory)];
    let cases = [
        ("by the runtime's clock", one(0, 1000, Some(10), 1), one(0, 1500, Some(11), 2), "pod: app 500m 2"),
        ("by the time that passed", one(0, 1000, None, 1), one(0, 1500, None, 2), "pod: app 250m 2"),
        ("more than a core", one(0, 0, Some(10), 1), one(0, 3000, Some(11), 2), "pod: app 3000m 2"),
        ("nothing new", one(0, 1000, Some(10), 1), one(0, 1000, Some(10), 2), "pod: app ? 2"),
        ("a clock that was set back", one(0, 1000, Some(10), 1), one(0, 1100, Some(5), 2), "pod: app ? 2"),
        ("it started since", vec![], one(0, 500, Some(11), 2), "pod: app 250m 2"),
        ("it restarted since", one(0, 9000, Some(10), 1), one(1, 100, Some(11), 2), "pod: app 50m 2"),
        ("it ended since", one(0, 1000, Some(10), 1), vec![], ""),
        ("a counter that fell", one(0, 1000, Some(10), 1), one(0, 10, Some(11), 2), "pod: app 0m 2"),
    ];
    for (name, before, after, expected) in cases {
        assert_eq!(shown(before, after), expected, "{name}");
    }
}

#[test]
fn containers_are_in_the_order_of_their_names_and_the_newest_instance_counts() {
    let after = vec![
        measured("web", 1, 200, Some(11), 7),
        measured("web", 0, 9000, Some(11), 8),
        measured("app", 0, 0, Some(11), 9),
    ];
    let before = vec![measured("web", 1, 100, Some(10), 7)];
    assert_eq!(shown(before, after), "pod: app 0m 9, web 100m 7");
}
