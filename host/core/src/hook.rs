//! Lifecycle hooks: what `postStart` and `preStop` do.

use std::time::Duration;

use k8s_openapi::api::core::v1::{Container, LifecycleHandler};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

use witlet_http_target as http;

use crate::probe::TargetError;
use crate::probe::target::port;

pub use http::Scheme;

#[cfg(test)]
mod tests;

/// How hooks name themselves to HTTP servers.
pub const USER_AGENT: &str = "kube-lifecycle/1.36";
/// The port of an `httpGet` hook that gives an empty one.
const HTTP_PORT: u16 = 80;

/// What a hook does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Hook {
    /// Runs a command in the container.
    Exec {
        command: Vec<String>,
    },
    /// Sends a request. Any answer is a success, whatever its status.
    HttpGet(HttpHook),
    Sleep(Duration),
}

/// The request of an `httpGet` hook, with every reference resolved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpHook {
    /// `http` or `https`; certificates aren't verified.
    pub scheme: Scheme,
    pub host: String,
    pub port: u16,
    /// Path with the query, escaped so that it can be sent as it is.
    pub path: String,
    /// Headers in order, the default ones among them. `Host` may be missing.
    pub headers: Vec<(String, String)>,
}

/// Returns what a handler of the spec comes to. A host that it doesn't name is the pod's address. A `tcpSocket` handler, which
/// the API accepts only for old manifests' sake, is an error, as is one without anything.
///
/// # Errors
/// There is no handler, it is a `tcpSocket`, or its port, host or scheme can't be used.
pub fn hook(
    handler: &LifecycleHandler,
    container: &Container,
    pod_ip: Option<&str>,
) -> Result<Hook, TargetError> {
    if let Some(exec) = &handler.exec {
        return Ok(Hook::Exec { command: exec.command.clone().unwrap_or_default() });
    }
    if let Some(get) = &handler.http_get {
        let port = match &get.port {
            IntOrString::String(name) if name.is_empty() => HTTP_PORT,
            named => port(named, container)?,
        };
        let headers = get.http_headers.iter().flatten();
        let headers: Vec<_> = headers.map(|header| (header.name.as_str(), header.value.as_str())).collect();
        return Ok(Hook::HttpGet(HttpHook {
            scheme: http::scheme(get.scheme.as_deref())?,
            host: http::host(get.host.as_deref(), pod_ip)?.to_owned(),
            port,
            path: http::request_path(get.path.as_deref().unwrap_or_default()),
            headers: http::headers(&headers, USER_AGENT),
        }));
    }
    if let Some(sleep) = &handler.sleep {
        return Ok(Hook::Sleep(Duration::from_secs(u64::try_from(sleep.seconds).unwrap_or_default())));
    }
    Err(if handler.tcp_socket.is_some() { TargetError::TcpSocketHook } else { TargetError::NoHandler })
}
