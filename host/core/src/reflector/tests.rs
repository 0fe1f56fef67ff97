//! What is asked, in tables.

use std::time::Duration;

use expect_test::expect;

use super::*;

const NOW: Duration = Duration::from_secs(1000);

/// Requests and waits of a story, one a line.
fn tell(initial: Initial, story: &[fn(&mut Reflector) -> Option<Duration>]) -> String {
    let mut reflector = Reflector::new(initial);
    let mut told = format!("{:?}\n", reflector.next(0.0));
    for step in story {
        if let Some(wait) = step(&mut reflector) {
            told += &format!("  waits {:.1}s\n", wait.as_secs_f64());
        }
        told += &format!("{:?}\n", reflector.next(0.0));
    }
    told
}

fn fails(reflector: &mut Reflector, failure: Failure) -> Option<Duration> {
    Some(reflector.failed(failure, NOW, 0.0))
}

fn page(reflector: &mut Reflector, version: &str, token: Option<&str>) -> Option<Duration> {
    reflector.page(version, token.map(str::to_owned));
    None
}

#[test]
fn a_stream_goes_on_as_a_watch_and_a_watch_where_it_ended() {
    let told = tell(
        Initial::Stream,
        &[
            |r| {
                r.synced("7");
                None
            },
            |r| {
                r.saw("9");
                Some(r.ended(Duration::from_secs(300), 1, NOW, 0.0))
            },
            |r| fails(r, Failure::Broken),
            |r| fails(r, Failure::Refused),
            |r| fails(r, Failure::Busy(Some(Duration::from_secs(5)))),
            |r| fails(r, Failure::Busy(None)),
        ],
    );
    expect![[r#"
        Stream { version: "", timeout: 300s }
        Watch { version: "7", timeout: 300s }
          waits 0.0s
        Watch { version: "9", timeout: 300s }
          waits 0.8s
        Watch { version: "9", timeout: 300s }
          waits 1.0s
        Watch { version: "9", timeout: 300s }
          waits 5.0s
        Watch { version: "9", timeout: 300s }
          waits 3.2s
        Watch { version: "9", timeout: 300s }
    "#]]
    .assert_eq(&told);
}

#[test]
fn a_server_that_refuses_streams_is_asked_for_pages_and_never_for_a_stream_again() {
    let told = tell(
        Initial::Stream,
        &[
            |r| fails(r, Failure::Unsupported),
            |r| page(r, "", Some("a")),
            |r| page(r, "5", Some("b")),
            |r| page(r, "5", Some("")),
            |r| fails(r, Failure::Other),
            |r| fails(r, Failure::Unsupported),
        ],
    );
    expect![[r#"
        Stream { version: "", timeout: 300s }
          waits 0.0s
        Page { version: Some("0"), limit: Some(500), token: None }
        Page { version: None, limit: Some(500), token: Some("a") }
        Page { version: None, limit: Some(500), token: Some("b") }
        Watch { version: "5", timeout: 300s }
          waits 0.8s
        Page { version: Some("5"), limit: None, token: None }
          waits 1.6s
        Page { version: Some("5"), limit: None, token: None }
    "#]]
    .assert_eq(&told);
}

#[test]
fn a_lost_version_is_read_anew_at_once_and_then_with_patience() {
    let told = tell(
        Initial::Pages,
        &[
            |r| page(r, "5", None),
            |r| fails(r, Failure::Expired),
            |r| fails(r, Failure::Expired),
            |r| fails(r, Failure::Expired),
            |r| page(r, "", Some("a")),
            |r| fails(r, Failure::Expired),
            |r| page(r, "90", None),
            |r| fails(r, Failure::TooLarge),
            |r| page(r, "4", None),
            |r| fails(r, Failure::Expired),
        ],
    );
    expect![[r#"
        Page { version: Some("0"), limit: Some(500), token: None }
        Watch { version: "5", timeout: 300s }
          waits 0.8s
        Page { version: Some("5"), limit: None, token: None }
          waits 0.0s
        Page { version: None, limit: Some(500), token: None }
          waits 1.6s
        Page { version: None, limit: Some(500), token: None }
        Page { version: None, limit: Some(500), token: Some("a") }
          waits 3.2s
        Page { version: None, limit: Some(500), token: None }
        Watch { version: "90", timeout: 300s }
          waits 6.4s
        Page { version: None, limit: Some(500), token: None }
        Watch { version: "4", timeout: 300s }
          waits 12.8s
        Page { version: Some("4"), limit: None, token: None }
    "#]]
    .assert_eq(&told);
}

#[test]
fn a_stream_whose_version_is_too_large_asks_for_the_newest() {
    let told = tell(
        Initial::Stream,
        &[
            |r| {
                r.synced("90");
                None
            },
            |r| fails(r, Failure::Other),
            |r| fails(r, Failure::TooLarge),
            |r| fails(r, Failure::Broken),
            |r| {
                // Objects that came before the end of the first ones count for nothing.
                r.saw("3");
                Some(r.ended(Duration::from_secs(60), 3, NOW, 0.0))
            },
        ],
    );
    expect![[r#"
        Stream { version: "", timeout: 300s }
        Watch { version: "90", timeout: 300s }
          waits 0.8s
        Stream { version: "90", timeout: 300s }
          waits 0.0s
        Stream { version: "", timeout: 300s }
          waits 1.6s
        Stream { version: "", timeout: 300s }
          waits 3.2s
        Stream { version: "", timeout: 300s }
    "#]]
    .assert_eq(&told);
}

#[test]
fn a_watch_that_ends_too_soon_is_not_opened_in_a_loop() {
    let told = tell(
        Initial::Pages,
        &[
            |r| page(r, "5", None),
            |r| Some(r.ended(Duration::from_millis(10), 1, NOW, 0.0)),
            |r| Some(r.ended(Duration::from_millis(10), 0, NOW, 0.0)),
        ],
    );
    expect![[r#"
        Page { version: Some("0"), limit: Some(500), token: None }
        Watch { version: "5", timeout: 300s }
          waits 0.8s
        Watch { version: "5", timeout: 300s }
          waits 1.6s
        Page { version: Some("5"), limit: None, token: None }
    "#]]
    .assert_eq(&told);
}

#[test]
fn after_an_event_that_was_missed_all_is_read_anew_once_the_watch_has_ended() {
    let told = tell(
        Initial::Stream,
        &[
            |r| {
                r.synced("5");
                None
            },
            |r| {
                r.missed();
                r.saw("8");
                None
            },
            |r| Some(r.ended(Duration::from_secs(300), 2, NOW, 0.0)),
            |r| {
                r.synced("9");
                Some(r.ended(Duration::from_secs(300), 2, NOW, 0.0))
            },
        ],
    );
    expect![[r#"
        Stream { version: "", timeout: 300s }
        Watch { version: "5", timeout: 300s }
        Watch { version: "8", timeout: 300s }
          waits 0.0s
        Stream { version: "8", timeout: 300s }
          waits 0.0s
        Watch { version: "9", timeout: 300s }
    "#]]
    .assert_eq(&told);
}

#[test]
fn waits_double_up_to_half_a_minute_and_begin_anew_after_two_minutes_of_peace() {
    let mut reflector = Reflector::new(Initial::Stream);
    let mut now = NOW;
    let mut waits = Vec::new();
    for _ in 0..8 {
        let wait = reflector.failed(Failure::Broken, now, 0.5);
        waits.push(wait.as_secs_f64());
        now += wait;
    }
    assert_eq!(waits, [1.2, 2.4, 4.8, 9.6, 19.2, 38.4, 45.0, 45.0]);
    // The last failure was 45 s ago by now.
    let still = reflector.failed(Failure::Broken, now + Duration::from_secs(75), 0.0);
    assert_eq!(still, BACK_OFF_MAX);
    let anew = reflector.failed(Failure::Broken, now + Duration::from_secs(75 + 121), 0.0);
    assert_eq!(anew, BACK_OFF_MIN);
}

#[test]
fn what_a_server_asks_to_wait_is_kept_within_bounds() {
    let mut reflector = Reflector::new(Initial::Stream);
    let day = Failure::Busy(Some(Duration::from_secs(86_400)));
    assert_eq!(reflector.failed(day, NOW, 0.0), RETRY_AFTER_MAX);
    let none = Failure::Busy(Some(Duration::ZERO));
    assert_eq!(reflector.failed(none, NOW, 0.0), BACK_OFF_MIN * 2);
}

#[test]
fn watches_last_between_five_and_ten_minutes() {
    let mut reflector = Reflector::new(Initial::Pages);
    reflector.synced("1");
    let timeout = |unit| match reflector.next(unit) {
        Request::Watch { timeout, .. } => timeout.as_secs_f64(),
        other => panic!("{other:?}"),
    };
    assert_eq!(timeout(0.0), 300.0);
    assert_eq!(timeout(0.5), 450.0);
    assert!((599.0..600.0).contains(&timeout(0.999)));
}
