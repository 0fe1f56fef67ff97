//! Who may use an image that is on the node already (KEP-2535, `KubeletEnsureSecretPulledImages`): whoever shows the
//! credentials that it was pulled with, or pulls it again.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::image::reference::without_tag_and_digest;

/// How many secrets one record keeps for one image, the newest ones.
pub const SECRETS_MAX: usize = 100;

/// For which images credentials are verified: `imagePullCredentialsVerificationPolicy`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum VerificationPolicy {
    /// For none.
    NeverVerify,
    /// For those that this agent pulled; what was put there by others is for all. Upstream's default.
    #[default]
    NeverVerifyPreloadedImages,
    /// For all but these: names without tag and digest, or `registry/path/*` for all below.
    NeverVerifyAllowlistedImages(Vec<String>),
    /// For all.
    AlwaysVerify,
}

/// A pull secret by its place and its content's hash.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct PullSecret {
    /// `metadata.uid`
    pub uid: String,
    /// `metadata.namespace`
    pub namespace: String,
    /// `metadata.name`
    pub name: String,
    /// Hash of the credentials; empty if they couldn't be hashed, and then like no other.
    pub credential_hash: String,
}

impl PullSecret {
    fn place(&self) -> (&str, &str, &str) {
        (&self.uid, &self.namespace, &self.name)
    }
}

/// What an image was pulled with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PulledWith {
    /// Nothing, or what the node itself has: all pods on it may use the image.
    NodeAccess,
    /// One of these pull secrets.
    Secrets(Vec<PullSecret>),
}

/// An image that this agent pulled. Its existence alone says that the image wasn't preloaded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PulledRecord {
    /// What containers are created from.
    pub image_ref: String,
    /// When something new was noted.
    pub updated_at: Timestamp,
    /// By the image's name as pods write it, without tag and digest. One without an entry must be verified.
    pub pulled_with: BTreeMap<String, PulledWith>,
}

/// What is known about pulls of an image.
#[derive(Clone, Copy, Debug)]
pub struct KnownPulls<'a> {
    /// The record of what containers would be created from, if there is one.
    pub record: Option<&'a PulledRecord>,
    /// Whether a pull of this name was begun of which nobody knows that it failed.
    pub intended: bool,
}

/// Whether a pod with these pull secrets may use an image that is there only after a pull.
pub fn must_attempt_pull(
    image: &str,
    policy: &VerificationPolicy,
    known: KnownPulls<'_>,
    secrets: &[PullSecret],
) -> bool {
    let Ok(name) = without_tag_and_digest(image) else { return true };
    let pulled_by_us = known.record.is_some() || known.intended;
    if !must_verify(&name, policy, pulled_by_us) {
        return false;
    }
    match known.record.and_then(|record| record.pulled_with.get(&name)) {
        None => true,
        Some(PulledWith::NodeAccess) => false,
        Some(PulledWith::Secrets(known)) => {
            !secrets.iter().any(|secret| known.iter().any(|known| is_accepted(secret, known)))
        }
    }
}

/// The same credentials wherever they are kept, or the same secret, whose credentials may have been renewed.
fn is_accepted(secret: &PullSecret, known: &PullSecret) -> bool {
    let same_content = !known.credential_hash.is_empty() && secret.credential_hash == known.credential_hash;
    same_content || secret.place() == known.place()
}

fn must_verify(name: &str, policy: &VerificationPolicy, pulled_by_us: bool) -> bool {
    match policy {
        VerificationPolicy::NeverVerify => false,
        VerificationPolicy::NeverVerifyPreloadedImages => pulled_by_us,
        VerificationPolicy::NeverVerifyAllowlistedImages(allowed) => {
            !allowed.iter().any(|pattern| is_allowed(name, pattern))
        }
        VerificationPolicy::AlwaysVerify => true,
    }
}

/// A star stands for everything below a folder, never for a part of a name.
fn is_allowed(name: &str, pattern: &str) -> bool {
    match pattern.strip_suffix("/*") {
        Some(folder) => name.strip_prefix(folder).is_some_and(|rest| rest.len() > 1 && rest.starts_with('/')),
        None => name == pattern,
    }
}

impl PulledRecord {
    /// An image pulled by this name, added to what is known of it. None if nothing is new. `with` is none if nobody
    /// knows what it was pulled with, as after a crash: then the next pod has to verify.
    pub fn pulled(
        known: Option<&Self>,
        image: &str,
        image_ref: &str,
        with: Option<PulledWith>,
        now: Timestamp,
    ) -> Option<Self> {
        let mut record = known.cloned().unwrap_or_else(|| Self {
            image_ref: image_ref.to_owned(),
            updated_at: now,
            pulled_with: BTreeMap::new(),
        });
        if let (Some(with), Ok(name)) = (with, without_tag_and_digest(image)) {
            let merged = match record.pulled_with.remove(&name) {
                None => with,
                Some(before) => before.and(with),
            };
            record.pulled_with.insert(name, merged);
        }
        if known.is_some_and(|known| known.pulled_with == record.pulled_with) {
            return None;
        }
        record.updated_at = now;
        Some(record)
    }
}

impl PulledWith {
    /// Both. Access of the whole node outdoes any secret; of one secret's credentials the newest count.
    fn and(self, newer: Self) -> Self {
        match (self, newer) {
            (Self::NodeAccess, _) | (_, Self::NodeAccess) => Self::NodeAccess,
            (Self::Secrets(mut secrets), Self::Secrets(newer)) => {
                for secret in newer.into_iter().filter(|secret| !secrets.contains(secret)).collect::<Vec<_>>()
                {
                    secrets.retain(|known| known.place() != secret.place());
                    secrets.push(secret);
                }
                let excess = secrets.len().saturating_sub(SECRETS_MAX);
                Self::Secrets(secrets.split_off(excess))
            }
        }
    }
}

#[cfg(test)]
mod tests;
