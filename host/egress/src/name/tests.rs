//! Names and what isn't one.

use super::*;

fn name(text: &str) -> HostName {
    text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
}

#[test]
fn names_have_one_form() {
    let label = "a".repeat(63);
    let long = [label.as_str(), &label, &label, &"a".repeat(61)].join(".");
    let cases = [
        ("example.com", "example.com"),
        ("EXAMPLE.com.", "example.com"),
        ("redis", "redis"),
        ("a-b.c_d.xn--p1ai", "a-b.c_d.xn--p1ai"),
        ("10.example", "10.example"),
        ("0x7f.example", "0x7f.example"),
        (label.as_str(), label.as_str()),
        (long.as_str(), long.as_str()),
    ];
    for (text, expected) in cases {
        assert_eq!(name(text).as_str(), expected);
    }
}

#[test]
fn what_is_no_name_is_refused() {
    let long_label = format!("{}.example", "a".repeat(64));
    let long_name = "a.".repeat(126) + "ab";
    let cases = [
        ("", NameError::Empty),
        (".", NameError::Empty),
        ("..", NameError::Empty),
        ("example..", NameError::Empty),
        (".example", NameError::Empty),
        ("a..b", NameError::Empty),
        (&long_label, NameError::Long),
        (&long_name, NameError::Long),
        ("é.example", NameError::NotAscii),
        ("例え", NameError::NotAscii),
        ("a b", NameError::Character),
        ("a\0b", NameError::Character),
        ("a%b", NameError::Character),
        ("*.a", NameError::Character),
        ("-a.example", NameError::Character),
        ("a-.example", NameError::Character),
        ("::1", NameError::Character),
        ("[::1]", NameError::Character),
        ("127.0.0.1", NameError::Number),
        ("127.0.0.1.", NameError::Number),
        ("127.1", NameError::Number),
        ("2130706433", NameError::Number),
        ("0x7f000001", NameError::Number),
        ("0X7F.0.0.0x1", NameError::Number),
        ("example.0x", NameError::Number),
        ("017700000001", NameError::Number),
    ];
    for (text, expected) in cases {
        assert_eq!(text.parse::<HostName>(), Err(expected), "{text}");
    }
}

#[test]
fn below_means_at_least_one_label_more() {
    let cases = [
        ("a.example.com", "example.com", true),
        ("a.b.example.com", "example.com", true),
        ("example.com", "example.com", false),
        ("badexample.com", "example.com", false),
        ("example.com.evil.org", "example.com", false),
        ("com", "example.com", false),
    ];
    for (below, above, expected) in cases {
        assert_eq!(name(below).is_below(&name(above)), expected, "{below} below {above}");
    }
}
