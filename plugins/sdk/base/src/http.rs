//! HTTP requests with a deadline, for plugins with the grant `network`. They wait synchronously, and never longer than
//! the given timeout. Redirects aren't followed: the answer says where they lead.
//!
//! ```
//! use std::time::Duration;
//! use witlet_plugin_sdk_base::facts::{ScriptedAnswer, serve_http};
//! use witlet_plugin_sdk_base::http::{Request, send};
//! use witlet_plugin_sdk_base::time::Deadline;
//!
//! // On the machine where the plugin is developed, a test says what is answered:
//! serve_http(|request| match request.path.as_str() {
//!     "/health" => Ok(ScriptedAnswer { body: b"fine".to_vec(), ..ScriptedAnswer::default() }),
//!     _ => Ok(ScriptedAnswer { status: 404, ..ScriptedAnswer::default() }),
//! });
//!
//! let deadline = Deadline::after(Duration::from_secs(1));
//! let mut answer = send(&Request::get("http://10.0.0.7:8080/health")?, deadline)?;
//! assert_eq!((answer.status(), answer.whole_body(1_024, deadline)?), (200, b"fine".to_vec()));
//! # Ok::<(), witlet_plugin_sdk_base::http::Error>(())
//! ```

#[cfg(not(target_family = "wasm"))]
pub(crate) mod facts;
#[cfg(target_family = "wasm")]
mod wasi;

#[cfg(not(target_family = "wasm"))]
use facts as backend;
#[cfg(target_family = "wasm")]
use wasi as backend;

use crate::net::Problem;
use crate::time::Deadline;

/// No answer, or no whole one. The words are those of upstream's events.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The request can't be sent as it is.
    #[error("invalid request: {problem}")]
    Request {
        /// What is wrong with it.
        problem: String,
    },
    /// The plugin's grants don't let it ask there.
    #[error("asking {authority} isn't granted to the plugin")]
    Denied {
        /// Host and port.
        authority: String,
    },
    /// There is no connection.
    #[error("dial tcp {authority}: {problem}")]
    Dial {
        /// Host and port.
        authority: String,
        /// Why not.
        problem: Problem,
    },
    /// TLS could not be agreed on.
    #[error("tls: {problem}")]
    Tls {
        /// What went wrong.
        problem: String,
    },
    /// What came isn't HTTP, or breaks off, or is too large.
    #[error("malformed HTTP exchange: {problem}")]
    Malformed {
        /// What is wrong with it.
        problem: String,
    },
    /// The host's words for what it has no code for.
    #[error("{words}")]
    Host {
        /// One sentence.
        words: String,
    },
    /// No answer by the deadline.
    #[error("context deadline exceeded (Client.Timeout exceeded while awaiting headers)")]
    HeadersLate,
    /// The answer began, and didn't end by the deadline.
    #[error("context deadline exceeded (Client.Timeout or context cancellation while reading body)")]
    BodyLate,
    /// The body has more bytes than are taken.
    #[error("the body has more than {bytes_max} bytes")]
    BodyTooLarge {
        /// So many are taken.
        bytes_max: usize,
    },
}

/// How a request travels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheme {
    /// In the clear.
    Http,
    /// Over TLS. Certificates are verified unless the plugin has the grant `tls: insecure`.
    Https,
}

/// A request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// The method, in upper case.
    pub method: String,
    /// How it travels.
    pub scheme: Scheme,
    /// Host and port that the connection is opened to; an IPv6 address in brackets. Without a port it is the scheme's.
    pub authority: String,
    /// Path and query as they are sent: escaped, and beginning with `/`.
    pub path: String,
    /// Headers in their order. The connection's own (such as `Connection`) are the host's. Without a `Host` it is made
    /// from the authority.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
}

impl Request {
    /// A GET of a URL with the scheme `http` or `https`, without headers. What may not stand in a path has to be escaped.
    ///
    /// # Errors
    /// When the text is no such URL.
    pub fn get(url: &str) -> Result<Self, Error> {
        let invalid = |problem: &str| Error::Request { problem: format!("{url:?} {problem}") };
        let (scheme, rest) = url.split_once("://").ok_or_else(|| invalid("has no scheme"))?;
        let scheme = match scheme.to_ascii_lowercase().as_str() {
            "http" => Scheme::Http,
            "https" => Scheme::Https,
            _ => return Err(invalid("has a scheme other than http and https")),
        };
        let rest = rest.split_once('#').map_or(rest, |(rest, _)| rest);
        let (authority, path) = match rest.find(['/', '?']) {
            Some(at) => rest.split_at(at),
            None => (rest, ""),
        };
        if authority.is_empty() || authority.contains('@') {
            return Err(invalid("has no host, or a user before it"));
        }
        if !path.bytes().chain(authority.bytes()).all(|byte| byte.is_ascii_graphic()) {
            return Err(invalid("isn't escaped"));
        }
        Ok(Self {
            method: "GET".to_owned(),
            scheme,
            authority: authority.to_owned(),
            path: if path.starts_with('/') { path.to_owned() } else { format!("/{path}") },
            headers: Vec::new(),
            body: Vec::new(),
        })
    }

