//! What answers lead to, one poll after the other.

use super::*;

fn settings() -> Settings {
    let allowance = Allowance { namespaces: vec!["*".to_owned()], ..Allowance::default() };
    Settings { allowance, interval: Duration::from_secs(10) }
}

fn polling() -> Polling {
    Polling::new(SourceName::from("src"), "n1", settings(), None)
}

fn manifest(name: &str) -> String {
    format!(
        "{{apiVersion: v1, kind: Pod, metadata: {{name: {name}}}, spec: {{containers: [{{name: a, image: b}}]}}}}"
    )
}

fn answer(snapshot: Snapshot) -> Polled {
    Polled::Answer(PollResponse { snapshot, cursor: Some("c".to_owned()), next_poll: None })
}

fn pods(names: &[&str]) -> Polled {
    answer(Snapshot::Pods(names.iter().map(|name| manifest(name)).collect()))
}

fn fault(reason: &str, retry_after: Option<Duration>) -> Polled {
    Polled::Fault(SourceFault { reason: reason.to_owned(), message: "m".to_owned(), retry_after })
}

fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// `[names] reasons`, of one poll; time goes on so much that reports are never short.
fn show(polling: &mut Polling, polled: Polled) -> String {
    let outcome = polling.observe(polled, seconds(1_000_000), 0.0);
    let set = outcome.set.map(|set| {
        let names: Vec<_> = set.pods.iter().filter_map(|pod| pod.metadata.name.clone()).collect();
        let complete = if set.complete { "" } else { " incomplete" };
        format!("[{}]{complete}{}", names.join(" "), if set.restored { " restored" } else { "" })
    });
    let reports = outcome.reports.iter().map(|report| report.words().0.to_owned());
    set.into_iter().chain(reports).collect::<Vec<_>>().join(" ")
}

#[test]
fn sets_are_sent_when_they_differ_and_errors_change_nothing() {
    let mut source = polling();
    for (polled, expected) in [
        (Polled::NotYet, ""),
        (fault("Unavailable", None), "PodSourceFailed"),
        (Polled::NotYet, ""),
        (pods(&["a"]), "[a-n1] PodSourceRecovered"),
        (pods(&["a"]), ""),
        (answer(Snapshot::Unchanged), ""),
        (fault("Unavailable", None), "PodSourceFailed"),
        (fault("Unavailable", None), ""),
        (fault("Denied", None), "PodSourceFailed"),
        (answer(Snapshot::Unchanged), "PodSourceRecovered"),
        (answer(Snapshot::Pods(Vec::new())), "PodSourceFailed"),
        (pods(&["a", "b"]), "[a-n1 b-n1] PodSourceRecovered"),
        (answer(Snapshot::Pods(vec!["nonsense".to_owned()])), "[a-n1 b-n1] incomplete InvalidManifest"),
        (answer(Snapshot::Empty), "[]"),
        (answer(Snapshot::Empty), ""),
        (pods(&["a"]), "[a-n1]"),
    ] {
        assert_eq!(show(&mut source, polled.clone()), expected, "{polled:?}");
    }
}

#[test]
fn a_first_set_without_anything_valid_is_not_an_empty_one() {
    let mut source = polling();
    assert_eq!(
        show(&mut source, answer(Snapshot::Pods(vec!["nonsense".to_owned()]))),
        "[] incomplete InvalidManifest"
    );
    let mut source = polling();
    assert_eq!(show(&mut source, answer(Snapshot::Unchanged)), "PodSourceFailed");
    assert_eq!(source.cursor(), None);
}

#[test]
fn pods_that_mean_the_same_stay_the_same() {
    let mut source = polling();
    let first = source.observe(pods(&["a", "b"]), seconds(0), 0.0).set.expect("a set");
    let second = source.observe(pods(&["c", "a"]), seconds(0), 0.0).set.expect("a set");
    assert!(Arc::ptr_eq(&first.pods[0], &second.pods[1]));
}

