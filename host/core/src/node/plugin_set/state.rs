//! How a node stands to the set of plugins that was chosen, and when one that was refused is tried again.

use std::time::Duration;

use crate::container::backoff::BackoffPolicy;

/// When a set that could not be had is asked for again: its registry may be back, or someone may sign it.
pub const RETRY: BackoffPolicy =
    BackoffPolicy { initial: Duration::from_secs(10), max: Duration::from_secs(300) };
/// When a set that could not be loaded is tried again: each try compiles what wasn't compiled.
pub const RETRY_LOAD: BackoffPolicy =
    BackoffPolicy { initial: Duration::from_secs(60), max: Duration::from_secs(3600) };

/// Why a set wasn't taken, and so when it is tried again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// It couldn't be had.
    NotHad,
    /// No one who counts has signed it.
    NotSigned,
    /// It couldn't be loaded as a whole.
    NotLoaded,
}

impl Refusal {
    /// When it is tried again.
    pub(super) fn policy(self) -> BackoffPolicy {
        match self {
            Self::NotHad | Self::NotSigned => RETRY,
            Self::NotLoaded => RETRY_LOAD,
        }
    }
}

impl From<Refusal> for SetState {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::NotHad => Self::NotHad,
            Refusal::NotSigned => Self::NotSigned,
            Refusal::NotLoaded => Self::NotLoaded,
        }
    }
}

/// How the node stands to what was chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SetState {
    /// No set is chosen, and none serves.
    Local,
    /// The chosen set serves, or one does while it isn't known what is chosen.
    Running,
    /// The chosen set waits for its time, or is being brought and loaded.
    Waiting,
    /// The policy doesn't allow the chosen set.
    NotAllowed,
    /// The chosen set couldn't be had; it is asked for again.
    NotHad,
    /// No key of the policy has signed the chosen set; it is asked for again.
    NotSigned,
    /// The chosen set doesn't load; it is tried again.
    NotLoaded,
    /// A set should not serve any more, and does: the local plugin file can't be taken.
    NotLeft,
}

impl SetState {
    /// All there are.
    pub const ALL: [Self; 8] = [
        Self::Local,
        Self::Running,
        Self::Waiting,
        Self::NotAllowed,
        Self::NotHad,
        Self::NotSigned,
        Self::NotLoaded,
        Self::NotLeft,
    ];

    /// Returns the name as people see it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Local => "Local",
            Self::Running => "Running",
            Self::Waiting => "Waiting",
            Self::NotAllowed => "NotAllowed",
            Self::NotHad => "NotHad",
            Self::NotSigned => "NotSigned",
            Self::NotLoaded => "NotLoaded",
            Self::NotLeft => "NotLeft",
        }
    }

    /// Returns the name as the value of a metric's label.
    pub fn label(self) -> &'static str {
        match self {
            Self::Local => "local",
            Self::Running => "running",
            Self::Waiting => "waiting",
            Self::NotAllowed => "not_allowed",
            Self::NotHad => "not_had",
            Self::NotSigned => "not_signed",
            Self::NotLoaded => "not_loaded",
            Self::NotLeft => "not_left",
        }
    }
}
