//! Cases of references.

use super::*;

const DIGEST: &str = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

fn long(text: &str) -> String {
    match Reference::parse(text) {
        None => "malformed".to_owned(),
        Some(reference) => {
            let pinned = if reference.digest.is_some() { " pinned" } else { "" };
            format!("{} {}{pinned}", reference.registry, reference.repository)
        }
    }
}

#[test]
fn short_references_are_made_long() {
    let pinned = format!("nginx:1@{DIGEST}");
    for (text, expected) in [
        ("nginx", "docker.io library/nginx"),
        ("nginx:1.27", "docker.io library/nginx"),
        (pinned.as_str(), "docker.io library/nginx pinned"),
        ("team/app", "docker.io team/app"),
        ("docker.io/nginx", "docker.io library/nginx"),
        ("index.docker.io/nginx", "docker.io library/nginx"),
        ("docker.io/team/app:v1", "docker.io team/app"),
        ("registry.example.com/app", "registry.example.com app"),
        ("Registry.Example.com/app", "registry.example.com app"),
        ("REGISTRY/app", "registry app"),
        ("localhost/app", "localhost app"),
        ("localhost:5000/a/b:c", "localhost:5000 a/b"),
        ("[::1]:5000/a", "[::1]:5000 a"),
        ("team/a__b/c---d.e", "docker.io team/a__b/c---d.e"),
    ] {
        assert_eq!(long(text), expected, "{text}");
    }
}

#[test]
fn what_no_runtime_would_take_is_malformed() {
    let short = "nginx@sha256:0123";
    let other = format!("nginx@md5:{}", "0".repeat(32));
    let capital = format!("nginx@{}", DIGEST.to_uppercase());
    let twice = format!("nginx@{DIGEST}@{DIGEST}");
    let endless = "a".repeat(REPOSITORY_BYTES_MAX + 1);
    for text in [
        "",
        ":",
        "@",
        "nginx:",
        "nginx@",
        "Nginx",
        "team/App",
        "a//b",
        "/a",
        "a/",
        "a/../b",
        "-a",
        "a-",
        "a___b",
        "a..b",
        "a b",
        "a\n",
        "nginx:-1",
        "nginx:a/b",
        "nginx:99999/b",
        ":5000/a",
        "[::1/a",
        "[::1]x/a",
        "[]/a",
        "exa mple.com/a",
        "registry.example.com/",
        "é",
        short,
        &other,
        &capital,
        &twice,
        &endless,
    ] {
        assert_eq!(long(text), "malformed", "{text:?}");
    }
}
