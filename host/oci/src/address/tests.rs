//! Where requests may lead.

use super::*;

#[test]
fn only_this_machine_speaks_plain_http() {
    let cases = [
        ("registry.example.com", "https://registry.example.com/v2/"),
        ("registry.example.com:5000", "https://registry.example.com:5000/v2/"),
        ("10.0.0.7:5000", "https://10.0.0.7:5000/v2/"),
        ("localhost:5000", "http://localhost:5000/v2/"),
        ("127.0.0.1:5000", "http://127.0.0.1:5000/v2/"),
        ("127.8.8.8", "http://127.8.8.8/v2/"),
        ("[::1]:5000", "http://[::1]:5000/v2/"),
        // A name that only looks like it.
        ("localhost.example.com", "https://localhost.example.com/v2/"),
    ];
    for (registry, expected) in cases {
        assert_eq!(of_registry(registry, "/v2/", false).expect(registry).to_string(), expected);
    }
}

#[test]
fn redirects_lead_out_but_never_in_or_into_the_clear() {
    let far = "https://registry.example.com/v2/a/blobs/x";
    let near = "http://127.0.0.1:5000/v2/a/blobs/x";
    let place = "a redirect";
    let malformed = Err(AddressError::Malformed { place });
    let unencrypted = |host: &str| Err(AddressError::Unencrypted { place, host: host.to_owned() });
    let inside = |host: &str| Err(AddressError::Inside { place, host: host.to_owned() });
    let cases = [
        (far, "https://cdn.example.net/x?sig=1", Ok("https://cdn.example.net/x?sig=1")),
        (far, "/other", Ok("https://registry.example.com/other")),
        (far, "https://registry.example.com", Ok("https://registry.example.com/")),
        (far, "http://cdn.example.net/x", unencrypted("cdn.example.net")),
        (far, "http://127.0.0.1/x", unencrypted("127.0.0.1")),
        (far, "https://127.0.0.1/x", inside("127.0.0.1")),
        (far, "https://localhost/x", inside("localhost")),
        (far, "https://169.254.169.254/latest", inside("169.254.169.254")),
        (far, "https://[fe80::1]/x", inside("[fe80::1]")),
        (far, "https://[::ffff:169.254.169.254]/x", inside("[::ffff:169.254.169.254]")),
        (far, "https://0.0.0.0/x", inside("0.0.0.0")),
        (far, "ftp://cdn.example.net/x", malformed.clone()),
        (far, "relative", malformed.clone()),
        (far, "file:///etc/passwd", malformed.clone()),
        (far, "", malformed),
        (near, "http://127.0.0.1:5001/x", Ok("http://127.0.0.1:5001/x")),
        (near, "https://cdn.example.net/x", Ok("https://cdn.example.net/x")),
        (near, "http://cdn.example.net/x", unencrypted("cdn.example.net")),
    ];
    for (from, to, expected) in cases {
        let from: Uri = from.parse().expect("a URL");
        let found = follow(&from, to, &from, place).map(|uri| uri.to_string());
        assert_eq!(found, expected.map(str::to_owned), "{from} to {to}");
    }
}

#[test]
fn the_same_server_has_the_same_scheme_host_and_port() {
    let same =
        |one: &str, other: &str| same_host(&one.parse().expect("a URL"), &other.parse().expect("a URL"));
    assert!(same("https://a.example.com/x", "https://A.example.com:443/y"));
    assert!(!same("https://a.example.com", "https://a.example.com:8443"));
    assert!(!same("https://a.example.com", "http://a.example.com"));
    assert!(!same("https://a.example.com", "https://a.example.com.evil.org"));
    assert!(!same("http://127.0.0.1:5000", "http://127.0.0.1:5001"));
}
