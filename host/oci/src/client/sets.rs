//! Pushing a set of plugins, as the command does.

use bytes::Bytes;
use witlet_core::node::compiled_code::CodeOffer;
use witlet_ports::Target;

use super::{Client, Pushed};
use crate::challenge::Action;
use crate::digest::digest_of;
use crate::error::{TransferError, TransferItem};
use crate::limits::{PULL_TIME_MAX, PUSH_TIME_MAX};
use crate::manifest::{COMPONENT_BYTES_MAX, MANIFEST_TYPE};
use crate::referrers::EMPTY;
use crate::registry::ContentRequest;
use crate::set::{CodeOfSet, SetArtifact, set_code, set_layers};

/// What a set in a registry has, without the bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SetListing {
    /// Digest of its manifest.
    pub digest: String,
    /// Names and sizes of its files, the plugin file first.
    pub files: Vec<(String, u64)>,
    /// What of it is compiled already.
    pub code: CodeOfSet,
}

impl Client {
    /// Pushes a set. Without a tag it has its digest for a name.
    ///
    /// # Errors
    ///
    /// When no node would take it; when the registry can't be asked, doesn't take it, or takes too long: what was sent by then may
    /// stay there.
    pub async fn push_set(&self, to: &Target, set: &SetArtifact) -> Result<Pushed, TransferError> {
        let pushed = tokio::time::timeout(PUSH_TIME_MAX, self.push_files(to, set));
        pushed.await.unwrap_or(Err(TransferError::PushDeadline))
    }

    /// Returns what a set has, by its digest, else by its tag.
    ///
    /// # Errors
    ///
    /// When the registry can't be asked, has something else, or takes too long.
    pub async fn list_set(&self, from: &Target) -> Result<SetListing, TransferError> {
        let listed = tokio::time::timeout(PULL_TIME_MAX, self.list_files(from));
        listed.await.unwrap_or(Err(TransferError::Deadline))
    }

    async fn list_files(&self, from: &Target) -> Result<SetListing, TransferError> {
        let manifest = self.session(from, Action::Pull).await?.named(from).await?;
        let files = set_layers(&manifest)?.into_iter().map(|file| (file.name, file.layer.size)).collect();
        Ok(SetListing { digest: digest_of(&manifest), files, code: set_code(&manifest)? })
    }

    /// Brings compiled code of a set.
    ///
    /// # Errors
    ///
    /// When the registry can't be asked, has something else, or takes too long.
    pub async fn code(&self, from: &Target, offer: &CodeOffer) -> Result<Vec<u8>, TransferError> {
        let request = ContentRequest {
            what: TransferItem::SetCode,
            digest: &offer.digest,
            size: Some(offer.size),
            bytes_max: COMPONENT_BYTES_MAX,
        };
        let mut session = self.session(from, Action::Pull).await?;
        let pulled = tokio::time::timeout(PULL_TIME_MAX, session.get(&request, &|_bytes| {}));
        pulled.await.unwrap_or(Err(TransferError::Deadline))
    }

    async fn push_files(&self, to: &Target, set: &SetArtifact) -> Result<Pushed, TransferError> {
        let manifest: Bytes = set.manifest().into();
        let files = set_layers(&manifest)?;
        // What code says of itself has bounds, too.
        set_code(&manifest)?;
        let mut session = self.session(to, Action::Push).await?;
        let mut sent = 0;
        for file in &set.files {
            if session.put_blob(TransferItem::SetFile, &file.bytes, None).await? {
                sent += file.bytes.len() as u64;
            }
        }
        for code in &set.code {
            if session.put_blob(TransferItem::SetCode, &code.bytes, None).await? {
                sent += code.bytes.len() as u64;
            }
        }
        session.put_blob(TransferItem::Config, &Bytes::from_static(EMPTY), None).await?;
        let digest = digest_of(&manifest);
        let name = to.tag().unwrap_or(&digest);
        session.put_manifest(TransferItem::Manifest, name, MANIFEST_TYPE, &manifest).await?;
        let component = files.first().map(|file| file.layer.digest.clone()).unwrap_or_default();
        Ok(Pushed { digest, component, report: None, sent })
    }
}
