//! Name servers of pods: policies, limits, and how a resolv.conf is read.

use std::collections::BTreeMap;
use std::path::Path;

use proptest::prelude::*;

use super::*;
use crate::fixtures::{pod, spec};
use crate::node::NodeFacts;

fn texts(words: &str) -> Vec<String> {
    words.split_whitespace().map(str::to_owned).collect()
}

fn config(servers: &str, searches: &str, options: &str) -> DnsConfig {
    DnsConfig { servers: texts(servers), searches: texts(searches), options: texts(options) }
}

const HOST: &str = "nameserver 192.0.2.53\nsearch host.example\noptions timeout:2 rotate\n";

/// What a pod with these fields gets on a host with this resolv.conf, in a cluster with name servers or without.
fn dns_of(fields: &str, resolv_conf: Option<&str>, cluster: &[&str]) -> PodDns {
    let node = NodeFacts::default();
    dns_on(&node, fields, resolv_conf, cluster)
}

fn dns_on(node: &NodeFacts, fields: &str, resolv_conf: Option<&str>, cluster: &[&str]) -> PodDns {
    let cluster: Vec<IpAddr> = cluster.iter().map(|ip| ip.parse().unwrap()).collect();
    let mut pod = pod("Always", &["a"]);
    *spec(&mut pod) = serde_saphyr::from_str(&format!("{{containers: [], {fields}}}")).unwrap();
    let host = Host {
        resolv_conf,
        cluster_dns: &cluster,
        cluster_domain: "cluster.test",
        runtime_classes: &BTreeMap::new(),
        ..Host::new(node, Path::new("/"))
    };
    of_pod(&pod, host).unwrap()
}

fn reasons(dns: &PodDns) -> Vec<&'static str> {
    dns.warnings.iter().map(|warning| warning.reason).collect()
}

#[test]
fn lines_are_read_as_resolvers_read_them() {
    let long = "a.b ".repeat(3);
    let cases = [
        ("", config("", "", "")),
        (" ", config("", "", "")),
        ("\n", config("", "", "")),
        ("\t\n\t", config("", "", "")),
        ("#comment\n", config("", "", "")),
        (" #comment\n", config("", "", "")),
        ("#comment\n#comment", config("", "", "")),
        ("#comment\nnameserver", config("", "", "")),
        ("nameserver 192.0.2.1", config("192.0.2.1", "", "")),
        ("nameserver 192.0.2.1 # and a word", config("192.0.2.1", "", "")),
        (" \tnameserver 192.0.2.1", config("192.0.2.1", "", "")),
        ("nameserver \t 192.0.2.1\nnameserver 2001:db8::1", config("192.0.2.1 2001:db8::1", "", "")),
        ("nameserver 192.0.2.1 192.0.2.2", config("192.0.2.1", "", "")),
        ("search", config("", "", "")),
        ("search .", config("", ".", "")),
        ("search a b c", config("", "a b c", "")),
        ("search a. b.c.", config("", "a b.c", "")),
        ("search a\nsearch b", config("", "b", "")),
        (long.as_str(), config("", "", "")),
        ("options ndots:5 timeout:2", config("", "", "ndots:5 timeout:2")),
        ("options ndots:5\noptions attempts:3", config("", "", "attempts:3")),
        ("options", config("", "", "")),
        ("nameserver 192.0.2.1\nsearch a b\noptions ndots:3\n", config("192.0.2.1", "a b", "ndots:3")),
        ("domain example.com\nsortlist 192.0.2.0", config("", "", "")),
    ];
    for (text, expected) in cases {
        if text == "#comment\nnameserver" {
            assert_eq!(parse(text), Err(ResolvConfError::NoNameserver { line: 2 }));
        } else {
            assert_eq!(parse(text), Ok(expected), "{text:?}");
        }
    }
}

#[test]
fn each_policy_has_its_base() {
    let of_cluster =
        config("10.96.0.10", "ns.svc.cluster.test svc.cluster.test cluster.test host.example", "ndots:5");
    let of_host = config("192.0.2.53", "host.example", "timeout:2 rotate");
    let own = "dnsConfig: {nameservers: [192.0.2.99]}";
    let cases = [
        ("dnsPolicy: ClusterFirst", &of_cluster),
        ("dnsPolicy: ClusterFirstWithHostNet", &of_cluster),
        ("dnsPolicy: ClusterFirstWithHostNet, hostNetwork: true", &of_cluster),
        ("dnsPolicy: ClusterFirst, hostNetwork: true", &of_host),
        ("dnsPolicy: Default", &of_host),
        ("dnsPolicy: Default, hostNetwork: true", &of_host),
        ("dnsPolicy: Nonsense", &of_cluster),
        ("restartPolicy: Always", &of_cluster),
        (&format!("dnsPolicy: None, {own}"), &config("192.0.2.99", "", "")),
        (&format!("dnsPolicy: None, hostNetwork: true, {own}"), &config("192.0.2.99", "", "")),
        ("dnsPolicy: None", &config("", "", "")),
    ];
    for (fields, expected) in cases {
        let dns = dns_of(fields, Some(HOST), &["10.96.0.10"]);
        assert_eq!((&dns.config, reasons(&dns)), (expected, vec![]), "{fields}");
    }
}

