//! Whether a component may be loaded: its signed report of the conformance kit, where the configuration demands one.
//!
//! What counts is the digest of the very bytes that are loaded, so that it doesn't matter what becomes of a file between
//! the two.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::attestation::{Accepted, ENVELOPE_BYTES_MAX, PublicKey, Requirements, VerifyError, verify};
use semver::Version;
use thiserror::Error;
use witlet_ports::{ComponentFetcher, FetchError, Reports};

use super::Origin;
use super::config::RequiredConformance;
use super::key_file::{self, KeyFileError, read_bounded};
use crate::role::Role;

/// What a component's report is called next to it: its own name with this behind.
const REPORT_SUFFIX: &str = ".conformance.json";

/// Why a component is kept out. Each says the way out.
#[derive(Debug, Error)]
pub enum ConformanceError {
    /// A key's file doesn't count.
    #[error(transparent)]
    Key(#[from] KeyFileError),
    #[error(
        "there is no conformance report {place}: make one with `witlet plugin test FILE --sign KEY.pem --attestation REPORT`{then}"
    )]
    NoReport {
        /// At a path, or next to a reference.
        place: String,
        /// What is to be done with it.
        then: &'static str,
    },
    /// The report's file can't be read.
    #[error("failed to read the conformance report {}", path.display())]
    Read {
        path: PathBuf,
        #[source]
        cause: io::Error,
    },
    /// The registry doesn't say which reports there are.
    #[error(transparent)]
    Fetch(#[from] FetchError),
    /// None that is there is good enough; this is the one that came nearest.
    #[error(
        "the conformance report {place} doesn't count (make another with `witlet plugin test FILE --sign KEY.pem --attestation REPORT`)"
    )]
    Report {
        /// At a path, or next to a reference.
        place: String,
        /// What is wrong with it.
        #[source]
        cause: VerifyError,
    },
    #[error("looking for the conformance report ended early")]
    Interrupted,
}

/// Where a component's report is looked for.
#[derive(Clone, Debug, PartialEq, Eq)]
enum ReportPlace {
    File(PathBuf),
    /// Next to the component.
    Registry,
}

/// What must be shown before a component is loaded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Demand {
    keys: Vec<PathBuf>,
    kit_version: Option<Version>,
    failed_too: bool,
    place: ReportPlace,
}

/// Who vouches for a component.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Vouched {
    pub(crate) key: PathBuf,
    pub(crate) report: Accepted,
}

impl Demand {
    /// For a component that comes from `origin`; `named` is where its entry says that its report is. None if it ships.
    pub(crate) fn new(
        required: &RequiredConformance,
        origin: &Origin,
        named: Option<PathBuf>,
        folder: &Path,
    ) -> Option<Arc<Self>> {
        let place = match (named, origin) {
            (_, Origin::Embedded(_) | Origin::Shipped { .. }) => return None,
            (Some(path), Origin::File(_) | Origin::LastGood { .. } | Origin::Registry { .. }) => {
                ReportPlace::File(folder.join(path))
            }
            (None, Origin::File(path) | Origin::LastGood { path, .. }) => {
                let mut name = path.clone().into_os_string();
                name.push(REPORT_SUFFIX);
                ReportPlace::File(name.into())
            }
            (None, Origin::Registry { .. }) => ReportPlace::Registry,
        };
        let RequiredConformance { keys, kit_version, failed_too } = required;
        let keys = keys.iter().map(|key| folder.join(key)).collect();
        Some(Arc::new(Self { keys, kit_version: kit_version.clone(), failed_too: *failed_too, place }))
    }

    /// Files whose changes call for another check, the report's among them.
    pub(crate) fn paths(&self) -> impl Iterator<Item = &Path> {
        let report = match &self.place {
            ReportPlace::File(path) => Some(&**path),
            ReportPlace::Registry => None,
        };
        self.keys().chain(report)
    }

    /// Files whose end or change takes back what was taken for good.
    pub(crate) fn keys(&self) -> impl Iterator<Item = &Path> {
        self.keys.iter().map(PathBuf::as_path)
    }

    /// Ids of the keys that count now; none while the program ends.
    pub(crate) async fn counting(self: &Arc<Self>) -> Option<Vec<String>> {
        let demand = self.clone();
        let read = move || {
            let (keys, _broken) = key_file::read_all(&demand.keys, PublicKey::from_pem);
            keys.iter().map(|(_, key)| key.id()).collect()
        };
        tokio::task::spawn_blocking(read).await.ok()
    }

