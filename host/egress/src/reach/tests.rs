//! What calls reach: tables of cases, and that nothing else is reached.

use std::net::{Ipv4Addr, Ipv6Addr};

use proptest::prelude::*;

use super::*;
use crate::grant::tests::any_grant;

fn grants(texts: &[&str]) -> Vec<NetworkGrant> {
    texts.iter().map(|text| text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))).collect()
}

fn ips(texts: &[&str]) -> Vec<IpAddr> {
    texts.iter().map(|text| text.parse().expect(text)).collect()
}

fn name(text: &str) -> HostName {
    text.parse().expect(text)
}

fn permitted(reach: &Reach, to: &str) -> bool {
    reach.permits(to.parse().expect(to))
}

#[test]
fn nothing_is_granted_by_default() {
    let pod = ips(&["10.0.0.7"]);
    for reach in [Reach::nothing(), Reach::new([], &pod, Some("db.example"))] {
        for to in ["10.0.0.7:80", "127.0.0.1:80", "[::1]:80", "8.8.8.8:53", "169.254.169.254:80"] {
            assert!(!permitted(&reach, to), "{to}");
        }
        for name in ["db.example", "localhost", "10.0.0.7", ""] {
            assert!(!reach.permits_name(name, 80) && !reach.permits_lookup(name), "{name}");
        }
        assert_eq!(reach.pin(&name("db.example"), &ips(&["10.0.0.9"])), Pinned::NothingPermitted);
    }
}

#[test]
fn an_address_grant_means_what_it_says() {
    let cases = [
        ("10.0.0.0/8", "10.255.0.1:1", true),
        ("10.0.0.0/8", "11.0.0.1:1", false),
        ("10.0.0.0/8", "[::ffff:10.1.2.3]:1", true),
        ("10.0.0.0/8", "[::10.1.2.3]:1", false),
        ("10.0.0.0/8", "[64:ff9b::10.1.2.3]:1", false),
        ("192.0.2.7:6379", "192.0.2.7:6379", true),
        ("192.0.2.7:6379", "192.0.2.7:6380", false),
        ("192.0.2.7:6379", "192.0.2.8:6379", false),
        ("192.0.2.0/24:80-443", "192.0.2.9:80", true),
        ("192.0.2.0/24:80-443", "192.0.2.9:443", true),
        ("192.0.2.0/24:80-443", "192.0.2.9:79", false),
        ("192.0.2.0/24:80-443", "192.0.2.9:444", false),
        ("192.0.2.7", "192.0.2.7:0", false),
        ("127.0.0.1:80", "127.0.0.1:80", true),
        ("127.0.0.1:80", "[::ffff:127.0.0.1]:80", true),
        ("127.0.0.1:80", "[::1]:80", false),
        ("169.254.169.254:80", "169.254.169.254:80", true),
        ("0.0.0.0/0", "169.254.169.254:80", true),
        ("0.0.0.0/0", "127.0.0.1:80", true),
        ("0.0.0.0/0", "[::1]:80", false),
        ("[::]/0", "[::1]:80", true),
        ("[::]/0", "[fe80::1]:80", true),
        // It is an IPv4 address.
        ("[::]/0", "[::ffff:127.0.0.1]:80", false),
        ("[2001:db8::]/32:1024-2048", "[2001:db8:ffff::1]:2048", true),
        ("[2001:db8::]/32:1024-2048", "[2001:db9::1]:2048", false),
    ];
    for (grant, to, expected) in cases {
        assert_eq!(permitted(&Reach::new(grants(&[grant]), &[], None), to), expected, "{grant} {to}");
    }
}