#[test]
fn a_cluster_can_have_several_servers_of_both_families() {
    let dns = dns_of("dnsPolicy: ClusterFirst", Some(HOST), &["10.96.0.10", "fd00::a"]);
    assert_eq!(dns.config.servers, ["10.96.0.10", "fd00::a"]);
}

#[test]
fn a_search_path_that_the_cluster_has_already_is_there_once() {
    let dns = dns_of("dnsPolicy: ClusterFirst", Some("search cluster.test a"), &["10.96.0.10"]);
    assert_eq!(dns.config.searches, ["ns.svc.cluster.test", "svc.cluster.test", "cluster.test", "a"]);
}

#[test]
fn without_a_cluster_the_host_answers_and_pod_and_node_are_reported() {
    for fields in ["dnsPolicy: ClusterFirst", "dnsPolicy: ClusterFirstWithHostNet, hostNetwork: true"] {
        let dns = dns_of(fields, Some(HOST), &[]);
        assert_eq!(dns.config, config("192.0.2.53", "host.example", "timeout:2 rotate"));
        assert_eq!(reasons(&dns), ["MissingClusterDNS"]);
        let on_node = "kubelet does not have ClusterDNS IP configured and cannot create Pod using \"ClusterFirst\" policy. \
                       Falling back to \"Default\" policy.";
        assert_eq!(dns.warnings[0].on_node.as_deref(), Some(on_node));
        assert_eq!(dns.warnings[0].message, format!("pod: \"web_ns(uid-1)\". {on_node}"));
    }
    assert_eq!(reasons(&dns_of("dnsPolicy: ClusterFirst, hostNetwork: true", Some(HOST), &[])), [""; 0]);
}

#[test]
fn without_the_hosts_file_a_pod_asks_its_own_machine() {
    let both = NodeFacts {
        addresses: vec!["192.0.2.1".parse().unwrap(), "2001:db8::1".parse().unwrap()],
        ..NodeFacts::default()
    };
    let of = |node: &NodeFacts, fields| dns_on(node, fields, None, &[]).config;
    assert_eq!(of(&NodeFacts::default(), "dnsPolicy: Default"), config("127.0.0.1", ".", ""));
    assert_eq!(of(&both, "dnsPolicy: Default"), config("127.0.0.1 ::1", ".", ""));
    assert_eq!(of(&both, "dnsPolicy: ClusterFirst"), config("127.0.0.1 ::1", ".", ""));
    let in_cluster = dns_on(&both, "dnsPolicy: ClusterFirst", None, &["10.96.0.10"]).config;
    assert_eq!(
        in_cluster,
        config("10.96.0.10", "ns.svc.cluster.test svc.cluster.test cluster.test", "ndots:5")
    );
}

#[test]
fn a_pods_own_entries_follow_and_duplicates_go() {
    let own = "dnsConfig: {nameservers: [192.0.2.53, 192.0.2.54], searches: [own.example, host.example],
               options: [{name: timeout, value: '7'}, {name: edns0}, {name: rotate, value: ''}, {name: ndots, value: '1'}]}";
    let on_host = dns_of(&format!("dnsPolicy: Default, {own}"), Some(HOST), &[]);
    let options = "timeout:7 rotate edns0 ndots:1";
    assert_eq!(on_host.config, config("192.0.2.53 192.0.2.54", "host.example own.example", options));
    let in_cluster = dns_of(&format!("dnsPolicy: ClusterFirst, {own}"), Some(""), &["10.96.0.10"]);
    let expected = config(
        "10.96.0.10 192.0.2.53 192.0.2.54",
        "ns.svc.cluster.test svc.cluster.test cluster.test own.example host.example",
        "ndots:1 timeout:7 edns0 rotate",
    );
    assert_eq!(in_cluster.config, expected);
    assert_eq!(reasons(&in_cluster), [""; 0]);
}

#[test]
fn an_option_replaces_one_of_its_name_with_or_without_a_value() {
    let merged = |had: &str, own: &[(&str, Option<&str>)]| {
        let mut options = texts(had);
        let own: Vec<_> = own
            .iter()
            .map(|(name, value)| PodDNSConfigOption {
                name: Some((*name).to_owned()),
                value: value.map(str::to_owned),
            })
            .collect();
        merge_options(&mut options, &own);
        options.join(" ")
    };
    assert_eq!(merged("", &[]), "");
    assert_eq!(merged("ndots:5 debug", &[]), "ndots:5 debug");
    assert_eq!(merged("", &[("ndots", Some("5")), ("debug", None)]), "ndots:5 debug");
    assert_eq!(merged("ndots:5 debug", &[("ndots", Some("10"))]), "ndots:10 debug");
    assert_eq!(merged("ndots:5", &[("ndots", None)]), "ndots");
    assert_eq!(merged("debug", &[("debug", Some("1"))]), "debug:1");
}

