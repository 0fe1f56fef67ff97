//! How the node stands to its set of plugins, for those who show the node, and for monitoring.

use std::sync::{Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;
use serde_json::{Value, json};
use witlet_core::node::compiled_code::CodeReport;
use witlet_core::node::plugin_set::{PluginSets, Refusal, SetReport, SetState};
use witlet_core::stats::exposition::{Exposition, Kind};
use witlet_ports::{Counters, MetricsSource};

#[cfg(test)]
mod tests;

/// The outcome of a try after which the set serves.
const TAKEN: &str = "taken";

/// What is shown.
#[derive(Clone, Debug)]
struct Shown {
    report: SetReport,
    digest: Option<String>,
    state: SetState,
    last_attempt: Option<Timestamp>,
    code: Option<CodeReport>,
}

/// What is written back, and what is counted.
#[derive(Debug)]
pub(crate) struct ShownSet {
    shown: Mutex<Shown>,
    attempts: Counters<1>,
}

impl Default for ShownSet {
    fn default() -> Self {
        let (report, state) = (SetReport::default(), SetState::Local);
        let shown = Shown { report, digest: None, state, last_attempt: None, code: None };
        let attempts = Counters::new(
            "witlet_plugin_set_attempts_total",
            "Tries to take the set of plugins that was chosen, by what came of them",
            ["outcome"],
        );
        let refusals = [Refusal::NotHad, Refusal::NotSigned, Refusal::NotLoaded];
        let [a, b, c] = refusals.map(|refusal| [SetState::from(refusal).label()]);
        Self { shown: Mutex::new(shown), attempts: attempts.from_zero([[TAKEN], a, b, c]) }
    }
}

impl ShownSet {
    /// Returns what there is to write into the node's annotations now.
    pub(crate) fn report(&self) -> SetReport {
        self.lock().report.clone()
    }

    /// Returns all of it, as the local API has it.
    pub(crate) fn to_json(&self) -> Value {
        let Shown { report: SetReport { running, message }, digest, state, last_attempt, code } =
            self.lock().clone();
        let code = running.as_ref().and(code);
        json!({
            "running": running,
            "digest": digest,
            "state": state.as_str(),
            "message": message,
            "lastAttempt": last_attempt.map(|at| at.to_string()),
            "compiledCode": code,
        })
    }

    /// Replaces what is shown.
    pub(crate) fn set(&self, sets: &PluginSets) {
        let mut shown = self.lock();
        shown.report = sets.report();
        shown.digest = sets.running().map(|running| running.digest().to_owned());
        shown.state = sets.state();
    }

    /// A try to take a set has ended at this time.
    pub(super) fn attempted(&self, refusal: Option<Refusal>, at: Timestamp) {
        self.attempts.add([refusal.map_or(TAKEN, |refusal| SetState::from(refusal).label())]);
        self.lock().last_attempt = Some(at);
    }

    /// What became of the compiled code of the set that serves now.
    pub(super) fn code(&self, report: Option<CodeReport>) {
        self.lock().code = report;
    }

    fn lock(&self) -> MutexGuard<'_, Shown> {
        self.shown.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl MetricsSource for ShownSet {
    fn write(&self, to: &mut Exposition) {
        let Shown { report, digest, state, last_attempt, code: _ } = self.lock().clone();
        if let (Some(set), Some(digest)) = (report.running.as_deref(), digest.as_deref()) {
            let help = "1; the set of plugins that serves";
            let mut family = to.family("witlet_plugin_set_info", help, Kind::Gauge);
            family.sample(&[("set", set), ("digest", digest)], 1.0);
        }
        let help = "1 for how the node stands to the set of plugins that was chosen";
        let mut family = to.family("witlet_plugin_set_state", help, Kind::Gauge);
        for each in SetState::ALL {
            family.sample(&[("state", each.label())], f64::from(u8::from(each == state)));
        }
        if let Some(at) = last_attempt {
            let help = "When a try to take a set of plugins ended last, since 1970";
            let mut family = to.family("witlet_plugin_set_last_attempt_timestamp_seconds", help, Kind::Gauge);
            family.sample(&[], at.as_millisecond() as f64 / 1000.0);
        }
        self.attempts.write(to);
    }
}
