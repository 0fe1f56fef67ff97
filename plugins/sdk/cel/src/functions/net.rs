//! Addresses and networks, as Kubernetes' libraries have them.

use std::net::IpAddr;
use std::rc::Rc;

use super::call::{Call, Function, Outcome};
use crate::value::{Cidr, Value};

pub(super) const FUNCTIONS: &[Function] = &[
    Function { name: "ip", run: ip, signatures: &["(string) ip", "cidr.() ip"] },
    Function { name: "isIP", run: is_ip, signatures: &["(string) bool"] },
    Function { name: "ip.isCanonical", run: is_canonical, signatures: &["(string) bool"] },
    Function { name: "family", run: of_address, signatures: &["ip.() int"] },
    Function { name: "isUnspecified", run: of_address, signatures: &["ip.() bool"] },
    Function { name: "isLoopback", run: of_address, signatures: &["ip.() bool"] },
    Function { name: "isLinkLocalMulticast", run: of_address, signatures: &["ip.() bool"] },
    Function { name: "isLinkLocalUnicast", run: of_address, signatures: &["ip.() bool"] },
    Function { name: "isGlobalUnicast", run: of_address, signatures: &["ip.() bool"] },
    Function { name: "cidr", run: cidr, signatures: &["(string) cidr"] },
    Function { name: "isCIDR", run: is_cidr, signatures: &["(string) bool"] },
    Function { name: "containsIP", run: contains_ip, signatures: &["cidr.(ip) bool", "cidr.(string) bool"] },
    Function {
        name: "containsCIDR",
        run: contains_cidr,
        signatures: &["cidr.(cidr) bool", "cidr.(string) bool"],
    },
    Function { name: "prefixLength", run: prefix_length, signatures: &["cidr.() int"] },
    Function { name: "masked", run: masked, signatures: &["cidr.() cidr"] },
];

fn parse_ip(text: &str) -> Result<IpAddr, String> {
    let shown: String = text.chars().take(60).collect();
    if text.contains('%') {
        return Err(format!("IP address {shown:?} with zone value is not allowed"));
    }
    let address: IpAddr = text.parse().map_err(|_| format!("{shown:?} is no IP address"))?;
    match address {
        IpAddr::V6(address) if address.to_ipv4_mapped().is_some() => {
            Err(format!("IPv4-mapped IPv6 address {shown:?} is not allowed"))
        }
        _ => Ok(address),
    }
}

fn parse_cidr(text: &str) -> Result<Cidr, String> {
    let shown: String = text.chars().take(60).collect();
    let invalid = || format!("{shown:?} is no network: it is written address/length");
    let (address, bits) = text.rsplit_once('/').ok_or_else(invalid)?;
    let is_plain = !bits.is_empty() && bits.bytes().all(|digit| digit.is_ascii_digit());
    if !is_plain || bits.len() > 1 && bits.starts_with('0') {
        return Err(invalid());
    }
    let address = parse_ip(address)?;
    match bits.parse::<u8>() {
        Ok(bits) if bits <= length(address) => Ok(Cidr { address, bits }),
        _ => Err(format!("{shown:?} is no network: its length is at most {}", length(address))),
    }
}

/// How many bits an address has.
fn length(address: IpAddr) -> u8 {
    if address.is_ipv4() { 32 } else { 128 }
}

/// The first bits of an address; the others are zero.
fn prefix(address: IpAddr, bits: u8) -> IpAddr {
    match address {
        IpAddr::V4(address) => {
            let mask = u32::MAX.checked_shl(u32::from(32 - bits.min(32))).unwrap_or(0);
            IpAddr::V4((u32::from(address) & mask).into())
        }
        IpAddr::V6(address) => {
            let mask = u128::MAX.checked_shl(u32::from(128 - bits.min(128))).unwrap_or(0);
            IpAddr::V6((u128::from(address) & mask).into())
        }
    }
}

