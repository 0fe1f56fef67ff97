//! Programs: components that were linked and only need a store to run in.

use std::sync::Arc;
use std::time::Duration;

use thiserror::Error;
use wasmtime::Engine;
use wasmtime::component::{Component, Linker, ResourceTable};
use wasmtime_wasi::p2::bindings::CommandPre;
use wasmtime_wasi::{WasiCtx, WasiCtxView, WasiView};
use witlet_wasm::engine::{self, EngineError};
use witlet_wasm::limits::{EpochTicker, TickerError};

use super::memory::MemoryLimit;
use super::sockets;
use super::stop::StopSignal;
use crate::network::Network;

/// A workload gives way to others at least this often.
const YIELD_PERIOD: Duration = Duration::from_millis(10);

/// What a workload's store holds.
pub(crate) struct State {
    pub(super) wasi: WasiCtx,
    pub(super) table: ResourceTable,
    pub(super) memory: MemoryLimit,
    pub(super) network: Network,
    pub(super) stop: Arc<StopSignal>,
}

impl WasiView for State {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        WasiCtxView { ctx: &mut self.wasi, table: &mut self.table }
    }
}

/// A component that isn't a program for this runtime.
#[derive(Debug, Error)]
pub(crate) enum ProgramError {
    /// It wants something that isn't there.
    #[error("the component imports something that this runtime doesn't have")]
    Import(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// It can't be started.
    #[error("the component is no command: it doesn't export wasi:cli/run")]
    NotACommand(#[source] Box<dyn std::error::Error + Send + Sync>),
}

/// The engine couldn't be set up.
#[derive(Debug, Error)]
pub enum ProgramsError {
    /// The engine itself.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// The thread that makes workloads give way.
    #[error(transparent)]
    Ticker(#[from] TickerError),
    /// What workloads import.
    #[error("link WASI")]
    Link(#[source] Box<dyn std::error::Error + Send + Sync>),
}

/// A program, ready to run any number of times.
#[derive(Clone)]
pub(crate) struct Program {
    pub(super) command: CommandPre<State>,
    pub(super) ticker: Arc<EpochTicker>,
}

/// Makes programs of components.
pub(crate) struct Programs {
    engine: Engine,
    linker: Linker<State>,
    ticker: Arc<EpochTicker>,
}

impl Programs {
    /// Sets the engine up.
    pub(crate) fn new() -> Result<Self, ProgramsError> {
        let engine = engine::asynchronous()?;
        let ticker = Arc::new(EpochTicker::start(&engine, YIELD_PERIOD)?);
        let mut linker = Linker::new(&engine);
        wasmtime_wasi::p2::add_to_linker_async(&mut linker)
            .and_then(|()| sockets::confine(&mut linker))
            .map_err(|cause| ProgramsError::Link(cause.into()))?;
        Ok(Self { engine, linker, ticker })
    }

    /// The engine that components must be compiled for.
    pub(crate) fn engine(&self) -> &Engine {
        &self.engine
    }

    /// Links a component.
    pub(crate) fn link(&self, component: &Component) -> Result<Program, ProgramError> {
        let linked =
            self.linker.instantiate_pre(component).map_err(|cause| ProgramError::Import(cause.into()))?;
        let command = CommandPre::new(linked).map_err(|cause| ProgramError::NotACommand(cause.into()))?;
        Ok(Program { command, ticker: self.ticker.clone() })
    }
}