#[test]
fn cursors_belong_to_answers_that_were_taken() {
    let mut source = polling();
    assert_eq!(source.cursor(), None);
    source.observe(pods(&["a"]), seconds(0), 0.0);
    assert_eq!(source.cursor(), Some("c"));
    let flood = PollResponse {
        snapshot: Snapshot::Pods(vec![manifest("a"); 1000]),
        cursor: Some("beyond".to_owned()),
        next_poll: None,
    };
    assert_eq!(show(&mut source, Polled::Answer(flood)), "PodSourceFailed");
    assert_eq!(source.cursor(), Some("c"), "it will tell again what wasn't taken");
    let long = PollResponse {
        snapshot: Snapshot::Empty,
        cursor: Some("x".repeat(CURSOR_BYTES_MAX + 1)),
        next_poll: None,
    };
    assert_eq!(show(&mut source, Polled::Answer(long)), "PodSourceFailed");
    assert_eq!(show(&mut source, answer(Snapshot::Unchanged)), "PodSourceRecovered", "the set stands");
}

#[test]
fn waits_are_the_sources_within_bounds_and_grow_with_failures() {
    let wait = |polled: Polled| polling().observe(polled, seconds(0), 0.0).wait;
    let next =
        |next_poll| wait(Polled::Answer(PollResponse { snapshot: Snapshot::Empty, cursor: None, next_poll }));
    assert_eq!(next(None), seconds(10));
    assert_eq!(next(Some(Duration::ZERO)), WAIT_MIN);
    assert_eq!(next(Some(seconds(77))), seconds(77));
    assert_eq!(next(Some(Duration::MAX)), WAIT_MAX);
    assert_eq!(wait(fault("Unavailable", Some(Duration::ZERO))), WAIT_MIN);
    assert_eq!(wait(fault("Unavailable", Some(Duration::MAX))), WAIT_MAX);
    let quarantined = Polled::Failure {
        reason: "Quarantined".to_owned(),
        message: String::new(),
        not_before: Some(seconds(42)),
    };
    assert_eq!(wait(quarantined), seconds(42));
    for (chance, expected) in [(0.0, [500, 1_000, 2_000, 4_000]), (1.0, [1_000, 2_000, 4_000, 8_000])] {
        let mut source = polling();
        for milliseconds in expected {
            let wait = source.observe(fault("Unavailable", None), seconds(0), chance).wait;
            assert_eq!(wait, Duration::from_millis(milliseconds));
        }
        for _ in 0..100 {
            let wait = source.observe(fault("Unavailable", None), seconds(0), chance).wait;
            assert!(wait <= BACK_OFF_MAX);
        }
        source.observe(answer(Snapshot::Empty), seconds(0), chance);
        let again = source.observe(fault("Unavailable", None), seconds(0), chance).wait;
        assert_eq!(again, Duration::from_millis(expected[0]), "a good answer begins again");
    }
}

#[test]
fn what_is_left_out_is_reported_once_and_a_flood_of_it_in_one_line() {
    let mut source = polling();
    let bad = |count: usize| {
        let forbidden = |n| manifest(&format!("p{n}")).replace("spec: {", "spec: {hostPID: true, ");
        answer(Snapshot::Pods((0..count).map(forbidden).collect()))
    };
    let first = source.observe(bad(100), seconds(0), 0.0);
    assert_eq!(first.reports.len(), LEFT_OUT_REPORTED_MAX + 1);
    assert_eq!(first.reports.last(), Some(&Report::MoreLeftOut { count: 84 }));
    assert_eq!(first.left_out.len(), 100, "the source gets each");
    let LeftOutPod { namespace, name, reason, message } = &first.left_out[0];
    assert_eq!((&**namespace, &**name, &**reason), ("default", "p0", "PodForbidden"));
    assert!(message.starts_with("was not admitted: violates PodSecurity"), "{message}");
    let fewer = source.observe(bad(99), seconds(0), 0.0);
    assert_eq!(fewer.reports, [], "they were reported, or counted");
    assert_eq!(fewer.left_out, []);
    let more = source.observe(bad(101), seconds(0), 0.0);
    assert_eq!((more.reports.len(), more.left_out.len()), (2, 2));
}

#[test]
fn a_source_that_flaps_has_a_budget_of_reports() {
    let mut source = polling();
    let mut reported = 0;
    for tenth in 0..10_000_u64 {
        let now = Duration::from_millis(tenth * 100);
        let polled = if tenth % 2 == 0 { fault("Unavailable", None) } else { answer(Snapshot::Empty) };
        reported += source.observe(polled, now, 0.0).reports.len();
    }
    let refilled = 1000 / usize::try_from(REPORT_EVERY.as_secs()).expect("few");
    assert!(
        reported <= usize::try_from(REPORTS_MAX).expect("few") + refilled,
        "{reported} reports in 1000 s"
    );
}

