//! A pod's resolv.conf for every DNS policy, within the limits of resolvers (upstream: `network/dns/dns.go`).

use std::net::IpAddr;

use k8s_openapi::api::core::v1::{Pod, PodDNSConfig, PodDNSConfigOption};
use thiserror::Error;

use crate::container::plan::sandbox::network_of;
use crate::container::spec::Host;
use crate::event::EventType;
use crate::runtime::{DnsConfig, NamespaceMode};

#[cfg(test)]
mod tests;

/// Name servers that resolvers ask (`MAXNS` of glibc).
pub const NAMESERVERS_MAX: usize = 3;
/// Search paths of one pod.
pub const SEARCH_PATHS_MAX: usize = 32;
/// Bytes of all search paths in one line.
pub const SEARCH_LINE_BYTES_MAX: usize = 2048;
/// Bytes of one search path: glibc aborts at longer ones.
pub const SEARCH_PATH_BYTES_MAX: usize = 253;
/// Search paths that a cluster's domain puts before the host's.
const CLUSTER_SEARCH_PATHS: usize = 3;
/// What pods with the cluster's name servers get before their own options.
const CLUSTER_OPTIONS: [&str; 1] = ["ndots:5"];

/// A resolv.conf can't be read.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum ResolvConfError {
    /// A line says `nameserver` and nothing more.
    #[error("line {line} of resolv.conf: nameserver list is empty")]
    NoNameserver {
        /// From 1.
        line: usize,
    },
}

/// What an event says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warning {
    /// The event for the node, if the warning concerns the node too.
    pub on_node: Option<String>,
    /// Upstream's reason: `DNSConfigForming`, `MissingClusterDNS`.
    pub reason: &'static str,
    pub message: String,
}

impl Warning {
    /// All of them are warnings.
    pub const KIND: EventType = EventType::Warning;
}

/// What a pod's resolv.conf says, and what had to be left out or replaced for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PodDns {
    pub config: DnsConfig,
    /// To be reported as events.
    pub warnings: Vec<Warning>,
}

/// Where a pod's name servers come from.
enum Base {
    Cluster,
    Host,
    Nothing,
}

/// The resolv.conf of a pod: what its policy takes as the base, then what `dnsConfig` adds, cut to the limits.
///
/// # Errors
/// A line of the host's resolv.conf, where that is the base, says `nameserver` and nothing more.
pub fn of_pod(pod: &Pod, host: Host<'_>) -> Result<PodDns, ResolvConfError> {
    let mut config = parse(host.resolv_conf.unwrap_or_default())?;
    let mut warnings = Vec::new();
    match base(pod) {
        Base::Nothing => config = DnsConfig::default(),
        Base::Cluster if !host.cluster_dns.is_empty() => {
            config.servers = host.cluster_dns.iter().map(IpAddr::to_string).collect();
            config.searches = cluster_searches(pod, host.cluster_domain, config.searches);
            config.options = CLUSTER_OPTIONS.map(str::to_owned).to_vec();
        }
        Base::Cluster => {
            warnings.push(missing_cluster_dns(pod));
            of_host(&mut config, host);
        }
        Base::Host => of_host(&mut config, host),
    }
    if let Some(own) = pod.spec.as_ref().and_then(|spec| spec.dns_config.as_ref()) {
        add(&mut config, own);
    }
    config.servers = fit_servers(config.servers, &mut warnings);
    config.searches = fit_searches(config.searches, &mut warnings);
    Ok(PodDns { config, warnings })
}

/// A word that no one knows counts as `ClusterFirst`, the default.
fn base(pod: &Pod) -> Base {
    let policy = pod.spec.as_ref().and_then(|spec| spec.dns_policy.as_deref());
    let on_host = network_of(pod) == NamespaceMode::Node;
    match policy {
        Some("None") => Base::Nothing,
        Some("Default") => Base::Host,
        Some("ClusterFirst") if on_host => Base::Host,
        Some(_) | None => Base::Cluster,
    }
}

fn missing_cluster_dns(pod: &Pod) -> Warning {
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    let meta = &pod.metadata;
    // People and tools search for upstream's words.
    let on_node = "kubelet does not have ClusterDNS IP configured and cannot create Pod using \"ClusterFirst\" policy. \
                   Falling back to \"Default\" policy.";
    let pod = format!("{}_{}({})", text(&meta.name), text(&meta.namespace), text(&meta.uid));
    Warning {
        on_node: Some(on_node.to_owned()),
        reason: "MissingClusterDNS",
        message: format!("pod: {pod:?}. {on_node}"),
    }
}

/// Without the host's resolv.conf a pod asks a name server on its own machine, and searches nowhere.
fn of_host(config: &mut DnsConfig, host: Host<'_>) {
    if host.resolv_conf.is_some() {
        return;
    }
    let local = |address: &IpAddr| if address.is_ipv6() { "::1" } else { "127.0.0.1" }.to_owned();
    config.servers = host.node.addresses.iter().map(local).collect();
    if config.servers.is_empty() {
        config.servers.push("127.0.0.1".to_owned());
    }
    config.searches = vec![".".to_owned()];
}

fn cluster_searches(pod: &Pod, domain: &str, of_host: Vec<String>) -> Vec<String> {
    if domain.is_empty() {
        return of_host;
    }
    let namespace = pod.metadata.namespace.as_deref().unwrap_or_default();
    let mut searches = vec![format!("{namespace}.svc.{domain}"), format!("svc.{domain}"), domain.to_owned()];
    searches.extend(of_host);
    without_duplicates(searches)
}

