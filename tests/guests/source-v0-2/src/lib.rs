//! A pod source of `witlet:pod-source@0.2.0`. Does what the `do` of its configuration says; the pods that it has are
//! the manifests under `pods`.
#![allow(unsafe_code, reason = "the bindings are made of raw pointers")]
#![cfg_attr(not(target_family = "wasm"), allow(dead_code, reason = "only the component uses it all"))]

mod bindings {
    #![allow(missing_docs, clippy::all, clippy::mem_forget, unused_qualifications, reason = "generated")]
    wit_bindgen::generate!({
        inline: "package test:guest;
            world sourcing {
                include witlet:pod-source/pod-source-with-feedback@0.2.0;
            }",
        path: ["../../../wit/host-0.2.0", "../../../wit/pod-source-0.2.0"],
        world: "test:guest/sourcing",
        generate_all,
    });
}

use std::cell::RefCell;

use serde_json::{Value, json};

use bindings::exports::witlet::pod_source::{feedback, source};
use bindings::witlet::host::errors::Error;
use bindings::witlet::host::log::{self, Level};
use bindings::witlet::host::{config, features, node};
use bindings::witlet::pod_source::source_types::{Answer, Change, News, Setup};

struct Plugin;

#[cfg(target_family = "wasm")]
bindings::export!(Plugin with_types_in bindings);

thread_local! {
    /// Of earlier news.
    static KEPT: RefCell<Option<Change>> = const { RefCell::new(None) };
}

impl source::Guest for Plugin {
    fn validate(setup: &Setup, config: String) -> Result<(), Error> {
        match text(&value(&config)["do"]) {
            "refuse" => return Err(failure()),
            "warn" => (0..20).for_each(|number| setup.warn(&format!("warning {number}"))),
            _ => {}
        }
        Ok(())
    }

    fn poll(cursor: Option<String>, answer: &Answer) -> Result<(), Error> {
        let config = value(&config::get());
        match text(&config["do"]) {
            "empty" => answer.empty(),
            "unchanged" => answer.unchanged(),
            "nothing" => answer.cursor("7"),
            "twice" => {
                answer.pod("{}");
                answer.empty();
            }
            "error" => return Err(failure()),
            "error-after-all" => {
                answer.empty();
                return Err(failure());
            }
            "many" => (0..20_000).for_each(|_| answer.pod("{}")),
            "count" => {
                let next = cursor.and_then(|cursor| cursor.parse().ok()).unwrap_or(0_u32) + 1;
                answer.cursor("0");
                answer.cursor(&next.to_string());
                answer.next_poll_milliseconds(7_000);
                answer.pod(&json!({"polls": next}).to_string());
            }
            "host" => {
                let seen = json!({"node": node::name(), "feature": features::has("no-such-feature")});
                answer.pod(&seen.to_string());
            }
            _ => {
                let pods = config["pods"].as_array().map(Vec::as_slice).unwrap_or_default();
                match pods {
                    [] => answer.empty(),
                    pods => pods.iter().for_each(|pod| answer.pod(&pod.to_string())),
                }
            }
        }
        Ok(())
    }
}

impl feedback::Guest for Plugin {
    fn notify(news: &News) -> Result<(), Error> {
        match text(&value(&config::get())["feedback"]) {
            "refuse" => return Err(failure()),
            // In the log, which is a test's way to see it.
            "keep" => {
                if let Some(kept) = KEPT.take() {
                    say(&kept.name());
                }
                KEPT.set(news.next());
            }
            "tell" => {
                let seen: Vec<Value> =
                    std::iter::from_fn(|| news.next()).map(|change| tell(&change)).collect();
                // People see an error without a code as its message alone.
                return Err(Error::new("", &Value::from(seen).to_string()));
            }
            _ => {
                while let Some(change) = news.next() {
                    say(&tell(&change).to_string());
                }
            }
        }
        Ok(())
    }
}

fn tell(change: &Change) -> Value {
    json!([
        change.kind(),
        change.namespace(),
        change.name(),
        change.uid(),
        change.phase(),
        change.reason(),
        change.message(),
        change.status(),
    ])
}

fn say(message: &str) {
    log::write(Level::Info, message, &[]);
}

fn failure() -> Error {
    let error = Error::new("NoTable", "the table can't be read");
    error.set_retry_after_milliseconds(30_000);
    error.set_detail("rows", "7");
    error
}

fn value(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_default()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}
