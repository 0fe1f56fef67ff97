//! The URLs that an operator may name.

use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;

use http::Uri;
use http::uri::Scheme;
use thiserror::Error;

use super::redirect::is_loopback;

/// How long a URL may be.
const URL_BYTES_MAX: usize = 2048;

/// `https://HOST[:PORT]/…`, or `http://` on this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DownloadUrl {
    text: String,
    uri: Uri,
}

/// Why a text is no URL that a file is downloaded from. Each says the way out.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum DownloadUrlError {
    #[error("expected https://HOST[:PORT]/PATH")]
    Malformed,
    /// Longer than any should be.
    #[error("a URL must have at most {URL_BYTES_MAX} bytes")]
    TooLong,
    /// In the clear, from another machine.
    #[error("{host} is another machine: write https://, only servers on this machine may use http://")]
    Unencrypted { host: String },
    /// It would be in logs, events and metrics.
    #[error("a URL must have no user and password: name a secret with `token`")]
    Credentials,
    #[error("a URL must have no fragment (#…): remove it")]
    Fragment,
}

impl DownloadUrl {
    pub(super) fn uri(&self) -> &Uri {
        &self.uri
    }

    /// Returns the name as it was written.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Returns what people see of it: without its query, which may have a signature.
    pub fn shown(&self) -> String {
        match self.text.split_once('?') {
            Some((shown, _)) => format!("{shown}?…"),
            None => self.text.clone(),
        }
    }
}

impl fmt::Display for DownloadUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.shown())
    }
}

impl PartialOrd for DownloadUrl {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for DownloadUrl {
    fn cmp(&self, other: &Self) -> Ordering {
        self.text.cmp(&other.text)
    }
}

impl FromStr for DownloadUrl {
    type Err = DownloadUrlError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text.len() > URL_BYTES_MAX {
            return Err(DownloadUrlError::TooLong);
        }
        if text.contains('#') {
            return Err(DownloadUrlError::Fragment);
        }
        let uri: Uri = text.parse().map_err(|_| DownloadUrlError::Malformed)?;
        let authority = uri.authority().ok_or(DownloadUrlError::Malformed)?;
        if authority.as_str().contains('@') {
            return Err(DownloadUrlError::Credentials);
        }
        let host = authority.host().to_owned();
        if host.is_empty() {
            return Err(DownloadUrlError::Malformed);
        }
        if uri.scheme() == Some(&Scheme::HTTP) && !is_loopback(&host) {
            return Err(DownloadUrlError::Unencrypted { host });
        }
        if uri.scheme() != Some(&Scheme::HTTP) && uri.scheme() != Some(&Scheme::HTTPS) {
            return Err(DownloadUrlError::Malformed);
        }
        Ok(Self { text: text.to_owned(), uri })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_encrypted_unless_they_lead_to_this_machine() {
        for text in [
            "https://lists.example.com/cves.json",
            "https://lists.example.com:8443",
            "https://192.0.2.7/x",
            "http://127.0.0.1:8080/x",
            "http://localhost/x?y=z",
            "http://[::1]:8080/x",
        ] {
            let url: DownloadUrl = text.parse().unwrap_or_else(|error| panic!("{text}: {error}"));
            assert_eq!(url.as_str(), text);
        }
    }

    #[test]
    fn what_is_no_url_to_download_from_is_refused_with_the_way_out() {
        use DownloadUrlError as E;
        let unencrypted = |host: &str| E::Unencrypted { host: host.to_owned() };
        let long = format!("https://a/{}", "x".repeat(URL_BYTES_MAX));
        for (text, expected) in [
            ("", E::Malformed),
            ("lists.example.com/cves.json", E::Malformed),
            ("/var/lib/cves.json", E::Malformed),
            ("file:///var/lib/cves.json", E::Malformed),
            ("ftp://lists.example.com/x", E::Malformed),
            ("https://a b/", E::Malformed),
            ("http://lists.example.com/x", unencrypted("lists.example.com")),
            ("http://169.254.169.254/x", unencrypted("169.254.169.254")),
            ("http://127.0.0.1.example.com/x", unencrypted("127.0.0.1.example.com")),
            ("https://ann:pw@lists.example.com/x", E::Credentials),
            ("https://lists.example.com/x#y", E::Fragment),
            (&long, E::TooLong),
        ] {
            assert_eq!(text.parse::<DownloadUrl>(), Err(expected), "{text}");
        }
    }

    #[test]
    fn a_query_is_not_shown() {
        let shown = |text: &str| text.parse::<DownloadUrl>().expect("a URL").to_string();
        assert_eq!(shown("https://a.example.com/x?sig=s3cret"), "https://a.example.com/x?…");
        assert_eq!(shown("https://a.example.com/x"), "https://a.example.com/x");
    }
}
