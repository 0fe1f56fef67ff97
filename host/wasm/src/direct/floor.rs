//! The least that a call can cost on this machine: a module that does nothing, instantiated and called on a plugin's engine.

use std::time::Duration;

use thiserror::Error;
use wasmtime::{Engine, InstancePre, Linker, Module, Store, UpdateDeadline};

use crate::engine::{self, EngineError};
use crate::limits::{EpochTicker, Limits, StoreLimits, TickerError};
use crate::plugin::config::MEMORY_BYTES_DEFAULT;
use crate::role::Role;

/// Time between two ticks of the epoch, as plugins have it.
const PERIOD: Duration = Duration::from_millis(2);
/// How long a call may take. It does nothing: what passes meanwhile is a machine that has no time for it, which no figure is to fail for.
const CALL_MAX: Duration = Duration::from_mins(1);
/// What the module exports.
const RUN: &str = "run";
/// A page of memory, and a function that writes a word to it, as every guest does at least.
const MODULE: &[u8] = b"\0asm\x01\0\0\0\
    \x01\x04\x01\x60\0\0\
    \x03\x02\x01\0\
    \x05\x04\x01\x01\x01\x01\
    \x07\x10\x02\x06memory\x02\0\x03run\0\0\
    \x0a\x0b\x01\x09\0\x41\x08\x41\x01\x36\x02\0\x0b";

/// Why there is nothing to compare with.
#[derive(Debug, Error)]
pub enum FloorError {
    /// There is no engine.
    #[error(transparent)]
    Engine(#[from] EngineError),
    #[error(transparent)]
    Ticker(#[from] TickerError),
    /// The module can't be compiled, instantiated or called.
    #[error("failed to run a module that does nothing")]
    Run(#[source] Box<dyn std::error::Error + Send + Sync>),
}

fn failed(error: wasmtime::Error) -> FloorError {
    FloorError::Run(error.into())
}

/// A module that does nothing, on an engine as plugins of a role have it.
pub struct Floor {
    module: InstancePre<StoreLimits>,
    engine: Engine,
    ticker: EpochTicker,
    role: Role,
}

impl Floor {
    /// With an engine and a pool of its own.
    ///
    /// # Errors
    /// When this machine is full engine.
    pub fn new(role: Role) -> Result<Self, FloorError> {
        let engine = match role {
            Role::Admission => engine::synchronous()?,
            Role::Probe | Role::PodSource => engine::async_pooled()?,
        };
        let module = Module::new(&engine, MODULE).map_err(failed)?;
        let module = Linker::new(&engine).instantiate_pre(&module).map_err(failed)?;
        let ticker = EpochTicker::start(&engine, PERIOD)?;
        Ok(Self { module, engine, ticker, role })
    }

    /// One instance and one call, within the limits of plugins: on this thread, as admission handlers are called directly; on
    /// a stack of its own where plugins of the role may wait.
    ///
    /// # Errors
    /// When the pool is full.
    pub async fn call(&self) -> Result<(), FloorError> {
        let _ticking = self.ticker.ticking();
        let mut store = Store::new(&self.engine, StoreLimits::new(Limits::with_memory(MEMORY_BYTES_DEFAULT)));
        store.limiter(|limits| limits);
        match self.role {
            Role::Admission => {
                store.set_epoch_deadline(self.ticker.deadline(CALL_MAX));
                let instance = self.module.instantiate(&mut store).map_err(failed)?;
                let run = instance.get_typed_func::<(), ()>(&mut store, RUN).map_err(failed)?;
                run.call(&mut store, ()).map_err(failed)
            }
            Role::Probe | Role::PodSource => {
                store.set_epoch_deadline(1);
                store.epoch_deadline_callback(|_| Ok(UpdateDeadline::Yield(1)));
                let instance = self.module.instantiate_async(&mut store).await.map_err(failed)?;
                let run = instance.get_typed_func::<(), ()>(&mut store, RUN).map_err(failed)?;
                run.call_async(&mut store, ()).await.map_err(failed)
            }
        }
    }
}

#[cfg(test)]
mod tests;
