//! `wasi:sockets/tcp`, confined.

use std::net::SocketAddr;

use futures::FutureExt;
use wasmtime::component::Resource;
use wasmtime_wasi::p2::bindings::sockets::network::{ErrorCode, IpAddressFamily, IpSocketAddress, Network};
use wasmtime_wasi::p2::bindings::sockets::tcp::{self, HostTcpSocket, ShutdownType};
use wasmtime_wasi::p2::bindings::sockets::tcp_create_socket;
use wasmtime_wasi::p2::{DynInputStream, DynOutputStream, DynPollable, SocketResult, TcpSocket};

use super::{Confined, delegate, error_code};
use crate::network::Network as PodNetwork;

/// What a listening socket answers once the workload was asked to stop: EINVAL, as from `accept` on Linux after
/// `shutdown`. (`invalid-state` would be the word, but the C library of guests takes it for a fault of its own, and
/// aborts.)
const SHUT_DOWN: ErrorCode = ErrorCode::InvalidArgument;

impl tcp_create_socket::Host for Confined<'_> {
    fn create_tcp_socket(&mut self, family: IpAddressFamily) -> SocketResult<Resource<TcpSocket>> {
        refuse_ipv6(self.network, family)?;
        tcp_create_socket::Host::create_tcp_socket(&mut self.view, family)
    }
}

/// A pod of its own address has no IPv6, as a machine without it.
pub(super) fn refuse_ipv6(network: PodNetwork, family: IpAddressFamily) -> SocketResult<()> {
    match (network, family) {
        (PodNetwork::Pod(_), IpAddressFamily::Ipv6) => Err(ErrorCode::NotSupported.into()),
        (PodNetwork::Pod(_), IpAddressFamily::Ipv4) | (PodNetwork::Host, _) => Ok(()),
    }
}

impl Confined<'_> {
    /// Binds a socket that isn't bound yet to the pod's address, on a port of the kernel's choice.
    fn bind_to_source(
        &mut self,
        this: &Resource<TcpSocket>,
        network: &Resource<Network>,
    ) -> SocketResult<()> {
        let Some(source) = self.network.source() else { return Ok(()) };
        let handle = || Resource::new_borrow(this.rep());
        if HostTcpSocket::local_address(&mut self.view, handle()).is_ok() {
            return Ok(());
        }
        let network = Resource::new_borrow(network.rep());
        // The address check answers at once and binding doesn't wait, so that the first poll is the last.
        HostTcpSocket::start_bind(&mut self.view, handle(), network, source.into())
            .now_or_never()
            .unwrap_or(Err(ErrorCode::WouldBlock.into()))?;
        HostTcpSocket::finish_bind(&mut self.view, handle())
    }
}

impl tcp::Host for Confined<'_> {}

impl HostTcpSocket for Confined<'_> {
    async fn start_bind(
        &mut self,
        this: Resource<TcpSocket>,
        network: Resource<Network>,
        requested: IpSocketAddress,
    ) -> SocketResult<()> {
        let address = self.network.bind(SocketAddr::from(requested)).map_err(error_code)?;
        HostTcpSocket::start_bind(&mut self.view, this, network, address.into()).await
    }

    fn start_connect(
        &mut self,
        this: Resource<TcpSocket>,
        network: Resource<Network>,
        requested: IpSocketAddress,
    ) -> SocketResult<()> {
        let address = self.network.reach(SocketAddr::from(requested)).map_err(error_code)?;
        self.bind_to_source(&this, &network)?;
        HostTcpSocket::start_connect(&mut self.view, this, network, address.into())
    }

    async fn start_listen(&mut self, this: Resource<TcpSocket>) -> SocketResult<()> {
        let handle = || Resource::new_borrow(this.rep());
        HostTcpSocket::start_listen(&mut self.view, handle()).await?;
        let address = HostTcpSocket::local_address(&mut self.view, handle())?;
        if self.stop.listens(address.into()) { Ok(()) } else { Err(SHUT_DOWN.into()) }
    }

    /// Fails once the workload was asked to stop, as a socket does that was shut down.
    fn accept(
        &mut self,
        this: Resource<TcpSocket>,
    ) -> SocketResult<(Resource<TcpSocket>, Resource<DynInputStream>, Resource<DynOutputStream>)> {
        if self.stop.is_asked() {
            return Err(SHUT_DOWN.into());
        }
        HostTcpSocket::accept(&mut self.view, this)
    }

    fn drop(&mut self, this: Resource<TcpSocket>) -> wasmtime::Result<()> {
        let handle = || Resource::new_borrow(this.rep());
        if HostTcpSocket::is_listening(&mut self.view, handle())?
            && let Ok(address) = HostTcpSocket::local_address(&mut self.view, handle())
        {
            self.stop.closed(address.into());
        }
        HostTcpSocket::drop(&mut self.view, this)
    }

    delegate! { HostTcpSocket:
        fn finish_bind(TcpSocket) -> SocketResult<()>;
        fn finish_connect(TcpSocket) -> SocketResult<(Resource<DynInputStream>, Resource<DynOutputStream>)>;
        fn finish_listen(TcpSocket) -> SocketResult<()>;
        fn local_address(TcpSocket) -> SocketResult<IpSocketAddress>;
        fn remote_address(TcpSocket) -> SocketResult<IpSocketAddress>;
        fn is_listening(TcpSocket) -> wasmtime::Result<bool>;
        fn address_family(TcpSocket) -> wasmtime::Result<IpAddressFamily>;
        fn set_listen_backlog_size(TcpSocket, value: u64) -> SocketResult<()>;
        fn keep_alive_enabled(TcpSocket) -> SocketResult<bool>;
        fn set_keep_alive_enabled(TcpSocket, value: bool) -> SocketResult<()>;
        fn keep_alive_idle_time(TcpSocket) -> SocketResult<u64>;
        fn set_keep_alive_idle_time(TcpSocket, value: u64) -> SocketResult<()>;
        fn keep_alive_interval(TcpSocket) -> SocketResult<u64>;
        fn set_keep_alive_interval(TcpSocket, value: u64) -> SocketResult<()>;
        fn keep_alive_count(TcpSocket) -> SocketResult<u32>;
        fn set_keep_alive_count(TcpSocket, value: u32) -> SocketResult<()>;
        fn hop_limit(TcpSocket) -> SocketResult<u8>;
        fn set_hop_limit(TcpSocket, value: u8) -> SocketResult<()>;
        fn receive_buffer_size(TcpSocket) -> SocketResult<u64>;
        fn set_receive_buffer_size(TcpSocket, value: u64) -> SocketResult<()>;
        fn send_buffer_size(TcpSocket) -> SocketResult<u64>;
        fn set_send_buffer_size(TcpSocket, value: u64) -> SocketResult<()>;
        fn subscribe(TcpSocket) -> wasmtime::Result<Resource<DynPollable>>;
        fn shutdown(TcpSocket, which: ShutdownType) -> SocketResult<()>;
    }
}
