//! Tests of what is objected to.

use witlet_plugin_sdk::{Container, ContainerKind};

use super::{Config, objection, validate};

fn config(registries: &[&str]) -> Config {
    Config { allowed_registries: registries.iter().map(|name| (*name).to_owned()).collect() }
}

#[test]
fn unpinned_images_and_foreign_registries_are_objected_to() {
    let cases: [(&str, &[&str], Option<&str>); 13] = [
        ("", &[], None),
        ("nginx:1.27", &[], None),
        ("nginx:LATEST", &[], None),
        ("nginx:latest", &[], Some("LatestTag")),
        ("nginx", &[], Some("LatestTag")),
        ("nginx:latest@sha256:abc", &[], None),
        ("file:hello.wasm", &[], None),
        ("file:hello.wasm", &["registry.example.com"], None),
        ("nginx:1.27", &["docker.io"], None),
        ("nginx:1.27", &["registry.example.com"], Some("RegistryNotAllowed")),
        ("nginx:latest", &["registry.example.com"], Some("RegistryNotAllowed")),
        ("registry.example.com/a:1", &["other.example.com", "registry.example.com"], None),
        ("registry.example.com:5000/a:1", &["registry.example.com"], Some("RegistryNotAllowed")),
    ];
    for (image, registries, reason) in cases {
        let container =
            Container { name: "web".to_owned(), kind: ContainerKind::App, image: image.to_owned() };
        let found = objection(&container, &config(registries));
        assert_eq!(found.map(|rejection| rejection.reason).as_deref(), reason, "{image} with {registries:?}");
    }
}

#[test]
fn a_foreign_registry_is_named_next_to_the_allowed_ones() {
    let container =
        Container { name: "web".to_owned(), kind: ContainerKind::App, image: "quay.io/app:1".to_owned() };
    let rejection =
        objection(&container, &config(&["a.example.com", "b.example.com"])).expect("an objection");
    assert_eq!(
        rejection.message,
        "container web: the image quay.io/app:1 comes from quay.io, not from a.example.com or b.example.com"
    );
}

#[test]
fn names_that_are_no_registry_are_refused() {
    assert!(validate(&config(&["registry.example.com", "localhost:5000"])).is_ok());
    for name in ["", "registry.example.com/team", "two names"] {
        assert!(validate(&config(&["docker.io", name])).is_err(), "{name:?}");
    }
}
