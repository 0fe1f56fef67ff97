//! A file from a URL that the operator names: bounded, followed where redirects lead, and only brought if it is another.

mod redirect;
mod url;

use std::time::Duration;

use bytes::Bytes;
use http::header::{
    ACCEPT, AUTHORIZATION, ETAG, HeaderName, IF_MODIFIED_SINCE, IF_NONE_MATCH, LAST_MODIFIED, LOCATION,
    RETRY_AFTER, USER_AGENT,
};
use http::{HeaderMap, HeaderValue, Request, Response, Uri};
use http_body_util::{BodyExt as _, Empty};
use thiserror::Error;
use tokio::time::timeout;
use witlet_core::network::retry_after;

use crate::egress::Egress;
use crate::grant::TlsPolicy;
use crate::http::{BodyError, ResponseBody, SendError, SendLimits};
pub use redirect::RedirectError;
use redirect::reach;
pub use url::{DownloadUrl, DownloadUrlError};

#[cfg(test)]
mod tests;

/// From the first request to the last byte.
pub const DOWNLOAD_TIME_MAX: Duration = Duration::from_secs(300);
/// How often a download is sent on by redirects.
pub const REDIRECTS_MAX: usize = 5;
/// How long each part of an exchange may take.
const LIMITS: SendLimits = SendLimits {
    connect: Duration::from_secs(15),
    first_byte: Duration::from_secs(30),
    between_bytes: Duration::from_secs(30),
};
/// How large a validator may be that is sent back to the server; a larger one is forgotten.
const VALIDATOR_BYTES_MAX: usize = 1024;
/// How the agent names itself.
const AGENT: &str = concat!("witlet/", env!("CARGO_PKG_VERSION"));

/// What a server knows a version of a file by.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Validators {
    pub etag: Option<String>,
    pub last_modified: Option<String>,
}

/// What is downloaded, and how.
#[derive(Clone, Copy, Debug)]
pub struct Download<'a> {
    pub url: &'a DownloadUrl,
    /// Sent as `Authorization: Bearer …` to the URL's own host, and to no other.
    pub token: Option<&'a [u8]>,
    /// Of the version that is here; nothing is brought if it is the newest.
    pub known: Option<&'a Validators>,
    /// More bytes are refused.
    pub bytes_max: usize,
}

/// What came of a download.
#[derive(Debug, PartialEq, Eq)]
pub enum Downloaded {
    /// The known version is the newest.
    Unchanged,
    File {
        bytes: Vec<u8>,
        /// What the server knows it by.
        validators: Validators,
    },
}

