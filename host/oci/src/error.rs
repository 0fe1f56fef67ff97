//! Why a component couldn't be pulled or pushed, and the way out.

use std::path::PathBuf;

use thiserror::Error;
use witlet_core::image::docker_config::DockerConfigError;
use witlet_egress::{BodyError, SendError};

use crate::address::{AddressError, REDIRECTS_MAX};
use crate::limits::{PULL_TIME_MAX, PUSH_TIME_MAX};
use crate::manifest::{LayerError, ManifestError};
use crate::referrers::ReferrersError;
use crate::set::SetError;

/// Why a component couldn't be pulled or pushed. Each says the way out.
#[derive(Debug, Error)]
pub enum TransferError {
    /// The file with credentials can't be read.
    #[error("failed to read the registry's credentials in {}", path.display())]
    CredentialsFile {
        path: PathBuf,
        #[source]
        cause: std::io::Error,
    },
    /// The file with credentials is no docker configuration.
    #[error("the registry's credentials in {}", path.display())]
    Credentials {
        path: PathBuf,
        #[source]
        cause: DockerConfigError,
    },
    /// The registry's name makes no URL, or it sends us where we don't go.
    #[error(transparent)]
    Address(#[from] AddressError),
    /// The server doesn't answer.
    #[error("failed to reach {registry} for {what}: check its name and the node's network")]
    Send {
        registry: String,
        /// The manifest, the component, a token.
        what: TransferItem,
        #[source]
        cause: SendError,
    },
    /// The answer broke off.
    #[error("{registry} closed the connection while sending {what}: try again later")]
    Body {
        registry: String,
        /// The manifest, the component, a token.
        what: TransferItem,
        #[source]
        cause: BodyError,
    },
    /// It wants credentials, and there are none.
    #[error("{registry} requires credentials: set a file with pullCredentials (--registry-credentials)")]
    NoCredentials { registry: String },
    /// It doesn't take the credentials.
    #[error(
        "{registry} rejected the credentials (HTTP {status}): check the file of pullCredentials (--registry-credentials) and the user's rights"
    )]
    Refused {
        registry: String,
        /// 401 or 403.
        status: u16,
    },
    /// It wants credentials of a kind that no one has.
    #[error("{registry} requires an unsupported authentication method: {challenge:?}")]
    Challenge { registry: String, challenge: String },
    /// The place for tokens gave none.
    #[error("{registry} requires a token, and {realm} returned none (HTTP {status})")]
    Token {
        registry: String,
        /// The place for tokens.
        realm: String,
        status: u16,
    },
    /// There is no such thing.
    #[error(
        "{registry} does not have {what}: check repository, tag, digest and the rights of the credentials"
    )]
    NotFound {
        registry: String,
        /// The manifest, or the component.
        what: TransferItem,
    },
    /// Any other answer than the thing itself.
    #[error("{registry} returned HTTP {status} for {what}: try again later")]
    Status { registry: String, what: TransferItem, status: u16 },
    #[error("{registry} redirected more than {REDIRECTS_MAX} times for {what}")]
    Redirects { registry: String, what: TransferItem },
    /// More bytes than were announced, or than there may be.
    #[error("{registry} sent more than {limit} bytes of {what}, the maximum")]
    TooLarge { registry: String, what: TransferItem, limit: u64 },
    /// Fewer bytes than the manifest says.
    #[error("{registry} sent {found} bytes of {what}, expected {expected}")]
    Size {
        registry: String,
        what: TransferItem,
        /// As the manifest says.
        expected: u64,
        found: u64,
    },
    /// The bytes aren't those that were asked for.
    #[error(
        "{registry} sent {what} with digest {found}, expected {expected}: do not use this registry until the cause is known"
    )]
    Digest {
        registry: String,
        what: TransferItem,
        /// What was asked for.
        expected: String,
        found: String,
    },
    /// The manifest is of something else.
    #[error(transparent)]
    Manifest(#[from] ManifestError),
    /// The manifest is of no artifact with one file.
    #[error(transparent)]
    Layer(#[from] LayerError),
    /// The manifest is of no set.
    #[error(transparent)]
    Set(#[from] SetError),
    /// A file of a set can't be written.
    #[error("failed to write {}", path.display())]
    Write {
        path: PathBuf,
        #[source]
        cause: std::io::Error,
    },
    /// A push isn't taken.
    #[error("{registry} rejected {what} (HTTP {status}){words}")]
    Declined {
        registry: String,
        what: TransferItem,
        status: u16,
        /// The registry's own words with something before them; empty if it has none.
        words: String,
    },
    /// The registry says that it keeps something else than what was pushed.
    #[error(
        "{registry} stored {what} as {found}, expected {expected}: do not use this registry until the cause is known"
    )]
    Kept {
        registry: String,
        what: TransferItem,
        /// The digest of what was pushed.
        expected: String,
        /// The digest that the registry answers.
        found: String,
    },
    /// The list of reports can't be read, or is full.
    #[error(transparent)]
    Referrers(#[from] ReferrersError),
    /// All in all it took too long.
    #[error("the push timed out after {}s: try again later", PUSH_TIME_MAX.as_secs())]
    PushDeadline,
    /// All in all it took too long.
    #[error("the pull timed out after {}s: try again later, or use a file", PULL_TIME_MAX.as_secs())]
    Deadline,
}

/// What a request is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TransferItem {
    Manifest,
    /// The layer that is a component.
    Component,
    /// The layer of another artifact.
    Layer,
    Token,
    /// What stands next to the layer in an artifact.
    Config,
    /// The list of what is attached to a component.
    Referrers,
    /// A signed conformance report.
    Report,
    Signature,
    /// A file of a set.
    SetFile,
    /// Compiled code of a set.
    SetCode,
}

impl std::fmt::Display for TransferItem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Manifest => "the manifest",
            Self::Component => "the component",
            Self::Layer => "the layer",
            Self::Token => "a token",
            Self::Config => "the configuration",
            Self::Referrers => "the list of conformance reports and signatures",
            Self::Report => "the conformance report",
            Self::Signature => "the signature",
            Self::SetFile => "a file of the set",
            Self::SetCode => "compiled code of the set",
        })
    }
}
