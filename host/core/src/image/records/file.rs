//! Records as files: `ImagePulledRecord` and `ImagePullIntent` of `kubelet.config.k8s.io`, which a kubelet on the same root folder
//! reads and writes, too.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::{PullSecret, PullServiceAccount, PulledRecord, PulledWith};

/// What is written.
const API_VERSION: &str = "kubelet.config.k8s.io/v1beta1";
/// What is read next to it.
const OLD_API_VERSION: &str = "kubelet.config.k8s.io/v1alpha1";
const RECORD_KIND: &str = "ImagePulledRecord";
const INTENT_KIND: &str = "ImagePullIntent";

/// A file that is no record.
#[derive(Debug, Error)]
pub enum RecordFileError {
    /// Its text can't be read.
    #[error("not a record of a pull")]
    Malformed(#[from] serde_json::Error),
    #[error("expected {expected:?} of {API_VERSION:?}, found {kind:?} of {api_version:?}")]
    OtherKind {
        /// What it says that it is.
        kind: String,
        /// Of which group and version.
        api_version: String,
        /// What it should be.
        expected: &'static str,
    },
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct RecordFile {
    kind: String,
    api_version: String,
    last_updated_time: Timestamp,
    image_ref: String,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    credential_mapping: BTreeMap<String, CredentialsFile>,
}

#[derive(Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct CredentialsFile {
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    kubernetes_secrets: Vec<PullSecret>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    kubernetes_service_accounts: Vec<PullServiceAccount>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    node_pods_accessible: bool,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct IntentFile {
    kind: String,
    api_version: String,
    image: String,
}

impl PulledRecord {
    /// As a kubelet writes it.
    ///
    /// # Errors
    /// None for a record that was made here: there is nothing in it that JSON can't say.
    pub fn to_json(&self) -> Result<Vec<u8>, RecordFileError> {
        let mut mapping: BTreeMap<String, CredentialsFile> = BTreeMap::new();
        for (name, with) in &self.pulled_with {
            let credentials = mapping.entry(name.clone()).or_default();
            match with {
                PulledWith::NodeAccess => credentials.node_pods_accessible = true,
                PulledWith::Secrets(secrets) => {
                    credentials.kubernetes_secrets.clone_from(secrets);
                    credentials.kubernetes_secrets.sort_by(|a, b| {
                        (&a.namespace, &a.name, &a.uid).cmp(&(&b.namespace, &b.name, &b.uid))
                    });
                }
            }
        }
        for (name, accounts) in &self.service_accounts {
            let credentials = mapping.entry(name.clone()).or_default();
            if !credentials.node_pods_accessible {
                credentials.kubernetes_service_accounts.clone_from(accounts);
            }
        }
        Ok(serde_json::to_vec(&RecordFile {
            kind: RECORD_KIND.to_owned(),
            api_version: API_VERSION.to_owned(),
            // Kubernetes' times have whole seconds.
            last_updated_time: Timestamp::from_second(self.updated_at.as_second()).unwrap_or(self.updated_at),
            image_ref: self.image_ref.clone(),
            credential_mapping: mapping,
        })?)
    }

    /// Of a file's text.
    ///
    /// # Errors
    /// If it is something else, or has fields that no version of Kubernetes wrote.
    pub fn from_json(text: &[u8]) -> Result<Self, RecordFileError> {
        let file: RecordFile = serde_json::from_slice(text)?;
        check(file.kind, file.api_version, RECORD_KIND)?;
        let mut record = Self {
            image_ref: file.image_ref,
            updated_at: file.last_updated_time,
            pulled_with: BTreeMap::new(),
            service_accounts: BTreeMap::new(),
        };
        for (name, credentials) in file.credential_mapping {
            if !credentials.kubernetes_service_accounts.is_empty() {
                record.service_accounts.insert(name.clone(), credentials.kubernetes_service_accounts);
            }
            let with = if credentials.node_pods_accessible {
                PulledWith::NodeAccess
            } else {
                PulledWith::Secrets(credentials.kubernetes_secrets)
            };
            record.pulled_with.insert(name, with);
        }
        Ok(record)
    }
}

/// That a pull of this image was begun.
///
/// # Errors
/// None: every text can be written.
pub fn intent_to_json(image: &str) -> Result<Vec<u8>, RecordFileError> {
    let file = IntentFile {
        kind: INTENT_KIND.to_owned(),
        api_version: API_VERSION.to_owned(),
        image: image.to_owned(),
    };
    Ok(serde_json::to_vec(&file)?)
}

/// The image whose pull was begun.
///
/// # Errors
/// If the text is something else.
pub fn intent_from_json(text: &[u8]) -> Result<String, RecordFileError> {
    let file: IntentFile = serde_json::from_slice(text)?;
    check(file.kind, file.api_version, INTENT_KIND)?;
    Ok(file.image)
}

fn check(kind: String, api_version: String, expected: &'static str) -> Result<(), RecordFileError> {
    if kind == expected && [API_VERSION, OLD_API_VERSION].contains(&api_version.as_str()) {
        return Ok(());
    }
    Err(RecordFileError::OtherKind { kind, api_version, expected })
}
