//! The agent dies between any two requests, and another one begins where it was.

use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1::Pod;
use witlet_api_server::{Effect, Fault, Moment};
use witlet_ports::StatusSink;

use super::bench::{Bench, Flags, status};

/// More requests than the story needs.
const REQUESTS_MAX: u64 = 12;

/// A pod that is deleted while it runs, and a static pod, from their beginning to the end. Every step is reported after the watch
/// has brought what there is, as an agent that just began would tell it.
async fn story(bench: &mut Bench, from: usize) -> Option<usize> {
    let static_pod = bench.static_pod("s", "1");
    for step in from..6 {
        if step == 2 && bench.server.get::<Pod>("default", "a").is_some_and(|pod| !is_deleted(&pod)) {
            bench.server.delete::<Pod>("default", "a", None).unwrap();
        }
        bench.watch_all();
        let pod = bench.server.get::<Pod>("default", "a").map(Arc::new);
        let (phase, flags) = match step {
            0 => ("Pending", Flags::RUNS),
            1 | 2 => ("Running", Flags::RUNS),
            3 => ("Failed", Flags::ENDS),
            4 => ("Failed", Flags::STOPPED),
            _ => ("Failed", Flags::FINISHED),
        };
        if let Some(pod) = &pod {
            bench.report(pod, Some(status(phase)), flags);
        }
        bench.report(&static_pod, Some(status("Running")), Flags::RUNS);
        let server = bench.server.clone();
        tokio::select! {
            () = bench.pass(1) => {}
            () = server.held() => return Some(step),
        }
        bench.watch_all();
        tokio::select! {
            () = bench.pass(11) => {}
            () = server.held() => return Some(step),
        }
    }
    None
}

fn is_deleted(pod: &Pod) -> bool {
    pod.metadata.deletion_timestamp.is_some()
}

#[tokio::test(start_paused = true)]
async fn wherever_the_agent_dies_the_story_ends_well() {
    let mut deaths = 0;
    for moment in [Moment::Before, Moment::After] {
        for request in 1..=REQUESTS_MAX {
            let mut bench = Bench::new();
            bench.pod("a");
            bench.manager.sources_seen(true);
            bench.server.hold_from(request, moment);
            if let Some(step) = story(&mut bench, 0).await {
                deaths += 1;
                bench.restart().await;
                bench.server.release();
                bench.manager.sources_seen(true);
                assert_eq!(story(&mut bench, step).await, None);
            }
            assert_eq!(bench.shown("a"), "gone", "{moment:?} {request}");
            assert_eq!(bench.shown("s"), "Running", "{moment:?} {request}");
            assert!(mirrors_made(&bench) <= 1, "{moment:?} {request}");
        }
    }
    assert!(deaths >= 10, "{deaths} deaths");
}

/// How often the server made a mirror and said so.
fn mirrors_made(bench: &Bench) -> usize {
    let requests = bench.server.requests();
    requests.iter().filter(|request| request.action() == "create pods" && request.code == 201).count()
}

#[tokio::test(start_paused = true)]
async fn what_can_be_reported_at_the_end_still_is() {
    let mut bench = Bench::new();
    let pod = bench.pod("a");
    bench.report(&pod, Some(status("Pending")), Flags::RUNS);
    tokio::time::sleep(Duration::from_millis(1)).await;
    bench.report(&pod, Some(status("Running")), Flags::RUNS);
    bench.end().await;
    assert_eq!(bench.requests(), ["patch pods/status a", "patch pods/status a: Running"]);
    bench.report(&pod, Some(status("Failed")), Flags::STOPPED);
    bench.pass(60).await;
    assert_eq!(bench.shown("a"), "Running");
}

#[tokio::test(start_paused = true)]
async fn a_server_that_is_away_holds_no_one_up_at_the_end() {
    let mut bench = Bench::new();
    bench.server.fault(Fault::new(Effect::Stall));
    let pod = bench.pod("a");
    bench.report(&pod, Some(status("Running")), Flags::RUNS);
    bench.pass(1).await;
    let before = tokio::time::Instant::now();
    bench.end().await;
    assert!(before.elapsed() <= Duration::from_secs(3), "{:?}", before.elapsed());
}
