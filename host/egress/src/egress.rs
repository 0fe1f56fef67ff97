//! Resolves names and opens connections within the grants of one call.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use tokio::net::TcpStream;
use tokio::time::Instant;
use witlet_core::network::host_port;

use crate::connect::{ConnectError, connect};
use crate::error::LookupError;
use crate::name::HostName;
use crate::reach::{Pinned, Reach};
use crate::resolve::{Resolve, SystemResolver};
use crate::tls::{AuthorityError, Trust};

#[cfg(test)]
mod tests;

/// The node's way out. Clones are cheap.
#[derive(Clone)]
pub struct Egress {
    pub(crate) system: SystemResolver,
    pub(crate) resolver: Arc<dyn Resolve>,
    pub(crate) trust: Trust,
}

impl Egress {
    /// With the node's resolver and the certificate authorities that the node trusts.
    pub fn system() -> Self {
        let system = SystemResolver::new();
        Self { resolver: Arc::new(system.clone()), system, trust: Trust::default() }
    }

    /// The same for one more plugin, with a share of its own in the lookups that the node makes at a time.
    pub fn share(&self) -> Self {
        let system = self.system.share();
        Self { resolver: Arc::new(system.clone()), system, trust: self.trust.clone() }
    }

    /// The same with another resolver.
    pub fn with_resolver(self, resolver: Arc<dyn Resolve>) -> Self {
        Self { resolver, ..self }
    }

    /// The same, trusting the certificate authorities in a PEM text next to the node's own.
    ///
    /// # Errors
    /// The text isn't PEM, or has no, too many or invalid certificates.
    pub fn with_authorities(self, pem: &[u8]) -> Result<Self, AuthorityError> {
        Ok(Self { trust: self.trust.with_authorities(pem)?, ..self })
    }

    /// The addresses that a call reaches by a name, at least one. They stay the same for the whole call. Takes as long
    /// as the resolver does: with the node's at most [`LOOKUP_TIME_MAX`](crate::resolve::LOOKUP_TIME_MAX).
    ///
    /// # Errors
    /// The call may not reach the name, or it can't be resolved in time.
    pub async fn look_up(&self, reach: &Reach, name: &str) -> Result<Vec<IpAddr>, LookupError> {
        let denied = || LookupError::Denied { name: name.to_owned() };
        let host: HostName = name.parse().map_err(|_| denied())?;
        if !reach.opens(&host, None) {
            return Err(denied());
        }
        let pinned = match reach.pinned(&host) {
            Some(pinned) => pinned,
            None => {
                let resolved = self.resolver.resolve(&host).await?;
                reach.pin(&host, &resolved)
            }
        };
        match pinned {
            Pinned::Addresses(addresses) => Ok(addresses),
            Pinned::NothingPermitted => Err(LookupError::AddressesDenied { name: name.to_owned() }),
            Pinned::TooMany => Err(LookupError::TooMany),
        }
    }

    /// Opens a connection to an address or name, before the deadline.
    pub(crate) async fn connect(
        &self,
        reach: &Reach,
        host: &str,
        port: u16,
        deadline: Instant,
    ) -> Result<TcpStream, ConnectError> {
        let to = host_port(host, port);
        // An address needs no lookup.
        let addresses = match host.parse::<IpAddr>() {
            Ok(ip) => vec![SocketAddr::new(ip, port)],
            Err(_) if !reach.permits_name(host, port) => return Err(ConnectError::Denied { to }),
            Err(_) => match tokio::time::timeout_at(deadline, self.look_up(reach, host)).await {
                Ok(found) => found?.into_iter().map(|ip| SocketAddr::new(ip, port)).collect(),
                Err(_) => return Err(ConnectError::Timeout { to }),
            },
        };
        let permitted: Vec<SocketAddr> =
            addresses.into_iter().filter(|address| reach.permits(*address)).collect();
        if permitted.is_empty() {
            return Err(ConnectError::Denied { to });
        }
        connect(to, &permitted, deadline).await
    }
}