    /// Looks for a report on the component with this digest (hexadecimal) that covers these roles.
    pub(crate) async fn check(
        self: &Arc<Self>,
        digest: &str,
        roles: Vec<Role>,
        origin: &Origin,
        fetcher: Option<&Arc<dyn ComponentFetcher>>,
    ) -> Result<Vouched, ConformanceError> {
        let judge = Judge { demand: self.clone(), digest: digest.to_owned(), roles };
        match (&self.place, origin) {
            (ReportPlace::File(path), _) => judge.file(path.clone()).await,
            (ReportPlace::Registry, Origin::Registry { reference, credentials }) => {
                let place = format!("next to {reference}");
                let Some(fetcher) = fetcher else { return Err(no_report(place, PUSH_IT)) };
                let credentials = credentials.as_deref();
                // What was good once is good without the registry, so that a restart doesn't need it.
                let kept = fetcher.reports(reference, credentials, Reports::Kept).await?;
                if let Ok(vouched) = judge.reports(place.clone(), kept).await {
                    return Ok(vouched);
                }
                let newest = fetcher.reports(reference, credentials, Reports::Newest).await?;
                judge.reports(place, newest).await
            }
            // Only what comes from a registry has its report there.
            (
                ReportPlace::Registry,
                Origin::Embedded(_) | Origin::Shipped { .. } | Origin::File(_) | Origin::LastGood { .. },
            ) => Err(ConformanceError::Interrupted),
        }
    }
}

/// The way out for a component in a registry.
const PUSH_IT: &str = ", and push it with `witlet plugin push FILE … --attestation REPORT`";

fn no_report(place: String, then: &'static str) -> ConformanceError {
    ConformanceError::NoReport { place, then }
}

struct Judge {
    demand: Arc<Demand>,
    digest: String,
    roles: Vec<Role>,
}

impl Judge {
    async fn file(self, path: PathBuf) -> Result<Vouched, ConformanceError> {
        let check = move || {
            let place = format!("at {}", path.display());
            let report = match read_bounded(&path, ENVELOPE_BYTES_MAX) {
                Ok((report, _)) => report,
                Err(cause) if cause.kind() == io::ErrorKind::NotFound => {
                    return Err(no_report(place, ", there or where `conformance` of its entry says"));
                }
                Err(cause) => return Err(ConformanceError::Read { path, cause }),
            };
            self.choose(place, &[report])
        };
        tokio::task::spawn_blocking(check).await.unwrap_or(Err(ConformanceError::Interrupted))
    }

    async fn reports(&self, place: String, reports: Vec<Vec<u8>>) -> Result<Vouched, ConformanceError> {
        let judge =
            Self { demand: self.demand.clone(), digest: self.digest.clone(), roles: self.roles.clone() };
        let check = move || judge.choose(place, &reports);
        tokio::task::spawn_blocking(check).await.unwrap_or(Err(ConformanceError::Interrupted))
    }

    /// The first report that counts. Reads the keys; blocks as long as the disk does.
    fn choose(&self, place: String, reports: &[Vec<u8>]) -> Result<Vouched, ConformanceError> {
        let (read, broken) = key_file::read_all(&self.demand.keys, PublicKey::from_pem);
        let (paths, keys): (Vec<PathBuf>, Vec<PublicKey>) = read.into_iter().unzip();
        let roles: Vec<&str> = self.roles.iter().map(|role| role.as_str()).collect();
        let Demand { kit_version, failed_too, .. } = &*self.demand;
        let (kit_version, failed_too) = (kit_version.clone(), *failed_too);
        let expected = Requirements { digest: &self.digest, roles: &roles, kit_version, failed_too };
        let mut nearest: Option<VerifyError> = None;
        for report in reports {
            match verify(report, &keys, &expected) {
                Ok(report) => return Ok(Vouched { key: paths[report.key_index].clone(), report }),
                Err(error) if nearest.as_ref().is_none_or(|near| near.nearness() < error.nearness()) => {
                    nearest = Some(error);
                }
                Err(_) => {}
            }
        }
        Err(match (nearest, broken) {
            // It may be that key's.
            (Some(VerifyError::UnknownKey { .. }), Some(broken)) => broken.into(),
            (Some(cause), _) => ConformanceError::Report { place, cause },
            (None, _) => no_report(place, PUSH_IT),
        })
    }
}

#[cfg(test)]
mod tests;
