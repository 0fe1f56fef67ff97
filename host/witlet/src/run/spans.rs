//! Tracing: what begins spans, and what sends them to a collector.

use std::sync::Arc;

use witlet_core::trace::Sampler;
use witlet_node::{SystemClock, ThreadJitter};
use witlet_otlp::{Exporter, Resource};
use witlet_ports::{MetricsSource, Tracer};

use crate::settings::TracingSettings;

/// What upstream calls the service.
const SERVICE: &str = "kubelet";

/// Spans of this agent; none unless they are asked for.
#[derive(Default)]
pub(crate) struct Spans {
    pub(crate) tracer: Tracer,
    /// Sends them; the run takes it.
    pub(crate) exporter: Option<Exporter>,
}

impl Spans {
    /// Must be called inside a tokio runtime. Connects to no one yet.
    pub(crate) fn new(
        settings: Option<&TracingSettings>,
        host_name: &str,
        clock: &Arc<SystemClock>,
        chance: &Arc<ThreadJitter>,
    ) -> Self {
        let Some(TracingSettings { endpoint, sampling_rate_per_million }) = settings else {
            return Self::default();
        };
        let endpoint = match endpoint {
            Ok(endpoint) => endpoint,
            // Upstream starts with it, too, and exports nothing.
            Err(error) => {
                tracing::error!(%error, "Tracing is off");
                return Self::default();
            }
        };
        let resource = Resource {
            service_name: SERVICE.to_owned(),
            host_name: host_name.to_owned(),
            scope: ("witlet".to_owned(), env!("CARGO_PKG_VERSION").to_owned()),
        };
        let (exporter, queue) = Exporter::new(endpoint, resource, chance.clone());
        let sampler = Sampler::per_million(*sampling_rate_per_million);
        let tracer = Tracer::new(sampler, queue, chance.clone(), clock.clone());
        tracing::info!(collector = %endpoint, sampling_rate_per_million, "Tracing is on");
        Self { tracer, exporter: Some(exporter) }
    }

    /// Returns what became of spans, if there are any.
    pub(crate) fn metrics(&self) -> Option<Arc<dyn MetricsSource>> {
        self.exporter.as_ref().map(|exporter| exporter.counts() as Arc<dyn MetricsSource>)
    }
}
