//! Which registry's credentials an image gets.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;
use crate::runtime::ImageAuth;

/// A configuration whose users are named as its keys are.
fn config(keys: &[&str]) -> DockerConfig {
    let entry = |key: &&str| {
        let auth =
            ImageAuth { username: (*key).to_owned(), password: "p".to_owned(), ..ImageAuth::default() };
        ((*key).to_owned(), auth)
    };
    DockerConfig { registries: keys.iter().map(entry).collect::<BTreeMap<_, _>>() }
}

fn users(keys: &[&str], image: &str) -> Vec<String> {
    Keyring::new([(&config(keys), None)]).lookup(image).into_iter().map(|found| found.auth.username).collect()
}

#[test]
fn one_key_matches_by_host_label_port_and_path() {
    for (key, image, matches) in [
        // Host and port.
        ("foo.kubernetes.io", "foo.kubernetes.io/bar", true),
        ("foo.kubernetes.io", "bar.kubernetes.io/bar", false),
        ("foo.kubernetes.io", "foo.kubernetes.io:443/bar", false),
        ("foo.kubernetes.io:443", "foo.kubernetes.io:443/bar", true),
        ("foo.kubernetes.io:443", "foo.kubernetes.io/bar", false),
        ("localhost:5000", "localhost:5000/bar", true),
        ("localhost:5000", "localhost:5001/bar", false),
        ("[::1]:5000", "[::1]:5000/bar", true),
        ("127.0.0.1:5000", "127.0.0.1:5000/a/b:c", true),
        // Scheme and API version.
        ("https://foo.kubernetes.io", "foo.kubernetes.io/bar", true),
        ("http://foo.kubernetes.io", "foo.kubernetes.io/bar", true),
        ("https://foo.kubernetes.io/v1/", "foo.kubernetes.io/bar", true),
        ("https://foo.kubernetes.io/v2/", "foo.kubernetes.io/bar", true),
        ("https://foo.kubernetes.io/v2/bar", "foo.kubernetes.io/bar/baz", true),
        ("https://foo.kubernetes.io/v2/bar", "foo.kubernetes.io/qux", false),
        ("foo.kubernetes.io/v3/", "foo.kubernetes.io/bar", false),
        // Path: a beginning, not by folders.
        ("foo.kubernetes.io/bar", "foo.kubernetes.io/bar", true),
        ("foo.kubernetes.io/bar", "foo.kubernetes.io/bar/baz", true),
        ("foo.kubernetes.io/bar", "foo.kubernetes.io/barber", true),
        ("foo.kubernetes.io/bar/", "foo.kubernetes.io/bar", false),
        ("foo.kubernetes.io/bar", "foo.kubernetes.io/other", false),
        ("foo.kubernetes.io/", "foo.kubernetes.io/bar", true),
        // Globs, label by label.
        ("*.kubernetes.io", "foo.kubernetes.io/bar", true),
        ("*.kubernetes.io", "kubernetes.io/bar", false),
        ("*.kubernetes.io", "a.b.kubernetes.io/bar", false),
        ("*.*.kubernetes.io", "a.b.kubernetes.io/bar", true),
        ("f*o.kubernetes.io", "foo.kubernetes.io/bar", true),
        // A question mark ends an address, as in any URL.
        ("fo?.kubernetes.io", "foo.kubernetes.io/bar", false),
        ("*bar.kubernetes.io", "foobar.kubernetes.io/bar", true),
        ("foo*.kubernetes.io", "foobar.kubernetes.io/bar", true),
        ("f[a-p]o.kubernetes.io", "foo.kubernetes.io/bar", true),
        ("f[^a-p]o.kubernetes.io", "foo.kubernetes.io/bar", false),
        ("f[o.kubernetes.io", "foo.kubernetes.io/bar", false),
        ("*.kubernetes.io/bar", "foo.kubernetes.io/bar/baz", true),
        ("*.kubernetes.io/bar", "foo.kubernetes.io/other", false),
        ("*.kubernetes.io:443", "foo.kubernetes.io:443/bar", true),
        ("*.kubernetes.io:*", "foo.kubernetes.io:443/bar", false),
        ("foo.kubernetes.io/*", "foo.kubernetes.io/bar", false),
        // Keys that name no host.
        ("", "foo.kubernetes.io/bar", false),
        ("https://", "foo.kubernetes.io/bar", false),
        ("/bar", "foo.kubernetes.io/bar", false),
        // Names that are no references.
        ("foo.kubernetes.io", "foo.kubernetes.io/Bar", false),
    ] {
        assert_eq!(!users(&[key], image).is_empty(), matches, "{key} {image}");
    }
}

