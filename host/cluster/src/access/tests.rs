//! Reviews are asked for in upstream's way, and no more often than needed.

use std::sync::Arc;
use std::time::Duration;

use witlet_api_server::{ApiServer, Effect, Fault, Identity as Caller, Options};
use witlet_core::stats::exposition::written;
use witlet_ports::{Clock as _, Identity, MetricsSource as _, NodeAccess as _, NodeAction};
use witlet_testkit::ManualClock;

use k8s_openapi::api::authentication::v1::{TokenReviewStatus, UserInfo};
use k8s_openapi::api::authorization::v1::SubjectAccessReviewStatus;

use super::{Access, owner_of, permission_of, review_of};

fn server() -> Arc<ApiServer> {
    let clock = ManualClock::new();
    ApiServer::new(Options::new(Arc::new(move || clock.now())))
}

fn access(server: &ApiServer) -> Access {
    Access::new(server.client(&Caller::node("n1")), "n1")
}

const TOKENS: &str = "create tokenreviews";
const REVIEWS: &str = "create subjectaccessreviews";

#[tokio::test(start_paused = true)]
async fn an_owner_is_known_for_two_minutes_and_no_one_for_ten_seconds() {
    let server = server();
    server.add_token("good", Caller::new("alice", &["devs"]));
    let access = access(&server);
    let alice = access.review_token("good").await.expect("an answer").expect("alice");
    assert_eq!((alice.user.as_str(), alice.groups.contains(&"devs".to_owned())), ("alice", true));
    assert!(alice.groups.contains(&"system:authenticated".to_owned()));
    tokio::time::advance(Duration::from_secs(119)).await;
    assert_eq!(access.review_token("good").await, Ok(Some(alice)));
    assert_eq!(server.count(TOKENS), 1);
    tokio::time::advance(Duration::from_secs(2)).await;
    server.expire_tokens();
    for (advance, count) in [(0, 2), (9, 2), (2, 3)] {
        tokio::time::advance(Duration::from_secs(advance)).await;
        assert_eq!(access.review_token("good").await, Ok(None));
        assert_eq!(server.count(TOKENS), count, "{advance}");
    }
    assert_eq!(access.review_token("").await, Ok(None));
    assert_eq!(access.review_token(&"x".repeat(70_000)).await, Ok(None));
    assert_eq!(server.count(TOKENS), 3, "what can't be a token isn't asked about");
}

