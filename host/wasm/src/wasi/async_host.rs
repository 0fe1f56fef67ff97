//! WASI 0.2 for guests that may wait: everything links, and what a guest reaches is what it was granted.
//!
//! The clocks and random numbers are real, the environment is empty, stdin is closed, stdout and stderr are lines of the
//! log. Folders are those of the grants `files` and `state`. Sockets connect and send to what [`witlet_egress::Reach`]
//! permits; they listen nowhere and bind to nothing but what the system chooses. `wasi:http` goes out through
//! [`witlet_egress::Egress`].

mod ahead;
mod budget;
mod http;

pub(crate) use ahead::clocks;
pub(crate) use budget::{CONNECTIONS_ALL_MAX, ConnectionBudget, Connections};
pub(crate) use http::Hooks;

use std::future::ready;
use std::net::SocketAddr;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::Path;

use tracing::Level;
use wasmtime_wasi::sockets::SocketAddrUse;
use wasmtime_wasi::{FsPerms, WasiCtx, WasiCtxBuilder};
use witlet_egress::Reach;

use super::RANDOM_BYTES_MAX;
use super::stdio::LogStream;
use crate::guest::log::GuestLog;
use crate::plugin::config::{Grants, STATE_PATH};

/// A guest's WASI within its grants.
pub(crate) fn granted(grants: &Grants, state: Option<&Path>, reach: Reach, log: &GuestLog) -> WasiCtx {
    let mut wasi = WasiCtxBuilder::new();
    let network = !grants.network.is_empty();
    wasi.stdout(LogStream::new(log.clone(), Level::INFO))
        .stderr(LogStream::new(log.clone(), Level::WARN))
        .max_random_size(RANDOM_BYTES_MAX)
        .allow_tcp(network)
        .allow_udp(network)
        // Names are looked up by `async_link::lookup`, which stands in front.
        .allow_ip_name_lookup(false)
        .socket_addr_check(move |address, usage| Box::pin(ready(may_use(&reach, address, usage))));
    for grant in &grants.files {
        let permissions = if grant.read_only { FsPerms::ReadOnly } else { FsPerms::ReadWrite };
        preopen(&mut wasi, &grant.path, &grant.guest_path, permissions, log);
    }
    if let Some(folder) = state {
        let made = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder);
        if let Err(error) = made {
            tracing::warn!(plugin = log.plugin(), folder = %folder.display(), %error, "Failed to open the state folder");
        }
        preopen(&mut wasi, folder, STATE_PATH, FsPerms::ReadWrite, log);
    }
    wasi.build()
}

/// A folder that can't be opened isn't there for the guest: it says itself what it misses.
fn preopen(wasi: &mut WasiCtxBuilder, folder: &Path, name: &str, permissions: FsPerms, log: &GuestLog) {
    if let Err(error) = wasi.preopened_dir(folder, name, permissions) {
        let error = error.root_cause();
        tracing::warn!(
            plugin = log.plugin(),
            folder = %folder.display(),
            %error,
            "Failed to open a granted folder"
        );
    }
}

/// Which addresses sockets may use. Connecting binds to the unspecified address, so that this must be allowed.
fn may_use(reach: &Reach, address: SocketAddr, usage: SocketAddrUse) -> bool {
    match usage {
        SocketAddrUse::TcpBind | SocketAddrUse::UdpBind => {
            address.ip().is_unspecified() && address.port() == 0
        }
        SocketAddrUse::TcpListen | SocketAddrUse::TcpAccept => false,
        SocketAddrUse::TcpConnect | SocketAddrUse::UdpSend | SocketAddrUse::UdpReceive => {
            reach.permits(address)
        }
    }
}

#[cfg(test)]
mod tests;
