//! What an operator grants a plugin of the network: each grant is one string.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

use ipnet::IpNet;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::name::{HostName, NameError};

#[cfg(test)]
pub(crate) mod tests;

/// One grant. As text:
///
/// | Text | What it opens |
/// |---|---|
/// | `pod` | the probed pod's addresses, any port |
/// | `pod-loopback` | the loopback interface of the probed pod's own network, any port, through `witlet:probe/connections` |
/// | `probe-host` | the host that the probe's own parameters name, any port |
/// | `10.0.0.0/8`, `192.0.2.7:6379`, `[2001:db8::]/32:1024-2048` | these addresses; without ports, any port |
/// | `registry.example.com:443`, `*.example.com:443` | what these names resolve to; they need a port |
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum NetworkGrant {
    /// The probed pod's addresses.
    Pod,
    /// The loopback interface of the probed pod's own network.
    PodLoopback,
    /// The host that a probe's parameters name.
    ProbeHost,
    /// Addresses. They mean what they say, loopback and link-local ones too.
    Address { net: IpNet, ports: Ports },
    /// Names. They never reach what only an address grant may: see [`Reach`](crate::Reach).
    Name { pattern: NamePattern, ports: Ports },
}

/// Ports from the first to the last, both among them. Never port 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Ports {
    first: u16,
    last: u16,
}

impl Ports {
    /// All ports.
    pub const ALL: Self = Self { first: 1, last: u16::MAX };

    /// These ports; none if the range is empty or has port 0.
    pub fn new(first: u16, last: u16) -> Option<Self> {
        (0 < first && first <= last).then_some(Self { first, last })
    }

    /// Whether this port is one of them.
    pub fn contains(self, port: u16) -> bool {
        (self.first..=self.last).contains(&port)
    }
}

/// A name, or `*.` and a name: every name that ends in it and has at least one label more.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct NamePattern {
    wildcard: bool,
    name: HostName,
}

impl NamePattern {
    /// Whether this name is meant.
    pub fn matches(&self, name: &HostName) -> bool {
        if self.wildcard { name.is_below(&self.name) } else { *name == self.name }
    }
}

/// A text that is no grant.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum GrantError {
    /// Nothing of what a grant may be.
    #[error(
        "network grant {text:?}: {cause}; a grant is `pod`, `pod-loopback`, `probe-host`, an address or net, or a name with a port"
    )]
    Name {
        text: String,
        /// What is wrong with it as a name.
        cause: NameError,
    },
    /// A name without a port.
    #[error("network grant {text:?}: a name needs a port, such as {text}:443")]
    NoPort { text: String },
    /// A port that is none.
    #[error("network grant {text:?}: {ports:?} is neither a port (1 to 65535) nor a range such as 1024-2048")]
    Ports {
        text: String,
        /// What stands where the ports should.
        ports: String,
    },
    /// A net that is none.
    #[error("network grant {text:?}: no prefix length of this kind of address")]
    Prefix { text: String },
    /// An address within a net.
    #[error("network grant {text:?}: the address has bits beyond its prefix; the net is {net}")]
    HostBits {
        text: String,
        /// The net that it is in, as a grant has it.
        net: String,
    },
    /// Brackets that hold no IPv6 address.
    #[error(
        "network grant {text:?}: brackets are for IPv6 addresses, such as [2001:db8::]/32 or [2001:db8::7]:443"
    )]
    Brackets { text: String },
    /// An IPv6 address without brackets: whether its end is a port is ambiguous.
    #[error(
        "network grant {text:?}: an IPv6 address stands in brackets, such as [2001:db8::]/32 or [2001:db8::7]:443"
    )]
    NoBrackets { text: String },
    /// An IPv4 address in the clothes of an IPv6 address. Those are judged as what they are.
    #[error("network grant {text:?}: write IPv4-mapped addresses as IPv4 addresses")]
    Mapped { text: String },
    /// A name that only ever resolves to what names don't reach (RFC 6761 section 6.3).
    #[error(
        "network grant {text:?}: names never reach loopback addresses; grant 127.0.0.1 and [::1] with the port"
    )]
    Localhost { text: String },
}

impl FromStr for NetworkGrant {
    type Err = GrantError;

    fn from_str(text: &str) -> Result<Self, GrantError> {
        match text {
            "pod" => return Ok(Self::Pod),
            "pod-loopback" => return Ok(Self::PodLoopback),
            "probe-host" => return Ok(Self::ProbeHost),
            _ => {}
        }
        if let Some(rest) = text.strip_prefix('[') {
            let (address, rest) =
                rest.split_once(']').ok_or_else(|| GrantError::Brackets { text: text.to_owned() })?;
            let address: Ipv6Addr =
                address.parse().map_err(|_| GrantError::Brackets { text: text.to_owned() })?;
            if address.to_ipv4_mapped().is_some() {
                return Err(GrantError::Mapped { text: text.to_owned() });
            }
            return net(text, address.into(), rest);
        }
        let end = text.find(['/', ':']).unwrap_or(text.len());
        if let Ok(address) = text[..end].parse::<Ipv4Addr>() {
            return net(text, address.into(), &text[end..]);
        }
        if text.bytes().filter(|byte| *byte == b':').count() > 1 {
            return Err(GrantError::NoBrackets { text: text.to_owned() });
        }
        name(text)
    }
}

