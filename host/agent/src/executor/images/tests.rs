//! Tests of image references.

use super::reference::with_default_tag;

#[test]
fn a_reference_gets_the_default_tag_only_if_it_has_neither_tag_nor_digest() {
    let digest = format!("@sha256:{}", "a".repeat(64));
    for (image, expected) in [
        ("busybox".to_owned(), "busybox:latest".to_owned()),
        ("busybox:1.36".into(), "busybox:1.36".into()),
        ("registry.example.com/a/b".into(), "registry.example.com/a/b:latest".into()),
        ("localhost:5000/a".into(), "localhost:5000/a:latest".into()),
        ("Registry.Example.com:5000/a:v1".into(), "Registry.Example.com:5000/a:v1".into()),
        (format!("a/b{digest}"), format!("a/b{digest}")),
        (format!("a/b:v1{digest}"), format!("a/b:v1{digest}")),
        ("file:./hello.wasm".into(), "file:./hello.wasm".into()),
        ("file:///x/Hello.wasm".into(), "file:///x/Hello.wasm".into()),
    ] {
        assert_eq!(with_default_tag(&image), Ok(expected), "{image}");
    }
}

#[test]
fn what_cannot_be_a_reference_is_refused() {
    for image in [
        "",
        "Busybox",
        "a b",
        "a//b",
        "/a",
        "a/",
        ":tag",
        "a:",
        "a:-x",
        "a@sha256:12",
        "a@",
        "-a",
        "a-",
        "a\n",
        "file:",
        "reg.io/",
        "a:b:c",
        "é",
    ] {
        assert!(with_default_tag(image).is_err(), "{image:?}");
    }
    assert!(with_default_tag(&"a".repeat(5000)).is_err());
}
