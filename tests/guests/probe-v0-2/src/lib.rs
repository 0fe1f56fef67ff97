//! A probe type of `witlet:probe@0.2.0`. Refuses or warns of its configuration and of parameters as these say, and does
//! what the `do` of its parameters says.
#![allow(unsafe_code, reason = "the bindings are made of raw pointers")]
#![cfg_attr(not(target_family = "wasm"), allow(dead_code, reason = "only the component uses it all"))]

mod bindings {
    #![allow(missing_docs, clippy::all, clippy::mem_forget, unused_qualifications, reason = "generated")]
    wit_bindgen::generate!({
        inline: "package test:guest;
            world probing {
                include witlet:probe/probe-type@0.2.0;
                import witlet:probe/exec@0.2.0;
                import witlet:probe/connections@0.2.0;
                import witlet:host/metrics@0.2.0;
                import witlet:host/secret@0.2.0;
            }",
        path: ["../../../wit/host-0.2.0", "../../../wit/probe-0.2.0"],
        world: "test:guest/probing",
        generate_all,
    });
}

use std::cell::RefCell;

use serde_json::{Value, json};

use bindings::exports::witlet::probe::prober::Guest;
use bindings::witlet::host::errors::Error;
use bindings::witlet::host::log::Level;
use bindings::witlet::host::{config, features, log, metrics, node, secret};
use bindings::witlet::probe::connections::{self, Connection};
use bindings::witlet::probe::exec;
use bindings::witlet::probe::probe_types::{Answer, Check, Container, ContainerPort, Pod, Setup, Target};

struct Plugin;

#[cfg(target_family = "wasm")]
bindings::export!(Plugin with_types_in bindings);

/// What a probe kept for a later call.
struct Kept {
    pod: Pod,
    container: Container,
    port: Option<ContainerPort>,
}

thread_local! {
    static CONNECTION: RefCell<Option<Connection>> = const { RefCell::new(None) };
    static KEPT: RefCell<Option<Kept>> = const { RefCell::new(None) };
}

impl Guest for Plugin {
    fn validate(setup: &Setup, config: String) -> Result<(), Error> {
        match text(&value(&config)["do"]) {
            "refuse" => return Err(failure()),
            "warn" => (0..20).for_each(|number| setup.warn(&format!("warning {number}"))),
            _ => {}
        }
        Ok(())
    }

    fn check_parameters(check: &Check, parameters: String) -> Result<(), Error> {
        match text(&value(&parameters)["do"]) {
            "" => return Err(failure()),
            "warned" => check.warn("it is warned of these parameters"),
            // Outside of a probe there is nothing to check.
            "use-in-check" => {
                use_kept("pod");
            }
            _ => {}
        }
        Ok(())
    }

