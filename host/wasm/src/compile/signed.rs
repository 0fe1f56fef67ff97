//! Compiled code on its way to other nodes, and from them into the cache of this one.

use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom, Write as _};
use std::path::PathBuf;
use std::sync::Arc;

use sha2::{Digest as _, Sha256};
use thiserror::Error;
use wasmtime::Engine;
use witlet_core::node::compiled_code::CodeTarget;

use super::cache::{Cache, CacheError, CodeOrigin, Key, compatibility};
use super::{CompileError, Compiler, blocking, check_header};
use crate::engine::{self, EngineError, EngineKind};

/// Both engines.
const KINDS: [EngineKind; 2] = [EngineKind::Synchronous, EngineKind::Asynchronous];

/// Why code from elsewhere can't be kept, or looked for.
#[derive(Debug, Error)]
pub enum CodeCacheError {
    /// An engine can't be made.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// The cache can't be used.
    #[error("failed to use the cache of compiled code")]
    Cache(#[from] CacheError),
    /// No file for the code.
    #[error("failed to copy compiled code")]
    Copy(#[source] std::io::Error),
    /// The component is named in another way than by SHA-256.
    #[error("{digest:?} is no digest of SHA-256")]
    Digest { digest: String },
    /// The engine is named in another way than one of the host's.
    #[error("there is no engine {engine:?}")]
    NoEngine { engine: String },
}

impl Compiler {
    /// Compiles a component, whether or not the cache has it, and returns its code.
    ///
    /// # Errors
    /// The component is too large, doesn't compile, or exceeds a limit of the compiler.
    pub async fn code(&self, kind: EngineKind, wasm: Arc<[u8]>) -> Result<Vec<u8>, CompileError> {
        check_header(&wasm)?;
        let _slot = self.slots.acquire().await.map_err(|_closed| CompileError::Ending)?;
        let mut code = self.compile(kind, wasm).await?;
        let bytes_max = self.limits.output_bytes;
        let read = blocking(move || {
            let mut bytes = Vec::new();
            let read =
                code.seek(SeekFrom::Start(0)).and_then(|_| code.take(bytes_max).read_to_end(&mut bytes));
            read.map(|_| bytes).map_err(|cause| ("", cause))
        });
        let read: Result<Vec<u8>, (&str, std::io::Error)> = read.await;
        read.map_err(|(_, cause)| CompileError::Child {
            action: "read the code of",
            program: self.program.clone(),
            cause,
        })
    }
}

/// The cache of compiled code as one who brings code from elsewhere sees it. Whether it may be brought is
/// [`witlet_core::node::compiled_code`]'s. Blocks: not for threads that others wait for.
#[derive(Debug)]
pub struct CodeCache {
    cache: Cache,
    engines: Vec<(EngineKind, Engine)>,
}

impl CodeCache {
    /// Opens the folder that a [`super::CompilerConfig`] names.
    ///
    /// # Errors
    /// When it isn't the user's own or others may write to it, or an engine can't be made.
    pub fn open(folder: PathBuf) -> Result<Self, CodeCacheError> {
        let cache = Cache::open(folder)?;
        let engines = KINDS.into_iter().map(|kind| Ok((kind, engine::compiling(kind)?)));
        Ok(Self { cache, engines: engines.collect::<Result<_, EngineError>>()? })
    }

    /// Returns what this program compiles for on this machine, for each engine.
    pub fn targets(&self) -> Vec<CodeTarget> {
        self.engines.iter().map(|(kind, engine)| target_of(*kind, engine)).collect()
    }

    /// Where the code is from that the cache has of the component with this digest; none if it has none.
    ///
    /// # Errors
    /// When the folder can't be read, or one of the names is none.
    pub fn origin(&self, engine: &str, component: &str) -> Result<Option<CodeOrigin>, CodeCacheError> {
        Ok(self.cache.origin(&self.key(engine, component)?)?)
    }

    /// Puts code in the place of code that would be compiled here. It is loaded as that would be, through the same checks; `signer` is the
    /// id of the key that vouches for it.
    ///
    /// # Errors
    /// When the folder can't be written, or one of the names is none.
    pub fn store(
        &self,
        engine: &str,
        component: &str,
        code: &[u8],
        signer: &str,
    ) -> Result<(), CodeCacheError> {
        let key = self.key(engine, component)?;
        Ok(self.cache.store_signed(&key, file_of(code).map_err(CodeCacheError::Copy)?, signer)?)
    }

    fn key(&self, engine: &str, component: &str) -> Result<Key, CodeCacheError> {
        let known = self.engines.iter().find(|(kind, _)| kind.name() == engine);
        let (kind, known) = known.ok_or_else(|| CodeCacheError::NoEngine { engine: engine.to_owned() })?;
        let digest = component.strip_prefix("sha256:").and_then(|hex| hex::decode(hex).ok());
        let digest: Option<[u8; 32]> = digest.and_then(|digest| digest.try_into().ok());
        let digest = digest.ok_or_else(|| CodeCacheError::Digest { digest: component.to_owned() })?;
        Ok(Key::of_digest(known, *kind, &digest))
    }
}

/// Removes from the folder all code that was compiled elsewhere and that none of these keys vouches for; how much that was. Blocks.
///
/// # Errors
/// When the folder can't be used.
pub fn retain_signed_code(folder: PathBuf, keys: &[String]) -> Result<usize, CacheError> {
    Cache::open(folder)?.retain_signed(keys)
}

/// Returns what this program compiles for on this machine, for the engine of this kind.
///
/// # Errors
/// When the engine can't be made.
pub fn code_target(kind: EngineKind) -> Result<CodeTarget, EngineError> {
    Ok(target_of(kind, &engine::compiling(kind)?))
}

fn target_of(kind: EngineKind, engine: &Engine) -> CodeTarget {
    let mut cpu_features: Vec<String> = cpu_features().into_iter().map(str::to_owned).collect();
    cpu_features.sort();
    CodeTarget {
        engine: kind.name().to_owned(),
        compatibility: hex::encode(compatibility(engine)),
        architecture: std::env::consts::ARCH.to_owned(),
        cpu_features,
    }
}

fn file_of(code: &[u8]) -> std::io::Result<File> {
    let mut file = File::from(rustix::fs::memfd_create("code", rustix::fs::MemfdFlags::CLOEXEC)?);
    file.write_all(code)?;
    Ok(file)
}

/// Returns those features of this processor that the engine's compiler looks for: [`CodeTarget::compatibility`] covers them, and these are
/// how a difference is named.
fn cpu_features() -> Vec<&'static str> {
    #[cfg(target_arch = "x86_64")]
    macro_rules! detected {
        ($($name:tt)*) => { [$(($name, std::arch::is_x86_feature_detected!($name)),)*] };
    }
    #[cfg(target_arch = "aarch64")]
    macro_rules! detected {
        ($($name:tt)*) => { [$(($name, std::arch::is_aarch64_feature_detected!($name)),)*] };
    }
    #[cfg(target_arch = "x86_64")]
    let features = detected![
        "sse3" "ssse3" "sse4.1" "sse4.2" "popcnt" "avx" "avx2" "fma" "bmi1" "bmi2" "lzcnt" "cmpxchg16b" "avx512bitalg"
        "avx512dq" "avx512f" "avx512vbmi" "avx512vl"
    ];
    #[cfg(target_arch = "aarch64")]
    let features = detected!["lse" "paca" "fp16"];
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    let features: [(&'static str, bool); 0] = [];
    features.into_iter().filter(|(_, is_there)| *is_there).map(|(name, _)| name).collect()
}

/// SHA-256 of a component, as a set's manifest has it.
pub fn component_digest(wasm: &[u8]) -> String {
    format!("sha256:{}", hex::encode(Sha256::digest(wasm)))
}

#[cfg(test)]
mod tests;
