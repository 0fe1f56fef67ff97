//! When two ports on the host exclude each other.

use witlet_plugin_sdk::HostPort;

/// The address that stands for all. Upstream takes only this spelling for it: `::` is an address like any other.
const ALL_ADDRESSES: &str = "0.0.0.0";

/// The protocol of a port that names none.
const DEFAULT_PROTOCOL: &str = "TCP";

/// Whether any of the requested ports is taken. Ports that the same pod wants twice aren't a conflict here: the pod's
/// validation speaks about those.
pub(crate) fn conflicts(requested: &[HostPort], used: &[HostPort]) -> bool {
    requested.iter().any(|port| used.iter().any(|taken| excludes(port, taken)))
}

fn excludes(one: &HostPort, other: &HostPort) -> bool {
    let (one_ip, other_ip) = (address(one), address(other));
    one.port != 0
        && one.port == other.port
        && protocol(one) == protocol(other)
        && (one_ip == other_ip || one_ip == ALL_ADDRESSES || other_ip == ALL_ADDRESSES)
}

fn address(port: &HostPort) -> &str {
    if port.ip.is_empty() { ALL_ADDRESSES } else { &port.ip }
}

fn protocol(port: &HostPort) -> &str {
    if port.protocol.is_empty() { DEFAULT_PROTOCOL } else { &port.protocol }
}

#[cfg(test)]
mod tests;
