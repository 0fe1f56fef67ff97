//! A plugin of all three roles that attacks as its configuration says, with nothing between it and WASI: a JSON string
//! with the attack's name and, after a space, what it is aimed at. What comes of it is in the answer, if there is one.
#![allow(unsafe_code, reason = "the bindings are made of raw pointers")]
#![cfg(target_family = "wasm")]

mod computing;
mod files;
mod flooding;
mod http;
mod sockets;
mod waiting;

mod bindings {
    #![allow(missing_docs, clippy::all, clippy::mem_forget, unused_qualifications, reason = "generated")]
    wit_bindgen::generate!({
        path: ["../../../wit/host", "../../../wit/admission", "../../../wit/probe", "../../../wit/pod-source"],
        inline: "package test:intruder;
            world intruder {
                include witlet:admission/admission-handler@0.1.0;
                include witlet:probe/probe-type@0.1.0;
                include witlet:pod-source/pod-source@0.1.0;
            }",
        world: "test:intruder/intruder",
        generate_all,
    });
}

use std::fmt::Debug;

use bindings::exports::witlet::admission::handler;
use bindings::exports::witlet::pod_source::source;
use bindings::exports::witlet::probe::prober;
use bindings::witlet::admission::types::{Rejection, Request, Verdict};
use bindings::witlet::host::config;
use bindings::witlet::pod_source::types::{PollResult, Snapshot, SourceError};
use bindings::witlet::probe::types::{Outcome, Target};

struct Intruder;

bindings::export!(Intruder with_types_in bindings);

impl handler::Guest for Intruder {
    fn validate(config: String) -> Result<(), String> {
        attack_in_validate(&config)
    }

    fn admit(_: &Request) -> Result<Verdict, String> {
        Ok(Verdict::Reject(Rejection { reason: "Reported".to_owned(), message: attack() }))
    }
}

impl prober::Guest for Intruder {
    fn validate(config: String) -> Result<(), String> {
        attack_in_validate(&config)
    }

    fn check_parameters(_: String) -> Result<(), String> {
        Ok(())
    }

    fn probe(_: &Target, _: String) -> Result<Outcome, String> {
        Ok(Outcome::Failure(attack()))
    }
}

impl source::Guest for Intruder {
    fn validate(config: String) -> Result<(), String> {
        attack_in_validate(&config)
    }

    fn poll(cursor: Option<String>) -> Result<PollResult, SourceError> {
        let message = attack();
        if message == "good" {
            return Ok(good(cursor.as_deref()));
        }
        Err(SourceError { reason: "Reported".to_owned(), message, retry_after_milliseconds: Some(500) })
    }
}

/// One pod that says how often its source was asked.
fn good(cursor: Option<&str>) -> PollResult {
    let polls: u64 = cursor.and_then(|cursor| cursor.parse().ok()).unwrap_or(0) + 1;
    let pod = format!(
        r#"{{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"good","namespace":"good",
            "annotations":{{"polls":"{polls}"}}}},
            "spec":{{"containers":[{{"name":"main","image":"app:1"}}]}}}}"#
    );
    PollResult {
        snapshot: Snapshot::Pods(vec![pod]),
        cursor: Some(polls.to_string()),
        next_poll_milliseconds: Some(250),
    }
}

/// Some begin before they are asked anything.
fn attack_in_validate(config: &str) -> Result<(), String> {
    match config.trim_matches('"').strip_prefix("validate:") {
        Some(attack) => Err(run(attack)),
        None => Ok(()),
    }
}

fn attack() -> String {
    run(&config::get().trim_matches('"').replace("\\u0000", "\0"))
}

fn run(attack: &str) -> String {
    let (word, aim) = attack.split_once(' ').unwrap_or((attack, ""));
    let families = [
        computing::run as fn(&str, &str) -> Option<String>,
        files::run,
        flooding::run,
        http::run,
        sockets::run,
        waiting::run,
    ];
    let reported = families.iter().find_map(|family| family(word, aim));
    reported.unwrap_or_else(|| format!("unknown instruction: {word}"))
}

/// What came of something.
fn reported<T: Debug, E: Debug>(result: Result<T, E>) -> String {
    match result {
        Ok(value) => format!("done: {value:?}"),
        Err(error) => format!("refused: {error:?}"),
    }
}

/// How often it worked until it didn't, and why not.
fn reported_until<T, E: Debug>(mut attempt: impl FnMut(usize) -> Result<T, E>, most: usize) -> String {
    let mut kept = Vec::new();
    for number in 0..most {
        match attempt(number) {
            Ok(value) => kept.push(value),
            Err(error) => return format!("refused after {number}: {error:?}"),
        }
    }
    format!("done {most} times")
}
