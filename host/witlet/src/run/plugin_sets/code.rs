//! Compiled code that a set brings, into the cache of compiled code where the operator allows it. Which of it, is decided in
//! `witlet_core::node::compiled_code`; what is wrong with it never keeps a set from serving: its components are compiled here then.

use std::path::{Path, PathBuf};

use witlet_core::error::one_line;
use witlet_core::node::compiled_code::{
    CodeOffer, CodePart, CodeRefusal, CodeReport, CodeTarget, CodeTrust, CodeUse, choose, judge,
};
use witlet_oci::{CodeOfSet, Registries};
use witlet_ports::ComponentReference;
use witlet_wasm::compile::{
    CodeCache, CodeCacheError, CodeOrigin, CompilerConfig, component_digest, retain_signed_code,
};
use witlet_wasm::plugin::counting_keys;

use super::folder::{KeptSet, SetFolder, blocking};
use crate::settings::plugin_sets::PluginSetPolicy;

#[cfg(test)]
mod tests;

/// Removes compiled code from the cache that none of these keys vouches for. What runs stays mapped.
pub(super) async fn forget(compiler: CompilerConfig, keys: Vec<String>) {
    let removed = blocking(move || Ok(retain_signed_code(compiler.cache_dir, &keys))).await;
    match removed {
        Ok(Ok(0)) | Err(_) => {}
        Ok(Ok(count)) => tracing::info!(count, "Removed compiled code whose key is no longer trusted"),
        // The plugin host says it, too, and doesn't start with it.
        Ok(Err(error)) => tracing::warn!(error = one_line(&error), "Failed to search compiled code"),
    }
}

/// What is done about code that may be used and isn't in the cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Missing {
    /// The registry is asked for it.
    IsBrought,
    /// Nothing: the component is compiled here.
    IsCompiled,
}

/// What code is judged by besides itself.
struct Judged<'a> {
    trust: CodeTrust<'a>,
    place: CodeUse<'a>,
    missing: Missing,
}

/// What takes sets' compiled code.
#[derive(Clone, Copy)]
pub(super) struct CodeOfSets<'a> {
    pub(super) folder: &'a SetFolder,
    pub(super) registries: &'a Registries,
    /// The folder of compiled code.
    pub(super) cache: &'a Path,
}

impl CodeOfSets<'_> {
    /// Returns what a start finds of the compiled code of the set that it goes on with; it doesn't wait for a registry.
    pub(super) async fn there(
        &self,
        KeptSet { reference, signed_by }: &KeptSet,
        policy: &PluginSetPolicy,
    ) -> Option<CodeReport> {
        let reference: ComponentReference = reference.parse().ok()?;
        self.take(&reference, policy, Some(signed_by), Missing::IsCompiled).await
    }

    /// Puts what of the set's compiled code may be used here into the cache. None of a set without any.
    pub(super) async fn take(
        &self,
        reference: &ComponentReference,
        policy: &PluginSetPolicy,
        signed_by: Option<&str>,
        missing: Missing,
    ) -> Option<CodeReport> {
        let (folder, digest) = (self.folder.clone(), reference.digest().to_owned());
        let read = blocking(move || Ok(folder.code(&digest))).await.ok()?;
        let CodeOfSet { components, offers } = match read {
            Ok(code) => code,
            Err(error) => {
                let error = one_line(&error);
                tracing::warn!(set = %reference, error, "Failed to read the list of a set's compiled code");
                return None;
            }
        };
        if offers.is_empty() {
            return None;
        }
        let keys = counting_keys(&policy.keys).await;
        let trust = CodeTrust { is_allowed: policy.uses_compiled_code, signed_by, keys: &keys };
        let engines = self.engines().await;
        let place = CodeUse { components: &components, engines: &engines };
        let mut parts = choose(trust, &offers, place);
        for part in &mut parts {
            if let Ok(offer) = &part.outcome {
                let judged = Judged { trust, place, missing };
                let kept = self.keep_code(reference, policy, offer, &judged).await;
                part.outcome = kept.map(|()| offer.clone());
            }
            said(reference, part);
        }
        CodeReport::of(&offers, parts.iter().map(|part| part.outcome.as_ref().map(drop)))
    }

    /// Returns what this node compiles for; nothing where that can't be found out, so that no code fits.
    async fn engines(&self) -> Vec<CodeTarget> {
        let folder = self.cache.to_owned();
        let targets = blocking(move || Ok(CodeCache::open(folder).map(|cache| cache.targets()))).await;
        match targets {
            Ok(Ok(targets)) => targets,
            Ok(Err(error)) => {
                tracing::warn!(error = one_line(&error), "Failed to open the cache of compiled code");
                Vec::new()
            }
            // Only a runtime that ends cancels it.
            Err(_cancelled) => Vec::new(),
        }
    }

    /// Brings one piece of code, and puts it where this node's own would be. What is there already stays.
    async fn keep_code(
        &self,
        reference: &ComponentReference,
        policy: &PluginSetPolicy,
        offer: &CodeOffer,
        Judged { trust, place, missing }: &Judged<'_>,
    ) -> Result<(), CodeRefusal> {
        let not_kept = |problem: String| CodeRefusal::NotKept { problem };
        let (folder, desired) = (self.cache.to_owned(), offer.clone());
        let known = blocking(move || Ok(origin(folder, &desired))).await;
        let known = known.map_err(|error| not_kept(one_line(&error)))?;
        match (known.map_err(|error| not_kept(one_line(&error)))?, missing) {
            (Some(CodeOrigin::Signed), _) => return Ok(()),
            (Some(CodeOrigin::Own), _) => return Err(CodeRefusal::CompiledHere),
            (None, Missing::IsCompiled) => {
                let problem = "the cache of compiled code has lost it".to_owned();
                return Err(CodeRefusal::NotHad { problem });
            }
            (None, Missing::IsBrought) => {}
        }
        let credentials = policy.pull_credentials.as_deref();
        let fetched = self.registries.fetch_code(reference, credentials, offer).await;
        let code = fetched.map_err(|error| CodeRefusal::NotHad { problem: one_line(&error) })?;
        judge(*trust, offer, *place, Some(&component_digest(&code)))?;
        // Who isn't there was refused by `judge`.
        let signer = trust.signed_by.unwrap_or_default().to_owned();
        let (folder, desired) = (self.cache.to_owned(), offer.clone());
        let stored = blocking(move || {
            let cache = CodeCache::open(folder);
            Ok(cache
                .and_then(|cache| cache.store(&desired.target.engine, &desired.component, &code, &signer)))
        });
        let stored = stored.await.map_err(|error| not_kept(one_line(&error)))?;
        stored.map_err(|error| not_kept(one_line(&error)))
    }
}

fn origin(folder: PathBuf, offer: &CodeOffer) -> Result<Option<CodeOrigin>, CodeCacheError> {
    CodeCache::open(folder)?.origin(&offer.target.engine, &offer.component)
}

/// Says what becomes of the code of a component.
fn said(reference: &ComponentReference, CodePart { component, engine, outcome }: &CodePart) {
    match outcome {
        Ok(_) => tracing::info!(set = %reference, component, engine, "Using the set's compiled code"),
        Err(refusal) => {
            let reason = refusal.to_string();
            tracing::info!(set = %reference, component, engine, reason, "Not using the set's compiled code");
        }
    }
}
