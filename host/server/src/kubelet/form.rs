//! Parameters of requests whose handlers take them of a form, too, as Go's `Request.ParseForm` reads them.

use std::time::Duration;

use axum::http::{HeaderValue, header};
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use hyper::body::{Body, Bytes};
use hyper::{Method, Request};
use thiserror::Error;

use super::query::{Parameters, QueryError, parameters};

#[cfg(test)]
mod tests;

/// Bytes of a form: the handlers that take one know a single short parameter. Upstream reads 10 MiB.
const FORM_BYTES_MAX: usize = 64 * 1024;
/// How long a form may take.
const FORM_DEADLINE: Duration = Duration::from_secs(30);
/// What a form is sent as.
const FORM: &str = "application/x-www-form-urlencoded";

/// Why a request has no parameters; in Go's words.
#[derive(Debug, Error)]
pub(super) enum FormError {
    #[error(transparent)]
    Malformed(#[from] QueryError),
    #[error("mime: {0}")]
    MediaType(&'static str),
    #[error("http: POST too large")]
    TooLarge,
    #[error("{0}")]
    Read(String),
}

/// The parameters of a request: those of the form that a `POST` has, then those of its query.
///
/// # Errors
/// When one of the two isn't well formed, or the form can't be read.
pub(super) async fn form<B>(request: Request<B>) -> Result<Parameters, FormError>
where
    B: Body<Data = Bytes, Error: Into<Box<dyn std::error::Error + Send + Sync>>>,
{
    let (head, body) = request.into_parts();
    let has_form = head.method == Method::POST && is_form(head.headers.get(header::CONTENT_TYPE))?;
    let mut all = if has_form { parameters(&read(body).await?)? } else { Parameters::new() };
    all.extend(parameters(head.uri.query().unwrap_or_default())?);
    Ok(all)
}

async fn read<B>(body: B) -> Result<String, FormError>
where
    B: Body<Data = Bytes, Error: Into<Box<dyn std::error::Error + Send + Sync>>>,
{
    let reading = Limited::new(body, FORM_BYTES_MAX).collect();
    match tokio::time::timeout(FORM_DEADLINE, reading).await {
        Ok(Ok(read)) => Ok(String::from_utf8_lossy(&read.to_bytes()).into_owned()),
        Ok(Err(error)) if error.is::<LengthLimitError>() => Err(FormError::TooLarge),
        Ok(Err(error)) => Err(FormError::Read(error.to_string())),
        Err(late) => Err(FormError::Read(late.to_string())),
    }
}

/// Whether a body of this type is a form. Parameters of the type aren't read.
fn is_form(content_type: Option<&HeaderValue>) -> Result<bool, FormError> {
    let text = content_type.map(|value| String::from_utf8_lossy(value.as_bytes())).unwrap_or_default();
    if text.is_empty() {
        return Ok(false);
    }
    let kind = text.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let rest = kind.trim_start_matches(is_of_token);
    let subtype = rest.strip_prefix('/');
    match (kind.len() > rest.len(), subtype) {
        (false, _) => Err(FormError::MediaType("no media type")),
        (true, None) if rest.is_empty() => Ok(false),
        (true, None) => Err(FormError::MediaType("expected slash after first token")),
        (true, Some(subtype)) if !subtype.starts_with(is_of_token) => {
            Err(FormError::MediaType("expected token after slash"))
        }
        (true, Some(subtype)) if !subtype.chars().all(is_of_token) => {
            Err(FormError::MediaType("unexpected content after media subtype"))
        }
        (true, Some(_)) => Ok(kind == FORM),
    }
}

/// A character of a token (RFC 9110, section 5.6.2).
fn is_of_token(char: char) -> bool {
    char.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(char)
}
