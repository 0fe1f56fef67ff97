//! Sends spans to an OpenTelemetry collector: OTLP over gRPC, without TLS, as a kubelet does.
//!
//! Ended spans wait in a bounded queue and go out in batches, on a task of their own. No one waits for the collector: while it is slow or
//! not there, spans are dropped and counted. OTLP's types stay in here.
#![forbid(unsafe_code)]

mod collector;
mod connection;
mod convert;
mod exporter;
mod metrics;
mod queue;

pub use convert::Resource;
pub use exporter::Exporter;
pub use metrics::SpanCounts;
pub use queue::SpanQueue;
