//! What a request of a probe or hook is sent to: upstream's `pkg/probe` (`ResolveContainerPort`, `GetProbeUrl`,
//! `newProbeRequest`).

use k8s_openapi::api::core::v1::{Container, HTTPHeader};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use thiserror::Error;

use super::Scheme;

/// A probe or hook that can't be sent anywhere.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum TargetError {
    /// It says neither what to run nor what to ask.
    #[error("it has no handler")]
    NoHandler,
    /// It is a kind of hook that the API only accepts for old manifests' sake.
    #[error("tcpSocket is no longer supported as a lifecycle hook")]
    TcpSocketHook,
    /// It names no host, and the pod has no address yet.
    #[error("the pod has no IP address")]
    NoAddress,
    /// No port of the container has this name.
    #[error("port {name} not found")]
    UnknownPort {
        /// The name.
        name: String,
    },
    /// The number isn't one of a port.
    #[error("invalid port number: {port}")]
    InvalidPort {
        /// The number.
        port: i64,
    },
    /// The scheme is neither `HTTP` nor `HTTPS`.
    #[error("unsupported scheme {scheme:?}")]
    UnknownScheme {
        /// The scheme.
        scheme: String,
    },
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
    port_number(number)
}

/// A number that is a port's.
pub(super) fn port_number(number: i64) -> Result<u16, TargetError> {
    match u16::try_from(number) {
        Ok(port) if port > 0 => Ok(port),
        Ok(_) | Err(_) => Err(TargetError::InvalidPort { port: number }),
    }
}

/// The host that the spec names, or else the pod's address.
pub(crate) fn host(host: Option<&str>, pod_ip: Option<&str>) -> Result<String, TargetError> {
    let given = host.filter(|host| !host.is_empty());
    let host = given.or(pod_ip.filter(|ip| !ip.is_empty()));
    host.map(str::to_owned).ok_or(TargetError::NoAddress)
}

/// The scheme; HTTP if the spec doesn't say.
pub(crate) fn scheme(scheme: Option<&str>) -> Result<Scheme, TargetError> {
    match scheme.unwrap_or_default().to_ascii_lowercase().as_str() {
        "" | "http" => Ok(Scheme::Http),
        "https" => Ok(Scheme::Https),
        _ => Err(TargetError::UnknownScheme { scheme: scheme.unwrap_or_default().to_owned() }),
    }
}

/// The path and query to ask for. A path that is a whole URL, as the API lets it be, counts from its path on; what may not
/// stand in a request is escaped.
pub(crate) fn request_path(path: &str) -> String {
    if !is_parsable(path) {
        // Upstream sends what it can't parse as a path with everything in it escaped.
        return rooted(escape(path, |byte| is_path_byte(byte) && byte != b'%'));
    }
    let path = path.split_once('#').map_or(path, |(path, _)| path);
    let (path, query) = path.split_once('?').map_or((path, None), |(path, query)| (path, Some(query)));
    let mut target = rooted(escape(without_authority(path), is_path_byte));
    if let Some(query) = query {
        target.push('?');
        target.push_str(&escape(query, |byte| is_path_byte(byte) || byte == b'?'));
    }
    target
}

/// What follows `scheme://authority` or `//authority`.
fn without_authority(path: &str) -> &str {
    let after_slashes = match path.split_once("://") {
        Some((scheme, rest)) if is_scheme(scheme) => Some(rest),
        Some(_) | None => path.strip_prefix("//").filter(|rest| !rest.starts_with('/')),
    };
    match after_slashes {
        Some(rest) => rest.find('/').map_or("", |slash| &rest[slash..]),
        None => path,
    }
}

fn is_scheme(text: &str) -> bool {
    text.starts_with(|first: char| first.is_ascii_alphabetic())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte))
}

/// Whether every `%` begins an escape, and nothing is a control character.
fn is_parsable(path: &str) -> bool {
    let bytes = path.as_bytes();
    bytes.iter().enumerate().all(|(at, byte)| match byte {
        b'%' => bytes.get(at + 1..at + 3).is_some_and(|hex| hex.iter().all(u8::is_ascii_hexdigit)),
        _ => !byte.is_ascii_control(),
    })
}

/// What RFC 3986 lets stand in a path, `%` among it.
fn is_path_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-._~!$&'()*+,;=:@/%".contains(&byte)
}

fn escape(text: &str, stays: impl Fn(u8) -> bool) -> String {
    const HEX: &[u8; 16] = b"0123456789ABCDEF";
    let mut escaped = String::with_capacity(text.len());
    for byte in text.bytes() {
        if stays(byte) {
            escaped.push(char::from(byte));
        } else {
            escaped.push('%');
            escaped.push(char::from(HEX[usize::from(byte >> 4)]));
            escaped.push(char::from(HEX[usize::from(byte & 15)]));
        }
    }
    escaped
}

fn rooted(path: String) -> String {
    if path.starts_with('/') { path } else { format!("/{path}") }
}

/// The spec's headers and the ones that are sent by default. A default one that the spec has as empty isn't sent; of
/// several `Host` headers the first counts.
pub(crate) fn headers(given: Option<&[HTTPHeader]>, user_agent: &str) -> Vec<(String, String)> {
    let given = given.unwrap_or_default();
    let first = |name: &str| given.iter().find(|header| header.name.eq_ignore_ascii_case(name));
    let mut headers: Vec<(String, String)> = Vec::with_capacity(given.len() + 2);
    for header in given {
        let of_default = ["User-Agent", "Accept"].iter().any(|name| header.name.eq_ignore_ascii_case(name));
        let unwanted = of_default && first(&header.name).is_some_and(|first| first.value.is_empty());
        let is_host = header.name.eq_ignore_ascii_case("Host");
        let other_host =
            is_host && (header.value.is_empty() || headers.iter().any(|(name, _)| name == "Host"));
        if !unwanted && !other_host {
            let name = if is_host { "Host".to_owned() } else { header.name.clone() };
            headers.push((name, header.value.clone()));
        }
    }
    for (name, value) in [("User-Agent", user_agent), ("Accept", "*/*")] {
        if first(name).is_none() {
            headers.push((name.to_owned(), value.to_owned()));
        }
    }
    headers
}
