//! Where redirects may lead a download, and what each request may connect to.

use std::net::IpAddr;

use http::Uri;
use http::uri::Scheme;
use thiserror::Error;

use crate::grant::NetworkGrant;
use crate::reach::Reach;
use crate::special::{Special, special};

/// How much of a foreign text is reported.
const TEXT_CHARS_MAX: usize = 200;

/// Why a redirect isn't followed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum RedirectError {
    #[error("the server redirected to {to:?}, which is no URL of http or https")]
    Malformed {
        /// Where it wants to.
        to: String,
    },
    #[error("the server redirected to {to}: only servers on this machine may use http")]
    Unencrypted {
        /// Where it wants to.
        to: String,
    },
    /// To this machine, or to what serves clouds' metadata, from elsewhere.
    #[error("the server redirected to {to}: a server on another machine must not lead there")]
    Inside {
        /// Where it wants to.
        to: String,
    },
}

/// Whether a host is this machine by its name: `localhost` or a loopback address.
pub(super) fn is_loopback(host: &str) -> bool {
    host.eq_ignore_ascii_case("localhost") || address(host).map(special) == Some(Some(Special::Loopback))
}

/// Whether two URLs are the same server's: scheme, host and port.
pub(super) fn is_same_server(one: &Uri, other: &Uri) -> bool {
    let host = |uri: &Uri| uri.host().map(str::to_ascii_lowercase);
    one.scheme() == other.scheme() && port(one) == port(other) && host(one) == host(other)
}

/// Where a redirect of `from` leads. `home` is the operator's URL.
pub(super) fn follow(from: &Uri, to: Option<&str>, home: &Uri) -> Result<Uri, RedirectError> {
    let text = to.unwrap_or_default().split('#').next().unwrap_or_default();
    let shown = || text.chars().take(TEXT_CHARS_MAX).collect::<String>();
    let malformed = || RedirectError::Malformed { to: shown() };
    let mut parts = text.parse::<Uri>().map_err(|_| malformed())?.into_parts();
    if parts.scheme.is_none() {
        // A path of the same host. One that isn't absolute isn't worth guessing.
        if parts.authority.is_some() || parts.path_and_query.is_none() {
            return Err(malformed());
        }
        parts.scheme = from.scheme().cloned();
        parts.authority = from.authority().cloned();
    }
    let uri = Uri::from_parts(parts).map_err(|_| malformed())?;
    let authority = uri.authority().filter(|authority| !authority.as_str().contains('@'));
    let host = authority.ok_or_else(malformed)?.host();
    let is_home_here = home.host().is_some_and(is_loopback);
    if uri.scheme() == Some(&Scheme::HTTP) && !(is_home_here && is_loopback(host)) {
        return Err(RedirectError::Unencrypted { to: shown() });
    }
    if uri.scheme() != Some(&Scheme::HTTP) && uri.scheme() != Some(&Scheme::HTTPS) {
        return Err(malformed());
    }
    let is_inside = is_loopback(host) || address(host).and_then(special).is_some();
    if is_inside && !is_home_here && !is_same_server(&uri, home) {
        return Err(RedirectError::Inside { to: shown() });
    }
    Ok(uri)
}

/// Returns what one request may connect to. The URL is the operator's choice; where its server sends us on to isn't, so that a name there must
/// not lead to this machine.
pub(super) fn reach(uri: &Uri, home: &Uri) -> Result<Reach, RedirectError> {
    if is_same_server(uri, home) || home.host().is_some_and(is_loopback) {
        return Ok(Reach::everything());
    }
    let grant = format!("{}:{}", uri.host().unwrap_or_default(), port(uri));
    let grant: NetworkGrant = grant.parse().map_err(|_| RedirectError::Malformed { to: uri.to_string() })?;
    Ok(Reach::new([grant], &[], None))
}

fn port(uri: &Uri) -> u16 {
    uri.port_u16().unwrap_or(if uri.scheme() == Some(&Scheme::HTTP) { 80 } else { 443 })
}

fn address(host: &str) -> Option<IpAddr> {
    host.trim_start_matches('[').trim_end_matches(']').parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn uri(text: &str) -> Uri {
        text.parse().expect("a URL")
    }

    #[test]
    fn redirects_lead_neither_into_the_clear_nor_inside() {
        use RedirectError as E;
        let outside = "https://lists.example.com/a/b";
        let here = "http://127.0.0.1:8080/a/b";
        let named = |to: &str| to.to_owned();
        let cases = [
            (outside, "/c?d=e", Ok("https://lists.example.com/c?d=e")),
            (outside, "/c#d", Ok("https://lists.example.com/c")),
            (outside, "https://cdn.example.com/x", Ok("https://cdn.example.com/x")),
            (outside, "https://10.0.0.7/x", Ok("https://10.0.0.7/x")),
            (
                outside,
                "http://lists.example.com/c",
                Err(E::Unencrypted { to: named("http://lists.example.com/c") }),
            ),
            (outside, "http://127.0.0.1/c", Err(E::Unencrypted { to: named("http://127.0.0.1/c") })),
            (outside, "https://127.0.0.1/c", Err(E::Inside { to: named("https://127.0.0.1/c") })),
            (outside, "https://localhost/c", Err(E::Inside { to: named("https://localhost/c") })),
            (outside, "https://[::1]/c", Err(E::Inside { to: named("https://[::1]/c") })),
            (outside, "https://169.254.169.254/c", Err(E::Inside { to: named("https://169.254.169.254/c") })),
            (
                outside,
                "https://a:b@cdn.example.com/x",
                Err(E::Malformed { to: named("https://a:b@cdn.example.com/x") }),
            ),
            (outside, "ftp://cdn.example.com/x", Err(E::Malformed { to: named("ftp://cdn.example.com/x") })),
            (outside, "", Err(E::Malformed { to: String::new() })),
            (here, "/c", Ok("http://127.0.0.1:8080/c")),
            (here, "http://localhost:9090/c", Ok("http://localhost:9090/c")),
            (here, "https://lists.example.com/c", Ok("https://lists.example.com/c")),
            (
                here,
                "http://lists.example.com/c",
                Err(E::Unencrypted { to: named("http://lists.example.com/c") }),
            ),
        ];
        for (from, to, expected) in cases {
            let found = follow(&uri(from), Some(to), &uri(from));
            assert_eq!(found.map(|found| found.to_string()), expected.map(str::to_owned), "{from} to {to}");
        }
        assert!(follow(&uri(outside), None, &uri(outside)).is_err());
    }

    #[test]
    fn a_server_is_scheme_host_and_port() {
        let home = uri("https://lists.example.com/a");
        for (other, expected) in [
            ("https://LISTS.example.com:443/b", true),
            ("https://lists.example.com:8443/a", false),
            ("https://cdn.lists.example.com/a", false),
            ("http://lists.example.com:443/a", false),
        ] {
            assert_eq!(is_same_server(&uri(other), &home), expected, "{other}");
        }
    }
}
