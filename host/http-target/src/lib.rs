//! What HTTP probes and hooks of Kubernetes are sent to: the rules of upstream's `pkg/probe` (`GetProbeUrl`,
//! `newProbeRequest`) and of Go's parsing of URLs, over plain strings. Compiled for the host and for components.

#![forbid(unsafe_code)]

mod headers;
mod path;

use std::fmt;

pub use headers::headers;
pub use path::request_path;

/// How probes name themselves to HTTP and gRPC servers.
pub const USER_AGENT: &str = "kube-probe/1.36";

/// Scheme of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scheme {
    Http,
    Https,
}

impl Scheme {
    /// Returns the name as it stands in a URL.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Https => "https",
        }
    }
}

/// A request that can't be sent anywhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TargetError {
    /// It names no host, and the pod has no address yet.
    NoAddress,
    /// The number isn't one of a port.
    InvalidPort { port: i64 },
    /// The scheme is neither `HTTP` nor `HTTPS`.
    UnknownScheme { scheme: String },
}

impl fmt::Display for TargetError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoAddress => f.write_str("the pod has no IP address"),
            Self::InvalidPort { port } => write!(f, "invalid port number: {port}"),
            Self::UnknownScheme { scheme } => write!(f, "unsupported scheme {scheme:?}"),
        }
    }
}

impl std::error::Error for TargetError {}

/// A number that is a port's: 1 to 65535.
///
/// # Errors
/// [`TargetError::InvalidPort`] for any other.
///
/// ```
/// # use witlet_http_target::port_number;
/// assert_eq!(port_number(65_535), Ok(65_535));
/// assert_eq!(port_number(0).expect_err("no one's").to_string(), "invalid port number: 0");
/// ```
pub fn port_number(number: i64) -> Result<u16, TargetError> {
    match u16::try_from(number) {
        Ok(port) if port > 0 => Ok(port),
        Ok(_) | Err(_) => Err(TargetError::InvalidPort { port: number }),
    }
}

/// The host that the spec names, or else the pod's address.
///
/// # Errors
/// [`TargetError::NoAddress`] if neither is there. Upstream would ask the node instead.
pub fn host<'a>(host: Option<&'a str>, pod_ip: Option<&'a str>) -> Result<&'a str, TargetError> {
    let given = host.filter(|host| !host.is_empty());
    given.or(pod_ip.filter(|ip| !ip.is_empty())).ok_or(TargetError::NoAddress)
}

/// The scheme, in any case; HTTP if the spec doesn't say.
///
/// # Errors
/// [`TargetError::UnknownScheme`] for any other than `HTTP` and `HTTPS`.
pub fn scheme(scheme: Option<&str>) -> Result<Scheme, TargetError> {
    let scheme = scheme.unwrap_or_default();
    if scheme.is_empty() || scheme.eq_ignore_ascii_case("http") {
        return Ok(Scheme::Http);
    }
    if scheme.eq_ignore_ascii_case("https") {
        return Ok(Scheme::Https);
    }
    Err(TargetError::UnknownScheme { scheme: scheme.to_owned() })
}

/// `host:port`, an IPv6 address in brackets.
pub fn host_port(host: &str, port: u16) -> String {
    if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") }
}

#[cfg(test)]
mod tests;
