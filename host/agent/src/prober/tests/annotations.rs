//! Checks and times that annotations bring, and that change.

use std::sync::atomic::Ordering;
use std::time::Duration;

use k8s_openapi::api::core::v1::{Container, Probe};
use tokio::time::sleep;

use super::bench::*;
use crate::prober::shared::PROBES_OF_POD_AT_ONCE_MAX;
use crate::prober::*;
use ProbeKind::{Liveness, Readiness};
use ProbeResult::{Failure, Success};
use witlet_core::probe::ProbeResult;
use witlet_ports::Clock;

#[tokio::test(start_paused = true)]
async fn what_another_try_cant_mend_isnt_tried_again() {
    let bench = Bench::settled().await;
    let scripts = [("refuses", Script::Refuses), ("unknown", Script::Unknown), ("later", Script::NotNow)];
    let specs = scripts.iter().map(|(name, script)| {
        bench.world.script(name, script.clone());
        Container { liveness_probe: probe(name), ..container(name) }
    });
    let pod = pod("u1", specs.collect());
    let now = bench.world.now();
    let statuses = scripts.iter().map(|(name, _)| runs(name, name, now, true));
    bench.world.set_status(&pod, status(statuses.collect()));
    bench.add(&pod);
    settle().await;
    let mut events = bench.world.events();
    events.sort();
    assert_eq!(
        events,
        [
            "Warning InvalidProbe: Liveness probe of container refuses: no path",
            "Warning InvalidProbe: Liveness probe of container unknown: unknown probe type \"exec\"",
            "Warning Unhealthy: Liveness probe errored and resulted in unknown state: it is in quarantine",
            "Warning Unhealthy: Liveness probe failed: no path",
            "Warning Unhealthy: Liveness probe failed: unknown probe type \"exec\"",
        ]
    );
    let events = bench.world.reported_of();
    for (name, times) in [("refuses", 2), ("unknown", 2), ("later", 1)] {
        let path = Some(format!("spec.containers{{{name}}}"));
        assert_eq!(events.iter().filter(|events| **events == path).count(), times, "{events:?}");
    }
    let results = ["refuses", "unknown", "later"].map(|name| bench.result(&pod, name, Liveness));
    assert_eq!(results, [Some(Failure), Some(Failure), Some(Success)], "only an error changes nothing");
    assert!(scripts.iter().all(|(name, _)| bench.world.times(name).len() == 1));
    let ProbeTotals { liveness, .. } = bench.prober.totals();
    assert_eq!((liveness.successful, liveness.failed, liveness.unknown), (0, 2, 1));
    bench.end().await;
}

/// The pod [`web`], whose readiness probe is another by annotation.
fn annotated(annotation: &str) -> Pod {
    let mut web = web();
    let annotations = web.metadata.annotations.get_or_insert_default();
    annotations.insert("probe.witlet.dev/a".to_owned(), annotation.to_owned());
    web
}

fn by_annotation(command: &str, period: u64) -> Pod {
    annotated(&format!(
        r#"{{"readiness": {{"type": "x", "parameters": {{"command": ["{command}"]}}, "periodMilliseconds": {period}}}}}"#
    ))
}

#[tokio::test(start_paused = true)]
async fn another_check_takes_the_place_of_one_that_runs_and_its_result_stands() {
    let bench = Bench::settled().await;
    let spec = web();
    bench.world.set_status(&spec, status(vec![runs("a", "a1", bench.world.now(), true)]));
    bench.add(&spec);
    seconds(1).await;
    bench.world.script("ready", Script::Takes(Duration::from_secs(100)));
    sleep(Duration::from_millis(1_500)).await;
    bench.world.script("other", Script::Takes(Duration::from_millis(300)));
    bench.add(&by_annotation("other", 1_000));
    settle().await;
    assert_eq!(bench.world.running.load(Ordering::Relaxed), 1, "the one that hung was dropped");
    assert_eq!(bench.result(&spec, "a1", Readiness), Some(Success), "until the new one knows better");
    seconds(1).await;
    assert_eq!(bench.times("other"), [2_500, 3_500], "it begins at once");
    bench.world.script("other", Script::Fails);
    seconds(1).await;
    assert_eq!(bench.result(&spec, "a1", Readiness), Some(Failure));
    let ready = bench.times("ready").len();
    seconds(5).await;
    assert_eq!(bench.times("ready").len(), ready);
    assert_eq!(bench.probes(), 2);
    bench.end().await;
}

