//! One channel to one socket: lazy, bounded, with a deadline for each call.

use std::sync::Arc;
use std::time::Duration;

use hyper_util::rt::TokioIo;
use prost::Message;
use tokio::net::UnixStream;
use tokio::time::Instant;
use tonic::client::Grpc;
use tonic::codegen::http::uri::PathAndQuery;
use tonic::transport::{Channel, Uri};
use tonic::{Request, Response, Status};
use tonic_prost::ProstCodec;
use tower::service_fn;
use witlet_ports::{RuntimeError, Tracer};
use witlet_proto::cri::image_service_client::ImageServiceClient;
use witlet_proto::cri::runtime_service_client::RuntimeServiceClient;

use crate::endpoint::Endpoint;
use crate::error::runtime_error;
use crate::lists::Entries;
use crate::operations::RuntimeOperations;
use crate::spans::{self, Propagating};

/// Largest message in bytes, both ways: upstream's `maxMsgSize` (`remote_runtime.go`).
pub const MESSAGE_BYTES_MAX: usize = 16 * 1024 * 1024;

/// What the runtime may send before it receives from us: a list of hundreds of pods should come in one go.
const WINDOW_BYTES: u32 = 1024 * 1024;

/// Longest time for the socket to accept, in which nothing is sent yet.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// What the runtime is reported above our own deadline, so that it is always we who give up and know the limit.
const DEADLINE_MARGIN: Duration = Duration::from_secs(1);

/// A socket that is connected when it is first needed and again after it broke.
#[derive(Clone)]
pub(crate) struct Connection {
    endpoint: Endpoint,
    channel: Propagating,
    operations: Arc<RuntimeOperations>,
    pub(crate) tracer: Tracer,
}

impl Connection {
    /// Must run inside a tokio runtime, which drives the channel. Doesn't touch the socket.
    pub(crate) fn lazy(endpoint: Endpoint, operations: Arc<RuntimeOperations>) -> Self {
        let path = endpoint.path().to_owned();
        // The name is for the HTTP/2 header alone; grpc-go sends the same for unix sockets.
        let channel = Channel::builder(Uri::from_static("http://localhost"))
            .connect_timeout(CONNECT_TIMEOUT)
            .initial_stream_window_size(WINDOW_BYTES)
            .initial_connection_window_size(WINDOW_BYTES)
            .connect_with_connector_lazy(service_fn(move |_: Uri| {
                let path = path.clone();
                async move { UnixStream::connect(path).await.map(TokioIo::new) }
            }));
        Self { endpoint, channel: Propagating(channel), operations, tracer: Tracer::off() }
    }

    pub(crate) fn runtime_service(&self) -> RuntimeServiceClient<Propagating> {
        RuntimeServiceClient::new(self.channel.clone())
            .max_decoding_message_size(MESSAGE_BYTES_MAX)
            .max_encoding_message_size(MESSAGE_BYTES_MAX)
    }

    /// A call that lists, with its entries left as they come.
    pub(crate) async fn list(
        &self,
        call: &str,
        list: Request<impl Message + 'static>,
    ) -> Result<Response<Entries>, Status> {
        let path = format!("/runtime.v1.RuntimeService/{call}");
        let path = PathAndQuery::try_from(path).map_err(|error| Status::internal(error.to_string()))?;
        let mut client = Grpc::new(self.channel.clone()).max_decoding_message_size(MESSAGE_BYTES_MAX);
        let ready = client.ready().await;
        ready.map_err(|error| Status::unknown(format!("Service was not ready: {error}")))?;
        client.unary(list, path, ProstCodec::default()).await
    }

    pub(crate) fn image_service(&self) -> ImageServiceClient<Propagating> {
        ImageServiceClient::new(self.channel.clone())
            .max_decoding_message_size(MESSAGE_BYTES_MAX)
            .max_encoding_message_size(MESSAGE_BYTES_MAX)
    }

    /// A failure in our words.
    pub(crate) fn refused(&self, call: &'static str, limit: Duration, status: &Status) -> RuntimeError {
        runtime_error(call, &self.endpoint, limit, status)
    }

    /// Waits for the answer no longer than `limit`; dropping the call then cancels it at the runtime too.
    pub(crate) async fn answer<T>(
        &self,
        call: &'static str,
        limit: Duration,
        answer: impl Future<Output = Result<Response<T>, Status>>,
    ) -> Result<T, RuntimeError> {
        let begun = Instant::now();
        let mut span = self.tracer.span(|| spans::start(call, &self.endpoint));
        let answer = span.scope(tokio::time::timeout(limit, answer)).await;
        spans::end(&mut span, answer.as_ref().ok());
        let answer = match answer {
            Ok(Ok(response)) => Ok(response.into_inner()),
            Ok(Err(status)) => Err(runtime_error(call, &self.endpoint, limit, &status)),
            Err(_) => Err(RuntimeError::DeadlineExceeded { call, limit }),
        };
        self.operations.ended(call, begun.elapsed(), answer.is_ok());
        answer
    }
}

/// A request that cancels the call at the runtime when no one waits for its answer any more.
pub(crate) fn request<T>(message: T, limit: Duration) -> Request<T> {
    let mut request = Request::new(message);
    request.set_timeout(limit.saturating_add(DEADLINE_MARGIN));
    request
}
