//! Where a hook's request goes.

use std::fmt;

use witlet_core::hook::Scheme;
use witlet_core::network::host_port;

/// Where a request goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Target {
    pub(super) scheme: Scheme,
    pub(super) host: String,
    pub(super) port: u16,
    /// With the query, escaped.
    pub(super) path: String,
}

impl Target {
    /// `host:port`
    pub(super) fn authority(&self) -> String {
        host_port(&self.host, self.port)
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = match self.scheme {
            Scheme::Http => "http",
            Scheme::Https => "https",
        };
        write!(f, "{scheme}://{}{}", self.authority(), self.path)
    }
}
