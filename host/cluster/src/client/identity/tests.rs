//! Certificates that are read and replaced.

use jiff::Timestamp;

use super::{Identities, Identity, IdentityError};
use crate::client::fixture::{ALWAYS, Authority};

#[test]
fn what_is_no_pair_is_refused_in_words() {
    let authority = Authority::new();
    let (chain, key) = authority.issue("a", ALWAYS);
    let (_, other) = authority.issue("b", ALWAYS);
    let parse = |chain: &str, key: &str| Identity::parse(chain.as_bytes(), key.as_bytes());
    let cases = [
        (chain.as_str(), other.as_str(), "the client key does not match the client certificate"),
        ("", key.as_str(), "client certificate: no PEM certificate found"),
        (key.as_str(), key.as_str(), "client certificate: no PEM certificate found"),
    ];
    for (chain, key, expected) in cases {
        assert_eq!(parse(chain, key).expect_err("refused").to_string(), expected);
    }
    assert!(matches!(parse(&chain, ""), Err(IdentityError::Key { .. })));
    let broken = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
    assert!(matches!(parse(broken, &key), Err(IdentityError::Certificate { .. })));
    let many = chain.repeat(17);
    let error = parse(&many, &key).expect_err("refused").to_string();
    assert_eq!(error, "client certificate: more than 16 certificates");
}

#[test]
fn validity_is_the_first_certificates_and_one_text_may_hold_both() {
    let authority = Authority::new();
    let (chain, key) = authority.issue("a", ((2030, 1, 1), (2030, 1, 11)));
    let both = format!("{chain}{}{key}", authority.pem());
    let identity = Identity::parse(both.as_bytes(), both.as_bytes()).expect("a pair");
    let at = |text: &str| text.parse::<Timestamp>().expect("a time");
    assert_eq!(identity.not_before, at("2030-01-01T00:00:00Z"));
    assert_eq!(identity.not_after, at("2030-01-11T00:00:00Z"));
    let cases = [
        ("2029-12-31T23:59:59Z", false),
        ("2030-01-01T00:00:00Z", true),
        ("2030-01-10T23:59:59Z", true),
        ("2030-01-11T00:00:00Z", false),
    ];
    for (now, valid) in cases {
        assert_eq!(identity.is_valid(at(now)), valid, "{now}");
    }
}

#[test]
fn another_certificate_ends_connections_and_the_same_one_does_not() {
    let authority = Authority::new();
    let issue = |name| {
        let (chain, key) = authority.issue(name, ALWAYS);
        Identity::parse(chain.as_bytes(), key.as_bytes()).expect("a pair")
    };
    let first = issue("a");
    let identities = Identities::new(None);
    let before = identities.generation();
    assert!(identities.replace(first.clone()));
    assert!(before.is_cancelled());
    let during = identities.generation();
    assert!(!identities.replace(first));
    assert!(!during.is_cancelled());
    assert!(identities.replace(issue("b")));
    assert!(during.is_cancelled() && !identities.generation().is_cancelled());
}
