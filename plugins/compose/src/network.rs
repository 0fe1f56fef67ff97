//! Ports, names and namespaces.

use serde_json::{Map, Value, json};

use crate::values;

#[cfg(test)]
mod tests;

/// Ports that one range may name.
const RANGE_MAX: u16 = 1000;

/// What a service publishes, as ports of a container. A port that compose would publish at random is the container's alone.
pub(crate) fn ports(value: &Value) -> Result<Vec<Value>, String> {
    let Value::Array(items) = value else { return Err("must be a list".to_owned()) };
    let mut ports = Vec::new();
    for item in items {
        match item {
            Value::Object(fields) => ports.extend(long(fields)?),
            item => {
                let text = values::plain(item)?;
                ports.extend(short(&text).map_err(|problem| format!("{text:?} {problem}"))?);
            }
        }
    }
    Ok(ports)
}

/// What a service merely exposes.
pub(crate) fn exposed(value: &Value) -> Result<Vec<Value>, String> {
    let mut ports = Vec::new();
    for text in values::list(value)? {
        ports.extend(short(&text).map_err(|problem| format!("{text:?} {problem}"))?);
    }
    match ports.iter().any(|port| port.get("hostPort").is_some()) {
        true => Err("publishes a port, which is what ports is for".to_owned()),
        false => Ok(ports),
    }
}

/// `[[address:]published:]target[/protocol]`, with ranges of the same length.
fn short(text: &str) -> Result<Vec<Value>, String> {
    let (rest, protocol) = text.split_once('/').unwrap_or((text, "tcp"));
    let (rest, target) = rest.rsplit_once(':').map_or((None, rest), |(rest, target)| (Some(rest), target));
    let (address, published) = match rest {
        None => (None, None),
        Some(rest) if rest.starts_with('[') => match rest.split_once("]:") {
            Some((address, published)) => (Some(&address[1..]), Some(published)),
            None => return Err("isn't a port".to_owned()),
        },
        Some(rest) => rest.rsplit_once(':').map_or((None, Some(rest)), |(a, p)| (Some(a), Some(p))),
    };
    mapped(target, published.filter(|published| !published.is_empty()), address, protocol)
}

fn long(fields: &Map<String, Value>) -> Result<Vec<Value>, String> {
    let (mut target, mut published, mut address, mut protocol) = (None, None, None, "tcp".to_owned());
    for (field, value) in fields {
        let text = values::plain(value).map_err(|problem| format!("{field}: {problem}"))?;
        match field.as_str() {
            "target" => target = Some(text),
            "published" => published = Some(text).filter(|text| !text.is_empty()),
            "host_ip" => address = Some(text),
            "protocol" => protocol = text,
            // Names for people; and with one node both modes are the same.
            "name" | "app_protocol" => {}
            "mode" if ["host", "ingress"].contains(&text.as_str()) => {}
            other => return Err(format!("{other} isn't supported")),
        }
    }
    let target = target.ok_or("target is missing")?;
    mapped(&target, published.as_deref(), address.as_deref(), &protocol)
}

fn mapped(
    target: &str,
    published: Option<&str>,
    address: Option<&str>,
    protocol: &str,
) -> Result<Vec<Value>, String> {
    let protocol = match protocol.to_ascii_lowercase().as_str() {
        "tcp" => "TCP",
        "udp" => "UDP",
        "sctp" => "SCTP",
        other => return Err(format!("has the protocol {other:?}")),
    };
    let targets = range(target)?;
    let published = published.map(range).transpose()?;
    if published.as_ref().is_some_and(|published| published.len() != targets.len()) {
        return Err("has ranges of different lengths".to_owned());
    }
    let ports = targets.iter().enumerate().map(|(index, target)| {
        let mut port = json!({"containerPort": target, "protocol": protocol});
        if let Some(published) = &published {
            port["hostPort"] = json!(published[index]);
            if let Some(address) = address.filter(|address| !address.is_empty()) {
                port["hostIP"] = json!(address);
            }
        }
        port
    });
    Ok(ports.collect())
}

fn range(text: &str) -> Result<Vec<u16>, String> {
    let port = |text: &str| text.parse().ok().filter(|port| *port != 0).ok_or("isn't a port".to_owned());
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    let (first, last): (u16, u16) = (port(first)?, port(last)?);
    match last.checked_sub(first) {
        Some(more) if more < RANGE_MAX => Ok((first..=last).collect()),
        _ => Err("isn't a range of ports".to_owned()),
    }
}

/// Fields of a service that are the pod's.
pub(crate) fn of_pod(field: &str, value: &Value, pod: &mut Map<String, Value>) -> Result<(), String> {
    let mut set = |name: &str, value: Value| {
        pod.insert(name.to_owned(), value);
    };
    match field {
        "extra_hosts" => set("hostAliases", json!(host_aliases(value)?)),
        "hostname" => {
            let name = values::plain(value)?;
            if !values::is_label(&name) {
                return Err(format!("{name:?} must be lower-case letters, digits and `-`"));
            }
            set("hostname", json!(name));
        }
        "dns" => {
            // A pod with name servers of its own has no others.
            set("dnsPolicy", json!("None"));
            let config = pod.entry("dnsConfig").or_insert_with(|| json!({}));
            config["nameservers"] = json!(values::list(value)?);
        }
        "dns_search" => {
            let config = pod.entry("dnsConfig").or_insert_with(|| json!({}));
            config["searches"] = json!(values::list(value)?);
        }
        _ => {
            let text = values::plain(value)?;
            match (field, text.as_str()) {
                ("network_mode", "host") => set("hostNetwork", json!(true)),
                ("network_mode", "bridge") | ("ipc", "private") => {}
                ("pid", "host") => set("hostPID", json!(true)),
                ("ipc", "host") => set("hostIPC", json!(true)),
                ("userns_mode", "host") => set("hostUsers", json!(true)),
                (_, other) => return Err(format!("{other:?} isn't supported")),
            }
        }
    }
    Ok(())
}

/// `name:address` or `name=address`, as a list or a map.
fn host_aliases(value: &Value) -> Result<Vec<Value>, String> {
    let pairs: Vec<(String, String)> = match value {
        Value::Object(fields) => {
            let pair = |(name, address): (&String, &Value)| Ok((name.clone(), values::plain(address)?));
            fields.iter().map(pair).collect::<Result<_, String>>()?
        }
        value => {
            let mut pairs = Vec::new();
            for item in values::list(value)? {
                let pair = item.split_once('=').or_else(|| item.split_once(':'));
                let (name, address) = pair.ok_or_else(|| format!("{item:?} must be name=address"))?;
                pairs.push((name.to_owned(), address.to_owned()));
            }
            pairs
        }
    };
    let mut aliases = Vec::new();
    for (name, address) in pairs {
        let address = address.trim_start_matches('[').trim_end_matches(']');
        let address: std::net::IpAddr =
            address.parse().map_err(|_| format!("{address:?} must be an address"))?;
        aliases.push(json!({"ip": address.to_string(), "hostnames": [name]}));
    }
    Ok(aliases)
}
