//! `/exec`, `/attach` and `/portForward`: the runtime's streaming server does the work, and the bytes go through here.

use std::sync::Arc;

use axum::http::StatusCode;
use axum::response::Response;
use hyper::body::Incoming;
use hyper::{HeaderMap, Request, header};
use tokio_util::sync::CancellationToken;
use witlet_ports::{RuntimeError, StreamOptions};

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
        self.count_websocket(request.headers(), "exec");
        let url = match self.container_to_run_in(&target).await {
            Ok(id) => self.parts.streaming.exec(&id, &command, options).await,
            Err(refused) => return *refused,
        };
        self.pass(request, url, stop).await
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
        self.count_websocket(request.headers(), "attach");
        let url = match self.container_to_attach_to(&target).await {
            Ok(id) => self.parts.streaming.attach(&id, options).await,
            Err(refused) => return *refused,
        };
        self.pass(request, url, stop).await
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
        self.count_websocket(request.headers(), "portforward");
        let url = match self.ready_sandbox(&target).await {
            Ok(id) => self.parts.streaming.port_forward(&id, &ports).await,
            Err(refused) => return *refused,
        };
        self.pass(request, url, stop).await
    }

    fn count_websocket(&self, headers: &HeaderMap, subresource: &'static str) {
        if is_websocket(headers) {
            self.requests.websocket(subresource);
        }
    }

    async fn pass(
        self: Arc<Self>,
        request: Request<impl Send + Sync>,
        url: Result<String, RuntimeError>,
        stop: CancellationToken,
    ) -> Response {
        match url {
            Ok(url) => self.pass_through(request, &url, stop).await,
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

fn is_websocket(headers: &HeaderMap) -> bool {
    let upgrade = headers.get(header::UPGRADE).and_then(|value| value.to_str().ok());
    upgrade.is_some_and(|upgrade| upgrade.eq_ignore_ascii_case("websocket"))
}
