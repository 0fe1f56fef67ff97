//! Handshakes with servers that are who they say, and others.

use tokio_rustls::rustls::ALL_VERSIONS;
use tokio_rustls::rustls::version::{TLS12, TLS13};

use super::*;
use crate::testing::{Authority, Identity, Server, ServerKinds, answer, ends};

const FAR: i32 = 2999;

async fn shake(trust: &Trust, policy: TlsPolicy, host: &str, identity: &Identity) -> Result<(), TlsError> {
    let server = Server::tls(identity, |_| answer("200 OK", &[], "")).await;
    let stream = TcpStream::connect(server.address).await.expect("it listens");
    ends(trust.handshake(policy, host, stream)).await.map(drop)
}

fn trusting(authority: &Authority) -> Trust {
    Trust::default().with_authorities(authority.pem.as_bytes()).expect("it is one")
}

#[tokio::test]
async fn a_valid_certificate_for_the_host_is_needed() {
    let (ours, other) = (Authority::new(), Authority::new());
    let names = ["a.example", "*.b.example", "127.0.0.1", "::1"];
    let valid = ours.server(&names, FAR, ALL_VERSIONS);
    let expired = ours.server(&names, 2001, ALL_VERSIONS);
    let theirs = other.server(&names, FAR, ALL_VERSIONS);
    let untrusted = Identity::untrusted();
    let cases = [
        ("a.example", &valid, true),
        ("a.example.", &valid, true),
        ("A.EXAMPLE", &valid, true),
        ("x.b.example", &valid, true),
        ("127.0.0.1", &valid, true),
        ("::1", &valid, true),
        ("b.example", &valid, false),
        ("c.example", &valid, false),
        ("127.0.0.2", &valid, false),
        ("a.example", &expired, false),
        ("a.example", &theirs, false),
        ("a.example", &untrusted, false),
    ];
    let trust = trusting(&ours);
    for (index, (host, identity, expected)) in cases.into_iter().enumerate() {
        match shake(&trust, TlsPolicy::Verify, host, identity).await {
            Ok(()) => assert!(expected, "{index}: {host}"),
            Err(TlsError::Certificate { .. }) => assert!(!expected, "{index}: {host}"),
            Err(error) => panic!("{index}: {host}: {error}"),
        }
        shake(&trust, TlsPolicy::Insecure, host, identity).await.expect("no one verifies it");
    }
}

#[tokio::test]
async fn the_systems_authorities_vouch_for_none_of_ours() {
    let server = Authority::new().server(&["a.example"], FAR, ALL_VERSIONS);
    let error =
        shake(&Trust::default(), TlsPolicy::Verify, "a.example", &server).await.expect_err("who is that");
    // A machine may have no authorities at all.
    assert!(matches!(error, TlsError::Certificate { .. } | TlsError::NoAuthorities), "{error}");
}

#[tokio::test]
async fn both_versions_of_tls_are_spoken() {
    let authority = Authority::new();
    for version in [&TLS12, &TLS13] {
        let server = authority.server(&["a.example"], FAR, &[version]);
        for policy in [TlsPolicy::Verify, TlsPolicy::Insecure] {
            let shaken = shake(&trusting(&authority), policy, "a.example", &server).await;
            shaken.unwrap_or_else(|error| panic!("{version:?} {policy:?}: {error}"));
        }
    }
}

#[tokio::test]
async fn servers_are_reported_names_but_no_addresses() {
    let authority = Authority::new();
    for policy in [TlsPolicy::Verify, TlsPolicy::Insecure] {
        let server = authority.server(&["a.example", "127.0.0.1", "::1"], FAR, ALL_VERSIONS);
        for host in ["a.example", "a.example.", "127.0.0.1", "::1"] {
            shake(&trusting(&authority), policy, host, &server).await.expect("it is that server");
        }
        assert_eq!(server.asked.all(), ["a.example", "a.example", "", ""], "{policy:?}");
    }
}

#[tokio::test]
async fn what_isnt_a_servers_name_is_refused_before_anything_is_sent() {
    let server = Identity::untrusted();
    for host in ["", "a b", "[::1]"] {
        let error = shake(&Trust::default(), TlsPolicy::Insecure, host, &server).await.expect_err(host);
        assert!(matches!(error, TlsError::Name { .. }), "{error}");
    }
    assert!(server.asked.all().is_empty());
}

#[test]
fn only_certificates_are_authorities() {
    let authority = Authority::new();
    let many = authority.pem.repeat(AUTHORITIES_MAX + 1);
    let broken = "-----BEGIN CERTIFICATE-----\nbm90IG9uZQ==\n-----END CERTIFICATE-----\n";
    let unended = "-----BEGIN CERTIFICATE-----\nbm90IG9uZQ==\n";
    let second = authority.pem.clone() + broken;
    let cases = [
        ("", "found 0"),
        ("no PEM at all", "found 0"),
        (many.as_str(), "must have 1 to 1024 certificates"),
        (broken, "certificate 1 is not a valid CA certificate"),
        (second.as_str(), "certificate 2 is not a valid CA certificate"),
        (unended, "invalid PEM"),
    ];
    for (pem, words) in cases {
        let error = Trust::default().with_authorities(pem.as_bytes()).expect_err(words).to_string();
        assert!(error.contains(words), "{error}");
    }
}
