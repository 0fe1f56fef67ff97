//! `witlet plugin sign`: a signature goes next to what is in a registry, in cosign's form.

use std::path::PathBuf;

use serde_json::json;
use thiserror::Error;
use witlet_egress::Egress;
use witlet_oci::{Client, TransferError};
use witlet_wasm::attestation::cosign::{ArtifactSigningKey, sign_artifact, sign_bundle};
use witlet_wasm::attestation::{KEY_BYTES_MAX, KeyError};

use super::component::{self, ComponentError};
use super::push;
use crate::bounded;
use crate::cli::{OutputFormat, SignArgs};
use crate::output::{OutputError, print, structured};

/// Why nothing was signed.
#[derive(Debug, Error)]
pub(crate) enum Error {
    /// It names nothing in a registry.
    #[error(transparent)]
    Component(#[from] ComponentError),
    /// There are no credentials.
    #[error(transparent)]
    Login(#[from] push::Error),
    /// The key can't be read.
    #[error("failed to read the key {}", path.display())]
    ReadKey {
        path: PathBuf,
        #[source]
        cause: std::io::Error,
    },
    /// The key doesn't sign.
    #[error("the key {} can't be used", path.display())]
    Key {
        path: PathBuf,
        /// What it is instead.
        #[source]
        cause: KeyError,
    },
    /// The registry doesn't have it, or doesn't take the signature.
    #[error("failed to sign {target}")]
    Sign {
        target: String,
        /// Why not, with the way out.
        #[source]
        cause: Box<TransferError>,
    },
    /// The answer can't be written.
    #[error(transparent)]
    Output(#[from] OutputError),
}

/// Signs, and prints the reference with its digest.
pub(crate) async fn run(args: &SignArgs) -> Result<(), Error> {
    let target = component::target(&args.target)?;
    let path = || args.key.clone();
    let text = bounded::read(&args.key, KEY_BYTES_MAX as u64)
        .map_err(|cause| Error::ReadKey { path: path(), cause })?;
    let unusable = |cause| Error::Key { path: path(), cause };
    let key = ArtifactSigningKey::from_pem(&text).map_err(unusable)?;
    let client = Client::new(Egress::system(), push::login(&args.login)?, args.login.registry.plain_http);
    let failed = |cause| {
        let (target, cause) = (target.to_string(), Box::new(cause));
        Error::Sign { target, cause }
    };
    let digest = client.resolve(&target).await.map_err(failed)?;
    let signature = if args.bundle {
        let bundle = sign_bundle(&digest, &key).map_err(unusable)?;
        let put = client.put_bundle(&target, &digest, bundle).await.map_err(failed)?;
        format!("{}@{put}", target.name())
    } else {
        let made = sign_artifact(&target.name(), &digest, &key).map_err(unusable)?;
        let put = client.put_signature(&target, &digest, &made.payload, &made.signature).await;
        format!("{}:{}", target.name(), put.map_err(failed)?)
    };
    let reference = target.pinned(&digest);
    let text = match args.output {
        OutputFormat::Table | OutputFormat::Wide => format!("{reference}\n"),
        OutputFormat::Json | OutputFormat::Yaml => {
            structured(&for_programs(&reference, &digest, &key.public().id(), &signature), args.output)?
        }
    };
    Ok(print(&text)?)
}

/// Returns what was signed, by which key, and where the signature is.
pub(crate) fn for_programs(
    reference: &str,
    digest: &str,
    signed_by: &str,
    signature: &str,
) -> serde_json::Value {
    json!({"reference": reference, "digest": digest, "signedBy": signed_by, "signature": signature})
}