/// Returns what follows an address: `/prefix`, `:ports`, both or nothing.
fn net(text: &str, address: IpAddr, rest: &str) -> Result<NetworkGrant, GrantError> {
    let bits = if address.is_ipv4() { 32 } else { 128 };
    let (prefix, rest) = match rest.strip_prefix('/') {
        Some(rest) => {
            let end = rest.find(':').unwrap_or(rest.len());
            let prefix = digits(&rest[..end]).and_then(|prefix| u8::try_from(prefix).ok());
            (prefix.ok_or_else(|| GrantError::Prefix { text: text.to_owned() })?, &rest[end..])
        }
        None => (bits, rest),
    };
    let net = IpNet::new(address, prefix).map_err(|_| GrantError::Prefix { text: text.to_owned() })?;
    if net.trunc() != net {
        let net = NetworkGrant::Address { net: net.trunc(), ports: Ports::ALL }.to_string();
        return Err(GrantError::HostBits { text: text.to_owned(), net });
    }
    let ports = match rest.strip_prefix(':') {
        Some(rest) => ports(text, rest)?,
        None if rest.is_empty() => Ports::ALL,
        None => return Err(GrantError::Ports { text: text.to_owned(), ports: rest.to_owned() }),
    };
    Ok(NetworkGrant::Address { net, ports })
}

fn name(text: &str) -> Result<NetworkGrant, GrantError> {
    let (pattern, ports_text) = match text.split_once(':') {
        Some((pattern, ports)) => (pattern, Some(ports)),
        None => (text, None),
    };
    let (wildcard, name) = match pattern.strip_prefix("*.") {
        Some(name) => (true, name),
        None => (false, pattern),
    };
    let name: HostName = name.parse().map_err(|cause| GrantError::Name { text: text.to_owned(), cause })?;
    if name.is_localhost() {
        return Err(GrantError::Localhost { text: text.to_owned() });
    }
    let ports_text = ports_text.ok_or_else(|| GrantError::NoPort { text: text.to_owned() })?;
    let ports = ports(text, ports_text)?;
    Ok(NetworkGrant::Name { pattern: NamePattern { wildcard, name }, ports })
}

fn ports(text: &str, ports: &str) -> Result<Ports, GrantError> {
    let (first, last) = ports.split_once('-').unwrap_or((ports, ports));
    let range = digits(first).zip(digits(last)).and_then(|(first, last)| Ports::new(first, last));
    range.ok_or_else(|| GrantError::Ports { text: text.to_owned(), ports: ports.to_owned() })
}

/// A number in its one form: no sign, no leading zeros.
fn digits(text: &str) -> Option<u16> {
    let number: u16 = text.parse().ok()?;
    (number.to_string() == text).then_some(number)
}

impl fmt::Display for NetworkGrant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Pod => f.write_str("pod"),
            Self::PodLoopback => f.write_str("pod-loopback"),
            Self::ProbeHost => f.write_str("probe-host"),
            Self::Address { net, ports } => {
                match net.addr() {
                    IpAddr::V4(address) => write!(f, "{address}")?,
                    IpAddr::V6(address) => write!(f, "[{address}]")?,
                }
                if net.prefix_len() != net.max_prefix_len() {
                    write!(f, "/{}", net.prefix_len())?;
                }
                if *ports == Ports::ALL { Ok(()) } else { write!(f, ":{ports}") }
            }
            Self::Name { pattern, ports } => write!(f, "{pattern}:{ports}"),
        }
    }
}

impl fmt::Display for Ports {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.first == self.last {
            write!(f, "{}", self.first)
        } else {
            write!(f, "{}-{}", self.first, self.last)
        }
    }
}

impl fmt::Display for NamePattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", if self.wildcard { "*." } else { "" }, self.name)
    }
}

impl TryFrom<String> for NetworkGrant {
    type Error = GrantError;

    fn try_from(text: String) -> Result<Self, GrantError> {
        text.parse()
    }
}

impl From<NetworkGrant> for String {
    fn from(grant: NetworkGrant) -> Self {
        grant.to_string()
    }
}

/// How servers' certificates are judged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TlsPolicy {
    /// They must be valid for the name or address, by the certificate authorities that the node trusts: those of the
    /// system, or of `SSL_CERT_FILE` and `SSL_CERT_DIR`, as they were when the first server was verified.
    #[default]
    Verify,
    /// Every certificate will do, as for upstream's probes and hooks.
    Insecure,
}
