//! The role of pod sources, and what they receive about their pods.

use std::time::Duration;

use serde_json::{Value, json};
use witlet_plugin_sdk::Error;
use witlet_plugin_sdk::log::{self, Level};
use witlet_plugin_sdk::source::{PodStatus, Poll, Snapshot, SourceError};

use crate::value_of;

/// The answer that the configuration asks for.
pub(crate) fn poll(cursor: Option<&str>, config: &Value) -> Result<Poll, SourceError> {
    let line = format!("cursor {}", cursor.unwrap_or("none"));
    log::write(Level::Info, &line, &[("language", "rust")]);
    let expected = &config["poll"];
    if let Some(error) = expected.get("error") {
        let text = |key: &str| error[key].as_str().unwrap_or_default();
        let failed = SourceError::new(text("reason"), text("message"));
        let retry_after = error["retryAfterMilliseconds"].as_u64().map(Duration::from_millis);
        return Err(match retry_after {
            Some(time) => failed.retry_after(time),
            None => failed,
        });
    }
    let snapshot = if let Some(pods) = expected["pods"].as_array() {
        Snapshot::Pods(
            pods.iter().map(|pod| pod.as_str().map_or_else(|| pod.to_string(), str::to_owned)).collect(),
        )
    } else if expected["empty"] == true {
        Snapshot::Empty
    } else {
        Snapshot::Unchanged
    };
    Ok(Poll {
        snapshot,
        cursor: config["cursor"].as_str().map(str::to_owned),
        next_poll_milliseconds: config["nextPollMilliseconds"].as_u64(),
    })
}

/// Returns what it received, as an error, if the configuration says so.
pub(crate) fn statuses(changed: &[PodStatus], config: &Value) -> Result<(), Error> {
    if config["tellStatuses"] != true {
        return Ok(());
    }
    let reported = changed.iter().map(|it| {
        let status = it.status.clone().map(value_of);
        json!({"namespace": it.namespace, "name": it.name, "uid": it.uid, "status": status})
    });
    Err(Error::nothing_found(Value::Array(reported.collect()).to_string()))
}
