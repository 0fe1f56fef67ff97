//! Tables of images that aren't admitted: how long their containers wait, and what is said of them.

use super::*;
use crate::fixtures::at;

fn question<'a>(definition: &'a str, handlers: u64) -> ImageQuestion<'a> {
    ImageQuestion { container: "app", definition, handlers }
}

fn reject(reason: &str) -> Decision {
    Decision::Reject { reason: reason.to_owned(), message: "no".to_owned(), handler: None }
}

fn defer(seconds: u64) -> Decision {
    let (reason, message) = ("NotNow".to_owned(), "later".to_owned());
    Decision::Defer { reason, message, retry_after: Duration::from_secs(seconds) }
}

/// What the status and the event say, and after how many seconds handlers are asked again.
fn shown(held: Option<HeldContainer>, now: i64) -> String {
    let Some(HeldContainer { waiting, until, event }) = held else { return "starts".to_owned() };
    let wait = until.duration_since(at(now)).as_secs();
    let event = event.map(|(reason, message)| format!(" ({reason}: {message})")).unwrap_or_default();
    format!("{} {} for {wait}{event}", waiting.reason, waiting.message)
}

#[test]
fn a_rejected_image_is_reported_once_and_asked_about_after_growing_delays() {
    let (mut holds, mut now) = (ImageHolds::default(), 0);
    let said = "NotSigned: The image of container app is rejected, and the container isn't started: no";
    let first = shown(holds.decided(question("v1", 1), &reject("NotSigned"), at(now)), now);
    assert_eq!(first, format!("ImageRejected NotSigned: no for 10 ({said})"));
    for delay in [20, 40, 80, 160, 300, 300] {
        let held = holds.held(question("v1", 1), at(now)).expect("it waits");
        assert_eq!((held.waiting.reason, &held.event), (WaitingReason::ImageRejected, &None));
        now = held.until.as_second() - at(0).as_second();
        assert_eq!(holds.held(question("v1", 1), at(now)), None, "at its time it is tried");
        let again = shown(holds.decided(question("v1", 1), &reject("NotSigned"), at(now)), now);
        assert_eq!(again, format!("ImageRejected NotSigned: no for {delay}"));
    }
    assert_eq!(shown(holds.decided(question("v1", 1), &Decision::Admit, at(now)), now), "starts");
    assert!(holds.is_empty());
}

#[test]
fn what_changes_is_asked_about_at_once() {
    let mut holds = ImageHolds::default();
    holds.decided(question("v1", 1), &reject("NotSigned"), at(0));
    let cases = [
        ("nothing", question("v1", 1), 1, true),
        ("its time has come", question("v1", 1), 10, false),
        ("other handlers", question("v1", 2), 1, false),
        ("another spec", question("v2", 1), 1, false),
        ("another container", ImageQuestion { container: "other", ..question("v1", 1) }, 1, false),
        ("the clock was set back by a day", question("v1", 1), -86_400, false),
    ];
    for (what, question, now, waits) in cases {
        assert_eq!(holds.held(question, at(now)).is_some(), waits, "{what}");
    }
    let other_handlers = shown(holds.decided(question("v1", 2), &reject("NotSigned"), at(1)), 1);
    assert_eq!(
        other_handlers, "ImageRejected NotSigned: no for 10",
        "the delay begins again, the event doesn't"
    );
    let other_spec = shown(holds.decided(question("v2", 2), &reject("NotSigned"), at(2)), 2);
    assert!(other_spec.ends_with(
        "(NotSigned: The image of container app is rejected, and the container isn't started: no)"
    ));
    holds.retain(|container| container != "app");
    assert!(holds.is_empty());
}

#[test]
fn a_deferred_image_is_asked_about_when_the_handler_says() {
    let mut holds = ImageHolds::default();
    let said = "NotNow: The image of container app is deferred, and the container isn't started yet: later";
    let steps = [
        (defer(30), format!("ImageDeferred NotNow: later for 30 ({said})")),
        (defer(5), "ImageDeferred NotNow: later for 5".to_owned()),
        (
            reject("Never"),
            "ImageRejected Never: no for 10 (Never: The image of container app is rejected, and the container isn't \
             started: no)"
                .to_owned(),
        ),
        (defer(3600), format!("ImageDeferred NotNow: later for 3600 ({said})")),
        (
            Decision::Preempt { victims: Vec::new(), resource: "cpu".to_owned(), message: "1 pod".to_owned() },
            "ImageRejected ImageRejected: 1 pod for 10 (ImageRejected: The image of container app is rejected, and \
             the container isn't started: 1 pod)"
                .to_owned(),
        ),
        (Decision::Admit, "starts".to_owned()),
    ];
    for (decision, expected) in steps {
        assert_eq!(shown(holds.decided(question("v1", 1), &decision, at(0)), 0), expected);
    }
}
