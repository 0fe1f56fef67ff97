//! What is asked, in tables.

use std::time::Duration;

use expect_test::expect;

use super::*;

const NOW: Duration = Duration::from_secs(1000);

/// Requests and waits of a story, one a line.
fn tell(initial: Initial, story: &[fn(&mut Reflector) -> Option<Duration>]) -> String {
    let mut reflector = Reflector::new(initial);
    let mut script = format!("{:?}\n", reflector.next(0.0));
    for step in story {
        if let Some(wait) = step(&mut reflector) {
            script += &format!("  waits {:.1}s\n", wait.as_secs_f64());
        }
        script += &format!("{:?}\n", reflector.next(0.0));
    }
    script
}

fn fails(reflector: &mut Reflector, failure: Failure) -> Option<Duration> {
    Some(reflector.failed(failure, NOW, 0.0))
}

fn page(reflector: &mut Reflector, version: &str, token: Option<&str>) -> Option<Duration> {
    reflector.page(version, token.map(str::to_owned)).expect("few pages");
    None
}

#[test]
fn a_stream_goes_on_as_a_watch_and_a_watch_where_it_ended() {
    let script = tell(
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
    .assert_eq(&script);
}

#[test]
fn a_server_that_refuses_streams_is_asked_for_pages_and_never_for_a_stream_again() {
    let script = tell(
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
    .assert_eq(&script);
}

#[test]
fn after_any_other_failure_of_a_stream_pages_are_read_at_once_and_the_next_reading_begins_with_a_stream() {
    let second = Duration::from_secs(1);
    for (failure, wait) in [
        (Failure::Failing(None), Duration::ZERO),
        (Failure::Failing(Some(second)), second),
        (Failure::Failing(Some(Duration::from_secs(86_400))), RETRY_AFTER_MAX),
        (Failure::Broken, Duration::ZERO),
        (Failure::Other, Duration::ZERO),
    ] {
        let mut reflector = Reflector::new(Initial::Stream);
        assert_eq!(reflector.failed(failure, NOW, 0.0), wait, "{failure:?}");
        assert!(reflector.is_falling_back(), "{failure:?}");
        let pages = Request::Page { version: Some("0".to_owned()), limit: Some(500), token: None };
        assert_eq!(reflector.next(0.0), pages, "{failure:?}");
        let mut listed = reflector.clone();
        listed.page("5", None).expect("one page");
        assert!(matches!(listed.next(0.0), Request::Watch { version, .. } if version == "5"));
        // A list that fails, too, is waited after, and the first try is a stream's again.
        assert_eq!(reflector.failed(failure, NOW, 0.0), wait.max(BACK_OFF_MIN), "{failure:?}");
        assert!(!reflector.is_falling_back(), "{failure:?}");
        assert!(matches!(reflector.next(0.0), Request::Stream { .. }), "{failure:?}");
    }
}

#[test]
fn a_stream_is_asked_for_again_where_no_one_listens_or_the_server_asks_to_wait() {
    for failure in [Failure::Refused, Failure::Busy(None), Failure::Busy(Some(BACK_OFF_MAX))] {
        let mut reflector = Reflector::new(Initial::Stream);
        assert!(reflector.failed(failure, NOW, 0.0) >= BACK_OFF_MIN, "{failure:?}");
        assert!(matches!(reflector.next(0.0), Request::Stream { .. }), "{failure:?}");
    }
}

#[test]
fn a_stream_whose_newest_version_is_lost_too_is_followed_by_pages() {
    let script = tell(
        Initial::Stream,
        &[
            |r| fails(r, Failure::Expired),
            |r| fails(r, Failure::Expired),
            |r| fails(r, Failure::Expired),
            |r| fails(r, Failure::Expired),
        ],
    );
    expect![[r#"
        Stream { version: "", timeout: 300s }
          waits 0.0s
        Stream { version: "", timeout: 300s }
          waits 0.0s
        Page { version: None, limit: Some(500), token: None }
          waits 0.8s
        Stream { version: "", timeout: 300s }
          waits 0.0s
        Page { version: None, limit: Some(500), token: None }
    "#]]
    .assert_eq(&script);
}

#[test]
fn streams_that_end_before_all_objects_came_are_given_up_for_pages() {
    let ends = |r: &mut Reflector| Some(r.ended(Duration::from_secs(2), 1, NOW, 0.0));
    let script =
        tell(Initial::Stream, &[ends, ends, |r| page(r, "5", None), ends, |r| fails(r, Failure::Other)]);
    expect![[r#"
        Stream { version: "", timeout: 300s }
          waits 0.8s
        Stream { version: "", timeout: 300s }
          waits 1.6s
        Page { version: Some("0"), limit: Some(500), token: None }
        Watch { version: "5", timeout: 300s }
          waits 0.0s
        Watch { version: "5", timeout: 300s }
          waits 3.2s
        Stream { version: "5", timeout: 300s }
    "#]]
    .assert_eq(&script);
}

#[test]
fn where_watches_always_fail_all_objects_are_read_again_each_time() {
    let failing = |r: &mut Reflector| fails(r, Failure::Failing(None));
    let script = tell(
        Initial::Pages,
        &[
            |r| page(r, "5", None),
            failing,
            failing,
            failing,
            |r| page(r, "6", None),
            failing,
            |r| page(r, "7", None),
            |r| Some(r.ended(Duration::from_secs(300), 1, NOW, 0.0)),
            failing,
        ],
    );
    expect![[r#"
        Page { version: Some("0"), limit: Some(500), token: None }
        Watch { version: "5", timeout: 300s }
          waits 0.8s
        Watch { version: "5", timeout: 300s }
          waits 1.6s
        Watch { version: "5", timeout: 300s }
          waits 3.2s
        Page { version: Some("5"), limit: None, token: None }
        Watch { version: "6", timeout: 300s }
          waits 6.4s
        Page { version: Some("6"), limit: None, token: None }
        Watch { version: "7", timeout: 300s }
          waits 0.0s
        Watch { version: "7", timeout: 300s }
          waits 12.8s
        Watch { version: "7", timeout: 300s }
    "#]]
    .assert_eq(&script);
}

#[test]
fn a_lost_version_is_read_again_at_once_and_then_with_back_off() {
    let script = tell(
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
    .assert_eq(&script);
}

#[test]
fn a_stream_whose_version_is_too_large_asks_for_the_newest() {
    let script = tell(
        Initial::Stream,
        &[
            |r| {
                r.synced("90");
                None
            },
            |r| fails(r, Failure::Other),
            |r| fails(r, Failure::TooLarge),
            |r| fails(r, Failure::Busy(None)),
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
    .assert_eq(&script);
}

#[test]
fn a_watch_that_ends_too_soon_is_not_opened_in_a_loop() {
    let script = tell(
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
    .assert_eq(&script);
}

#[test]
fn after_an_event_that_was_missed_all_is_read_again_once_the_watch_has_ended() {
    let script = tell(
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
    .assert_eq(&script);
}

#[test]
fn waits_double_up_to_half_a_minute_and_begin_again_after_two_minutes_of_peace() {
    let mut reflector = Reflector::new(Initial::Pages);
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
    let restarted_at = reflector.failed(Failure::Broken, now + Duration::from_secs(75 + 121), 0.0);
    assert_eq!(restarted_at, BACK_OFF_MIN);
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

#[test]
fn the_first_answer_after_an_outage_is_not_waited_for_as_long_as_the_silence_was() {
    let outage = |reflector: &mut Reflector| {
        let mut now = NOW;
        for _ in 0..10 {
            now += reflector.failed(Failure::Broken, now, 0.0);
        }
        now
    };
    let mut reflector = Reflector::new(Initial::Pages);
    reflector.synced("5");
    for (answer, expected) in [
        (Failure::Expired, BACK_OFF_MIN),
        (Failure::TooLarge, BACK_OFF_MIN),
        (Failure::Other, BACK_OFF_MIN),
        (Failure::Busy(None), BACK_OFF_MAX),
        (Failure::Broken, BACK_OFF_MAX),
        // No one listens any more: that is as soon noticed as ever.
        (Failure::Refused, REFUSED_WAIT),
    ] {
        let mut reflector = reflector.clone();
        let now = outage(&mut reflector);
        assert_eq!(reflector.failed(answer, now, 0.0), expected, "{answer:?}");
    }
    let now = outage(&mut reflector);
    let waits =
        [0, 1, 2].map(|second| reflector.failed(Failure::Expired, now + Duration::from_secs(second), 0.0));
    assert_eq!(
        waits,
        [BACK_OFF_MIN, Duration::ZERO, BACK_OFF_MIN * 2],
        "a second answer is none after an outage"
    );
}

#[test]
fn a_server_that_comes_and_goes_is_asked_with_back_off() {
    let mut reflector = Reflector::new(Initial::Pages);
    let (mut now, mut requests) = (NOW, 0);
    while now < NOW + Duration::from_secs(3600) {
        for failure in [Failure::Broken, Failure::Expired, Failure::Busy(None), Failure::Other] {
            reflector.synced("5");
            now += reflector.failed(failure, now, 0.0);
            requests += 1;
        }
    }
    // Every two minutes the six waits up to 30 s, then some of that long.
    assert!((180..=270).contains(&requests), "{requests} requests in an hour");
}

#[test]
fn a_list_without_end_is_given_up_and_begins_again() {
    let mut reflector = Reflector::new(Initial::Pages);
    for tries in 0..3 {
        let pages = (1..=PAGES_MAX + 1).find(|_| reflector.page("5", Some("more".to_owned())).is_err());
        assert_eq!(pages, Some(PAGES_MAX), "try {tries}");
        let wait = reflector.failed(Failure::Other, NOW, 0.0);
        assert_eq!(wait, BACK_OFF_MIN * 2_u32.pow(tries));
        assert!(matches!(reflector.next(0.0), Request::Page { token: None, .. }));
    }
}
