//! Putting a signature next to an artifact, as the command does.

use bytes::Bytes;
use witlet_ports::{ArtifactSignature, Target};

use super::{Client, push_referrer};
use crate::challenge::Action;
use crate::digest::digest_of;
use crate::error::{TransferError, TransferItem};
use crate::limits::{PULL_TIME_MAX, PUSH_TIME_MAX};
use crate::manifest::MANIFEST_TYPE;
use crate::signatures::{self, SignatureDocuments};

impl Client {
    /// The digest of the manifest that a tag has now, or that the target names.
    ///
    /// # Errors
    ///
    /// When the registry can't be asked, or has no such manifest.
    pub async fn resolve(&self, target: &Target) -> Result<String, TransferError> {
        let resolved = async {
            let mut session = self.session(target, Action::Pull).await?;
            session.named(target).await.map(|manifest| digest_of(&manifest))
        };
        tokio::time::timeout(PULL_TIME_MAX, resolved).await.unwrap_or(Err(TransferError::Deadline))
    }

    /// The signatures in cosign's forms of the manifest with this digest, which no one has verified.
    ///
    /// # Errors
    ///
    /// When the registry can't be asked, or what lists them is malformed.
    pub async fn signatures(
        &self,
        target: &Target,
        digest: &str,
    ) -> Result<Vec<ArtifactSignature>, TransferError> {
        let found = async { self.session(target, Action::Pull).await?.signatures(digest).await };
        tokio::time::timeout(PULL_TIME_MAX, found).await.unwrap_or(Err(TransferError::Deadline))
    }

    /// Puts a signature next to the manifest with this digest, in cosign's form: one more layer under the tag `sha256-….sig`.
    /// Returns the tag. Two that sign at the same time may lose one of the signatures, as with cosign.
    ///
    /// # Errors
    ///
    /// When the registry can't be asked, or doesn't take it.
    pub async fn put_signature(
        &self,
        target: &Target,
        digest: &str,
        payload: &[u8],
        signature: &str,
    ) -> Result<String, TransferError> {
        let put = async {
            let mut session = self.session(target, Action::Push).await?;
            let tag = signatures::tag(digest);
            let existing = session.tagged(TransferItem::Signature, &tag).await?;
            let SignatureDocuments { config, manifest } =
                signatures::with_signature(existing.as_deref(), payload, signature)?;
            for bytes in [payload.to_vec(), config] {
                session.put_blob(TransferItem::Signature, &bytes.into(), None).await?;
            }
            let manifest: Bytes = manifest.into();
            session.put_manifest(TransferItem::Signature, &tag, MANIFEST_TYPE, &manifest).await?;
            Ok(tag)
        };
        tokio::time::timeout(PUSH_TIME_MAX, put).await.unwrap_or(Err(TransferError::PushDeadline))
    }

    /// Puts a Sigstore bundle next to the manifest with this digest, which it refers to. Returns the digest of the bundle's manifest.
    ///
    /// # Errors
    ///
    /// When the registry can't be asked, doesn't have the manifest, or doesn't take the bundle.
    pub async fn put_bundle(
        &self,
        target: &Target,
        digest: &str,
        bundle: Vec<u8>,
    ) -> Result<String, TransferError> {
        let put = async {
            let mut session = self.session(target, Action::Push).await?;
            let signed = session.manifest(digest).await?;
            let what = (TransferItem::Signature, signatures::BUNDLE);
            push_referrer(&mut session, what, &bundle.into(), digest, signed.len()).await
        };
        tokio::time::timeout(PUSH_TIME_MAX, put).await.unwrap_or(Err(TransferError::PushDeadline))
    }
}
