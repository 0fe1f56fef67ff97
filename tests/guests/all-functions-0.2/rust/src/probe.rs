//! The role probe: what a target has, a command and connections, or the outcome that the parameters name.

use serde_json::{Value, json};

use crate::bindings::exports::witlet::probe::prober::Guest;
use crate::bindings::witlet::host::errors::Error;
use crate::bindings::witlet::probe::connections::{self, Connection};
use crate::bindings::witlet::probe::exec::{self, Ended};
use crate::bindings::witlet::probe::probe_types::{
    Answer, Check, Container, ContainerPort, Pod, Setup, Target,
};
use crate::{AllFunctions, NONE, each, host, text, value};

impl Guest for AllFunctions {
    fn validate(setup: &Setup, config: String) -> Result<(), Error> {
        setup.warn("of the configuration");
        host::refuse(&config)
    }

    fn check_parameters(check: &Check, parameters: String) -> Result<(), Error> {
        check.warn("of the parameters");
        host::refuse(&parameters)
    }

    fn probe(target: &Target, parameters: String, answer: &Answer) -> Result<(), Error> {
        let parameters = value(&parameters);
        match text(&parameters["do"]) {
            "failure" => answer.failure("it failed"),
            "unknown" => answer.unknown("nothing was found out"),
            "error" => return Err(host::own_error()),
            "remark" => {
                answer.warn("it is old");
                answer.latency(1_500_000);
                answer.annotate("version", "7");
                answer.success(&json!({"answer.latency": true, "answer.annotate": true}).to_string());
            }
            part => answer.success(&tell(part, target, &parameters).to_string()),
        }
        Ok(())
    }
}

fn tell(part: &str, target: &Target, parameters: &Value) -> Value {
    let port = u16::try_from(parameters["port"].as_u64().unwrap_or_default()).unwrap_or_default();
    match part {
        "target" => json!({
            "target.kind": target.kind(),
            "target.timeout-milliseconds": target.timeout_milliseconds(),
            "target.remaining-milliseconds": target.remaining_milliseconds() > 0,
            "target.pod": pod(&target.pod()),
            "target.container": container(&target.container()),
        }),
        "host" => host::tell(),
        "exec" => {
            let words = parameters["command"].as_array().into_iter().flatten();
            let command: Vec<String> = words.map(|word| text(word).to_owned()).collect();
            json!({"exec/run": host::given(exec::run(target, &command).map(|it| ended(&it)))})
        }
        "talk" => {
            let talked = connections::open(target, text(&parameters["host"]), port).and_then(|it| talk(&it));
            json!({"connections/open": host::given(talked)})
        }
        "loopback" => {
            let opened = connections::open_loopback(target, port).map(|_| true);
            json!({"connections/open-loopback": host::given(opened)})
        }
        other => json!({ "unknown": other }),
    }
}

fn pod(pod: &Pod) -> Value {
    json!({
        "pod.namespace": pod.namespace(),
        "pod.name": pod.name(),
        "pod.uid": pod.uid(),
        "pod.label": each(["a", NONE], |key| pod.label(key)),
        "pod.labels": pod.labels(),
        "pod.annotation": each(["note", NONE], |key| pod.annotation(key)),
        "pod.annotations": pod.annotations(),
        "pod.addresses": pod.addresses(),
        "pod.host-addresses": pod.host_addresses(),
        "pod.host-network": pod.host_network(),
        "pod.json": pod.json().contains("\"containers\""),
        "pod.pointer": each(["/metadata/name", "/none"], |path| pod.pointer(path)),
    })
}

fn container(container: &Container) -> Value {
    let port = |port: ContainerPort| {
        json!({
            "container-port.name": port.name(),
            "container-port.number": port.number(),
            "container-port.protocol": port.protocol(),
        })
    };
    json!({
        "container.name": container.name(),
        "container.id": container.id(),
        "container.restarts": container.restarts(),
        "container.image": container.image(),
        "container.ports": container.ports().into_iter().map(port).collect::<Vec<_>>(),
        "container.port": each(["web", NONE], |name| container.port(name)),
        "container.pointer": each(["/name", "/none"], |path| container.pointer(path)),
    })
}

fn ended(ended: &Ended) -> Value {
    json!({
        "exec/ended.exit-code": ended.exit_code(),
        "exec/ended.output": host::lossy(&ended.output()),
        "exec/ended.error-output": host::lossy(&ended.error_output()),
    })
}

/// A line, what comes back, and then TLS, which the server doesn't speak.
fn talk(connection: &Connection) -> Result<Value, Error> {
    let certificates = connection.peer_certificates().len();
    connection.write(b"hello\n")?;
    let read = connection.read(64)?;
    Ok(json!({
        "connections/connection.peer-certificates": certificates,
        "connections/connection.write": true,
        "connections/connection.read": host::lossy(&read),
        "connections/connection.start-tls": host::given(connection.start_tls("web").map(|()| Value::Null)),
        "connections/connection.shutdown": host::given(connection.shutdown().map(|()| Value::Null)),
    }))
}
