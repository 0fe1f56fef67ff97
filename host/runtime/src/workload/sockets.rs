//! The sockets of a workload, confined to the network of its pod.
//!
//! Two lines of defence. The adapters here stand in front of wasmtime-wasi's sockets and rewrite addresses, as
//! [`crate::network`] decides; wasmtime-wasi then asks a check before it uses any address, which knows only what
//! may come out of the rewriting.

mod names;
mod tcp;
mod udp;

use std::future::ready;
use std::net::{IpAddr, SocketAddr};

use wasmtime::component::{HasData, Linker};
use wasmtime_wasi::WasiCtxBuilder;
use wasmtime_wasi::p2::bindings::sockets::network::ErrorCode;
use wasmtime_wasi::sockets::{SocketAddrUse, WasiSocketsCtxView};

use super::state::State;
use super::stop::StopSignal;
use crate::address::is_pod_address;
use crate::network::{Network, Refusal};

/// Sockets of one workload.
pub(super) struct Confined<'a> {
    view: WasiSocketsCtxView<'a>,
    network: Network,
    stop: &'a StopSignal,
}

struct ConfinedData;

impl HasData for ConfinedData {
    type Data<'a> = Confined<'a>;
}

fn confined(state: &mut State) -> Confined<'_> {
    let State { wasi, table, network, stop, .. } = state;
    Confined { view: WasiSocketsCtxView { ctx: wasi.sockets(), table }, network: *network, stop }
}

/// Replaces the socket interfaces in `linker` by confined ones.
pub(super) fn confine(linker: &mut Linker<State>) -> wasmtime::Result<()> {
    use wasmtime_wasi::p2::bindings::sockets;
    linker.allow_shadowing(true);
    sockets::tcp::add_to_linker::<_, ConfinedData>(linker, confined)?;
    sockets::tcp_create_socket::add_to_linker::<_, ConfinedData>(linker, confined)?;
    sockets::udp::add_to_linker::<_, ConfinedData>(linker, confined)?;
    sockets::udp_create_socket::add_to_linker::<_, ConfinedData>(linker, confined)?;
    sockets::ip_name_lookup::add_to_linker::<_, ConfinedData>(linker, confined)?;
    linker.allow_shadowing(false);
    Ok(())
}

/// Lets wasmtime-wasi use what the adapters hand it, and nothing else.
pub(super) fn allow(wasi: &mut WasiCtxBuilder, network: Network) {
    wasi.allow_tcp(true)
        .allow_udp(true)
        .allow_ip_name_lookup(true)
        .socket_addr_check(move |address, usage| Box::pin(ready(may_use(network, address, usage))));
}

fn may_use(network: Network, address: SocketAddr, usage: SocketAddrUse) -> bool {
    let Network::Pod(own) = network else { return true };
    match usage {
        SocketAddrUse::TcpBind | SocketAddrUse::TcpListen | SocketAddrUse::UdpBind => {
            address.ip() == IpAddr::V4(own)
        }
        SocketAddrUse::TcpConnect | SocketAddrUse::UdpSend => match address.ip() {
            IpAddr::V4(ip) => is_pod_address(ip),
            IpAddr::V6(_) => false,
        },
        // Anyone on this machine may come; no one else can reach a loopback address.
        SocketAddrUse::TcpAccept | SocketAddrUse::UdpReceive => true,
    }
}

fn error_code(refusal: Refusal) -> ErrorCode {
    match refusal {
        Refusal::NotThePods => ErrorCode::AddressNotBindable,
        Refusal::OutOfReach => ErrorCode::AccessDenied,
        Refusal::NoIpv6 => ErrorCode::NotSupported,
    }
}

/// Hands methods through to wasmtime-wasi unchanged.
macro_rules! delegate {
    ($of:ident: $(fn $name:ident($this:ty $(, $argument:ident: $kind:ty)*) -> $result:ty;)*) => {
        $(fn $name(&mut self, this: Resource<$this> $(, $argument: $kind)*) -> $result {
            $of::$name(&mut self.view, this $(, $argument)*)
        })*
    };
}
use delegate;

#[cfg(test)]
mod tests;
