//! Whether the runtime is well enough to work with.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use witlet_core::container::backoff::{ExponentialBackoff, LOOP};
use witlet_core::runtime::{RuntimeHandler, RuntimeStatus};
use witlet_ports::RuntimeInfo;

use crate::pleg::Relisted;
use witlet_core::error::one_line;

#[cfg(test)]
mod tests;

/// How the runtime is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Health {
    /// Why nothing can be done with the runtime; empty if it is well.
    pub(crate) errors: Vec<String>,
    /// Why pods can't have a network of their own, if they can't.
    pub(crate) network: Option<String>,
    /// The runtime's own name; empty until it was asked.
    pub(crate) runtime_name: Arc<str>,
    /// What it can do, by the handlers of runtime classes.
    pub(crate) handlers: Arc<[RuntimeHandler]>,
}

impl Health {
    /// Before the runtime was asked for the first time.
    pub(crate) fn unknown() -> Self {
        let errors = vec!["container runtime status check may not have completed yet".to_owned()];
        Self { errors, network: None, runtime_name: "".into(), handlers: [].into() }
    }

    pub(crate) fn is_ready(&self) -> bool {
        self.errors.is_empty()
    }

    /// Returns all that keeps the node from being ready.
    pub(crate) fn problems(&self) -> Vec<String> {
        let network =
            self.network.iter().map(|problem| format!("container runtime network not ready: {problem}"));
        self.errors.iter().cloned().chain(network).collect()
    }
}

/// Returns what the runtime's answer and the age of the last list mean.
fn assess(
    runtime_name: &Arc<str>,
    status: Result<RuntimeStatus, String>,
    relist_age: Option<Duration>,
    relist_age_max: Duration,
) -> Health {
    let mut errors = Vec::new();
    let (mut network, mut handlers) = (None, Vec::new());
    match status {
        Err(error) => errors.push(format!("container runtime is down: {error}")),
        Ok(status) => {
            errors
                .extend(status.failing("RuntimeReady").map(|p| format!("container runtime not ready: {p}")));
            network = status.failing("NetworkReady");
            handlers = status.handlers;
        }
    }
    match relist_age {
        None => errors.push("PLEG is not healthy: pleg has yet to be successful".to_owned()),
        Some(age) if age > relist_age_max => errors.push(format!(
            "PLEG is not healthy: pleg was last seen active {}s ago; threshold is {}s",
            age.as_secs(),
            relist_age_max.as_secs()
        )),
        Some(_) => {}
    }
    Health { errors, network, runtime_name: runtime_name.clone(), handlers: handlers.into() }
}

/// Asks the runtime how it is.
pub(crate) struct HealthCheck {
    pub(crate) runtime: Arc<dyn RuntimeInfo>,
    pub(crate) relisted: watch::Receiver<Relisted>,
    pub(crate) health: watch::Sender<Health>,
    pub(crate) period: Duration,
    pub(crate) relist_age_max: Duration,
}

impl HealthCheck {
    /// Runs until `stop`: each period while all is well, else after 100 ms doubling to 5 s.
    pub(crate) async fn run(mut self, stop: CancellationToken) {
        let mut backoff = ExponentialBackoff::new(LOOP);
        loop {
            tokio::select! {
                biased;
                () = stop.cancelled() => return,
                health = self.check() => { self.health.send_if_modified(|old| replace(old, health)); }
            }
            let ready = self.health.borrow().is_ready();
            let pause = if ready {
                backoff.succeed();
                self.period
            } else {
                backoff.fail()
            };
            tokio::select! {
                biased;
                () = stop.cancelled() => return,
                // The first list after a failure is what was waited for.
                _ = self.relisted.changed(), if !ready => {}
                () = tokio::time::sleep(pause) => {}
            }
        }
    }

    async fn check(&mut self) -> Health {
        let mut name = self.health.borrow().runtime_name.clone();
        if name.is_empty()
            && let Ok(version) = self.runtime.version().await
        {
            name = version.runtime_name.into();
        }
        let status = self.runtime.status().await.map_err(|error| one_line(&error));
        let age = self.relisted.borrow_and_update().at.map(|at| Instant::now() - at);
        assess(&name, status, age, self.relist_age_max)
    }
}

fn replace(old: &mut Health, new: Health) -> bool {
    let differs = *old != new;
    *old = new;
    differs
}