/// Upstream's cases of globs, those whose image could be one.
#[test]
fn globs_match_wherever_they_stand_and_never_across_labels() {
    for (key, image, matches) in [
        ("prefix.*.io", "prefix.kubernetes.io/app", true),
        ("prefix.kubernetes.*", "prefix.kubernetes.io/app", true),
        ("*-good.kubernetes.io", "prefix-good.kubernetes.io/app", true),
        ("prefix.*.io/foo", "prefix.kubernetes.io/foo/bar", true),
        ("*.kubernetes.io:1111/blah", "prefix.kubernetes.io:1111/blah", true),
        ("prefix.*.io:1111/foo", "prefix.kubernetes.io:1111/foo/bar", true),
        ("*.*.kubernetes.io", "prefix.kubernetes.io/app", false),
        ("*.*.kubernetes.io", "kubernetes.io/app", false),
        ("kubernetes.io", "kubernetes.com/app", false),
        ("k*.io", "quay.io/app", false),
        ("*.kubernetes.io:1234/blah", "prefix.kubernetes.io:1111/blah", false),
        ("prefix.*.io/foo", "prefix.kubernetes.io:1111/foo/bar", false),
        ("https://*.docker.io", "prefix.docker.io/foo/bar", true),
        ("https://prefix.*.io", "prefix.docker.io/foo/bar", true),
        ("https://prefix.docker.*", "prefix.docker.io/foo/bar", true),
        ("https://*.docker.io/path", "prefix.docker.io/path/foo/bar", true),
        ("https://prefix.*.io/path", "prefix.docker.io/path/subpath/foo/bar", true),
        ("https://prefix.docker.*/path", "prefix.docker.io/path/foo/bar", true),
        ("https://*.docker.io:8888", "prefix.docker.io:8888/foo/bar", true),
        ("https://prefix.*.io:8888", "prefix.docker.io:8888/foo/bar", true),
        ("https://prefix.docker.*:8888", "prefix.docker.io:8888/foo/bar", true),
        ("https://*.docker.io/v1/", "prefix.docker.io/path/foo/bar", true),
        ("https://*.docker.io/v2/", "prefix.docker.io/path/foo/bar", true),
        ("*.docker.io:1111", "prefix.docker.io:1111/path/foo/bar", true),
        ("https://hello.kubernetes.io", "world.mesos.org/foo/bar", false),
        ("https://*.docker.com", "prefix.docker.io/foo/bar", false),
        ("https://suffix.*.io", "prefix.docker.io/foo/bar", false),
        ("https://prefix.docker.c*", "prefix.docker.io/foo/bar", false),
        ("https://prefix.*.io/path:1111", "prefix.docker.io/path/subpath/foo/bar", false),
        ("suffix.*.io", "prefix.docker.io/foo/bar", false),
    ] {
        assert_eq!(!users(&[key], image).is_empty(), matches, "{key} {image}");
    }
}

