//! Images by script, and the disk that they are on.

use std::time::Duration;

use witlet_core::runtime::ImageAuth;

/// What the process of an image does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Behaviour {
    /// Runs until it is asked to stop.
    Sleeps,
    Exits {
        code: i32,
        /// This long after its start.
        after: Duration,
    },
    /// Runs until it is asked to stop, and ends with code 0 then.
    EndsWell,
    /// Ignores being asked to stop; it is killed after its grace.
    IgnoresStop,
    /// The runtime never manages to stop it.
    CannotBeStopped,
}

/// An image by script.
#[derive(Clone, Debug)]
pub struct FakeImage {
    /// What its process does.
    pub behaviour: Behaviour,
    /// Whether the runtime has it already.
    pub present: bool,
    /// How long a pull takes.
    pub pull_takes: Duration,
    /// How many pulls fail before one succeeds.
    pub pulls_fail: u32,
    /// The user name without which the registry refuses the pull.
    pub wants_user: Option<String>,
    /// The password that the registry wants with it; none takes any.
    pub wants_password: Option<String>,
    /// Bytes.
    pub size: u64,
    /// Whether the runtime wants it to stay.
    pub pinned: bool,
}

impl FakeImage {
    /// An image that is there.
    pub fn present(behaviour: Behaviour) -> Self {
        Self {
            behaviour,
            present: true,
            pull_takes: Duration::ZERO,
            pulls_fail: 0,
            wants_user: None,
            wants_password: None,
            size: 1,
            pinned: false,
        }
    }

    /// An image that has to be pulled first.
    pub fn absent(behaviour: Behaviour) -> Self {
        Self { present: false, ..Self::present(behaviour) }
    }

    /// Whether the registry gives it to who shows these credentials.
    pub(super) fn is_for(&self, auth: Option<&ImageAuth>) -> bool {
        let has = |given: &Option<String>, field: fn(&ImageAuth) -> &str| {
            given.as_deref().is_none_or(|given| auth.map(field) == Some(given))
        };
        has(&self.wants_user, |auth| &auth.username) && has(&self.wants_password, |auth| &auth.password)
    }
}

/// The disk of images.
#[derive(Clone, Copy, Debug)]
pub(super) struct ImageDisk {
    pub(super) capacity: u64,
    pub(super) other_bytes: u64,
    pub(super) removals_take: Duration,
    /// Of all images that were removed.
    pub(super) removed_bytes: u64,
}

impl Default for ImageDisk {
    fn default() -> Self {
        Self { capacity: 1 << 40, other_bytes: 0, removals_take: Duration::ZERO, removed_bytes: 0 }
    }
}
