//! Tests of the reading of references.

use super::{DEFAULT_REGISTRY, Pin, Reference, parse};

#[test]
fn references_are_read_as_container_runtimes_read_them() {
    let cases = [
        ("nginx", DEFAULT_REGISTRY, Pin::Nothing),
        ("nginx:1.27", DEFAULT_REGISTRY, Pin::Tag("1.27")),
        ("nginx:latest", DEFAULT_REGISTRY, Pin::Tag("latest")),
        ("library/nginx", DEFAULT_REGISTRY, Pin::Nothing),
        ("registry.example.com/app", "registry.example.com", Pin::Nothing),
        ("registry.example.com:5000/app", "registry.example.com:5000", Pin::Nothing),
        ("registry.example.com:5000/team/app:2", "registry.example.com:5000", Pin::Tag("2")),
        ("registry:5000/app:2", "registry:5000", Pin::Tag("2")),
        ("localhost/app:2", "localhost", Pin::Tag("2")),
        ("nginx@sha256:abc", DEFAULT_REGISTRY, Pin::Digest),
        ("nginx:latest@sha256:abc", DEFAULT_REGISTRY, Pin::Digest),
        ("registry.example.com/app@sha256:abc", "registry.example.com", Pin::Digest),
    ];
    for (image, registry, pin) in cases {
        assert_eq!(parse(image), Reference::Registry { registry, pin }, "{image}");
    }
    assert_eq!(parse("file:workloads/http-server.wasm"), Reference::File);
}
