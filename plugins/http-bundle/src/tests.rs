//! The source against a server that a test speaks for.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ed25519_dalek::{Signer as _, SigningKey};
use serde_json::json;
use witlet_plugin_sdk::facts::{ScriptedAnswer, serve_http};
use witlet_plugin_sdk::source::Snapshot;

use super::*;

const URL: &str = "https://h/pods.yaml";

fn config(more: serde_json::Value) -> Config {
    let mut all = json!({"url": URL});
    for (name, value) in more.as_object().expect("an object") {
        all[name] = value.clone();
    }
    let config: Config = serde_json::from_value(all).expect("a configuration");
    HttpBundle::validate(&config).expect("a good one");
    config
}

fn answer(status: u16, headers: &[(&str, &str)], body: &str) -> ScriptedAnswer {
    let headers = headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    ScriptedAnswer { status, headers, body: body.as_bytes().to_vec(), ..ScriptedAnswer::default() }
}

fn bundle(version: u64) -> String {
    format!(
        "{{apiVersion: witlet.dev/v1alpha1, kind: PodBundle, version: {version}, items: [{{metadata: {{name: a}}}}]}}"
    )
}

fn poll(cursor: Option<&str>, config: &Config) -> Result<Poll, String> {
    HttpBundle::poll(cursor, config).map_err(|error| format!("{}: {}", error.reason, error.message))
}

#[test]
fn an_etag_saves_the_way_while_nothing_changes() {
    serve_http(|request| {
        let known = request.headers.iter().any(|(name, value)| name == "If-None-Match" && value == "\"e1\"");
        Ok(match known {
            true => answer(304, &[], ""),
            false => answer(200, &[("ETag", "\"e1\"")], &bundle(3)),
        })
    });
    let config = config(json!({}));
    let first = poll(None, &config).expect("pods");
    assert!(matches!(&first.snapshot, Snapshot::Pods(pods) if pods.len() == 1));
    let cursor = first.cursor.expect("a cursor");
    assert_eq!(Cursor::read(Some(&cursor)), Cursor { etag: Some("\"e1\"".to_owned()), version: Some(3) });
    let second = poll(Some(&cursor), &config).expect("nothing new");
    assert_eq!((second.snapshot, second.cursor), (Snapshot::Unchanged, Some(cursor)));
    let third = poll(Some("nonsense"), &config).expect("pods");
    assert!(matches!(third.snapshot, Snapshot::Pods(_)), "a cursor that can't be read is none");
}

#[test]
fn only_an_empty_list_means_that_there_are_no_pods() {
    let config = config(json!({}));
    serve_http(|_| Ok(answer(200, &[], "apiVersion: v1\nkind: PodList\nitems: []\n")));
    assert_eq!(poll(None, &config).expect("an answer").snapshot, Snapshot::Empty);
    for (status, body, expected) in [
        (200, "", "Invalid: the bundle is empty: to have no pods, let it be an empty list"),
        (304, "", "Unavailable: GET https://h/pods.yaml: HTTP status 304"),
        (301, "", "Unavailable: GET https://h/pods.yaml: HTTP status 301"),
        (404, "", "Unavailable: GET https://h/pods.yaml: HTTP status 404"),
        (403, "", "Denied: GET https://h/pods.yaml: HTTP status 403"),
    ] {
        let body = body.to_owned();
        serve_http(move |_| Ok(answer(status, &[], &body)));
        assert_eq!(poll(None, &config), Err(expected.to_owned()));
    }
    serve_http(|_| Ok(answer(503, &[("Retry-After", "7")], "")));
    let error = HttpBundle::poll(None, &config).expect_err("unavailable");
    assert_eq!(error.retry_after_milliseconds, Some(7_000));
}

