//! `witlet plugin pull`: a component comes from a registry, with its conformance report.

use std::io;
use std::path::{Path, PathBuf};

use serde_json::json;
use thiserror::Error;
use witlet_egress::Egress;
use witlet_oci::{Client, Pulled, TransferError};
use witlet_wasm::attestation::cosign::{ArtifactKey, SignaturesError, SignedArtifact, verify_artifact};
use witlet_wasm::attestation::{KEY_BYTES_MAX, KeyError, subjects};
use witlet_wasm::record::replay::digest_of;

use super::component::{self, ComponentError};
use super::{push, whole};
use crate::bounded;
use crate::cli::{OutputFormat, PullArgs};
use crate::output::{OutputError, print, structured};
use crate::progress::Transfer;

/// What a report is called that lies next to its component.
const REPORT_SUFFIX: &str = ".conformance.json";

/// Why there is no file.
#[derive(Debug, Error)]
pub(crate) enum Error {
    /// It names nothing in a registry.
    #[error(transparent)]
    Component(#[from] ComponentError),
    /// There are no credentials.
    #[error(transparent)]
    Login(#[from] push::Error),
    /// The registry doesn't bring it.
    #[error("failed to pull {target}")]
    Pull {
        target: String,
        /// Why not, with the way out.
        #[source]
        cause: Box<TransferError>,
    },
    /// A key can't be read.
    #[error("failed to read the key {}", path.display())]
    ReadKey {
        path: PathBuf,
        #[source]
        cause: io::Error,
    },
    /// A key verifies nothing.
    #[error("the key {} can't be used", path.display())]
    Key {
        path: PathBuf,
        /// What it is instead.
        #[source]
        cause: KeyError,
    },
    /// No key has signed it.
    #[error(
        "{reference} isn't signed with {}: sign it with `witlet plugin sign` or `cosign sign --key`, or name its signer's key with --key",
        named(keys)
    )]
    Unsigned {
        /// What was pulled, by its digest.
        reference: String,
        keys: Vec<PathBuf>,
        /// What was found instead.
        #[source]
        cause: SignaturesError,
    },
    /// Someone's file is there.
    #[error("file {} exists with other content: set another file with --to, or overwrite it with --force", path.display())]
    Exists { path: PathBuf },
    /// The file can't be written.
    #[error("failed to write {}", path.display())]
    Write {
        path: PathBuf,
        #[source]
        cause: io::Error,
    },
    /// The answer can't be written.
    #[error(transparent)]
    Output(#[from] OutputError),
}

fn named(keys: &[PathBuf]) -> String {
    keys.iter().map(|key| key.display().to_string()).collect::<Vec<_>>().join(" or ")
}

/// Pulls, writes the files, and prints the reference with its digest.
pub(crate) async fn run(args: &PullArgs) -> Result<(), Error> {
    let target = component::target(&args.from)?;
    let keys = args.key.iter().map(|path| key(path)).collect::<Result<Vec<_>, _>>()?;
    let client = Client::new(Egress::system(), push::login(&args.login)?, args.login.registry.plain_http);
    let transfer = Transfer::start("pulling");
    let pulled = client.pull(&target, &|bytes, total| transfer.at(bytes, total)).await;
    transfer.done();
    let failed = |cause| {
        let (target, cause) = (target.to_string(), Box::new(cause));
        Error::Pull { target, cause }
    };
    let Pulled { digest, manifest, wasm, reports } = pulled.map_err(failed)?;
    let reference = target.pinned(&digest);
    let signed = if keys.is_empty() {
        None
    } else {
        let signatures = client.signatures(&target, &digest).await.map_err(failed)?;
        let artifact = SignedArtifact { digest: &digest, manifest: &manifest };
        let verified = verify_artifact(artifact, &signatures, &keys);
        let keys = || args.key.clone();
        Some(verified.map_err(|cause| Error::Unsigned {
            reference: reference.clone(),
            keys: keys(),
            cause,
        })?)
    };
    let file = args.to.clone().unwrap_or_else(|| format!("{}.wasm", component::name_of(&target)).into());
    let component = digest_of(&wasm);
    let report = reports.iter().find(|report| is_about(report, &component)).map(|report| {
        let mut path = file.clone().into_os_string();
        path.push(REPORT_SUFFIX);
        (PathBuf::from(path), report.as_slice())
    });
    let files: Vec<(&Path, &[u8])> = [(&*file, &*wasm)]
        .into_iter()
        .chain(report.as_ref().map(|(path, report)| (&**path, *report)))
        .collect();
    if !args.force {
        // Before anything is written.
        files.iter().try_for_each(|(path, content)| check_free(path, content))?;
    }
    for (path, content) in &files {
        whole::write(path, content, None)
            .map_err(|cause| Error::Write { path: path.to_path_buf(), cause })?;
    }
    let text = match args.output {
        OutputFormat::Table | OutputFormat::Wide => format!("{reference}\n"),
        OutputFormat::Json | OutputFormat::Yaml => {
            let report = report.as_ref().map(|(path, _)| path.as_path());
            let written = WrittenFiles { file: &file, report, signed_by: signed.map(|signed| signed.key_id) };
            structured(&for_programs(&reference, &digest, &component, wasm.len(), &written), args.output)?
        }
    };
    Ok(print(&text)?)
}

fn key(path: &Path) -> Result<ArtifactKey, Error> {
    let path = || path.to_owned();
    let text = bounded::read(&path(), KEY_BYTES_MAX as u64)
        .map_err(|cause| Error::ReadKey { path: path(), cause })?;
    ArtifactKey::from_pem(&text).map_err(|cause| Error::Key { path: path(), cause })
}

/// Where a component was written, its report if there is one, and the key that signed it if one was asked for.
pub(crate) struct WrittenFiles<'a> {
    pub(crate) file: &'a Path,
    pub(crate) report: Option<&'a Path>,
    pub(crate) signed_by: Option<String>,
}

/// Returns what was pulled; `digest` is the manifest's, `component` the component's in hexadecimal.
pub(crate) fn for_programs(
    reference: &str,
    digest: &str,
    component: &str,
    size: usize,
    written: &WrittenFiles<'_>,
) -> serde_json::Value {
    json!({
        "reference": reference,
        "digest": digest,
        "component": {"digest": format!("sha256:{component}"), "sizeBytes": size},
        "file": written.file.display().to_string(),
        "report": written.report.map(|path| path.display().to_string()),
        "signedBy": written.signed_by,
    })
}

fn is_about(report: &[u8], digest: &str) -> bool {
    subjects(report).is_ok_and(|about| about.iter().any(|(_, about)| about == digest))
}

/// Whether nothing is lost by writing this there.
fn check_free(path: &Path, content: &[u8]) -> Result<(), Error> {
    let there = std::fs::metadata(path).map(|metadata| metadata.len());
    match there {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        // No more of it is read than there may be.
        Ok(bytes)
            if bytes == content.len() as u64 && std::fs::read(path).is_ok_and(|there| there == content) =>
        {
            Ok(())
        }
        Ok(_) => Err(Error::Exists { path: path.to_owned() }),
        Err(cause) => Err(Error::Write { path: path.to_owned(), cause }),
    }
}
