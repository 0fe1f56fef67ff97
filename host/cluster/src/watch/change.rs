//! What watches report: objects, changes and errors.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use serde::de::DeserializeOwned;
use thiserror::Error;
use witlet_core::reflector::Failure;

/// Objects that one watch may have at once.
pub(super) const OBJECTS_MAX: usize = 200_000;

/// Objects of an API server that this crate watches.
pub trait Watched: kube::Resource<DynamicType = ()> + DeserializeOwned + Send + Sync + 'static {}

impl<K: kube::Resource<DynamicType = ()> + DeserializeOwned + Send + Sync + 'static> Watched for K {}

/// What says objects of a kind apart.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectKey {
    /// Empty for kinds without namespaces.
    pub namespace: String,
    /// Never empty.
    pub name: String,
    /// May be empty where the server sent none.
    pub uid: String,
}

/// An object that can't be read. It exists: anyone who knew it before goes on with what was known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Malformed {
    /// Which one, where even that can be reported.
    pub key: Option<ObjectKey>,
    pub message: String,
}

/// What happened to the objects. Managed fields are gone from all of them.
#[derive(Debug)]
pub(crate) enum Change<K> {
    /// These are all objects now; there are none besides them and those that can't be read.
    Replaced {
        /// As the server has them, in its order.
        objects: Vec<Arc<K>>,
        /// Those that can't be read.
        malformed: Vec<Malformed>,
    },
    /// The object is new, or changed.
    Put(Arc<K>),
    /// The object is gone.
    Deleted(ObjectKey),
    /// The object is new, or changed, and can't be read.
    Malformed(Malformed),
    /// A request failed; the next one follows after a while. What is known may be outdated until the next change.
    Disconnected(WatchError),
    /// A watch goes on after requests had failed: what is known is as new as the server says it.
    Connected,
    /// What is known couldn't be renewed for a minute, or longer: reported again and again, less and less often, until
    /// [`Change::Replaced`] or [`Change::Connected`].
    Unread(Unread),
}

/// A list or watch failed.
#[derive(Debug, Error)]
pub enum WatchError {
    /// The server couldn't be asked.
    #[error("{0}")]
    Request(#[source] kube::Error),
    #[error("{code} {reason}: {message}")]
    Refused {
        code: u16,
        /// The CamelCase word.
        reason: String,
        message: String,
        /// What that means for the next request.
        failure: Failure,
    },
    /// The answer broke off.
    #[error("the response ended early: {0}")]
    Broken(String),
    /// The answer can't be read.
    #[error("invalid response: {0}")]
    Malformed(String),
    /// The answer has too much.
    #[error("the response has more than {0}")]
    TooMuch(String),
    #[error("no response within {}s", .0.as_secs())]
    TimedOut(Duration),
    /// The objects that a watch was to begin with weren't there in time, or their end wasn't reported.
    #[error("the watch did not send all objects within {}s", .0.as_secs())]
    NeverSynced(Duration),
}

impl WatchError {
    /// Returns what it means for the next request.
    pub(super) fn failure(&self) -> Failure {
        match self {
            Self::Request(error) if is_refused(error) => Failure::Refused,
            Self::Refused { failure, .. } => *failure,
            Self::Request(_) | Self::Broken(_) | Self::TimedOut(_) => Failure::Broken,
            Self::Malformed(_) | Self::TooMuch(_) => Failure::Other,
            Self::NeverSynced(_) => Failure::Unsupported,
        }
    }
}

/// Whether no one listens at the server's address.
fn is_refused(error: &kube::Error) -> bool {
    let first: &(dyn std::error::Error + 'static) = error;
    std::iter::successors(Some(first), |error| error.source())
        .filter_map(|error| error.downcast_ref::<io::Error>())
        .any(|error| error.kind() == io::ErrorKind::ConnectionRefused)
}

/// What couldn't be read for long, and still can't.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Unread {
    pub(crate) lasted: Duration,
    /// The last error; empty if there was none, only no answer.
    pub(crate) error: String,
}

impl Unread {
    /// Says so in the log, of objects of this kind.
    pub(crate) fn warn(&self, kind: &str) {
        let Self { lasted, error } = self;
        tracing::warn!(kind, seconds = lasted.as_secs(), error, "Objects of the API server are unreadable");
    }
}
