//! Spans on the wire: the exporter and a collector on each kind of address.

mod pod;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use jiff::Timestamp;
use tokio::net::{TcpListener, UnixListener};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::timeout;
use tokio_stream::wrappers::{TcpListenerStream, UnixListenerStream};
use tokio_util::sync::CancellationToken;
use tonic::transport::Server;
use tonic::{Request, Response, Status};
use witlet_core::trace::endpoint::CollectorEndpoint;
use witlet_core::trace::export::BATCH_MAX;
use witlet_core::trace::{Sampler, SpanKind, SpanStart};
use witlet_otlp::{Exporter, Resource};
use witlet_ports::{Clock, Jitter, RandomBits, Tracer};
use witlet_proto::otlp::trace_service_server::{TraceService, TraceServiceServer};
use witlet_proto::otlp::{ExportTraceServiceRequest, ExportTraceServiceResponse};

/// Against a hang; nothing is measured with it.
const WAIT_TIMEOUT: Duration = Duration::from_secs(300);

/// Passes on what it receives.
struct FakeCollector(mpsc::Sender<ExportTraceServiceRequest>);

#[tonic::async_trait]
impl TraceService for FakeCollector {
    async fn export(
        &self,
        request: Request<ExportTraceServiceRequest>,
    ) -> Result<Response<ExportTraceServiceResponse>, Status> {
        let sent = self.0.send(request.into_inner()).await;
        sent.map_err(|_| Status::unavailable("the test is over"))?;
        Ok(Response::new(ExportTraceServiceResponse::default()))
    }
}

struct Fixed;

impl Clock for Fixed {
    fn now(&self) -> Timestamp {
        Timestamp::UNIX_EPOCH
    }
}

impl Jitter for Fixed {
    fn unit(&self) -> f64 {
        0.0
    }
}

/// 1, 2, 3, …
#[derive(Default)]
struct Counting(AtomicU64);

impl RandomBits for Counting {
    fn next(&self) -> u64 {
        self.0.fetch_add(1, Ordering::Relaxed) + 1
    }
}

fn resource() -> Resource {
    Resource {
        service_name: "kubelet".to_owned(),
        host_name: "node1".to_owned(),
        scope: ("witlet".to_owned(), "0".to_owned()),
    }
}

/// What a collector at this address gets of two spans, the second within the first, and of those that fill the batch.
async fn exported(
    endpoint: &CollectorEndpoint,
    mut received: mpsc::Receiver<ExportTraceServiceRequest>,
) -> String {
    let (exporter, queue) = Exporter::new(endpoint, resource(), Arc::new(Fixed));
    let tracer =
        Tracer::new(Sampler::per_million(1_000_000), queue, Arc::new(Counting::default()), Arc::new(Fixed));
    let start = |name: &'static str| SpanStart {
        name: name.into(),
        kind: SpanKind::Internal,
        attributes: Vec::new(),
    };
    let outer = tracer.span(|| start("outer"));
    outer.scope(async { drop(tracer.span(|| start("inner"))) }).await;
    drop(outer);
    fill_batch(&tracer);
    let (stop, mut tasks) = (CancellationToken::new(), JoinSet::new());
    tasks.spawn(exporter.run(stop.clone()));
    let request = timeout(WAIT_TIMEOUT, received.recv()).await.expect("in time").expect("a batch");
    stop.cancel();
    while tasks.join_next().await.is_some() {}
    let spans = &request.resource_spans[0].scope_spans[0].spans;
    let names: Vec<&str> = spans.iter().map(|span| &*span.name).filter(|name| *name != "filler").collect();
    names.join(" ")
}

/// A batch that is full is sent at once.
fn fill_batch(tracer: &Tracer) {
    for _ in 0..BATCH_MAX {
        drop(tracer.span(|| SpanStart {
            name: "filler".into(),
            kind: SpanKind::Internal,
            attributes: Vec::new(),
        }));
    }
}

fn serve_unix(listener: UnixListener, tasks: &mut JoinSet<()>) -> mpsc::Receiver<ExportTraceServiceRequest> {
    let (sender, received) = mpsc::channel(8);
    let serving = Server::builder()
        .add_service(TraceServiceServer::new(FakeCollector(sender)))
        .serve_with_incoming(UnixListenerStream::new(listener));
    tasks.spawn(async move { serving.await.expect("serves") });
    received
}

#[tokio::test]
async fn a_collector_is_reached_by_its_address() {
    let (sender, received) = mpsc::channel(8);
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let port = listener.local_addr().expect("bound").port();
    let mut tasks = JoinSet::new();
    let serving = Server::builder()
        .add_service(TraceServiceServer::new(FakeCollector(sender)))
        .serve_with_incoming(TcpListenerStream::new(listener));
    tasks.spawn(async move { serving.await.expect("serves") });
    let endpoint = format!("dns:///127.0.0.1:{port}").parse().expect("an endpoint");
    assert_eq!(exported(&endpoint, received).await, "inner outer");
}

#[tokio::test]
async fn a_collector_is_reached_by_its_socket() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("otel.sock");
    let mut tasks = JoinSet::new();
    let received = serve_unix(UnixListener::bind(&path).expect("a socket"), &mut tasks);
    let endpoint = format!("unix://{}", path.display()).parse().expect("an endpoint");
    assert_eq!(exported(&endpoint, received).await, "inner outer");
}

#[tokio::test]
async fn a_collector_is_reached_by_its_abstract_name() {
    let folder = tempfile::tempdir().expect("a folder");
    // The folder's name is this run's alone.
    let name = format!("{}/otel", folder.path().display());
    let mut tasks = JoinSet::new();
    let listener = UnixListener::bind(PathBuf::from(format!("\0{name}"))).expect("a socket");
    let received = serve_unix(listener, &mut tasks);
    let endpoint = format!("unix-abstract:{name}").parse().expect("an endpoint");
    assert_eq!(exported(&endpoint, received).await, "inner outer");
}
