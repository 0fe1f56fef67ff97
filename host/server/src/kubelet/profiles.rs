//! `/debug/pprof/`: what of Go's profiles a program that isn't Go's has.

use std::os::unix::ffi::OsStringExt;

use axum::http::{StatusCode, header};
use axum::response::{Html, IntoResponse, Response};

use super::answers;

#[cfg(test)]
mod tests;

/// Go's profiles, none of which can be had here: a sampling profiler would stop threads by signals in the middle of components' code,
/// whose stacks it can't walk safely.
const UNAVAILABLE: [&str; 9] =
    ["allocs", "block", "goroutine", "heap", "mutex", "profile", "symbol", "threadcreate", "trace"];

/// The page of the folder.
const INDEX: &str = "<html>\n<head>\n<title>/debug/pprof/</title>\n</head>\n<body>\n/debug/pprof/\n\
<p><a href='cmdline'>cmdline</a>: the command line of the process</p>\n\
<p>There are no profiles: this agent is not a Go program. Use perf on the node.</p>\n</body>\n</html>\n";

/// Answers a request for this path below the endpoint's, which begins with a slash or is empty.
pub(super) fn answer(path: &str) -> Response {
    match path.trim_start_matches('/') {
        "" => answers::nosniff(Html(INDEX).into_response()),
        "cmdline" => {
            let arguments: Vec<Vec<u8>> = std::env::args_os().map(OsStringExt::into_vec).collect();
            let kind = [(header::CONTENT_TYPE, "text/plain; charset=utf-8")];
            answers::nosniff((kind, arguments.join(&0)).into_response())
        }
        name if UNAVAILABLE.contains(&name) => {
            let words = format!("profile {name:?} is not available: this agent is not a Go program");
            answers::error(StatusCode::NOT_IMPLEMENTED, &words)
        }
        _ => answers::error(StatusCode::NOT_FOUND, "Unknown profile"),
    }
}