#[test]
fn reasons_are_words() {
    let mut source = polling();
    let outcome = source.observe(fault("no word\nat all", None), seconds(0), 0.0);
    assert_eq!(
        outcome.reports,
        [Report::Failed { reason: "SourceError".to_owned(), message: "m".to_owned() }]
    );
}

#[test]
fn other_settings_take_hold_at_once_and_forget_the_cursor() {
    let mut source = polling();
    source.observe(pods(&["a", "b"]), seconds(0), 0.0);
    assert_eq!(source.reconfigure(Settings { interval: seconds(1), ..settings() }), None);
    assert_eq!(source.cursor(), None);
    let mut smaller = settings();
    smaller.allowance.name_prefix = Some("b".to_owned());
    let set = source.reconfigure(smaller.clone()).expect("a smaller set");
    assert_eq!(set.pods.len(), 1);
    assert_eq!(show(&mut source, pods(&["a", "b"])), "PodForbidden", "nothing new, and one that isn't run");
    smaller.allowance.name_prefix = None;
    source.reconfigure(smaller);
    assert_eq!(show(&mut source, pods(&["a", "b"])), "[a-n1 b-n1]", "the same answer means more now");
}

#[test]
fn a_kept_set_is_what_unchanged_means_after_a_restart() {
    let mut source = polling();
    let kept = source.observe(pods(&["a"]), seconds(0), 0.0).keep.expect("a set to keep");
    assert_eq!(source.observe(pods(&["a"]), seconds(0), 0.0).keep, None, "it is kept");
    assert_eq!(source.observe(answer(Snapshot::Unchanged), seconds(0), 0.0).keep, None);
    let record = Record { config: String::new(), cursor: kept.cursor, manifests: kept.manifests };
    let json = serde_json::to_string(&record).expect("JSON");
    let record: Record = serde_json::from_str(&json).expect("a record");
    let mut source = Polling::new(SourceName::from("src"), "n1", settings(), Some(record.clone()));
    assert_eq!(source.cursor(), Some("c"));
    assert_eq!(
        show(&mut source, fault("Unavailable", None)),
        "PodSourceFailed",
        "nothing is sent before it speaks"
    );
    assert_eq!(show(&mut source, answer(Snapshot::Unchanged)), "[a-n1] PodSourceRecovered");
    let mut source = Polling::new(SourceName::from("src"), "n1", settings(), Some(record));
    assert_eq!(show(&mut source, pods(&["b"])), "[b-n1]");
}

#[test]
fn a_set_from_before_the_start_stands_until_the_source_answers_and_counts_as_no_answer() {
    let manifests = vec![manifest("a"), manifest("b")];
    let restored = |settings| {
        let mut source = Polling::new(SourceName::from("src"), "n1", settings, None);
        let set = source.restore(&manifests);
        (source, set)
    };
    // Each answer, and what it leads to; in between the source fails.
    for (polled, expected) in [
        (pods(&["a", "b"]), "[a-n1 b-n1] PodSourceRecovered"),
        (pods(&["a"]), "[a-n1] PodSourceRecovered"),
        (answer(Snapshot::Empty), "[] PodSourceRecovered"),
        (answer(Snapshot::Unchanged), "PodSourceFailed"),
        (
            answer(Snapshot::Pods(vec!["nonsense".to_owned()])),
            "[a-n1 b-n1] incomplete PodSourceRecovered InvalidManifest",
        ),
    ] {
        let (mut source, set) = restored(settings());
        assert!(set.is_some_and(|set| set.restored && set.pods.len() == 2));
        assert_eq!(source.cursor(), None);
        assert_eq!(show(&mut source, fault("Unavailable", None)), "PodSourceFailed");
        assert_eq!(show(&mut source, Polled::NotYet), "");
        assert_eq!(show(&mut source, polled.clone()), expected, "{polled:?}");
    }
    let mut elsewhere = settings();
    elsewhere.allowance.namespaces = vec!["other".to_owned()];
    let (_, set) = restored(elsewhere.clone());
    assert!(set.is_none_or(|set| set.pods.is_empty()), "only what is allowed now runs");
    let (mut source, _) = restored(settings());
    let fewer = source.reconfigure(elsewhere).expect("another set");
    assert!(fewer.restored && fewer.pods.is_empty());
    assert_eq!(polling().restore(&[]), None, "a source without pods has none to run");
}
