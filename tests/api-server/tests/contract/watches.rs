//! Watches: where they begin, what they show, how they end.

use std::pin::Pin;

use futures::{Stream, StreamExt, TryStreamExt};
use k8s_openapi::api::core::v1::{ConfigMap, Pod};
use kube::Client;
use kube::api::{Api, DeleteParams, ListParams, Patch, PatchParams, PostParams, WatchEvent, WatchParams};
use serde_json::json;

use crate::support::{cases, config, configs, created, deleted, of, patched, pod, pods};

cases![
    a_watch_goes_on_from_a_version,
    a_deletion_shows_the_last_state_under_a_later_version,
    objects_enter_and_leave_a_selector,
    a_watch_without_a_version_begins_with_what_is_there,
    initial_events_end_in_a_marked_bookmark since 34,
    a_watch_that_lasts_so_long_ends_then,
    a_pods_story_is_reported_in_order,
];

type Events<K> = Pin<Box<dyn Stream<Item = Result<WatchEvent<K>, kube::Error>> + Send>>;

const CREATE: PostParams = PostParams { dry_run: false, field_manager: None };

/// The next event but bookmarks, in one word and the object's name.
async fn next<K: kube::ResourceExt + Clone>(events: &mut Events<K>) -> (&'static str, String, K) {
    loop {
        match events.next().await.expect("a watch that goes on").expect("a readable event") {
            WatchEvent::Added(object) => return ("added", object.name_any(), object),
            WatchEvent::Modified(object) => return ("modified", object.name_any(), object),
            WatchEvent::Deleted(object) => return ("deleted", object.name_any(), object),
            WatchEvent::Bookmark(_) => {}
            WatchEvent::Error(status) => failed(&status),
        }
    }
}

#[allow(clippy::panic, reason = "what breaks a case ends it")]
fn failed(status: &dyn std::fmt::Debug) -> ! {
    panic!("the watch failed: {status:?}")
}

async fn version_of(api: &Api<ConfigMap>) -> String {
    let list = api.list(&ListParams::default()).await.expect("a list");
    list.metadata.resource_version.expect("a version")
}

async fn a_watch_goes_on_from_a_version(client: Client, namespace: String) {
    let api = configs(&client, &namespace);
    api.create(&CREATE, &config("before", "1")).await.expect("created");
    let version = version_of(&api).await;
    api.create(&CREATE, &config("a", "1")).await.expect("created");
    let fields = WatchParams::default().fields("metadata.name=a");
    let mut events: Events<ConfigMap> = Box::pin(api.watch(&fields, &version).await.expect("a watch"));
    let (kind, name, made) = next(&mut events).await;
    assert_eq!((kind, name.as_str()), ("added", "a"));
    let patch = json!({ "data": { "k": "2" } });
    api.patch("a", &PatchParams::default(), &Patch::Merge(&patch)).await.expect("patched");
    let (kind, _, changed) = next(&mut events).await;
    assert_eq!(kind, "modified");
    assert_ne!(made.metadata.resource_version, changed.metadata.resource_version);
    // A second watch from the first event's version sees the second event only.
    let version = made.metadata.resource_version.expect("a version");
    let mut later: Events<ConfigMap> = Box::pin(api.watch(&fields, &version).await.expect("a watch"));
    assert_eq!(next(&mut later).await.0, "modified");
}

async fn a_deletion_shows_the_last_state_under_a_later_version(client: Client, namespace: String) {
    let api = configs(&client, &namespace);
    let made = api.create(&CREATE, &config("a", "last")).await.expect("created");
    let version = made.metadata.resource_version.clone().expect("a version");
    let fields = WatchParams::default().fields("metadata.name=a");
    let mut events: Events<ConfigMap> = Box::pin(api.watch(&fields, &version).await.expect("a watch"));
    api.delete("a", &DeleteParams::default()).await.expect("deleted");
    let (kind, _, gone) = next(&mut events).await;
    assert_eq!((kind, gone.data, gone.metadata.uid), ("deleted", made.data, made.metadata.uid));
    assert_ne!(gone.metadata.resource_version.as_deref(), Some(version.as_str()));
}

