//! Why a component couldn't be pulled or pushed, and the way out.

use std::path::PathBuf;

use thiserror::Error;
use witlet_core::image::docker_config::DockerConfigError;
use witlet_egress::{BodyError, SendError};

use crate::address::{AddressError, REDIRECTS_MAX};
use crate::limits::{PULL_TIME_MAX, PUSH_TIME_MAX};
use crate::manifest::ManifestError;
use crate::referrers::ReferrersError;

/// Why a component couldn't be pulled or pushed. Each says the way out.
#[derive(Debug, Error)]
pub enum TransferError {
    /// The file with credentials can't be read.
    #[error("read the registry's credentials in {}", path.display())]
    CredentialsFile {
        /// The file.
        path: PathBuf,
        /// Why not.
        #[source]
        cause: std::io::Error,
    },
    /// The file with credentials is no docker configuration.
    #[error("the registry's credentials in {}", path.display())]
    Credentials {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        #[source]
        cause: DockerConfigError,
    },
    /// The registry's name makes no URL, or it sends us where we don't go.
    #[error(transparent)]
    Address(#[from] AddressError),
    /// The server doesn't answer.
    #[error("{registry} can't be asked for {what}; check its name and this node's network")]
    Send {
        /// The host.
        registry: String,
        /// The manifest, the component, a token.
        what: TransferItem,
        /// Why not.
        #[source]
        cause: SendError,
    },
    /// The answer broke off.
    #[error("{registry} broke off in the middle of {what}; try again later")]
    Body {
        /// The host.
        registry: String,
        /// The manifest, the component, a token.
        what: TransferItem,
        /// How.
        #[source]
        cause: BodyError,
    },
    /// It wants credentials, and there are none.
    #[error(
        "{registry} wants credentials, and there are none for it: name a file that has them with pullCredentials (on the command line --registry-credentials)"
    )]
    NoCredentials {
        /// The registry.
        registry: String,
    },
    /// It doesn't take the credentials.
    #[error(
        "{registry} refuses the credentials for it (HTTP {status}): check the file that pullCredentials or --registry-credentials names, and its user's rights"
    )]
    Refused {
        /// The registry.
        registry: String,
        /// 401 or 403.
        status: u16,
    },
    /// It wants credentials of a kind that no one has.
    #[error("{registry} wants to be asked in a way that isn't known here: {challenge:?}")]
    Challenge {
        /// The registry.
        registry: String,
        /// Its header.
        challenge: String,
    },
    /// The place for tokens gave none.
    #[error("{registry} wants a token, and {realm} gave none (HTTP {status})")]
    Token {
        /// The registry.
        registry: String,
        /// The place for tokens.
        realm: String,
        /// What it answered.
        status: u16,
    },
    /// There is no such thing.
    #[error(
        "{registry} doesn't have {what}: check repository, tag and digest, and whether the credentials may see it"
    )]
    NotFound {
        /// The registry.
        registry: String,
        /// The manifest, or the component.
        what: TransferItem,
    },
    /// Any other answer than the thing itself.
    #[error(
        "{registry} answered HTTP {status} when asked for {what}; try again later, or ask its administrator"
    )]
    Status {
        /// The host.
        registry: String,
        /// What for.
        what: TransferItem,
        /// The status.
        status: u16,
    },
    /// Redirects without end.
    #[error("{registry} redirects more than {REDIRECTS_MAX} times when asked for {what}")]
    Redirects {
        /// The registry.
        registry: String,
        /// What for.
        what: TransferItem,
    },
    /// More bytes than were announced, or than there may be.
    #[error("{registry} sends more than the {limit} bytes that {what} may have")]
    TooLarge {
        /// The host.
        registry: String,
        /// What.
        what: TransferItem,
        /// The limit.
        limit: u64,
    },
    /// Fewer bytes than the manifest says.
    #[error("{registry} sent {found} bytes of {what}, which has {expected}")]
    Size {
        /// The host.
        registry: String,
        /// What.
        what: TransferItem,
        /// As the manifest says.
        expected: u64,
        /// As they came.
        found: u64,
    },
    /// The bytes aren't those that were asked for.
    #[error(
        "{registry} sent {what} with the digest {found} instead of {expected}: its content was changed; don't use this registry until that is cleared up"
    )]
    Digest {
        /// The host.
        registry: String,
        /// What.
        what: TransferItem,
        /// What was asked for.
        expected: String,
        /// What came.
        found: String,
    },
    /// The manifest is of something else.
    #[error(transparent)]
    Manifest(#[from] ManifestError),
    /// A push isn't taken.
    #[error("{registry} doesn't take {what} (HTTP {status}){words}")]
    Declined {
        /// The registry.
        registry: String,
        /// What was pushed.
        what: TransferItem,
        /// The status.
        status: u16,
        /// The registry's own words with something before them; empty if it has none.
        words: String,
    },
    /// The registry says that it keeps something else than what was pushed.
    #[error(
        "{registry} keeps {what} as {found}, and {expected} was pushed: don't use this registry before that is cleared up"
    )]
    Kept {
        /// The registry.
        registry: String,
        /// What was pushed.
        what: TransferItem,
        /// The digest of what was pushed.
        expected: String,
        /// The digest that the registry answers.
        found: String,
    },
    /// The list of reports can't be read, or has no room for another.
    #[error(transparent)]
    Referrers(#[from] ReferrersError),
    /// All in all it took too long.
    #[error("the push took longer than {}s; try again later", PUSH_TIME_MAX.as_secs())]
    PushDeadline,
    /// All in all it took too long.
    #[error("the pull took longer than {}s; try again later, or bring the component as a file", PULL_TIME_MAX.as_secs())]
    Deadline,
}

/// What a request is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TransferItem {
    /// The manifest.
    Manifest,
    /// The layer.
    Component,
    /// A token.
    Token,
    /// What stands next to the layer in an artifact.
    Config,
    /// The list of what is attached to a component.
    Referrers,
    /// A signed conformance report.
    Report,
}

impl std::fmt::Display for TransferItem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Manifest => "the manifest",
            Self::Component => "the component",
            Self::Token => "a token",
            Self::Config => "the configuration",
            Self::Referrers => "the list of conformance reports",
            Self::Report => "the conformance report",
        })
    }
}
