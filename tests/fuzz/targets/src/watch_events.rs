//! The events of a watch, in pieces of any size: `host/cluster`.

use k8s_openapi::api::core::v1::Pod;
use witlet_cluster::watch::{EVENT_BYTES_MAX, Event, Events};

use crate::{Target, check_message, pieces};

pub(crate) const TARGET: Target = Target {
    name: "watch_events",
    run,
    words: &[
        "{\"type\":\"ADDED\",\"object\":",
        "\"MODIFIED\"",
        "\"DELETED\"",
        "\"BOOKMARK\"",
        "\"ERROR\"",
        "\"metadata\":{",
        "\"name\":\"a\"",
        "\"namespace\":\"default\"",
        "\"uid\":\"u\"",
        "\"resourceVersion\":\"1\"",
        "\"annotations\":{\"k8s.io/initial-events-end\":\"true\"}",
        "\"managedFields\":[{}]",
        "\"code\":410",
        "\"reason\":\"Expired\"",
        "\"details\":{\"retryAfterSeconds\":1}",
        "\"kind\":\"Status\"",
        "}}\n",
        "\"spec\":{\"containers\":[]}",
        "\"status\":{}",
        "\"type\":",
        "\"object\":",
    ],
};

/// A bound that inputs reach.
const SMALL_EVENT_BYTES_MAX: usize = 300;

fn run(data: &[u8]) {
    for bytes_max in [SMALL_EVENT_BYTES_MAX, EVENT_BYTES_MAX] {
        let whole = events(bytes_max, [data]);
        assert_eq!(whole, events(bytes_max, pieces(data)), "where pieces end changes nothing");
        let lines = data.iter().filter(|byte| **byte == b'\n').count();
        assert!(whole.len() <= lines, "{} events in {lines} lines", whole.len());
    }
}

/// What was said, up to a failure of the watch, which ends it.
fn events<'a>(bytes_max: usize, pieces: impl IntoIterator<Item = &'a [u8]>) -> Vec<String> {
    let mut events = Events::<Pod>::new(bytes_max);
    let mut all = Vec::new();
    for piece in pieces {
        events.feed(piece);
        while let Some(said) = events.next() {
            match &said {
                Ok(said) => check_event(&said.event),
                Err(error) => check_message(&error.to_string(), 0),
            }
            let failed = said.is_err();
            all.push(format!("{said:?}"));
            if failed {
                return all;
            }
        }
    }
    all
}

fn check_event(event: &Event<Pod>) {
    match event {
        Event::Put(pod) => {
            assert!(
                pod.metadata.name.as_deref().is_some_and(|name| !name.is_empty()),
                "a pod without a name"
            );
            assert!(pod.metadata.managed_fields.is_none());
        }
        Event::Deleted(key) => assert!(!key.name.is_empty()),
        Event::Malformed(malformed) => {
            check_message(&malformed.message, 0);
            assert!(malformed.key.as_ref().is_none_or(|key| !key.name.is_empty()));
        }
        Event::Unread(message) => check_message(message, 0),
        Event::Bookmark { .. } => {}
    }
}