#[test]
fn a_pod_grant_reaches_exactly_the_pod() {
    let pods: &[(&[&str], &[&str], &[&str])] = &[
        (
            &["10.0.0.7", "fd00::7"],
            &["10.0.0.7:80", "10.0.0.7:65535", "[fd00::7]:1", "[::ffff:10.0.0.7]:80"],
            &["10.0.0.8:80", "[fd00::8]:80", "127.0.0.1:80", "[64:ff9b::10.0.0.7]:80", "0.0.0.0:80"],
        ),
        // The embedded runtime's pods, and pods in the host's network.
        (&["127.0.0.1"], &["127.0.0.1:8080"], &["127.0.0.2:8080", "[::1]:8080", "0.0.0.0:8080"]),
        (&["::ffff:10.0.0.7"], &["10.0.0.7:80"], &["10.0.0.8:80"]),
        // A pod without an address.
        (&[], &[], &["10.0.0.7:80", "127.0.0.1:80", "0.0.0.0:80", "[::]:80"]),
    ];
    for (pod, reached, others) in pods {
        let reach = Reach::new(grants(&["pod"]), &ips(pod), Some("10.0.0.99"));
        assert!(reached.iter().all(|to| permitted(&reach, to)), "{pod:?}");
        for to in *others {
            assert!(!permitted(&reach, to), "{pod:?} {to}");
        }
        assert!(!permitted(&reach, "10.0.0.99:80"), "the host that the probe names needs a grant of its own");
    }
}

#[test]
fn a_probe_host_is_what_the_probe_names_but_no_link_local_address() {
    let cases: &[(&str, &[&str], bool)] = &[
        ("10.0.0.99", &["10.0.0.99:80", "10.0.0.99:443", "[::ffff:10.0.0.99]:80"], true),
        ("10.0.0.99", &["10.0.0.98:80", "127.0.0.1:80"], false),
        ("127.0.0.1", &["127.0.0.1:80"], true),
        ("::1", &["[::1]:80"], true),
        ("fd00::9", &["[fd00::9]:80"], true),
        ("169.254.169.254", &["169.254.169.254:80"], false),
        ("::ffff:169.254.169.254", &["169.254.169.254:80", "[::ffff:169.254.169.254]:80"], false),
        ("64:ff9b::169.254.169.254", &["[64:ff9b::169.254.169.254]:80"], false),
        ("fe80::1", &["[fe80::1]:80"], false),
        ("fd00:ec2::254", &["[fd00:ec2::254]:80"], false),
        ("100.100.100.200", &["100.100.100.200:80"], false),
        ("0.0.0.0", &["0.0.0.0:80"], false),
        ("::", &["[::]:80", "[::1]:80"], false),
        ("224.0.0.1", &["224.0.0.1:80"], false),
        ("255.255.255.255", &["255.255.255.255:80"], false),
        ("[::1]", &["[::1]:80"], false),
        ("2130706433", &["127.0.0.1:80"], false),
        ("", &["127.0.0.1:80", "0.0.0.0:80"], false),
    ];
    for (host, to, expected) in cases {
        let reach = Reach::new(grants(&["probe-host"]), &[], Some(host));
        for to in *to {
            assert_eq!(permitted(&reach, to), *expected, "{host} {to}");
        }
    }
    let granted = Reach::new(grants(&["probe-host", "169.254.169.254:80"]), &[], Some("169.254.169.254"));
    assert!(permitted(&granted, "169.254.169.254:80"), "an address grant says so");
    assert!(!permitted(&granted, "169.254.169.254:443"));
}

#[test]
fn a_probe_host_by_name_is_that_name_at_any_port() {
    let reach = Reach::new(grants(&["probe-host"]), &[], Some("DB.example."));
    for name in ["db.example", "DB.EXAMPLE", "db.example."] {
        assert!(reach.permits_name(name, 1) && reach.permits_name(name, 65535) && reach.permits_lookup(name));
    }
    for name in ["a.db.example", "example", "db.example.org", "localhost"] {
        assert!(!reach.permits_name(name, 80) && !reach.permits_lookup(name), "{name}");
    }
    assert!(!permitted(&reach, "10.0.0.9:80"), "it isn't pinned yet");
    let resolved = ips(&["10.0.0.9", "169.254.169.254", "127.0.0.1"]);
    assert_eq!(reach.pin(&name("db.example"), &resolved), Pinned::Addresses(ips(&["10.0.0.9", "127.0.0.1"])));
    assert!(permitted(&reach, "10.0.0.9:80") && permitted(&reach, "127.0.0.1:1"));
    assert!(!permitted(&reach, "169.254.169.254:80"));
}

