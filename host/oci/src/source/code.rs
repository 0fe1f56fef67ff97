//! Compiled code that a set brings: asked for one by one, because of most sets a node needs little.

use std::path::Path;

use witlet_core::node::compiled_code::CodeOffer;
use witlet_ports::{ComponentReference, FetchError};

use super::Registries;
use crate::error::{TransferError, TransferItem};
use crate::limits::PULL_TIME_MAX;
use crate::manifest::COMPONENT_BYTES_MAX;
use crate::registry::ContentRequest;

impl Registries {
    /// Brings compiled code of a set. Its bytes have the digest of the offer.
    ///
    /// # Errors
    ///
    /// When the registry can't be asked, has something else, or takes too long.
    pub async fn fetch_code(
        &self,
        reference: &ComponentReference,
        credentials: Option<&Path>,
        offer: &CodeOffer,
    ) -> Result<Vec<u8>, FetchError> {
        let fetched =
            tokio::time::timeout(PULL_TIME_MAX, self.pull_code(reference, credentials, offer)).await;
        let fetched = fetched.unwrap_or(Err(TransferError::Deadline));
        fetched.map_err(|cause| FetchError { reference: reference.clone(), cause: Box::new(cause) })
    }

    async fn pull_code(
        &self,
        reference: &ComponentReference,
        credentials: Option<&Path>,
        offer: &CodeOffer,
    ) -> Result<Vec<u8>, TransferError> {
        // It is never closed.
        let _permit = self.pulls.acquire().await;
        let mut session = self.session(reference.registry(), reference.repository(), credentials).await?;
        let request = ContentRequest {
            what: TransferItem::SetCode,
            digest: &offer.digest,
            size: Some(offer.size),
            bytes_max: COMPONENT_BYTES_MAX,
        };
        session.get(&request, &|_bytes| {}).await
    }
}
