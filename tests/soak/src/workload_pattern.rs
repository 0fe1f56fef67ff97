//! What can be done to a world, and how often each is.

use std::time::Duration;

/// What can be done.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Action {
    Add,
    Edit,
    Label,
    Resize,
    Remove,
    Return,
    KillDaemon,
    KillRuntime,
    Break,
    Repair,
    Swap,
    BreakPluginFile,
}

/// How a world is hit.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WorkloadPattern {
    /// How many pods there are at most.
    pub(crate) pods_max: usize,
    /// How many of a hundred that are added are random ones.
    pub(crate) varied: usize,
    /// Random pods are sturdy.
    pub(crate) sturdy: bool,
    /// How long everything may take to settle. The slowest settling is among the figures.
    pub(crate) timeout: Duration,
    /// Each as often as it is to be chosen.
    pub(crate) actions: &'static [(Action, usize)],
}

impl WorkloadPattern {
    /// Few pods, and everything goes wrong.
    pub(crate) const HARSH: Self = Self {
        pods_max: 14,
        varied: 0,
        sturdy: true,
        timeout: Duration::from_secs(300),
        actions: HARSH_ACTIONS,
    };

    /// The same with random pods among the others.
    pub(crate) const HARSH_VARIED: Self = Self { varied: 40, ..Self::HARSH };

    /// Random pods, and a daemon that is killed.
    pub(crate) const STRESS: Self = Self {
        pods_max: 100,
        varied: 100,
        sturdy: false,
        timeout: Duration::from_secs(600),
        actions: STRESS_ACTIONS,
    };
}

const STRESS_ACTIONS: &[(Action, usize)] = &[
    (Action::Add, 40),
    (Action::Edit, 8),
    (Action::Label, 5),
    (Action::Resize, 8),
    (Action::Remove, 30),
    (Action::Return, 4),
    (Action::KillDaemon, 10),
];

const HARSH_ACTIONS: &[(Action, usize)] = &[
    (Action::Add, 18),
    (Action::Edit, 16),
    (Action::Label, 8),
    (Action::Remove, 11),
    (Action::Return, 6),
    (Action::KillDaemon, 14),
    (Action::KillRuntime, 8),
    (Action::Break, 10),
    (Action::Repair, 6),
    (Action::Swap, 12),
    (Action::BreakPluginFile, 4),
];
