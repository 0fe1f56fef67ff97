//! Fetches data from URLs and registries. What is fetched when is decided elsewhere.

use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Semaphore;
use witlet_core::error::one_line;
use witlet_egress::{Download, DownloadUrl, Downloaded, Egress, Validators, read_secret};
use witlet_ports::{Artifact, ArtifactFetcher, Target};

use crate::compile;
use crate::guest::data::{DATA_BYTES_MAX, Snapshot};
use crate::plugin::config::RemoteData;

/// How many are fetched at the same time, each held in memory.
const FETCHES_MAX: usize = 2;
/// How large a file with certificate authorities may be.
const AUTHORITIES_BYTES_MAX: u64 = 1 << 20;

/// What came of a fetch.
pub(in crate::host) struct FetchedData {
    pub(super) source: RemoteData,
    pub(super) result: Result<Fetched, FetchFailure>,
}

/// What a server has.
pub(super) enum Fetched {
    /// What it had before.
    Unchanged,
    /// Something that may be new, and what the server knows it by. A registry knows artifacts by the digest of their manifest.
    File { snapshot: Snapshot, validators: Validators },
}

/// Why there is nothing.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct FetchFailure {
    pub(super) problem: String,
    /// How long the server wants not to be asked.
    pub(super) retry_after: Option<Duration>,
}

impl FetchFailure {
    fn new(source: &RemoteData, error: &str) -> Self {
        Self { problem: format!("fetch {}: {error}", source.location()), retry_after: None }
    }
}

/// The way to data that are elsewhere. Clones share their turns.
#[derive(Clone)]
pub(super) struct RemoteFetcher {
    egress: Egress,
    artifacts: Option<Arc<dyn ArtifactFetcher>>,
    turns: Arc<Semaphore>,
}

impl RemoteFetcher {
    /// Creates the fetcher; without `artifacts` nothing comes from registries.
    pub(super) fn new(artifacts: Option<Arc<dyn ArtifactFetcher>>) -> Self {
        Self { egress: Egress::system(), artifacts, turns: Arc::new(Semaphore::new(FETCHES_MAX)) }
    }

    /// Fetches this, unless it is the known version. Takes a bounded time once it is its turn.
    pub(super) async fn fetch(self, source: RemoteData, known: Option<Validators>) -> FetchedData {
        // It is never closed.
        let _turn = self.turns.acquire().await;
        let result = match &source {
            RemoteData::Url { url, token, authorities, .. } => {
                let own = OwnFiles { token: token.clone(), authorities: authorities.clone() };
                self.download(&source, url, own, known.as_ref()).await
            }
            RemoteData::Artifact { target, credentials } => {
                let known = known.and_then(|known| known.etag);
                self.pull(&source, target, credentials.as_deref(), known.as_deref()).await
            }
        };
        FetchedData { source, result }
    }

    async fn download(
        &self,
        source: &RemoteData,
        url: &DownloadUrl,
        own: OwnFiles,
        known: Option<&Validators>,
    ) -> Result<Fetched, FetchFailure> {
        let failed = |error: &str| FetchFailure::new(source, error);
        let read = tokio::task::spawn_blocking(move || own.read()).await;
        let OwnContents { token, authorities } =
            read.map_err(|_| failed("interrupted"))?.map_err(|error| failed(&error))?;
        let egress = match authorities {
            None => self.egress.clone(),
            Some(pem) => {
                let trusting = self.egress.clone().with_authorities(&pem);
                trusting.map_err(|error| failed(&format!("its caFile: {}", one_line(&error))))?
            }
        };
        let asked = Download { url, token: token.as_deref(), known, bytes_max: DATA_BYTES_MAX };
        match egress.download(&asked).await {
            Ok(Downloaded::Unchanged) => Ok(Fetched::Unchanged),
            Ok(Downloaded::File { bytes, validators }) => file(source, bytes, validators).await,
            Err(error) => Err(FetchFailure { retry_after: error.retry_after(), ..failed(&one_line(&error)) }),
        }
    }

    async fn pull(
        &self,
        source: &RemoteData,
        target: &Target,
        credentials: Option<&Path>,
        known: Option<&str>,
    ) -> Result<Fetched, FetchFailure> {
        let Some(artifacts) = &self.artifacts else {
            return Err(FetchFailure::new(source, "this command cannot fetch from registries"));
        };
        let pulled = artifacts.artifact(target, credentials, known, DATA_BYTES_MAX as u64).await;
        match pulled {
            Ok(Artifact { bytes: None, .. }) => Ok(Fetched::Unchanged),
            Ok(Artifact { digest, bytes: Some(bytes) }) => {
                file(source, bytes, Validators { etag: Some(digest), last_modified: None }).await
            }
            // It names what is fetched itself.
            Err(error) => Err(FetchFailure { problem: one_line(&error), retry_after: None }),
        }
    }
}

/// Hashes what came, and holds it against the digest that the operator wrote.
async fn file(source: &RemoteData, bytes: Vec<u8>, validators: Validators) -> Result<Fetched, FetchFailure> {
    // As large as they may be, it takes a while.
    let snapshot = tokio::task::spawn_blocking(move || Snapshot::new(bytes)).await;
    let snapshot = snapshot.map_err(|_| FetchFailure::new(source, "interrupted"))?;
    if !source.takes(snapshot.digest()) {
        let problem = format!("sha256 must be that of the entry, found {}", snapshot.digest());
        return Err(FetchFailure::new(source, &problem));
    }
    Ok(Fetched::File { snapshot, validators })
}

/// Files of the operator's that a download needs. They are read each time: they may be others by then.
struct OwnFiles {
    token: Option<PathBuf>,
    authorities: Option<PathBuf>,
}

/// What is in them.
struct OwnContents {
    token: Option<Arc<[u8]>>,
    authorities: Option<Vec<u8>>,
}

impl OwnFiles {
    /// The token and the authorities. Blocks as long as the disk does.
    fn read(&self) -> Result<OwnContents, String> {
        let token = self.token.as_deref().map(read_secret).transpose();
        let token = token.map_err(|error| format!("its token: {}", one_line(&error)))?;
        let authorities = self.authorities.as_deref().map(read_authorities).transpose()?;
        Ok(OwnContents { token, authorities })
    }
}

fn read_authorities(path: &Path) -> Result<Vec<u8>, String> {
    let read = || -> io::Result<Vec<u8>> {
        let mut pem = Vec::new();
        compile::open_file(path)?.take(AUTHORITIES_BYTES_MAX + 1).read_to_end(&mut pem)?;
        Ok(pem)
    };
    let pem = read().map_err(|error| format!("its caFile: read {}: {}", path.display(), one_line(&error)))?;
    if pem.len() as u64 > AUTHORITIES_BYTES_MAX {
        return Err(format!("its caFile: {} has more than {AUTHORITIES_BYTES_MAX} bytes", path.display()));
    }
    Ok(pem)
}