    fn probe(target: &Target, parameters: String, answer: &Answer) -> Result<(), Error> {
        let parameters = value(&parameters);
        match text(&parameters["do"]) {
            "success" => answer.success(text(&parameters["text"])),
            "failure" => answer.failure(text(&parameters["text"])),
            "unknown" => answer.unknown(text(&parameters["text"])),
            "warned" => {
                answer.warn("it is old");
                answer.success("fine");
            }
            "remark" => {
                answer.latency(1_500_000);
                answer.annotate("version", "6");
                answer.annotate("version", "7");
                answer.success("");
            }
            "nothing" => answer.warn("nothing is said"),
            "twice" => {
                answer.failure("no");
                answer.success("or yes");
            }
            "error" => return Err(failure()),
            "error-after-all" => {
                answer.success("fine");
                return Err(failure());
            }
            "inspect" => answer.success(&inspect(target).to_string()),
            "host" => answer.success(&host().to_string()),
            "exec" => run(target, &parameters, answer),
            "talk" => match talk(target, &parameters) {
                Ok(words) => answer.success(&words),
                Err(error) => answer.failure(&format!("{}: {}", error.code(), error.message())),
            },
            "keep-connection" => match open(target, &parameters) {
                Ok(connection) => {
                    CONNECTION.set(Some(connection));
                    answer.success("kept");
                }
                Err(error) => answer.failure(&error.code()),
            },
            "use-connection" => answer.success(&CONNECTION.with_borrow(|kept| match kept {
                Some(connection) => format!("{:?}", connection.peer_certificates()),
                None => "nothing is kept".to_owned(),
            })),
            "keep" => keep(target, answer),
            "use" => answer.success(&use_kept(text(&parameters["text"]))),
            what => answer.unknown(&format!("it can't {what}")),
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

fn inspect(target: &Target) -> Value {
    let (pod, container) = (target.pod(), target.container());
    let port = |port: ContainerPort| json!([port.name(), port.number(), port.protocol()]);
    let ports: Vec<Value> = container.ports().into_iter().map(port).collect();
    let timeout = target.timeout_milliseconds();
    json!({
        "pod": {
            "namespace": pod.namespace(), "name": pod.name(), "uid": pod.uid(),
            "label": pod.label("app"), "labels": pod.labels(),
            "annotation": pod.annotation("a"), "annotations": pod.annotations(),
            "addresses": pod.addresses(), "hostAddresses": pod.host_addresses(),
            "hostNetwork": pod.host_network(), "jsonHasName": pod.json().contains("\"web\""),
            "pointer": pod.pointer("/metadata/name"), "nothing": pod.pointer("/metadata/nothing"),
        },
        "container": {
            "name": container.name(), "id": container.id(), "restarts": container.restarts(),
            "image": container.image(), "ports": ports,
            "port": container.port("web"), "noPort": container.port("other"),
            "pointer": container.pointer("/name"), "noPointer": container.pointer("name"),
        },
        "kind": target.kind(),
        "time": timeout > 0 && (1..=timeout).contains(&target.remaining_milliseconds()),
    })
}

/// What the host gives on this engine, too.
fn host() -> Value {
    let words = |error: Error| json!([error.code(), error.detail("no"), error.retry_after_milliseconds()]);
    let secret = |name: &str| match secret::get(name) {
        Ok(value) => json!(String::from_utf8_lossy(&value)),
        Err(error) => words(error),
    };
    metrics::add("asked", &[], 2);
    metrics::observe("answered", &[], 0.5);
    log::write(Level::Info, "checked the host", &[("how".to_owned(), "twice".to_owned())]);
    json!({
        "config": config::get(), "enabled": log::enabled(Level::Error),
        "feature": features::has("no-such-feature"), "node": node::name(), "zone": node::zone(),
        "label": node::label("no"), "labels": node::labels(), "addresses": node::addresses(),
        "allocatable": node::allocatable("cpu"), "secret": secret("password"), "other": secret("other"),
    })
}

fn run(target: &Target, parameters: &Value, answer: &Answer) {
    let command: Vec<String> =
        parameters["command"].as_array().into_iter().flatten().map(|word| text(word).to_owned()).collect();
    match exec::run(target, &command) {
        Ok(ended) => {
            let [output, error] = [ended.output(), ended.error_output()];
            let [output, error] = [output, error].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
            answer.success(&format!("{}|{output}|{error}", ended.exit_code()));
        }
        Err(error) => answer.failure(&format!("{}: {}", error.code(), error.message())),
    }
}

/// To `host`, or to the pod's loopback interface.
fn open(target: &Target, parameters: &Value) -> Result<Connection, Error> {
    let port = u16::try_from(parameters["port"].as_u64().unwrap_or_default()).unwrap_or_default();
    match text(&parameters["host"]) {
        "" => connections::open_loopback(target, port),
        host => connections::open(target, host, port),
    }
}

/// Says `text`, by TLS if there is a `tls`, and tells what came back until the other side ended.
fn talk(target: &Target, parameters: &Value) -> Result<String, Error> {
    let connection = open(target, parameters)?;
    let mut certificates = connection.peer_certificates().len();
    if let Some(name) = parameters["tls"].as_str() {
        connection.start_tls(name)?;
        certificates += connection.peer_certificates().len();
        if let Err(error) = connection.start_tls(name)
            && error.code() != "AlreadyTls"
        {
            return Err(error);
        }
    }
    connection.write(text(&parameters["text"]).as_bytes())?;
    connection.shutdown()?;
    let mut came = Vec::new();
    loop {
        let part = connection.read(7)?;
        if part.is_empty() {
            return Ok(format!("{certificates}|{}", String::from_utf8_lossy(&came)));
        }
        came.extend(part);
    }
}

fn keep(target: &Target, answer: &Answer) {
    let (pod, container) = (target.pod(), target.container());
    let port = container.ports().into_iter().next();
    KEPT.set(Some(Kept { pod, container, port }));
    answer.success("kept");
}

/// Checks what an earlier call kept.
fn use_kept(what: &str) -> String {
    KEPT.with_borrow(|kept| match (what, kept) {
        (_, None) => "nothing is kept".to_owned(),
        ("pod", Some(kept)) => kept.pod.name(),
        ("container", Some(kept)) => kept.container.name(),
        (_, Some(kept)) => kept.port.as_ref().map(ContainerPort::name).unwrap_or_default(),
    })
}

fn value(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_default()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}
