//! Grants as texts.

use proptest::prelude::*;

use super::*;

#[test]
fn each_form_of_a_grant_is_read_and_said_in_one_way() {
    let cases = [
        ("pod", "pod"),
        ("probe-host", "probe-host"),
        ("10.0.0.0/8", "10.0.0.0/8"),
        ("0.0.0.0/0", "0.0.0.0/0"),
        ("192.0.2.7", "192.0.2.7"),
        ("192.0.2.7/32", "192.0.2.7"),
        ("192.0.2.7:6379", "192.0.2.7:6379"),
        ("192.0.2.0/24:80-443", "192.0.2.0/24:80-443"),
        ("192.0.2.7:1-65535", "192.0.2.7"),
        ("192.0.2.7:80-80", "192.0.2.7:80"),
        ("169.254.169.254:80", "169.254.169.254:80"),
        ("[::]/0", "[::]/0"),
        ("[2001:db8::]/32", "[2001:db8::]/32"),
        ("[2001:DB8:0:0::]/32:1024-2048", "[2001:db8::]/32:1024-2048"),
        ("[2001:db8::7]:443", "[2001:db8::7]:443"),
        ("[::1]/128", "[::1]"),
        ("registry.example.com:443", "registry.example.com:443"),
        ("Registry.Example.COM.:443", "registry.example.com:443"),
        ("*.example.com:443", "*.example.com:443"),
        ("*.com:1-65535", "*.com:1-65535"),
        ("redis:6379-6380", "redis:6379-6380"),
        ("xn--bcher-kva.example:80", "xn--bcher-kva.example:80"),
        ("pod:80", "pod:80"),
        ("_grpc.example:1", "_grpc.example:1"),
        ("1password.example:443", "1password.example:443"),
    ];
    for (text, said) in cases {
        let grant: NetworkGrant = text.parse().unwrap_or_else(|error| panic!("{text}: {error}"));
        assert_eq!(grant.to_string(), said, "{text}");
        assert_eq!(said.parse(), Ok(grant), "{text}");
    }
    // A name with a port is a name, also where it looks like another grant.
    assert!(matches!("pod:80".parse(), Ok(NetworkGrant::Name { .. })));
}

#[test]
fn what_is_no_grant_is_refused_with_the_way_out() {
    let cases = [
        ("", "a name must not have empty labels"),
        ("Pod", "a name needs a port, such as Pod:443"),
        ("example.com", "a name needs a port, such as example.com:443"),
        ("example.com:", "\"\" is neither a port"),
        ("example.com:0", "\"0\" is neither a port"),
        ("example.com:65536", "\"65536\" is neither a port"),
        ("example.com:443-80", "\"443-80\" is neither a port"),
        ("example.com:080", "\"080\" is neither a port"),
        ("example.com:+80", "\"+80\" is neither a port"),
        ("example.com:1-2-3", "\"1-2-3\" is neither a port"),
        ("example.com:https", "\"https\" is neither a port"),
        ("*:443", "letters, digits"),
        ("*.:443", "must not have empty labels"),
        ("a.*.example.com:443", "letters, digits"),
        ("*example.com:443", "letters, digits"),
        ("example..com:443", "must not have empty labels"),
        ("bücher.example:443", "punycode"),
        ("exa mple.com:443", "letters, digits"),
        ("user@example.com:443", "letters, digits"),
        ("example.com/path:443", "letters, digits"),
        ("https://example.com:443", "IPv6 address stands in brackets"),
        ("localhost:80", "grant 127.0.0.1 and [::1]"),
        ("*.localhost:80", "grant 127.0.0.1 and [::1]"),
        ("10.0.0.1/8", "the net is 10.0.0.0/8"),
        ("[2001:db8::1]/32:80", "the net is [2001:db8::]/32"),
        ("10.0.0.0/33", "no prefix length"),
        ("10.0.0.0/", "no prefix length"),
        ("10.0.0.0/08", "no prefix length"),
        ("10.0.0.0/-1", "no prefix length"),
        ("[::]/129", "no prefix length"),
        ("10.0.0:80", "must not end in a number"),
        ("010.0.0.1:80", "must not end in a number"),
        ("2130706433:80", "must not end in a number"),
        ("0x7f.1:80", "must not end in a number"),
        ("10.0.0.0/8:", "\"\" is neither a port"),
        ("10.0.0.0/8:0", "\"0\" is neither a port"),
        ("2001:db8::1", "IPv6 address stands in brackets"),
        ("2001:db8::/32", "IPv6 address stands in brackets"),
        ("::1", "IPv6 address stands in brackets"),
        ("[2001:db8::1", "brackets are for IPv6 addresses"),
        ("[10.0.0.1]:80", "brackets are for IPv6 addresses"),
        ("[fe80::1%eth0]:80", "brackets are for IPv6 addresses"),
        ("[::1]80", "\"80\" is neither a port"),
        ("[::ffff:10.0.0.1]:80", "IPv4-mapped addresses as IPv4"),
        (" pod", "letters, digits"),
        ("pod ", "letters, digits"),
    ];
    for (text, way_out) in cases {
        let error = text.parse::<NetworkGrant>().expect_err(text).to_string();
        assert!(error.contains(way_out), "{text}: {error}");
        assert!(error.contains(&format!("{text:?}")), "{text}: {error}");
    }
}

