//! Requests that programs send by `wasi:http/outgoing-handler`, over connections that keep to the pod's rules for
//! sockets.
//!
//! There is no TLS: a request by HTTPS fails with `internal-error` and words that say so.

use std::future::Future;
use std::net::SocketAddr;
use std::time::Duration;

use http_body_util::BodyExt;
use hyper::http::uri::{Authority, PathAndQuery, Scheme, Uri};
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use tokio::net::{TcpSocket, TcpStream, lookup_host};
use tokio::time::timeout;
use wasmtime_wasi_http::{Error, RequestOptions, WasiBody, WasiHttpHooks};

use crate::network::{Network, Refusal};

/// How long connecting may take, if the program allows more or says nothing.
const CONNECT_LIMIT: Duration = Duration::from_secs(30);
/// How long the head of an answer may take if the program says nothing.
const ANSWER_LIMIT: Duration = Duration::from_secs(600);
/// The port of a request that names none.
const PORT_DEFAULT: u16 = 80;

/// What happens to an instance's requests.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Outgoing {
    network: Network,
}

impl Outgoing {
    /// Creates the hooks of a pod on this network.
    pub(crate) fn new(network: Network) -> Self {
        Self { network }
    }
}

/// What drives a connection after the answer has begun.
type Rest = Box<dyn Future<Output = Result<(), Error>> + Send>;
/// An answer, and what must be driven while its body is read.
type SendResult = Result<(Response<WasiBody>, Rest), Error>;

impl WasiHttpHooks for Outgoing {
    fn send_request(
        &mut self,
        request: Request<WasiBody>,
        options: Option<RequestOptions>,
        _fate: Box<dyn Future<Output = Result<(), Error>> + Send>,
    ) -> Box<dyn Future<Output = SendResult> + Send> {
        let network = self.network;
        Box::new(async move { send(network, request, options.unwrap_or_default()).await })
    }
}

async fn send(network: Network, mut request: Request<WasiBody>, options: RequestOptions) -> SendResult {
    if request.uri().scheme() == Some(&Scheme::HTTPS) {
        return Err(Error::InternalError(Some("the embedded runtime sends no HTTPS".to_owned())));
    }
    let authority = request.uri().authority().ok_or(Error::HttpRequestUriInvalid)?.clone();
    let connect_limit = options.connect_timeout.unwrap_or(CONNECT_LIMIT).min(CONNECT_LIMIT);
    let stream = timeout(connect_limit, connect(network, &authority))
        .await
        .map_err(|_late| Error::ConnectionTimeout)??;
    let (mut sender, mut connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await?;
    // The server receives the path alone, as servers that aren't proxies expect.
    let path = request.uri().path_and_query().cloned();
    *request.uri_mut() = Uri::from(path.unwrap_or_else(|| PathAndQuery::from_static("/")));
    let sending = sender.send_request(request);
    tokio::pin!(sending);
    let mut over = false;
    let answered = async {
        tokio::select! {
            biased;
            answer = &mut sending => answer,
            ended = &mut connection => {
                over = true;
                ended?;
                // The connection ended because the whole answer has come, or without one, which is known now.
                sending.await
            }
        }
    };
    let answer_limit = options.first_byte_timeout.unwrap_or(ANSWER_LIMIT);
    let answer = timeout(answer_limit, answered).await.map_err(|_late| Error::ConnectionReadTimeout)??;
    let rest: Rest = match over {
        true => Box::new(async { Ok(()) }),
        false => Box::new(async move { Ok(connection.await?) }),
    };
    Ok((answer.map(|body| body.map_err(Error::from).boxed_unsync()), rest))
}

async fn connect(network: Network, authority: &Authority) -> Result<TcpStream, Error> {
    let port = authority.port_u16().unwrap_or(PORT_DEFAULT);
    let host = authority.host().trim_start_matches('[').trim_end_matches(']');
    let unknown = || Error::DnsError { rcode: Some("NXDOMAIN".to_owned()), info_code: None };
    let name = network.lookup(host).ok_or_else(unknown)?;
    let found = lookup_host((name.as_str(), port)).await.map_err(|_no_such_name| unknown())?;
    let mut failure = unknown();
    for address in found {
        match connect_to(network, address).await {
            Ok(stream) => return Ok(stream),
            Err(error) => failure = error,
        }
    }
    Err(failure)
}

async fn connect_to(network: Network, requested: SocketAddr) -> Result<TcpStream, Error> {
    let address = network.reach(requested).map_err(|refusal| match refusal {
        Refusal::OutOfReach | Refusal::NotThePods => Error::DestinationIpProhibited,
        Refusal::NoIpv6 => Error::DestinationIpUnroutable,
    })?;
    let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() };
    let socket = socket.map_err(Error::Connect)?;
    if let Some(source) = network.source() {
        socket.bind(source).map_err(Error::Connect)?;
    }
    socket.connect(address).await.map_err(Error::Connect)
}
