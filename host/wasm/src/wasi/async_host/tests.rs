//! Which addresses a guest's sockets may use.

use super::*;

#[test]
fn sockets_reach_what_is_granted_and_listen_nowhere() {
    let grants = ["192.0.2.7:6379".parse().expect("a grant"), "[2001:db8::]/32".parse().expect("a grant")];
    let reach = Reach::new(grants, &[], None);
    let cases = [
        ("192.0.2.7:6379", SocketAddrUse::TcpConnect, true),
        ("192.0.2.7:6379", SocketAddrUse::UdpSend, true),
        ("192.0.2.7:6379", SocketAddrUse::UdpReceive, true),
        ("192.0.2.7:6380", SocketAddrUse::TcpConnect, false),
        ("192.0.2.8:6379", SocketAddrUse::UdpSend, false),
        ("169.254.169.254:80", SocketAddrUse::TcpConnect, false),
        ("127.0.0.1:6379", SocketAddrUse::TcpConnect, false),
        ("[2001:db8::1]:1", SocketAddrUse::TcpConnect, true),
        ("0.0.0.0:0", SocketAddrUse::TcpBind, true),
        ("[::]:0", SocketAddrUse::UdpBind, true),
        ("0.0.0.0:53", SocketAddrUse::UdpBind, false),
        ("192.0.2.7:6379", SocketAddrUse::TcpBind, false),
        ("127.0.0.1:0", SocketAddrUse::TcpBind, false),
        ("0.0.0.0:0", SocketAddrUse::TcpListen, false),
        ("192.0.2.7:6379", SocketAddrUse::TcpAccept, false),
    ];
    for (address, usage, expected) in cases {
        let address: SocketAddr = address.parse().expect("an address");
        assert_eq!(may_use(&reach, address, usage), expected, "{address} {usage:?}");
    }
    let nothing = Reach::nothing();
    assert!(!may_use(&nothing, "192.0.2.7:6379".parse().expect("an address"), SocketAddrUse::TcpConnect));
}
