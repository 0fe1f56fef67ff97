//! Which calls are recorded.

use std::sync::Arc;
use std::time::Duration;

use witlet_core::admission::Verdict;
use witlet_core::probe::ProbeOutcome;

use crate::plugin::CallError;

/// A reason to keep a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordTrigger {
    /// A handler refused the pod, or a probe failed.
    Reject,
    /// A shadow's answer isn't the one that it is compared with.
    Differ,
    /// It took more than half of the time that it had.
    Slow,
    /// It had no usable answer.
    Error,
}

impl RecordTrigger {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Reject, Self::Differ, Self::Slow, Self::Error];

    /// Returns its name in a plugin file.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Reject => "reject",
            Self::Differ => "differ",
            Self::Slow => "slow",
            Self::Error => "error",
        }
    }
}

/// What an entry says of recording.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recording {
    /// How many calls are kept.
    pub max: usize,
    /// Which; empty for every call.
    pub on: Arc<[RecordTrigger]>,
}

/// What is known of a call once it has ended.
#[derive(Clone, Copy, Debug)]
pub(super) struct EndedCall {
    /// Whether it refused what it was asked about.
    pub(super) refused: bool,
    /// Whether it had no usable answer.
    pub(super) failed: bool,
    pub(super) took: Duration,
    pub(super) timeout: Duration,
}

impl EndedCall {
    pub(super) fn of_verdict(result: &Result<Verdict, CallError>, took: Duration, timeout: Duration) -> Self {
        let refused =
            matches!(result, Ok(Verdict::Reject { .. } | Verdict::Defer { .. } | Verdict::Shortage(_)));
        Self { refused, failed: result.is_err(), took, timeout }
    }

    pub(super) fn of_probe(
        result: &Result<ProbeOutcome, CallError>,
        took: Duration,
        timeout: Duration,
    ) -> Self {
        let refused = matches!(result, Ok(ProbeOutcome::Failure(_)));
        Self { refused, failed: result.is_err(), took, timeout }
    }
}

/// Whether a call is kept before anything was compared with it.
pub(super) fn keeps(on: &[RecordTrigger], call: EndedCall) -> bool {
    let meets = |trigger: &RecordTrigger| match trigger {
        RecordTrigger::Reject => call.refused,
        RecordTrigger::Slow => call.took.saturating_mul(2) > call.timeout,
        RecordTrigger::Error => call.failed,
        RecordTrigger::Differ => false,
    };
    on.is_empty() || on.iter().any(meets)
}

/// Whether a call whose answer differs is kept now, and wasn't before.
pub(super) fn keeps_difference(on: &[RecordTrigger], call: EndedCall) -> bool {
    on.contains(&RecordTrigger::Differ) && !keeps(on, call)
}

#[cfg(test)]
mod tests {
    //! Which call is kept.

    use super::*;

    #[test]
    fn a_call_is_kept_once_if_it_meets_a_trigger() {
        use RecordTrigger::{Differ, Error, Reject, Slow};
        let call = |refused, failed, took| EndedCall {
            refused,
            failed,
            took: Duration::from_millis(took),
            timeout: Duration::from_millis(100),
        };
        let (admitted, rejected) = (call(false, false, 50), call(true, false, 50));
        let (failed, slow) = (call(false, true, 0), call(false, false, 51));
        // What is kept at once, and what is kept when it is known that it differs.
        let cases: [(&[RecordTrigger], EndedCall, bool, bool); 11] = [
            (&[], admitted, true, false),
            (&[Reject], admitted, false, false),
            (&[Reject], rejected, true, false),
            (&[Reject], failed, false, false),
            (&[Error], failed, true, false),
            (&[Error], rejected, false, false),
            (&[Slow], slow, true, false),
            (&[Slow], admitted, false, false),
            (&[Differ], rejected, false, true),
            (&[Differ, Reject], rejected, true, false),
            (&[Slow, Differ], admitted, false, true),
        ];
        for (on, call, at_once, later) in cases {
            assert_eq!((keeps(on, call), keeps_difference(on, call)), (at_once, later), "{on:?} {call:?}");
        }
    }
}
