//! The destinations that one call of a plugin may connect to. Pure: no lookups, no connections.

use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::grant::{NetworkGrant, Ports};
use crate::name::HostName;
use crate::special::{Special, special};

#[cfg(test)]
mod tests;

/// How many names a call may have looked up. More are refused.
pub const PINS_MAX: usize = 64;

/// What one call may connect to. Clones are cheap and share what is pinned.
///
/// - Nothing is permitted that no grant opens. IPv4-mapped IPv6 addresses are judged as IPv4 addresses.
/// - An address grant means what it says.
/// - `pod` opens exactly the pod's addresses, whatever they are: in the embedded runtime they are loopback, in the host's network
///   they are the node's.
/// - `probe-host` opens the host that the probe's parameters name, also where it is loopback, but never link-local
///   addresses and clouds' metadata servers: a user who may create pods shouldn't make the node send requests there.
/// - A name opens the addresses that it was pinned to, at the ports that its grant names, but never loopback, link-local,
///   unspecified, multicast or broadcast addresses or clouds' metadata servers, in no form: the server that answers for a name
///   shouldn't choose which of the node's ports it reaches (DNS rebinding). An address grant next to it may still permit them.
#[derive(Clone, Debug)]
pub struct Reach(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    everything: bool,
    grants: Arc<[NetworkGrant]>,
    pod_ips: Vec<IpAddr>,
    probe_host: Option<ProbeHost>,
    pins: Mutex<Vec<Pin>>,
}

#[derive(Debug)]
enum ProbeHost {
    Address(IpAddr),
    Name(HostName),
}

/// A name and what it resolved to.
#[derive(Debug)]
struct Pin {
    name: HostName,
    addresses: Vec<IpAddr>,
}

impl Pin {
    fn outcome(&self) -> Pinned {
        if self.addresses.is_empty() {
            Pinned::NothingPermitted
        } else {
            Pinned::Addresses(self.addresses.clone())
        }
    }
}

/// What looking up a name came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Pinned {
    /// The addresses that this call reaches by the name, in the resolver's order. At least one.
    Addresses(Vec<IpAddr>),
    /// It resolves to nothing that it may open.
    NothingPermitted,
    /// The call has looked up too many names.
    TooMany,
}

impl Reach {
    /// What is reached without any grant.
    pub fn nothing() -> Self {
        Self::new([], &[], None)
    }

    /// Everything. For requests of the node itself to what its operator configured; never for a plugin's.
    pub fn everything() -> Self {
        Self::make(true, Arc::new([]), &[], None)
    }

    /// What these grants open to a call: for a probe with the addresses of the probed pod and the `host` of its
    /// parameters. A host that is neither address nor name opens nothing.
    pub fn new(grants: impl Into<Arc<[NetworkGrant]>>, pod_ips: &[IpAddr], probe_host: Option<&str>) -> Self {
        Self::make(false, grants.into(), pod_ips, probe_host)
    }

    fn make(
        everything: bool,
        grants: Arc<[NetworkGrant]>,
        pod_ips: &[IpAddr],
        probe_host: Option<&str>,
    ) -> Self {
        let probe_host = probe_host.filter(|_| grants.contains(&NetworkGrant::ProbeHost)).and_then(|host| {
            let address = || host.parse().ok().map(|ip: IpAddr| ProbeHost::Address(ip.to_canonical()));
            address().or_else(|| host.parse().ok().map(ProbeHost::Name))
        });
        let pod_ips = pod_ips.iter().map(IpAddr::to_canonical).collect();
        Self(Arc::new(Inner { everything, grants, pod_ips, probe_host, pins: Mutex::default() }))
    }

    /// Whether a connection to this address may be opened, or a datagram sent.
    pub fn permits(&self, to: SocketAddr) -> bool {
        let ip = to.ip().to_canonical();
        self.permits_by_address(ip, Some(to.port()))
            || self.pins().iter().any(|pin| {
                pin.addresses.contains(&ip) && self.permits_by_name(&pin.name, ip, Some(to.port()))
            })
    }

    /// Whether the loopback interface of the probed pod may be reached.
    pub fn permits_pod_loopback(&self) -> bool {
        self.0.everything || self.0.grants.contains(&NetworkGrant::PodLoopback)
    }

