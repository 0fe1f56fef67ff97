//! Verdicts and quantities.

use std::time::Duration;

use crate::{Deferral, Quantity, Rejection, Shortage, Verdict};

impl Verdict {
    /// The pod may never run here: its phase becomes Failed with this CamelCase reason and this sentence.
    ///
    /// ```
    /// # use witlet_plugin_sdk::{Rejection, Verdict};
    /// let verdict = Verdict::reject("NoTeam", "the pod has no label team");
    /// let expected = Rejection { reason: "NoTeam".to_owned(), message: "the pod has no label team".to_owned() };
    /// assert_eq!(verdict, Verdict::Reject(expected));
    /// ```
    pub fn reject(reason: impl Into<String>, message: impl Into<String>) -> Self {
        Self::Reject(Rejection { reason: reason.into(), message: message.into() })
    }

    /// Not now: the pod waits as `Blocked` with this CamelCase reason and this sentence, and is asked again after
    /// that time (a second at least) or when the node or its pods change.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use witlet_plugin_sdk::{Verdict};
    /// let verdict = Verdict::defer("Maintenance", "until 03:00", Duration::from_secs(60));
    /// assert!(matches!(verdict, Verdict::Defer(deferral) if deferral.retry_after_milliseconds == 60_000));
    /// ```
    pub fn defer(reason: impl Into<String>, message: impl Into<String>, retry_after: Duration) -> Self {
        Self::Defer(Deferral {
            reason: reason.into(),
            message: message.into(),
            retry_after_milliseconds: u64::try_from(retry_after.as_millis()).unwrap_or(u64::MAX),
        })
    }

    /// The node lacks these resources; without any, the pod is admitted.
    ///
    /// ```
    /// # use witlet_plugin_sdk::{Verdict};
    /// assert_eq!(Verdict::shortages(Vec::new()), Verdict::Admit);
    /// ```
    pub fn shortages(shortages: Vec<Shortage>) -> Self {
        if shortages.is_empty() { Self::Admit } else { Self::Shortage(shortages) }
    }
}

/// How much of a resource is in a list; 0 if it isn't there.
///
/// ```
/// # use witlet_plugin_sdk::{Quantity, amount_of};
/// let capacity = [Quantity { resource: "cpu".to_owned(), amount: 4_000 }];
/// assert_eq!(amount_of(&capacity, "cpu"), 4_000);
/// assert_eq!(amount_of(&capacity, "example.com/gpu"), 0);
/// ```
pub fn amount_of(quantities: &[Quantity], resource: &str) -> i64 {
    quantities.iter().find(|quantity| quantity.resource == resource).map_or(0, |quantity| quantity.amount)
}
