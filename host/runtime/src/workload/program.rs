//! Programs: components that were linked and only need a store to run in.

use std::sync::Arc;
use std::time::Duration;

use thiserror::Error;
use wasmtime::Engine;
use wasmtime::component::{Component, Linker};
use wasmtime_wasi::p2::bindings::CommandPre;
use wasmtime_wasi_http::p2::bindings::ProxyPre;
use witlet_wasm::engine::{self, EngineError};
use witlet_wasm::limits::{EpochTicker, TickerError};

use super::sockets;
use super::state::State;

/// A workload gives way to others at least this often.
const YIELD_PERIOD: Duration = Duration::from_millis(10);

/// A component that isn't a program for this runtime.
#[derive(Debug, Error)]
pub(crate) enum ProgramError {
    /// It wants something that isn't there.
    #[error("the component imports something that this runtime doesn't have")]
    Import(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// It can't be started.
    #[error("the component is no program: it exports neither wasi:cli/run nor wasi:http/incoming-handler")]
    NoProgram(#[source] Box<dyn std::error::Error + Send + Sync>),
}

/// The engine couldn't be set up.
#[derive(Debug, Error)]
pub enum ProgramsError {
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// The thread that makes workloads give way.
    #[error(transparent)]
    Ticker(#[from] TickerError),
    #[error("failed to link WASI")]
    Link(#[source] Box<dyn std::error::Error + Send + Sync>),
}

/// How a program is entered.
#[derive(Clone)]
pub(super) enum Entry {
    /// It exports `wasi:cli/run`, which is run.
    Command(CommandPre<State>),
    /// It exports `wasi:http/incoming-handler`, which is asked for each request.
    Handler {
        handler: ProxyPre<State>,
        /// `wasi:cli/run`, for commands next to it, if it exports that as well.
        command: Option<CommandPre<State>>,
    },
}

/// A program, ready to run any number of times.
#[derive(Clone)]
pub(crate) struct Program {
    pub(super) entry: Entry,
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
            .and_then(|()| wasmtime_wasi_http::p2::add_only_http_to_linker_async(&mut linker))
            .map_err(|cause| ProgramsError::Link(cause.into()))?;
        Ok(Self { engine, linker, ticker })
    }

    /// The engine that components must be compiled for.
    pub(crate) fn engine(&self) -> &Engine {
        &self.engine
    }

    /// Links a component. One that has both entries answers HTTP.
    pub(crate) fn link(&self, component: &Component) -> Result<Program, ProgramError> {
        let linked =
            self.linker.instantiate_pre(component).map_err(|cause| ProgramError::Import(cause.into()))?;
        let command = CommandPre::new(linked.clone());
        let entry = match (ProxyPre::new(linked), command) {
            (Ok(handler), command) => Entry::Handler { handler, command: command.ok() },
            (Err(_), Ok(command)) => Entry::Command(command),
            (Err(_), Err(cause)) => return Err(ProgramError::NoProgram(cause.into())),
        };
        Ok(Program { entry, ticker: self.ticker.clone() })
    }
}
