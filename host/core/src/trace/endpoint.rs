//! The address of a collector, as gRPC names it, and what upstream's validation says of the fields of `tracing`.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use thiserror::Error;

mod url;

#[cfg(test)]
mod tests;

/// Where OTLP over gRPC is served unless a configuration says otherwise.
pub const DEFAULT: &str = "localhost:4317";
/// The port of a name without one, as gRPC has it.
const DEFAULT_PORT: u16 = 443;
/// Longest path or name that fits into a socket address on Linux, in bytes, next to the zero that ends the one and begins the other.
const SOCKET_BYTES_MAX: usize = 107;
/// The highest rate: all traces.
const RATE_MAX: i64 = 1_000_000;

/// Where a collector is. Always without TLS.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CollectorEndpoint {
    /// By a name that the system resolves, or an address.
    Tcp {
        host: String,
        port: u16,
    },
    Unix(PathBuf),
    /// A unix socket with a name in place of a path.
    UnixAbstract(String),
}

/// Why a text isn't the address of a collector.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum CollectorEndpointError {
    /// Another kind of address; in upstream's words.
    #[error("{0}")]
    Refused(String),
    /// No host or port.
    #[error("tracing endpoint {endpoint:?} must be HOST:PORT such as {DEFAULT}")]
    HostPort { endpoint: String },
    #[error(
        "tracing endpoint {endpoint:?} must be unix:///PATH or unix-abstract:///NAME, with at most \
         {SOCKET_BYTES_MAX} bytes and without NUL"
    )]
    Socket { endpoint: String },
}

impl Default for CollectorEndpoint {
    fn default() -> Self {
        Self::Tcp { host: "localhost".to_owned(), port: 4317 }
    }
}

impl FromStr for CollectorEndpoint {
    type Err = CollectorEndpointError;

    fn from_str(text: &str) -> Result<Self, CollectorEndpointError> {
        if let Some(refusal) = refusal(text) {
            return Err(CollectorEndpointError::Refused(refusal));
        }
        if let Some(rest) = text.strip_prefix("unix-abstract:") {
            return socket(text, rest).map(|name| Self::UnixAbstract(name.to_owned()));
        }
        if let Some(rest) = text.strip_prefix("unix:") {
            return socket(text, rest).map(|path| Self::Unix(PathBuf::from(path)));
        }
        let (host, port) = host_port(dns_name(text))
            .ok_or_else(|| CollectorEndpointError::HostPort { endpoint: text.to_owned() })?;
        Ok(Self::Tcp { host, port })
    }
}

impl fmt::Display for CollectorEndpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp { host, port } if host.contains(':') => write!(f, "[{host}]:{port}"),
            Self::Tcp { host, port } => write!(f, "{host}:{port}"),
            Self::Unix(path) => write!(f, "unix:{}", path.display()),
            Self::UnixAbstract(name) => write!(f, "unix-abstract:{name}"),
        }
    }
}

/// Returns what stands behind `dns:`, with or without a server that is to be asked (`dns://SERVER/NAME`). The system asks its own. gRPC
/// finds no name in `dns://NAME`, which upstream's validation takes; here the name is meant.
fn dns_name(text: &str) -> &str {
    let Some(rest) = text.strip_prefix("dns:") else { return text };
    match rest.strip_prefix("//") {
        None => rest.trim_start_matches('/'),
        Some(rest) => match rest.split_once('/') {
            Some((_, name)) if !name.is_empty() => name,
            Some((name, _)) => name,
            None => rest,
        },
    }
}

/// Host and port; a host without a port is itself, and no host is this machine.
fn host_port(text: &str) -> Option<(String, u16)> {
    let (host, port) = match text.strip_prefix('[') {
        Some(rest) => {
            let (host, after) = rest.split_once(']')?;
            (host, if after.is_empty() { None } else { Some(after.strip_prefix(':')?) })
        }
        // An IPv6 address without brackets has no port.
        None if text.matches(':').count() > 1 => (text, None),
        None => text.split_once(':').map_or((text, None), |(host, port)| (host, Some(port))),
    };
    let port = port.map_or(Some(DEFAULT_PORT), |port| port.parse().ok().filter(|port| *port != 0))?;
    let is_named =
        !text.is_empty() && host.bytes().all(|byte| byte.is_ascii_graphic() && !b"/?#@".contains(&byte));
    let host = if host.is_empty() { "localhost" } else { host };
    is_named.then(|| (host.to_owned(), port))
}

/// A path or a name; `//` before it could begin an authority, of which there is none.
fn socket<'a>(text: &str, rest: &'a str) -> Result<&'a str, CollectorEndpointError> {
    let socket = match rest.strip_prefix("//") {
        Some(absolute) => Some(absolute).filter(|absolute| absolute.starts_with('/')),
        None => Some(rest),
    };
    let fits = |socket: &&str| (1..=SOCKET_BYTES_MAX).contains(&socket.len()) && !socket.contains('\0');
    socket.filter(fits).ok_or_else(|| CollectorEndpointError::Socket { endpoint: text.to_owned() })
}

/// Why upstream's validation refuses a text, with the text as it shows it; none if it takes it.
fn refusal(given: &str) -> Option<String> {
    let text = if given.contains("//") { given.to_owned() } else { format!("dns://{given}") };
    let scheme = match url::scheme(&text) {
        Ok(scheme) => scheme,
        Err(problem) => return Some(format!("Invalid value: {text:?}: parse {text:?}: {problem}")),
    };
    if ["dns", "unix", "unix-abstract"].contains(&&*scheme) {
        return None;
    }
    Some(format!(
        "Invalid value: {text:?}: unsupported scheme: {scheme}.  Options are none, dns, unix, or unix-abstract.  See \
         https://github.com/grpc/grpc/blob/master/doc/naming.md"
    ))
}

/// Everything that upstream's validation finds wrong with the fields of `tracing`, in its words.
pub fn validate(endpoint: Option<&str>, rate: Option<i64>) -> Vec<String> {
    let rate = rate.and_then(|rate| {
        let why = match rate {
            ..0 => "sampling rate must be positive",
            0..=RATE_MAX => return None,
            _ => "sampling rate per million must be less than or equal to one million",
        };
        Some(format!("tracing.samplingRatePerMillion: Invalid value: {rate}: {why}"))
    });
    let endpoint = endpoint.and_then(refusal).map(|refusal| format!("tracing.endpoint: {refusal}"));
    rate.into_iter().chain(endpoint).collect()
}
