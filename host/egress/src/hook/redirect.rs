//! Where a `Location` leads (RFC 3986 section 5.2, without the folding of dots: servers that probes meet don't need it).

use hyper::Uri;
use witlet_core::hook::Scheme;

use super::target::Target;

/// Where to go next.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Redirect {
    pub(super) target: Target,
    /// The location itself names the host.
    pub(super) names_host: bool,
}

/// The place that a `Location` of this target's answer names; none if it is none.
pub(super) fn redirect(from: &Target, location: &str) -> Option<Redirect> {
    let location = location.split_once('#').map_or(location, |(location, _)| location);
    let absolute = match location.strip_prefix("//") {
        Some(rest) => format!("{}://{rest}", scheme_word(from.scheme)),
        None => location.to_owned(),
    };
    if absolute.contains("://") && !absolute.starts_with(['/', '?']) {
        return whole(&absolute);
    }
    let (base, _) = from.path.split_once('?').unwrap_or((&from.path, ""));
    let path = match location.chars().next() {
        Some('/') => location.to_owned(),
        Some('?') => format!("{base}{location}"),
        Some(_) => format!("{}/{location}", base.rsplit_once('/').map_or("", |(folder, _)| folder)),
        None => from.path.clone(),
    };
    let path: Uri = path.parse().ok()?;
    let target = Target { path: path.path_and_query()?.as_str().to_owned(), ..from.clone() };
    Some(Redirect { target, names_host: false })
}

/// A location with scheme and host.
fn whole(location: &str) -> Option<Redirect> {
    let uri: Uri = location.parse().ok()?;
    let (scheme, default_port) = match uri.scheme_str()? {
        "http" => (Scheme::Http, 80),
        "https" => (Scheme::Https, 443),
        _ => return None,
    };
    let host = uri.host()?.trim_start_matches('[').trim_end_matches(']').to_owned();
    let port = uri.port_u16().unwrap_or(default_port);
    let path = uri.path_and_query().map_or("/", |path| path.as_str()).to_owned();
    let path = if path.starts_with('/') { path } else { format!("/{path}") };
    Some(Redirect { target: Target { scheme, host, port, path }, names_host: true })
}

fn scheme_word(scheme: Scheme) -> &'static str {
    match scheme {
        Scheme::Http => "http",
        Scheme::Https => "https",
    }
}
