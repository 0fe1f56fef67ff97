//! Sockets are counted: each is a descriptor of the host's.

use wasmtime::component::{HasData, Linker, Resource};
use wasmtime_wasi::p2::bindings::sockets::network::{self, ErrorCode, HostNetwork, IpAddressFamily, Network};
use wasmtime_wasi::p2::bindings::sockets::{tcp_create_socket, udp_create_socket};
use wasmtime_wasi::p2::{SocketError, SocketResult, TcpSocket, UdpSocket};
use wasmtime_wasi::sockets::WasiSocketsCtxView;

use crate::guest::async_guest::AsyncState;
use crate::wasi::async_host::Connections;

/// Sockets of an instance.
struct Counted<'a> {
    view: WasiSocketsCtxView<'a>,
    connections: &'a mut Connections,
}

struct CountedData;

impl HasData for CountedData {
    type Data<'a> = Counted<'a>;
}

fn counted(state: &mut AsyncState) -> Counted<'_> {
    let (view, connections) = state.sockets_and_connections();
    Counted { view, connections }
}

/// Replaces what makes sockets.
pub(super) fn add_to_linker(linker: &mut Linker<AsyncState>) -> wasmtime::Result<()> {
    tcp_create_socket::add_to_linker::<_, CountedData>(linker, counted)?;
    udp_create_socket::add_to_linker::<_, CountedData>(linker, counted)
}

impl Counted<'_> {
    fn count(&mut self) -> SocketResult<()> {
        if self.connections.open() { Ok(()) } else { Err(ErrorCode::NewSocketLimit.into()) }
    }
}

impl tcp_create_socket::Host for Counted<'_> {
    fn create_tcp_socket(&mut self, family: IpAddressFamily) -> SocketResult<Resource<TcpSocket>> {
        self.count()?;
        tcp_create_socket::Host::create_tcp_socket(&mut self.view, family)
    }
}

impl udp_create_socket::Host for Counted<'_> {
    async fn create_udp_socket(&mut self, family: IpAddressFamily) -> SocketResult<Resource<UdpSocket>> {
        self.count()?;
        udp_create_socket::Host::create_udp_socket(&mut self.view, family).await
    }
}

impl network::Host for Counted<'_> {
    fn convert_error_code(&mut self, error: SocketError) -> wasmtime::Result<ErrorCode> {
        network::Host::convert_error_code(&mut self.view, error)
    }

    fn network_error_code(
        &mut self,
        error: Resource<wasmtime::Error>,
    ) -> wasmtime::Result<Option<ErrorCode>> {
        network::Host::network_error_code(&mut self.view, error)
    }
}

impl HostNetwork for Counted<'_> {
    fn drop(&mut self, this: Resource<Network>) -> wasmtime::Result<()> {
        HostNetwork::drop(&mut self.view, this)
    }
}
