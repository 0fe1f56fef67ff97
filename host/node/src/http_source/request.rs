//! What is asked for, with which headers, and where redirects lead.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::header::{AUTHORIZATION, HeaderName, HeaderValue, LOCATION, USER_AGENT};
use http::uri::{Authority, PathAndQuery, Scheme};
use http::{HeaderMap, Uri};
use percent_encoding::percent_decode_str;
use thiserror::Error;

#[cfg(test)]
mod tests;

/// Who asks.
const AGENT: &str = concat!("witlet/", env!("CARGO_PKG_VERSION"));

/// Settings of the source that can't be used. No value of a header is shown: it may be a secret.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum ManifestUrlError {
    /// No URL of HTTP.
    #[error("{url:?} must be an http or https URL")]
    Url {
        /// As it was given, without user and password.
        url: String,
    },
    /// Not `KEY:VALUE`.
    #[error("header {number} must be KEY:VALUE")]
    Form {
        /// Counted from 1.
        number: usize,
    },
    /// No header has this name.
    #[error("{name:?} is not a valid header name")]
    Name {
        /// As it was given.
        name: String,
    },
    /// The value has bytes that no header's has.
    #[error("header {name} has an invalid character in its value")]
    Value { name: String },
}

/// A redirect that isn't followed.
#[derive(Debug, Error, PartialEq, Eq)]
pub(super) enum RedirectError {
    #[error("redirect without Location")]
    Nowhere,
    #[error("redirect to {to:?}, expected an http or https URL")]
    Elsewhere { to: String },
    #[error("redirect from https to {to:?}, expected https")]
    InTheClear { to: String },
}

/// The URL with the headers that are sent to its host (`--manifest-url`, `--manifest-url-header`).
#[derive(Clone)]
pub struct ManifestUrl {
    uri: Uri,
    place: String,
    headers: HeaderMap,
}

impl fmt::Debug for ManifestUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ManifestUrl").field("place", &self.place).finish_non_exhaustive()
    }
}

impl ManifestUrl {
    /// A URL, and headers as upstream's flag has them: `KEY:VALUE`, several of them separated by commas, and the flag
    /// several times. A user and password in the URL become basic authentication, as with Go's client.
    ///
    /// # Errors
    /// The URL or a header isn't valid.
    pub fn new<S: AsRef<str>>(url: &str, headers: &[S]) -> Result<Self, ManifestUrlError> {
        let refused = |authority: &str| {
            let url = url.replacen(&format!("{authority}@"), "", 1);
            ManifestUrlError::Url { url: url.chars().take(200).collect() }
        };
        let user = url.split_once("://").and_then(|(_, rest)| {
            let authority = rest.split(['/', '?', '#']).next()?;
            authority.rsplit_once('@').map(|(user, _)| user)
        });
        let without_user = match user {
            Some(user) => url.replacen(&format!("{user}@"), "", 1),
            None => url.to_owned(),
        };
        let without_fragment = without_user.split('#').next().unwrap_or_default();
        let uri: Uri = without_fragment.parse().map_err(|_| refused(user.unwrap_or_default()))?;
        if !is_http(&uri) {
            return Err(refused(user.unwrap_or_default()));
        }
        let mut all = HeaderMap::new();
        all.insert(USER_AGENT, HeaderValue::from_static(AGENT));
        if let Some(user) = user {
            let credentials =
                format!("Basic {}", STANDARD.encode(percent_decode_str(user).collect::<Vec<u8>>()));
            insert(&mut all, AUTHORIZATION.as_str(), &credentials)?;
        }
        for header in parse(headers)? {
            // The operator's own words come before what a client says by itself.
            if header.first {
                remove(&mut all, header.name)?;
            }
            insert(&mut all, header.name, header.value)?;
        }
        Ok(Self { uri, place: without_user, headers: all })
    }

    /// Returns the text as it is named in UIDs, events and logs: without user and password.
    pub fn place(&self) -> &str {
        &self.place
    }

    pub(super) fn uri(&self) -> &Uri {
        &self.uri
    }

    /// The headers for a request there: all for the URL's own host and those below it, none but the agent's name for
    /// others. (Go's client strips only those that it knows to be secret.)
    pub(super) fn headers_for(&self, uri: &Uri) -> HeaderMap {
        let (own, other) = (self.uri.host().unwrap_or_default(), uri.host().unwrap_or_default());
        let is_below = other
            .strip_suffix(own)
            .is_some_and(|rest| rest.ends_with('.') && own.parse::<std::net::IpAddr>().is_err());
        if own.eq_ignore_ascii_case(other) || is_below {
            return self.headers.clone();
        }
        HeaderMap::from_iter([(USER_AGENT, HeaderValue::from_static(AGENT))])
    }
}

/// A header of the flag; `first` of its name.
struct Header<'a> {
    name: &'a str,
    value: &'a str,
    first: bool,
}