#[test]
fn the_default_registry_has_several_names() {
    for key in [
        "https://index.docker.io/v1/",
        "https://index.docker.io/v2/",
        "index.docker.io",
        "docker.io",
        "https://docker.io",
        "docker.io/library",
    ] {
        for image in ["busybox", "busybox:1", "docker.io/busybox", "index.docker.io/library/busybox"] {
            assert_eq!(users(&[key], image), [key], "{key} {image}");
        }
        for image in [
            "",
            "quay.io/busybox",
            "registry:5000/foo/bar",
            "localhost/busybox",
            "myhostdocker.io/foo/bar",
            "docker.io.evil.example/busybox",
        ] {
            assert_eq!(users(&[key], image), [""; 0], "{key} {image}");
        }
    }
    let hub = "https://index.docker.io/v1/";
    assert_eq!(users(&[hub], "google/docker-registry"), [hub]);
    assert_eq!(users(&[hub], "docker.io/foo/bar"), [hub]);
    assert_eq!(users(&["registry-1.docker.io"], "busybox"), [""; 0]);
    assert_eq!(
        users(&["docker.io", "https://index.docker.io/v1/"], "busybox"),
        ["docker.io"],
        "the name of old counts only if nothing else matches"
    );
}

#[test]
fn the_most_specific_registry_comes_first() {
    let keys = ["quay.io", "quay.io/team", "*.io/team", "quay.io/team/app", "https://quay.io/other", "b.io"];
    assert_eq!(
        users(&keys, "quay.io/team/app:1"),
        ["quay.io/team/app", "quay.io/team", "quay.io", "*.io/team"]
    );
    assert_eq!(users(&keys, "quay.io/other/x"), ["https://quay.io/other", "quay.io"]);
    assert_eq!(users(&keys, "c.io/x"), [""; 0]);
}

#[test]
fn equal_registries_stay_in_the_order_of_their_configurations_and_equal_credentials_are_tried_once() {
    let user = |name: &str| ImageAuth { username: name.to_owned(), ..ImageAuth::default() };
    let one = |key: &str, name: &str| DockerConfig { registries: [(key.to_owned(), user(name))].into() };
    let keyring = Keyring::new([
        (&one("a.io", "first"), None),
        (&one("https://a.io", "second"), None),
        (&one("a.io/x", "first"), None),
    ]);
    let found: Vec<_> = keyring.lookup("a.io/x").into_iter().map(|found| found.auth.username).collect();
    assert_eq!(found, ["first", "second"]);
    assert!(!keyring.is_empty() && Keyring::default().is_empty());
}

#[test]
fn globs_fit_as_the_shells_do() {
    for (pattern, label, fits) in [
        ("", "", true),
        ("", "a", false),
        ("*", "", true),
        ("*", "abc", true),
        ("**", "abc", true),
        ("a*", "abc", true),
        ("*c", "abc", true),
        ("a*c*e", "abcde", true),
        ("a*c*f", "abcde", false),
        ("a*bba*x", "axbbxbbaxx", true),
        ("?", "", false),
        ("[a-c][x]", "bx", true),
        ("[^a-c]", "d", true),
        ("[]", "]", false),
        ("[]a]", "]", false),
        ("[-a]", "-", false),
        ("[a-]", "a", false),
        (r"[\-a]", "-", true),
        (r"\*", "*", true),
        (r"\*", "a", false),
        (r"a\", "a", false),
        ("[a", "a", false),
    ] {
        assert_eq!(glob_matches(pattern, label), fits, "{pattern} {label}");
    }
}

proptest! {
    #[test]
    fn a_label_fits_itself_and_any_pattern_that_stars_a_part_of_it(label in "[a-z0-9-]{0,20}", from in 0usize..20, to in 0usize..20) {
        let (from, to) = (from.min(label.len()), to.min(label.len()));
        let (from, to) = (from.min(to), from.max(to));
        let starred = format!("{}*{}", &label[..from], &label[to..]);
        let escaped: String = label.chars().flat_map(|c| ['\\', c]).collect();
        prop_assert!(glob_matches(&label, &label));
        prop_assert!(glob_matches(&escaped, &label));
        prop_assert!(glob_matches(&starred, &label));
    }

    #[test]
    fn no_key_breaks_the_keyring(key in "\\PC{0,60}", image in "[a-z.:/*\\[\\]]{0,40}") {
        let _ = users(&[&key], &image);
        let _ = glob_matches(&key, &image);
    }
}
