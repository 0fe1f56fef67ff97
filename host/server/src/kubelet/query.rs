//! Parameters of requests.

use std::borrow::Cow;

use hyper::Uri;
use percent_encoding::percent_decode_str;

#[cfg(test)]
mod tests;

/// Names and values of a query, as Go's `url.ParseQuery` reads it, whose errors a kubelet passes over: a pair that is malformed isn't there,
/// the others are.
pub(crate) fn query(uri: &Uri) -> Vec<(String, String)> {
    let pairs = uri.query().unwrap_or_default().split('&');
    let pairs = pairs.filter(|pair| !pair.is_empty() && !pair.contains(';'));
    pairs
        .filter_map(|pair| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            Some((unescaped(name)?, unescaped(value)?))
        })
        .collect()
}

/// Returns `None` if a percent sign isn't followed by two hexadecimal digits.
fn unescaped(text: &str) -> Option<String> {
    let is_escape =
        |after: &str| after.len() >= 2 && after.bytes().take(2).all(|byte| byte.is_ascii_hexdigit());
    if !text.split('%').skip(1).all(is_escape) {
        return None;
    }
    let text: Cow<'_, str> = text.replace('+', " ").into();
    Some(percent_decode_str(&text).decode_utf8_lossy().into_owned())
}