fn add(config: &mut DnsConfig, own: &PodDNSConfig) {
    config.servers.extend(own.nameservers.iter().flatten().cloned());
    config.searches.extend(own.searches.iter().flatten().cloned());
    config.servers = without_duplicates(std::mem::take(&mut config.servers));
    config.searches = without_duplicates(std::mem::take(&mut config.searches));
    merge_options(&mut config.options, own.options.as_deref().unwrap_or_default());
}

/// An option that is there twice keeps its first place and its last value.
fn merge_options(options: &mut Vec<String>, own: &[PodDNSConfigOption]) {
    let mut merged: Vec<(String, String)> = Vec::new();
    let mut put = |name: &str, value: &str| match merged.iter_mut().find(|(known, _)| known == name) {
        Some((_, old)) => value.clone_into(old),
        None => merged.push((name.to_owned(), value.to_owned())),
    };
    for option in options.iter() {
        let (name, value) = option.split_once(':').unwrap_or((option, ""));
        put(name, value);
    }
    for option in own {
        put(option.name.as_deref().unwrap_or_default(), option.value.as_deref().unwrap_or_default());
    }
    let text =
        |(name, value): (String, String)| if value.is_empty() { name } else { format!("{name}:{value}") };
    *options = merged.into_iter().map(text).collect();
}

fn without_duplicates(texts: Vec<String>) -> Vec<String> {
    let mut kept: Vec<String> = Vec::with_capacity(texts.len());
    for text in texts {
        if !kept.contains(&text) {
            kept.push(text);
        }
    }
    kept
}

fn forming(message: String) -> Warning {
    Warning { on_node: None, reason: "DNSConfigForming", message }
}

fn fit_servers(mut servers: Vec<String>, warnings: &mut Vec<Warning>) -> Vec<String> {
    if servers.len() > NAMESERVERS_MAX {
        servers.truncate(NAMESERVERS_MAX);
        warnings.push(forming(format!(
            "Nameserver limits were exceeded, some nameservers have been omitted, the applied nameserver line is: {}",
            servers.join(" ")
        )));
    }
    servers
}

/// First the number is cut, then too long paths are taken out, then the line is cut from behind.
fn fit_searches(mut searches: Vec<String>, warnings: &mut Vec<Warning>) -> Vec<String> {
    let before = searches.len();
    searches.truncate(SEARCH_PATHS_MAX);
    searches.retain(|search| search.len() <= SEARCH_PATH_BYTES_MAX);
    while line_bytes(&searches) > SEARCH_LINE_BYTES_MAX {
        searches.pop();
    }
    if searches.len() < before {
        warnings.push(forming(format!(
            "Search Line limits were exceeded, some search paths have been omitted, the applied search line is: {}",
            searches.join(" ")
        )));
    }
    searches
}

fn line_bytes(searches: &[String]) -> usize {
    let spaces = searches.len().saturating_sub(1);
    searches.iter().map(String::len).sum::<usize>() + spaces
}

/// Reads a resolv.conf: name servers add up; of `search` and `options` the last line counts.
///
/// # Errors
/// A line says `nameserver` and nothing more.
pub fn parse(text: &str) -> Result<DnsConfig, ResolvConfError> {
    let mut config = DnsConfig::default();
    for (index, line) in text.lines().enumerate() {
        let mut words = line.split_whitespace();
        match words.next() {
            Some("nameserver") => {
                let server = words.next().ok_or(ResolvConfError::NoNameserver { line: index + 1 })?;
                config.servers.push(server.to_owned());
            }
            // A final point means the same domain, and would count it twice; the root alone stays as it is.
            Some("search") => {
                let trimmed = |word: &str| {
                    if word == "." { word } else { word.strip_suffix('.').unwrap_or(word) }.to_owned()
                };
                config.searches = words.map(trimmed).collect();
            }
            Some("options") => config.options = words.map(str::to_owned).collect(),
            Some(_) | None => {}
        }
    }
    Ok(config)
}

/// Returns what is wrong with the host's resolv.conf at `place` for pods that get it: the message of the node's event
/// `CheckLimitsForResolvConf`. A cluster's domain takes three of the search paths.
pub fn check_limits(text: &str, place: &str, cluster_domain: &str) -> Option<String> {
    let searches = match parse(text) {
        Ok(config) => config.searches,
        Err(error) => return Some(error.to_string()),
    };
    let of_cluster = if cluster_domain.is_empty() { 0 } else { CLUSTER_SEARCH_PATHS };
    let paths_max = SEARCH_PATHS_MAX - of_cluster;
    if searches.len() > paths_max {
        return Some(format!(
            "Resolv.conf file '{place}' contains search line consisting of more than {paths_max} domains!"
        ));
    }
    if searches.iter().any(|search| search.len() > SEARCH_PATH_BYTES_MAX) {
        return Some(format!(
            "Resolv.conf file '{place}' contains a search path which length is more than allowed {SEARCH_PATH_BYTES_MAX} chars!"
        ));
    }
    (line_bytes(&searches) > SEARCH_LINE_BYTES_MAX).then(|| {
        format!(
            "Resolv.conf file '{place}' contains search line which length is more than allowed {SEARCH_LINE_BYTES_MAX} chars!"
        )
    })
}
