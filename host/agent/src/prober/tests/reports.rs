//! What the manager shows of a pod's probes.

use super::*;
use witlet_ports::{LastOutcome, ProbeCounts, ProbeReport};

fn report(bench: &Bench, pod: &Pod, kind: ProbeKind) -> ProbeReport {
    let reports = bench.prober.reports(&PodUid::of(pod));
    reports.into_iter().find(|report| report.kind == kind).expect("the pod has the probe")
}

#[tokio::test(start_paused = true)]
async fn a_probe_shows_what_it_found_last_and_what_counts() {
    let bench = Bench::settled().await;
    let web = web();
    bench.add(&web);
    let before = report(&bench, &web, Readiness);
    assert_eq!((before.container.as_str(), before.probe_type.as_deref()), ("a", Some("exec")));
    assert_eq!((before.result, before.last), (None, None), "there is no container yet");

    bench.world.set_status(&web, status(vec![runs("a", "a1", bench.world.now(), true)]));
    seconds(2).await;
    let passed = report(&bench, &web, Readiness);
    let last = passed.last.expect("it was probed");
    assert_eq!(
        (passed.result, last.outcome, last.message.as_str()),
        (Some(Success), LastOutcome::Success, "fine")
    );
    assert!(last.at <= bench.world.now());

    bench.world.script("ready", Script::Errs);
    seconds(2).await;
    let unknown = report(&bench, &web, Readiness);
    assert_eq!(unknown.last.map(|last| last.outcome), Some(LastOutcome::Unknown));
    assert_eq!(unknown.result, Some(Success), "what could not be carried out changes nothing");
    assert!(matches!(unknown.counts, ProbeCounts { successful: 1.., failed: 0, unknown: 1.. }));
    assert!(bench.prober.reports(&"another".into()).is_empty());
    bench.end().await;
}
