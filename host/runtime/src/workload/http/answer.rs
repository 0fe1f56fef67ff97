//! Answers one request with an instance of its own.

use std::convert::Infallible;
use std::error::Error as StdError;
use std::sync::Arc;

use bytes::Bytes;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full, LengthLimitError, Limited};
use hyper::body::{Body, Incoming};
use hyper::header::{CONTENT_TYPE, HOST, HeaderValue, RETRY_AFTER};
use hyper::{Request, Response, StatusCode};
use tokio::sync::{OwnedSemaphorePermit, oneshot};
use tokio::time::{Instant, timeout, timeout_at};
use tokio_util::task::AbortOnDropHandle;
use wasmtime_wasi_http::p2::bindings::http::types::{ErrorCode, Scheme};
use wasmtime_wasi_http::p2::body::HyperOutgoingBody;
use wasmtime_wasi_http::{Error as HttpError, WasiHttpView};

use super::{ANSWER_BODY_BYTES_MAX, HttpServer, QUEUE_LIMIT, REQUEST_BODY_BYTES_MAX};
use crate::log::Stream;
use crate::workload::exit::Exit;
use crate::workload::instance::{self, Input, Metered};
use crate::workload::stdio::Logged;

type BoxError = Box<dyn StdError + Send + Sync>;
/// The body of an answer.
pub(super) type AnswerBody = UnsyncBoxBody<Bytes, BoxError>;
type Answered = Result<Response<HyperOutgoingBody>, ErrorCode>;

/// Answers `request`, whatever becomes of the instance: with 413 if its body is too large, 503 if no instance becomes
/// free, 504 if the instance doesn't begin to answer in time, and 500 if it ends without an answer.
pub(super) async fn answer(site: Arc<HttpServer>, request: Request<Incoming>) -> Response<AnswerBody> {
    if request.body().size_hint().lower() > REQUEST_BODY_BYTES_MAX as u64 {
        return own(StatusCode::PAYLOAD_TOO_LARGE, "the request's body is too large\n");
    }
    let Ok(Ok(slot)) = timeout(QUEUE_LIMIT, site.instances.clone().acquire_owned()).await else {
        let mut busy = own(StatusCode::SERVICE_UNAVAILABLE, "too many requests are being answered\n");
        busy.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("1"));
        return busy;
    };
    let deadline = Instant::now() + site.spec.http_deadline;
    let (send, receive) = oneshot::channel();
    let instance = site.spec.helpers.spawn(instance(site.clone(), request, send, slot, deadline));
    // A client that goes away before it is answered takes the instance with it.
    let instance = AbortOnDropHandle::new(instance);
    match timeout_at(deadline, receive).await {
        Ok(Ok(Ok(answer))) => {
            // It may have more of the body to write, and has until the deadline.
            drop(instance.detach());
            answer.map(|body| Limited::new(body, ANSWER_BODY_BYTES_MAX).boxed_unsync())
        }
        Ok(Ok(Err(code))) => {
            site.remark(&format!("a request failed: {code}"));
            own(StatusCode::INTERNAL_SERVER_ERROR, "the program reported an error\n")
        }
        // The instance has the same deadline, and may have been stopped by it first.
        Ok(Err(_ended)) if Instant::now() < deadline => {
            own(StatusCode::INTERNAL_SERVER_ERROR, "the program ended without an answer\n")
        }
        Ok(Err(_)) | Err(_) => own(StatusCode::GATEWAY_TIMEOUT, "the program didn't answer in time\n"),
    }
}

fn own(status: StatusCode, words: &'static str) -> Response<AnswerBody> {
    let body = Full::from(words).map_err(|never: Infallible| match never {}).boxed_unsync();
    let mut response = Response::new(body);
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/plain"));
    response
}

/// Runs one instance until it ends, its time is over, or the container is.
async fn instance(
    site: Arc<HttpServer>,
    request: Request<Incoming>,
    send: oneshot::Sender<Answered>,
    _slot: OwnedSemaphorePermit,
    deadline: Instant,
) {
    let what = format!("{} {}", request.method(), request.uri().path());
    let account = site.spec.account.clone();
    let work = Metered::new(handle(&site, request, send), &site.ticker, account);
    let ended = tokio::select! {
        ended = timeout_at(deadline, work) => ended,
        () = site.spec.over.cancelled() => return,
    };
    match ended {
        Ok(Ok(())) => {}
        Ok(Err(error)) => {
            let Exit { message, .. } = Exit::of(Err(error));
            site.remark(&format!("{what}: {message}"));
        }
        Err(_late) => {
            let seconds = site.spec.http_deadline.as_secs_f64();
            site.remark(&format!("{what}: stopped after {seconds} s"));
        }
    }
}

async fn handle(
    site: &HttpServer,
    request: Request<Incoming>,
    send: oneshot::Sender<Answered>,
) -> wasmtime::Result<()> {
    let spec = &site.spec;
    let outputs = [Stream::Stdout, Stream::Stderr]
        .map(|stream| Arc::new(Logged::new(stream, spec.log.clone(), spec.now)));
    let mut store = instance::store(site.handler.engine(), spec, Input::Ended, outputs)?;
    let request = limited(named(request, site));
    let request = store.data_mut().http().new_incoming_request(Scheme::Http, request)?;
    let answer = store.data_mut().http().new_response_outparam(send)?;
    let handler = site.handler.instantiate_async(&mut store).await?;
    handler.wasi_http_incoming_handler().call_handle(&mut store, request, answer).await
}

/// A request of HTTP/1.0 needn't say whom it is for; programs receive it.
fn named(mut request: Request<Incoming>, site: &HttpServer) -> Request<Incoming> {
    if request.uri().authority().is_none()
        && !request.headers().contains_key(HOST)
        && let Ok(name) = HeaderValue::from_str(&site.address.to_string())
    {
        request.headers_mut().insert(HOST, name);
    }
    request
}

/// A body whose length no one announced ends with an error where it becomes too long.
fn limited(request: Request<Incoming>) -> Request<impl Body<Data = Bytes, Error = HttpError> + Send> {
    request.map(|body| {
        Limited::new(body, REQUEST_BODY_BYTES_MAX).map_err(|error| match error.downcast::<hyper::Error>() {
            Ok(error) => HttpError::from(*error),
            Err(error) if error.is::<LengthLimitError>() => {
                HttpError::HttpRequestBodySize(Some(REQUEST_BODY_BYTES_MAX as u64))
            }
            Err(error) => HttpError::InternalError(Some(error.to_string())),
        })
    })
}
