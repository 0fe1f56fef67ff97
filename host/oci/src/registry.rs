//! What is had from a registry: manifests, layers, the reports on a component, and its signatures.

use http::Method;
use http_body_util::BodyExt;
use sha2::{Digest, Sha256};
use witlet_ports::{ArtifactSignature, Target};

use crate::digest::text_of;
use crate::error::{TransferError, TransferItem};
use crate::manifest::{INDEX_TYPE, Layer, MANIFEST_BYTES_MAX, MANIFEST_TYPE};
use crate::referrers::{self, REPORT_BYTES_MAX};
use crate::retry::Attempt;
use crate::session::{AttemptError, RegistryRequest, Session, read_all};
use crate::signatures::{self, SIGNATURE_BYTES_MAX, SignedLayer};

/// After how many bytes of a component progress is reported.
const PROGRESS_BYTES: u64 = 1 << 18;
/// How large a manifest may be, as this counts.
pub(crate) const MANIFEST_LIMIT: u64 = MANIFEST_BYTES_MAX as u64;
/// The tag of references that name none.
const DEFAULT_TAG: &str = "latest";
/// What registries answer that don't know lists of referrers.
const NO_REFERRERS: [u16; 4] = [400, 404, 405, 501];

/// What is to be had, and what it must be.
pub(crate) struct ContentRequest<'a> {
    pub(crate) what: TransferItem,
    /// `sha256:…`
    pub(crate) digest: &'a str,
    /// The exact size, if it is known.
    pub(crate) size: Option<u64>,
    pub(crate) bytes_max: u64,
}

