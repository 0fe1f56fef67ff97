//! Where requests go, and to whom credentials may go with them.

use std::net::IpAddr;

use http::Uri;
use http::uri::{Authority, Scheme};
use thiserror::Error;

/// How often a request may be sent on by redirects.
pub const REDIRECTS_MAX: u32 = 5;

/// Why a request isn't sent there. Each says the way out.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum AddressError {
    #[error("{place} is not a URL")]
    Malformed {
        /// Of a redirect, or of the place for tokens.
        place: &'static str,
    },
    /// In the clear, to a host that isn't this machine.
    #[error("{place} at {host} must be https: only registries on this machine may use http")]
    Unencrypted {
        /// Of a redirect, or of the place for tokens.
        place: &'static str,
        host: String,
    },
    /// To this machine or to its network's inside, from a registry that is elsewhere.
    #[error("{place} leads to {host}: a registry on another machine must not redirect there")]
    Inside {
        /// Of a redirect, or of the place for tokens.
        place: &'static str,
        host: String,
    },
}

/// Whether a registry is on this machine by its name: `localhost` or a loopback address. Such a one speaks plain HTTP, as containerd has it.
pub fn is_loopback(host: &str) -> bool {
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    bare.eq_ignore_ascii_case("localhost")
        || bare.parse::<IpAddr>().is_ok_and(|address| address.to_canonical().is_loopback())
}

/// The URL of a path in a registry, which is `HOST[:PORT]`. `plain_http` leaves TLS out also where the registry isn't on this
/// machine.
///
/// # Errors
/// The registry's name doesn't make a URL.
pub fn of_registry(registry: &str, path: &str, plain_http: bool) -> Result<Uri, AddressError> {
    let malformed = || AddressError::Malformed { place: "the registry" };
    let authority: Authority = registry.parse().map_err(|_invalid| malformed())?;
    let scheme = if plain_http || is_loopback(authority.host()) { Scheme::HTTP } else { Scheme::HTTPS };
    Uri::builder()
        .scheme(scheme)
        .authority(authority)
        .path_and_query(path)
        .build()
        .map_err(|_invalid| malformed())
}

/// Where a redirect of `from` leads, or the place for tokens that it names. `registry` is where the pull began.
///
/// # Errors
/// It isn't a URL, is in the clear, or leads to this machine or its network's inside from elsewhere.
pub fn follow(from: &Uri, to: &str, registry: &Uri, place: &'static str) -> Result<Uri, AddressError> {
    let malformed = || AddressError::Malformed { place };
    let mut parts = to.trim().parse::<Uri>().map_err(|_invalid| malformed())?.into_parts();
    if parts.scheme.is_none() {
        // A path of the same host; one that isn't absolute isn't worth guessing.
        if parts.authority.is_some() || parts.path_and_query.is_none() {
            return Err(malformed());
        }
        parts.scheme = from.scheme().cloned();
        parts.authority = from.authority().cloned();
    }
    if parts.path_and_query.is_none() {
        parts.path_and_query = Some("/".parse().map_err(|_invalid| malformed())?);
    }
    let uri = Uri::from_parts(parts).map_err(|_invalid| malformed())?;
    let host = uri.host().ok_or_else(malformed)?;
    let home = registry.host().is_some_and(is_loopback);
    // What was begun in the clear goes on so, with the same server.
    let plain = registry.scheme() == Some(&Scheme::HTTP) && same_host(&uri, registry);
    if uri.scheme() == Some(&Scheme::HTTP) && !plain && !(home && is_loopback(host)) {
        return Err(AddressError::Unencrypted { place, host: host.to_owned() });
    }
    if uri.scheme() != Some(&Scheme::HTTP) && uri.scheme() != Some(&Scheme::HTTPS) {
        return Err(malformed());
    }
    if !home && !same_host(&uri, registry) && is_inside(host) {
        return Err(AddressError::Inside { place, host: host.to_owned() });
    }
    Ok(uri)
}

/// Whether two URLs are the same server's: scheme, host and port. Credentials go nowhere else.
pub fn same_host(one: &Uri, other: &Uri) -> bool {
    let port =
        |uri: &Uri| uri.port_u16().unwrap_or(if uri.scheme() == Some(&Scheme::HTTP) { 80 } else { 443 });
    one.scheme() == other.scheme()
        && port(one) == port(other)
        && match (one.host(), other.host()) {
            (Some(one), Some(other)) => one.eq_ignore_ascii_case(other),
            (None | Some(_), _) => false,
        }
}

/// Loopback, link-local (clouds' metadata servers among them) and unspecified addresses. Names are judged when they are
/// looked up.
fn is_inside(host: &str) -> bool {
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    is_loopback(host)
        || bare.parse::<IpAddr>().is_ok_and(|address| match address.to_canonical() {
            IpAddr::V4(address) => address.is_link_local() || address.is_unspecified(),
            IpAddr::V6(address) => address.is_unicast_link_local() || address.is_unspecified(),
        })
}

#[cfg(test)]
mod tests;
