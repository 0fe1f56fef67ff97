//! What a pod source is, and what it answers.

use std::time::Duration;

use serde::de::DeserializeOwned;

use super::{PodStatus, Poll, Snapshot, SourceError};
use witlet_plugin_sdk_base::describe;

use crate::Error;
use crate::{http, net};

/// A component that brings pods. Make it the component's export with
/// [`export_pod_source!`](crate::export_pod_source).
///
/// ```
/// use std::time::Duration;
/// use witlet_plugin_sdk::facts::{ScriptedAnswer, serve_http};
/// use witlet_plugin_sdk::http::{Request, send};
/// use witlet_plugin_sdk::source::{PodSource, Poll, Snapshot, SourceError, fingerprint};
/// use witlet_plugin_sdk::time::Deadline;
///
/// /// One pod from a server; needs the grant `network` for it.
/// struct Fetched;
///
/// impl PodSource for Fetched {
///     type Config = ();
///
///     fn poll(cursor: Option<&str>, (): &()) -> Result<Poll, SourceError> {
///         let deadline = Deadline::after(Duration::from_secs(10));
///         // An answer that doesn't come is an error, and the pods of the last one go on.
///         let request = Request::get("https://pods.example.com/web")?;
///         let mut answer = send(&request, deadline)?;
///         let body = answer.whole_body(1 << 20, deadline)?;
///         if answer.status() != 200 {
///             return Err(SourceError::new("Unavailable", format!("the server answers {}", answer.status())));
///         }
///         let current = fingerprint([&body]);
///         if cursor == Some(&current) {
///             return Ok(Poll::unchanged().with_cursor(current));
///         }
///         let manifest = String::from_utf8(body).map_err(|_| SourceError::new("Invalid", "the pod isn't UTF-8"))?;
///         Ok(Poll::all(vec![manifest]).with_cursor(current))
///     }
/// }
///
/// serve_http(|_| Ok(ScriptedAnswer { body: b"kind: Pod".to_vec(), ..ScriptedAnswer::default() }));
/// let first = Fetched::poll(None, &())?;
/// assert_eq!(first.snapshot, Snapshot::Pods(vec!["kind: Pod".to_owned()]));
/// assert_eq!(Fetched::poll(first.cursor.as_deref(), &())?.snapshot, Snapshot::Unchanged);
/// serve_http(|_| Ok(ScriptedAnswer { status: 503, ..ScriptedAnswer::default() }));
/// assert_eq!(Fetched::poll(None, &()).expect_err("it isn't there").reason, "Unavailable");
/// # Ok::<(), SourceError>(())
/// ```
pub trait PodSource {
    /// What stands under `config:` in the plugin's entry; `()` for a source that takes none, which then refuses any.
    /// Without `config:` it is decoded from `null`, or else from `{}`. Put `#[serde(deny_unknown_fields)]` on it, so
    /// that a misspelt key is refused when the plugin is loaded.
    type Config: DeserializeOwned + 'static;

    /// Whether the source can work with this configuration. It runs when the plugin is loaded, after the configuration
    /// was decoded; the default accepts.
    ///
    /// # Errors
    /// Refuses the plugin, in these words.
    fn validate(config: &Self::Config) -> Result<(), Error> {
        let _ = config;
        Ok(())
    }

    /// What the source has now, all of it. `cursor` is what the last successful poll returned; none at the first one.
    /// It may wait for news (a long poll), within the plugin's timeout.
    ///
    /// # Errors
    /// When the source can't tell what it has. Its last pods go on.
    fn poll(cursor: Option<&str>, config: &Self::Config) -> Result<Poll, SourceError>;
}

/// A source that receives the statuses of its pods. Export it in addition to the source with
/// [`export_status_feedback!`](crate::export_status_feedback), where an example stands.
pub trait StatusFeedback: PodSource {
    /// Takes the pods whose status changed since the last call that succeeded, each with its newest status. At most once
    /// a second.
    ///
    /// # Errors
    /// The host tells it again with the next change.
    fn statuses(changed: &[PodStatus], config: &Self::Config) -> Result<(), Error>;
}

impl Poll {
    /// The same as at the last poll that gave pods or none.
    pub fn unchanged() -> Self {
        Self::of(Snapshot::Unchanged)
    }

    /// These pods and no others: manifests as JSON or YAML text, one pod each. Without any, the pods of this source end: a
    /// source that couldn't check returns an error instead.
    ///
    /// ```
    /// # use witlet_plugin_sdk::source::{Poll, Snapshot};
    /// assert_eq!(Poll::all(Vec::new()).snapshot, Snapshot::Empty);
    /// assert_eq!(Poll::all(vec!["{}".to_owned()]).snapshot, Snapshot::Pods(vec!["{}".to_owned()]));
    /// ```
    pub fn all(pods: Vec<String>) -> Self {
        Self::of(if pods.is_empty() { Snapshot::Empty } else { Snapshot::Pods(pods) })
    }

    fn of(snapshot: Snapshot) -> Self {
        Self { snapshot, cursor: None, next_poll_milliseconds: None }
    }

    /// Hands this to the next poll, also after a restart of the agent if the source has a state folder; at most 4 KiB.
    #[must_use]
    pub fn with_cursor(mut self, cursor: impl Into<String>) -> Self {
        self.cursor = Some(cursor.into());
        self
    }

    /// Asks to be polled again after this time instead of the configured interval. The host waits 100 ms at least.
    #[must_use]
    pub fn again_after(mut self, time: Duration) -> Self {
        self.next_poll_milliseconds = Some(milliseconds(time));
        self
    }
}

impl SourceError {
    /// An error with a CamelCase reason for the event and one sentence for people. `Unavailable`, `Denied` and `Invalid`
    /// are used by the shipped sources.
    pub fn new(reason: impl Into<String>, message: impl Into<String>) -> Self {
        Self { reason: reason.into(), message: message.into(), retry_after_milliseconds: None }
    }

    /// Asks to be polled again after this time instead of the host's back-off.
    #[must_use]
    pub fn retry_after(mut self, time: Duration) -> Self {
        self.retry_after_milliseconds = Some(milliseconds(time));
        self
    }
}

/// What fails while a source checks, in one line: what wasn't found out (requests, connections) has the reason `Unavailable`, a
/// secret that isn't there `Denied`, everything else `Invalid`.
impl From<Error> for SourceError {
    fn from(error: Error) -> Self {
        Self::new(error.reason(), describe(&error))
    }
}

/// A request that gets no answer: `Unavailable`.
impl From<http::Error> for SourceError {
    fn from(error: http::Error) -> Self {
        Error::from(error).into()
    }
}

/// A connection that fails: `Unavailable`.
impl From<net::Error> for SourceError {
    fn from(error: net::Error) -> Self {
        Error::from(error).into()
    }
}

fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
