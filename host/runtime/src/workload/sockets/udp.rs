//! `wasi:sockets/udp`, confined.

use std::net::SocketAddr;

use wasmtime::component::Resource;
use wasmtime_wasi::p2::bindings::sockets::network::{IpAddressFamily, IpSocketAddress, Network};
use wasmtime_wasi::p2::bindings::sockets::udp::{
    self, HostIncomingDatagramStream, HostOutgoingDatagramStream, HostUdpSocket, IncomingDatagram,
    IncomingDatagramStream, OutgoingDatagram, OutgoingDatagramStream,
};
use wasmtime_wasi::p2::bindings::sockets::udp_create_socket;
use wasmtime_wasi::p2::{DynPollable, SocketResult, UdpSocket};

use super::tcp::refuse_ipv6;
use super::{Confined, delegate, error_code};

impl udp_create_socket::Host for Confined<'_> {
    async fn create_udp_socket(&mut self, family: IpAddressFamily) -> SocketResult<Resource<UdpSocket>> {
        refuse_ipv6(self.network, family)?;
        udp_create_socket::Host::create_udp_socket(&mut self.view, family).await
    }
}

impl udp::Host for Confined<'_> {}

impl Confined<'_> {
    fn reach(&self, requested: Option<IpSocketAddress>) -> SocketResult<Option<IpSocketAddress>> {
        let Some(requested) = requested else { return Ok(None) };
        Ok(Some(self.network.reach(SocketAddr::from(requested)).map_err(error_code)?.into()))
    }
}

impl HostUdpSocket for Confined<'_> {
    async fn start_bind(
        &mut self,
        this: Resource<UdpSocket>,
        network: Resource<Network>,
        requested: IpSocketAddress,
    ) -> SocketResult<()> {
        let address = self.network.bind(SocketAddr::from(requested)).map_err(error_code)?;
        HostUdpSocket::start_bind(&mut self.view, this, network, address.into()).await
    }

    /// WASI lets only a bound socket talk, so that datagrams come from the pod's address.
    async fn stream(
        &mut self,
        this: Resource<UdpSocket>,
        remote: Option<IpSocketAddress>,
    ) -> SocketResult<(Resource<IncomingDatagramStream>, Resource<OutgoingDatagramStream>)> {
        let remote = self.reach(remote)?;
        HostUdpSocket::stream(&mut self.view, this, remote).await
    }

    delegate! { HostUdpSocket:
        fn finish_bind(UdpSocket) -> SocketResult<()>;
        fn local_address(UdpSocket) -> SocketResult<IpSocketAddress>;
        fn remote_address(UdpSocket) -> SocketResult<IpSocketAddress>;
        fn address_family(UdpSocket) -> wasmtime::Result<IpAddressFamily>;
        fn unicast_hop_limit(UdpSocket) -> SocketResult<u8>;
        fn set_unicast_hop_limit(UdpSocket, value: u8) -> SocketResult<()>;
        fn receive_buffer_size(UdpSocket) -> SocketResult<u64>;
        fn set_receive_buffer_size(UdpSocket, value: u64) -> SocketResult<()>;
        fn send_buffer_size(UdpSocket) -> SocketResult<u64>;
        fn set_send_buffer_size(UdpSocket, value: u64) -> SocketResult<()>;
        fn subscribe(UdpSocket) -> wasmtime::Result<Resource<DynPollable>>;
        fn drop(UdpSocket) -> wasmtime::Result<()>;
    }
}

impl HostIncomingDatagramStream for Confined<'_> {
    delegate! { HostIncomingDatagramStream:
        fn receive(IncomingDatagramStream, results_max: u64) -> SocketResult<Vec<IncomingDatagram>>;
        fn subscribe(IncomingDatagramStream) -> wasmtime::Result<Resource<DynPollable>>;
        fn drop(IncomingDatagramStream) -> wasmtime::Result<()>;
    }
}

impl HostOutgoingDatagramStream for Confined<'_> {
    fn send(
        &mut self,
        this: Resource<OutgoingDatagramStream>,
        mut datagrams: Vec<OutgoingDatagram>,
    ) -> SocketResult<u64> {
        for datagram in &mut datagrams {
            datagram.remote_address = self.reach(datagram.remote_address)?;
        }
        HostOutgoingDatagramStream::send(&mut self.view, this, datagrams)
    }

    async fn drop(&mut self, this: Resource<OutgoingDatagramStream>) -> wasmtime::Result<()> {
        HostOutgoingDatagramStream::drop(&mut self.view, this).await
    }

    delegate! { HostOutgoingDatagramStream:
        fn check_send(OutgoingDatagramStream) -> SocketResult<u64>;
        fn subscribe(OutgoingDatagramStream) -> wasmtime::Result<Resource<DynPollable>>;
    }
}
