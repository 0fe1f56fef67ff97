//! Attacks through HTTP: to where nothing is granted, with answers that never end and requests that neither do.

use wasip2::http::outgoing_handler::handle;
use wasip2::http::types::{
    ErrorCode, Fields, FutureIncomingResponse, IncomingResponse, Method, OutgoingRequest, Scheme,
};
use wasip2::io::streams::StreamError;

use crate::{reported, reported_until};

/// How many bytes of an answer are read in all.
const BODY_BYTES_MAX: usize = 1 << 30;

pub(crate) fn run(word: &str, aim: &str) -> Option<String> {
    Some(match word {
        "get" => reported(get(aim).and_then(answer).map(|answer| answer.status())),
        "get-all" => reported(get(aim).and_then(answer).and_then(|answer| read(&answer))),
        // Sent, and no answer is ever taken.
        "requests" => reported_until(|_| get(aim), 10_000),
        // Each answer is kept, and none is read.
        "answers" => reported_until(|_| get(aim).and_then(answer), 10_000),
        "unfinished-request" => reported(unfinished(aim)),
        "redirects" => {
            let mut at = aim.to_owned();
            loop {
                match get(&at).and_then(answer) {
                    Ok(answer) => match location(&answer) {
                        Some(next) => at = next,
                        None => return Some("came back".to_owned()),
                    },
                    Err(error) => return Some(reported::<(), _>(Err(error))),
                }
            }
        }
        _ => return None,
    })
}

/// `host:port/path`
fn request(aim: &str, method: &Method) -> OutgoingRequest {
    let (authority, path) = aim.split_once('/').unwrap_or((aim, ""));
    let request = OutgoingRequest::new(Fields::new());
    let _set = [
        request.set_method(method),
        request.set_scheme(Some(&Scheme::Http)),
        request.set_authority(Some(authority)),
        request.set_path_with_query(Some(&format!("/{path}"))),
    ];
    request
}

fn get(aim: &str) -> Result<FutureIncomingResponse, ErrorCode> {
    handle(request(aim, &Method::Get), None)
}

fn answer(future: FutureIncomingResponse) -> Result<IncomingResponse, ErrorCode> {
    loop {
        match future.get() {
            Some(answered) => return answered.unwrap_or(Err(ErrorCode::InternalError(None))),
            None => future.subscribe().block(),
        }
    }
}

fn read(answer: &IncomingResponse) -> Result<usize, ErrorCode> {
    let body = answer.consume().map_err(|()| ErrorCode::InternalError(None))?;
    let stream = body.stream().map_err(|()| ErrorCode::InternalError(None))?;
    let mut length = 0;
    while length < BODY_BYTES_MAX {
        match stream.blocking_read(64 << 10) {
            Ok(bytes) => length += bytes.len(),
            Err(StreamError::Closed) => break,
            Err(StreamError::LastOperationFailed(_)) => return Err(ErrorCode::ConnectionTerminated),
        }
    }
    Ok(length)
}

fn location(answer: &IncomingResponse) -> Option<String> {
    let values = answer.headers().get("location");
    let url = String::from_utf8(values.into_iter().next()?).ok()?;
    url.strip_prefix("http://").map(str::to_owned)
}

/// A body that begins and never ends.
fn unfinished(aim: &str) -> Result<u16, ErrorCode> {
    let request = request(aim, &Method::Post);
    let body = request.body().map_err(|()| ErrorCode::InternalError(None))?;
    let stream = body.write().map_err(|()| ErrorCode::InternalError(None))?;
    let future = handle(request, None)?;
    let _begun = stream.blocking_write_and_flush(b"begun");
    let answer = answer(future)?;
    Ok(answer.status())
}
