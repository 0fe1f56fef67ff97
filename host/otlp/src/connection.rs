//! The way to a collector: connected with the first batch, and again whenever it broke.

use std::path::PathBuf;
use std::time::Duration;

use hyper_util::rt::TokioIo;
use tokio::net::UnixStream;
use tonic::transport::{Channel, Endpoint, Uri};
use tonic::{Request, Status};
use tower::service_fn;
use witlet_core::trace::endpoint::CollectorEndpoint;
use witlet_core::trace::export::EXPORT_TIMEOUT;
use witlet_proto::otlp::trace_service_client::TraceServiceClient;
use witlet_proto::otlp::{ExportTraceServiceRequest, ExportTraceServiceResponse};

use crate::collector::Collector;

/// How long a connection may take.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// How often the other side is asked whether it is still there while it owes an answer, and how long that may take.
const KEEPALIVE: (Duration, Duration) = (Duration::from_secs(30), Duration::from_secs(10));
/// How much longer the deadline is that the collector receives, so that it is always we who give up.
const DEADLINE_MARGIN: Duration = Duration::from_secs(1);

/// A collector behind an endpoint.
pub(crate) struct Connection(TraceServiceClient<Channel>);

impl Connection {
    /// Must run inside a tokio runtime, which drives the channel. Connects to no one yet.
    pub(crate) fn lazy(endpoint: &CollectorEndpoint) -> Self {
        let channel = match endpoint {
            CollectorEndpoint::Tcp { host, port } => tcp(host, *port),
            CollectorEndpoint::Unix(path) => socket(path.clone()),
            // A path that begins with a zero is a name for tokio, as it is for the kernel.
            CollectorEndpoint::UnixAbstract(name) => socket(PathBuf::from(format!("\0{name}"))),
        };
        Self(TraceServiceClient::new(channel))
    }
}

fn builder(uri: Uri) -> Endpoint {
    Channel::builder(uri)
        .connect_timeout(CONNECT_TIMEOUT)
        .http2_keep_alive_interval(KEEPALIVE.0)
        .keep_alive_timeout(KEEPALIVE.1)
}

fn tcp(host: &str, port: u16) -> Channel {
    let host = if host.contains(':') { format!("[{host}]") } else { host.to_owned() };
    // A host that makes no URL has no address either: the first batch says so.
    let uri = Uri::try_from(format!("http://{host}:{port}"));
    builder(uri.unwrap_or_else(|_| Uri::from_static("http://invalid."))).connect_lazy()
}

fn socket(path: PathBuf) -> Channel {
    // The name is for the HTTP/2 header alone; grpc-go sends the same for unix sockets.
    builder(Uri::from_static("http://localhost")).connect_with_connector_lazy(service_fn(move |_: Uri| {
        let path = path.clone();
        async move { UnixStream::connect(path).await.map(TokioIo::new) }
    }))
}

impl Collector for Connection {
    async fn export(&self, batch: ExportTraceServiceRequest) -> Result<ExportTraceServiceResponse, Status> {
        let mut request = Request::new(batch);
        request.set_timeout(EXPORT_TIMEOUT + DEADLINE_MARGIN);
        let mut client = self.0.clone();
        client.export(request).await.map(tonic::Response::into_inner)
    }
}