fn parse<S: AsRef<str>>(flags: &[S]) -> Result<Vec<Header<'_>>, ManifestUrlError> {
    let mut headers: Vec<Header<'_>> = Vec::new();
    let parts = flags.iter().flat_map(|flag| flag.as_ref().split(',')).filter(|part| !part.trim().is_empty());
    for (index, part) in parts.enumerate() {
        let (name, value) = part.split_once(':').ok_or(ManifestUrlError::Form { number: index + 1 })?;
        let (name, value) = (name.trim(), value.trim());
        let first = !headers.iter().any(|header| header.name.eq_ignore_ascii_case(name));
        headers.push(Header { name, value, first });
    }
    Ok(headers)
}

fn header_name(name: &str) -> Result<HeaderName, ManifestUrlError> {
    name.parse().map_err(|_| ManifestUrlError::Name { name: name.chars().take(80).collect() })
}

fn remove(headers: &mut HeaderMap, name: &str) -> Result<(), ManifestUrlError> {
    headers.remove(header_name(name)?);
    Ok(())
}

fn insert(headers: &mut HeaderMap, name: &str, value: &str) -> Result<(), ManifestUrlError> {
    let mut value = HeaderValue::try_from(value)
        .map_err(|_| ManifestUrlError::Value { name: name.chars().take(80).collect() })?;
    value.set_sensitive(true);
    headers.append(header_name(name)?, value);
    Ok(())
}

fn is_http(uri: &Uri) -> bool {
    matches!(uri.scheme_str(), Some("http" | "https")) && uri.host().is_some_and(|host| !host.is_empty())
}

/// Where an answer sends on to (RFC 3986 section 5 for what is relative). From https it must not lead into the clear, which
/// Go's client would follow: what comes back runs as root would have it.
pub(super) fn redirected(from: &Uri, headers: &HeaderMap) -> Result<Uri, RedirectError> {
    let location = headers.get(LOCATION).and_then(|value| value.to_str().ok());
    let location = location.filter(|location| !location.is_empty()).ok_or(RedirectError::Nowhere)?;
    let location = location.split('#').next().unwrap_or_default();
    let elsewhere = || RedirectError::Elsewhere { to: location.chars().take(200).collect() };
    let to = resolve(from, location).filter(is_http).ok_or_else(elsewhere)?;
    if from.scheme() == Some(&Scheme::HTTPS) && to.scheme() != Some(&Scheme::HTTPS) {
        return Err(RedirectError::InTheClear { to: location.chars().take(200).collect() });
    }
    Ok(to)
}

fn resolve(from: &Uri, location: &str) -> Option<Uri> {
    let scheme = from.scheme_str()?;
    let has_scheme = location.split_once(':').is_some_and(|(scheme, _)| {
        scheme.starts_with(|first: char| first.is_ascii_alphabetic())
            && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte))
    });
    if has_scheme {
        return without_user(location.parse().ok()?);
    }
    if location.starts_with("//") {
        return without_user(format!("{scheme}:{location}").parse().ok()?);
    }
    let path = if location.starts_with('/') {
        location.to_owned()
    } else if location.starts_with('?') {
        format!("{}{location}", from.path())
    } else {
        let folder = from.path().rsplit_once('/').map_or("", |(folder, _)| folder);
        format!("{folder}/{location}")
    };
    let (path, query) =
        path.split_once('?').map_or((path.as_str(), None), |(path, query)| (path, Some(query)));
    let mut path = without_dots(path);
    if let Some(query) = query {
        path.push('?');
        path.push_str(query);
    }
    let path: PathAndQuery = path.parse().ok()?;
    Uri::builder().scheme(scheme).authority(from.authority()?.clone()).path_and_query(path).build().ok()
}

/// No one's credentials come from a redirect.
fn without_user(uri: Uri) -> Option<Uri> {
    let mut parts = uri.into_parts();
    let authority = parts.authority.take()?;
    let plain = authority.as_str().rsplit_once('@').map(|(_, plain)| plain.parse::<Authority>());
    parts.authority = Some(match plain {
        Some(plain) => plain.ok()?,
        None => authority,
    });
    parts.path_and_query.get_or_insert_with(|| PathAndQuery::from_static("/"));
    Uri::from_parts(parts).ok()
}

fn without_dots(path: &str) -> String {
    let mut kept: Vec<&str> = Vec::new();
    let segments: Vec<&str> = path.split('/').skip(1).collect();
    for (index, segment) in segments.iter().enumerate() {
        let is_last = index + 1 == segments.len();
        match *segment {
            "." if is_last => kept.push(""),
            "." => {}
            ".." => {
                kept.pop();
                if is_last {
                    kept.push("");
                }
            }
            segment => kept.push(segment),
        }
    }
    format!("/{}", kept.join("/"))
}
