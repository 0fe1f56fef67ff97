//! Whether a source can be read, as the node shows it.

use std::convert::Infallible;

use tokio::time::{Instant, sleep_until};
use witlet_core::sources::plugin::SourceFault;
use witlet_core::sources::polling::Polled;
use witlet_ports::SourceOutage;

use super::spec::{SourceSpec, SourcesConfig};

/// Follows how the polls of one source end.
pub(super) struct ReadHealth {
    outage: SourceOutage,
    began: Instant,
    error: String,
}

impl ReadHealth {
    /// Creates the health of a source whose polls began then.
    pub(super) fn new(config: &SourcesConfig, spec: &SourceSpec, began: Instant) -> Self {
        let SourcesConfig { health, clock, events, .. } = config;
        let outage = SourceOutage::new(spec.name.clone(), health.clone(), clock.clone(), events.clone());
        Self { outage, began, error: String::new() }
    }

    /// Takes the end of a poll in. An answer was read, be it one that is refused.
    pub(super) fn polled(&mut self, polled: &Polled) {
        self.error = match polled {
            Polled::Answer(_) => return self.outage.read(),
            Polled::Fault(SourceFault { reason, message, .. }) | Polled::Failure { reason, message, .. } => {
                format!("{reason}: {message}")
            }
            Polled::NotYet => "the plugin is not ready".to_owned(),
        };
        self.outage.unread(self.began.elapsed());
        self.report();
    }

    fn report(&mut self) {
        if let Some(message) = self.outage.report(self.began.elapsed(), &self.error) {
            tracing::warn!("{message}");
        }
    }

    /// Makes the reports that become due, until it is dropped.
    pub(super) async fn report_when_due(&mut self) -> Infallible {
        while let Some(at) = self.outage.next_report() {
            sleep_until(self.began + at).await;
            self.report();
        }
        std::future::pending().await
    }
}
