//! `wasi:sockets/ip-name-lookup`, confined, and the errors of all socket interfaces.

use wasmtime::component::Resource;
use wasmtime_wasi::p2::bindings::sockets::ip_name_lookup::{
    self, HostResolveAddressStream, ResolveAddressStream,
};
use wasmtime_wasi::p2::bindings::sockets::network::{self, ErrorCode, HostNetwork, IpAddress, Network};
use wasmtime_wasi::p2::{DynPollable, SocketError, SocketResult};

use super::{Confined, delegate};

impl network::Host for Confined<'_> {
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

impl HostNetwork for Confined<'_> {
    delegate! { HostNetwork:
        fn drop(Network) -> wasmtime::Result<()>;
    }
}

impl ip_name_lookup::Host for Confined<'_> {
    fn resolve_addresses(
        &mut self,
        network: Resource<Network>,
        name: String,
    ) -> SocketResult<Resource<ResolveAddressStream>> {
        let name = self.network.lookup(&name).ok_or(ErrorCode::NameUnresolvable)?;
        ip_name_lookup::Host::resolve_addresses(&mut self.view, network, name)
    }
}

impl HostResolveAddressStream for Confined<'_> {
    delegate! { HostResolveAddressStream:
        fn resolve_next_address(ResolveAddressStream) -> SocketResult<Option<IpAddress>>;
        fn subscribe(ResolveAddressStream) -> wasmtime::Result<Resource<DynPollable>>;
        fn drop(ResolveAddressStream) -> wasmtime::Result<()>;
    }
}