async fn objects_enter_and_leave_a_selector(client: Client, namespace: String) {
    let api = pods(&client, &namespace);
    let made = created(&api, &pod("a", "n1")).await;
    let version = made.metadata.resource_version.expect("a version");
    let params = WatchParams::default().labels("in=yes");
    let mut events: Events<Pod> = Box::pin(api.watch(&params, &version).await.expect("a watch"));
    for (label, expected) in [(json!("yes"), "added"), (json!("no"), "deleted")] {
        let patch = json!({ "metadata": { "labels": { "in": label } } });
        let now = api.patch("a", &PatchParams::default(), &Patch::Merge(&patch)).await.expect("patched");
        let (kind, _, seen) = next(&mut events).await;
        assert_eq!(kind, expected);
        assert_eq!(seen.metadata.resource_version, now.metadata.resource_version);
        let shown = seen.metadata.labels.and_then(|labels| labels.get("in").cloned());
        assert_eq!(shown.as_deref(), Some("yes"), "what leaves is shown as it was inside");
    }
}

async fn a_watch_without_a_version_begins_with_what_is_there(client: Client, namespace: String) {
    let api = configs(&client, &namespace);
    api.create(&CREATE, &config("a", "1")).await.expect("created");
    let fields = WatchParams::default().fields("metadata.name=a");
    let mut events: Events<ConfigMap> = Box::pin(api.watch(&fields, "0").await.expect("a watch"));
    let (kind, name, _) = next(&mut events).await;
    assert_eq!((kind, name.as_str()), ("added", "a"));
}

async fn initial_events_end_in_a_marked_bookmark(client: Client, namespace: String) {
    let api = configs(&client, &namespace);
    for name in ["a", "b"] {
        api.create(&CREATE, &config(name, "1")).await.expect("created");
    }
    let params = WatchParams::default().initial_events();
    let mut events: Events<ConfigMap> = Box::pin(api.watch(&params, "").await.expect("a watch"));
    let mut names = Vec::new();
    let end = loop {
        match events.next().await.expect("an event").expect("a readable event") {
            WatchEvent::Added(config) => names.extend(config.metadata.name),
            WatchEvent::Bookmark(bookmark) => break bookmark,
            other => failed(&other),
        }
    };
    names.retain(|name| name.len() == 1);
    assert_eq!(names, ["a", "b"]);
    let mark = end.metadata.annotations.get("k8s.io/initial-events-end");
    assert_eq!(mark.map(String::as_str), Some("true"));
    api.create(&CREATE, &config("c", "1")).await.expect("created");
    assert_eq!(next(&mut events).await.1, "c");
    let mut ahead: Events<ConfigMap> =
        Box::pin(api.watch(&params, "999999999").await.expect("a watch, which then fails"));
    match ahead.next().await.expect("an event").expect("a readable event") {
        WatchEvent::Error(status) => assert_eq!(status.code, 504),
        other => failed(&other),
    }
}

async fn a_watch_that_lasts_so_long_ends_then(client: Client, namespace: String) {
    let api = configs(&client, &namespace);
    let version = version_of(&api).await;
    let params = WatchParams::default().timeout(1);
    let events: Vec<_> =
        api.watch(&params, &version).await.expect("a watch").try_collect().await.expect("events");
    let others = events.iter().filter(|event| !matches!(event, WatchEvent::Bookmark(_))).count();
    assert!(others <= 1, "a namespace may get its root certificate meanwhile: {events:?}");
}

async fn a_pods_story_is_reported_in_order(client: Client, namespace: String) {
    let api = pods(&client, &namespace);
    let wish = of::<Pod>(json!({
        "metadata": { "name": "a", "finalizers": ["example.com/hold"] },
        "spec": { "nodeName": "n1", "containers": [{ "name": "c", "image": "i" }] },
    }));
    let params = WatchParams::default().fields("spec.nodeName=n1,metadata.name=a");
    let mut events: Events<Pod> = Box::pin(api.watch(&params, "0").await.expect("a watch"));
    created(&api, &wish).await;
    patched(&api, "a", json!({ "status": { "phase": "Running" } })).await.expect("patched");
    deleted(&api, "a", None, None).await.expect("marked");
    patched(&api, "a", json!({ "status": { "phase": "Succeeded" } })).await.expect("patched");
    deleted(&api, "a", Some(0), None).await.expect("marked again");
    let free = json!({ "metadata": { "finalizers": null } });
    api.patch("a", &PatchParams::default(), &Patch::Merge(&free)).await.expect("patched");
    let mut story = Vec::new();
    loop {
        let (kind, _, pod) = next(&mut events).await;
        let phase = pod.status.and_then(|status| status.phase).unwrap_or_default();
        story.push(format!("{kind} {phase} {:?}", pod.metadata.deletion_grace_period_seconds));
        if kind == "deleted" {
            break;
        }
    }
    assert_eq!(
        story,
        [
            "added Pending None",
            "modified Running None",
            "modified Running Some(30)",
            "modified Succeeded Some(30)",
            "modified Succeeded Some(0)",
            "deleted Succeeded Some(0)",
        ]
    );
}
