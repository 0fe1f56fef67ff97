//! Where a `Location` leads (RFC 3986 section 5.2, without the folding of dots: servers that probes meet don't need it).

use witlet_http_target::{Scheme, scheme};

use crate::target::Target;

/// Where to go next.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Redirect {
    pub(crate) target: Target,
    /// The location itself names the host.
    pub(crate) names_host: bool,
}

/// The place that a `Location` of this target's answer names; none if it is none.
pub(crate) fn redirect(from: &Target, location: &str) -> Option<Redirect> {
    let location = location.split_once('#').map_or(location, |(location, _)| location);
    if let Some(rest) = location.strip_prefix("//") {
        return whole(from.scheme, rest);
    }
    match location.split_once("://") {
        Some((word, rest)) if !location.starts_with(['/', '?']) => {
            return whole(scheme(Some(word)).ok().filter(|_| !word.is_empty())?, rest);
        }
        Some(_) | None => {}
    }
    let (base, _) = from.path.split_once('?').unwrap_or((&from.path, ""));
    let path = match location.chars().next() {
        Some('/') => location.to_owned(),
        Some('?') => format!("{base}{location}"),
        Some(_) => format!("{}/{location}", base.rsplit_once('/').map_or("", |(folder, _)| folder)),
        None => from.path.clone(),
    };
    can_be_sent(&path).then(|| Redirect { target: Target { path, ..from.clone() }, names_host: false })
}

/// A location with scheme and host: what follows `//`.
fn whole(scheme: Scheme, rest: &str) -> Option<Redirect> {
    let (authority, path) = match rest.find(['/', '?']) {
        Some(at) => rest.split_at(at),
        None => (rest, ""),
    };
    let (host, port) = host_and_port(authority)?;
    let port = match (port, scheme) {
        (Some(port), _) => port.parse().ok()?,
        (None, Scheme::Http) => 80,
        (None, Scheme::Https) => 443,
    };
    let path = if path.starts_with('/') { path.to_owned() } else { format!("/{path}") };
    let host = host.to_owned();
    can_be_sent(&path).then_some(Redirect { target: Target { scheme, host, port, path }, names_host: true })
}

/// Takes `host`, `host:port`, `[v6]` and `[v6]:port` apart. A user before the host is left out, as probes never send one.
fn host_and_port(authority: &str) -> Option<(&str, Option<&str>)> {
    let authority = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    let (host, port) = match authority.strip_prefix('[') {
        Some(rest) => {
            let (host, rest) = rest.split_once(']')?;
            (host, rest.strip_prefix(':').or(rest.is_empty().then_some("")))
        }
        None => match authority.split_once(':') {
            Some((host, port)) => (host, Some(port)),
            None => (authority, Some("")),
        },
    };
    let good = !host.is_empty() && host.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'/');
    let port = port?;
    good.then_some((host, Some(port).filter(|port| !port.is_empty())))
}

fn can_be_sent(path: &str) -> bool {
    path.bytes().all(|byte| byte.is_ascii_graphic())
}

#[cfg(test)]
mod tests;
