//! Which port of a container a probe or hook means (upstream: `ResolveContainerPort`). The rest of where requests go is
//! `witlet_http_target`'s, which components share.

use k8s_openapi::api::core::v1::Container;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use thiserror::Error;
use witlet_http_target as http;

/// A probe or hook that can't be sent anywhere.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum TargetError {
    /// It says neither what to run nor what to ask.
    #[error("missing handler")]
    NoHandler,
    /// It is a kind of hook that the API only accepts for old manifests' sake.
    #[error("tcpSocket is no longer supported as a lifecycle hook")]
    TcpSocketHook,
    /// No port of the container has this name.
    #[error("port {name} not found")]
    UnknownPort { name: String },
    /// Its number, host or scheme can't be used.
    #[error(transparent)]
    Request(#[from] http::TargetError),
}

/// The number of a port that the spec gives by number, by a name that the container knows, or by digits.
pub(crate) fn port(port: &IntOrString, container: &Container) -> Result<u16, TargetError> {
    let number = match port {
        IntOrString::Int(number) => i64::from(*number),
        IntOrString::String(name) => {
            let mut ports = container.ports.iter().flatten();
            let named = ports.find(|port| port.name.as_deref() == Some(name));
            match named {
                Some(port) => i64::from(port.container_port),
                None => name.parse().map_err(|_| TargetError::UnknownPort { name: name.clone() })?,
            }
        }
    };
    Ok(http::port_number(number)?)
}