#[test]
fn with_keys_only_what_one_of_them_signed_is_taken() {
    let signing = SigningKey::from_bytes(&[7; 32]);
    let public = STANDARD.encode(signing.verifying_key().as_bytes());
    let config = config(json!({"publicKeys": [public]}));
    let good = STANDARD.encode(signing.sign(bundle(1).as_bytes()).to_bytes());
    let other = STANDARD.encode(SigningKey::from_bytes(&[8; 32]).sign(bundle(1).as_bytes()).to_bytes());
    let unproven = Err("Invalid: none of the configured keys has signed the bundle".to_owned());
    for (header, file, expected) in [
        (Some(good.clone()), None, Ok(1)),
        (None, Some(good.clone()), Ok(1)),
        (Some(other.clone()), Some(good.clone()), unproven.clone()),
        (None, Some(other), unproven),
        (None, None, Err("Unavailable: GET https://h/pods.yaml.sig: HTTP status 404".to_owned())),
        (Some("x".to_owned()), None, Err("Invalid: the signature isn't 64 bytes in base64".to_owned())),
    ] {
        serve_http(move |request| {
            Ok(match (request.path.as_str(), &header, &file) {
                ("/pods.yaml", Some(header), _) => {
                    answer(200, &[("Witlet-Signature", header.as_str())], &bundle(1))
                }
                ("/pods.yaml", None, _) => answer(200, &[], &bundle(1)),
                ("/pods.yaml.sig", _, Some(file)) => answer(200, &[], &format!("{file}\n")),
                _ => answer(404, &[], ""),
            })
        });
        let found = poll(None, &config).map(|poll| match poll.snapshot {
            Snapshot::Pods(pods) => pods.len(),
            Snapshot::Empty | Snapshot::Unchanged => 0,
        });
        assert_eq!(found, expected);
    }
}

#[test]
fn an_older_bundle_is_not_taken_again() {
    serve_http(|_| Ok(answer(200, &[], &bundle(2))));
    let config = config(json!({}));
    let cursor = Cursor { etag: None, version: Some(3) }.write();
    assert_eq!(
        poll(Some(&cursor), &config),
        Err("Invalid: the bundle has version 2, and version 3 was here already".to_owned())
    );
    assert!(poll(None, &config).is_ok());
}

#[test]
fn values_of_headers_may_stand_in_files() {
    let folder = tempfile::tempdir().expect("a folder");
    let token = folder.path().join("token");
    serve_http(|request| {
        let header = |name: &str, value: &str| {
            request.headers.iter().any(|(found, given)| found == name && given == value)
        };
        let fine = header("Authorization", "Bearer t") && header("X-Node", "n1");
        Ok(answer(if fine { 200 } else { 401 }, &[], "[]"))
    });
    let config = config(json!({"headers": {"X-Node": "n1"}, "headerFiles": {"Authorization": token}}));
    assert!(poll(None, &config).is_err_and(|error| error.starts_with("Denied: ")), "it isn't there");
    std::fs::write(&token, "Bearer t\n").expect("written");
    assert_eq!(poll(None, &config).expect("an answer").snapshot, Snapshot::Empty);
    std::fs::write(&token, "Bearer x").expect("written");
    assert_eq!(poll(None, &config), Err("Denied: GET https://h/pods.yaml: HTTP status 401".to_owned()));
}

#[test]
fn configurations_that_make_no_sense_are_refused() {
    for (config, expected) in [
        (
            json!({"url": "ftp://h/"}),
            "url: invalid request: \"ftp://h/\" has a scheme other than http and https",
        ),
        (json!({"url": URL, "signatureUrl": URL}), "signatureUrl: requires publicKeys"),
        (json!({"url": URL, "timeoutSeconds": 0}), "timeoutSeconds: 0 isn't 1 to 600"),
        (
            json!({"url": URL, "headers": {"a": "b"}, "headerFiles": {"A": "/c"}}),
            "headers: a is in headerFiles, too",
        ),
    ] {
        let config: Config = serde_json::from_value(config).expect("it decodes");
        assert_eq!(
            HttpBundle::validate(&config).map_err(|error| error.to_string()),
            Err(expected.to_owned())
        );
    }
    for bad in [json!({}), json!({"url": URL, "publicKeys": ["x"]}), json!({"url": URL, "uri": ""})] {
        assert!(serde_json::from_value::<Config>(bad).is_err());
    }
}
