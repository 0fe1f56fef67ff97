//! What volumes refer to in the cluster, as far as it could be had, and what becomes of a volume that lacks some of it.

use std::collections::BTreeMap;
use std::sync::Arc;

use k8s_openapi::api::core::v1::{ConfigMap, Secret};

use super::{ROOT_CA, VolumeSpecError};

#[cfg(test)]
mod tests;

/// Which token a pod wants (`serviceAccountToken` of a projected volume).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TokenWish {
    /// For whom it is; none is for the API server itself.
    pub audience: Option<String>,
    /// How long it is to last, in seconds.
    pub expiration_seconds: i64,
}

/// Something that was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fetched<T> {
    Found(T),
    Missing,
    /// The API server refuses it, in these words.
    Refused(String),
    /// There is no one who could be asked, for this reason.
    Unavailable(String),
    /// It can't be had, and the pod starts without it.
    LeftOut,
}

/// What the volumes of a pod refer to, by name, in its namespace. What isn't here wasn't asked for, and counts as missing.
/// `Debug` shows names only.
#[derive(Clone, Default)]
pub struct ReferencedObjects {
    pub config_maps: BTreeMap<String, Fetched<Arc<ConfigMap>>>,
    pub secrets: BTreeMap<String, Fetched<Arc<Secret>>>,
    /// Tokens of the pod's service account.
    pub tokens: BTreeMap<TokenWish, Fetched<String>>,
}

impl std::fmt::Debug for ReferencedObjects {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut set = f.debug_set();
        set.entries(self.config_maps.keys()).entries(self.secrets.keys()).entries(self.tokens.keys()).finish()
    }
}

impl ReferencedObjects {
    /// The same, in which what a pod needs for nothing but to talk to the API server is left out as far as it can't be had: its
    /// tokens, and the certificates of the cluster.
    pub fn without_credentials(&self) -> Self {
        let mut referenced = self.clone();
        for token in referenced.tokens.values_mut() {
            leave_out(token);
        }
        if let Some(certificates) = referenced.config_maps.get_mut(ROOT_CA) {
            leave_out(certificates);
        }
        referenced
    }
}

fn leave_out<T>(fetched: &mut Fetched<T>) {
    if matches!(fetched, Fetched::Unavailable(_)) {
        *fetched = Fetched::LeftOut;
    }
}

/// What is done about a volume that can't be made as the spec has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InsteadOf {
    /// It is used as an earlier run of the agent left it.
    UseAsItIs,
    /// It is made without what the pod talks to the API server with, which comes once that is there.
    WithoutCredentials,
    Wait,
}

/// Returns what to do about a volume that failed with this error. `is_there`: an earlier run of the agent has set it up. `is_restored`:
/// the pod comes from what was remembered, because its source wasn't seen since the agent's start.
///
/// An API server that doesn't answer must not hold up what could run without it; one that answers is right.
pub fn instead(error: &VolumeSpecError, is_there: bool, is_restored: bool) -> InsteadOf {
    if !error.is_unavailable() {
        InsteadOf::Wait
    } else if is_there {
        InsteadOf::UseAsItIs
    } else if is_restored {
        // Whatever else is missing fails again, and the pod waits for that.
        InsteadOf::WithoutCredentials
    } else {
        InsteadOf::Wait
    }
}
