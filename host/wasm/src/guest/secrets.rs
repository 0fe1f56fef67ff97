//! Values that stand neither in the configuration nor in pods, and who may have which.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::{Arc, PoisonError, RwLock};

/// The node's secrets by name. Values are never shown.
#[derive(Default)]
pub(crate) struct Secrets(RwLock<BTreeMap<String, Arc<[u8]>>>);

impl Secrets {
    /// Makes these be the secrets, from the next call of a guest on.
    pub(crate) fn replace(&self, secrets: BTreeMap<String, Arc<[u8]>>) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = secrets;
    }

    /// The values that there are now of these names.
    pub(crate) fn values(&self, names: &BTreeSet<String>) -> Vec<(String, Arc<[u8]>)> {
        let secrets = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let known = names.iter().filter_map(|name| Some((name.clone(), secrets.get(name)?.clone())));
        known.collect()
    }

    /// The newest value, without a check of who may have it.
    pub(crate) fn value(&self, name: &str) -> Option<Arc<[u8]>> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).get(name).cloned()
    }
}

impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let secrets = self.0.read().unwrap_or_else(PoisonError::into_inner);
        f.debug_set().entries(secrets.keys()).finish()
    }
}

/// Why there is no value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NoSecret {
    /// The plugin's grants don't name it.
    NotGranted,
    /// The grants name it, and the node doesn't have it.
    NotFound,
}

/// The secrets that one plugin may have; none by default.
#[derive(Clone, Debug, Default)]
pub(crate) struct GrantedSecrets {
    secrets: Arc<Secrets>,
    names: Arc<BTreeSet<String>>,
}

impl GrantedSecrets {
    /// Grants those of `secrets` with these names.
    pub(crate) fn new(secrets: Arc<Secrets>, names: BTreeSet<String>) -> Self {
        Self { secrets, names: Arc::new(names) }
    }

    /// The newest value.
    pub(crate) fn get(&self, name: &str) -> Result<Arc<[u8]>, NoSecret> {
        if !self.names.contains(name) {
            return Err(NoSecret::NotGranted);
        }
        self.secrets.value(name).ok_or(NoSecret::NotFound)
    }
}

#[cfg(test)]
mod tests;
