//! What the requests of one pull or push have in common: credentials, redirects, and when one is made again.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::header::{
    ACCEPT, AUTHORIZATION, CONTENT_TYPE, LOCATION, RETRY_AFTER, USER_AGENT, WWW_AUTHENTICATE,
};
use http::uri::Scheme;
use http::{HeaderMap, Method, Request, Response, Uri};
use http_body::{Body, Frame, SizeHint};
use http_body_util::BodyExt;
use witlet_core::network;
use witlet_core::runtime::ImageAuth;
use witlet_egress::{Egress, NetworkGrant, Reach, ResponseBody, SendLimits, TlsPolicy};

use crate::address::{self, AddressError, REDIRECTS_MAX};
use crate::challenge::{self, Action, Credential, Step, TokenRequest};
use crate::error::{TransferError, TransferItem};
use crate::retry::{self, Attempt};

/// How witlet names itself.
const AGENT: &str = concat!("witlet/", env!("CARGO_PKG_VERSION"));
/// How many credentials are tried one after the other.
const CREDENTIALS_MAX: usize = 8;
/// How often an expired token is replaced: one lasts a minute at least, and a push half an hour at most.
const RENEWALS_MAX: u32 = 32;
/// How large the answer with a token may be.
const TOKEN_BYTES_MAX: usize = 64 << 10;
/// What is handed to the connection at once, and how often progress is reported.
const UPLOAD_PART_BYTES: usize = 64 << 10;
/// The slowest upload that is waited for.
const UPLOAD_BYTES_PER_SECOND_MIN: u64 = 16 << 10;

/// Receives how many bytes were sent or received.
pub type BytesSink = Arc<dyn Fn(u64) + Send + Sync>;

/// What is asked, and where.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Repository<'a> {
    pub(crate) registry: &'a str,
    pub(crate) repository: &'a str,
    /// Whether TLS is left out also where the registry isn't on this machine.
    pub(crate) plain_http: bool,
}

impl Repository<'_> {
    /// The URL of `/v2/REPOSITORY/…`.
    pub(crate) fn uri(&self, rest: &str) -> Result<Uri, AddressError> {
        let path = format!("/v2/{}/{rest}", self.repository);
        address::of_registry(self.registry, &path, self.plain_http)
    }
}

/// One request.
pub(crate) struct RegistryRequest {
    pub(crate) what: TransferItem,
    pub(crate) method: Method,
    pub(crate) uri: Uri,
    pub(crate) accept: &'static str,
    pub(crate) content: Option<Content>,
}

/// What a request carries.
#[derive(Clone)]
pub(crate) struct Content {
    pub(crate) media_type: &'static str,
    pub(crate) bytes: Bytes,
    pub(crate) progress: Option<BytesSink>,
}

impl RegistryRequest {
    /// A request that carries nothing.
    pub(crate) fn bare(what: TransferItem, method: Method, uri: Uri, accept: &'static str) -> Self {
        Self { what, method, uri, accept, content: None }
    }
}

/// A failed attempt, and whether another may help.
pub(crate) struct AttemptError {
    pub(crate) error: TransferError,
    pub(crate) attempt: Option<Attempt>,
}

impl From<TransferError> for AttemptError {
    fn from(error: TransferError) -> Self {
        Self { error, attempt: None }
    }
}

impl From<AddressError> for AttemptError {
    fn from(error: AddressError) -> Self {
        TransferError::from(error).into()
    }
}

/// A request's body in parts, so that it can be reported how much of it was sent.
struct Upload {
    rest: Bytes,
    sent: u64,
    progress: Option<BytesSink>,
}

impl Body for Upload {
    type Data = Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        if self.rest.is_empty() {
            return Poll::Ready(None);
        }
        let part = UPLOAD_PART_BYTES.min(self.rest.len());
        let part = self.rest.split_to(part);
        self.sent += part.len() as u64;
        if let Some(progress) = &self.progress {
            progress(self.sent);
        }
        Poll::Ready(Some(Ok(Frame::data(part))))
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.rest.len() as u64)
    }
}

