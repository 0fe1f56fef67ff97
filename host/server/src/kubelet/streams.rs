//! `/exec`, `/attach` and `/portForward`: the runtime's streaming server does the work, and the bytes go through here.

use std::sync::Arc;

use axum::http::StatusCode;
use axum::response::Response;
use hyper::body::Incoming;
use hyper::{HeaderMap, Request};
use tokio_util::sync::CancellationToken;
use witlet_ports::{RuntimeError, StreamOptions};

use super::headers::{is_websocket, protocols};
use super::query::query;
use super::route::Target;
use super::{KubeletServer, answers};

#[cfg(test)]
mod tests;

/// Ports that one request may name.
const PORTS_MAX: usize = 128;

/// Names and values of a query.
pub type Query = [(String, String)];

impl KubeletServer {
    pub(super) async fn exec(
        self: Arc<Self>,
        request: Request<impl Send + Sync>,
        target: Target<'_>,
        stop: CancellationToken,
    ) -> Response {
        let query = query(request.uri());
        let options = match options(&query) {
            Ok(options) => options,
            Err(refused) => return answers::text(StatusCode::BAD_REQUEST, refused),
        };
        let command = query.into_iter().filter(|(name, _)| name == "command").map(|(_, word)| word);
        let command: Vec<String> = command.collect();
        let url = match self.container_to_run_in(&target).await {
            Ok(id) => self.parts.streaming.exec(&id, &command, options).await,
            Err(refused) => return *refused,
        };
        self.pass(request, url, "exec", stop).await
    }

    pub(super) async fn attach(
        self: Arc<Self>,
        request: Request<Incoming>,
        target: Target<'_>,
        stop: CancellationToken,
    ) -> Response {
        let options = match options(&query(request.uri())) {
            Ok(options) => options,
            Err(refused) => return answers::text(StatusCode::BAD_REQUEST, refused),
        };
        let url = match self.container_to_attach_to(&target).await {
            // The request's terminal says only which ways out it wants.
            Ok((id, tty)) => self.parts.streaming.attach(&id, StreamOptions { tty, ..options }).await,
            Err(refused) => return *refused,
        };
        self.pass(request, url, "attach", stop).await
    }

    pub(super) async fn port_forward(
        self: Arc<Self>,
        request: Request<Incoming>,
        target: Target<'_>,
        stop: CancellationToken,
    ) -> Response {
        let ports = match ports(request.headers(), &query(request.uri())) {
            Ok(ports) => ports,
            Err(refused) => return answers::text(StatusCode::BAD_REQUEST, refused),
        };
        let url = match self.ready_sandbox(&target).await {
            Ok(id) => self.parts.streaming.port_forward(&id, &ports).await,
            Err(refused) => return *refused,
        };
        self.pass(request, url, "portforward", stop).await
    }

    async fn pass(
        self: Arc<Self>,
        request: Request<impl Send + Sync>,
        url: Result<String, RuntimeError>,
        subresource: &'static str,
        stop: CancellationToken,
    ) -> Response {
        match url {
            Ok(url) => {
                if is_counted(request.headers(), subresource) {
                    self.requests.websocket(subresource);
                }
                self.pass_through(request, &url, stop).await
            }
            Err(failed) => answers::runtime_failed(&failed),
        }
    }
}

/// Which streams a query wants: `input`, `output`, `error` and `tty` are `1`, as an API server sends them. The names of
/// the API itself (`stdin=true`, …) are taken, too.
///
/// # Errors
///
/// When it wants none, in upstream's words.
pub fn options(query: &Query) -> Result<StreamOptions, &'static str> {
    let wants = |names: [&str; 2]| {
        query.iter().any(|(name, value)| names.contains(&name.as_str()) && matches!(&**value, "1" | "true"))
    };
    let tty = wants(["tty", "tty"]);
    let options = StreamOptions {
        stdin: wants(["input", "stdin"]),
        stdout: wants(["output", "stdout"]),
        // A terminal has one way out.
        stderr: wants(["error", "stderr"]) && !tty,
        tty,
    };
    let any = options.stdin || options.stdout || options.stderr;
    any.then_some(options).ok_or("you must specify at least 1 of stdin, stdout, stderr")
}

/// Which ports are named: a WebSocket must, SPDY names them in the stream. At most 128.
///
/// # Errors
///
/// When a WebSocket names none, or one that is none, in upstream's words.
pub fn ports(headers: &HeaderMap, query: &Query) -> Result<Vec<u16>, String> {
    if !is_websocket(headers) {
        return Ok(Vec::new());
    }
    let named: Vec<&str> =
        query.iter().filter(|(name, _)| name == "port").map(|(_, value)| value.as_str()).collect();
    if named.is_empty() {
        return Err("query parameter \"port\" is required".to_owned());
    }
    let mut ports = Vec::new();
    for value in named {
        if value.is_empty() {
            return Err("query parameter \"port\" cannot be empty".to_owned());
        }
        for port in value.split(',') {
            match port.parse() {
                Ok(0) => return Err(format!("port {value:?} must be > 0")),
                Ok(port) => ports.push(port),
                Err(error) => return Err(format!("unable to parse {value:?} as a port: {error}")),
            }
        }
        if ports.len() > PORTS_MAX {
            return Err(format!("more than {PORTS_MAX} ports"));
        }
    }
    Ok(ports)
}

/// Whether a request is one of the WebSockets that a kubelet counts: those with the protocols that an API server speaks to it since it
/// leaves them to the node.
pub(super) fn is_counted(headers: &HeaderMap, subresource: &str) -> bool {
    let counted = match subresource {
        "portforward" => "SPDY/3.1+portforward.k8s.io",
        _ => "v5.channel.k8s.io",
    };
    let mut protocols = protocols(headers).flat_map(|value| value.split(','));
    is_websocket(headers) && protocols.any(|protocol| protocol.trim() == counted)
}
