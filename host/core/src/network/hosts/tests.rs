//! Hosts files: the pod's names, the host's file, aliases.

use std::path::Path;

use expect_test::expect;

use super::*;
use crate::fixtures::{pod, spec};
use crate::node::NodeFacts;

fn file_of(fields: &str, ips: &[&str]) -> String {
    let mut pod = pod("Always", &["a"]);
    *spec(&mut pod) = serde_saphyr::from_str(&format!("{{containers: [], {fields}}}")).unwrap();
    let node = NodeFacts::default();
    let ips: Vec<IpAddr> = ips.iter().map(|ip| ip.parse().unwrap()).collect();
    let host = Host {
        etc_hosts: "127.0.0.1\tlocalhost\n192.0.2.1\tnode-1\n",
        cluster_domain: "cluster.test",
        ..Host::new(&node, Path::new("/"))
    };
    content(&pod, &ips, host).unwrap()
}

#[test]
fn a_pod_finds_itself_under_each_address() {
    expect![[r#"
        # Kubernetes-managed hosts file.
        127.0.0.1	localhost
        ::1	localhost ip6-localhost ip6-loopback
        fe00::0	ip6-localnet
        fe00::0	ip6-mcastprefix
        fe00::1	ip6-allnodes
        fe00::2	ip6-allrouters
        10.0.0.7	web
        fd00::7	web
    "#]]
    .assert_eq(&file_of("restartPolicy: Always", &["10.0.0.7", "fd00::7"]));
}

#[test]
fn with_a_subdomain_the_full_name_comes_first() {
    let text = file_of("hostname: busy, subdomain: web", &["10.0.0.7"]);
    assert!(text.ends_with("10.0.0.7\tbusy.web.ns.svc.cluster.test\tbusy\n"), "{text}");
    let text = file_of("hostnameOverride: own.example, subdomain: web", &["10.0.0.7"]);
    assert!(text.ends_with("10.0.0.7\town.example\n"), "{text}");
}

#[test]
fn aliases_come_last_with_all_their_names() {
    let aliases =
        "hostAliases: [{ip: 192.0.2.7, hostnames: [foo, bar]}, {ip: '2001:db8::7', hostnames: [baz]}]";
    let expected = "\n# Entries added by HostAliases.\n192.0.2.7\tfoo\tbar\n2001:db8::7\tbaz\n";
    assert!(file_of(aliases, &["10.0.0.7"]).ends_with(&format!("10.0.0.7\tweb\n{expected}")));
    let on_host = file_of(&format!("hostNetwork: true, {aliases}"), &[]);
    let head = "# Kubernetes-managed hosts file (host network).\n";
    assert_eq!(on_host, format!("{head}127.0.0.1\tlocalhost\n192.0.2.1\tnode-1\n{expected}"));
}

#[test]
fn a_pod_on_the_host_network_has_the_hosts_file_and_no_entry_of_its_own() {
    let text = file_of("hostNetwork: true", &["192.0.2.1"]);
    let head = "# Kubernetes-managed hosts file (host network).\n";
    assert_eq!(text, format!("{head}127.0.0.1\tlocalhost\n192.0.2.1\tnode-1\n"));
}
