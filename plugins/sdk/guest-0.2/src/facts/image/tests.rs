//! Tests of references.

use super::Image;

#[test]
fn references_are_taken_apart_as_the_host_takes_them_apart() {
    let digest = format!("sha256:{}", "a".repeat(64));
    let pinned = format!("localhost:5000/team/app@{digest}");
    let both = format!("quay.io/app:1.2@{digest}");
    /// Registry, repository, tag and digest.
    type Parts<'a> = [Option<&'a str>; 4];
    // As written, in full, and its parts.
    let cases: [(&str, &str, Option<Parts<'_>>); 8] = [
        (
            "nginx",
            "docker.io/library/nginx:latest",
            Some([Some("docker.io"), Some("library/nginx"), Some("latest"), None]),
        ),
        (
            "index.docker.io/team/app",
            "docker.io/team/app:latest",
            Some([Some("docker.io"), Some("team/app"), Some("latest"), None]),
        ),
        (
            "registry.k8s.io/pause:3.10",
            "registry.k8s.io/pause:3.10",
            Some([Some("registry.k8s.io"), Some("pause"), Some("3.10"), None]),
        ),
        ("[::1]:5000/app:1", "[::1]:5000/app:1", Some([Some("[::1]:5000"), Some("app"), Some("1"), None])),
        (&pinned, &pinned, Some([Some("localhost:5000"), Some("team/app"), None, Some(&digest)])),
        (&both, &both, Some([Some("quay.io"), Some("app"), Some("1.2"), Some(&digest)])),
        ("file:/opt/app.wasm", "file:/opt/app.wasm", None),
        ("Not An Image", "Not An Image", None),
    ];
    for (written, name, parts) in cases {
        let image = Image::new(written.to_owned(), "spec.containers[0].image".to_owned());
        assert_eq!((image.name().as_str(), image.reference().as_str()), (name, written));
        let found = [image.registry(), image.repository(), image.tag(), image.digest()];
        assert_eq!(found, parts.unwrap_or_default().map(|part| part.map(str::to_owned)), "{written}");
    }
}

#[test]
fn what_no_runtime_takes_is_in_no_registry() {
    let id = "a".repeat(64);
    let long = format!("{}/app", "a".repeat(300));
    for written in [
        "",
        "a//b",
        "quay.io/Team/app",
        "app:",
        "app:-1",
        "app@sha256:1",
        "app@md5:1",
        ".quay.io/app",
        "[::1/app",
        "quay.io:/app",
        "app_",
        "a...b",
        &id,
        &long,
    ] {
        assert_eq!(Image::new(written.to_owned(), String::new()).registry(), None, "{written:?}");
    }
}