fn contains(network: Cidr, address: IpAddr) -> bool {
    network.address.is_ipv4() == address.is_ipv4()
        && prefix(network.address, network.bits) == prefix(address, network.bits)
}

fn ip(call: &Call<'_>) -> Outcome {
    call.converts()?;
    match call.args {
        [Value::String(text)] => Ok(Value::Ip(Rc::new(parse_ip(text)?))),
        [Value::Cidr(network)] => Ok(Value::Ip(Rc::new(network.address))),
        _ => call.unfit(),
    }
}

fn is_ip(call: &Call<'_>) -> Outcome {
    call.converts()?;
    let [Value::String(text)] = call.args else { return call.unfit() };
    Ok(Value::Bool(parse_ip(text).is_ok()))
}

fn is_canonical(call: &Call<'_>) -> Outcome {
    call.converts()?;
    let [Value::String(text)] = call.args else { return call.unfit() };
    Ok(Value::Bool(parse_ip(text)?.to_string() == **text))
}

fn of_address(call: &Call<'_>) -> Outcome {
    call.converts()?;
    let [Value::Ip(address)] = call.args else { return call.unfit() };
    let (link_local, multicast_of_link) = match **address {
        IpAddr::V4(address) => (address.is_link_local(), address.octets()[..3] == [224, 0, 0]),
        IpAddr::V6(address) => (address.is_unicast_link_local(), address.segments()[0] & 0xff0f == 0xff02),
    };
    let is_broadcast = matches!(**address, IpAddr::V4(address) if address.is_broadcast());
    Ok(match call.name {
        "family" => Value::Int(if address.is_ipv4() { 4 } else { 6 }),
        "isUnspecified" => Value::Bool(address.is_unspecified()),
        "isLoopback" => Value::Bool(address.is_loopback()),
        "isLinkLocalMulticast" => Value::Bool(multicast_of_link),
        "isLinkLocalUnicast" => Value::Bool(link_local),
        _ => Value::Bool(
            !(is_broadcast
                || link_local
                || address.is_unspecified()
                || address.is_loopback()
                || address.is_multicast()),
        ),
    })
}

fn cidr(call: &Call<'_>) -> Outcome {
    call.converts()?;
    let [Value::String(text)] = call.args else { return call.unfit() };
    Ok(Value::Cidr(Rc::new(parse_cidr(text)?)))
}

fn is_cidr(call: &Call<'_>) -> Outcome {
    call.converts()?;
    let [Value::String(text)] = call.args else { return call.unfit() };
    Ok(Value::Bool(parse_cidr(text).is_ok()))
}

fn contains_ip(call: &Call<'_>) -> Outcome {
    call.converts()?;
    let (network, address) = match call.args {
        [Value::Cidr(network), Value::Ip(address)] => (network, **address),
        [Value::Cidr(network), Value::String(text)] => (network, parse_ip(text)?),
        _ => return call.unfit(),
    };
    Ok(Value::Bool(contains(**network, address)))
}

fn contains_cidr(call: &Call<'_>) -> Outcome {
    call.converts()?;
    let (network, other) = match call.args {
        [Value::Cidr(network), Value::Cidr(other)] => (network, **other),
        [Value::Cidr(network), Value::String(text)] => (network, parse_cidr(text)?),
        _ => return call.unfit(),
    };
    Ok(Value::Bool(network.bits <= other.bits && contains(**network, other.address)))
}

fn prefix_length(call: &Call<'_>) -> Outcome {
    call.converts()?;
    let [Value::Cidr(network)] = call.args else { return call.unfit() };
    Ok(Value::Int(i64::from(network.bits)))
}

fn masked(call: &Call<'_>) -> Outcome {
    call.converts()?;
    let [Value::Cidr(network)] = call.args else { return call.unfit() };
    let address = prefix(network.address, network.bits);
    Ok(Value::Cidr(Rc::new(Cidr { address, bits: network.bits })))
}
