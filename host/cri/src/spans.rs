//! Spans of calls to the runtime, and their context on the way to it.

use std::task::{Context, Poll};

use tonic::body::Body;
use tonic::codegen::http::{HeaderValue, Request, Response};
use tonic::transport::{Channel, Error};
use tonic::{Code, Status};
use tower::Service;
use witlet_core::trace::{SpanStart, rpc};
use witlet_ports::{Span, trace};

use crate::endpoint::Endpoint;
use crate::error::go_name;

/// How a call begins.
pub(crate) fn start(call: &str, endpoint: &Endpoint) -> SpanStart {
    let service = match call {
        "ImageStatus" | "ListImages" | "PullImage" | "RemoveImage" | "ImageFsInfo" => "ImageService",
        _ => "RuntimeService",
    };
    rpc::client(format!("runtime.v1.{service}/{call}"), endpoint.path().display().to_string())
}

/// How it ended; none is the deadline.
pub(crate) fn end<T>(span: &mut Span, answer: Option<&Result<T, Status>>) {
    span.record(|data| {
        let (code, error) = match answer {
            Some(Ok(_)) => (Code::Ok, None),
            Some(Err(status)) => (status.code(), Some(status.message())),
            None => (Code::DeadlineExceeded, Some("context deadline exceeded")),
        };
        let (attribute, status) = rpc::client_end(go_name(code), error);
        data.attributes.push(attribute);
        data.status = status;
    });
}

/// A channel whose requests have the context of the task that makes them (`traceparent`, `tracestate`, `baggage`), whether it is
/// sampled or not.
#[derive(Clone, Debug)]
pub(crate) struct Propagating(pub(crate) Channel);

impl Service<Request<Body>> for Propagating {
    type Response = Response<Body>;
    type Error = Error;
    type Future = <Channel as Service<Request<Body>>>::Future;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Error>> {
        self.0.poll_ready(context)
    }

    fn call(&mut self, mut request: Request<Body>) -> Self::Future {
        let headers = request.headers_mut();
        trace::propagate(|name, value| {
            // Foreign parts of it were checked when they came in.
            if let Ok(value) = HeaderValue::from_str(value) {
                headers.insert(name, value);
            }
        });
        self.0.call(request)
    }
}
