//! An admission handler of a version that only the tests have. Does what its configuration says: a JSON string with the name
//! of a behaviour.
#![allow(unsafe_code, reason = "the bindings are made of raw pointers")]
#![cfg_attr(not(target_family = "wasm"), allow(dead_code, reason = "only the component uses it all"))]

mod bindings {
    #![allow(missing_docs, clippy::all, clippy::mem_forget, unused_qualifications, reason = "generated")]
    wit_bindgen::generate!({
        path: ["../../../wit/host", "wit/admission"],
        world: "witlet:admission/admission-handler",
        generate_all,
    });
}

use bindings::exports::witlet::admission::handler::Guest;
use bindings::witlet::admission::types::{Deferral, Operation, Rejection, Request, Verdict};

struct Next;

#[cfg(target_family = "wasm")]
bindings::export!(Next with_types_in bindings);

impl Guest for Next {
    fn validate(config: String) -> Result<(), String> {
        match config.trim_matches('"') {
            "inspect" | "reject-all" | "reject-none" | "defer" => Ok(()),
            other => Err(format!("unknown instruction: {other}")),
        }
    }

    fn admit(request: &Request) -> Result<Verdict, String> {
        let config = bindings::witlet::host::config::get();
        Ok(match config.trim_matches('"') {
            "inspect" => Verdict::Reject(rejection("Seen", &inspect(request))),
            "reject-all" => Verdict::RejectAll(vec![
                rejection("First", "the first reason"),
                rejection("Second", "the second reason"),
            ]),
            "reject-none" => Verdict::RejectAll(Vec::new()),
            "defer" => Verdict::Defer(Deferral {
                reason: "NotNow".to_owned(),
                message: "not now".to_owned(),
                retry_after_seconds: 7,
            }),
            _ => Verdict::Admit,
        })
    }
}

fn rejection(reason: &str, message: &str) -> Rejection {
    Rejection { reason: reason.to_owned(), message: message.to_owned() }
}

/// What it sees.
fn inspect(request: &Request) -> String {
    let (pod, node) = (request.pod(), request.node());
    let operation = match request.operation() {
        Operation::Add => "add",
        Operation::Resize => "resize",
    };
    let identity = pod.identity();
    let containers: Vec<String> = pod
        .containers()
        .iter()
        .map(|container| format!("{} {} {:?}", container.name, container.image, container.command))
        .collect();
    format!(
        "{operation} {}/{} {} app={:?} none={:?} {} from {:?} on {} system={:?}",
        identity.namespace,
        identity.name,
        identity.uid,
        pod.label("app"),
        pod.label("none"),
        containers.join(", "),
        pod.origin(),
        node.name(),
        node.fact("system"),
    )
}
