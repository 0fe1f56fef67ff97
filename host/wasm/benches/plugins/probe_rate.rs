//! Many HTTP probes a second: processor time of this process per probe through the component `httpGet`, as the agent asks it,
//! compared with the same check written natively.
//!
//! Both go to the same server at the same rate, with one connection for each probe and the same headers, in turns.

use std::sync::Arc;
use std::time::Duration;

use http_body_util::{BodyExt as _, Empty};
use hyper::Request;
use hyper::body::Bytes;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use serde_json::json;
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio::time::{MissedTickBehavior, interval, timeout};
use witlet_core::event::Event;
use witlet_core::probe::{ProbeOutcome, ProbeRequest};
use witlet_ports::{EventSink, ProbeTypes};
use witlet_wasm::compile::CompilerConfig;
use witlet_wasm::host::{DataConfig, PluginHost, PluginHostConfig};
use witlet_wasm::plugin::Builtin;

use crate::measure::{self, FixedClock, Line, cpu_seconds, describe, report};
use crate::probe::{http_grants, request, shipped};
use crate::server::Server;

/// Probes a second.
const RATE: u32 = 500;
/// How long each turn lasts.
const TURN: Duration = Duration::from_secs(4);
/// How many turns each has; the cheapest counts.
const TURNS: usize = 5;
/// The component may take this many times the processor time of the native check.
const RATIO_BUDGET: f64 = 2.0;
/// Who asks, as upstream's probes say.
const USER_AGENT: &str = "kube-probe/1.36";
/// How long a native check may take.
const TIMEOUT: Duration = Duration::from_secs(10);

struct NoEvents;

impl EventSink for NoEvents {
    fn record(&self, _event: Event) {}
}

/// A host with these built-ins and nothing configured.
pub(crate) async fn host(
    compiler: CompilerConfig,
    builtins: Vec<Builtin>,
) -> Result<Arc<PluginHost>, String> {
    let host = PluginHost::start(PluginHostConfig {
        tracer: witlet_ports::Tracer::off(),
        compiler,
        plugins_file: None,
        builtins,
        shipped: Vec::new(),
        fetcher: None,
        containers: None,
        state_folder: None,
        last_good_folder: None,
        data: DataConfig::default(),
        decision_log_folder: None,
        in_cluster: false,
        node: None,
        recorder: None,
        clock: Arc::new(FixedClock),
        events: Arc::new(NoEvents),
    })
    .await
    .map_err(describe)?;
    host.ready().await;
    Ok(host)
}

pub(crate) fn measure() -> Result<bool, String> {
    measure::runtime()?.block_on(async {
        let server = Server::start()?;
        let (_folder, compiler) = measure::compiler()?;
        let builtin = Builtin::probe("httpGet", "httpGet", shipped("httpGet")?, http_grants());
        let host = host(compiler, vec![builtin]).await?;
        let probes = host.probes();
        let request = Arc::new(request("httpGet", &json!({"path": "/healthz", "port": server.port})));
        let (mut component, mut native) = (f64::INFINITY, f64::INFINITY);
        for _ in 0..TURNS {
            let port = server.port;
            native = native
                .min(turn(|| async move { timeout(TIMEOUT, check(port)).await.map_err(describe)? }).await?);
            component = component.min(turn(|| ask(probes.clone(), request.clone())).await?);
        }
        let line = Line {
            name: format!("probe/httpGet/{RATE}-a-second/cpu"),
            unit: "us",
            value: component,
            floor: Some(native),
            budget: Some(RATIO_BUDGET * native),
        };
        report(
            &format!("probe/httpGet/{RATE}-a-second/load"),
            "% of a core",
            component * f64::from(RATE) / 1e4,
            None,
        );
        Ok(line.print())
    })
}

/// Microseconds of processor time per probe, over one turn.
async fn turn<F, W>(probe: F) -> Result<f64, String>
where
    F: Fn() -> W,
    W: Future<Output = Result<(), String>> + Send + 'static,
{
    let probes = RATE * u32::try_from(TURN.as_secs()).map_err(describe)?;
    let mut ticks = interval(Duration::from_secs(1) / RATE);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Burst);
    let mut running = JoinSet::new();
    let before = cpu_seconds();
    for _ in 0..probes {
        ticks.tick().await;
        running.spawn(probe());
        while let Some(done) = running.try_join_next() {
            done.map_err(describe)??;
        }
    }
    while let Some(done) = running.join_next().await {
        done.map_err(describe)??;
    }
    Ok((cpu_seconds() - before) * 1e6 / f64::from(probes))
}

async fn ask(probes: Arc<dyn ProbeTypes>, request: Arc<ProbeRequest>) -> Result<(), String> {
    match probes.probe(&request).await {
        Ok(ProbeOutcome::Success(body)) if body == "ok" => Ok(()),
        other => Err(format!("an unexpected outcome: {other:?}")),
    }
}

/// The native check.
async fn check(port: u16) -> Result<(), String> {
    let stream = TcpStream::connect(("127.0.0.1", port)).await.map_err(describe)?;
    let (mut sender, connection) = http1::Builder::new()
        .title_case_headers(true)
        .handshake(TokioIo::new(stream))
        .await
        .map_err(describe)?;
    let request = Request::get("/healthz")
        .header("Host", format!("127.0.0.1:{port}"))
        .header("User-Agent", USER_AGENT)
        .header("Accept", "*/*")
        .header("Connection", "close")
        .body(Empty::<Bytes>::new())
        .map_err(describe)?;
    let exchange = async {
        let response = sender.send_request(request).await.map_err(describe)?;
        let status = response.status().as_u16();
        let body = response.into_body().collect().await.map_err(describe)?.to_bytes();
        match (status, body.as_ref()) {
            (200..=399, b"ok") => Ok(()),
            (status, _) => Err(format!("an unexpected answer: {status}")),
        }
    };
    let (exchanged, _closed) = tokio::join!(exchange, connection);
    exchanged
}