/// The requests of one pull or push.
pub(crate) struct Session<'a> {
    egress: &'a Egress,
    limits: SendLimits,
    wait: retry::Wait,
    pub(crate) place: Repository<'a>,
    action: Action,
    /// Credentials that weren't tried yet, the best last.
    untried: Vec<ImageAuth>,
    /// Whether any credentials were sent.
    tried: bool,
    /// Whose the present credential is.
    current: Option<ImageAuth>,
    credential: Option<Credential>,
    /// Whether the registry has taken the present credential once.
    taken: bool,
    renewals: u32,
}

impl<'a> Session<'a> {
    pub(crate) fn new(
        egress: &'a Egress,
        (limits, wait): (SendLimits, retry::Wait),
        place: Repository<'a>,
        action: Action,
        mut credentials: Vec<ImageAuth>,
    ) -> Self {
        credentials.truncate(CREDENTIALS_MAX);
        credentials.reverse();
        Self {
            egress,
            limits,
            wait,
            place,
            action,
            untried: credentials,
            tried: false,
            current: None,
            credential: None,
            taken: false,
            renewals: 0,
        }
    }

    pub(crate) fn registry(&self) -> String {
        self.place.registry.to_owned()
    }

    /// Waits before the next attempt, after this many; the failure if there should be none.
    pub(crate) async fn pause(&self, attempts: u32, failed: AttemptError) -> Result<(), TransferError> {
        let AttemptError { error, attempt } = failed;
        let Some(wait) = attempt.and_then(|attempt| (self.wait)(attempts, attempt)) else {
            return Err(error);
        };
        let Repository { registry, repository, .. } = self.place;
        tracing::info!(registry, repository, attempts, ?wait, %error, "Retrying request to registry");
        tokio::time::sleep(wait).await;
        Ok(())
    }

    /// Asks with credentials, as far as the registry wants some, and where redirects lead. The answer has any other status
    /// than 401 of the registry's own, and comes with the host that gave it.
    pub(crate) async fn ask(
        &mut self,
        ask: &RegistryRequest,
    ) -> Result<(Response<ResponseBody>, String), AttemptError> {
        let home = self.place.uri("")?;
        loop {
            let (response, host) = self.follow(&home, ask).await?;
            let status = response.status().as_u16();
            // Only the registry may say whom its credentials go to, not where it sent us on to.
            if status == 401 && host == host_of(&home) {
                self.authenticate(response.headers(), &home).await?;
                continue;
            }
            self.taken |= host == host_of(&home);
            if status == 403 && self.tried {
                return Err(TransferError::Refused { registry: self.registry(), status }.into());
            }
            return Ok((response, host));
        }
    }

    /// Sends the request where redirects lead it. Credentials go to the registry alone, and so does what a request carries.
    async fn follow(
        &self,
        home: &Uri,
        ask: &RegistryRequest,
    ) -> Result<(Response<ResponseBody>, String), AttemptError> {
        let mut uri = ask.uri.clone();
        for _ in 0..=REDIRECTS_MAX {
            let mut request = Request::builder()
                .method(ask.method.clone())
                .uri(uri.clone())
                .header(USER_AGENT, AGENT)
                .header(ACCEPT, ask.accept);
            if let Some(credential) = self.credential.as_ref().filter(|_| address::same_host(&uri, home)) {
                request = request.header(AUTHORIZATION, credential.header());
            }
            if let Some(content) = &ask.content {
                request = request.header(CONTENT_TYPE, content.media_type);
            }
            let host = host_of(&uri);
            let response = self.send(request, ask.content.clone(), home, ask.what).await?;
            let redirects = matches!(response.status().as_u16(), 301 | 302 | 303 | 307 | 308);
            if !redirects || !matches!(ask.method, Method::GET | Method::HEAD) {
                return Ok((response, host));
            }
            uri = address::follow(&uri, location(response.headers())?, home, "a redirect")?;
        }
        Err(TransferError::Redirects { registry: self.registry(), what: ask.what }.into())
    }

