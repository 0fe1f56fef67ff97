//! The gRPC interfaces that witlet speaks, and the messages of metrics: generated from the definitions next to this
//! crate. `UPSTREAM.md` says which release they follow and how to check.
#![forbid(unsafe_code)]

mod redact;

/// The Container Runtime Interface, version 1 (`runtime.v1`): 35 calls of the runtime service, 6 of the image
/// service.
#[allow(missing_docs, reason = "generated; the CRI's own documentation explains the messages")]
#[allow(unreachable_pub, unused_qualifications, reason = "generated in the generator's style")]
#[allow(clippy::all, clippy::allow_attributes_without_reason, clippy::too_many_lines, reason = "generated")]
#[allow(deprecated, reason = "generated: the derives touch fields that the CRI calls deprecated")]
pub mod cri {
    tonic::include_proto!("runtime.v1");
}

/// Spans to an OpenTelemetry collector (`opentelemetry.proto.collector.trace.v1`): the messages that witlet sends, in one package,
/// which changes nothing on the wire.
#[allow(missing_docs, reason = "generated; OTLP's own documentation explains the messages")]
#[allow(unreachable_pub, unused_qualifications, reason = "generated in the generator's style")]
#[allow(clippy::all, clippy::allow_attributes_without_reason, clippy::too_many_lines, reason = "generated")]
pub mod otlp {
    tonic::include_proto!("opentelemetry.proto.collector.trace.v1");
}

/// Families of metrics (`io.prometheus.client`).
#[allow(missing_docs, reason = "generated; the definition explains the messages")]
#[allow(unreachable_pub, unused_qualifications, reason = "generated in the generator's style")]
#[allow(clippy::all, clippy::allow_attributes_without_reason, reason = "generated")]
pub mod metrics {
    tonic::include_proto!("io.prometheus.client");
}