    /// Whether what this name resolves to may be reached at this port. Addresses are no names.
    pub fn permits_name(&self, name: &str, port: u16) -> bool {
        name.parse().is_ok_and(|name| self.opens(&name, Some(port)))
    }

    /// Whether this name may be looked up: whether it may be reached at any port.
    pub fn permits_lookup(&self, name: &str) -> bool {
        name.parse().is_ok_and(|name| self.opens(&name, None))
    }

    /// Returns what a name was pinned to.
    pub(crate) fn pinned(&self, name: &HostName) -> Option<Pinned> {
        self.pins().iter().find(|pin| pin.name == *name).map(Pin::outcome)
    }

    /// Pins a name to what it resolved to, once: later answers change nothing, so that a call can't be led from one
    /// address to another. Only what the name may open is kept.
    pub(crate) fn pin(&self, name: &HostName, resolved: &[IpAddr]) -> Pinned {
        let mut pins = self.pins();
        if let Some(pin) = pins.iter().find(|pin| pin.name == *name) {
            return pin.outcome();
        }
        if pins.len() == PINS_MAX {
            return Pinned::TooMany;
        }
        let resolved = resolved.iter().map(IpAddr::to_canonical);
        let addresses = resolved.filter(|ip| self.keeps(name, *ip)).collect();
        let pin = Pin { name: name.clone(), addresses };
        let outcome = pin.outcome();
        pins.push(pin);
        outcome
    }

    fn keeps(&self, name: &HostName, ip: IpAddr) -> bool {
        self.permits_by_name(name, ip, None) || self.permits_by_address(ip, None)
    }

    /// Whether something other than a pinned name opens an address, at a port or (none) at any.
    fn permits_by_address(&self, ip: IpAddr, port: Option<u16>) -> bool {
        let granted = |grant: &NetworkGrant| match grant {
            NetworkGrant::Pod => self.0.pod_ips.contains(&ip),
            NetworkGrant::ProbeHost => {
                matches!(&self.0.probe_host, Some(ProbeHost::Address(host)) if *host == ip) && probe_may(ip)
            }
            NetworkGrant::Address { net, ports } => net.contains(&ip) && covers(*ports, port),
            NetworkGrant::Name { .. } | NetworkGrant::PodLoopback => false,
        };
        self.0.everything || self.0.grants.iter().any(granted)
    }

    /// Whether this name opens an address that it resolves to.
    fn permits_by_name(&self, name: &HostName, ip: IpAddr, port: Option<u16>) -> bool {
        let granted = |grant: &NetworkGrant| match grant {
            NetworkGrant::Pod | NetworkGrant::PodLoopback | NetworkGrant::Address { .. } => false,
            NetworkGrant::ProbeHost => self.is_probe_host(name) && probe_may(ip),
            NetworkGrant::Name { pattern, ports } => {
                pattern.matches(name) && covers(*ports, port) && special(ip).is_none()
            }
        };
        self.0.everything || self.0.grants.iter().any(granted)
    }

    /// Whether a grant names this name, at a port or (none) at any.
    pub(crate) fn opens(&self, name: &HostName, port: Option<u16>) -> bool {
        let granted = |grant: &NetworkGrant| match grant {
            NetworkGrant::Pod | NetworkGrant::PodLoopback | NetworkGrant::Address { .. } => false,
            NetworkGrant::ProbeHost => self.is_probe_host(name),
            NetworkGrant::Name { pattern, ports } => pattern.matches(name) && covers(*ports, port),
        };
        self.0.everything || self.0.grants.iter().any(granted)
    }

    fn is_probe_host(&self, name: &HostName) -> bool {
        matches!(&self.0.probe_host, Some(ProbeHost::Name(host)) if host == name)
    }

    fn pins(&self) -> MutexGuard<'_, Vec<Pin>> {
        // Each change is one push: what a panic leaves behind is whole.
        self.0.pins.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn covers(ports: Ports, port: Option<u16>) -> bool {
    port.is_none_or(|port| ports.contains(port))
}

/// Whether the host that a probe names may have this address.
fn probe_may(ip: IpAddr) -> bool {
    match special(ip) {
        None | Some(Special::Loopback) => true,
        Some(
            Special::Unspecified
            | Special::LinkLocal
            | Special::Metadata
            | Special::Multicast
            | Special::Broadcast
            | Special::Translated,
        ) => false,
    }
}
