//! Host names, hosts and name servers.

use std::net::IpAddr;

use k8s_openapi::api::core::v1::PodSpec;

use super::{Problems, names, quoted};
use crate::network::dns::{NAMESERVERS_MAX, SEARCH_LINE_BYTES_MAX, SEARCH_PATHS_MAX};
use crate::network::hostname::KERNEL_NAME_BYTES_MAX;

pub(super) fn all(spec: &PodSpec, problems: &mut Problems) {
    let set = |text: &Option<String>| text.clone().filter(|text| !text.is_empty());
    if let Some(hostname) = set(&spec.hostname) {
        names::dns_label("spec.hostname", &hostname, problems);
    }
    if let Some(subdomain) = set(&spec.subdomain) {
        names::dns_label("spec.subdomain", &subdomain, problems);
    }
    if let Some(name) = set(&spec.hostname_override) {
        let path = "spec.hostnameOverride";
        if name.len() > KERNEL_NAME_BYTES_MAX {
            problems.add(path, format!("Too long: must have at most {KERNEL_NAME_BYTES_MAX} bytes"));
        } else {
            names::dns_subdomain(path, &name, problems);
        }
        if spec.set_hostname_as_fqdn == Some(true) {
            problems.add(path, "Forbidden: may not be set when setHostnameAsFQDN is true");
        }
        if spec.host_network == Some(true) {
            problems.add(path, "Forbidden: may not be set when hostNetwork is true");
        }
    }
    for (index, alias) in spec.host_aliases.iter().flatten().enumerate() {
        let path = format!("spec.hostAliases[{index}]");
        address(&format!("{path}.ip"), &alias.ip, problems);
        for (index, name) in alias.hostnames.iter().flatten().enumerate() {
            names::dns_subdomain(&format!("{path}.hostnames[{index}]"), name, problems);
        }
    }
    dns(spec, problems);
}

fn dns(spec: &PodSpec, problems: &mut Problems) {
    let path = "spec.dnsConfig";
    let config = spec.dns_config.clone().unwrap_or_default();
    let servers = config.nameservers.unwrap_or_default();
    if spec.dns_policy.as_deref() == Some("None") && servers.is_empty() {
        problems.add(
            format!("{path}.nameservers"),
            "Required value: must have at least one entry when dnsPolicy is None",
        );
    }
    if servers.len() > NAMESERVERS_MAX {
        problems.add(
            format!("{path}.nameservers"),
            format!("Too many: {}: must have at most {NAMESERVERS_MAX} items", servers.len()),
        );
    }
    for (index, server) in servers.iter().enumerate() {
        address(&format!("{path}.nameservers[{index}]"), server, problems);
    }
    let searches = config.searches.unwrap_or_default();
    if searches.len() > SEARCH_PATHS_MAX {
        problems.add(
            format!("{path}.searches"),
            format!("Too many: {}: must have at most {SEARCH_PATHS_MAX} items", searches.len()),
        );
    } else if searches.join(" ").len() > SEARCH_LINE_BYTES_MAX {
        let message = format!("Too long: must have at most {SEARCH_LINE_BYTES_MAX} bytes together");
        problems.add(format!("{path}.searches"), message);
    }
    for (index, search) in searches.iter().enumerate().filter(|(_, search)| !is_search_path(search)) {
        let message = format!("Invalid value: {}: must be a DNS name", quoted(search));
        problems.add(format!("{path}.searches[{index}]"), message);
    }
    for (index, option) in config.options.iter().flatten().enumerate() {
        if option.name.as_deref().is_none_or(str::is_empty) {
            problems.add(format!("{path}.options[{index}].name"), "Required value");
        }
    }
}

/// A DNS name whose parts may have `_`, perhaps with a final point; or the root alone.
fn is_search_path(search: &str) -> bool {
    let name = search.strip_suffix('.').unwrap_or(search);
    search == "." || names::is_dns_subdomain(&name.replace('_', "0"))
}

fn address(path: &str, text: &str, problems: &mut Problems) {
    if text.parse::<IpAddr>().is_err() {
        problems.add(
            path,
            format!(
                "Invalid value: {}: must be a valid IP address, such as 10.9.8.7 or 2001:db8::ffff",
                quoted(text)
            ),
        );
    }
}
