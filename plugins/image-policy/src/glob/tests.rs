//! Cases of globs.

use super::*;

#[test]
fn one_star_stops_at_a_slash_and_two_dont() {
    for (glob, text, expected) in [
        ("", "", true),
        ("", "a", false),
        ("a", "a", true),
        ("a", "ab", false),
        ("*", "", true),
        ("*", "abc", true),
        ("*", "a/b", false),
        ("**", "a/b/c", true),
        ("docker.io/library/*", "docker.io/library/nginx", true),
        ("docker.io/library/*", "docker.io/library/a/b", false),
        ("docker.io/**", "docker.io/library/a/b", true),
        ("docker.io/**", "docker.io", false),
        ("*.example.com", "a.example.com", true),
        ("*.example.com", "example.com", false),
        ("*.example.com/**", "a.example.com/b/c", true),
        ("a*c*e", "abcde", true),
        ("a*c*e", "abde", false),
        ("**/nginx", "r/a/b/nginx", true),
        ("**/nginx", "nginx", false),
        ("a.c", "abc", false),
    ] {
        assert_eq!(matches(glob, text), expected, "{glob} {text}");
    }
}

#[test]
fn a_hostile_glob_ends() {
    let glob = "**a".repeat(150);
    assert!(!matches(&glob, &"a".repeat(149)));
    assert!(matches(&glob, &"a".repeat(2_000)));
}
