//! Figures for people and for programs.

use serde_json::{Value, json};
use witlet_wasm::inspect::Inspection;

use super::measure::{Calls, Measured};
use super::times::Times;
use crate::plugin::list::{bytes, seconds};

/// Figures of a component.
pub(super) struct Benchmark {
    /// What it is called.
    pub(super) name: String,
    /// What is in it.
    pub(super) inspection: Inspection,
    /// One for each role.
    pub(super) results: Vec<Measured>,
}

impl Benchmark {
    /// A table for each role.
    pub(super) fn for_people(&self) -> String {
        let mut text = format!("{}  {}\n", self.name, bytes(self.inspection.size_bytes as u64));
        if cfg!(debug_assertions) {
            text.push_str("  this is a debug build: its times mean little\n");
        }
        for measured in &self.results {
            text.push_str(&role(measured));
        }
        text
    }

    /// Everything, in seconds and bytes. Fields are added only.
    pub(super) fn for_programs(&self) -> Value {
        json!({
            "apiVersion": "witlet.dev/v1alpha1",
            "kind": "PluginBenchmark",
            "component": {
                "name": self.name,
                "digest": format!("sha256:{}", self.inspection.digest),
                "sizeBytes": self.inspection.size_bytes,
            },
            "optimised": !cfg!(debug_assertions),
            "results": self.results.iter().map(result).collect::<Vec<_>>(),
        })
    }
}

fn result(measured: &Measured) -> Value {
    let Measured { role, case, compiled, cached, floor, fresh, warm } = measured;
    json!({
        "role": role,
        "case": case,
        "load": {
            "compiledSeconds": compiled.as_secs_f64(),
            "cachedSeconds": cached.map(|cached| cached.as_secs_f64()),
        },
        "floor": floor.as_ref().map(times),
        "fresh": fresh.as_ref().map(calls),
        "warm": warm.as_ref().map(calls),
    })
}

fn times(times: &Times) -> Value {
    let Times { calls, p50, p90, p99 } = times;
    json!({
        "calls": calls,
        "p50Seconds": p50.as_secs_f64(),
        "p90Seconds": p90.as_secs_f64(),
        "p99Seconds": p99.as_secs_f64(),
    })
}

fn calls(calls: &Calls) -> Value {
    let mut value = times(&calls.times);
    value["memoryBytesFirst"] = json!(calls.memory_bytes_first);
    value["memoryBytesLast"] = json!(calls.memory_bytes_last);
    value
}

fn role(measured: &Measured) -> String {
    let Measured { role, case, compiled, cached, floor, fresh, warm } = measured;
    let cached = cached.map(|cached| seconds(cached.as_secs_f64())).unwrap_or_default();
    let mut text = format!(
        "\n{role}, asked {case:?}\n  load: {} with compiling, {cached} from the cache\n\n  {:<6} {:>6} {:>9} {:>9} {:>9} {:>9} {:>14} {:>13}\n",
        seconds(compiled.as_secs_f64()),
        "",
        "CALLS",
        "P50",
        "P90",
        "P99",
        "FLOORS",
        "MEMORY FIRST",
        "MEMORY LAST",
    );
    let mut line = |name: &str, times: &Times, memory: Option<&Calls>| {
        let part = |time: std::time::Duration| seconds(time.as_secs_f64());
        let floors = floor.filter(|floor| !floor.p50.is_zero()).map_or_else(String::new, |floor| {
            format!("{:.1}", times.p50.as_secs_f64() / floor.p50.as_secs_f64())
        });
        let memory = memory.map_or_else(Default::default, |calls| {
            (bytes(calls.memory_bytes_first as u64), bytes(calls.memory_bytes_last as u64))
        });
        text.push_str(&format!(
            "  {name:<6} {:>6} {:>9} {:>9} {:>9} {floors:>9} {:>14} {:>13}\n",
            times.calls,
            part(times.p50),
            part(times.p90),
            part(times.p99),
            memory.0,
            memory.1,
        ));
    };
    if let Some(floor) = floor {
        line("floor", floor, None);
    }
    for (name, calls) in [("fresh", fresh), ("warm", warm)] {
        if let Some(calls) = calls {
            line(name, &calls.times, Some(calls));
        }
    }
    text
}

#[cfg(test)]
pub(crate) mod tests {
    use std::time::Duration;

    use expect_test::expect;
    use witlet_wasm::role::Role;

    use super::*;

    fn measured() -> Measured {
        let ms = Duration::from_millis;
        let times = |calls| Times { calls, p50: ms(1), p90: ms(2), p99: ms(30) };
        let calls = Calls { times: times(2000), memory_bytes_first: 1 << 20, memory_bytes_last: 3 << 20 };
        Measured {
            role: Role::Probe,
            case: "a server that answers".to_owned(),
            compiled: ms(400),
            cached: Some(ms(2)),
            floor: Some(Times { calls: 1000, p50: Duration::from_micros(10), p90: ms(1), p99: ms(1) }),
            fresh: Some(calls),
            warm: None,
        }
    }

    /// A benchmark with all that it can have, and with what it has at least.
    pub(crate) fn benchmarks() -> [Value; 2] {
        let all = Measured { warm: measured().fresh, ..measured() };
        let least = Measured { cached: None, floor: None, fresh: None, warm: None, ..measured() };
        let benchmark = |results| Benchmark {
            name: "a.wasm".to_owned(),
            inspection: witlet_wasm::inspect::inspect(witlet_test_guests::NO_LATEST_TAG)
                .expect("a component"),
            results,
        };
        [vec![all, measured()], vec![least]].map(|results| benchmark(results).for_programs())
    }

    #[test]
    fn people_see_a_line_for_each_kind_next_to_the_floor() {
        expect![[r#"

            probe, asked "a server that answers"
              load: 400ms with compiling, 2.0ms from the cache

                      CALLS       P50       P90       P99    FLOORS   MEMORY FIRST   MEMORY LAST
              floor    1000    10.0µs     1.0ms     1.0ms       1.0                             
              fresh    2000     1.0ms     2.0ms    30.0ms     100.0          1.0Mi         3.0Mi
        "#]]
        .assert_eq(&role(&measured()));
    }

    #[test]
    fn programs_see_seconds_and_bytes_and_null_for_what_was_not_measured() {
        let value = result(&measured());
        assert_eq!(value["fresh"]["p99Seconds"], 0.03);
        assert_eq!(value["fresh"]["memoryBytesLast"], 3 << 20);
        assert_eq!((&value["warm"], &value["role"]), (&Value::Null, &json!("probe")));
    }
}