#[test]
fn names_match_by_labels_and_port() {
    let cases = [
        ("registry.example.com:443", "registry.example.com", 443, true),
        ("registry.example.com:443", "REGISTRY.example.com.", 443, true),
        ("registry.example.com:443", "registry.example.com", 444, false),
        ("registry.example.com:443", "a.registry.example.com", 443, false),
        ("registry.example.com:443", "example.com", 443, false),
        ("registry.example.com:443", "registry.example.com.evil.org", 443, false),
        ("registry.example.com:443", "registry.example.com\0.evil.org", 443, false),
        ("registry.example.com:443", "registry.example.com..", 443, false),
        ("*.example.com:443", "a.example.com", 443, true),
        ("*.example.com:443", "a.b.example.com", 443, true),
        ("*.example.com:443", "A.Example.Com.", 443, true),
        ("*.example.com:443", "example.com", 443, false),
        ("*.example.com:443", ".example.com", 443, false),
        ("*.example.com:443", "badexample.com", 443, false),
        ("*.example.com:443", "*.example.com", 443, false),
        ("*.example.com:443", "a.example.com", 80, false),
        ("*.example.com:8000-8999", "a.example.com", 8443, true),
        ("xn--bcher-kva.example:80", "xn--bcher-kva.example", 80, true),
        ("xn--bcher-kva.example:80", "bücher.example", 80, false),
        ("10.0.0.0/8", "example.com", 80, false),
        ("0.0.0.0/0", "10.0.0.1", 80, false),
        ("pod", "example.com", 80, false),
        ("probe-host", "example.com", 80, false),
    ];
    for (grant, name, port, expected) in cases {
        let reach = Reach::new(grants(&[grant]), &[], None);
        assert_eq!(reach.permits_name(name, port), expected, "{grant} {name}:{port}");
        assert!(!expected || reach.permits_lookup(name), "{grant} {name}");
    }
    assert!(Reach::new(grants(&["a.example:443"]), &[], None).permits_lookup("a.example"));
}

#[test]
fn a_name_never_reaches_what_only_an_address_grant_may() {
    let special = ips(&[
        "127.0.0.1",
        "127.9.9.9",
        "169.254.169.254",
        "0.0.0.0",
        "0.0.0.1",
        "100.100.100.200",
        "224.0.0.1",
        "255.255.255.255",
        "::1",
        "::",
        "fe80::1",
        "ff02::1",
        "fd00:ec2::254",
        "::ffff:127.0.0.1",
        "::ffff:169.254.169.254",
        "::127.0.0.1",
        "64:ff9b::127.0.0.1",
        "64:ff9b:1::1",
        "2002:7f00:1::",
    ]);
    let host = name("a.example");
    for ip in special {
        let reach = Reach::new(grants(&["a.example:80"]), &ips(&["10.0.0.7"]), None);
        assert_eq!(reach.pin(&host, &[ip]), Pinned::NothingPermitted, "{ip}");
        assert!(!reach.permits(SocketAddr::new(ip, 80)), "{ip}");
        // Among good ones it is left out.
        let mixed = Reach::new(grants(&["a.example:80"]), &[], None);
        let good = ips(&["192.0.2.1"]);
        assert_eq!(mixed.pin(&host, &[ip, good[0]]), Pinned::Addresses(good), "{ip}");
        assert!(!mixed.permits(SocketAddr::new(ip, 80)), "{ip}");
    }
    // Private addresses are what names in a cluster resolve to.
    let reach = Reach::new(grants(&["a.example:80"]), &[], None);
    let private = ips(&["10.0.0.1", "192.168.0.1", "fd00::1"]);
    assert_eq!(reach.pin(&host, &private), Pinned::Addresses(private.clone()));
    // An address grant next to it says so: then at its own ports only.
    let both = Reach::new(grants(&["a.example:80", "127.0.0.1:81"]), &[], None);
    assert_eq!(both.pin(&host, &ips(&["127.0.0.1"])), Pinned::Addresses(ips(&["127.0.0.1"])));
    assert!(permitted(&both, "127.0.0.1:81") && !permitted(&both, "127.0.0.1:80"));
}

