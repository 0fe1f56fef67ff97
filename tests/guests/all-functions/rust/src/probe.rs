//! The role of probes.

use serde_json::{Value, json};
use witlet_plugin_sdk::Error;
use witlet_plugin_sdk::probe::{ExecError, Outcome, ProbeKind, Target};
use witlet_plugin_sdk::secret::{self, SecretError};

use crate::pointers;

/// The outcome that the parameters ask for, with all that the target has as its detail.
pub(crate) fn probe(target: &Target<'_>, parameters: &Value) -> Result<Outcome, Error> {
    let detail = tell(target, parameters).to_string();
    let answer = &parameters["answer"];
    match (answer.as_str(), answer["error"].as_str()) {
        (_, Some(words)) => Err(Error::nothing_found(words)),
        (Some("warning"), None) => Ok(Outcome::Warning(detail)),
        (Some("failure"), None) => Ok(Outcome::Failure(detail)),
        (Some(_) | None, None) => Ok(Outcome::Success(detail)),
    }
}

fn tell(target: &Target<'_>, parameters: &Value) -> Value {
    let pod = target.pod();
    let ports = target
        .named_ports()
        .into_iter()
        .map(|it| json!({"name": it.name, "port": it.port, "protocol": it.protocol}));
    json!({
        "pod": {"namespace": pod.namespace, "name": pod.name, "uid": pod.uid},
        "pod-json-bytes": target.pod_json().len(),
        "pod-pointer": pointers(parameters, |path| target.pod_pointer(path)),
        "container": target.container(),
        "container-id": target.container_id(),
        "restarts": target.restarts(),
        "pod-ips": target.pod_ips(),
        "host-ips": target.host_ips(),
        "named-ports": ports.collect::<Vec<_>>(),
        "kind": match target.kind() {
            ProbeKind::Startup => "startup",
            ProbeKind::Readiness => "readiness",
            ProbeKind::Liveness => "liveness",
        },
        "remaining-milliseconds": !target.remaining().is_zero(),
        "secret": parameters["secret"].as_str().map(secret_of),
        "exec": parameters["command"].as_array().map(|command| exec(target, command)),
    })
}

/// The secret's text, or the contract's name for why there is none.
fn secret_of(name: &str) -> String {
    match secret::get(name) {
        Ok(value) => String::from_utf8_lossy(&value).into_owned(),
        Err(SecretError::NotGranted) => "not-granted".to_owned(),
        Err(SecretError::NotFound) => "not-found".to_owned(),
    }
}

fn exec(target: &Target<'_>, command: &[Value]) -> Value {
    let command: Vec<String> = command.iter().filter_map(Value::as_str).map(str::to_owned).collect();
    match target.exec(&command) {
        Ok(ended) => json!({"exit-code": ended.exit_code, "output": String::from_utf8_lossy(&ended.output)}),
        Err(ExecError::TimedOut) => json!({"timed-out": true}),
        Err(ExecError::Failed { message }) => json!({"failed": message}),
    }
}
