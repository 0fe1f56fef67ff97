//! From a component's bytes to a plugin that can be asked.

mod error;
mod folders;
mod manifest;
mod roles;
mod trust;

use std::sync::Arc;

use sha2::{Digest, Sha256};
use tokio::time::Instant;
use wasmtime::Engine;
use wasmtime::component::types::ComponentItem;
use wasmtime::component::{Component, Linker};
use witlet_ports::ComponentFetcher;

use super::async_engine::{AsyncHost, AsyncPlugin, AsyncPluginSpec};
use super::call::{Caller, SyncPlugin};
use super::config::{AdmissionRole, SOURCE_TIMEOUT_DEFAULT};
use super::conformance::Vouched;
use super::signatures::Signed;
use super::{Origin, Spec, VALIDATE_TIMEOUT};
use crate::compile::{self, CompileError, Compiler};
use crate::engine::EngineKind;
use crate::guest::{GuestServices, GuestState};
use crate::inspect::{self, InspectError};
use crate::limits::{Limits, StaticNeeds};
use crate::role::Role;
use crate::wasi;
use crate::worlds::admission::setup::Setup;
use crate::worlds::admission::{self, HandlerPre};
use crate::worlds::detect::{Capabilities, Detected};
use crate::worlds::remarks::Warnings;
use crate::worlds::unserved;
pub use error::LoadError;
use folders::state_folder;
use manifest::Described;
use roles::{choose, granted, missing, without};

/// A plugin's code, linked, type-checked, and content with its configuration.
#[derive(Debug)]
pub(crate) struct Loaded {
    /// As an admission handler, if its entry names that role.
    pub(crate) admission: Option<Arc<SyncPlugin>>,
    /// As a probe type and a pod source, if its entry names one of these roles.
    pub(crate) async_plugin: Option<Arc<AsyncPlugin>>,
    /// SHA-256 of the component, in hexadecimal.
    pub(crate) digest: Arc<str>,
    pub(crate) size_bytes: usize,
    /// The component's roles with the versions of the contracts that serve it, in those that its entry names.
    versions: Vec<(Role, &'static str)>,
    unused: Vec<Role>,
    /// What it may find refused, because it is newer than this host.
    newer: Vec<String>,
    /// What it said when it was loaded, as an admission handler.
    pub(crate) setup: Setup,
    /// What it warned of in the other roles.
    warned: Warnings,
    /// What its manifest means for its entry.
    described: Described,
    /// Who vouches for it, if that is demanded.
    pub(crate) vouched: Option<Vouched>,
    /// Who signed it in its registry, if that is demanded.
    pub(crate) signed: Option<Signed>,
}

/// Ids of the keys that stand for a component.
fn key_ids(vouched: Option<&Vouched>, signed: Option<&Signed>) -> Vec<String> {
    let reports = vouched.map(|vouched| vouched.report.key_id.clone());
    reports.into_iter().chain(signed.map(|signed| signed.key_id.clone())).collect()
}

impl Loaded {
    /// Ids of the keys that stand for it; empty where none is demanded.
    pub(crate) fn key_ids(&self) -> Vec<String> {
        key_ids(self.vouched.as_ref(), self.signed.as_ref())
    }

    /// The version of the contract that serves it in this role.
    pub(crate) fn version(&self, role: Role) -> Option<&'static str> {
        self.versions.iter().find(|(served, _)| *served == role).map(|(_, version)| *version)
    }

    /// Roles that the component has and its entry doesn't name.
    pub(crate) fn unused(&self) -> &[Role] {
        &self.unused
    }

    /// How many instances wait for their next call in this role.
    pub(crate) fn warm(&self, role: Role) -> usize {
        match role {
            Role::Admission => self.admission.as_ref().map_or(0, |guests| guests.warm()),
            Role::Probe | Role::PodSource => self.async_plugin.as_ref().map_or(0, |guests| guests.warm(role)),
        }
    }

    /// Returns what is worth knowing for who runs it, each a sentence.
    pub(crate) fn warnings(&self) -> impl Iterator<Item = &str> {
        let said = self.newer.iter().chain(&self.setup.warnings.kept).chain(&self.warned.kept);
        self.described.warnings().iter().chain(said).map(String::as_str)
    }

    /// How many warnings didn't fit.
    pub(crate) fn warnings_left_out(&self) -> usize {
        self.setup.warnings.left_out + self.warned.left_out
    }

    /// Returns what of a probe's parameters doesn't fit its manifest, in one line.
    pub(crate) fn misfit(&self, parameters: &str) -> Option<String> {
        self.described.misfit(parameters)
    }

