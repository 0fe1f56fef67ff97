//! The steps of a change: a set is verified, brought and loaded for a trial; the local plugin file is checked before it serves again.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use witlet_core::error::one_line;
use witlet_core::node::compiled_code::CodeReport;
use witlet_core::node::plugin_set::{Refusal, SetReference};
use witlet_oci::{Registries, TransferError};
use witlet_ports::{ComponentFetcher, ComponentReference};
use witlet_wasm::plugin::{SignatureError, verify_signature};

use super::code::{CodeOfSets, Missing};
use super::folder::{KeptSet, SetFolder, blocking};
use crate::run::trial::Trial;
use crate::settings::plugin_sets::PluginSetPolicy;

/// What came of a step.
#[derive(Debug)]
pub(super) enum Outcome {
    Waited,
    /// The local plugin file can be taken.
    Left,
    NotLeft(String),
    /// All of the set was loaded for a trial; what became of its compiled code, if it has any.
    Loaded(KeptSet, Option<CodeReport>),
    Refused(Refusal, String),
}

/// What steps are made with.
pub(super) struct Steps {
    /// The plugin file that serves without a set.
    pub(super) local: Option<PathBuf>,
    pub(super) folder: SetFolder,
    pub(super) registries: Arc<Registries>,
    pub(super) trial: Trial,
}

impl Steps {
    /// Returns what takes sets' compiled code.
    pub(super) fn code(&self) -> CodeOfSets<'_> {
        let (folder, registries) = (&self.folder, &*self.registries);
        CodeOfSets { folder, registries, cache: &self.trial.compiler.cache_dir }
    }

    /// Whether the local plugin file can be taken: one that can't would leave the set's plugins serving.
    pub(super) fn leave(&self) -> Outcome {
        let Some(local) = &self.local else { return Outcome::Left };
        let problem = self.trial.problem_of(local);
        problem.map_or(Outcome::Left, |problem| {
            Outcome::NotLeft(format!("the local plugin file {} can't be taken: {problem}", local.display()))
        })
    }

    /// Brings a set, and loads it for a trial. All sets but `used` go from the disk first.
    pub(super) async fn take(
        &self,
        reference: &SetReference,
        policy: &PluginSetPolicy,
        used: Vec<String>,
    ) -> Outcome {
        let named: Result<ComponentReference, _> = reference.as_str().parse();
        let named = match named {
            Ok(named) => named,
            Err(error) => return Outcome::Refused(Refusal::NotLoaded, one_line(&error)),
        };
        let kept = match self.bring(&named, policy, used).await {
            Ok(signed_by) => KeptSet { reference: reference.as_str().to_owned(), signed_by },
            Err((refusal, problem)) => return Outcome::Refused(refusal, problem),
        };
        let code = self.code().take(&named, policy, Some(&kept.signed_by), Missing::IsBrought).await;
        match self.trial.load(&self.folder.plugin_file(reference.digest())).await {
            Ok(()) => Outcome::Loaded(kept, code),
            Err(problem) => Outcome::Refused(Refusal::NotLoaded, problem),
        }
    }

    /// Brings a set that one of the keys has signed into its folder, unless it is there; the key's id.
    async fn bring(
        &self,
        reference: &ComponentReference,
        policy: &PluginSetPolicy,
        mut used: Vec<String>,
    ) -> Result<String, (Refusal, String)> {
        let credentials = policy.pull_credentials.as_deref();
        let fetcher: Arc<dyn ComponentFetcher> = self.registries.clone();
        let signed = verify_signature(&policy.keys, reference, credentials, &fetcher).await;
        let signed = signed.map_err(|error| (unsigned(&error), error.sentence()))?;
        let (folder, digest) = (self.folder.clone(), reference.digest().to_owned());
        used.push(digest.clone());
        let whole = blocking(move || {
            folder.prune(&used);
            Ok(folder.is_whole(&digest))
        });
        if !whole.await.unwrap_or(false) {
            let fetched = self.fetch(reference, credentials).await;
            fetched.map_err(|problem| (Refusal::NotHad, problem))?;
        }
        Ok(signed.key_id)
    }

    async fn fetch(&self, reference: &ComponentReference, credentials: Option<&Path>) -> Result<(), String> {
        let unwritable = |error: io::Error| format!("its folder can't be made: {error}");
        let (begun, digest) = (self.folder.clone(), reference.digest().to_owned());
        let into = blocking(move || begun.begin(&digest)).await.map_err(unwritable)?;
        let (folder, digest) = (self.folder.clone(), reference.digest().to_owned());
        match self.registries.fetch_set(reference, credentials, &into).await {
            Ok(()) => blocking(move || folder.finish(&digest)).await.map_err(unwritable),
            Err(error) => {
                if let Some(TransferError::Write { .. }) = error.cause.downcast_ref() {
                    let abandoned = blocking(move || {
                        folder.abandon(&digest);
                        Ok(())
                    });
                    // Only a runtime that ends cancels it.
                    let _ = abandoned.await;
                }
                Err(one_line(&error))
            }
        }
    }
}

/// Whether the registry has no signature that counts, or can't be asked.
fn unsigned(error: &SignatureError) -> Refusal {
    match error {
        SignatureError::Key(_) | SignatureError::Signatures { .. } => Refusal::NotSigned,
        SignatureError::Fetch(_) | SignatureError::NoFetcher | SignatureError::Interrupted => Refusal::NotHad,
    }
}
