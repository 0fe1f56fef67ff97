//! Which answers differ, and what a handler is asked before.

use serde_json::json;
use witlet_core::admission::Operation;

use super::*;
use crate::plugin_request::{admission_request, pod};

#[test]
fn answers_that_differ_are_reported_with_their_places() {
    let answer = |place: &str, answer: Option<&str>| (place.to_owned(), answer.map(str::to_owned));
    let answers = [
        answer("fresh", Some("admit")),
        answer("late", None),
        answer("warm", Some("admit")),
        answer("third", Some("reject")),
    ];
    assert_eq!(differing(&answers), Some("fresh: admit; third: reject".to_owned()));
    assert_eq!(differing(&answers[..3]), None, "no answer in time says nothing");
    assert_eq!(differing(&[]), None);
}

#[test]
fn pods_asked_about_before_differ_in_what_they_say() {
    let request = |labels| {
        let metadata = json!({"name": "a", "namespace": "n", "labels": labels});
        admission_request(Operation::Add, pod(&json!({"metadata": metadata})))
    };
    let (labelled, plain) = (request(json!({"a": "b"})), request(json!({})));
    assert_eq!(namesake(&labelled).pod.metadata.labels, None);
    assert!(namesake(&plain).pod.metadata.labels.is_some());
    for other in [namesake(&plain), elsewhere(&plain)] {
        assert_eq!(other.pod.metadata.name, plain.pod.metadata.name);
        assert_ne!(other.pod.metadata.uid, plain.pod.metadata.uid);
    }
    assert_ne!(elsewhere(&plain).pod.metadata.namespace, plain.pod.metadata.namespace);
}
