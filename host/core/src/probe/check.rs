//! What a probe of the spec comes to: ports by number, hosts by address, headers with the default ones.

use k8s_openapi::api::core::v1::{Container, Probe};

use super::ProbeCheck;
use super::target::{self, TargetError};

#[cfg(test)]
mod tests;

/// What a probe of this container checks. Hosts that the spec doesn't name are the pod's address.
pub fn check(probe: &Probe, container: &Container, pod_ip: Option<&str>) -> Result<ProbeCheck, TargetError> {
    if let Some(exec) = &probe.exec {
        return Ok(ProbeCheck::Exec { command: exec.command.clone().unwrap_or_default() });
    }
    if let Some(get) = &probe.http_get {
        return Ok(ProbeCheck::HttpGet {
            scheme: target::scheme(get.scheme.as_deref())?,
            host: target::host(get.host.as_deref(), pod_ip)?,
            port: target::port(&get.port, container)?,
            path: target::request_path(get.path.as_deref().unwrap_or_default()),
            headers: target::headers(get.http_headers.as_deref(), super::USER_AGENT),
        });
    }
    if let Some(socket) = &probe.tcp_socket {
        return Ok(ProbeCheck::TcpSocket {
            host: target::host(socket.host.as_deref(), pod_ip)?,
            port: target::port(&socket.port, container)?,
        });
    }
    if let Some(grpc) = &probe.grpc {
        return Ok(ProbeCheck::Grpc {
            host: target::host(None, pod_ip)?,
            port: target::port_number(i64::from(grpc.port))?,
            service: grpc.service.clone().unwrap_or_default(),
        });
    }
    Err(TargetError::NoHandler)
}
