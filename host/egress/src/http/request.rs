//! What is sent of a request, and where to.

use http::header::{CONNECTION, HOST, HeaderName, HeaderValue, TE, TRANSFER_ENCODING, UPGRADE};
use http::uri::Authority;
use http::{HeaderMap, Method, Request, Uri, Version};
use thiserror::Error;

#[cfg(test)]
mod tests;

/// Headers that say how a connection is used (RFC 9110 section 7.6.1), and those that would mean another one.
const OF_THE_CONNECTION: [HeaderName; 7] = [
    CONNECTION,
    HeaderName::from_static("keep-alive"),
    HeaderName::from_static("proxy-connection"),
    HeaderName::from_static("http2-settings"),
    TE,
    TRANSFER_ENCODING,
    UPGRADE,
];

/// A request that can't be sent.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum RequestError {
    /// `CONNECT` would make a tunnel.
    #[error("method CONNECT is not supported")]
    Connect,
    /// Not `http` or `https`.
    #[error("unsupported protocol scheme {scheme:?}")]
    Scheme {
        /// The scheme; empty if there is none.
        scheme: String,
    },
    /// No host, or a port that is none.
    #[error("{authority:?} must be HOST or HOST:PORT")]
    Authority {
        /// What stands there; empty if there is nothing.
        authority: String,
    },
    /// Several headers named `Host`.
    #[error("more than one Host header")]
    SeveralHosts,
}

/// Where a request goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Destination {
    pub(super) tls: bool,
    /// An address without brackets, or a name.
    pub(super) host: String,
    pub(super) port: u16,
}

/// The destination of a request, and the request as it is sent there.
pub(super) fn prepare<B>(request: Request<B>) -> Result<(Destination, Request<B>), RequestError> {
    let (mut parts, body) = request.into_parts();
    if parts.method == Method::CONNECT {
        return Err(RequestError::Connect);
    }
    let tls = match parts.uri.scheme_str() {
        Some("http") => false,
        Some("https") => true,
        other => return Err(RequestError::Scheme { scheme: other.unwrap_or_default().to_owned() }),
    };
    let none = || RequestError::Authority { authority: String::new() };
    let authority = parts.uri.authority().ok_or_else(none)?;
    let (host, port) = host_and_port(authority)?;
    let default_host = match port {
        Some(port) => format!("{host}:{port}"),
        None => host.to_owned(),
    };
    let port = port.unwrap_or(if tls { 443 } else { 80 });
    let invalid = || RequestError::Authority { authority: authority.to_string() };
    let default_host = HeaderValue::try_from(default_host).map_err(|_| invalid())?;
    let host = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host).to_owned();
    parts.headers = headers(&parts.headers, default_host)?;
    let path = parts.uri.path_and_query().map_or("/", |path| path.as_str());
    // A query may follow the authority at once.
    let path = if path.starts_with('/') { path.to_owned() } else { format!("/{path}") };
    parts.uri = Uri::try_from(path).map_err(|_| invalid())?;
    parts.version = Version::HTTP_11;
    Ok((Destination { tls, host, port }, Request::from_parts(parts, body)))
}

/// Host as it stands there, and port, of an authority.
fn host_and_port(authority: &Authority) -> Result<(&str, Option<u16>), RequestError> {
    let invalid = || RequestError::Authority { authority: authority.to_string() };
    let host = authority.host();
    let text = authority.as_str();
    // A user and password in front are no one's here.
    let text = text.rsplit_once('@').map_or(text, |(_, text)| text);
    let rest = text.strip_prefix(host).ok_or_else(invalid)?;
    if host.is_empty() {
        return Err(invalid());
    }
    match rest {
        "" | ":" => Ok((host, None)),
        _ => {
            let digits = rest.strip_prefix(':').filter(|port| port.bytes().all(|byte| byte.is_ascii_digit()));
            let port = digits.and_then(|port| port.parse().ok()).filter(|port| *port != 0);
            Ok((host, Some(port.ok_or_else(invalid)?)))
        }
    }
}

/// The headers that are sent: `Host` first, as servers like it.
fn headers(given: &HeaderMap, default_host: HeaderValue) -> Result<HeaderMap, RequestError> {
    let mut hosts = given.get_all(HOST).iter();
    let host = hosts.next().cloned().unwrap_or(default_host);
    if hosts.next().is_some() {
        return Err(RequestError::SeveralHosts);
    }
    let mut sent = HeaderMap::with_capacity(given.len() + 2);
    sent.insert(HOST, host);
    for (name, value) in given {
        if *name != HOST && !OF_THE_CONNECTION.contains(name) {
            sent.append(name, value.clone());
        }
    }
    sent.insert(CONNECTION, HeaderValue::from_static("close"));
    Ok(sent)
}