#[test]
fn a_name_stays_what_it_was_pinned_to() {
    let reach = Reach::new(grants(&["a.example:80", "b.example:81"]), &[], None);
    let (a, b) = (name("a.example"), name("b.example"));
    assert_eq!(reach.pinned(&a), None);
    let first = Pinned::Addresses(ips(&["192.0.2.1"]));
    assert_eq!(reach.pin(&a, &ips(&["192.0.2.1"])), first);
    assert_eq!(reach.pin(&a, &ips(&["192.0.2.2"])), first, "a second answer changes nothing");
    assert_eq!(reach.clone().pinned(&a), Some(first), "clones share it");
    assert!(permitted(&reach, "192.0.2.1:80") && !permitted(&reach, "192.0.2.2:80"));
    assert!(!permitted(&reach, "192.0.2.1:81"), "each name has its own ports");
    reach.pin(&b, &ips(&["192.0.2.1"]));
    assert!(permitted(&reach, "192.0.2.1:81"));
    // What resolved to nothing good stays so.
    let refused = Reach::new(grants(&["a.example:80"]), &[], None);
    refused.pin(&a, &ips(&["127.0.0.1"]));
    assert_eq!(refused.pin(&a, &ips(&["192.0.2.1"])), Pinned::NothingPermitted);
}

#[test]
fn a_call_pins_a_bounded_number_of_names() {
    let reach = Reach::new(grants(&["*.example:80"]), &[], None);
    let addresses = ips(&["192.0.2.1"]);
    for index in 0..PINS_MAX {
        assert_ne!(reach.pin(&name(&format!("n{index}.example")), &addresses), Pinned::TooMany);
    }
    assert_eq!(reach.pin(&name("more.example"), &addresses), Pinned::TooMany);
    assert_eq!(reach.pin(&name("n0.example"), &addresses), Pinned::Addresses(addresses));
}

#[test]
fn everything_is_everything() {
    let reach = Reach::everything();
    for to in ["127.0.0.1:1", "169.254.169.254:80", "[::1]:80", "192.0.2.1:443"] {
        assert!(permitted(&reach, to), "{to}");
    }
    assert!(reach.permits_name("localhost", 80) && reach.permits_lookup("a.example"));
    assert_eq!(reach.pin(&name("localhost"), &ips(&["::1"])), Pinned::Addresses(ips(&["::1"])));
}

fn any_ip() -> impl Strategy<Value = IpAddr> {
    prop_oneof![
        any::<Ipv4Addr>().prop_map(IpAddr::from),
        any::<Ipv6Addr>().prop_map(IpAddr::from),
        any::<Ipv4Addr>().prop_map(|ip| IpAddr::from(ip.to_ipv6_mapped())),
        any::<Ipv4Addr>().prop_map(|ip| IpAddr::from(ip.to_ipv6_compatible())),
        prop::sample::select(ips(&["127.0.0.1", "169.254.169.254", "::1", "fe80::1", "10.0.0.7", "0.0.0.0"])),
    ]
}

proptest! {
    /// Restated from the other end: what is permitted has a reason among the grants.
    #[test]
    fn no_address_outside_is_permitted(
        granted in prop::collection::vec(any_grant(), 0..4),
        pod in prop::collection::vec(any_ip(), 0..2),
        host in prop::option::of(any_ip()),
        resolved in prop::collection::vec(any_ip(), 0..4),
        others in prop::collection::vec(any_ip(), 0..4),
        port in any::<u16>(),
    ) {
        let asked = name("a.example");
        let named = NetworkGrant::Name { pattern: match "*.example:1-1000".parse() {
            Ok(NetworkGrant::Name { pattern, .. }) => pattern,
            other => panic!("{other:?}"),
        }, ports: Ports::new(1, 1000).expect("in order") };
        let granted: Vec<NetworkGrant> = granted.into_iter().chain([named]).collect();
        let host_text = host.map(|host| host.to_string());
        let reach = Reach::new(granted.clone(), &pod, host_text.as_deref());
        reach.pin(&asked, &resolved);
        for ip in pod.iter().chain(&host).chain(&resolved).chain(&others) {
            let plain = ip.to_canonical();
            let same = |other: &IpAddr| other.to_canonical() == plain;
            let reasons = granted.iter().any(|grant| match grant {
                NetworkGrant::Pod => pod.iter().any(same),
                NetworkGrant::PodLoopback => false,
                NetworkGrant::ProbeHost => {
                    host.iter().any(same) && matches!(special(plain), None | Some(Special::Loopback))
                }
                NetworkGrant::Address { net, ports } => net.contains(&plain) && ports.contains(port),
                NetworkGrant::Name { pattern, ports } => {
                    pattern.matches(&asked)
                        && ports.contains(port)
                        && resolved.iter().any(same)
                        && special(plain).is_none()
                }
            });
            prop_assert_eq!(reach.permits(SocketAddr::new(*ip, port)), reasons, "{}", ip);
        }
    }
}