    /// Drops instances that have waited too long.
    pub(crate) fn shrink(&self, now: Instant) {
        if let Some(guests) = &self.admission {
            guests.shrink(now);
        }
        if let Some(guests) = &self.async_plugin {
            guests.shrink(now);
        }
    }

    /// Drops all instances that wait, and keeps none from now on.
    pub(crate) fn retire(&self) {
        if let Some(guests) = &self.admission {
            guests.retire();
        }
        if let Some(guests) = &self.async_plugin {
            guests.retire();
        }
    }
}

#[cfg(test)]
impl Loaded {
    /// Code that no one calls, for tests of what is made of code.
    pub(crate) fn uncalled(digest: &str) -> Self {
        Self {
            admission: None,
            async_plugin: None,
            digest: digest.into(),
            size_bytes: 0,
            versions: Vec::new(),
            unused: Vec::new(),
            newer: Vec::new(),
            setup: Setup::default(),
            warned: Warnings::default(),
            described: Described::default(),
            vouched: None,
            signed: None,
        }
    }
}

/// What a load came to.
#[derive(Debug)]
pub(crate) struct Loading {
    /// Of the component, if it could be read.
    pub(crate) digest: Option<String>,
    /// Ids of the keys that count, where a report or a signature is demanded, the load failed and they could be checked.
    pub(crate) keys: Option<Vec<String>>,
    /// None if the component is known already.
    pub(crate) result: Result<Option<Loaded>, LoadError>,
}

impl Loading {
    /// What a load comes to that ended early.
    pub(crate) fn interrupted() -> Self {
        Self { digest: None, keys: None, result: Err(LoadError::Interrupted) }
    }
}

/// Components that needn't be compiled again for a specification.
#[derive(Clone, Debug, Default)]
pub(crate) struct KnownComponents {
    /// Digest of what runs, and the ids of the keys that stand for it.
    pub(crate) runs: Option<(String, Vec<String>)>,
    /// Digest of what failed by itself.
    pub(crate) failed: Option<String>,
}

impl KnownComponents {
    /// Whether a component is one of them. What runs isn't when other keys stand for it now: it is to say so.
    pub(crate) fn covers(&self, digest: &str, key_ids: &[String]) -> bool {
        let runs = self.runs.as_ref();
        runs.is_some_and(|(runs, by)| runs == digest && by == key_ids)
            || self.failed.as_deref() == Some(digest)
    }
}

/// What a loader needs next to the engine of admission.
pub(crate) struct LoaderParts {
    pub(crate) compiler: Arc<Compiler>,
    pub(crate) caller: Caller,
    pub(crate) async_host: AsyncHost,
    pub(crate) fetcher: Option<Arc<dyn ComponentFetcher>>,
    /// For all plugins whose load isn't given something else.
    pub(crate) given: GuestServices,
}

/// Loads plugins onto the engines of their roles.
pub(crate) struct Loader {
    engine: Engine,
    linker: Linker<GuestState>,
    parts: LoaderParts,
}

impl std::fmt::Debug for Loader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Loader").finish_non_exhaustive()
    }
}

/// A component that was checked and not compiled.
struct InspectedComponent {
    wasm: Arc<[u8]>,
    digest: String,
    needs: StaticNeeds,
    /// In the roles that its entry names.
    detected: Detected,
    unused: Vec<Role>,
}

impl Loader {
    pub(crate) fn new(engine: Engine, parts: LoaderParts) -> wasmtime::Result<Self> {
        let mut linker = Linker::new(&engine);
        wasi::sync_link::add_to_linker(&mut linker)?;
        admission::add_to_linker(&mut linker)?;
        Ok(Self { engine, linker, parts })
    }

    /// Reads, compiles, links and validates, unless the component is one of `known`.
    pub(crate) async fn load(&self, spec: &Spec, known: &KnownComponents) -> Loading {
        if let Some(what) = &spec.missing {
            let result = Err(LoadError::Missing { what: what.to_string() });
            return Loading { digest: None, keys: None, result };
        }
        let (digest, result) = match self.read(&spec.origin).await {
            Err(error) => (None, Err(error)),
            Ok(wasm) => match digest(wasm.clone()).await {
                None => return Loading::interrupted(),
                Some(digest) => {
                    let result = self.load_read(spec, wasm, &digest, known).await;
                    (Some(digest), result)
                }
            },
        };
        let keys = if result.is_err() { spec.counting_keys().await } else { None };
        Loading { digest, keys, result }
    }

