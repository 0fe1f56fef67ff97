//! Addresses and what is special about them.

use super::*;

#[test]
fn special_addresses_are_known_in_every_form() {
    let cases = [
        ("10.1.2.3", None),
        ("172.16.0.1", None),
        ("192.168.1.1", None),
        ("100.64.0.1", None),
        ("8.8.8.8", None),
        ("240.0.0.1", None),
        ("127.0.0.1", Some(Special::Loopback)),
        ("127.255.255.254", Some(Special::Loopback)),
        ("0.0.0.0", Some(Special::Unspecified)),
        ("0.1.2.3", Some(Special::Unspecified)),
        ("169.253.255.255", None),
        ("169.254.0.0", Some(Special::LinkLocal)),
        ("169.254.169.254", Some(Special::LinkLocal)),
        ("169.254.170.2", Some(Special::LinkLocal)),
        ("169.255.0.0", None),
        ("100.100.100.200", Some(Special::Metadata)),
        ("192.0.0.192", Some(Special::Metadata)),
        ("168.63.129.16", Some(Special::Metadata)),
        ("224.0.0.1", Some(Special::Multicast)),
        ("239.255.255.255", Some(Special::Multicast)),
        ("255.255.255.255", Some(Special::Broadcast)),
        ("2001:db8::1", None),
        ("fd00::1", None),
        ("fd00:ec2::254", Some(Special::Metadata)),
        ("fd20:ce::254", Some(Special::Metadata)),
        ("::", Some(Special::Unspecified)),
        ("::1", Some(Special::Loopback)),
        ("fe7f::1", None),
        ("fe80::1", Some(Special::LinkLocal)),
        ("febf::1", Some(Special::LinkLocal)),
        ("fec0::1", None),
        ("ff02::1", Some(Special::Multicast)),
        // IPv4-mapped.
        ("::ffff:10.1.2.3", None),
        ("::ffff:127.0.0.1", Some(Special::Loopback)),
        ("::ffff:169.254.169.254", Some(Special::LinkLocal)),
        ("::ffff:0.0.0.0", Some(Special::Unspecified)),
        ("::ffff:255.255.255.255", Some(Special::Broadcast)),
        // IPv4-compatible.
        ("::10.1.2.3", None),
        ("::127.0.0.1", Some(Special::Loopback)),
        ("::169.254.169.254", Some(Special::LinkLocal)),
        // NAT64.
        ("64:ff9b::10.1.2.3", None),
        ("64:ff9b::127.0.0.1", Some(Special::Loopback)),
        ("64:ff9b::169.254.169.254", Some(Special::LinkLocal)),
        ("64:ff9b::224.0.0.1", Some(Special::Multicast)),
        ("64:ff9b:1::10.1.2.3", Some(Special::Translated)),
        ("64:ff9b:1:a9fe:a9:fe00::", Some(Special::Translated)),
        ("64:ff9b:2::169.254.169.254", None),
        // 6to4.
        ("2002:7f00:1::", Some(Special::Loopback)),
        ("2002:a9fe:a9fe::1", Some(Special::LinkLocal)),
        ("2002:808:808::1", None),
    ];
    for (ip, expected) in cases {
        assert_eq!(special(ip.parse().expect(ip)), expected, "{ip}");
    }
}
