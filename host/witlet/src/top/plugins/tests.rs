//! Rates of plugins.

use expect_test::expect;

use super::*;
use crate::get::table::render;

fn plugin(name: &str, digest: &str, (calls, errors, cpu): (u64, u64, f64)) -> Value {
    json!({
        "name": name, "digest": digest, "state": "Ready", "shadow": false,
        "roles": [{
            "role": "probe", "calls": calls, "errors": errors, "cpuSeconds": cpu, "p50Seconds": 0.000_3,
            "p99Seconds": 0.012, "memoryBytesPeak": 1_179_648, "inFlight": 1, "quarantineSeconds": null,
        }],
    })
}

fn snapshots() -> Vec<PluginRate> {
    let before = json!({"items": [
        plugin("busy", "d1", (100, 2, 1.0)),
        plugin("idle", "d2", (7, 0, 0.5)),
        plugin("replaced", "d3", (1000, 0, 9.0)),
    ]});
    let after = json!({"items": [
        plugin("idle", "d2", (7, 0, 0.5)),
        plugin("busy", "d1", (350, 3, 1.25)),
        plugin("replaced", "d4", (10, 0, 0.1)),
        plugin("new", "d5", (1, 1, 0.1)),
    ]});
    rates(&before, &after, Duration::from_secs(2))
}

#[test]
fn counts_become_rates_of_the_same_component() {
    let mut all = snapshots();
    sort(&mut all, PluginOrder::Cpu);
    expect![[r#"
        NAME       ROLE    STATE   CALLS/S   ERRORS/S   ERRORS   P50     P99      CPU      MEMORY   BUSY
        busy       probe   Ready   125.0     0.5        3        300µs   12.0ms   125.0m   1.1Mi    1
        idle       probe   Ready   0.0       0.0        0        300µs   12.0ms   0.0m     1.1Mi    1
        new        probe   Ready   -         -          1        300µs   12.0ms   -        1.1Mi    1
        replaced   probe   Ready   -         -          0        300µs   12.0ms   -        1.1Mi    1
    "#]]
    .assert_eq(&render(&HEADER, &all.iter().map(row).collect::<Vec<_>>()));
}

#[test]
fn plugins_are_sorted_by_a_column() {
    let by = |order| {
        let mut all = snapshots();
        sort(&mut all, order);
        all.iter().map(|rate| rate.name.clone()).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(by(PluginOrder::Name), "busy idle new replaced");
    assert_eq!(by(PluginOrder::Errors), "busy new idle replaced");
    assert_eq!(by(PluginOrder::Calls), "busy idle new replaced");
}

#[test]
fn snapshots_of_the_same_time_have_no_rates() {
    let answer = json!({"items": [plugin("a", "d", (1, 0, 0.0))]});
    assert_eq!(rates(&answer, &answer, Duration::ZERO)[0].calls_per_second, None);
}
