//! What is shown of each container's probes.

use std::time::Duration;

use tokio::time::sleep;
use witlet_core::stats::exposition::written;
use witlet_ports::{Clock, MetricsSource as _};

use super::bench::*;
use crate::prober::*;

fn text(bench: &Bench) -> String {
    written(|to| bench.prober.write(to)).expect("it is small")
}

#[tokio::test(start_paused = true)]
async fn series_of_a_container_grow_with_its_probes_and_go_with_them() {
    let bench = Bench::settled().await;
    assert_eq!(text(&bench), "");
    let web = web();
    let (namespace, pod) =
        (web.metadata.namespace.clone().unwrap_or_default(), web.metadata.name.clone().unwrap_or_default());
    let uid = PodUid::of(&web);
    bench.world.script("ready", Script::Takes(Duration::from_millis(30)));
    bench.world.set_status(&web, status(vec![runs("a", "a1", bench.world.now(), true)]));
    bench.add(&web);
    sleep(Duration::from_millis(2_500)).await;
    let total = |result: &str, count: u64| {
        format!(
            "prober_probe_total{{container=\"a\",namespace=\"{namespace}\",pod=\"{pod}\",pod_uid=\"{uid}\",probe_type=\"Readiness\",result=\"{result}\"}} {count}\n"
        )
    };
    let duration = |what: &str, le: &str, value: &str| {
        format!(
            "prober_probe_duration_seconds_{what}{{container=\"a\",namespace=\"{namespace}\",pod=\"{pod}\",probe_type=\"Readiness\"{le}}} {value}\n"
        )
    };
    let shown = text(&bench);
    for line in [
        total("successful", 3),
        duration("bucket", ",le=\"0.025\"", "0"),
        duration("bucket", ",le=\"0.05\"", "3"),
        duration("count", "", "3"),
    ] {
        assert!(shown.contains(&line), "{line} isn't in:\n{shown}");
    }
    assert!(!shown.contains("result=\"failed\""), "{shown}");
    // A failure is counted, but how long it took isn't, as upstream has it.
    bench.world.script("ready", Script::Fails);
    sleep(Duration::from_millis(1_000)).await;
    let shown = text(&bench);
    for line in [total("successful", 3), total("failed", 1), duration("count", "", "3")] {
        assert!(shown.contains(&line), "{line} isn't in:\n{shown}");
    }
    bench.prober.stop_liveness_and_startup(&uid);
    let shown = text(&bench);
    assert!(!shown.contains("Liveness") && shown.contains("Readiness"), "{shown}");
    bench.prober.remove_pod(&uid);
    assert_eq!(text(&bench), "");
    bench.end().await;
}

#[tokio::test(start_paused = true)]
async fn pods_of_one_name_are_one_series_of_durations() {
    let bench = Bench::settled().await;
    // The pod that ends, and the one that replaces it.
    for uid in ["u1", "u2"] {
        let mut pod = web();
        pod.metadata.uid = Some(uid.to_owned());
        bench.world.set_status(&pod, status(vec![runs("a", &format!("a-{uid}"), bench.world.now(), true)]));
        bench.add(&pod);
    }
    sleep(Duration::from_millis(2_500)).await;
    let shown = text(&bench);
    for (probe_type, script) in [("Readiness", "ready"), ("Liveness", "live")] {
        for uid in ["u1", "u2"] {
            let total = format!("pod_uid=\"{uid}\",probe_type=\"{probe_type}\",result=\"successful\"");
            assert!(shown.contains(&total), "{total} isn't in:\n{shown}");
        }
        let of_both = bench.world.times(script).len();
        let line = format!(
            "prober_probe_duration_seconds_count{{container=\"a\",namespace=\"ns\",pod=\"web\",probe_type=\"{probe_type}\"}} {of_both}\n"
        );
        assert!(shown.contains(&line), "{line} isn't in:\n{shown}");
    }
    let mut series: Vec<&str> = shown.lines().filter_map(|line| Some(line.rsplit_once(' ')?.0)).collect();
    let all = series.len();
    series.sort_unstable();
    series.dedup();
    assert_eq!(series.len(), all, "a series is there twice:\n{shown}");
    // A sum that falls would be taken for a new beginning.
    let sums = |shown: &str| {
        let lines = shown.lines().filter(|line| line.starts_with("prober_probe_duration_seconds"));
        lines.map(str::to_owned).collect::<Vec<_>>()
    };
    bench.prober.remove_pod(&PodUid::from("u1"));
    assert_eq!(sums(&text(&bench)), sums(&shown));
    bench.prober.remove_pod(&PodUid::from("u2"));
    assert_eq!(text(&bench), "");
    bench.end().await;
}
