//! What a pod source is, what it says, and what it receives.

use std::time::Duration;

use serde::de::DeserializeOwned;

use super::backend;
use crate::Error;

/// A component that brings pods. Make it the component's export with [`export_source!`](crate::export_source).
///
/// It is made of what stands under `config:` in the plugin's entry. Without `config:` it is decoded from `null`, or else from `{}`.
/// Put `#[serde(deny_unknown_fields)]` on it, so that a misspelt key is refused when the plugin is loaded.
pub trait PodSource: DeserializeOwned + 'static {
    /// Whether it can work with its configuration, which was decoded. It runs when the plugin is loaded; the default accepts.
    ///
    /// # Errors
    /// Refuses the plugin, in these words.
    fn validate(&self, setup: &Setup<'_>) -> Result<(), Error> {
        let _ = setup;
        Ok(())
    }

    /// What the source has now, all of it. `cursor` is what the last successful poll said; none at the first one. It may wait for
    /// news (a long poll), within the plugin's timeout.
    ///
    /// # Errors
    /// When the source can't tell what it has. Its last pods go on; the error's code is the reason of the event, and it is asked
    /// again when the error says, or after the host's back-off.
    fn poll(&self, cursor: Option<&str>) -> Result<Poll, Error>;

    /// Receives news of its pods, if the component exports it by [`export_feedback!`](crate::export_feedback): of each pod the newest,
    /// at least once. The default takes them.
    ///
    /// # Errors
    /// When it didn't take them. The host tells it again, when the error says or after a back-off.
    fn notify(&self, changes: &[Change]) -> Result<(), Error> {
        let _ = changes;
        Ok(())
    }
}

/// What a source says to the host when it is loaded.
#[derive(Debug)]
pub struct Setup<'a>(&'a backend::Setup);

impl<'a> Setup<'a> {
    pub(super) fn new(setup: &'a backend::Setup) -> Self {
        Self(setup)
    }

    /// A sentence for the operator, who finds it in the log and in an event. The plugin is loaded all the same.
    pub fn warn(&self, message: &str) {
        self.0.warn(message);
    }
}

/// What a source has.
///
/// ```
/// # use std::time::Duration;
/// # use witlet_plugin_sdk_0_2::source::{Poll, Snapshot};
/// assert_eq!(Poll::all(None::<String>).snapshot(), &Snapshot::Empty);
/// let poll = Poll::unchanged().cursor("7").next_poll(Duration::from_secs(60));
/// assert_eq!(poll.snapshot(), &Snapshot::Unchanged);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub struct Poll {
    snapshot: Snapshot,
    cursor: Option<String>,
    next_poll: Option<Duration>,
}

/// The pods of a source. Make it by the functions of [`Poll`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Snapshot {
    /// The same as at the last poll that gave pods or none.
    Unchanged,
    /// These manifests, one pod each, and no others.
    Pods(Vec<String>),
    /// No pods.
    Empty,
}

impl Poll {
    /// These manifests, as JSON or YAML text, one pod each, and no others. Without any, the pods of the source end.
    pub fn all<M: Into<String>>(manifests: impl IntoIterator<Item = M>) -> Self {
        let manifests: Vec<String> = manifests.into_iter().map(Into::into).collect();
        Self::of(if manifests.is_empty() { Snapshot::Empty } else { Snapshot::Pods(manifests) })
    }

    /// The same as at the last poll that gave pods or none.
    pub fn unchanged() -> Self {
        Self::of(Snapshot::Unchanged)
    }

    /// Handed to the next poll; at most 4 KiB. Without, the next poll gets none.
    pub fn cursor(mut self, cursor: impl Into<String>) -> Self {
        self.cursor = Some(cursor.into());
        self
    }

    /// When the source wants to be asked again; without, after the configured interval.
    pub fn next_poll(mut self, after: Duration) -> Self {
        self.next_poll = Some(after);
        self
    }

    /// What it has.
    pub fn snapshot(&self) -> &Snapshot {
        &self.snapshot
    }

    fn of(snapshot: Snapshot) -> Self {
        Self { snapshot, cursor: None, next_poll: None }
    }

    /// Says it to the host.
    #[cfg(target_family = "wasm")]
    pub(super) fn say(&self, answer: &super::bindings::witlet::pod_source::source_types::Answer) {
        match &self.snapshot {
            Snapshot::Unchanged => answer.unchanged(),
            Snapshot::Pods(manifests) => manifests.iter().for_each(|manifest| answer.pod(manifest)),
            Snapshot::Empty => answer.empty(),
        }
        if let Some(cursor) = &self.cursor {
            answer.cursor(cursor);
        }
        if let Some(after) = self.next_poll {
            answer.next_poll_milliseconds(u64::try_from(after.as_millis()).unwrap_or(u64::MAX));
        }
    }
}

/// News of one of the source's pods. The texts that there is nothing for are empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Change {
    /// `status`, `gone` or `left-out`; more may come.
    pub kind: String,
    /// `metadata.namespace`; empty of a manifest that could not be read so far.
    pub namespace: String,
    /// As the source named it.
    pub name: String,
    /// Empty of what is left out.
    pub uid: String,
    /// `status.phase`
    pub phase: String,
    /// Why: `status.reason`, or a word for what is left out.
    pub reason: String,
    /// The sentence to it.
    pub message: String,
    /// The whole status as JSON.
    pub status: Option<String>,
}

impl Change {
    /// A pod that isn't run, for tests.
    pub fn left_out(namespace: &str, name: &str) -> Self {
        let (namespace, name) = (namespace.to_owned(), name.to_owned());
        Self { kind: "left-out".to_owned(), namespace, name, ..Self::default() }
    }

    /// Whether the pod isn't run, and won't be as it is: it is left out, or it failed.
    pub fn is_refused(&self) -> bool {
        self.kind == "left-out" || self.phase == "Failed"
    }

    #[cfg(target_family = "wasm")]
    pub(super) fn of_host(change: &super::bindings::witlet::pod_source::source_types::Change) -> Self {
        Self {
            kind: change.kind(),
            namespace: change.namespace(),
            name: change.name(),
            uid: change.uid(),
            phase: change.phase(),
            reason: change.reason(),
            message: change.message(),
            status: change.status(),
        }
    }
}
