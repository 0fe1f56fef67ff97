//! Who may use an image that is on the node already (KEP-2535, `KubeletEnsureSecretPulledImages`): anyone who shows the
//! credentials that it was pulled with, or pulls it again.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::go::escape_json;
use crate::image::reference::without_tag_and_digest;
use crate::runtime::ImageAuth;

mod file;

pub use file::{RecordFileError, intent_from_json, intent_to_json};

/// How many secrets one record keeps for one image, the newest ones.
pub const SECRETS_MAX: usize = 100;

/// For which images credentials are verified: `imagePullCredentialsVerificationPolicy`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum VerificationPolicy {
    NeverVerify,
    /// For those that this agent pulled; what was put there by others is for all. Upstream's default.
    #[default]
    NeverVerifyPreloadedImages,
    /// For all but these: names without tag and digest, or `registry/path/*` for all below.
    NeverVerifyAllowlistedImages(Vec<String>),
    AlwaysVerify,
}

/// A pull secret by its place and its content's hash.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
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

/// Credentials that a pull may be tried with, and where they are from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PullCredential {
    /// What the registry is shown.
    pub auth: ImageAuth,
    /// The secret that they are from; none for the node's own, which are for all of its pods.
    pub secret: Option<PullSecret>,
}

impl PullCredential {
    /// Returns what a pull with them proves.
    pub fn proves(&self) -> PulledWith {
        self.secret.clone().map_or(PulledWith::NodeAccess, |secret| PulledWith::Secrets(vec![secret]))
    }
}

/// The hash by which a record knows credentials again: SHA-256 of user, password and email as the kubelet writes them
/// (`credentialprovider.AuthConfig` in JSON, without what is empty), in hexadecimal digits.
pub fn credential_hash(auth: &ImageAuth) -> String {
    let fields = [("username", &auth.username), ("password", &auth.password), ("email", &auth.email)];
    let shown: Vec<String> = fields
        .into_iter()
        .filter(|(_, value)| !value.is_empty())
        .map(|(name, value)| {
            format!("\"{name}\":{}", escape_json(&serde_json::Value::from(value.as_str()).to_string()))
        })
        .collect();
    hex::encode(Sha256::digest(format!("{{{}}}", shown.join(","))))
}

/// The name of the file that is kept of an image, or of what containers are created from.
pub fn file_name(image: &str) -> String {
    format!("sha256-{}", hex::encode(Sha256::digest(image)))
}

/// A service account whose token an image was pulled with. This agent has no such credentials; a kubelet's are kept.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PullServiceAccount {
    /// `metadata.uid`
    pub uid: String,
    /// `metadata.namespace`
    pub namespace: String,
    /// `metadata.name`
    pub name: String,
}

/// What an image was pulled with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PulledWith {
    /// Nothing, or what the node itself has: all pods on it may use the image.
    NodeAccess,
    /// One of these pull secrets.
    Secrets(Vec<PullSecret>),
}

/// An image that this agent pulled. Its existence alone says that the image wasn't preloaded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PulledRecord {
    /// What containers are created from.
    pub image_ref: String,
    /// When something new was noted.
    pub updated_at: Timestamp,
    /// By the image's name as pods write it, without tag and digest. One without an entry must be verified.
    pub pulled_with: BTreeMap<String, PulledWith>,
    /// By the same names, the service accounts that a kubelet pulled it for.
    pub service_accounts: BTreeMap<String, Vec<PullServiceAccount>>,
}

/// What is known about pulls of an image.
#[derive(Clone, Copy, Debug)]
pub struct KnownPulls<'a> {
    /// The record of what containers would be created from, if there is one.
    pub record: Option<&'a PulledRecord>,
    /// Whether a pull of this name was begun of which no one knows that it failed.
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

/// Whether this may stand in the list of images that needn't be verified.
///
/// # Errors
/// What is wrong with it.
pub fn check_allowed(pattern: &str) -> Result<(), &'static str> {
    if pattern != pattern.trim() {
        return Err("spaces at the beginning or end are not allowed");
    }
    let (name, is_folder) = pattern.strip_suffix("/*").map_or((pattern, false), |folder| (folder, true));
    if name.is_empty() {
        return Err("at least the registry's host is required");
    }
    if name.contains('*') {
        return Err("only patterns that end in /* are allowed");
    }
    if is_folder {
        return Ok(());
    }
    match without_tag_and_digest(name) {
        Ok(bare) if bare == name => Ok(()),
        Ok(_) => Err("neither a tag nor a digest is accepted"),
        Err(_) => Err("expected the name of an image"),
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
    /// One of these secrets was accepted for the image: what is new of it is noted, so that its next content is accepted, too.
    /// None if nothing is new, or too much is noted already.
    pub fn accepted(&self, image: &str, secrets: &[PullSecret], now: Timestamp) -> Option<Self> {
        let name = without_tag_and_digest(image).ok()?;
        let Some(PulledWith::Secrets(known)) = self.pulled_with.get(&name) else { return None };
        let shown = secrets.iter().find(|secret| known.iter().any(|known| is_accepted(secret, known)))?;
        if known.len() >= SECRETS_MAX {
            return None;
        }
        Self::pulled(Some(self), image, &self.image_ref, Some(PulledWith::Secrets(vec![shown.clone()])), now)
    }

    /// Whether a pod may be accepted by the secrets that it shows.
    pub fn has_secrets(&self, image: &str) -> bool {
        matches!(self.of_image(image), Some(PulledWith::Secrets(known)) if !known.is_empty())
    }

    /// Returns what an image of this name was pulled with.
    pub fn of_image(&self, image: &str) -> Option<&PulledWith> {
        self.pulled_with.get(&without_tag_and_digest(image).ok()?)
    }

    /// An image pulled by this name, added to what is known of it. None if nothing is new. `with` is none if no one
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
            service_accounts: BTreeMap::new(),
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

/// The records of pulls whose images are gone, by what containers would be created from. Those that were updated at `until` or
/// later stay: their images may have been pulled after `images` were listed. Upstream (`PruneUnknownRecords`) is given the
/// unused images that a collection left, and so forgets who may use the images in use, too; `images` here are all that are left.
pub fn unknown_records<'a>(
    records: &'a [PulledRecord],
    images: &BTreeSet<String>,
    until: Timestamp,
) -> Vec<&'a str> {
    let is_unknown =
        |record: &&PulledRecord| record.updated_at < until && !images.contains(&record.image_ref);
    records.iter().filter(is_unknown).map(|record| record.image_ref.as_str()).collect()
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
