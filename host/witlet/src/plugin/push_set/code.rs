//! Compiled code of a set's components: from the compiler of this machine, and from sets that were pushed on others.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use thiserror::Error;
use witlet_core::node::compiled_code::CodeTarget;
use witlet_oci::{Client, SET_COMPONENT_TYPE, SetCode, SetFile, TransferError};
use witlet_wasm::compile::{
    CacheError, CompileError, Compiler, CompilerConfig, code_target, component_digest,
};
use witlet_wasm::engine::{EngineError, EngineKind};

use crate::plugin::component::{self, ComponentError};

/// Why a set has no compiled code, or not all of it.
#[derive(Debug, Error)]
pub(crate) enum CodeError {
    /// There is no folder for the compiler.
    #[error("failed to make a temporary folder")]
    Scratch(#[source] std::io::Error),
    /// The compiler's folder can't be used.
    #[error(transparent)]
    Cache(#[from] CacheError),
    /// There is no engine on this machine.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// A component doesn't compile.
    #[error("failed to compile {file}")]
    Compile {
        /// Its name in the set.
        file: String,
        #[source]
        cause: CompileError,
    },
    #[error(transparent)]
    Component(#[from] ComponentError),
    /// A tag may lead to other code tomorrow.
    #[error(
        "--compiled-from {text:?} has no digest: name the set as `push-set` has printed it, with @sha256:…"
    )]
    NoDigest {
        /// As it was written.
        text: String,
    },
    /// The other set can't be had.
    #[error("failed to pull compiled code of {target}")]
    Pull {
        target: String,
        /// Why not, with the way out.
        #[source]
        cause: Box<TransferError>,
    },
}

/// Code of components, each once for each engine and processor.
#[derive(Default)]
pub(super) struct Code {
    known: BTreeSet<(String, String, String)>,
    pub(super) all: Vec<SetCode>,
}

impl Code {
    /// Whether this is new, which it isn't any more then.
    fn takes(&mut self, component: &str, target: &CodeTarget) -> bool {
        self.known.insert((component.to_owned(), target.engine.clone(), target.compatibility.clone()))
    }

    /// Compiles the components among these files, each for the engines that it runs on.
    pub(super) async fn compile(
        &mut self,
        files: &[SetFile],
        engines: &BTreeMap<String, Vec<EngineKind>>,
    ) -> Result<(), CodeError> {
        let scratch = tempfile::tempdir().map_err(CodeError::Scratch)?;
        let compiler = Compiler::new(CompilerConfig::foreground(scratch.path().join("code")))?;
        for file in files.iter().filter(|file| file.media_type == SET_COMPONENT_TYPE) {
            let (component, wasm) = (component_digest(&file.bytes), Arc::<[u8]>::from(&*file.bytes));
            for kind in engines.get(&file.name).into_iter().flatten() {
                let target = code_target(*kind)?;
                if !self.takes(&component, &target) {
                    continue;
                }
                let code = compiler.code(*kind, wasm.clone()).await;
                let code = code.map_err(|cause| CodeError::Compile { file: file.name.clone(), cause })?;
                self.all.push(SetCode { component: component.clone(), target, bytes: code.into() });
            }
        }
        Ok(())
    }

    /// Brings what another set has of the components among these files.
    pub(super) async fn take_from(
        &mut self,
        client: &Client,
        from: &str,
        files: &[SetFile],
    ) -> Result<(), CodeError> {
        let target = component::target(from)?;
        if target.digest().is_none() {
            return Err(CodeError::NoDigest { text: from.to_owned() });
        }
        let failed = |cause| CodeError::Pull { target: target.to_string(), cause: Box::new(cause) };
        let components: BTreeSet<String> = files
            .iter()
            .filter(|file| file.media_type == SET_COMPONENT_TYPE)
            .map(|file| component_digest(&file.bytes))
            .collect();
        let offers = client.list_set(&target).await.map_err(failed)?.code.offers;
        for offer in offers.into_iter().filter(|offer| components.contains(&offer.component)) {
            if self.takes(&offer.component, &offer.target) {
                let bytes = client.code(&target, &offer).await.map_err(failed)?;
                self.all.push(SetCode {
                    component: offer.component,
                    target: offer.target,
                    bytes: bytes.into(),
                });
            }
        }
        Ok(())
    }
}
