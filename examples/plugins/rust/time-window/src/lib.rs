//! Admission handler: some pods start only at certain times of the week.
//!
//! Shipped, but off. Its configuration:
//!
//! ```yaml
//! config:
//!   pods: {namespaces: [batch], labels: {tier: batch}}        # which pods wait for a window; default: all
//!   utcOffset: "+02:00"                                       # of the times below; default: "Z"
//!   windows:
//!     - {days: [Mon, Tue, Wed, Thu, Fri], from: "22:00", to: "06:00"}   # until the next morning
//!     - {days: [Sat, Sun], from: "00:00", to: "24:00"}
//! ```
//!
//! Outside its windows a pod waits (`OutsideTimeWindow`) until the next one opens. A pod that runs goes on when a window
//! closes. There are no time zones with daylight saving here: a component has no data about them.

#![cfg_attr(not(target_family = "wasm"), forbid(unsafe_code))]

mod calendar;
mod windows;

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Deserialize;
use witlet_plugin_sdk::{AdmissionHandler, Error, Operation, Pod, Request, Verdict, export_admission};

use windows::{Window, Windows};

/// Reason of a pod that waits.
pub const REASON: &str = "OutsideTimeWindow";

/// How many windows there may be.
const WINDOWS_MAX: usize = 64;

/// The handler.
pub struct TimeWindow;

/// When which pods may start.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Config {
    /// Which pods wait for a window.
    #[serde(default)]
    pub pods: Selector,
    /// Where the times hold: `Z`, or hours and minutes east (`+02:00`) or west (`-03:30`) of it.
    #[serde(default = "utc")]
    pub utc_offset: String,
    /// Times at which they may start; not empty.
    pub windows: Vec<WindowConfig>,
}

/// Pods by namespace and labels; what isn't said selects all.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Selector {
    /// One of these namespaces.
    #[serde(default)]
    pub namespaces: Vec<String>,
    /// All of these labels.
    #[serde(default)]
    pub labels: BTreeMap<String, String>,
}

/// One window, every week.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WindowConfig {
    /// Days on which it opens (`Mon` to `Sun`); all if left out.
    #[serde(default)]
    pub days: Option<Vec<String>>,
    /// When it opens: `HH:MM`.
    pub from: String,
    /// When it closes: `HH:MM` up to `24:00`; on the next day unless it is later than `from`.
    pub to: String,
}

fn utc() -> String {
    "Z".to_owned()
}

impl Config {
    fn windows(&self) -> Result<Windows, Error> {
        let offset = calendar::offset_seconds(&self.utc_offset)
            .ok_or_else(|| Error::invalid("utcOffset", "must be Z, or like +02:00, and at most 14 hours"))?;
        if self.windows.is_empty() || self.windows.len() > WINDOWS_MAX {
            return Err(Error::invalid("windows", format!("must be 1 to {WINDOWS_MAX}")));
        }
        let numbered = self.windows.iter().enumerate();
        let read = numbered.map(|(index, window)| {
            Window::parse(window)
                .map_err(|(key, problem)| Error::invalid(format!("windows[{index}].{key}"), problem))
        });
        Ok(Windows::new(offset, read.collect::<Result<_, _>>()?))
    }
}

impl Selector {
    fn selects(&self, pod: &Pod) -> bool {
        let namespace = pod.identity().namespace;
        if !self.namespaces.is_empty() && !self.namespaces.contains(&namespace) {
            return false;
        }
        let labels = if self.labels.is_empty() { Vec::new() } else { pod.labels() };
        self.labels.iter().all(|(key, value)| labels.iter().any(|(k, v)| k == key && v == value))
    }
}

impl AdmissionHandler for TimeWindow {
    type Config = Config;

    fn validate(config: &Config) -> Result<(), Error> {
        config.windows().map(|_| ())
    }

    fn admit(request: &Request<'_>, config: &Config) -> Result<Verdict, Error> {
        if request.operation() == Operation::Resize || !config.pods.selects(&request.pod()) {
            return Ok(Verdict::Admit);
        }
        let windows = config.windows()?;
        let now = request.now();
        let Some(opens) = windows.opens(now.seconds) else { return Ok(Verdict::Admit) };
        let message = format!("the next time window opens at {}", calendar::rfc3339(opens, windows.offset()));
        // From the last nanosecond of this second on a whole one is too much by less than one: never too early.
        let seconds = u64::try_from(opens.saturating_sub(now.seconds)).unwrap_or_default();
        Ok(Verdict::defer(REASON, message, Duration::from_secs(seconds.max(1))))
    }
}

export_admission!(TimeWindow);

#[cfg(test)]
mod tests;
