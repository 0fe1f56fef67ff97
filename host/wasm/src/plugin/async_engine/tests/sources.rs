//! Pod sources.

use std::sync::Arc;
use std::time::Duration;

use tempfile::TempDir;
use witlet_core::sources::plugin::{PodNews, PodStatusChange, PollResponse, Snapshot, SourceFault};

use super::node::Setting;
use crate::plugin::async_engine::AsyncPlugin;
use crate::plugin::config::{FileGrant, Grants};
use crate::plugin::{CallError, StateExcess};
use crate::role::Role;
use crate::worlds::pod_source::{Feedback, NotTaken};

fn source(config: &'static str) -> Arc<AsyncPlugin> {
    Setting { config, ..Setting::default() }.sourcer()
}

fn answer(snapshot: Snapshot) -> PollResponse {
    PollResponse { snapshot, cursor: None, next_poll: None }
}

fn pods(texts: &[&str]) -> Snapshot {
    Snapshot::Pods(texts.iter().map(|text| (*text).to_owned()).collect())
}

async fn poll(guests: &Arc<AsyncPlugin>) -> Result<PollResponse, SourceFault> {
    guests.poll(None).await.result.expect("an answer that the contract allows")
}

#[tokio::test]
async fn a_source_says_what_it_has() {
    let cases = [
        (r#"{"do": "pods", "text": "kind: Pod", "count": 2}"#, pods(&["kind: Pod", "kind: Pod"])),
        (r#"{"do": "empty"}"#, Snapshot::Empty),
        (r#"{"do": "unchanged"}"#, Snapshot::Unchanged),
    ];
    for (config, expected) in cases {
        let guests = source(config);
        assert!(guests.validate(Role::PodSource).await.is_ok());
        assert!(
            guests.has(Role::PodSource) && !guests.has(Role::Probe) && guests.feedback() != Feedback::None
        );
        assert_eq!(poll(&guests).await, Ok(answer(expected)), "{config}");
    }
}

#[tokio::test]
async fn the_cursor_goes_round() {
    let guests = source(r#"{"do": "cursor"}"#);
    let mut cursor: Option<String> = None;
    for round in ["1", "2", "3"] {
        let answer = guests.poll(cursor.as_deref()).await.result.expect("an answer").expect("no error");
        assert_eq!(answer.snapshot, pods(&[round]));
        assert_eq!(answer.next_poll, Some(Duration::from_millis(250)));
        cursor = answer.cursor;
    }
}

#[tokio::test]
async fn an_error_is_never_an_empty_set() {
    let guests = source(r#"{"do": "error", "text": "the server is away"}"#);
    let fault = SourceFault {
        reason: "Unavailable".to_owned(),
        message: "the server is away".to_owned(),
        retry_after: Some(Duration::from_millis(250)),
    };
    assert_eq!(poll(&guests).await, Err(fault));
    let bad = [
        (r#"{"do": "no-pods"}"#, "the list of pods is empty: a source without pods says so by `empty`"),
        (r#"{"do": "long-cursor"}"#, "the cursor has 5000 bytes, more than 4096"),
        (r#"{"do": "bad-error"}"#, "the reason \"not a word\" isn't a CamelCase word"),
    ];
    for (config, expected) in bad {
        match source(config).poll(None).await.result {
            Err(CallError::BadAnswer { fault }) => assert_eq!(fault, expected),
            other => panic!("{config}: {other:?}"),
        }
    }
    let trapped = source(r#"{"do": "trap"}"#).poll(None).await.result;
    assert!(matches!(trapped, Err(CallError::Trap { .. })), "{trapped:?}");
}

#[tokio::test]
async fn a_source_that_does_not_come_back_has_timed_out() {
    for config in [r#"{"do": "loop"}"#, r#"{"do": "sleep"}"#] {
        let source_timeout = Duration::from_millis(500);
        let guests = Setting { config, source_timeout, ..Setting::default() }.sourcer();
        let result = guests.poll(None).await.result;
        // On a machine that is busy with other things a loop may have had no turn.
        assert!(matches!(result, Err(CallError::Timeout { .. } | CallError::Busy)), "{config}: {result:?}");
    }
}

#[tokio::test]
async fn the_state_folder_is_the_source_s_own_and_stays() {
    let node = TempDir::new().expect("a folder");
    let folder = node.path().join("plugins/state/guest");
    let grants = Grants { state: true, ..Grants::default() };
    let guests = Setting {
        config: r#"{"do": "count-in-state"}"#,
        grants,
        state: Some(folder.clone()),
        ..Setting::default()
    }
    .sourcer();
    assert_eq!(poll(&guests).await, Ok(answer(pods(&["x"]))));
    assert_eq!(poll(&guests).await, Ok(answer(pods(&["xx"]))));
    assert_eq!(std::fs::read_to_string(folder.join("polls")).expect("a file"), "xx");
    let ungranted = Setting {
        config: r#"{"do": "count-in-state"}"#,
        state: Some(node.path().join("other")),
        ..Setting::default()
    }
    .sourcer();
    assert!(poll(&ungranted).await.is_err());
    assert!(!node.path().join("other").exists());
}

#[tokio::test]
async fn a_source_that_keeps_too_much_has_failed_until_it_cleared_up() {
    let node = TempDir::new().expect("a folder");
    let poll = async |config: &'static str| {
        let grants = Grants { state: true, ..Grants::default() };
        let state = Some(node.path().to_owned());
        Setting { config, grants, state, ..Setting::default() }.sourcer().poll(None).await.result
    };
    let done = Ok(answer(Snapshot::Unchanged));
    assert_eq!(poll(r#"{"do": "fill", "count": 64}"#).await.expect("as much as it may have"), done);
    let excess = |result: Result<_, CallError>| match result {
        Err(CallError::State(excess)) => excess,
        other => panic!("{other:?}"),
    };
    let cases = [
        (r#"{"do": "fill", "count": 65}"#, StateExcess::Bytes),
        (r#"{"do": "unchanged"}"#, StateExcess::Bytes),
        // Ended long before its time, which is 30 s.
        (r#"{"do": "fill-for-ever"}"#, StateExcess::Bytes),
    ];
    for (config, expected) in cases {
        assert_eq!(excess(poll(config).await), expected, "{config}");
    }
    let filled = std::fs::metadata(node.path().join("filled")).expect("it was written").len();
    assert!(filled >= 64 << 20, "{filled}");
    std::fs::write(node.path().join("filled"), "x".repeat((64 << 20) + 1)).expect("writable");
    assert_eq!(poll(r#"{"do": "clear-up"}"#).await.expect("it has nothing any more"), done);
    assert_eq!(excess(poll(r#"{"do": "litter", "count": 1025}"#).await), StateExcess::Entries);
    assert_eq!(poll(r#"{"do": "clear-up"}"#).await.expect("it has nothing any more"), done);
}

#[tokio::test]
async fn folders_are_granted_and_no_one_climbs_out() {
    let node = TempDir::new().expect("a folder");
    let write = |name: &str, text: &str| {
        std::fs::write(node.path().join(name), text).expect("the folder is writable");
    };
    std::fs::create_dir(node.path().join("granted")).expect("the folder is writable");
    write("granted/inside", "seen");
    write("secret", "unseen");
    std::os::unix::fs::symlink("../secret", node.path().join("granted/link")).expect("a link");
    std::os::unix::fs::symlink(node.path().join("secret"), node.path().join("granted/far")).expect("a link");
    let poll_with = async |config: &'static str, read_only: bool| {
        let path = node.path().join("granted");
        let files = vec![FileGrant { path, read_only, guest_path: "/data".to_owned() }];
        let grants = Grants { files, ..Grants::default() };
        poll(&Setting { config, grants, ..Setting::default() }.sourcer()).await
    };
    let seen = poll_with(r#"{"do": "read", "text": "/data/inside"}"#, true).await;
    assert_eq!(seen, Ok(answer(pods(&["seen"]))));
    for escape in [
        r#"{"do": "read", "text": "/data/../secret"}"#,
        r#"{"do": "read", "text": "/data/link"}"#,
        r#"{"do": "read", "text": "/data/far"}"#,
        r#"{"do": "read", "text": "/secret"}"#,
        r#"{"do": "read", "text": "/etc/hostname"}"#,
        r#"{"do": "read", "text": "/data/../../../../../../../etc/hostname"}"#,
    ] {
        let refused = poll_with(escape, false).await;
        assert!(refused.is_err(), "{escape}: {refused:?}");
    }
    let write = r#"{"do": "write", "text": "/data/new"}"#;
    assert!(poll_with(write, true).await.is_err(), "read only");
    assert!(!node.path().join("granted/new").exists());
    assert_eq!(poll_with(write, false).await, Ok(answer(pods(&["written"]))));
}

#[tokio::test]
async fn a_folder_that_is_not_there_is_the_source_s_to_tell() {
    let files =
        vec![FileGrant { path: "/nowhere/at/all".into(), read_only: true, guest_path: "/data".to_owned() }];
    let setting = Setting {
        config: r#"{"do": "read", "text": "/data/x"}"#,
        grants: Grants { files, ..Grants::default() },
        ..Setting::default()
    };
    let fault = poll(&setting.sourcer()).await.expect_err("there is no such folder");
    assert_eq!(fault.reason, "Unavailable");
}

#[tokio::test]
async fn a_source_receives_the_statuses_of_its_pods() {
    let node = TempDir::new().expect("a folder");
    let grants = Grants { state: true, ..Grants::default() };
    let guests = Setting {
        config: r#"{"do": "reported"}"#,
        grants,
        state: Some(node.path().to_owned()),
        ..Setting::default()
    }
    .sourcer();
    let change = |name: &str, status: Option<&str>| {
        PodNews::Status(PodStatusChange {
            namespace: "edge".to_owned(),
            name: name.to_owned(),
            uid: format!("uid-of-{name}"),
            status: status.map(str::to_owned),
        })
    };
    let changed = [change("web", Some("{}")), change("gone", None)];
    assert_eq!(guests.notify(changed.clone().into()).await.result.ok(), Some(Ok(())));
    let reported = "edge/web uid-of-web Some(\"{}\")\nedge/gone uid-of-gone None";
    assert_eq!(poll(&guests).await, Ok(answer(pods(&[reported]))));
    match source(r#"{"do": "refuse-statuses"}"#).notify(changed.into()).await.result {
        Ok(Err(NotTaken { words, retry_after: None })) => assert_eq!(words, "I don't want to know"),
        other => panic!("{other:?}"),
    }
}
