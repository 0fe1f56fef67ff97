//! WASI for stores of the asynchronous engine.

mod lookup;
mod sockets;

use wasmtime::component::Linker;
use wasmtime_wasi::clocks::WasiClocks;
use wasmtime_wasi_io::IoView;

use crate::guest::async_guest::AsyncState;

/// Adds all of WASI 0.2 and `wasi:http`'s outgoing half.
pub(crate) fn add_to_linker(linker: &mut Linker<AsyncState>) -> wasmtime::Result<()> {
    use wasmtime_wasi::p2::bindings::clocks;
    wasmtime_wasi::p2::add_to_linker_async(linker)?;
    linker.allow_shadowing(true);
    // These need no context, which is dear, and are all that most probes use.
    wasmtime_wasi_io::add_to_linker_async(linker)?;
    clocks::monotonic_clock::add_to_linker::<_, WasiClocks>(linker, AsyncState::clocks_view)?;
    clocks::wall_clock::add_to_linker::<_, WasiClocks>(linker, AsyncState::clocks_view)?;
    sockets::add_to_linker(linker)?;
    lookup::add_to_linker(linker)?;
    linker.allow_shadowing(false);
    wasmtime_wasi_http::p2::add_only_http_to_linker_async(linker)
}

impl IoView for AsyncState {
    fn table(&mut self) -> &mut wasmtime::component::ResourceTable {
        self.resources()
    }
}