    async fn load_read(
        &self,
        spec: &Spec,
        wasm: Arc<[u8]>,
        digest: &str,
        known: &KnownComponents,
    ) -> Result<Option<Loaded>, LoadError> {
        let signed = self.signed(spec).await?;
        let vouched = self.vouched(spec, digest).await?;
        if known.covers(digest, &key_ids(vouched.as_ref(), signed.as_ref())) {
            return Ok(None);
        }
        let described = manifest::check(spec, wasm.clone()).await?;
        let loaded = self.load_bytes(spec, wasm).await?;
        Ok(Some(Loaded { vouched, signed, described, ..loaded }))
    }

    /// Compiles for the engine of each role, links and validates.
    pub(crate) async fn load_bytes(&self, spec: &Spec, wasm: Arc<[u8]>) -> Result<Loaded, LoadError> {
        self.load_given(spec, &self.parts.given, wasm).await
    }

    /// The same for a plugin that is given something of its own.
    pub(crate) async fn load_given(
        &self,
        spec: &Spec,
        given: &GuestServices,
        wasm: Arc<[u8]>,
    ) -> Result<Loaded, LoadError> {
        let seen = inspect_component(wasm, spec).await?;
        let (admission, setup) = match &spec.admission {
            Some(role) => {
                let (handler, setup) = self.load_admission(spec, given, role, &seen).await?;
                (Some(handler), setup)
            }
            None => (None, Setup::default()),
        };
        let (async_plugin, warned) = match spec.async_memory_bytes() {
            Some(memory_bytes) => {
                let (guests, warned) = self.load_async(spec, given, memory_bytes, &seen).await?;
                (Some(guests), warned)
            }
            None => (None, Warnings::default()),
        };
        Ok(Loaded {
            admission,
            async_plugin,
            size_bytes: seen.wasm.len(),
            digest: seen.digest.into(),
            versions: seen.detected.roles(),
            unused: seen.unused,
            newer: seen.detected.newer,
            setup,
            warned,
            described: Described::default(),
            vouched: None,
            signed: None,
        })
    }

    async fn load_admission(
        &self,
        spec: &Spec,
        given: &GuestServices,
        role: &AdmissionRole,
        seen: &InspectedComponent,
    ) -> Result<(Arc<SyncPlugin>, Setup), LoadError> {
        let limits = Limits::with_memory(role.memory_bytes);
        seen.needs.check(&limits).map_err(LoadError::Needs)?;
        let component = self.compile(&self.engine, EngineKind::Synchronous, seen, &limits).await?;
        let needs = StaticNeeds::of(&component);
        let pre = self.link(&component, &seen.detected)?;
        let caller = &self.parts.caller;
        let memories = needs.memories;
        let guests = Arc::new(SyncPlugin::new(spec, given, role.timeout, pre, limits, memories, caller));
        let setup = caller.validate(&guests).await.map_err(LoadError::of_validate)?;
        match setup.fault() {
            None => Ok((guests, setup)),
            Some(fault) => Err(LoadError::refused(fault)),
        }
    }

    async fn load_async(
        &self,
        spec: &Spec,
        given: &GuestServices,
        memory_bytes: usize,
        seen: &InspectedComponent,
    ) -> Result<(Arc<AsyncPlugin>, Warnings), LoadError> {
        let pool_spec = AsyncPluginSpec {
            name: spec.name.clone(),
            config: spec.config.clone(),
            source_timeout: spec.pod_source.as_ref().map_or(SOURCE_TIMEOUT_DEFAULT, |role| role.timeout),
            validate_timeout: VALIDATE_TIMEOUT,
            memory_bytes,
            warm: spec.warm,
            grants: Arc::new(spec.grants.clone()),
            state_folder: state_folder(spec, given).await?,
            data: spec.data.clone(),
        };
        let limits = AsyncHost::limits(&pool_spec, &seen.detected);
        seen.needs.check(&limits).map_err(LoadError::Needs)?;
        let engine = self.parts.async_host.engine().map_err(LoadError::of_async)?;
        let component = self.compile(&engine, EngineKind::Asynchronous, seen, &limits).await?;
        let guests = self
            .parts
            .async_host
            .link(pool_spec, given, &component, &seen.detected)
            .map_err(LoadError::of_async)?;
        let mut warned = Warnings::default();
        for role in spec.roles().filter(|role| guests.has(*role)) {
            let Warnings { kept, left_out } = guests.validate(role).await.map_err(LoadError::of_validate)?;
            warned.kept.extend(kept);
            warned.left_out += left_out;
        }
        Ok((guests, warned))
    }

    async fn compile(
        &self,
        engine: &Engine,
        kind: EngineKind,
        seen: &InspectedComponent,
        limits: &Limits,
    ) -> Result<Component, LoadError> {
        let compiled = self.parts.compiler.load(engine, kind, seen.wasm.clone()).await;
        let component = compiled.map_err(LoadError::Compile)?;
        StaticNeeds::of(&component).check(limits).map_err(LoadError::Needs)?;
        Ok(component)
    }

