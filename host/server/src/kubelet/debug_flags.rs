//! `/debug/flags/v`: how much the process logs, while it runs.

use std::time::Duration;

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::Response;
use http_body_util::{BodyExt, Limited};
use hyper::body::Incoming;
use hyper::{Method, Request};
use witlet_core::go;

use super::{KubeletServer, answers};

#[cfg(test)]
mod tests;

/// Bytes of a body: a number, and no more.
const BODY_BYTES_MAX: usize = 1024;

/// How long a body may take.
const BODY_DEADLINE: Duration = Duration::from_secs(30);

impl KubeletServer {
    /// Sets the verbosity to the number in the body.
    pub(super) async fn debug_flags(&self, request: Request<Incoming>) -> Response {
        if request.method() != Method::PUT {
            return plain(StatusCode::NOT_ACCEPTABLE, "unsupported http method");
        }
        let bad = |words: &str| plain(StatusCode::BAD_REQUEST, words);
        let body = Limited::new(request.into_body(), BODY_BYTES_MAX).collect();
        let body = match tokio::time::timeout(BODY_DEADLINE, body).await {
            Ok(Ok(body)) => body.to_bytes(),
            Ok(Err(error)) => return bad(&format!("error reading request body: {error}")),
            Err(late) => return bad(&format!("error reading request body: {late}")),
        };
        let text = String::from_utf8_lossy(&body);
        let set =
            |verbosity| self.parts.diagnostics.verbosity.set(verbosity).map_err(|error| error.to_string());
        match verbosity(&text).and_then(set) {
            Ok(()) => {
                tracing::info!(verbosity = &*text, "Set the verbosity of the log");
                plain(StatusCode::OK, &format!("successfully set klog.logging.verbosity to {text}"))
            }
            Err(why) => bad(&why),
        }
    }
}

/// Words in plain text without a character set, as upstream's handler writes them.
fn plain(code: StatusCode, words: &str) -> Response {
    let mut answer = answers::error(code, words);
    answer.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("text/plain"));
    answer
}

/// The verbosity that a text names, or why it names none, in the words of Go's parser.
fn verbosity(text: &str) -> Result<u32, String> {
    let number = go::parse_uint(text, u32::MAX.into())?;
    match i32::try_from(number) {
        Ok(number) => Ok(number.unsigned_abs()),
        Err(_) => Err(format!(
            "failed set klog.logging.verbosity {text}: strconv.ParseInt: parsing {}: value out of range",
            go::quote(text)
        )),
    }
}
