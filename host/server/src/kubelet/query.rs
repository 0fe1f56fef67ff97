//! Parameters of requests.

use std::borrow::Cow;

use hyper::Uri;
use percent_encoding::percent_decode_str;
use thiserror::Error;
use witlet_core::go;

#[cfg(test)]
mod tests;

/// Names and values, in their order.
pub(super) type Parameters = Vec<(String, String)>;

/// Why a text of parameters isn't well formed; in Go's words.
#[derive(Debug, Error, PartialEq, Eq)]
pub(super) enum QueryError {
    #[error("invalid semicolon separator in query")]
    Semicolon,
    /// A percent sign isn't followed by two hexadecimal digits.
    #[error("invalid URL escape {}", go::quote(.0))]
    Escape(String),
}

/// Names and values of a query, as Go's `url.ParseQuery` reads it, whose errors a kubelet passes over: a pair that is malformed isn't there,
/// the others are.
pub(crate) fn query(uri: &Uri) -> Vec<(String, String)> {
    pairs(uri.query().unwrap_or_default()).filter_map(Result::ok).collect()
}

/// The same where a kubelet doesn't pass over them.
///
/// # Errors
/// When a pair is malformed.
pub(super) fn parameters(text: &str) -> Result<Parameters, QueryError> {
    pairs(text).collect()
}

fn pairs(text: &str) -> impl Iterator<Item = Result<(String, String), QueryError>> {
    text.split('&').filter(|pair| !pair.is_empty()).map(|pair| {
        if pair.contains(';') {
            return Err(QueryError::Semicolon);
        }
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        Ok((unescaped(name)?, unescaped(value)?))
    })
}

fn unescaped(text: &str) -> Result<String, QueryError> {
    let is_escape =
        |after: &str| after.len() >= 2 && after.bytes().take(2).all(|byte| byte.is_ascii_hexdigit());
    if let Some(after) = text.split('%').skip(1).find(|after| !is_escape(after)) {
        return Err(QueryError::Escape(format!("%{}", after.chars().take(2).collect::<String>())));
    }
    let text: Cow<'_, str> = text.replace('+', " ").into();
    Ok(percent_decode_str(&text).decode_utf8_lossy().into_owned())
}
