//! Cases for the second line of defence.

use super::*;

#[test]
fn only_rewritten_addresses_pass_the_check() {
    use SocketAddrUse::{TcpAccept, TcpBind, TcpConnect, TcpListen, UdpBind, UdpReceive, UdpSend};
    let pod = Network::Pod([127, 88, 0, 7].into());
    for (address, bound, reached) in [
        ("127.88.0.7:80", true, true),
        ("127.88.0.8:80", false, true),
        ("0.0.0.0:0", false, false),
        ("127.0.0.1:80", false, false),
        ("192.0.2.1:80", false, false),
        ("[::]:0", false, false),
        ("[::1]:80", false, false),
    ] {
        let parsed = address.parse().expect("an address");
        for usage in [TcpBind, TcpListen, UdpBind] {
            assert_eq!(may_use(pod, parsed, usage), bound, "{address} {usage:?}");
        }
        for usage in [TcpConnect, UdpSend] {
            assert_eq!(may_use(pod, parsed, usage), reached, "{address} {usage:?}");
        }
        for usage in [TcpAccept, UdpReceive] {
            assert!(may_use(pod, parsed, usage), "{address} {usage:?}");
        }
        for usage in [TcpBind, TcpListen, TcpAccept, TcpConnect, UdpBind, UdpSend, UdpReceive] {
            assert!(may_use(Network::Host, parsed, usage), "{address} {usage:?}");
        }
    }
}
