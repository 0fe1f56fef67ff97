//! Pushing a set of plugins, as the command does.

use bytes::Bytes;
use witlet_ports::Target;

use super::{Client, Pushed};
use crate::challenge::Action;
use crate::digest::digest_of;
use crate::error::{TransferError, TransferItem};
use crate::limits::PUSH_TIME_MAX;
use crate::manifest::MANIFEST_TYPE;
use crate::referrers::EMPTY;
use crate::set::{SetArtifact, set_layers};

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

    async fn push_files(&self, to: &Target, set: &SetArtifact) -> Result<Pushed, TransferError> {
        let manifest: Bytes = set.manifest().into();
        let files = set_layers(&manifest)?;
        let mut session = self.session(to, Action::Push).await?;
        let mut sent = 0;
        for file in &set.files {
            if session.put_blob(TransferItem::SetFile, &file.bytes, None).await? {
                sent += file.bytes.len() as u64;
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
