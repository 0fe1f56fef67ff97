//! Which statuses of its pods a source gets, and when.

use k8s_openapi::api::core::v1::PodStatus;
use witlet_ports::NotifyRetry;

use super::*;

fn shown(name: &str, version: u64) -> PodSummary {
    let status = PodStatus { message: Some(format!("version {version}")), ..PodStatus::default() };
    PodSummary {
        full_name: PodFullName::new("default", name),
        uid: PodUid::from(name),
        status: (version > 0).then(|| Arc::new(status)),
        version,
    }
}

/// What the source would get now, as `name: message`.
fn news(
    knowledge: &mut SourceFeedback,
    pods: &[PodSummary],
    result: Result<(), SourceNotifyError>,
) -> Vec<String> {
    news_at(knowledge, pods, result, Instant::now())
}

/// The same at another time.
fn news_at(
    knowledge: &mut SourceFeedback,
    pods: &[PodSummary],
    result: Result<(), SourceNotifyError>,
    now: Instant,
) -> Vec<String> {
    let Some((updates, versions)) = knowledge.news(pods, now) else { return Vec::new() };
    assert!(knowledge.news(&[shown("busy", 9)], now).is_none(), "one report at a time");
    knowledge.ended(versions, &result, now);
    updates
        .into_iter()
        .map(|update| {
            let message = update.status.and_then(|status| status.message.clone());
            format!("{}: {}", update.full_name.name, message.unwrap_or_else(|| "gone".to_owned()))
        })
        .collect()
}

fn failure() -> Result<(), SourceNotifyError> {
    not_taken(NotifyRetry::WithNextChange)
}

fn not_taken(retry: NotifyRetry) -> Result<(), SourceNotifyError> {
    Err(SourceNotifyError { message: "no".to_owned(), retry })
}

#[test]
fn what_is_promised_at_least_once_is_tried_again_without_a_change() {
    let mut source = SourceFeedback::default();
    let began = Instant::now();
    let at = |seconds| began + Duration::from_secs(seconds);
    let (a, b) = ([shown("a", 1)], [shown("a", 1), shown("b", 1)]);
    let back_off = || not_taken(NotifyRetry::BackOff);
    assert_eq!(news_at(&mut source, &a, back_off(), at(0)), ["a: version 1"]);
    assert_eq!(news_at(&mut source, &b, back_off(), at(0)), [""; 0], "not before a second is over");
    assert_eq!(news_at(&mut source, &b, back_off(), at(1)), ["a: version 1", "b: version 1"]);
    assert_eq!(news_at(&mut source, &b, back_off(), at(2)), [""; 0], "then two");
    let later = not_taken(NotifyRetry::After(Duration::from_secs(30)));
    assert_eq!(news_at(&mut source, &b, later, at(3)), ["a: version 1", "b: version 1"]);
    assert_eq!(news_at(&mut source, &b, Ok(()), at(32)), [""; 0], "as long as it said");
    assert_eq!(news_at(&mut source, &b, Ok(()), at(33)), ["a: version 1", "b: version 1"]);
    assert_eq!(news_at(&mut source, &b, Ok(()), at(600)), [""; 0], "it was taken");
    assert_eq!(news_at(&mut source, &[], back_off(), at(601)).len(), 2, "both are gone");
    assert_eq!(news_at(&mut source, &[], Ok(()), at(602)).len(), 2, "and that is said again");
    assert_eq!(news_at(&mut source, &[], Ok(()), at(700)), [""; 0]);
}

#[test]
fn each_change_is_reported_once_and_the_end_of_a_pod_too() {
    let mut source = SourceFeedback::default();
    assert_eq!(news(&mut source, &[], Ok(())), [""; 0]);
    assert_eq!(news(&mut source, &[shown("a", 0)], Ok(())), [""; 0], "it has no status yet");
    assert_eq!(news(&mut source, &[shown("a", 1)], Ok(())), ["a: version 1"]);
    assert_eq!(news(&mut source, &[shown("a", 1)], Ok(())), [""; 0]);
    assert_eq!(news(&mut source, &[shown("a", 3), shown("b", 1)], Ok(())), ["a: version 3", "b: version 1"]);
    assert_eq!(news(&mut source, &[shown("a", 3)], Ok(())), ["b: gone"]);
    assert_eq!(news(&mut source, &[], Ok(())), ["a: gone"]);
    assert_eq!(news(&mut source, &[], Ok(())), [""; 0]);
}

#[test]
fn what_failed_is_reported_again_with_the_next_change_and_not_before() {
    let mut source = SourceFeedback::default();
    assert_eq!(news(&mut source, &[shown("a", 1)], failure()), ["a: version 1"]);
    assert_eq!(news(&mut source, &[shown("a", 1)], Ok(())), [""; 0]);
    assert_eq!(
        news(&mut source, &[shown("a", 1), shown("b", 1)], failure()),
        ["a: version 1", "b: version 1"]
    );
    assert_eq!(
        news(&mut source, &[shown("b", 2)], Ok(())),
        ["a: gone", "b: version 2"],
        "it may know the other"
    );
    assert_eq!(news(&mut source, &[shown("b", 2)], Ok(())), [""; 0]);
}

#[test]
fn a_source_that_was_away_receives_what_is_and_what_is_gone() {
    let mut source = SourceFeedback::default();
    let pods = [shown("a", 1), shown("b", 1)];
    assert_eq!(news(&mut source, &pods, Ok(())).len(), 2);
    source.left(Instant::now());
    source.left(Instant::now());
    assert_eq!(news(&mut source, &pods[..1], Ok(())), ["b: gone", "a: version 1"]);
    assert_eq!(news(&mut source, &pods[..1], Ok(())), [""; 0]);
    source.left(Instant::now());
    assert_eq!(news(&mut source, &[], Ok(())), ["a: gone"], "also if nothing is left");
    source.left(Instant::now());
    assert_eq!(news(&mut source, &[], Ok(())), [""; 0]);
}
