//! What a probe asks of its type: the type's name, and the parameters as text.
//!
//! What only the spec knows is settled here: names of ports become numbers, and `$(VAR)` becomes the value of the container's
//! plain variables. Everything else, default hosts, paths and headers among it, is the type's business.

use std::collections::HashMap;
use std::sync::Arc;

use k8s_openapi::api::core::v1::{Container, HTTPGetAction, Probe, TCPSocketAction};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use serde_json::{Value, json};
use thiserror::Error;
use witlet_http_target::port_number;

use super::target::{self, TargetError};
use crate::container::spec::expand_variables;

#[cfg(test)]
mod tests;

/// Longest command of a probe once variables are replaced, all words together, in bytes. A pod's own text has at most half as
/// many more; without a bound, many words that name one long variable would fill the memory.
pub const COMMAND_BYTES_MAX: usize = 1024 * 1024;

/// What a type is asked to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProbeHandler {
    /// Name of the type.
    pub probe_type: Arc<str>,
    /// A JSON object as text.
    pub parameters: Arc<str>,
}

/// A probe that can't be put to any type.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum HandlerError {
    /// What it is sent to is wrong.
    #[error(transparent)]
    Target(#[from] TargetError),
    /// With its variables replaced, a text would be longer than Linux takes one.
    #[error("{text} is too long after its variables are expanded")]
    TooLong { text: &'static str },
}

impl ProbeHandler {
    pub(super) fn new(probe_type: &str, parameters: &Value) -> Self {
        Self { probe_type: probe_type.into(), parameters: parameters.to_string().into() }
    }
}

/// Returns what a probe of the spec asks of its type: `exec`, `httpGet`, `tcpSocket` or `grpc`, with the spec's own object. Variables
/// are replaced in commands only, as upstream has it (`ExpandContainerCommandOnlyStatic`: a variable whose value comes
/// from elsewhere counts as empty).
///
/// # Errors
/// There is no handler, its port, host or scheme can't be used, or a text is too long once its variables are replaced.
pub fn handler_of_spec(probe: &Probe, container: &Container) -> Result<ProbeHandler, HandlerError> {
    if let Some(exec) = &probe.exec {
        let env = plain_env(container);
        let mut left = COMMAND_BYTES_MAX;
        let mut command = Vec::new();
        for word in exec.command.iter().flatten() {
            let word = expand_variables(word, |name| env.get(name).copied())
                .map_err(|_| HandlerError::TooLong { text: "an argument of the command" })?;
            left = left.checked_sub(word.len()).ok_or(HandlerError::TooLong { text: "the command" })?;
            command.push(word);
        }
        return Ok(ProbeHandler::new("exec", &json!({ "command": command })));
    }
    if let Some(get) = &probe.http_get {
        let get = HTTPGetAction { port: number(&get.port, container)?, ..get.clone() };
        return Ok(ProbeHandler::new("httpGet", &json!(get)));
    }
    if let Some(socket) = &probe.tcp_socket {
        let socket = TCPSocketAction { port: number(&socket.port, container)?, ..socket.clone() };
        return Ok(ProbeHandler::new("tcpSocket", &json!(socket)));
    }
    if let Some(grpc) = &probe.grpc {
        port_number(i64::from(grpc.port)).map_err(TargetError::from)?;
        return Ok(ProbeHandler::new("grpc", &json!(grpc)));
    }
    Err(TargetError::NoHandler.into())
}

/// The container's variables that have a literal value; those that get theirs from elsewhere are empty. The last of a name
/// counts.
pub(super) fn plain_env(container: &Container) -> HashMap<&str, &str> {
    let plain = container.env.iter().flatten();
    plain.map(|variable| (variable.name.as_str(), variable.value.as_deref().unwrap_or_default())).collect()
}

fn number(port: &IntOrString, container: &Container) -> Result<IntOrString, TargetError> {
    target::port(port, container).map(|port| IntOrString::Int(i32::from(port)))
}
