//! Messages of spans.

use witlet_core::trace::{SpanId, TraceId};
use witlet_proto::otlp::any_value::Value;

use super::*;

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).expect("a time")
}

fn context(span: u64, sampled: bool, state: Option<&str>) -> SpanContext {
    let trace_id = TraceId::of_random([0xa1, 0xb2]);
    SpanContext { trace_id, span_id: SpanId::of_random(span), sampled, state: state.map(Into::into) }
}

fn shown(attributes: &[otlp::KeyValue]) -> Vec<String> {
    let value = |pair: &otlp::KeyValue| match pair.value.clone().and_then(|value| value.value) {
        Some(Value::StringValue(text)) => text,
        other => format!("{other:?}"),
    };
    attributes.iter().map(|pair| format!("{}={}", pair.key, value(pair))).collect()
}

#[test]
fn a_batch_says_who_sends_it_and_has_all_of_its_spans() {
    let resource = Resource {
        service_name: "kubelet".to_owned(),
        host_name: "node1".to_owned(),
        scope: ("witlet".to_owned(), "0.1.0".to_owned()),
    };
    let failed = SpanData {
        context: context(7, true, Some("vendor=1")),
        parent: Some(SpanId::of_random(6)),
        parent_is_remote: true,
        name: "syncPod".into(),
        kind: SpanKind::Server,
        started_at: at(10),
        ended_at: at(12),
        attributes: vec![Attribute::text("k8s.pod", "default/web"), Attribute::int("code", 500)],
        events: vec![SpanEvent::exception("no capacity", at(11))],
        links: vec![Link { context: context(9, false, None) }],
        status: SpanStatus::error("no capacity"),
    };
    let root = SpanData {
        context: context(8, true, None),
        parent: None,
        parent_is_remote: false,
        kind: SpanKind::Client,
        attributes: Vec::new(),
        events: Vec::new(),
        links: Vec::new(),
        status: SpanStatus::Unset,
        ..failed.clone()
    };
    let request = request(&resource, vec![failed, root]);
    let [of_resource] = &request.resource_spans[..] else { panic!("one resource") };
    let who = of_resource.resource.as_ref().expect("there");
    assert_eq!(shown(&who.attributes), ["service.name=kubelet", "host.name=node1"]);
    let [of_scope] = &of_resource.scope_spans[..] else { panic!("one scope") };
    let scope = of_scope.scope.as_ref().expect("there");
    assert_eq!((&*scope.name, &*scope.version), ("witlet", "0.1.0"));
    let [failed, root] = &of_scope.spans[..] else { panic!("two spans") };
    let mut trace = [0; 16];
    (trace[7], trace[15]) = (0xa1, 0xb2);
    assert_eq!(failed.trace_id, trace);
    assert_eq!(failed.span_id, [0, 0, 0, 0, 0, 0, 0, 7]);
    assert_eq!(failed.parent_span_id, [0, 0, 0, 0, 0, 0, 0, 6]);
    assert_eq!((&*failed.trace_state, failed.flags), ("vendor=1", 0x301));
    assert_eq!((failed.start_time_unix_nano, failed.end_time_unix_nano), (10_000_000_000, 12_000_000_000));
    assert_eq!(failed.kind(), otlp::span::SpanKind::Server);
    assert_eq!(shown(&failed.attributes), ["k8s.pod=default/web", "code=Some(IntValue(500))"]);
    assert_eq!(failed.events[0].name, "exception");
    assert_eq!(shown(&failed.events[0].attributes), ["exception.message=no capacity"]);
    assert_eq!((failed.links[0].span_id[7], failed.links[0].flags), (9, 0x300));
    let status = failed.status.as_ref().expect("there");
    assert_eq!((&*status.message, status.code()), ("no capacity", otlp::status::StatusCode::Error));
    assert_eq!((root.parent_span_id.len(), root.flags), (0, 0x101));
    assert_eq!(root.status.as_ref().expect("there").code(), otlp::status::StatusCode::Unset);
}
