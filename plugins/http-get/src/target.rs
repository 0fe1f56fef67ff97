//! Where a request goes, and what it says.

use std::fmt;

use witlet_http_target::{Scheme, USER_AGENT, host_port, port_number, request_path, scheme};
use witlet_plugin_sdk::Error;
use witlet_plugin_sdk::http::{self, Request};

use crate::Parameters;

/// Where a request goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Target {
    pub(crate) scheme: Scheme,
    /// Address or name, without brackets.
    pub(crate) host: String,
    pub(crate) port: u16,
    /// With the query, escaped.
    pub(crate) path: String,
}

impl Target {
    /// What the parameters say, at this host.
    pub(crate) fn of(parameters: &Parameters, host: &str) -> Result<Self, Error> {
        let invalid =
            |field: &str, error: witlet_http_target::TargetError| Error::invalid(field, error.to_string());
        Ok(Self {
            scheme: scheme(parameters.scheme.as_deref()).map_err(|error| invalid("scheme", error))?,
            host: host.to_owned(),
            port: port_number(parameters.port).map_err(|error| invalid("port", error))?,
            path: request_path(parameters.path.as_deref().unwrap_or_default()),
        })
    }

    /// A GET of it.
    pub(crate) fn request(&self, headers: Vec<(String, String)>) -> Request {
        let scheme = match self.scheme {
            Scheme::Http => http::Scheme::Http,
            Scheme::Https => http::Scheme::Https,
        };
        Request {
            method: "GET".to_owned(),
            scheme,
            authority: host_port(&self.host, self.port),
            path: self.path.clone(),
            headers,
            body: Vec::new(),
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}{}", self.scheme.as_str(), host_port(&self.host, self.port), self.path)
    }
}

/// Headers that belong to the connection, which is the host's: it is closed after the answer.
const OF_CONNECTION: [&str; 6] =
    ["Connection", "Keep-Alive", "Proxy-Connection", "Transfer-Encoding", "Upgrade", "HTTP2-Settings"];

/// The spec's headers and the default ones.
pub(crate) fn headers(parameters: &Parameters) -> Vec<(String, String)> {
    let given = parameters.http_headers.as_deref().unwrap_or_default();
    let given: Vec<(&str, &str)> = given
        .iter()
        .filter(|header| !OF_CONNECTION.iter().any(|known| header.name.eq_ignore_ascii_case(known)))
        .map(|header| (header.name.as_str(), header.value.as_str()))
        .collect();
    witlet_http_target::headers(&given, USER_AGENT)
}
