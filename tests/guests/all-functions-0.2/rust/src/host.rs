//! What plugins of all roles have: the package host.

use serde_json::{Value, json};

use crate::bindings::witlet::host::data::{self, Snapshot};
use crate::bindings::witlet::host::errors::Error;
use crate::bindings::witlet::host::log::{self, Level};
use crate::bindings::witlet::host::{config, features, metrics, node, secret};
use crate::{NONE, each, text, value};

pub(crate) fn configuration() -> Value {
    value(&config::get())
}

pub(crate) fn log(level: Level, message: &str) {
    log::write(level, message, &[("language".to_owned(), "rust".to_owned())]);
}

/// An error of the plugin's own.
pub(crate) fn own_error() -> Error {
    let error = Error::new("NoTable", "the table can't be read");
    error.set_retry_after_milliseconds(7000);
    error.set_detail("rows", "7");
    error
}

/// Refuses what wants to be refused.
pub(crate) fn refuse(settings: &str) -> Result<(), Error> {
    if text(&value(settings)["do"]) == "refuse" { Err(own_error()) } else { Ok(()) }
}

pub(crate) fn tell_error(error: &Error) -> Value {
    json!({
        "errors/error.code": error.code(),
        "errors/error.message": error.message(),
        "errors/error.retry-after-milliseconds": error.retry_after_milliseconds(),
        "errors/error.detail": each(["rows", NONE], |key| error.detail(key)),
    })
}

/// What came of a call, or its error's code.
pub(crate) fn given<T: Into<Value>>(result: Result<T, Error>) -> Value {
    result.map_or_else(|error| error.code().into(), Into::into)
}

pub(crate) fn lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

pub(crate) fn tell() -> Value {
    metrics::add("asked", &[("how".to_owned(), "once".to_owned())], 2);
    metrics::observe("answered", &[], 0.5);
    let secrets = ["given", "other"].map(|name| given(secret::get(name).map(|value| lossy(&value))));
    json!({
        "config/get": config::get() != "null",
        "log/enabled": log::enabled(Level::Error),
        "metrics/add": true,
        "metrics/observe": true,
        "node/name": node::name(),
        "node/label": each(["disk", NONE], node::label),
        "node/labels": node::labels(),
        "node/zone": node::zone(),
        "node/addresses": node::addresses(),
        "node/allocatable": each(["cpu", NONE], node::allocatable),
        "features/has": [features::has("shadow"), features::has("teleport")],
        "secret/get": secrets,
    })
}

pub(crate) fn tell_data() -> Value {
    let open = ["list", NONE].map(|name| given(data::open(name).map(|it| snapshot(&it))));
    json!({"data/names": data::names(), "data/open": open})
}

fn snapshot(snapshot: &Snapshot) -> Value {
    let size = snapshot.size();
    let read = [(0, size), (1, 3), (size, 1)].map(|(offset, length)| lossy(&snapshot.read(offset, length)));
    json!({
        "data/snapshot.digest": snapshot.digest(),
        "data/snapshot.size": size,
        "data/snapshot.read": read,
    })
}
