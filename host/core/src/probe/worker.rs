//! The state machine of one probe of one container: upstream's `prober/worker.go`.
//!
//! A worker decides at each tick of its period what is to be done, and takes the results of probes. It knows neither the
//! time nor the network.

use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::Probe;

use super::facts::{ProbedContainer, ProbedPod, ProbedState};
use super::{ProbeKind, ProbeResult};
use crate::runtime::ContainerId;

#[cfg(test)]
mod tests;

/// A container that began to run longer than this before the agent did is one that an earlier agent knew: what that
/// found out stands until a probe says otherwise (upstream: `kubeletRestartGracePeriod`).
pub const RESTART_GRACE: Duration = Duration::from_secs(10);

/// The times and counts of a probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProbeSettings {
    /// From one probe to the next; at least a second, or as short as an annotation may say.
    pub period: Duration,
    /// How long one probe may take; at least a second, or as short as an annotation may say.
    pub timeout: Duration,
    /// No probe before the container has run this long.
    pub initial_delay: Duration,
    /// So many successes in a row make a success; at least 1.
    pub success_threshold: u32,
    /// So many failures in a row make a failure; at least 1.
    pub failure_threshold: u32,
}

impl ProbeSettings {
    /// Reads the settings of a probe, with the API's defaults.
    pub fn of(probe: &Probe) -> Self {
        let at_least_one = |value: Option<i32>, default: u32| {
            value.map_or(default, |value| u32::try_from(value).unwrap_or_default().max(1))
        };
        let seconds = |value: u32| Duration::from_secs(u64::from(value));
        Self {
            period: seconds(at_least_one(probe.period_seconds, 10)),
            timeout: seconds(at_least_one(probe.timeout_seconds, 1)),
            initial_delay: seconds(
                probe.initial_delay_seconds.and_then(|value| u32::try_from(value).ok()).unwrap_or_default(),
            ),
            success_threshold: at_least_one(probe.success_threshold, 1),
            failure_threshold: at_least_one(probe.failure_threshold, 3),
        }
    }
}

/// How long a new worker waits before its first tick. After a start of the agent all workers are new; so that they don't
/// probe all at once, each then waits for a random part (`unit` is in `[0, 1)`) of its period.
pub fn start_delay(period: Duration, agent_uptime: Duration, unit: f64) -> Duration {
    if period > agent_uptime { period.mul_f64(unit.clamp(0.0, 1.0)) } else { Duration::ZERO }
}

/// What is to be done at a tick.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tick {
    /// Results of this instance are no longer of any use: there is another one.
    pub forget: Option<ContainerId>,
    /// This is the result now, of the instance that the worker probes.
    pub set: Option<ProbeResult>,
    pub next: Next,
}

/// What a worker does after a tick.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Nothing until the next tick.
    Wait,
    /// It probes now; what is found goes to [`ProbeWorker::found`].
    Probe,
    /// It is done for good. Its last result stays.
    Stop,
}

/// One probe of one container.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProbeWorker {
    kind: ProbeKind,
    is_sidecar: bool,
    container: Option<ContainerId>,
    on_hold: bool,
    last: ProbeResult,
    run: u32,
}

impl ProbeWorker {
    /// A worker that has seen no container yet.
    pub fn new(kind: ProbeKind, is_sidecar: bool) -> Self {
        Self { kind, is_sidecar, container: None, on_hold: false, last: ProbeResult::Unknown, run: 0 }
    }

    /// The instance that it probes.
    pub fn container(&self) -> Option<&ContainerId> {
        self.container.as_ref()
    }

    /// From now on something else is checked. What was counted of the old check doesn't count for the new one, but the result
    /// stands until the new one has reached a threshold, so that no pod flaps for an edit. An instance that needs no probe
    /// any more needs none of the new kind either.
    pub fn begin_again(&mut self) {
        self.last = ProbeResult::Unknown;
        self.run = 0;
    }

    /// Returns what is to be done now. No pod means that no one knows the pod's status yet.
    pub fn tick(
        &mut self,
        settings: &ProbeSettings,
        pod: Option<&ProbedPod>,
        agent_start: Timestamp,
        now: Timestamp,
    ) -> Tick {
        let mut tick = Tick { forget: None, set: None, next: Next::Wait };
        let Some(pod) = pod else { return tick };
        if pod.is_terminal {
            tick.next = Next::Stop;
            return tick;
        }
        let Some(container) = &pod.container else { return tick };
        if self.container.as_ref() != Some(&container.id) {
            tick.forget = self.container.replace(container.id.clone());
            tick.set = self.first_result(container, agent_start);
            self.on_hold = false;
        }
        if self.on_hold {
            return tick;
        }
        let since = match container.state {
            ProbedState::Waiting => {
                tick.set = Some(ProbeResult::Failure);
                return tick;
            }
            ProbedState::Ended { restarts } => {
                tick.set = Some(ProbeResult::Failure);
                tick.next = if restarts { Next::Wait } else { Next::Stop };
                return tick;
            }
            ProbedState::Running { since } => since,
        };
        // Readiness goes on: a pod that ends takes no new traffic once it can't serve any more.
        if pod.is_deleted && self.kind != ProbeKind::Readiness {
            tick.set = Some(ProbeResult::Success);
            tick.next = Next::Stop;
            return tick;
        }
        let gate_open = match self.kind {
            ProbeKind::Startup => !container.is_started,
            ProbeKind::Readiness | ProbeKind::Liveness => container.is_started,
        };
        if gate_open && !is_too_early(since, settings.initial_delay, now) {
            tick.next = Next::Probe;
        }
        tick
    }

    /// Takes in what a probe found, and gives the new result, if its threshold is reached. A probe that could not be
    /// carried out isn't reported.
    pub fn found(&mut self, settings: &ProbeSettings, passed: bool) -> Option<ProbeResult> {
        let (result, threshold) = if passed {
            (ProbeResult::Success, settings.success_threshold)
        } else {
            (ProbeResult::Failure, settings.failure_threshold)
        };
        if self.last == result {
            self.run = self.run.saturating_add(1);
        } else {
            self.last = result;
            self.run = 1;
        }
        if self.run < threshold {
            return None;
        }
        // The container is about to be killed, or has started: no more probes of this instance (k/k#21751, #117153).
        let done = match self.kind {
            ProbeKind::Startup => true,
            ProbeKind::Liveness => result == ProbeResult::Failure,
            ProbeKind::Readiness => false,
        };
        if done {
            self.on_hold = true;
            self.run = 0;
        }
        Some(result)
    }

    /// Returns what counts before the first probe of a new instance; none for one that an earlier agent knew.
    fn first_result(&self, container: &ProbedContainer, agent_start: Timestamp) -> Option<ProbeResult> {
        let known_before = match container.state {
            ProbedState::Running { since: Some(since) } => since + RESTART_GRACE < agent_start,
            ProbedState::Running { since: None } | ProbedState::Waiting | ProbedState::Ended { .. } => false,
        };
        if !known_before {
            return Some(self.kind.initial());
        }
        // A sidecar that has started gates the containers after it.
        let started_sidecar = self.is_sidecar && self.kind == ProbeKind::Startup && container.is_started;
        started_sidecar.then_some(ProbeResult::Success)
    }
}

/// Whether the initial delay isn't over. A beginning that lies ahead, because the clock was set back, isn't
/// waited for.
fn is_too_early(since: Option<Timestamp>, delay: Duration, now: Timestamp) -> bool {
    let ran = since.and_then(|since| Duration::try_from(now.duration_since(since)).ok());
    ran.is_some_and(|ran| ran < delay)
}
