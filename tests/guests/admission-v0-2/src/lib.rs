//! An admission handler of `witlet:admission@0.2.0`. Subscribes to the operations of the list `subscribe` in its
//! configuration (`[add]` without one), warns of it if it has `warn`, and does what `do` says.
#![allow(unsafe_code, reason = "the bindings are made of raw pointers")]
#![cfg_attr(not(target_family = "wasm"), allow(dead_code, reason = "only the component uses it all"))]

mod bindings {
    #![allow(missing_docs, clippy::all, clippy::mem_forget, unused_qualifications, reason = "generated")]
    wit_bindgen::generate!({
        inline: "package test:guest;
            world handler {
                include witlet:admission/admission-handler@0.2.0;
                import witlet:host/data@0.2.0;
                import witlet:host/metrics@0.2.0;
                import witlet:host/secret@0.2.0;
            }",
        path: ["../../../wit/host-0.2.0", "../../../wit/admission-0.2.0"],
        world: "test:guest/handler",
        generate_all,
    });
}
mod tell;

use std::cell::RefCell;

use serde_json::Value;

use bindings::exports::witlet::admission::handler::Guest;
use bindings::witlet::admission::admission_types::{Answer, Container, Request, Setup};
use bindings::witlet::host::errors::Error;
use bindings::witlet::host::{config, metrics};

struct Plugin;

#[cfg(target_family = "wasm")]
bindings::export!(Plugin with_types_in bindings);

thread_local! {
    /// Of an earlier request.
    static KEPT: RefCell<Option<Container>> = const { RefCell::new(None) };
}

impl Guest for Plugin {
    fn validate(setup: &Setup, config: String) -> Result<(), Error> {
        let config = value(&config);
        match config["subscribe"].as_array() {
            None => setup.subscribe("add"),
            Some(operations) => operations.iter().for_each(|operation| setup.subscribe(text(operation))),
        }
        if let Some(warning) = config["warn"].as_str() {
            let known = ["add", "fly"].map(|operation| format!("{operation}: {}", setup.knows(operation)));
            setup.warn(&format!("{warning} ({})", known.join(", ")));
        }
        if text(&config["do"]) == "refuse" { Err(failure()) } else { Ok(()) }
    }

    fn admit(request: &Request, answer: &Answer) -> Result<(), Error> {
        let config = value(&config::get());
        match text(&config["do"]) {
            "admit" => answer.admit(),
            "reject" => answer.reject("NotNeeded", "this pod isn't needed"),
            "reject-badly" => answer.reject("not needed", "two\nlines"),
            "defer" => answer.defer("NotNow", "not now", 5000),
            "shortage" => {
                answer.shortage("cpu", 500, 800, 1000);
                answer.shortage("memory", 5, 8, 10);
            }
            "many-shortages" => (0..100).for_each(|number| answer.shortage("cpu", number, 0, 0)),
            "nothing" => answer.warn("nothing is said"),
            "twice" => {
                answer.admit();
                answer.reject("NotNeeded", "this pod isn't needed");
            }
            "remark" => {
                for number in 0..20 {
                    answer.warn(&format!("warning {number}"));
                }
                answer.annotate("image", "first");
                answer.annotate("image", "second");
                answer.admit();
            }
            "error" => return Err(failure()),
            "error-after-all" => {
                answer.admit();
                return Err(failure());
            }
            "operation" => answer.reject("Asked", &request.operation()),
            "keep" => return keep(request, answer),
            "count" => {
                metrics::add("asked", &[("operation".to_owned(), request.operation())], 2);
                metrics::add("not a name", &[], 1);
                metrics::observe("containers", &[], request.pod().containers().len() as f64);
                answer.admit();
            }
            what => answer.reject("Reported", &tell::tell(what, request).to_string()),
        }
        Ok(())
    }
}

fn failure() -> Error {
    let error = Error::new("NoTable", "the table can't be read");
    error.set_retry_after_milliseconds(30_000);
    error.set_detail("rows", "7");
    error
}

/// Keeps a container of the first request and checks it in the next.
fn keep(request: &Request, answer: &Answer) -> Result<(), Error> {
    let kept = KEPT.take();
    let name = kept.as_ref().map(Container::name);
    KEPT.set(request.pod().containers().into_iter().next());
    answer.reject("Kept", name.as_deref().unwrap_or("nothing"));
    Ok(())
}

fn value(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_default()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}