    async fn send(
        &self,
        request: http::request::Builder,
        content: Option<Content>,
        home: &Uri,
        what: TransferItem,
    ) -> Result<Response<ResponseBody>, AttemptError> {
        let (bytes, progress) =
            content.map_or((Bytes::new(), None), |content| (content.bytes, content.progress));
        let seconds = bytes.len() as u64 / UPLOAD_BYTES_PER_SECOND_MIN;
        let first_byte = self.limits.first_byte + Duration::from_secs(seconds);
        // Digests, names and tokens have no letter that a header or a URL can't have.
        let request = request
            .body(Upload { rest: bytes, sent: 0, progress })
            .map_err(|_invalid| malformed("the registry"))?;
        let (reach, host) = (reach(request.uri(), home)?, host_of(request.uri()));
        let limits = SendLimits { first_byte, ..self.limits };
        self.egress.send(&reach, TlsPolicy::Verify, request, limits).await.map_err(|cause| AttemptError {
            error: TransferError::Send { registry: host, what, cause },
            attempt: Some(Attempt::Broken),
        })
    }

    /// Makes the credential that the next request has. Fails when all were tried.
    async fn authenticate(&mut self, headers: &HeaderMap, home: &Uri) -> Result<(), AttemptError> {
        let registry = self.registry();
        let header = headers.get_all(WWW_AUTHENTICATE).iter().filter_map(|value| value.to_str().ok());
        let header = header.collect::<Vec<_>>().join(", ");
        let challenge = challenge::parse(&header).ok_or_else(|| TransferError::Challenge {
            registry: registry.clone(),
            challenge: header.chars().take(256).collect(),
        })?;
        // What was taken before has run out: once more with the same.
        if self.taken && self.credential.is_some() && self.renewals < RENEWALS_MAX {
            self.renewals += 1;
            self.taken = false;
            match self.current.take() {
                Some(auth) => self.untried.push(auth),
                None => self.credential = None,
            }
        }
        loop {
            let auth = match self.untried.pop() {
                Some(auth) => Some(auth),
                // An anonymous client may have a token; once that was tried, that's all.
                None if self.tried => return Err(TransferError::Refused { registry, status: 401 }.into()),
                None if self.credential.is_none() => None,
                None => return Err(TransferError::NoCredentials { registry }.into()),
            };
            self.tried |= auth.is_some();
            let step = challenge::answer(&challenge, auth.as_ref(), self.place.repository, self.action);
            let credential = match step {
                Step::Use(credential) => credential,
                Step::NoCredentials => return Err(TransferError::NoCredentials { registry }.into()),
                Step::Token(request) => match self.token(request, home).await {
                    Ok(token) => Credential::Bearer(token),
                    Err(AttemptError { error: TransferError::Refused { .. }, .. })
                        if !self.untried.is_empty() =>
                    {
                        continue;
                    }
                    Err(failed) => return Err(failed),
                },
            };
            self.credential = Some(credential);
            self.current = auth;
            return Ok(());
        }
    }