/// Why there is no file.
#[derive(Debug, Error)]
pub enum DownloadError {
    /// The token can't be a header's value.
    #[error("the token must be one line of visible characters")]
    Token,
    #[error(transparent)]
    Send(#[from] SendError),
    /// An answer that broke off.
    #[error("failed to read the response")]
    Body(#[from] BodyError),
    #[error("the server answered {status}")]
    Status {
        /// The status with its usual words.
        status: http::StatusCode,
        /// When it wants to be asked again.
        retry_after: Option<Duration>,
    },
    /// That it is unchanged, though nothing is known.
    #[error("the server answered 304 Not Modified to a request without conditions")]
    UnaskedNotModified,
    /// More bytes than there may be.
    #[error("the file must have at most {bytes_max} bytes")]
    TooLarge { bytes_max: usize },
    #[error("stopped after {REDIRECTS_MAX} redirects")]
    TooManyRedirects,
    /// A redirect that isn't followed.
    #[error(transparent)]
    Redirect(#[from] RedirectError),
    /// The request can't be made.
    #[error("failed to make the request")]
    Request(#[from] http::Error),
    /// It took too long.
    #[error("the download timed out after {}s", DOWNLOAD_TIME_MAX.as_secs())]
    Timeout,
}

impl DownloadError {
    /// How long the server wants not to be asked, if it said so.
    pub fn retry_after(&self) -> Option<Duration> {
        let Self::Status { retry_after, .. } = self else { return None };
        *retry_after
    }
}

impl Egress {
    /// Downloads a file. Returns within [`DOWNLOAD_TIME_MAX`].
    ///
    /// # Errors
    /// The server isn't reached or doesn't answer with the file, or the file or the way to it is too long.
    pub async fn download(&self, download: &Download<'_>) -> Result<Downloaded, DownloadError> {
        timeout(DOWNLOAD_TIME_MAX, self.download_from(download)).await.unwrap_or(Err(DownloadError::Timeout))
    }

    async fn download_from(&self, download: &Download<'_>) -> Result<Downloaded, DownloadError> {
        let home = download.url.uri();
        let mut uri = home.clone();
        for _ in 0..=REDIRECTS_MAX {
            let headers = headers(download, redirect::is_same_server(&uri, home))?;
            let response = self.ask_for_file(&uri, home, headers).await?;
            match response.status().as_u16() {
                200 => return file(response, download.bytes_max).await,
                304 if download.known.is_some() => return Ok(Downloaded::Unchanged),
                304 => return Err(DownloadError::UnaskedNotModified),
                301 | 302 | 303 | 307 | 308 => {
                    uri = redirect::follow(&uri, text(response.headers(), &LOCATION), home)?;
                }
                _ => {
                    let status = response.status();
                    let retry_after = text(response.headers(), &RETRY_AFTER).and_then(retry_after);
                    return Err(DownloadError::Status { status, retry_after });
                }
            }
        }
        Err(DownloadError::TooManyRedirects)
    }

    async fn ask_for_file(
        &self,
        uri: &Uri,
        home: &Uri,
        headers: HeaderMap,
    ) -> Result<Response<ResponseBody>, DownloadError> {
        let mut request = Request::get(uri.clone()).body(Empty::<Bytes>::new())?;
        *request.headers_mut() = headers;
        Ok(self.send(&reach(uri, home)?, TlsPolicy::Verify, request, LIMITS).await?)
    }
}

/// The headers of a request, with the token only for the operator's own server.
fn headers(download: &Download<'_>, is_home: bool) -> Result<HeaderMap, DownloadError> {
    let mut headers = HeaderMap::new();
    headers.insert(USER_AGENT, HeaderValue::from_static(AGENT));
    headers.insert(ACCEPT, HeaderValue::from_static("*/*"));
    if let Some(token) = download.token.filter(|_| is_home) {
        let value = [b"Bearer ", token.trim_ascii()].concat();
        let mut value = HeaderValue::from_bytes(&value).map_err(|_| DownloadError::Token)?;
        value.set_sensitive(true);
        headers.insert(AUTHORIZATION, value);
    }
    let Some(Validators { etag, last_modified }) = download.known else { return Ok(headers) };
    for (name, value) in [(IF_NONE_MATCH, etag), (IF_MODIFIED_SINCE, last_modified)] {
        // They came in a header.
        if let Some(value) = value.as_deref().and_then(|value| HeaderValue::from_str(value).ok()) {
            headers.insert(name, value);
        }
    }
    Ok(headers)
}

/// Returns what the server knows the file by.
fn validators(headers: &HeaderMap) -> Validators {
    let validator = |name: HeaderName| {
        let value = text(headers, &name).filter(|value| value.len() <= VALIDATOR_BYTES_MAX);
        value.map(str::to_owned)
    };
    Validators { etag: validator(ETAG), last_modified: validator(LAST_MODIFIED) }
}

async fn file(response: Response<ResponseBody>, bytes_max: usize) -> Result<Downloaded, DownloadError> {
    // Before its body: a response that is checked can't go to another thread.
    let validators = validators(response.headers());
    let mut body = response.into_body();
    let mut bytes = Vec::new();
    while let Some(frame) = body.frame().await {
        if let Some(part) = frame?.data_ref() {
            if bytes.len() + part.len() > bytes_max {
                return Err(DownloadError::TooLarge { bytes_max });
            }
            bytes.extend_from_slice(part);
        }
    }
    Ok(Downloaded::File { bytes, validators })
}

fn text<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    headers.get(name)?.to_str().ok().map(str::trim)
}
