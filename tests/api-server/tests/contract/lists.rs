//! Lists: selectors, pages, versions.

use kube::Client;
use kube::api::{ListParams, PostParams, VersionMatch};
use kube::core::ObjectList;
use serde_json::Value;

use crate::support::{cases, config, configs, created, pod, pods, refused};

cases![
    fields_and_labels_select,
    pages_are_of_one_version,
    a_version_that_lies_ahead_times_out,
    a_list_at_an_exact_version_shows_the_past,
    items_of_a_list_have_no_kind,
    what_can_not_be_together_is_refused,
    initial_events_need_their_match since 34,
];

fn names<T: kube::ResourceExt + Clone>(list: &ObjectList<T>) -> Vec<String> {
    list.items.iter().map(|item| item.name_any()).collect()
}

async fn fields_and_labels_select(client: Client, namespace: String) {
    let api = pods(&client, &namespace);
    for (name, node) in [("a", "n1"), ("b", "n2"), ("c", "")] {
        created(&api, &pod(name, node)).await;
    }
    for (fields, labels, expected) in [
        ("spec.nodeName=n1", "", vec!["a"]),
        ("spec.nodeName=", "", vec!["c"]),
        ("spec.nodeName!=n1", "", vec!["b", "c"]),
        ("metadata.name=b,status.phase=Pending", "", vec!["b"]),
        ("status.phase=Running", "", vec![]),
        ("", "app=a", vec!["a"]),
        ("", "app in (a,b)", vec!["a", "b"]),
        ("", "app notin (a),app", vec!["b", "c"]),
        ("", "!app", vec![]),
    ] {
        let found = api.list(&ListParams::default().fields(fields).labels(labels)).await.expect("a list");
        assert_eq!(names(&found), expected, "{fields} {labels}");
    }
    assert_eq!(refused(api.list(&ListParams::default().fields("spec.unknown=x")).await).0, 400);
}

async fn pages_are_of_one_version(client: Client, namespace: String) {
    let api = configs(&client, &namespace);
    for name in ["a", "b", "c", "d", "e"] {
        api.create(&PostParams::default(), &config(name, "1")).await.expect("created");
    }
    // Some servers put objects of their own into each namespace.
    let own = |names: Vec<String>| names.into_iter().filter(|name| name.len() == 1).collect::<Vec<_>>();
    let first = api.list(&ListParams::default().limit(2)).await.expect("a page");
    assert_eq!(own(names(&first)), ["a", "b"]);
    assert!(first.metadata.remaining_item_count.is_some_and(|left| left >= 3));
    api.delete("d", &kube::api::DeleteParams::default()).await.expect("deleted");
    let token = first.metadata.continue_.clone().expect("a token");
    let rest = api.list(&ListParams::default().continue_token(&token)).await.expect("the rest");
    assert_eq!(own(names(&rest)), ["c", "d", "e"]);
    assert_eq!(rest.metadata.resource_version, first.metadata.resource_version);
    assert_eq!(rest.metadata.continue_.filter(|token| !token.is_empty()), None);
    assert_eq!(refused(api.list(&ListParams::default().continue_token("no-token")).await).0, 400);
}

async fn a_version_that_lies_ahead_times_out(client: Client, namespace: String) {
    let path = format!(
        "/api/v1/namespaces/{namespace}/configmaps?resourceVersion=999999999&resourceVersionMatch=NotOlderThan"
    );
    let request = http::Request::get(path).body(Vec::new()).expect("a request");
    let Err(kube::Error::Api(status)) = client.request::<Value>(request).await else {
        unreachable_answer();
    };
    assert_eq!((status.code, status.reason.as_str()), (504, "Timeout"));
    let causes = status.details.as_ref().map(|details| details.causes.clone()).unwrap_or_default();
    assert!(causes.iter().any(|cause| cause.reason == "ResourceVersionTooLarge"), "{causes:?}");
}

#[allow(clippy::panic, reason = "what breaks a case ends it")]
fn unreachable_answer() -> ! {
    panic!("a version that lies ahead can't be listed")
}

async fn a_list_at_an_exact_version_shows_the_past(client: Client, namespace: String) {
    let api = configs(&client, &namespace);
    let made = api.create(&PostParams::default(), &config("a", "1")).await.expect("created");
    let version = made.metadata.resource_version.expect("a version");
    api.create(&PostParams::default(), &config("b", "1")).await.expect("created");
    let params = ListParams::default().at(&version).matching(VersionMatch::Exact);
    let past = api.list(&params).await.expect("a list");
    assert_eq!(past.metadata.resource_version.as_deref(), Some(version.as_str()));
    let names = names(&past);
    assert!(names.iter().any(|name| name == "a") && !names.iter().any(|name| name == "b"), "{names:?}");
    let gone = ListParams::default().at("1").matching(VersionMatch::Exact);
    // Versions are forgotten in time. A server that has run for minutes still knows its first one, at which there was nothing.
    match api.list(&gone).await {
        Ok(first) => assert_eq!(first.items.len(), 0),
        refusal => assert_eq!(refused(refusal), (410, "Expired".to_owned())),
    }
}

async fn items_of_a_list_have_no_kind(client: Client, namespace: String) {
    let api = configs(&client, &namespace);
    api.create(&PostParams::default(), &config("a", "1")).await.expect("created");
    let request = http::Request::get(format!("/api/v1/namespaces/{namespace}/configmaps")).body(Vec::new());
    let list: Value = client.request(request.expect("a request")).await.expect("a list");
    assert_eq!((&list["kind"], &list["apiVersion"]), (&Value::from("ConfigMapList"), &Value::from("v1")));
    assert_eq!((list["items"][0].get("kind"), list["items"][0].get("apiVersion")), (None, None));
}

async fn what_can_not_be_together_is_refused(client: Client, namespace: String) {
    let queries = [
        "resourceVersionMatch=Exact",
        "resourceVersion=0&resourceVersionMatch=Exact",
        "watch=1&resourceVersion=0&resourceVersionMatch=NotOlderThan",
    ];
    are_refused(&client, &namespace, &queries).await;
}

async fn initial_events_need_their_match(client: Client, namespace: String) {
    let queries = [
        "watch=1&sendInitialEvents=true",
        "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&resourceVersion=0",
    ];
    are_refused(&client, &namespace, &queries).await;
}

async fn are_refused(client: &Client, namespace: &str, queries: &[&str]) {
    for query in queries {
        let path = format!("/api/v1/namespaces/{namespace}/configmaps?{query}");
        let request = http::Request::get(path).body(Vec::new()).expect("a request");
        assert_eq!(refused(client.request::<Value>(request).await), (422, "Invalid".to_owned()), "{query}");
    }
}