    async fn read(&self, origin: &Origin) -> Result<Arc<[u8]>, LoadError> {
        match origin {
            Origin::Embedded(component) | Origin::Shipped { component, .. } => Ok((*component).into()),
            Origin::Registry { reference, credentials } => {
                let fetcher = self.parts.fetcher.as_ref().ok_or(LoadError::NoFetcher)?;
                Ok(fetcher.fetch(reference, credentials.as_deref()).await?)
            }
            Origin::LastGood { copy, digest, .. } => {
                let read_error = |cause| LoadError::Read { path: copy.clone(), cause };
                let task = tokio::task::spawn_blocking({
                    let (copy, digest) = (copy.clone(), digest.clone());
                    move || compile::read_component_of(&copy, &digest)
                });
                task.await.unwrap_or(Err(std::io::ErrorKind::Interrupted.into())).map_err(read_error)
            }
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

    fn link(&self, component: &Component, detected: &Detected) -> Result<Box<dyn HandlerPre>, LoadError> {
        let ty = component.component_type();
        let imports: Vec<_> = ty.imports(&self.engine).collect();
        let mismatch = |error: wasmtime::Error| LoadError::Mismatch { message: format!("{error:#}") };
        let Some(adapter) = detected.admission else {
            return Err(LoadError::refused(without(Role::Admission, detected)));
        };
        let refused = [detected.denied.as_slice(), &detected.unserved];
        let given = wasi::LinkedResources::of(&self.engine, &imports, &refused, unserved::borrowed);
        let (kind, mut linker) = (EngineKind::Synchronous, self.linker.clone());
        for (name, item) in &imports {
            if let ComponentItem::ComponentInstance(expected) = &item.ty
                && detected.denied.iter().any(|denied| denied == name)
            {
                let mut instance = linker.instance(name).map_err(mismatch)?;
                wasi::define_denied(kind, &self.engine, &mut instance, expected, &given).map_err(mismatch)?;
            }
        }
        let denied = &detected.denied;
        unserved::define(kind, &self.engine, &mut linker, &imports, denied, &given, GuestState::host)
            .map_err(mismatch)?;
        linker.instantiate_pre(component).and_then(adapter.link).map_err(mismatch)
    }
}

/// The component's digest, computed off the caller's thread; none while the program ends.
async fn digest(wasm: Arc<[u8]>) -> Option<String> {
    tokio::task::spawn_blocking(move || hex::encode(Sha256::digest(&wasm))).await.ok()
}

/// Refuses what can be refused without compiling it, off the caller's thread.
async fn inspect_component(wasm: Arc<[u8]>, spec: &Spec) -> Result<InspectedComponent, LoadError> {
    let expected: Vec<Role> = spec.roles().collect();
    let granted = granted(&spec.grants, &expected);
    let memory_bytes_max = spec.memory_bytes();
    let has_data = !spec.data.is_empty();
    let task = tokio::task::spawn_blocking(move || match inspect::inspect(&wasm) {
        Ok(inspection) => {
            // Before what is in the way of linking it: too large is too large for every host.
            inspection.needs.check(&Limits::with_memory(memory_bytes_max)).map_err(LoadError::Needs)?;
            let (detected, unused) = match inspection.detect(granted) {
                Ok(detected) => choose(detected, &expected)?,
                Err(found) => {
                    // Also what grants don't help with: no one is to grant a secret in vain.
                    let whatever_granted = inspection.detect(Capabilities::ALL);
                    let missing =
                        whatever_granted.map_or(Vec::new(), |detected| missing(&detected, &expected));
                    let found = found.iter().map(ToString::to_string);
                    return Err(LoadError::Refused { obstacles: missing.into_iter().chain(found).collect() });
                }
            };
            if has_data && !detected.data {
                let obstacle = "its entry has data, but the component doesn't import witlet:host/data";
                return Err(LoadError::refused(obstacle.to_owned()));
            }
            Ok(InspectedComponent {
                wasm,
                digest: inspection.digest,
                needs: inspection.needs,
                detected,
                unused,
            })
        }
        Err(InspectError::NotAComponent(error)) => Err(LoadError::Compile(error)),
        Err(InspectError::Damaged { offset, message }) => {
            let message = format!("{message} at byte {offset}");
            Err(LoadError::Compile(CompileError::Invalid { message }))
        }
    });
    task.await.unwrap_or(Err(LoadError::Compile(CompileError::Ending)))
}

#[cfg(test)]
mod tests;
