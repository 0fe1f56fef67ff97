//! resolv.conf and hosts, the machine's and those of pods: `host/core`.

use std::net::IpAddr;
use std::path::Path;

use k8s_openapi::api::core::v1::{HostAlias, Pod, PodDNSConfig, PodDNSConfigOption, PodSpec};
use witlet_core::container::spec::Host;
use witlet_core::network::{dns, hosts};
use witlet_core::node::NodeFacts;
use witlet_core::pod::validation;

use crate::{Target, check_message, split_at_line};

pub(crate) const TARGET: Target = Target {
    name: "resolver_files",
    run,
    words: &[
        "nameserver 10.96.0.10\n",
        "nameserver ",
        "search a.example b.example.\n",
        "search .",
        "options ndots:5 timeout:1\n",
        "options edns0",
        "# ",
        "; ",
        "domain a\n",
        "--pod\n",
        "fe80::1%eth0",
        "127.0.0.1\tlocalhost\n",
        "::1 ",
        "..",
        "sortlist",
        "\t",
        "\u{a0}",
        "\u{2003}",
    ],
};

/// The machine's file, then what a pod adds: words that are addresses are its name servers and aliases, the others paths.
fn run(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let (machine, pod) = split_at_line(&text, "--pod");
    let parsed = dns::parse(machine);
    assert_eq!(parsed, dns::parse(machine));
    if let Some(message) = dns::check_limits(machine, "/etc/resolv.conf", "cluster.local") {
        check_message(&message, 0);
    }
    if let Ok(config) = parsed {
        assert!(config.servers.len() <= machine.len());
        // Written as a runtime writes it, it says the same.
        let servers: String = config.servers.iter().map(|server| format!("nameserver {server}\n")).collect();
        let written =
            format!("{servers}search {}\noptions {}\n", config.searches.join(" "), config.options.join(" "));
        let again = dns::parse(&written).expect("what was written is read");
        assert_eq!((&again.servers, &again.options), (&config.servers, &config.options), "{written}");
        assert_eq!(again.searches.len(), config.searches.len());
    }
    for policy in ["ClusterFirst", "ClusterFirstWithHostNet", "Default", "None"] {
        check_pod(policy, machine, pod);
    }
}

fn pod(policy: &str, text: &str, host_network: bool) -> Pod {
    let (addresses, names): (Vec<&str>, Vec<&str>) =
        text.split_whitespace().partition(|word| word.parse::<IpAddr>().is_ok());
    // More of them than any validated pod has would only make this slow.
    let (addresses, names) = (&addresses[..addresses.len().min(40)], &names[..names.len().min(40)]);
    let owned = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
    let option =
        |word: &&str| PodDNSConfigOption { name: Some((*word).to_owned()), value: Some("1".to_owned()) };
    let config = PodDNSConfig {
        nameservers: Some(owned(addresses)),
        searches: Some(owned(names)),
        options: Some(names.iter().take(4).map(option).collect()),
    };
    let alias = |address: &&str| HostAlias { ip: (*address).to_owned(), hostnames: Some(owned(names)) };
    let spec = PodSpec {
        dns_policy: Some(policy.to_owned()),
        dns_config: Some(config),
        host_aliases: Some(addresses.iter().map(alias).collect()),
        host_network: Some(host_network),
        ..PodSpec::default()
    };
    let mut pod = Pod { spec: Some(spec), ..Pod::default() };
    (pod.metadata.name, pod.metadata.namespace) = (Some("web".to_owned()), Some("default".to_owned()));
    pod
}

fn check_pod(policy: &str, machine: &str, text: &str) {
    let node = NodeFacts::default();
    let dns_servers: [IpAddr; 1] = [IpAddr::from([10, 96, 0, 10])];
    for host_network in [false, true] {
        let pod = pod(policy, text, host_network);
        let host = Host {
            resolv_conf: Some(machine),
            cluster_dns: &dns_servers,
            cluster_domain: "cluster.local",
            etc_hosts: machine,
            ..Host::new(&node, Path::new("/seccomp"))
        };
        if let Ok(found) = dns::of_pod(&pod, host) {
            let searches = &found.config.searches;
            assert!(
                found.config.servers.len() <= dns::NAMESERVERS_MAX && searches.len() <= dns::SEARCH_PATHS_MAX
            );
            assert!(searches.iter().all(|search| search.len() <= dns::SEARCH_PATH_BYTES_MAX));
            assert!(searches.join(" ").len() <= dns::SEARCH_LINE_BYTES_MAX);
            // Three servers or 32 paths within a line of 2 KiB; a server's text may be anything.
            let servers: usize = found.config.servers.iter().map(String::len).sum();
            found.warnings.iter().for_each(|warning| check_message(&warning.message, servers));
        }
        let content = hosts::content(&pod, &dns_servers, host).expect("a name that fits");
        assert_eq!(content.starts_with("# Kubernetes-managed hosts file.\n"), !host_network);
        if host_network {
            assert!(content.contains(machine));
        }
        // What is valid adds a line for each alias, and no more.
        let is_alias_wrong = |error: &validation::FieldError| error.path.contains("hostAliases");
        if !host_network && !validation::validate(&pod).iter().any(is_alias_wrong) {
            let aliases = pod.spec.as_ref().and_then(|spec| spec.host_aliases.as_ref()).map_or(0, Vec::len);
            let without =
                hosts::content(&self::pod(policy, "", false), &dns_servers, host).expect("a name that fits");
            let heading = if aliases > 0 { 2 } else { 0 };
            assert_eq!(content.lines().count(), without.lines().count() + heading + aliases, "{content}");
        }
    }
}
