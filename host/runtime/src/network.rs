//! What a pod may do on the network: decisions about addresses, without a socket in sight.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use serde::{Deserialize, Serialize};

use crate::address::is_pod_address;

/// The network of a pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Network {
    /// The pod has one address and nothing else.
    Pod(Ipv4Addr),
    /// The pod is on the node's network (`hostNetwork: true`) and isn't confined.
    Host,
}

/// Why an address may not be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// The pod has no such address.
    NotThePods,
    /// Not a place that pods may talk to.
    OutOfReach,
    /// Pods have no IPv6.
    NoIpv6,
}

impl Network {
    /// Where a bind to `requested` binds: to the pod's address if every address is meant. The pod's loopback isn't
    /// apart from its address, so that binding to it alone can't be had.
    pub(crate) fn bind(self, requested: SocketAddr) -> Result<SocketAddr, Refusal> {
        match (self, requested.ip()) {
            (Self::Host, _) => Ok(requested),
            (Self::Pod(own), IpAddr::V4(ip)) if ip.is_unspecified() || ip == own => {
                Ok(SocketAddr::from((own, requested.port())))
            }
            (Self::Pod(_), IpAddr::V4(_)) => Err(Refusal::NotThePods),
            (Self::Pod(_), IpAddr::V6(_)) => Err(Refusal::NoIpv6),
        }
    }

    /// Where traffic to `requested` goes: to pods of this node; `localhost` is the pod itself.
    pub(crate) fn reach(self, requested: SocketAddr) -> Result<SocketAddr, Refusal> {
        match (self, requested.ip()) {
            (Self::Host, _) => Ok(requested),
            (Self::Pod(_), IpAddr::V4(ip)) if is_pod_address(ip) => Ok(requested),
            (Self::Pod(own), IpAddr::V4(Ipv4Addr::LOCALHOST)) => {
                Ok(SocketAddr::from((own, requested.port())))
            }
            (Self::Pod(_), IpAddr::V4(_)) => Err(Refusal::OutOfReach),
            (Self::Pod(_), IpAddr::V6(_)) => Err(Refusal::NoIpv6),
        }
    }

    /// Returns what a socket is bound to before it talks, so that the traffic comes from the pod.
    pub(crate) fn source(self) -> Option<SocketAddr> {
        match self {
            Self::Pod(own) => Some(SocketAddr::from((own, 0))),
            Self::Host => None,
        }
    }

    /// Returns what `name` means to the pod; `None` where names aren't looked up.
    pub(crate) fn lookup(self, name: &str) -> Option<String> {
        match self {
            Self::Host => Some(name.to_owned()),
            Self::Pod(own) if name.eq_ignore_ascii_case("localhost") => Some(own.to_string()),
            Self::Pod(_) => name.parse::<IpAddr>().ok().map(|ip| ip.to_string()),
        }
    }

    /// The pod's own address; one on the node's network has none of its own.
    pub(crate) fn address(self) -> Option<Ipv4Addr> {
        match self {
            Self::Pod(own) => Some(own),
            Self::Host => None,
        }
    }
}

#[cfg(test)]
mod tests;
