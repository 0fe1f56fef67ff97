//! Tests of the syntax of labels.

use super::{is_key, is_value};

#[test]
fn keys_are_names_with_an_optional_subdomain() {
    let long = "a".repeat(63);
    let too_long = "a".repeat(64);
    for key in ["zone", "kubernetes.io/os", "a", "A_b.C-d", "x.y-z/9", long.as_str()] {
        assert!(is_key(key), "{key}");
    }
    for key in
        ["", "/", "a/", "/a", "a/b/c", "-a", "a-", "ä", "UPPER.com/a", "a..b/c", "a b", too_long.as_str()]
    {
        assert!(!is_key(key), "{key}");
    }
    assert!(is_key(&format!("{}/a", "a".repeat(253))));
    assert!(!is_key(&format!("{}/a", "a".repeat(254))));
}

#[test]
fn values_are_names_or_nothing() {
    for value in ["", "a", "1.2_3-4", "SSD"] {
        assert!(is_value(value), "{value}");
    }
    for value in ["a/b", ".a", "a.", "a b"] {
        assert!(!is_value(value), "{value}");
    }
}
