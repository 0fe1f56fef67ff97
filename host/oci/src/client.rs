//! Pushing a component and pulling one, as the commands do: by tag or digest, and without a folder to keep it in.

mod sets;
mod signing;

use std::path::PathBuf;

use bytes::Bytes;
use witlet_core::runtime::ImageAuth;
use witlet_egress::{Egress, SendLimits};
use witlet_ports::Target;

use crate::artifact::{Artifact, Documents};
use crate::challenge::Action;
use crate::credentials::credentials;
use crate::digest::digest_of;
use crate::error::{TransferError, TransferItem};
use crate::limits::{LIMITS, PULL_TIME_MAX, PUSH_TIME_MAX};
use crate::manifest::{COMPONENT_BYTES_MAX, INDEX_TYPE, Layer, MANIFEST_TYPE, component_layer};
use crate::referrers::{self, EMPTY, ReferrerKind};
use crate::registry::ContentRequest;
use crate::retry;
use crate::session::{BytesSink, Repository, Session};

pub use sets::SetListing;

/// Whose credentials are sent.
#[derive(Clone)]
pub enum Login {
    Anonymous,
    /// Those of a docker configuration, which must be there.
    File(PathBuf),
    /// Those of a docker configuration, if it is there.
    FileIfThere(PathBuf),
    User {
        username: String,
        /// The password, or what the registry takes for one.
        password: String,
    },
}

/// Asks registries on behalf of a command.
pub struct Client {
    egress: Egress,
    limits: SendLimits,
    wait: retry::Wait,
    login: Login,
    plain_http: bool,
}

/// What is in the registry now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pushed {
    /// Digest of the component's manifest.
    pub digest: String,
    /// Digest of the component; of a set's plugin file.
    pub component: String,
    /// Digest of the report's manifest, if one was pushed.
    pub report: Option<String>,
    /// Bytes that had to be sent; the rest was there.
    pub sent: u64,
}

/// What was in the registry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pulled {
    /// Digest of the component's manifest.
    pub digest: String,
    /// The bytes of that manifest, which signatures are about.
    pub manifest: Vec<u8>,
    pub wasm: Vec<u8>,
    /// Envelopes of conformance reports next to it, which no one has verified.
    pub reports: Vec<Vec<u8>>,
}

impl Client {
    /// With these credentials. `plain_http` leaves TLS out also where the registry isn't on this machine.
    pub fn new(egress: Egress, login: Login, plain_http: bool) -> Self {
        Self { egress, limits: LIMITS, wait: retry::wait, login, plain_http }
    }

    /// Pushes a component, and its report. Without a tag it has its digest for a name.
    ///
    /// # Errors
    ///
    /// When the registry can't be asked, doesn't take it, or takes too long: what was sent by then may stay there.
    pub async fn push(
        &self,
        to: &Target,
        artifact: &Artifact,
        progress: &BytesSink,
    ) -> Result<Pushed, TransferError> {
        let pushed = tokio::time::timeout(PUSH_TIME_MAX, self.push_all(to, artifact, progress));
        pushed.await.unwrap_or(Err(TransferError::PushDeadline))
    }

    /// Pulls a component by its digest, else by its tag, with the reports next to it. `progress` receives the component's bytes,
    /// and of how many there are.
    ///
    /// # Errors
    ///
    /// When the registry can't be asked, has something else, or takes too long.
    pub async fn pull(
        &self,
        from: &Target,
        progress: &(dyn Fn(u64, u64) + Send + Sync),
    ) -> Result<Pulled, TransferError> {
        let pulled = tokio::time::timeout(PULL_TIME_MAX, self.pull_all(from, progress));
        pulled.await.unwrap_or(Err(TransferError::Deadline))
    }

    async fn session<'a>(&'a self, target: &'a Target, action: Action) -> Result<Session<'a>, TransferError> {
        let credentials = match &self.login {
            Login::Anonymous => Vec::new(),
            Login::File(path) => credentials(path, true, target.name()).await?,
            Login::FileIfThere(path) => credentials(path, false, target.name()).await?,
            Login::User { username, password } => {
                let (username, password) = (username.clone(), password.clone());
                vec![ImageAuth { username, password, ..ImageAuth::default() }]
            }
        };
        let place = Repository {
            registry: target.registry(),
            repository: target.repository(),
            plain_http: self.plain_http,
        };
        Ok(Session::new(&self.egress, (self.limits, self.wait), place, action, credentials))
    }

    async fn push_all(
        &self,
        to: &Target,
        artifact: &Artifact,
        progress: &BytesSink,
    ) -> Result<Pushed, TransferError> {
        let mut session = self.session(to, Action::Push).await?;
        let Documents { config, manifest } = artifact.documents();
        let mut sent = 0;
        for (what, bytes, progress) in
            [(TransferItem::Component, &artifact.wasm, Some(progress)), (TransferItem::Config, &config, None)]
        {
            if session.put_blob(what, bytes, progress).await? {
                sent += bytes.len() as u64;
            }
        }
        let digest = digest_of(&manifest);
        let name = to.tag().unwrap_or(&digest);
        session.put_manifest(TransferItem::Manifest, name, MANIFEST_TYPE, &manifest).await?;
        let report = match &artifact.report {
            Some(report) => {
                let what = (TransferItem::Report, referrers::REPORT);
                Some(push_referrer(&mut session, what, report, &digest, manifest.len()).await?)
            }
            None => None,
        };
        Ok(Pushed { digest, component: digest_of(&artifact.wasm), report, sent })
    }

    async fn pull_all(
        &self,
        from: &Target,
        progress: &(dyn Fn(u64, u64) + Send + Sync),
    ) -> Result<Pulled, TransferError> {
        let mut session = self.session(from, Action::Pull).await?;
        let manifest = session.named(from).await?;
        let digest = digest_of(&manifest);
        let Layer { digest: layer, size } = component_layer(&manifest)?;
        let request = ContentRequest {
            what: TransferItem::Component,
            digest: &layer,
            size: Some(size),
            bytes_max: COMPONENT_BYTES_MAX,
        };
        let wasm = session.get(&request, &|bytes| progress(bytes, size)).await?;
        let reports = session.reports(&digest).await?;
        Ok(Pulled { digest, manifest, wasm, reports })
    }
}

/// Puts something next to the manifest with this digest and size, which it refers to. Returns the digest of its own manifest.
async fn push_referrer(
    session: &mut Session<'_>,
    (what, kind): (TransferItem, ReferrerKind),
    content: &Bytes,
    subject: &str,
    subject_bytes: usize,
) -> Result<String, TransferError> {
    session.put_blob(what, content, None).await?;
    session.put_blob(TransferItem::Config, &Bytes::from_static(EMPTY), None).await?;
    let manifest: Bytes = referrers::referrer_manifest(kind, content, subject, subject_bytes).into();
    let digest = digest_of(&manifest);
    let put = session.put_manifest(what, &digest, MANIFEST_TYPE, &manifest).await?;
    if !put.subject_noted {
        // A registry from before referrers: the client that pushes keeps the list.
        let tag = referrers::fallback_tag(subject);
        let index = session.tagged(TransferItem::Referrers, &tag).await?;
        let index: Bytes = referrers::with_referrer(index.as_deref(), kind, &manifest)?.into();
        session.put_manifest(TransferItem::Referrers, &tag, INDEX_TYPE, &index).await?;
    }
    Ok(digest)
}

#[cfg(test)]
mod tests;
