//! `witlet run`: spans to a collector.

use clap::Args;
use witlet_core::trace::endpoint::CollectorEndpoint;

/// `witlet run`: traces of what the agent does.
#[derive(Debug, Args)]
#[command(next_help_heading = "Tracing")]
pub(crate) struct TracingArgs {
    /// OpenTelemetry collector (OTLP over gRPC, without TLS): HOST:PORT, unix:///PATH or unix-abstract:///NAME; turns tracing on
    #[arg(long, value_name = "ENDPOINT")]
    pub(crate) tracing_endpoint: Option<CollectorEndpoint>,
    /// Traces to sample of a million that begin on the node; turns tracing on, to localhost:4317 unless --tracing-endpoint says
    /// otherwise (default: 0, only traces of requests that are sampled already)
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u32).range(0..=1_000_000))]
    pub(crate) tracing_sampling_rate_per_million: Option<u32>,
}
