//! A component that calls every function of contract 0.2 and tells what it got, a part at a time: the host's golden vectors
//! (`host/conformance/vectors/host-0.2`) say what that must be. A key is the function that was called: `pod.name` of the role's types,
//! `node/name` of an interface.
#![allow(unsafe_code, reason = "the bindings are made of raw pointers")]
#![cfg_attr(not(target_family = "wasm"), allow(dead_code, reason = "only the component uses it all"))]

mod bindings {
    #![allow(missing_docs, clippy::all, clippy::mem_forget, unused_qualifications, reason = "generated")]
    wit_bindgen::generate!({
        inline: "package test:all;
            world plugin {
                include witlet:admission/admission-handler@0.2.0;
                include witlet:probe/probe-type@0.2.0;
                include witlet:pod-source/pod-source-with-feedback@0.2.0;
                import witlet:host/data@0.2.0;
                import witlet:host/metrics@0.2.0;
                import witlet:host/secret@0.2.0;
                import witlet:probe/exec@0.2.0;
                import witlet:probe/connections@0.2.0;
            }",
        path: [
            "../../../../wit/host-0.2.0",
            "../../../../wit/admission-0.2.0",
            "../../../../wit/probe-0.2.0",
            "../../../../wit/pod-source-0.2.0",
        ],
        world: "test:all/plugin",
        generate_all,
    });
}
mod admission;
mod attack;
mod host;
mod probe;
mod source;

use serde_json::Value;

/// All roles in one.
struct AllFunctions;

#[cfg(target_family = "wasm")]
bindings::export!(AllFunctions with_types_in bindings);

/// A key that nothing has.
const NONE: &str = "none";

fn value(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_default()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// What each of these texts gives.
fn each<T: Into<Value>>(of: [&str; 2], getter: impl Fn(&str) -> Option<T>) -> Value {
    of.iter().map(|text| getter(text).map_or(Value::Null, Into::into)).collect()
}
