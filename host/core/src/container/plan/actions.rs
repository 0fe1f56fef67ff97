//! What the parts of a plan find to do to a pod's containers.

use super::resize::Changes;
use super::step::KillContainer;

/// What is done to a pod's containers in a sandbox that stays.
#[derive(Default)]
pub(super) struct Actions {
    pub(super) kills: Vec<KillContainer>,
    /// Indices into `spec.ephemeralContainers`.
    pub(super) ephemeral: Vec<usize>,
    /// Indices into `spec.initContainers`, ascending.
    pub(super) init: Vec<usize>,
    /// Indices into `spec.containers`.
    pub(super) apps: Vec<usize>,
    pub(super) resize: Changes,
}