    /// The same with one header more.
    #[must_use]
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }
}

/// Sends a request and waits for the answer's headers.
///
/// # Errors
/// When they aren't there by the deadline, or there is no connection.
pub fn send(request: &Request, deadline: Deadline) -> Result<Response, Error> {
    check(request)?;
    backend::send(request, deadline).map(Response)
}

/// Whether it can be sent as RFC 9110 has requests: what could end a line isn't in any part of it.
fn check(request: &Request) -> Result<(), Error> {
    let token = |text: &str| {
        !text.is_empty()
            && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte))
    };
    let invalid = |problem: String| Err(Error::Request { problem });
    if !token(&request.method) {
        return invalid(format!("{:?} is no method", request.method));
    }
    if !request.path.starts_with('/') || !request.path.bytes().all(|byte| byte.is_ascii_graphic()) {
        return invalid(format!("{:?} is no path", request.path));
    }
    for (name, value) in &request.headers {
        if !token(name) {
            return invalid(format!("{name:?} is not a valid header name"));
        }
        if value.bytes().any(|byte| byte.is_ascii_control() && byte != b'\t') {
            return invalid(format!("the value of header {name} can't be sent"));
        }
    }
    Ok(())
}

/// Parts that any body may come in.
const PARTS_MIN: usize = 256;

/// Bytes that the parts beyond those have on average.
const PART_BYTES_MIN: usize = 256;

/// An answer whose body may be still on its way. Dropping it closes the connection.
#[derive(Debug)]
pub struct Response(backend::ResponseReader);

impl Response {
    /// The status code.
    pub fn status(&self) -> u16 {
        self.0.status()
    }

    /// The first value of a header; what isn't UTF-8 in it is replaced.
    pub fn header(&self, name: &str) -> Option<String> {
        self.0.header(name).map(|value| String::from_utf8_lossy(&value).into_owned())
    }

    /// All headers in their order, a value each; what isn't UTF-8 in them is replaced.
    pub fn headers(&self) -> Vec<(String, String)> {
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        self.0.headers().into_iter().map(|(name, value)| (name, text(value))).collect()
    }

    /// Waits for more of the body; nothing once it has ended.
    ///
    /// # Errors
    /// When nothing comes by the deadline, or the body breaks off.
    pub fn read(&mut self, bytes_max: usize, deadline: Deadline) -> Result<Vec<u8>, Error> {
        self.0.read(bytes_max, deadline)
    }

    /// The body's first bytes, at most so many. What follows isn't read.
    ///
    /// # Errors
    /// When they aren't there by the deadline, or the body breaks off before. So does one that comes almost byte by byte:
    /// a server can't make the plugin compute for longer than it may.
    pub fn beginning(&mut self, bytes_max: usize, deadline: Deadline) -> Result<Vec<u8>, Error> {
        let mut body = Vec::new();
        for _ in 0..PARTS_MIN + bytes_max / PART_BYTES_MIN {
            if body.len() >= bytes_max {
                body.truncate(bytes_max);
                return Ok(body);
            }
            let mut part = self.read(bytes_max - body.len(), deadline)?;
            if part.is_empty() {
                return Ok(body);
            }
            body.append(&mut part);
        }
        Err(Error::Malformed { problem: "the body comes in too many parts".to_owned() })
    }

    /// The whole body.
    ///
    /// # Errors
    /// When it isn't there by the deadline, breaks off, or has more bytes than that.
    pub fn whole_body(&mut self, bytes_max: usize, deadline: Deadline) -> Result<Vec<u8>, Error> {
        let body = self.beginning(bytes_max.saturating_add(1), deadline)?;
        if body.len() > bytes_max { Err(Error::BodyTooLarge { bytes_max }) } else { Ok(body) }
    }
}

#[cfg(test)]
mod tests;