fn asks(subresources: &[&'static str]) -> NodeAction {
    NodeAction { verb: "get", subresources: subresources.to_vec(), path: "/pods".to_owned() }
}

fn who(user: &str, groups: &[&str]) -> Identity {
    let groups = groups.iter().map(|&group| group.to_owned()).collect();
    Identity { user: user.to_owned(), groups, ..Identity::default() }
}

#[tokio::test(start_paused = true)]
async fn a_question_is_asked_once_for_everyone_who_waits() {
    let server = server();
    server.add_token("good", Caller::new("alice", &[]));
    server.fault(Fault::new(Effect::Slow(Duration::from_secs(3))).verb("create").times(1));
    let access = access(&server);
    let all = (0..50).map(|_| access.review_token("good"));
    for answer in futures::future::join_all(all).await {
        assert_eq!(answer.expect("an answer").expect("alice").user, "alice");
    }
    assert_eq!(server.count(TOKENS), 1);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_stumbles_is_asked_five_times_and_one_that_refuses_once() {
    for (code, times, count, known) in
        [(500, 4, 5, true), (503, 9, 5, false), (429, 1, 2, true), (403, 9, 1, false)]
    {
        let server = server();
        server.add_token("good", Caller::new("alice", &[]));
        server.fault(Fault::new(Effect::code(code)).verb("create").times(times));
        let access = access(&server);
        let begun = tokio::time::Instant::now();
        let answer = access.review_token("good").await;
        assert_eq!(answer.is_ok(), known, "{code}: {answer:?}");
        assert_eq!(server.count(TOKENS), count, "{code}");
        if count == 5 {
            // 0.5, 0.75, 1.125 and 1.6875 s.
            assert_eq!(begun.elapsed().as_millis() / 10, 406, "{code}");
        }
        // A failure is no one's to remember.
        server.clear_faults();
        assert!(access.review_token("good").await.expect("an answer").is_some(), "{code}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_that_is_silent_is_not_waited_for_long() {
    let server = server();
    server.fault(Fault::new(Effect::Stall).verb("create").times(1));
    let begun = tokio::time::Instant::now();
    let error = access(&server).review_token("good").await.expect_err("no answer");
    assert_eq!(error.message, "TokenReview: no response within 10s");
    assert_eq!(begun.elapsed().as_secs(), 10);
}

#[tokio::test(start_paused = true)]
async fn subresources_are_asked_about_in_order_until_one_is_allowed() {
    let server = server();
    let access = access(&server);
    let admin = who("root", &["system:masters"]);
    let action = asks(&["pods", "proxy"]);
    assert_eq!(access.may(&admin, &action).await, Ok(Ok(())));
    assert_eq!(server.count(REVIEWS), 1, "the first is allowed");
    assert_eq!(access.may(&admin, &action).await, Ok(Ok(())));
    assert_eq!(server.count(REVIEWS), 1, "known");
    tokio::time::advance(Duration::from_secs(301)).await;
    assert_eq!(access.may(&admin, &action).await, Ok(Ok(())));
    assert_eq!(server.count(REVIEWS), 2);
    assert!(access.may(&admin, &asks(&[])).await.expect("an answer").is_err(), "nothing allows nothing");
}

#[test]
fn a_question_is_put_as_upstream_puts_it() {
    let who = Identity {
        user: "alice".to_owned(),
        uid: "7".to_owned(),
        groups: vec!["devs".to_owned()],
        extra: [("scopes".to_owned(), vec!["a".to_owned()])].into(),
    };
    let review = serde_json::to_value(review_of(&who, "create", "proxy", "n1")).expect("JSON");
    let expected = serde_json::json!({
        "user": "alice", "uid": "7", "groups": ["devs"], "extra": { "scopes": ["a"] },
        "resourceAttributes": {
            "verb": "create", "version": "v1", "resource": "nodes", "subresource": "proxy", "name": "n1",
        },
    });
    assert_eq!(review["spec"], expected);
}

#[test]
fn only_a_clear_yes_is_yes() {
    let permission = |allowed, denied: Option<bool>, reason: &str, error: &str| {
        let some = |text: &str| Some(text.to_owned());
        permission_of(Some(SubjectAccessReviewStatus {
            allowed,
            denied,
            reason: some(reason),
            evaluation_error: some(error),
        }))
    };
    assert_eq!(permission(true, None, "", ""), Ok(()));
    assert_eq!(permission(true, Some(true), "both", ""), Err("both".to_owned()));
    assert_eq!(permission(false, None, "", "broken rule"), Err("broken rule".to_owned()));
    assert_eq!(permission(false, Some(true), "", ""), Err("not allowed".to_owned()));
    assert!(permission_of(None).is_err());
    let status = |authenticated, name: &str| TokenReviewStatus {
        authenticated,
        user: Some(UserInfo { username: Some(name.to_owned()), ..UserInfo::default() }),
        ..TokenReviewStatus::default()
    };
    assert!(owner_of(Some(status(Some(true), "a"))).is_some());
    for unauthenticated in
        [None, Some(status(Some(true), "")), Some(status(Some(false), "a")), Some(status(None, "a"))]
    {
        assert_eq!(owner_of(unauthenticated), None);
    }
}

#[tokio::test(start_paused = true)]
async fn reviews_are_counted_and_what_was_known_without_them() {
    let server = server();
    server.add_token("good", Caller::new("alice", &["devs"]));
    let access = access(&server);
    let shown = |access: &Access| written(|to| access.write(to)).expect("it is small");
    let before = shown(&access);
    assert!(!before.contains("authentication_token_cache"), "nothing was asked: {before}");
    for _ in 0..3 {
        access.review_token("good").await.expect("an answer").expect("alice");
    }
    assert_eq!(access.review_token("").await, Ok(None), "what can't be a token isn't counted");
    let _allowed = access.may(&who("alice", &["devs"]), &asks(&["metrics"])).await.expect("an answer");
    let text = shown(&access);
    for line in [
        "apiserver_delegated_authn_request_total{code=\"201\"} 1",
        "apiserver_delegated_authz_request_total{code=\"201\"} 1",
        "apiserver_delegated_authn_request_duration_seconds_count{code=\"201\"} 1",
        "authentication_token_cache_active_fetch_count{status=\"blocked\"} 0",
        "authentication_token_cache_active_fetch_count{status=\"in_flight\"} 0",
        "authentication_token_cache_fetch_total{status=\"ok\"} 1",
        "authentication_token_cache_request_total{status=\"hit\"} 2",
        "authentication_token_cache_request_total{status=\"miss\"} 1",
        "authentication_token_cache_request_duration_seconds_count{status=\"hit\"} 2",
    ] {
        assert!(text.lines().any(|found| found == line), "{line} isn't in:\n{text}");
    }
}
