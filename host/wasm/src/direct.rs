//! One plugin, asked directly on the caller's thread: for benchmarks, and for tools that try a plugin out.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use thiserror::Error;
use wasmtime::Engine;
use witlet_core::admission::{AdmissionRequest, Verdict};
use witlet_ports::Clock;

use crate::compile::CompilerConfig;
use crate::host::{Machinery, StartError, Surroundings};
use crate::plugin::config::{Grants, MEMORY_BYTES_DEFAULT, TIMEOUT_DEFAULT, Warm};
use crate::plugin::{CallError, Caller, Guests, LoadError, Spec};
use crate::worlds::admission::facts::RequestFacts;

/// How the plugin runs.
#[derive(Clone, Debug)]
pub struct DirectOptions {
    /// `config:` of its entry.
    pub config: Value,
    /// Whether instances are kept.
    pub warm: Option<Warm>,
    /// For one call.
    pub timeout: Duration,
    /// For one instance.
    pub memory_bytes: usize,
}

impl Default for DirectOptions {
    /// As a plugin runs whose entry says nothing.
    fn default() -> Self {
        Self { config: Value::Null, warm: None, timeout: TIMEOUT_DEFAULT, memory_bytes: MEMORY_BYTES_DEFAULT }
    }
}

/// Why there is no plugin to ask.
#[derive(Debug, Error)]
pub enum DirectError {
    /// The machinery couldn't be set up.
    #[error(transparent)]
    Start(#[from] StartError),
    /// The plugin couldn't be loaded.
    #[error(transparent)]
    Load(#[from] LoadError),
}

/// A question with everything that is derived from it, so that it can be asked again at no cost.
#[derive(Clone, Debug)]
pub struct Question(Arc<RequestFacts>);

impl Question {
    /// Of a request.
    pub fn new(request: AdmissionRequest) -> Self {
        Self(Arc::new(RequestFacts::new(request)))
    }
}

/// An engine with one plugin.
pub struct DirectPlugin {
    engine: Engine,
    caller: Caller,
    guests: Arc<Guests>,
}

impl DirectPlugin {
    /// Compiles, links and validates.
    pub async fn load(
        compiler: CompilerConfig,
        clock: Arc<dyn Clock>,
        wasm: Arc<[u8]>,
        options: DirectOptions,
    ) -> Result<Self, DirectError> {
        let Machinery { engine, caller, loader, secrets: _ } =
            Machinery::new(compiler, clock, Surroundings::default())?;
        let DirectOptions { config, warm, timeout, memory_bytes } = options;
        let spec = Spec::direct(timeout, memory_bytes, warm, Grants::default(), &config);
        let loaded = loader.load_bytes(&spec, wasm).await?;
        let guests = loaded.admission.ok_or(LoadError::Interrupted)?;
        Ok(Self { engine, caller, guests })
    }

    /// Asks on this thread, within the plugin's limits.
    pub fn ask(&self, question: &Question) -> Result<Verdict, CallError> {
        self.caller.admit_here(&self.guests, &question.0).result
    }

    /// The engine that the plugin runs on.
    pub fn engine(&self) -> &Engine {
        &self.engine
    }
}
