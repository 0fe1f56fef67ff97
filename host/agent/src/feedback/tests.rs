//! Which statuses of its pods a source gets, and when.

use k8s_openapi::api::core::v1::PodStatus;

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
    knowledge: &mut Knowledge,
    pods: &[PodSummary],
    result: Result<(), SourceNotifyError>,
) -> Vec<String> {
    let Some((updates, versions)) = knowledge.news(pods) else { return Vec::new() };
    assert!(knowledge.news(&[shown("busy", 9)]).is_none(), "one report at a time");
    knowledge.ended(versions, &result);
    updates
        .into_iter()
        .map(|update| {
            let message = update.status.and_then(|status| status.message.clone());
            format!("{}: {}", update.full_name.name, message.unwrap_or_else(|| "gone".to_owned()))
        })
        .collect()
}

fn failure() -> Result<(), SourceNotifyError> {
    Err(SourceNotifyError { message: "no".to_owned() })
}

#[test]
fn each_change_is_reported_once_and_the_end_of_a_pod_too() {
    let mut source = Knowledge::default();
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
    let mut source = Knowledge::default();
    assert_eq!(news(&mut source, &[shown("a", 1)], failure()), ["a: version 1"]);
    assert_eq!(news(&mut source, &[shown("a", 1)], Ok(())), [""; 0]);
    assert_eq!(
        news(&mut source, &[shown("a", 1), shown("b", 1)], failure()),
        ["a: version 1", "b: version 1"]
    );
    assert_eq!(news(&mut source, &[shown("b", 2)], Ok(())), ["b: version 2"], "no one knew of the other");
}
