//! A component that calls every function of the contracts and tells what it got: the host's golden vectors
//! (`host/conformance/vectors/host`) say what that must be. Keys are the contracts' names.

#![cfg_attr(not(target_family = "wasm"), forbid(unsafe_code))]

mod admission;
mod attack;
mod probe;
mod source;

use serde_json::{Map, Value};
use witlet_plugin_sdk::{
    AdmissionHandler, Error, Request, Verdict, export_admission, export_pod_source, export_probe,
    export_status_feedback, probe as sdk_probe, source as sdk_source,
};

/// All roles in one.
struct AllFunctions;

impl AdmissionHandler for AllFunctions {
    type Config = Value;

    fn validate(config: &Value) -> Result<(), Error> {
        refuse(config)
    }

    fn admit(request: &Request<'_>, config: &Value) -> Result<Verdict, Error> {
        admission::admit(request, config)
    }
}

impl sdk_probe::ProbeType for AllFunctions {
    type Config = Value;
    type Parameters = Value;

    fn validate(config: &Value) -> Result<(), Error> {
        refuse(config)
    }

    fn check_parameters(parameters: &Value, _: &Value) -> Result<(), Error> {
        refuse(parameters)
    }

    fn probe(
        target: &sdk_probe::Target<'_>,
        parameters: &Value,
        _: &Value,
    ) -> Result<sdk_probe::Outcome, Error> {
        probe::probe(target, parameters)
    }
}

impl sdk_source::PodSource for AllFunctions {
    type Config = Value;

    fn validate(config: &Value) -> Result<(), Error> {
        refuse(config)
    }

    fn poll(cursor: Option<&str>, config: &Value) -> Result<sdk_source::Poll, sdk_source::SourceError> {
        source::poll(cursor, config)
    }
}

impl sdk_source::StatusFeedback for AllFunctions {
    fn statuses(changed: &[sdk_source::PodStatus], config: &Value) -> Result<(), Error> {
        source::statuses(changed, config)
    }
}

export_admission!(AllFunctions);
export_probe!(AllFunctions);
export_pod_source!(AllFunctions);
export_status_feedback!(AllFunctions);

/// `{"refuse": words}` is refused in these words, everything else taken.
fn refuse(given: &Value) -> Result<(), Error> {
    given["refuse"].as_str().map_or(Ok(()), |words| Err(Error::nothing_found(words)))
}

/// A JSON text as a value; what is none stays text.
fn value_of(text: String) -> Value {
    serde_json::from_str(&text).unwrap_or(Value::String(text))
}

/// What there is at each of `pointers`: texts by path, or null.
fn pointers(given: &Value, lookup: impl Fn(&str) -> Option<String>) -> Value {
    let paths = given["pointers"].as_array().into_iter().flatten().filter_map(Value::as_str);
    Value::Object(paths.map(|path| (path.to_owned(), Value::from(lookup(path)))).collect::<Map<_, _>>())
}
