//! Answers that make no sense.

use k8s_openapi::api::core::v1::Pod;
use serde_json::{Value, json};

use super::*;

fn event_line(kind: &str, object: Value) -> String {
    json!({"type": kind, "object": object}).to_string()
}

#[test]
fn a_list_without_a_version_is_none() {
    let read = page::<Pod>(br#"{"metadata": {}, "items": []}"#);
    assert!(read.is_err_and(|error| error.to_string().contains("no resourceVersion")));
    assert!(page::<Pod>(b"<html>").is_err());
}

#[test]
fn foreign_words_are_cut_in_what_is_said_of_them() {
    let long = "x".repeat(100_000);
    for line in [
        format!("\"{long}\""),
        event_line("BOOKMARK", json!(long)),
        event_line(&long, json!({})),
        event_line("ADDED", json!(long)),
    ] {
        let said = event::<Pod>(line.as_bytes()).unwrap();
        let message = match said.event {
            Event::Malformed(malformed) => malformed.message,
            Event::Unread(message) => message,
            _ => panic!("it was read"),
        };
        assert!(message.len() < 1000, "{} bytes", message.len());
    }
    let error = page::<Pod>(format!("\"{long}\"").as_bytes()).err().unwrap();
    assert!(error.to_string().len() < 1000);
}
