//! Traces as OpenTelemetry has them: which are sampled, how their context travels, and what the agent's spans say.
//!
//! Names and attributes are the 1.36 kubelet's (`otelrestful`, `otelgrpc`, `otelhttp` of its dependencies, and its own spans).

pub mod endpoint;
pub mod export;
pub mod http;
mod ids;
pub mod plugin;
pub mod pod;
pub mod propagation;
pub mod rpc;
mod sampler;
mod span;

pub use ids::{SpanId, TraceId};
pub use sampler::Sampler;
pub use span::{
    Attribute, AttributeValue, EVENTS_BYTES_MAX, EVENTS_MAX, Link, SpanContext, SpanData, SpanEvent,
    SpanKind, SpanStart, SpanStatus, VALUE_BYTES_MAX, garbage_collection,
};
