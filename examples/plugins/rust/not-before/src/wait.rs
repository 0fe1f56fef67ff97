//! How long a pod waits.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use witlet_plugin_sdk::Error;

/// How many whole seconds the pod waits.
pub(crate) const WAIT_ANNOTATION: &str = "example.witlet.dev/not-before-seconds";

/// When the node first saw the pod (RFC 3339). The node sets it on pods that don't come from an API server.
pub(crate) const SEEN_ANNOTATION: &str = "kubernetes.io/config.seen";

/// Whether the pod still waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wait {
    /// The time is up.
    Over,
    /// It isn't.
    Until {
        /// When it will be.
        moment: Timestamp,
        /// How long that is.
        left: Duration,
    },
}

/// The wait of a pod that was seen then and waits so many seconds.
pub(crate) fn wait(seconds: &str, seen: Option<&str>, now: Timestamp) -> Result<Wait, Error> {
    let wait: u32 = seconds
        .parse()
        .map_err(|_| Error::invalid(WAIT_ANNOTATION, format!("{seconds:?} is no number of seconds")))?;
    let seen = seen.ok_or_else(|| {
        Error::invalid(SEEN_ANNOTATION, "missing: the node hasn't said when it saw the pod")
    })?;
    let seen: Timestamp = seen
        .parse()
        .map_err(|_| Error::invalid(SEEN_ANNOTATION, format!("{seen:?} is no time in RFC 3339")))?;
    let moment = seen
        .checked_add(SignedDuration::from_secs(i64::from(wait)))
        .map_err(|_| Error::invalid(WAIT_ANNOTATION, "the end of the wait is out of range"))?;
    Ok(match Duration::try_from(moment.duration_since(now)) {
        Ok(left) if !left.is_zero() => Wait::Until { moment, left },
        _ => Wait::Over,
    })
}

#[cfg(test)]
mod tests;
