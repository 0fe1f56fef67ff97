//! Which traces are exported.

use super::ids::TraceId;

#[cfg(test)]
mod tests;

/// Decides by the parent; where there is none, by the trace's id for a share of all traces (upstream:
/// `ParentBased(TraceIDRatioBased)`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sampler {
    /// Traces whose id is below this are sampled; none are all.
    below: Option<u64>,
}

/// What stands for all.
const MILLION: u32 = 1_000_000;

impl Sampler {
    /// Samples so many of a million traces that begin here.
    pub fn per_million(rate: u32) -> Self {
        // The same sum with the same rounding as upstream's, so that two nodes agree on a trace.
        let share = f64::from(rate) / f64::from(MILLION);
        Self { below: (rate < MILLION).then_some((share * (1_u64 << 63) as f64) as u64) }
    }

    /// Whether a span of this trace is recorded. `parent` says whether its parent is.
    pub fn samples(self, parent: Option<bool>, trace: TraceId) -> bool {
        parent.unwrap_or_else(|| self.below.is_none_or(|below| trace.low() >> 1 < below))
    }
}
