//! Spans as OTLP has them.

use witlet_core::Timestamp;
use witlet_core::trace::{
    Attribute, AttributeValue, Link, SpanContext, SpanData, SpanEvent, SpanKind, SpanStatus,
};
use witlet_proto::otlp;
use witlet_proto::otlp::any_value::Value;

#[cfg(test)]
mod tests;

/// Who sends spans.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resource {
    pub service_name: String,
    pub host_name: String,
    /// The name of the instrumentation, and its version.
    pub scope: (String, String),
}

/// What is behind the flags of a `traceparent` in the flags of a span: that it is known whether the parent is another
/// process's, and whether it is.
const HAS_IS_REMOTE: u32 = 0x100;
const IS_REMOTE: u32 = 0x200;

/// One batch.
pub(crate) fn request(resource: &Resource, batch: Vec<SpanData>) -> otlp::ExportTraceServiceRequest {
    let attributes = [("service.name", &resource.service_name), ("host.name", &resource.host_name)];
    let resource_of_spans = otlp::Resource {
        attributes: attributes.map(|(name, value)| pair(name, Value::StringValue(value.clone()))).into(),
        ..Default::default()
    };
    let scope = otlp::InstrumentationScope {
        name: resource.scope.0.clone(),
        version: resource.scope.1.clone(),
        ..Default::default()
    };
    let spans = otlp::ScopeSpans {
        scope: Some(scope),
        spans: batch.into_iter().map(span).collect(),
        ..Default::default()
    };
    let spans = otlp::ResourceSpans {
        resource: Some(resource_of_spans),
        scope_spans: vec![spans],
        ..Default::default()
    };
    otlp::ExportTraceServiceRequest { resource_spans: vec![spans] }
}

fn span(data: SpanData) -> otlp::Span {
    let kind = match data.kind {
        SpanKind::Internal => otlp::span::SpanKind::Internal,
        SpanKind::Server => otlp::span::SpanKind::Server,
        SpanKind::Client => otlp::span::SpanKind::Client,
    };
    let status = match data.status {
        SpanStatus::Unset => otlp::Status::default(),
        SpanStatus::Error(message) => otlp::Status { message, code: otlp::status::StatusCode::Error.into() },
    };
    otlp::Span {
        trace_id: data.context.trace_id.bytes().into(),
        span_id: data.context.span_id.bytes().into(),
        trace_state: state(&data.context),
        parent_span_id: data.parent.map(|parent| parent.bytes().into()).unwrap_or_default(),
        flags: flags(data.context.sampled, data.parent_is_remote),
        name: data.name.into_owned(),
        kind: kind.into(),
        start_time_unix_nano: nanoseconds(data.started_at),
        end_time_unix_nano: nanoseconds(data.ended_at),
        attributes: attributes(data.attributes),
        events: data.events.into_iter().map(event).collect(),
        links: data.links.into_iter().map(link).collect(),
        status: Some(status),
        ..Default::default()
    }
}

fn event(event: SpanEvent) -> otlp::span::Event {
    otlp::span::Event {
        time_unix_nano: nanoseconds(event.at),
        name: event.name.to_owned(),
        attributes: attributes(event.attributes),
        ..Default::default()
    }
}

fn link(Link { context }: Link) -> otlp::span::Link {
    otlp::span::Link {
        trace_id: context.trace_id.bytes().into(),
        span_id: context.span_id.bytes().into(),
        trace_state: state(&context),
        flags: flags(context.sampled, true),
        ..Default::default()
    }
}

fn state(context: &SpanContext) -> String {
    context.state.as_deref().unwrap_or_default().to_owned()
}

fn flags(sampled: bool, is_remote: bool) -> u32 {
    u32::from(sampled) | HAS_IS_REMOTE | if is_remote { IS_REMOTE } else { 0 }
}

fn attributes(of: Vec<Attribute>) -> Vec<otlp::KeyValue> {
    let one = |attribute: Attribute| {
        let value = match attribute.value {
            AttributeValue::Text(text) => Value::StringValue(text),
            AttributeValue::Int(number) => Value::IntValue(number),
        };
        pair(attribute.name, value)
    };
    of.into_iter().map(one).collect()
}

fn pair(key: &str, value: Value) -> otlp::KeyValue {
    otlp::KeyValue { key: key.to_owned(), value: Some(otlp::AnyValue { value: Some(value) }) }
}

/// Since 1970; nothing is before that.
fn nanoseconds(at: Timestamp) -> u64 {
    u64::try_from(at.as_nanosecond()).unwrap_or_default()
}
