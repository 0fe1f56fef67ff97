//! What was done to a world, and what was seen of it.

use std::fmt;
use std::time::Duration;

use witlet_harness::usage::Usage;

/// What was done and seen.
#[derive(Clone, Debug, Default)]
pub(crate) struct Figures {
    pub(crate) rounds: usize,
    pub(crate) daemon_kills: usize,
    pub(crate) runtime_kills: usize,
    pub(crate) pods_added: usize,
    pub(crate) edits: usize,
    pub(crate) resizes: usize,
    /// Pods that were desired at the same time, at most.
    pub(crate) stress: usize,
    pub(crate) removals: usize,
    pub(crate) breaks: usize,
    pub(crate) swaps: usize,
    /// At the last count that was taken when all should have settled.
    pub(crate) lost: usize,
    /// Checks in the midst of it all at which a pod was there twice for a moment.
    pub(crate) doubles_seen: usize,
    pub(crate) longest_pause: Duration,
    pub(crate) slowest_settling: Duration,
    pub(crate) daemon: Usage,
    pub(crate) runtime: Usage,
}

impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            rounds, daemon_kills, runtime_kills, pods_added, edits, resizes, stress, removals, ..
        } = self;
        let Self { breaks, swaps, .. } = self;
        write!(
            f,
            "{rounds} rounds, {daemon_kills} kills of the daemon, {runtime_kills} of the runtime; {pods_added} \
             pods added ({stress} at a time), {edits} edited, {resizes} resized, {removals} removed, {breaks} \
             manifests broken, {swaps} plugins swapped; lost: {} (two of a pod were seen for a moment {} times); longest pause of the loop {:.1} ms, slowest \
             settling {:.1} s; the daemon took at most {}",
            self.lost,
            self.doubles_seen,
            self.longest_pause.as_secs_f64() * 1e3,
            self.slowest_settling.as_secs_f64(),
            self.daemon,
        )?;
        if self.runtime == Usage::default() { Ok(()) } else { write!(f, ", its runtime {}", self.runtime) }
    }
}
