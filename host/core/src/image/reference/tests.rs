//! Names that are references, and names that aren't.

use proptest::prelude::*;

use super::ReferenceError::{
    Blank, Capitals, Digest, DigestAlgorithm, Format, Identifier, NameTooLong, NoPath, Tag, TooLong,
};
use super::*;

#[test]
fn a_reference_gets_the_default_tag_only_if_it_has_neither_tag_nor_digest() {
    let digest = format!("@sha256:{}", "a".repeat(64));
    for (image, expected) in [
        ("busybox".to_owned(), "busybox:latest".to_owned()),
        ("busybox:1.36".into(), "busybox:1.36".into()),
        ("registry.example.com/a/b".into(), "registry.example.com/a/b:latest".into()),
        ("localhost:5000/a".into(), "localhost:5000/a:latest".into()),
        ("localhost/a".into(), "localhost/a:latest".into()),
        ("[::1]:5000/a".into(), "[::1]:5000/a:latest".into()),
        ("Registry.Example.com:5000/a:v1".into(), "Registry.Example.com:5000/a:v1".into()),
        ("Registry/a".into(), "Registry/a:latest".into()),
        (format!("a/b{digest}"), format!("a/b{digest}")),
        (format!("a/b:v1{digest}"), format!("a/b:v1{digest}")),
        ("a__b/c-----d/e.f_g:x".into(), "a__b/c-----d/e.f_g:x".into()),
        ("file:./hello.wasm".into(), "file:./hello.wasm".into()),
        ("file:///x/Hello.wasm".into(), "file:///x/Hello.wasm".into()),
    ] {
        assert_eq!(with_default_tag(&image), Ok(expected), "{image}");
    }
}

#[test]
fn what_cannot_be_a_reference_is_refused_with_its_reason() {
    let (id, long) = ("a1".repeat(32), "a".repeat(300));
    let upper_digest = format!("a@sha256:{}", "A".repeat(64));
    let short_digest = format!("a@sha512:{}", "a".repeat(64));
    let old_digest = format!("a@md5:{}", "a".repeat(32));
    let folder_and_name = format!("docker.io/{}", "a".repeat(240));
    for (image, expected) in [
        ("", Format),
        ("Busybox", Capitals),
        ("FAILED_IMAGE", Capitals),
        ("reg.io/App", Capitals),
        ("a b", Blank),
        ("a\n", Blank),
        ("a//b", Format),
        ("/a", Format),
        ("a/", Format),
        (":tag", Format),
        ("a:", Tag),
        ("a:-x", Tag),
        ("a:b:c", Tag),
        ("a@sha256:12", Digest),
        (&upper_digest, Digest),
        (&short_digest, Digest),
        (&old_digest, DigestAlgorithm),
        ("a@", Digest),
        ("a@b@c", Digest),
        ("-a", Format),
        ("a-", Format),
        ("a___b", Format),
        ("a..b", Format),
        ("a._b", Format),
        ("file:", NoPath),
        ("reg.io/", Format),
        ("reg_.io/a", Format),
        ("-reg.io/a", Format),
        ("reg.io:x/a", Format),
        ("http://reg.io", Format),
        ("https://reg.io/a", Format),
        ("reg.io:/a", Format),
        ("[::1/a", Format),
        ("[]:80/a", Format),
        ("[::1]5/a", Format),
        ("é", Format),
        (&id, Identifier),
        (&long, NameTooLong),
        (&folder_and_name, NameTooLong),
    ] {
        assert_eq!(with_default_tag(image), Err(expected), "{image:?}");
    }
    assert_eq!(with_default_tag(&"a".repeat(5000)), Err(TooLong));
    assert_eq!(with_default_tag(&format!("a:{}", "t".repeat(129))), Err(Tag));
}

#[test]
fn short_names_mean_the_default_registry() {
    let digest = format!("sha256:{}", "0".repeat(64));
    for (image, repository) in [
        ("busybox".to_owned(), "docker.io/library/busybox"),
        ("busybox:1".into(), "docker.io/library/busybox"),
        (format!("busybox@{digest}"), "docker.io/library/busybox"),
        ("docker.io/busybox".into(), "docker.io/library/busybox"),
        ("index.docker.io/busybox".into(), "docker.io/library/busybox"),
        ("team/app".into(), "docker.io/team/app"),
        ("quay.io/app:2".into(), "quay.io/app"),
        ("localhost/app".into(), "localhost/app"),
        ("Upper/app".into(), "Upper/app"),
        ("reg:5000/a/b/c:x".into(), "reg:5000/a/b/c"),
    ] {
        let parsed = ImageReference::parse(&image).expect(&image);
        assert_eq!(parsed.repository(), repository, "{image}");
    }
    let parsed = ImageReference::parse(&format!("q.io/a:1@{digest}")).expect("both");
    assert_eq!((parsed.tag.as_deref(), parsed.digest.as_deref()), (Some("1"), Some(digest.as_str())));
}

#[test]
fn tag_and_digest_are_cut_and_the_name_stays_as_it_was_written() {
    let digest = format!("sha256:{}", "0".repeat(64));
    for (image, expected) in [
        ("busybox".to_owned(), "busybox"),
        ("busybox:1".into(), "busybox"),
        ("reg:5000/app".into(), "reg:5000/app"),
        (format!("reg:5000/app:1@{digest}"), "reg:5000/app"),
        (format!("a/b@{digest}"), "a/b"),
    ] {
        assert_eq!(without_tag_and_digest(&image).as_deref(), Ok(expected), "{image}");
    }
    assert_eq!(without_tag_and_digest("a:"), Err(Tag));
    assert_eq!(without_tag_and_digest("file:"), Err(NoPath));
}

#[test]
fn files_are_no_names_in_a_registry_even_where_they_look_like_some() {
    for image in ["file:worker.wasm", "file:80/app", "file:80/app:1", "file:./a.wasm"] {
        assert_eq!(ImageReference::parse(image), Err(Format), "{image}");
        assert_eq!(with_default_tag(image).as_deref(), Ok(image));
        assert_eq!(without_tag_and_digest(image).as_deref(), Ok(image));
    }
}

proptest! {
    #[test]
    fn no_text_breaks_the_parser_and_what_it_accepts_it_accepts_again(image in "\\PC{0,40}|[a-zA-Z0-9./:@_\\[\\]-]{0,80}") {
        if let Ok(full) = with_default_tag(&image) {
            prop_assert_eq!(with_default_tag(&full), Ok(full.clone()), "{}", image);
            if !full.starts_with("file:") {
                let parsed = ImageReference::parse(&full).expect("it was accepted");
                let again = ImageReference::parse(&parsed.repository()).expect("in full");
                prop_assert_eq!(again.repository(), parsed.repository());
            }
        }
    }
}
