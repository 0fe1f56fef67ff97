//! Addresses that aren't ordinary hosts of a network: pure facts about them.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

#[cfg(test)]
mod tests;

/// Why an address isn't an ordinary one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Special {
    /// This host (127.0.0.0/8, ::1).
    Loopback,
    /// No address (0.0.0.0/8, ::). Linux connects it to this host.
    Unspecified,
    /// Valid on one link only (169.254.0.0/16, fe80::/10). Clouds serve metadata, credentials among them, at 169.254.169.254.
    LinkLocal,
    /// Where a cloud serves metadata outside the link-local range.
    Metadata,
    /// Many hosts (224.0.0.0/4, ff00::/8).
    Multicast,
    /// All hosts (255.255.255.255).
    Broadcast,
    /// An IPv4 address in a form that only the network can read (64:ff9b:1::/48, RFC 8215).
    Translated,
}

/// Where clouds serve metadata outside the link-local range: Alibaba, Oracle and Azure, as their manuals have it.
const METADATA_V4: [Ipv4Addr; 3] =
    [Ipv4Addr::new(100, 100, 100, 200), Ipv4Addr::new(192, 0, 0, 192), Ipv4Addr::new(168, 63, 129, 16)];
/// The same in IPv6: Amazon and Google.
const METADATA_V6: [Ipv6Addr; 2] =
    [Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254), Ipv6Addr::new(0xfd20, 0xce, 0, 0, 0, 0, 0, 0x254)];

/// Returns what is special about an address. An IPv4 address in the clothes of an IPv6 address is judged as what it is.
pub(crate) fn special(ip: IpAddr) -> Option<Special> {
    match ip.to_canonical() {
        IpAddr::V4(ip) => special_v4(ip),
        IpAddr::V6(ip) => special_v6(ip),
    }
}

fn special_v4(ip: Ipv4Addr) -> Option<Special> {
    if ip.is_loopback() {
        Some(Special::Loopback)
    } else if ip.octets()[0] == 0 {
        Some(Special::Unspecified)
    } else if ip.is_link_local() {
        Some(Special::LinkLocal)
    } else if METADATA_V4.contains(&ip) {
        Some(Special::Metadata)
    } else if ip.is_multicast() {
        Some(Special::Multicast)
    } else if ip.is_broadcast() {
        Some(Special::Broadcast)
    } else {
        None
    }
}

fn special_v6(ip: Ipv6Addr) -> Option<Special> {
    if ip.is_loopback() {
        Some(Special::Loopback)
    } else if ip.is_unspecified() {
        Some(Special::Unspecified)
    } else if ip.is_unicast_link_local() {
        Some(Special::LinkLocal)
    } else if METADATA_V6.contains(&ip) {
        Some(Special::Metadata)
    } else if ip.is_multicast() {
        Some(Special::Multicast)
    } else if ip.segments()[..3] == [0x64, 0xff9b, 1] {
        Some(Special::Translated)
    } else {
        embedded(ip).and_then(special_v4)
    }
}

/// The IPv4 address that a network may make of an IPv6 address: IPv4-compatible (RFC 4291), NAT64 (RFC 6052), 6to4 (RFC 3056).
fn embedded(ip: Ipv6Addr) -> Option<Ipv4Addr> {
    let last = || Some(Ipv4Addr::from((ip.to_bits() & u128::from(u32::MAX)) as u32));
    match ip.segments() {
        [0, 0, 0, 0, 0, 0, _, _] | [0x64, 0xff9b, 0, 0, 0, 0, _, _] => last(),
        [0x2002, high, low, ..] => Some(Ipv4Addr::from((u32::from(high) << 16) | u32::from(low))),
        _ => None,
    }
}
