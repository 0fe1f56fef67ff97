//! From a component's bytes to a plugin that can be asked.

use std::path::PathBuf;
use std::sync::Arc;

use thiserror::Error;
use wasmtime::Engine;
use wasmtime::component::types::ComponentItem;
use wasmtime::component::{Component, Linker};

use super::Spec;
use super::call::{CallError, Caller, Guests};
use crate::compile::{self, CompileError, Compiler};
use crate::engine::EngineKind;
use crate::guest::GuestState;
use crate::inspect::{self, InspectError};
use crate::limits::{Limits, NeedsError, StaticNeeds};
use crate::wasi;
use crate::worlds::admission::{self, HandlerPre};
use crate::worlds::detect;
use witlet_core::error::one_line;

/// Where a component comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// Part of the program.
    Builtin(&'static [u8]),
    /// A file, read when the plugin is loaded and whenever it changes.
    File(PathBuf),
}

/// Why a plugin couldn't be loaded.
#[derive(Debug, Error)]
pub enum LoadError {
    /// The file can't be read.
    #[error("read {}", path.display())]
    Read {
        /// The component's file.
        path: PathBuf,
        /// Why not.
        #[source]
        cause: std::io::Error,
    },
    /// Loading it ended before it was done, by a fault of the host's.
    #[error("loading it ended early, which is a fault of the host's")]
    Interrupted,
    /// The component doesn't compile, or its code doesn't load.
    #[error("the component can't be compiled")]
    Compile(#[source] CompileError),
    /// It is for another world, or imports what it can't have. All obstacles in one message.
    #[error("the component can't be a plugin here: {}", obstacles.join("; "))]
    Refused {
        /// Each in one clause.
        obstacles: Vec<String>,
    },
    /// Its imports or exports have the right names and the wrong types.
    #[error("the component doesn't fit the contract: {message}")]
    Mismatch {
        /// The linker's words.
        message: String,
    },
    /// It needs more to start than it may have.
    #[error("the component is too large for its limits")]
    Needs(#[source] NeedsError),
    /// It refused its configuration.
    #[error("the plugin refuses its configuration: {words}")]
    Configuration {
        /// The plugin's own words.
        words: String,
    },
    /// It failed while it was asked about its configuration.
    #[error("the plugin failed while it validated its configuration")]
    Validate(#[source] CallError),
}

impl LoadError {
    /// With its causes.
    pub fn sentence(&self) -> String {
        one_line(self)
    }
}

/// A plugin's code, linked, type-checked, and content with its configuration.
#[derive(Debug)]
pub(crate) struct Loaded {
    pub(crate) guests: Arc<Guests>,
    pub(crate) digest: String,
    pub(crate) size_bytes: usize,
}

/// Loads plugins onto the synchronous engine.
pub(crate) struct Loader {
    engine: Engine,
    linker: Linker<GuestState>,
    compiler: Arc<Compiler>,
    caller: Caller,
}

impl std::fmt::Debug for Loader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Loader").finish_non_exhaustive()
    }
}

impl Loader {
    pub(crate) fn new(engine: Engine, compiler: Arc<Compiler>, caller: Caller) -> wasmtime::Result<Self> {
        let mut linker = Linker::new(&engine);
        wasi::add_to_linker(&mut linker)?;
        admission::add_to_linker(&mut linker)?;
        Ok(Self { engine, linker, compiler, caller })
    }

    /// Reads, compiles, links and validates.
    pub(crate) async fn load(&self, spec: &Spec) -> Result<Loaded, LoadError> {
        let wasm = read(&spec.origin).await?;
        self.load_bytes(spec, wasm).await
    }

    /// Compiles, links and validates.
    pub(crate) async fn load_bytes(&self, spec: &Spec, wasm: Arc<[u8]>) -> Result<Loaded, LoadError> {
        let limits = Limits::with_memory(spec.memory_bytes);
        let digest = look(wasm.clone(), limits).await?;
        let size_bytes = wasm.len();
        let component = self
            .compiler
            .load(&self.engine, EngineKind::Synchronous, wasm)
            .await
            .map_err(LoadError::Compile)?;
        let needs = StaticNeeds::of(&component);
        needs.check(&limits).map_err(LoadError::Needs)?;
        let pre = self.link(&component)?;
        let guests = Arc::new(Guests::new(spec, pre, limits, needs.memories));
        let loaded = Loaded { guests, digest, size_bytes };
        self.caller.validate(&loaded.guests).await.map_err(|error| match error {
            CallError::Refused { words } => LoadError::Configuration { words },
            other => LoadError::Validate(other),
        })?;
        Ok(loaded)
    }

    fn link(&self, component: &Component) -> Result<HandlerPre, LoadError> {
        let ty = component.component_type();
        let imports: Vec<_> = ty.imports(&self.engine).collect();
        let exports: Vec<&str> = ty.exports(&self.engine).map(|(name, _)| name).collect();
        let detected = detect::detect(imports.iter().map(|(name, _)| *name), exports).map_err(|found| {
            LoadError::Refused { obstacles: found.iter().map(ToString::to_string).collect() }
        })?;
        let mismatch = |error: wasmtime::Error| LoadError::Mismatch { message: format!("{error:#}") };
        let given = wasi::Given::of(&self.engine, &imports);
        let mut linker = self.linker.clone();
        for (name, item) in &imports {
            if let ComponentItem::ComponentInstance(wanted) = &item.ty
                && detected.denied.iter().any(|denied| denied == name)
            {
                let mut instance = linker.instance(name).map_err(mismatch)?;
                wasi::define_denied(&self.engine, &mut instance, wanted, &given).map_err(mismatch)?;
            }
        }
        HandlerPre::link(&linker, component, detected.version).map_err(mismatch)
    }
}

/// Refuses what can be refused without compiling it, off the caller's thread. Returns the digest.
async fn look(wasm: Arc<[u8]>, limits: Limits) -> Result<String, LoadError> {
    let task = tokio::task::spawn_blocking(move || match inspect::inspect(&wasm) {
        Ok(seen) => {
            seen.needs.check(&limits).map_err(LoadError::Needs)?;
            if !seen.obstacles.is_empty() {
                return Err(LoadError::Refused { obstacles: seen.obstacles });
            }
            Ok(seen.digest)
        }
        Err(InspectError::NotAComponent(error)) => Err(LoadError::Compile(error)),
        Err(InspectError::Damaged { offset, message }) => {
            let message = format!("{message} at byte {offset}");
            Err(LoadError::Compile(CompileError::Invalid { message }))
        }
    });
    task.await.unwrap_or(Err(LoadError::Compile(CompileError::Ending)))
}

async fn read(origin: &Origin) -> Result<Arc<[u8]>, LoadError> {
    match origin {
        Origin::Builtin(bytes) => Ok((*bytes).into()),
        Origin::File(path) => {
            let read_error = |cause| LoadError::Read { path: path.clone(), cause };
            let task = tokio::task::spawn_blocking({
                let path = path.clone();
                move || compile::read_component(&path)
            });
            match task.await {
                Ok(read) => read.map_err(read_error),
                Err(_cancelled) => Err(read_error(std::io::ErrorKind::Interrupted.into())),
            }
        }
    }
}