    async fn token(&self, request: TokenRequest, home: &Uri) -> Result<String, AttemptError> {
        let TokenRequest { realm, parameters, basic, form } = request;
        let mut uri = address::follow(home, &realm, home, "the place for tokens")?;
        let encoded = challenge::encode(&parameters);
        if !form {
            uri = with_query(&uri, &encoded).ok_or_else(|| malformed("the place for tokens"))?;
        }
        let host = host_of(&uri);
        let mut request = Request::builder().uri(uri).header(USER_AGENT, AGENT);
        if let Some(basic) = basic {
            request = request.header(AUTHORIZATION, Credential::Basic(basic).header());
        }
        let response = if form {
            let media_type = "application/x-www-form-urlencoded";
            let content = Content { media_type, bytes: encoded.into(), progress: None };
            let request = request.method(Method::POST).header(CONTENT_TYPE, media_type);
            self.send(request, Some(content), home, TransferItem::Token).await?
        } else {
            self.send(request.method(Method::GET), None, home, TransferItem::Token).await?
        };
        let status = response.status().as_u16();
        let refused = TransferError::Token { registry: self.registry(), realm: host.clone(), status };
        if status != 200 {
            let attempt = Attempt::Answered { status, retry_after: retry_after(response.headers()) };
            let error = if self.tried && matches!(status, 401 | 403) {
                TransferError::Refused { registry: self.registry(), status }
            } else {
                refused
            };
            return Err(AttemptError { error, attempt: Some(attempt) });
        }
        let answer = read_all(response, &host, TransferItem::Token, TOKEN_BYTES_MAX).await?;
        challenge::token(&answer).ok_or_else(|| refused.into())
    }

    /// The failure that any other answer than those expected is.
    pub(crate) fn unexpected(
        &self,
        response: &Response<ResponseBody>,
        host: String,
        what: TransferItem,
    ) -> AttemptError {
        let status = response.status().as_u16();
        let attempt = Attempt::Answered { status, retry_after: retry_after(response.headers()) };
        AttemptError { error: TransferError::Status { registry: host, what, status }, attempt: Some(attempt) }
    }
}

/// The whole of an answer, which may have so many bytes.
pub(crate) async fn read_all(
    response: Response<ResponseBody>,
    host: &str,
    what: TransferItem,
    bytes_max: usize,
) -> Result<Vec<u8>, AttemptError> {
    let mut body = response.into_body();
    let mut answer = Vec::new();
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|cause| AttemptError {
            error: TransferError::Body { registry: host.to_owned(), what, cause },
            attempt: Some(Attempt::Broken),
        })?;
        let Some(part) = frame.data_ref() else { continue };
        if answer.len() + part.len() > bytes_max {
            let limit = bytes_max as u64;
            return Err(TransferError::TooLarge { registry: host.to_owned(), what, limit }.into());
        }
        answer.extend_from_slice(part);
    }
    Ok(answer)
}

/// The same URL with more in its query; none if that makes no URL.
pub(crate) fn with_query(uri: &Uri, more: &str) -> Option<Uri> {
    let joint = if uri.query().is_some() { '&' } else { '?' };
    format!("{uri}{joint}{more}").parse().ok()
}

pub(crate) fn location(headers: &HeaderMap) -> Result<&str, TransferError> {
    let location = headers.get(LOCATION).and_then(|value| value.to_str().ok());
    location.ok_or_else(|| malformed("a redirect"))
}

pub(crate) fn malformed(place: &'static str) -> TransferError {
    AddressError::Malformed { place }.into()
}

fn host_of(uri: &Uri) -> String {
    uri.authority().map(ToString::to_string).unwrap_or_default()
}

pub(crate) fn retry_after(headers: &HeaderMap) -> Option<u64> {
    network::retry_after(headers.get(RETRY_AFTER)?.to_str().ok()?).map(|asked| asked.as_secs())
}

/// Returns what one request may connect to. The registry is the operator's choice; where it sends us on to isn't, so that a name
/// there must not lead to this machine or its network's inside.
fn reach(uri: &Uri, home: &Uri) -> Result<Reach, AddressError> {
    let malformed = || AddressError::Malformed { place: "a redirect" };
    let host = uri.host().ok_or_else(malformed)?;
    if address::same_host(uri, home) || home.host().is_some_and(address::is_loopback) {
        return Ok(Reach::everything());
    }
    let port = uri.port_u16().unwrap_or(if uri.scheme() == Some(&Scheme::HTTP) { 80 } else { 443 });
    let grant: NetworkGrant = format!("{host}:{port}").parse().map_err(|_no_name| malformed())?;
    Ok(Reach::new([grant], &[], None))
}
