//! One pod, from its manifest to the collector: the agent on a node of fakes, a runtime behind a socket, and a collector.

use std::sync::Arc;
use std::time::Duration;

use expect_test::expect;
use tokio::net::UnixListener;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use witlet_core::trace::endpoint::CollectorEndpoint;
use witlet_core::trace::{Sampler, SpanData};
use witlet_cri::{CriClient, CriOptions};
use witlet_fake_cri::FakeCri;
use witlet_otlp::{Exporter, SpanQueue};
use witlet_ports::{SpanSink, Tracer};
use witlet_proto::otlp::any_value::Value;
use witlet_proto::otlp::{KeyValue, Span};
use witlet_testkit::{FakeNode, pod};

use crate::{Counting, Fixed, WAIT_TIMEOUT, fill_batch, resource, serve_unix};

/// Passes the spans of pods on to the exporter, and reports which have ended. What an agent asks its runtime again and again
/// would fill the queue before a busy machine has started the pod.
struct Watched {
    queue: Arc<SpanQueue>,
    ended: watch::Sender<Vec<String>>,
}

impl SpanSink for Watched {
    fn take(&self, span: SpanData) {
        let (name, failed) = (span.name.to_string(), span.status != Default::default());
        if span.parent.is_some() || name == "syncPod" {
            self.queue.take(span);
        }
        self.ended.send_modify(|ended| ended.push(if failed { format!("{name} failed") } else { name }));
    }
}

#[tokio::test]
async fn a_pods_start_arrives_at_the_collector_as_spans_with_their_parents() {
    let folder = tempfile::tempdir().expect("a folder");
    let (runtime_socket, collector_socket) =
        (folder.path().join("cri.sock"), folder.path().join("otel.sock"));
    let mut tasks = JoinSet::new();
    let (cri, stop) = (FakeCri::default(), CancellationToken::new());
    let (serving, socket, until) = (cri.clone(), runtime_socket.clone(), stop.clone());
    tasks.spawn(async move { serving.serve(&socket, until).await.expect("serves") });
    let mut received = serve_unix(UnixListener::bind(&collector_socket).expect("a socket"), &mut tasks);

    let endpoint = CollectorEndpoint::Unix(collector_socket);
    let (exporter, queue) = Exporter::new(&endpoint, resource(), Arc::new(Fixed));
    let (ended, mut seen) = watch::channel(Vec::new());
    let sink = Arc::new(Watched { queue, ended });
    let sampler = Sampler::per_million(1_000_000);
    let fill = Tracer::new(sampler, sink.queue.clone(), Arc::new(Counting::default()), Arc::new(Fixed));
    let tracer = Tracer::new(sampler, sink, Arc::new(Counting::default()), Arc::new(Fixed));

    let options = CriOptions::at(runtime_socket.to_str().expect("UTF-8")).expect("a socket");
    let client = CriClient::new(options, Arc::new(Fixed)).expect("inside a runtime");
    let mut node = FakeNode::new();
    node.other_runtime = Some(client.with_tracer(tracer.clone()).into_runtime());
    node.tracer = tracer;
    // Nothing waits for a second.
    for period in [&mut node.config.relist, &mut node.config.sync_tick, &mut node.config.runtime_check] {
        *period = Duration::from_millis(5);
    }
    node.start();
    node.source.put("web", vec![pod("web").image("sleeper:1").uid("u-1").build()]);
    let synced = seen.wait_for(|ended| ended.iter().any(|name| name == "syncPod"));
    timeout(WAIT_TIMEOUT, synced).await.expect("in time").expect("the tracer lives");
    node.kill();

    fill_batch(&fill);
    tasks.spawn(exporter.run(CancellationToken::new()));
    let mut spans: Vec<Span> = Vec::new();
    let started =
        |span: &Span| span.name == "syncPod" && span.status.as_ref().is_some_and(|s| s.message.is_empty());
    while !spans.iter().any(started) {
        let request = timeout(WAIT_TIMEOUT, received.recv()).await.expect("in time").expect("a batch");
        spans
            .extend(request.resource_spans.into_iter().flat_map(|of| of.scope_spans).flat_map(|of| of.spans));
    }
    // Ids count up: in the order in which they began.
    spans.sort_by(|one, other| one.span_id.cmp(&other.span_id));
    let sync = spans.iter().find(|span| started(span)).expect("there");
    let socket = runtime_socket.display().to_string();
    let tree = [line(sync)].into_iter().chain(children(sync, &spans).map(|span| format!("  {}", line(span))));
    let tree = tree.map(|line| line.replace(&socket, "SOCKET") + "\n").collect::<String>();
    expect![[r#"
        syncPod k8s.pod.uid=u-1 k8s.pod=default/web-node1 k8s.pod.name=web-node1 k8s.namespace.name=default k8s.pod.update_type=create
          runtime.v1.RuntimeService/RunPodSandbox rpc.system.name=grpc server.address=SOCKET rpc.response.status_code=OK
          runtime.v1.RuntimeService/ListPodSandbox rpc.system.name=grpc server.address=SOCKET rpc.response.status_code=OK
          runtime.v1.RuntimeService/ListContainers rpc.system.name=grpc server.address=SOCKET rpc.response.status_code=OK
          runtime.v1.RuntimeService/PodSandboxStatus rpc.system.name=grpc server.address=SOCKET rpc.response.status_code=OK
          runtime.v1.ImageService/ImageStatus rpc.system.name=grpc server.address=SOCKET rpc.response.status_code=OK
          runtime.v1.RuntimeService/CreateContainer rpc.system.name=grpc server.address=SOCKET rpc.response.status_code=OK
          runtime.v1.RuntimeService/StartContainer rpc.system.name=grpc server.address=SOCKET rpc.response.status_code=OK
    "#]].assert_eq(&tree);
    let trace: Vec<_> = children(sync, &spans).map(|span| &span.trace_id).collect();
    assert!(trace.iter().all(|id| **id == sync.trace_id), "one trace");
}

fn children<'a>(of: &'a Span, all: &'a [Span]) -> impl Iterator<Item = &'a Span> {
    all.iter().filter(|span| span.parent_span_id == of.span_id)
}

fn line(span: &Span) -> String {
    let mut words = vec![span.name.clone()];
    // The name of a call says it already.
    words.extend(span.attributes.iter().filter(|pair| pair.key != "rpc.method").map(word));
    words.join(" ")
}

fn word(pair: &KeyValue) -> String {
    match pair.value.clone().and_then(|value| value.value) {
        Some(Value::StringValue(text)) => format!("{}={text}", pair.key),
        other => format!("{}={other:?}", pair.key),
    }
}