impl Session<'_> {
    /// The bytes with this digest. `progress` receives every further [`PROGRESS_BYTES`].
    pub(crate) async fn get(
        &mut self,
        request: &ContentRequest<'_>,
        progress: &(dyn Fn(u64) + Send + Sync),
    ) -> Result<Vec<u8>, TransferError> {
        let mut attempts = 0;
        loop {
            attempts += 1;
            match self.attempt(request, progress).await {
                Ok(bytes) => return Ok(bytes),
                Err(failed) => self.pause(attempts, failed).await?,
            }
        }
    }

    async fn attempt(
        &mut self,
        request: &ContentRequest<'_>,
        progress: &(dyn Fn(u64) + Send + Sync),
    ) -> Result<Vec<u8>, AttemptError> {
        let (kind, accept) = match request.what {
            TransferItem::Manifest => ("manifests", MANIFEST_TYPE),
            TransferItem::Component
            | TransferItem::Layer
            | TransferItem::Token
            | TransferItem::Config
            | TransferItem::Referrers
            | TransferItem::Report
            | TransferItem::Signature
            | TransferItem::SetFile
            | TransferItem::SetCode => ("blobs", "*/*"),
        };
        let uri = self.place.uri(&format!("{kind}/{}", request.digest))?;
        let (response, host) =
            self.ask(&RegistryRequest::bare(request.what, Method::GET, uri, accept)).await?;
        match response.status().as_u16() {
            200 => {}
            404 => {
                return Err(TransferError::NotFound { registry: self.registry(), what: request.what }.into());
            }
            _ => return Err(self.unexpected(&response, host, request.what)),
        }
        let mut body = response.into_body();
        let limit = request.size.unwrap_or(request.bytes_max).min(request.bytes_max);
        let (mut bytes, mut hash, mut reported) = (Vec::new(), Sha256::new(), 0);
        while let Some(frame) = body.frame().await {
            let frame = frame.map_err(|cause| AttemptError {
                error: TransferError::Body { registry: host.clone(), what: request.what, cause },
                attempt: Some(Attempt::Broken),
            })?;
            let Some(part) = frame.data_ref() else { continue };
            if bytes.len() as u64 + part.len() as u64 > limit {
                return Err(TransferError::TooLarge { registry: host, what: request.what, limit }.into());
            }
            hash.update(part);
            bytes.extend_from_slice(part);
            let now = bytes.len() as u64 / PROGRESS_BYTES;
            if now > reported {
                reported = now;
                progress(bytes.len() as u64);
            }
        }
        let found = bytes.len() as u64;
        if let Some(expected) = request.size.filter(|expected| *expected != found) {
            return Err(TransferError::Size { registry: host, what: request.what, expected, found }.into());
        }
        let found = text_of(&hash.finalize());
        if found != request.digest {
            let expected = request.digest.to_owned();
            return Err(TransferError::Digest { registry: host, what: request.what, expected, found }.into());
        }
        Ok(bytes)
    }

    /// The manifest by its digest, else by its tag.
    pub(crate) async fn named(&mut self, target: &Target) -> Result<Vec<u8>, TransferError> {
        let what = TransferItem::Manifest;
        if let Some(digest) = target.digest() {
            return self.manifest(digest).await;
        }
        let tagged = self.tagged(what, target.tag().unwrap_or(DEFAULT_TAG)).await?;
        tagged.ok_or_else(|| TransferError::NotFound { registry: self.registry(), what })
    }

    /// A manifest or index by a tag, whatever its digest is; none if there is none.
    pub(crate) async fn tagged(
        &mut self,
        what: TransferItem,
        tag: &str,
    ) -> Result<Option<Vec<u8>>, TransferError> {
        let accept = match what {
            TransferItem::Referrers => INDEX_TYPE,
            TransferItem::Manifest
            | TransferItem::Component
            | TransferItem::Layer
            | TransferItem::Token
            | TransferItem::Config
            | TransferItem::Report
            | TransferItem::Signature
            | TransferItem::SetFile
            | TransferItem::SetCode => MANIFEST_TYPE,
        };
        self.listed(what, &format!("manifests/{tag}"), accept, &[404]).await
    }

    /// A small document at a place; none if the answer is one of `absent`.
    async fn listed(
        &mut self,
        what: TransferItem,
        rest: &str,
        accept: &'static str,
        absent: &[u16],
    ) -> Result<Option<Vec<u8>>, TransferError> {
        let mut attempts = 0;
        loop {
            attempts += 1;
            match self.listed_once(what, rest, accept, absent).await {
                Ok(document) => return Ok(document),
                Err(failed) => self.pause(attempts, failed).await?,
            }
        }
    }

    async fn listed_once(
        &mut self,
        what: TransferItem,
        rest: &str,
        accept: &'static str,
        absent: &[u16],
    ) -> Result<Option<Vec<u8>>, AttemptError> {
        let uri = self.place.uri(rest)?;
        let (response, host) = self.ask(&RegistryRequest::bare(what, Method::GET, uri, accept)).await?;
        match response.status().as_u16() {
            200 => Ok(Some(read_all(response, &host, what, MANIFEST_BYTES_MAX).await?)),
            status if absent.contains(&status) => Ok(None),
            _ => Err(self.unexpected(&response, host, what)),
        }
    }

    /// The list of what refers to the manifest with this digest, of one type at least; none if the registry has none.
    async fn referrers(
        &mut self,
        digest: &str,
        escaped_type: &str,
    ) -> Result<Option<Vec<u8>>, TransferError> {
        let place = format!("referrers/{digest}?artifactType={escaped_type}");
        match self.listed(TransferItem::Referrers, &place, INDEX_TYPE, &NO_REFERRERS).await? {
            Some(index) => Ok(Some(index)),
            None => self.tagged(TransferItem::Referrers, &referrers::fallback_tag(digest)).await,
        }
    }

    /// The reports that refer to the manifest with this digest, those that can be had: what isn't one is passed over.
    pub(crate) async fn reports(&mut self, digest: &str) -> Result<Vec<Vec<u8>>, TransferError> {
        let index = self.referrers(digest, referrers::REPORT_TYPE_ESCAPED).await?;
        let Some(index) = index else { return Ok(Vec::new()) };
        let mut reports = Vec::new();
        for found in referrers::reports(&index)? {
            match self.report(&found.digest).await {
                Ok(report) => reports.push(report),
                Err(error) if is_of_the_thing(&error) => {
                    tracing::warn!(registry = self.place.registry, digest = found.digest, %error, "Ignored unreadable conformance report");
                }
                Err(error) => return Err(error),
            }
        }
        Ok(reports)
    }

    async fn report(&mut self, manifest: &str) -> Result<Vec<u8>, TransferError> {
        let manifest = self.manifest(manifest).await?;
        let layer = referrers::report_layer(&manifest)?;
        let bytes_max = REPORT_BYTES_MAX as u64;
        let request = ContentRequest {
            what: TransferItem::Report,
            digest: &layer.digest,
            size: Some(layer.size),
            bytes_max,
        };
        self.get(&request, &|_bytes| {}).await
    }

    /// The signatures of the manifest with this digest, those that can be had: what isn't one is passed over.
    pub(crate) async fn signatures(&mut self, digest: &str) -> Result<Vec<ArtifactSignature>, TransferError> {
        let mut found = Vec::new();
        let tagged = self.tagged(TransferItem::Signature, &signatures::tag(digest)).await?;
        for signed in tagged.map_or(Ok(Vec::new()), |manifest| signatures::layers(&manifest))? {
            let SignedLayer { layer, signature, certificate } = signed;
            match self.signature_blob(&layer).await {
                Ok(payload) => found.push(ArtifactSignature::Simple { payload, signature, certificate }),
                Err(error) if is_of_the_thing(&error) => self.pass_over(&layer.digest, &error),
                Err(error) => return Err(error),
            }
        }
        let index = self.referrers(digest, signatures::BUNDLE_TYPE_ESCAPED).await?;
        for listed in index.map_or(Ok(Vec::new()), |index| signatures::bundles(&index))? {
            match self.bundle(&listed.digest).await {
                Ok(bundle) => found.extend(bundle.map(ArtifactSignature::Bundle)),
                Err(error) if is_of_the_thing(&error) => self.pass_over(&listed.digest, &error),
                Err(error) => return Err(error),
            }
        }
        Ok(found)
    }

    fn pass_over(&self, digest: &str, error: &TransferError) {
        tracing::warn!(registry = self.place.registry, digest, %error, "Ignored unreadable signature");
    }

    async fn bundle(&mut self, manifest: &str) -> Result<Option<Vec<u8>>, TransferError> {
        let manifest = self.manifest(manifest).await?;
        match signatures::bundle_layer(&manifest)? {
            Some(layer) => self.signature_blob(&layer).await.map(Some),
            None => Ok(None),
        }
    }

    async fn signature_blob(&mut self, layer: &Layer) -> Result<Vec<u8>, TransferError> {
        let request = ContentRequest {
            what: TransferItem::Signature,
            digest: &layer.digest,
            size: Some(layer.size),
            bytes_max: SIGNATURE_BYTES_MAX as u64,
        };
        self.get(&request, &|_bytes| {}).await
    }

    /// The manifest with this digest.
    pub(crate) async fn manifest(&mut self, digest: &str) -> Result<Vec<u8>, TransferError> {
        let request =
            ContentRequest { what: TransferItem::Manifest, digest, size: None, bytes_max: MANIFEST_LIMIT };
        self.get(&request, &|_bytes| {}).await
    }
}

/// Whether an error is of one thing in the registry, and the others may be had.
fn is_of_the_thing(error: &TransferError) -> bool {
    matches!(
        error,
        TransferError::NotFound { .. }
            | TransferError::Referrers(_)
            | TransferError::TooLarge { .. }
            | TransferError::Size { .. }
            | TransferError::Digest { .. }
    )
}
