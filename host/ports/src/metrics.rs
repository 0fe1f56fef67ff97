//! What a part of the agent shows to monitoring.

use witlet_core::stats::exposition::Exposition;

/// A part of the agent that has metrics.
pub trait MetricsSource: Send + Sync {
    /// Writes its families as they are now, without waiting. Names are its own: no other source has them.
    fn write(&self, to: &mut Exposition);
}
