//! `wasi:http/outgoing-handler`: each request goes out through the node's egress, within what the call reaches.

use std::future::{Future, ready};
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::BodyExt as _;
use hyper::body::{Body, Frame, SizeHint};
use hyper::header::{CONNECTION, HeaderName, TRANSFER_ENCODING, UPGRADE};
use hyper::{Request, Response};
use wasmtime_wasi_http::{Error, ForbiddenHeaderFilter, RequestOptions, WasiBody, WasiHttpHooks};
use witlet_egress::ConnectError;
use witlet_egress::TlsError;
use witlet_egress::{BodyError, Egress, LookupError, Reach, ResolveError, SendError, SendLimits, TlsPolicy};

use super::budget::{ConnectionBudget, ConnectionPermit};

/// How long each part of an exchange may take if the guest doesn't say. The call's own deadline is mostly earlier.
const PART_MAX: Duration = Duration::from_secs(60);

/// Headers that a guest may not set: they say how a connection is used (RFC 9110 section 7.6.1), which is the host's. All
/// others are the guest's, `Host` and those for proxies among them: upstream's probes send what a spec says.
const FORBIDDEN: [HeaderName; 6] = [
    CONNECTION,
    HeaderName::from_static("keep-alive"),
    HeaderName::from_static("proxy-connection"),
    TRANSFER_ENCODING,
    UPGRADE,
    HeaderName::from_static("http2-settings"),
];

/// What happens to an instance's requests.
pub(crate) struct Hooks {
    egress: Egress,
    tls: TlsPolicy,
    reach: Reach,
    budget: ConnectionBudget,
}

impl Hooks {
    pub(crate) fn new(egress: Egress, tls: TlsPolicy, budget: ConnectionBudget) -> Self {
        Self { egress, tls, reach: Reach::nothing(), budget }
    }

    /// What the next call's requests reach.
    pub(crate) fn begin(&mut self, reach: Reach) {
        self.reach = reach;
    }

    /// Sets the egress of the requests from now on.
    pub(crate) fn go_out_by(&mut self, egress: Egress) {
        self.egress = egress;
    }
}

/// What drives a connection next to its answer: nothing here, because the answer's body does it.
type Rest = Box<dyn Future<Output = Result<(), Error>> + Send>;
type SendResult = Result<(Response<WasiBody>, Rest), Error>;

impl WasiHttpHooks for Hooks {
    /// Whatever a guest says, the connection goes to the authority, and the grants are about that.
    fn is_forbidden_header(&mut self, name: &HeaderName) -> bool {
        FORBIDDEN.contains(name)
    }

    fn forbidden_header_filter(&mut self) -> ForbiddenHeaderFilter {
        Arc::new(|name| FORBIDDEN.contains(name))
    }

    /// The egress sets it where the guest doesn't.
    fn set_host_header(&mut self) -> bool {
        false
    }

    fn send_request(
        &mut self,
        request: Request<WasiBody>,
        options: Option<RequestOptions>,
        _fate: Box<dyn Future<Output = Result<(), Error>> + Send>,
    ) -> Box<dyn Future<Output = SendResult> + Send> {
        let Some(permit) = self.budget.take() else {
            return Box::new(ready(Err(Error::ConnectionLimitReached)));
        };
        let (egress, reach, tls) = (self.egress.clone(), self.reach.clone(), self.tls);
        Box::new(async move {
            let limits = limits(options.unwrap_or_default());
            let response = egress.send(&reach, tls, request, limits).await.map_err(send_error)?;
            let response = response.map(|body| CountedBody { body, _permit: permit }.boxed_unsync());
            let rest: Rest = Box::new(ready(Ok(())));
            Ok((response, rest))
        })
    }
}

fn limits(options: RequestOptions) -> SendLimits {
    let part = |expected: Option<Duration>| expected.unwrap_or(PART_MAX).min(PART_MAX);
    SendLimits {
        connect: part(options.connect_timeout),
        first_byte: part(options.first_byte_timeout),
        between_bytes: part(options.between_bytes_timeout),
    }
}

/// An answer's body, which counts as a connection as long as it is there.
struct CountedBody<B> {
    body: B,
    _permit: ConnectionPermit,
}

impl<B: Body<Data = Bytes, Error = BodyError> + Unpin> Body for CountedBody<B> {
    type Data = Bytes;
    type Error = Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Error>>> {
        Pin::new(&mut self.body).poll_frame(context).map_err(body_error)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// `wasi:http`'s code where it has one; else the words, as `internal-error`.
fn send_error(error: SendError) -> Error {
    match error {
        SendError::Request(_) => Error::HttpRequestUriInvalid,
        SendError::Connect(error) => connect_error(error),
        SendError::Tls(error) => tls_error(error),
        SendError::FirstByteTimeout => Error::HttpResponseTimeout,
        SendError::HeadersTooLarge => Error::HttpResponseHeaderSectionSize(None),
        SendError::Closed { .. } => Error::ConnectionTerminated,
        SendError::Protocol { .. } => Error::HttpProtocolError,
        SendError::RequestBody { .. } => Error::InternalError(Some(error.to_string())),
    }
}

fn connect_error(error: ConnectError) -> Error {
    match &error {
        ConnectError::Denied { .. }
        | ConnectError::Lookup(LookupError::Denied { .. } | LookupError::AddressesDenied { .. }) => {
            Error::HttpRequestDenied
        }
        ConnectError::Lookup(LookupError::Resolve(ResolveError::Timeout { .. })) => Error::DnsTimeout,
        ConnectError::Lookup(LookupError::Resolve(ResolveError::Failed { .. }) | LookupError::TooMany) => {
            Error::DnsError { rcode: Some(error.to_string()), info_code: None }
        }
        ConnectError::Timeout { .. } => Error::ConnectionTimeout,
        ConnectError::Failed { cause, .. } => match cause.kind() {
            io::ErrorKind::ConnectionRefused => Error::ConnectionRefused,
            io::ErrorKind::HostUnreachable | io::ErrorKind::NetworkUnreachable => {
                Error::DestinationIpUnroutable
            }
            // What else the system says has no code of its own.
            _ => Error::InternalError(Some(error.to_string())),
        },
    }
}

fn tls_error(error: TlsError) -> Error {
    match &error {
        TlsError::Certificate { .. } | TlsError::NoAuthorities => Error::TlsCertificateError,
        TlsError::Alert { alert } => Error::TlsAlertReceived {
            alert_id: Some(u8::from(*alert)),
            alert_message: Some(format!("{alert:?}")),
        },
        TlsError::PlainAnswer
        | TlsError::Name { .. }
        | TlsError::Material { .. }
        | TlsError::Handshake { .. } => Error::InternalError(Some(error.to_string())),
    }
}

fn body_error(error: BodyError) -> Error {
    match error {
        BodyError::Timeout => Error::ConnectionReadTimeout,
        BodyError::Closed { .. } => Error::HttpResponseIncomplete,
        BodyError::Protocol { .. } => Error::HttpProtocolError,
    }
}