#[test]
fn a_grant_stands_as_its_text_in_files() {
    let grants: Vec<NetworkGrant> =
        serde_json::from_str(r#"["pod", "*.example.com:443"]"#).expect("they are grants");
    assert_eq!(serde_json::to_string(&grants).expect("they are texts"), r#"["pod","*.example.com:443"]"#);
    let error = serde_json::from_str::<NetworkGrant>(r#""example.com""#).expect_err("it has no port");
    assert!(error.to_string().contains("a name needs a port"), "{error}");
    let tls: Vec<TlsPolicy> = serde_json::from_str(r#"["verify", "insecure"]"#).expect("they are policies");
    assert_eq!(tls, [TlsPolicy::Verify, TlsPolicy::Insecure]);
    assert_eq!(TlsPolicy::default(), TlsPolicy::Verify);
}

fn name() -> impl Strategy<Value = String> {
    "([a-z0-9_]([a-z0-9_-]{0,8}[a-z0-9_])?\\.){0,3}[a-z]([a-z0-9-]{0,8}[a-z0-9])?"
        .prop_filter("names of loopback aren't granted", |name| !name.ends_with("localhost"))
}

fn any_ports() -> impl Strategy<Value = Ports> {
    (1..=u16::MAX, 1..=u16::MAX)
        .prop_map(|(a, b)| Ports::new(a.min(b), a.max(b)).expect("neither is 0 and they are in order"))
}

/// Any grant that can be written.
pub(crate) fn any_grant() -> impl Strategy<Value = NetworkGrant> {
    let net = |(ip, prefix): (IpAddr, u8)| IpNet::new(ip, prefix).expect("a short prefix").trunc();
    let v4 = (any::<Ipv4Addr>().prop_map(IpAddr::from), 0..=32_u8).prop_map(net);
    let v6 = (any::<Ipv6Addr>().prop_map(IpAddr::from), 0..=128_u8)
        .prop_map(net)
        .prop_filter("mapped addresses are written as IPv4", |net| net.addr() == net.addr().to_canonical());
    prop_oneof![
        Just(NetworkGrant::Pod),
        Just(NetworkGrant::PodLoopback),
        Just(NetworkGrant::ProbeHost),
        (prop_oneof![v4, v6], prop_oneof![Just(Ports::ALL), any_ports()])
            .prop_map(|(net, ports)| NetworkGrant::Address { net, ports }),
        (any::<bool>(), name(), any_ports()).prop_map(|(wildcard, name, ports)| {
            let name = name.parse().expect("the strategy makes names");
            NetworkGrant::Name { pattern: NamePattern { wildcard, name }, ports }
        }),
    ]
}

proptest! {
    #[test]
    fn what_a_grant_says_is_read_as_itself(grant in any_grant()) {
        prop_assert_eq!(grant.to_string().parse(), Ok(grant));
    }

    #[test]
    fn any_text_is_a_grant_or_an_error(text in "\\PC{0,40}|[a-z0-9.:*/\\[\\]-]{0,40}") {
        if let Ok(grant) = text.parse::<NetworkGrant>() {
            prop_assert_eq!(grant.to_string().parse(), Ok(grant));
        }
    }
}
