//! Tests of how references are read.

use super::Reference;

#[test]
fn a_place_is_registry_and_repository_without_tag_and_digest() {
    for (image, place) in [
        ("nginx", "docker.io/library/nginx"),
        ("nginx:1.27", "docker.io/library/nginx"),
        ("nginx@sha256:0", "docker.io/library/nginx"),
        ("nginx:1.27@sha256:0", "docker.io/library/nginx"),
        ("team/app:1", "docker.io/team/app"),
        ("docker.io/nginx", "docker.io/nginx"),
        ("registry.example.com/a/b/c:1", "registry.example.com/a/b/c"),
        ("localhost/app", "localhost/app"),
        ("localhost:5000/app:2", "localhost:5000/app"),
        ("registry:5000/app", "registry:5000/app"),
        ("Registry/app", "Registry/app"),
        ("[fd00::7]:5000/app:1", "[fd00::7]:5000/app"),
    ] {
        assert_eq!(Reference::parse(image).place(), place, "{image}");
    }
}

#[test]
fn a_digest_of_sha256_pins() {
    for (image, pinned) in [
        ("nginx", false),
        ("nginx:sha256", false),
        ("nginx@sha256:0", true),
        ("a/b:1@sha256:0", true),
        ("a@md5:0", false),
    ] {
        assert_eq!(Reference::parse(image).is_pinned(), pinned, "{image}");
    }
}
