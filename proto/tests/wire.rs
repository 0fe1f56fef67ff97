//! Holds the wire facts: an edit of a name, a number or a type shows as a difference from `wire.txt`, `otlp.txt` or `metrics.txt`.

use std::collections::BTreeSet;
use std::fmt::Write;

use expect_test::expect_file;
use protox::prost_reflect::{DescriptorPool, EnumDescriptor, MessageDescriptor, ServiceDescriptor};

fn pool(file: &str) -> DescriptorPool {
    let root = env!("CARGO_MANIFEST_DIR");
    let definitions = protox::compile([file], [root]).expect("definitions compile");
    DescriptorPool::from_file_descriptor_set(definitions).expect("definitions are complete")
}

fn message_lines(message: &MessageDescriptor, out: &mut BTreeSet<String>) {
    if message.is_map_entry() {
        return; // shown as `map<…>` where it is used
    }
    let mut text = format!("message {}\n", message.full_name());
    let mut fields: Vec<_> = message.fields().collect();
    fields.sort_by_key(|f| f.number());
    for field in fields {
        let kind = match field.kind() {
            kind if field.is_map() => {
                let entry = kind.as_message().expect("a map's kind is its entry").clone();
                format!(
                    "map<{:?}, {:?}>",
                    entry.map_entry_key_field().kind(),
                    entry.map_entry_value_field().kind()
                )
            }
            kind if field.is_list() => format!("repeated {kind:?}"),
            kind => format!("{kind:?}"),
        };
        let _ = writeln!(text, "  {} {} {kind}", field.number(), field.name());
    }
    out.insert(text);
    for nested in message.child_messages() {
        message_lines(&nested, out);
    }
}

fn enum_lines(definition: &EnumDescriptor) -> String {
    definition.values().fold(format!("enum {}\n", definition.full_name()), |mut text, value| {
        let _ = writeln!(text, "  {} {}", value.number(), value.name());
        text
    })
}

fn service_lines(service: &ServiceDescriptor) -> String {
    service.methods().fold(format!("service {}\n", service.full_name()), |mut text, method| {
        let stream = if method.is_server_streaming() { "stream " } else { "" };
        let _ = writeln!(
            text,
            "  {}({}) -> {stream}{}",
            method.name(),
            method.input().full_name(),
            method.output().full_name()
        );
        text
    })
}

/// All of a package.
fn facts(file: &str, package: &str) -> String {
    let pool = pool(file);
    let mut blocks = BTreeSet::new();
    for message in pool.all_messages() {
        message_lines(&message, &mut blocks);
    }
    blocks.extend(pool.all_enums().map(|e| enum_lines(&e)));
    let mut text: Vec<String> = pool.services().map(|s| service_lines(&s)).collect();
    text.extend(blocks);
    let of_package: Vec<_> = text.into_iter().filter(|t| t.contains(&format!(" {package}."))).collect();
    of_package.join("\n")
}

#[test]
fn the_cri_has_35_runtime_calls_and_6_image_calls() {
    let services = pool("cri/v1/services.proto");
    let counts: Vec<_> = services.services().map(|s| (s.full_name().to_owned(), s.methods().len())).collect();
    assert_eq!(
        counts,
        [("runtime.v1.RuntimeService".to_owned(), 35), ("runtime.v1.ImageService".to_owned(), 6)]
    );
}

#[test]
fn names_numbers_and_types_are_those_written_down() {
    expect_file!["./wire.txt"].assert_eq(&facts("cri/v1/services.proto", "runtime.v1"));
    let package = "opentelemetry.proto.collector.trace.v1";
    expect_file!["./otlp.txt"].assert_eq(&facts("otlp/v1/trace.proto", package));
    expect_file!["./metrics.txt"].assert_eq(&facts("prometheus/metrics.proto", "io.prometheus.client"));
}
