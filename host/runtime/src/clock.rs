//! The wall clock of the runtime process.

use jiff::Timestamp;

/// Where a timestamp comes from, so that what needs one can be tested with a chosen time.
pub(crate) type Now = fn() -> Timestamp;

/// The wall time now.
#[allow(clippy::disallowed_methods, reason = "the one place where this process reads the wall clock")]
pub(crate) fn now() -> Timestamp {
    Timestamp::now()
}
