//! What an instance's store holds.

use std::sync::Arc;

use wasmtime::component::ResourceTable;
use wasmtime_wasi::{WasiCtx, WasiCtxView, WasiView};
use wasmtime_wasi_http::{WasiHttpCtx, WasiHttpCtxView, WasiHttpView};

use super::http::outgoing::Outgoing;
use super::memory::InstanceLimits;
use super::stop::StopSignal;
use crate::network::Network;

/// What an instance's store holds.
pub(crate) struct State {
    pub(super) wasi: WasiCtx,
    pub(super) http: WasiHttpCtx,
    pub(super) outgoing: Outgoing,
    pub(super) table: ResourceTable,
    pub(super) limits: InstanceLimits,
    pub(super) network: Network,
    pub(super) stop: Arc<StopSignal>,
}

impl WasiView for State {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        WasiCtxView { ctx: &mut self.wasi, table: &mut self.table }
    }
}

impl WasiHttpView for State {
    fn http(&mut self) -> WasiHttpCtxView<'_> {
        WasiHttpCtxView { hooks: &mut self.outgoing, table: &mut self.table, ctx: &mut self.http }
    }
}