#[tokio::test(start_paused = true)]
async fn another_period_holds_at_once_and_cuts_no_probe_off() {
    let bench = Bench::settled().await;
    let slow = by_annotation("check", 60_000);
    bench.world.set_status(&slow, status(vec![runs("a", "a1", bench.world.now(), true)]));
    bench.add(&slow);
    seconds(5).await;
    bench.add(&by_annotation("check", 200));
    sleep(Duration::from_millis(900)).await;
    assert_eq!(bench.times("check"), [0, 5_000, 5_200, 5_400, 5_600, 5_800]);
    bench.world.script("check", Script::Takes(Duration::from_millis(950)));
    sleep(Duration::from_millis(200)).await;
    bench.add(&by_annotation("check", 500));
    seconds(2).await;
    // The probe of 6.0 s goes on to 6.95 s; from 6.1 s on there are two ticks a second.
    assert_eq!(bench.times("check")[6..], [6_000, 6_950, 7_900]);
    bench.end().await;
}

#[tokio::test(start_paused = true)]
async fn another_check_is_made_in_place_of_one_that_waits_for_capacity() {
    let bench = Bench::settled().await;
    let count = PROBES_OF_POD_AT_ONCE_MAX + 1;
    let pod = |annotation: Option<&str>| {
        let containers = (0..count).map(|n| {
            bench.world.script(&format!("stuck-{n}"), Script::Takes(Duration::from_secs(1_000)));
            let slow = probe(&format!("stuck-{n}"));
            Container {
                liveness_probe: slow.map(|p| Probe { timeout_seconds: Some(900), ..p }),
                ..container(&format!("c{n}"))
            }
        });
        let mut pod = pod("stuck", containers.collect());
        if let Some(text) = annotation {
            let last = format!("probe.witlet.dev/c{}", count - 1);
            pod.metadata.annotations.get_or_insert_default().insert(last, text.to_owned());
        }
        pod
    };
    let now = bench.world.now();
    let statuses = (0..count).map(|n| runs(&format!("c{n}"), &format!("i{n}"), now, true));
    bench.world.set_status(&pod(None), status(statuses.collect()));
    bench.add(&pod(None));
    seconds(2).await;
    bench.add(&pod(Some(r#"{"liveness": {"type": "x", "parameters": {"command": ["other"]}}}"#)));
    seconds(2).await;
    assert_eq!(bench.times("other"), [0; 0], "there is no capacity still");
    seconds(900).await;
    assert!(!bench.times("other").is_empty());
    let last = format!("stuck-{}", count - 1);
    assert_eq!(bench.times(&last), [0; 0], "what it waited for isn't needed any more");
    bench.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_wrong_annotation_is_reported_once_for_each_time_that_it_changes() {
    let bench = Bench::settled().await;
    let wrong = annotated("{");
    bench.world.set_status(&wrong, status(vec![runs("a", "a1", bench.world.now(), true)]));
    for _ in 0..5 {
        bench.add(&wrong);
        seconds(1).await;
    }
    let events = |what: &str| bench.world.events().iter().filter(|event| event.contains(what)).count();
    assert_eq!(events("InvalidProbe"), 1);
    let words = "the annotation probe.witlet.dev/a is wrong: EOF while parsing an object at line 1 column 1";
    assert!(events(&format!("Unhealthy: Readiness probe failed: {words}")) >= 5);
    assert_eq!((bench.times("ready").len(), bench.times("live").len()), (0, 0));
    assert_eq!(bench.result(&wrong, "a1", Liveness), Some(Failure));
    for _ in 0..2 {
        bench.add(&annotated("["));
        seconds(1).await;
    }
    assert_eq!(events("InvalidProbe"), 2);
    bench.add(&web());
    seconds(2).await;
    assert_eq!(bench.result(&wrong, "a1", Readiness), Some(Success));
    bench.end().await;
}
