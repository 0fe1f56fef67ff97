//! Addresses of the loopback network, one for each scenario.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::atomic::{AtomicU32, Ordering};

use serde_json::Value;

/// Written in a case's configuration, parameters or grants, it stands for the loopback address that the case has for itself.
pub(crate) const ADDRESS_PLACEHOLDER: &str = "${ADDRESS}";

/// An address of the loopback network that nothing else in this process has: all of 127/8 answers on Linux. Another process may
/// have it; who can't listen takes another one.
pub(crate) fn address() -> IpAddr {
    /// From 127.96.0.0 to 127.127.255.255: below lie the addresses of the embedded runtime's pods.
    const FIRST: u32 = (127 << 24) | (96 << 16);
    const COUNT: u32 = 32 << 16;
    static NEXT: AtomicU32 = AtomicU32::new(0);
    // Processes that run side by side begin far from each other.
    let begin = std::process::id().wrapping_mul(7919);
    let offset = begin.wrapping_add(NEXT.fetch_add(1, Ordering::Relaxed)) % COUNT;
    // Neither a network's nor a broadcast address: those confuse some guests.
    let address = FIRST + offset;
    let last = address & 0xff;
    IpAddr::V4(Ipv4Addr::from(if last == 0 || last == 255 { address ^ 0x7f } else { address }))
}

/// Every text of a JSON value with the placeholder replaced.
pub(crate) fn placed(value: &Value, address: IpAddr) -> Value {
    match value {
        Value::String(text) if text.contains(ADDRESS_PLACEHOLDER) => {
            Value::String(text.replace(ADDRESS_PLACEHOLDER, &address.to_string()))
        }
        Value::Array(items) => items.iter().map(|item| placed(item, address)).collect(),
        Value::Object(fields) => {
            fields.iter().map(|(name, field)| (name.clone(), placed(field, address))).collect()
        }
        other => other.clone(),
    }
}
