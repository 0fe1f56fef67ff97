//! The operator's policy and its keys, checked again while the agent runs: what they don't allow any more is not for the next start.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Interval, MissedTickBehavior};
use witlet_core::error::one_line;
use witlet_ports::whole_file::replace_file;
use witlet_ports::{ComponentFetcher, ComponentReference};
use witlet_wasm::plugin::{counting_keys, verify_signature};

use crate::settings::plugin_sets::{PluginSetPolicy, SetPolicyError, of_text, read_text};

#[cfg(test)]
mod tests;

/// How often the policy's file and its keys are checked.
const POLICY_READ_INTERVAL: Duration = Duration::from_secs(30);
/// How long a registry may take to show another signature of a set whose key is gone.
const SIGNATURE_TIME_MAX: Duration = Duration::from_secs(30);

/// Where the policy is.
#[derive(Clone, Debug)]
pub(super) struct PolicyFiles {
    /// Named by `--plugin-sets`.
    pub(super) file: PathBuf,
    /// The last one that was taken: a start goes on with it if the operator's can't be taken.
    pub(super) kept: PathBuf,
}

/// What the operator allows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct KnownPolicy {
    /// As its file had it last.
    pub(super) policy: PluginSetPolicy,
    /// Ids of the keys that count.
    pub(super) key_ids: Vec<String>,
    /// Why the file as it is now isn't taken; the policy is the one before.
    pub(super) problem: Option<String>,
}

/// A policy that is another than before.
#[derive(Clone, Debug)]
pub(super) struct PolicyChange {
    pub(super) policy: KnownPolicy,
    /// Who signed the set that runs, if the key by which it was taken doesn't count any more.
    pub(super) signer: Option<Result<String, String>>,
}

impl KnownPolicy {
    /// Reads it for the first time. If it can't be taken, the last one that was taken stands for it, and no set is allowed without one.
    pub(super) async fn first(files: &PolicyFiles) -> Self {
        let none = Self { policy: PluginSetPolicy::none(), key_ids: Vec::new(), problem: None };
        let files = files.clone();
        let read = tokio::task::spawn_blocking(move || match files.read() {
            Ok(policy) => (Some(policy), None),
            Err(error) => (files.read_kept(), Some(one_line(&error))),
        });
        // Only a runtime that ends cancels it.
        let Ok((policy, problem)) = read.await else { return none };
        let policy = policy.unwrap_or(none.policy);
        let key_ids = counting_keys(&policy.keys).await;
        Self { policy, key_ids, problem }
    }

    /// Ids of the keys that vouch for compiled code; none where the operator wants none.
    pub(super) fn keys_of_code(&self) -> Vec<String> {
        if self.policy.uses_compiled_code { self.key_ids.clone() } else { Vec::new() }
    }

    /// Reads the policy again. A file that can't be taken changes nothing but the problem; a key's file that is gone counts no more.
    async fn again(&self, files: &PolicyFiles) -> Self {
        let files = files.clone();
        let (policy, problem) = match tokio::task::spawn_blocking(move || files.read()).await {
            Ok(Ok(policy)) => (policy, None),
            Ok(Err(error)) => (self.policy.clone(), Some(one_line(&error))),
            // Only a runtime that ends cancels it.
            Err(_cancelled) => return self.clone(),
        };
        let key_ids = counting_keys(&policy.keys).await;
        Self { policy, key_ids, problem }
    }
}

impl PolicyFiles {
    /// Reads the operator's policy, and keeps it.
    fn read(&self) -> Result<PluginSetPolicy, SetPolicyError> {
        let text = read_text(&self.file)?;
        let policy = of_text(&self.file, &text)?;
        let is_kept = read_text(&self.kept).is_ok_and(|kept| kept == text);
        if !is_kept
            && let Err(error) =
                replace_file(&self.kept, &self.kept.with_extension("unfinished"), text.as_bytes(), 0o600)
        {
            tracing::warn!(%error, "Failed to save the plugin set policy");
        }
        Ok(policy)
    }

    fn read_kept(&self) -> Option<PluginSetPolicy> {
        of_text(&self.file, &read_text(&self.kept).ok()?).ok()
    }
}

/// When the policy is checked.
pub(super) fn ticks() -> Interval {
    let mut ticks = tokio::time::interval(POLICY_READ_INTERVAL);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    ticks
}

/// Returns when the policy is another than `known`. `running` is the set that runs and the id of its key.
pub(super) async fn changed(
    ticks: &mut Interval,
    (files, known): (&PolicyFiles, &KnownPolicy),
    running: Option<(&str, &str)>,
    fetcher: Arc<dyn ComponentFetcher>,
) -> PolicyChange {
    loop {
        ticks.tick().await;
        let policy = known.again(files).await;
        if policy == *known {
            continue;
        }
        let lost = running.filter(|(_, key)| !policy.key_ids.iter().any(|id| id == key));
        let signer = match lost {
            Some((reference, _)) => Some(signer(&policy.policy, reference, &fetcher).await),
            None => None,
        };
        return PolicyChange { policy, signer };
    }
}

/// Who else has signed a set: the key's id.
async fn signer(
    policy: &PluginSetPolicy,
    reference: &str,
    fetcher: &Arc<dyn ComponentFetcher>,
) -> Result<String, String> {
    let reference = reference.parse::<ComponentReference>().map_err(|error| one_line(&error))?;
    let (keys, credentials): (&[PathBuf], _) = (&policy.keys, policy.pull_credentials.as_deref());
    let signed = verify_signature(keys, &reference, credentials, fetcher);
    let late = || format!("no signature was found within {}s", SIGNATURE_TIME_MAX.as_secs());
    match tokio::time::timeout(SIGNATURE_TIME_MAX, signed).await {
        Ok(signed) => signed.map(|signed| signed.key_id).map_err(|error| error.sentence()),
        Err(_elapsed) => Err(late()),
    }
}
