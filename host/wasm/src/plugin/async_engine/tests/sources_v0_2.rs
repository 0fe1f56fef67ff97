//! Pod sources of contract 0.2.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use witlet_core::sources::plugin::{
    LeftOutPod, PodNews, PodStatusChange, PollResponse, Snapshot, SourceFault,
};

use super::node::Setting;
use crate::plugin::CallError;
use crate::plugin::async_engine::AsyncPlugin;
use crate::plugin::config::Warm;
use crate::role::Role;
use crate::worlds::pod_source::{Feedback, NotTaken};

/// The guest with this configuration.
fn guest(config: &'static str) -> Arc<AsyncPlugin> {
    Setting { config, ..Setting::default() }.made(witlet_test_guests::SOURCE_V0_2)
}

async fn polled(
    config: &'static str,
    cursor: Option<&str>,
) -> Result<Result<PollResponse, SourceFault>, CallError> {
    guest(config).poll(cursor).await.result
}

fn response(snapshot: Snapshot) -> PollResponse {
    PollResponse { snapshot, cursor: None, next_poll: None }
}

fn status(name: &str, status: Option<&str>) -> PodNews {
    PodNews::Status(PodStatusChange {
        namespace: "default".to_owned(),
        name: name.to_owned(),
        uid: format!("uid-of-{name}"),
        status: status.map(str::to_owned),
    })
}

#[tokio::test]
async fn each_kind_of_answer_becomes_a_snapshot_and_others_are_bad_ones() {
    let pods = Snapshot::Pods(vec!["{\"a\":1}".to_owned(), "{\"b\":2}".to_owned()]);
    let good = [
        (r#"{"pods": [{"a": 1}, {"b": 2}]}"#, pods),
        (r#"{"pods": []}"#, Snapshot::Empty),
        (r#"{"do": "empty"}"#, Snapshot::Empty),
        (r#"{"do": "unchanged"}"#, Snapshot::Unchanged),
    ];
    for (config, expected) in good {
        match polled(config, None).await {
            Ok(Ok(found)) => assert_eq!(found, response(expected), "{config}"),
            other => panic!("{config}: {other:?}"),
        }
    }
    let bad = [
        (r#"{"do": "nothing"}"#, "it answered nothing: an answer is one of pod, empty, unchanged"),
        (r#"{"do": "twice"}"#, "it answered pod, and then empty"),
        (r#"{"do": "many"}"#, "20000 manifests are more than 16384"),
    ];
    for (config, expected) in bad {
        match polled(config, None).await {
            Err(CallError::BadAnswer { fault }) => assert_eq!(fault, expected, "{config}"),
            other => panic!("{config}: {other:?}"),
        }
    }
}

#[tokio::test]
async fn a_cursor_comes_back_and_a_source_says_when_it_wants_to_be_asked() {
    let source = guest(r#"{"do": "count"}"#);
    for (cursor, expected) in [(None, "1"), (Some("1"), "2"), (Some("41"), "42")] {
        match source.poll(cursor).await.result {
            Ok(Ok(PollResponse { snapshot: Snapshot::Pods(pods), cursor, next_poll })) => {
                assert_eq!(pods, [format!("{{\"polls\":{expected}}}")]);
                assert_eq!((cursor.as_deref(), next_poll), (Some(expected), Some(Duration::from_secs(7))));
            }
            other => panic!("{other:?}"),
        }
    }
    match polled(r#"{"do": "host"}"#, None).await {
        Ok(Ok(found)) => {
            let seen = json!({"node": null, "feature": false}).to_string();
            assert_eq!(found, response(Snapshot::Pods(vec![seen])));
        }
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn an_error_takes_the_place_of_what_was_said() {
    for config in [r#"{"do": "error"}"#, r#"{"do": "error-after-all"}"#] {
        match polled(config, None).await {
            Ok(Err(SourceFault { reason, message, retry_after })) => {
                assert_eq!((&*reason, &*message), ("NoTable", "the table can't be read (rows: 7)"));
                assert_eq!(retry_after, Some(Duration::from_secs(30)));
            }
            other => panic!("{other:?}"),
        }
    }
}

#[tokio::test]
async fn validate_warns_and_refuses() {
    let warnings =
        guest(r#"{"do": "warn"}"#).validate(Role::PodSource).await.expect("it is loaded all the same");
    assert_eq!((warnings.kept.len(), warnings.left_out), (16, 4));
    match guest(r#"{"do": "refuse"}"#).validate(Role::PodSource).await {
        Err(CallError::Refused { words }) => assert_eq!(words, "NoTable: the table can't be read (rows: 7)"),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_source_receives_how_its_pods_are_and_which_are_left_out() {
    let tap = crate::guest::LogTap::default();
    let setting = Setting { log: Some(tap.clone()), ..Setting::default() };
    let source = setting.made(witlet_test_guests::SOURCE_V0_2);
    assert_eq!(source.feedback(), Feedback::AtLeastOnce);
    let left_out = LeftOutPod {
        namespace: "kube-system".to_owned(),
        name: "evil".to_owned(),
        reason: "PodForbidden".to_owned(),
        message: "was not admitted".to_owned(),
    };
    let refused = r#"{"phase":"Failed","reason":"OutOfcpu","message":"no capacity"}"#;
    let news = [status("web", Some(refused)), status("old", None), PodNews::LeftOut(left_out)];
    assert_eq!(source.notify(news.into()).await.result.ok(), Some(Ok(())));
    let lines: Vec<String> = tap.take().into_iter().map(|line| line.message).collect();
    assert_eq!(
        lines,
        [
            json!(["status", "default", "web", "uid-of-web", "Failed", "OutOfcpu", "no capacity", refused]),
            json!(["gone", "default", "old", "uid-of-old", "", "", "", null]),
            json!(["left-out", "kube-system", "evil", "", "", "PodForbidden", "was not admitted", null]),
        ]
        .map(|line| line.to_string())
    );
}

#[tokio::test]
async fn news_that_are_not_taken_say_when_to_try_again() {
    let source = guest(r#"{"feedback": "refuse"}"#);
    let words = "NoTable: the table can't be read (rows: 7)".to_owned();
    let not_taken = NotTaken { words, retry_after: Some(Duration::from_secs(30)) };
    let reported = source.notify([status("web", None)].into()).await.result;
    assert_eq!(reported.ok(), Some(Err(not_taken)));
}

#[tokio::test]
async fn what_earlier_news_handed_out_is_over() {
    let warm = Some(Warm { max: 1, uses: 1000, idle: Duration::from_secs(60) });
    let setting = Setting { warm, config: r#"{"feedback": "keep"}"#, ..Setting::default() };
    let source = setting.made(witlet_test_guests::SOURCE_V0_2);
    let news = || -> Arc<[PodNews]> { [status("web", None)].into() };
    assert_eq!(source.notify(news()).await.result.ok(), Some(Ok(())));
    match source.notify(news()).await.result {
        Err(CallError::Trap { message }) => {
            assert!(message.contains("belongs to earlier news, which are over"), "{message}");
        }
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_published_source_has_the_feedback_that_it_had() {
    let old = Setting::default().sourcer();
    assert_eq!(old.feedback(), Feedback::WithNextChange);
    let left_out = PodNews::LeftOut(LeftOutPod {
        namespace: String::new(),
        name: String::new(),
        reason: "InvalidManifest".to_owned(),
        message: "manifest 1: no".to_owned(),
    });
    assert_eq!(old.notify([left_out].into()).await.result.ok(), Some(Ok(())), "it has no word for it");
}