#[test]
fn a_fourth_server_is_left_out_and_reported() {
    let three =
        dns_of("dnsPolicy: None, dnsConfig: {nameservers: [192.0.2.1, 192.0.2.2, 192.0.2.3]}", None, &[]);
    assert_eq!((three.config.servers.len(), reasons(&three)), (3, vec![]));
    let four = "dnsPolicy: Default, dnsConfig: {nameservers: [192.0.2.1, 192.0.2.2, 192.0.2.3]}";
    let four = dns_of(four, Some(HOST), &[]);
    assert_eq!(four.config.servers, ["192.0.2.53", "192.0.2.1", "192.0.2.2"]);
    let warned = "Nameserver limits were exceeded, some nameservers have been omitted, the applied nameserver line is: \
                192.0.2.53 192.0.2.1 192.0.2.2";
    let warning = Warning { on_node: None, reason: "DNSConfigForming", message: warned.to_owned() };
    assert_eq!(four.warnings, [warning]);
}

#[test]
fn search_paths_are_cut_to_what_resolvers_take() {
    let path = |bytes: usize| "a".repeat(bytes);
    let numbered = |count: usize| (0..count).map(|number| format!("p{number}")).collect::<Vec<_>>();
    // (what is asked for, how many are kept, reported)
    let cases = [
        (numbered(32), 32, false),
        (numbered(33), 32, true),
        (vec![path(253)], 1, false),
        (vec![path(254)], 0, true),
        (vec![path(254), "b".to_owned()], 1, true),
        // Seven of 253 and one of 270 with the spaces: 2048 exactly, then one more byte.
        ((0..8).map(|index| format!("{index}{}", path(252))).chain(["x".repeat(16)]).collect(), 9, false),
        ((0..8).map(|index| format!("{index}{}", path(252))).chain(["x".repeat(17)]).collect(), 8, true),
        ((0..10).map(|index| format!("{index}{}", path(252))).collect(), 8, true),
    ];
    for (searches, kept, warned) in cases {
        let mut warnings = Vec::new();
        let applied = fit_searches(searches.clone(), &mut warnings);
        assert_eq!((applied.len(), warnings.len()), (kept, usize::from(warned)), "{searches:?}");
        if let Some(warning) = warnings.first() {
            let line = format!("the applied search line is: {}", applied.join(" "));
            assert!(
                warning.message.starts_with("Search Line limits were exceeded")
                    && warning.message.ends_with(&line)
            );
        }
    }
}

#[test]
fn the_hosts_own_file_is_checked_and_a_cluster_takes_three_paths() {
    let paths = |count: usize| format!("search {}", (0..count).map(|n| format!("p{n} ")).collect::<String>());
    let line = |bytes: usize| {
        let words = vec!["a".repeat(253); 8].join(" ");
        format!("search {words} {}", "b".repeat(bytes - words.len() - 1))
    };
    let check = |text: &str, domain: &str| check_limits(text, "/etc/resolv.conf", domain);
    assert_eq!(check(&paths(32), ""), None);
    let many = |count| {
        Some(format!(
            "Resolv.conf file '/etc/resolv.conf' contains search line consisting of more than {count} domains!"
        ))
    };
    assert_eq!(check(&paths(33), ""), many(32));
    assert_eq!(check(&paths(29), "cluster.test"), None);
    assert_eq!(check(&paths(30), "cluster.test"), many(29));
    assert_eq!(check(&line(2048), ""), None);
    assert!(check(&line(2049), "").is_some_and(|text| text.ends_with("more than allowed 2048 chars!")));
    let long = format!("search {}", "a".repeat(254));
    assert!(check(&long, "").is_some_and(|text| text.ends_with("more than allowed 253 chars!")));
    assert_eq!(check("nameserver", "").as_deref(), Some("line 1 of resolv.conf: nameserver list is empty"));
    assert_eq!(check("", "cluster.test"), None);
}

proptest! {
    #[test]
    fn whatever_is_asked_for_fits_the_limits(
        // Only their lengths count.
        searches in prop::collection::vec((0..300usize).prop_map(|length| "x".repeat(length)), 0..60),
    ) {
        let mut warnings = Vec::new();
        let applied = fit_searches(searches.clone(), &mut warnings);
        prop_assert!(applied.len() <= SEARCH_PATHS_MAX && line_bytes(&applied) <= SEARCH_LINE_BYTES_MAX);
        prop_assert!(applied.iter().all(|search| search.len() <= SEARCH_PATH_BYTES_MAX));
        prop_assert_eq!(warnings.is_empty(), applied == searches);
    }

    #[test]
    fn no_text_breaks_the_reader(text in "[ \t\n#.a-z:0-9]{0,200}") {
        let _ = parse(&text);
        let _ = check_limits(&text, "x", "");
    }
}
