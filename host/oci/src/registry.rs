//! One pull: the requests to a registry, with credentials, redirects and repetitions.

use bytes::Bytes;
use http::header::{
    ACCEPT, AUTHORIZATION, CONTENT_TYPE, LOCATION, RETRY_AFTER, USER_AGENT, WWW_AUTHENTICATE,
};
use http::uri::Scheme;
use http::{HeaderMap, Method, Request, Response, Uri};
use http_body_util::{BodyExt, Full};
use sha2::{Digest, Sha256};
use witlet_core::runtime::ImageAuth;
use witlet_egress::{Egress, NetworkGrant, Reach, ResponseBody, SendLimits, TlsPolicy};
use witlet_ports::ComponentReference;

use crate::address::{self, AddressError, REDIRECTS_MAX};
use crate::challenge::{self, Credential, Step, TokenRequest};
use crate::error::{PullError, What};
use crate::manifest::{MANIFEST_BYTES_MAX, MANIFEST_TYPE};
use crate::retry::{self, Attempt};
use crate::store::text_of;

/// How witlet names itself.
const AGENT: &str = concat!("witlet/", env!("CARGO_PKG_VERSION"));
/// How many credentials are tried one after the other.
const CREDENTIALS_MAX: usize = 8;
/// How large the answer with a token may be.
const TOKEN_BYTES_MAX: usize = 64 << 10;
/// After how many bytes of a component progress is told.
const PROGRESS_BYTES: u64 = 1 << 20;

/// What is to be had, and what it must be.
pub(crate) struct Wanted<'a> {
    pub(crate) what: What,
    /// `sha256:…`
    pub(crate) digest: &'a str,
    /// The exact size, if it is known.
    pub(crate) size: Option<u64>,
    pub(crate) bytes_max: u64,
}

/// A failed attempt, and whether another may help.
struct Failed {
    error: PullError,
    attempt: Option<Attempt>,
}

impl From<PullError> for Failed {
    fn from(error: PullError) -> Self {
        Self { error, attempt: None }
    }
}

impl From<AddressError> for Failed {
    fn from(error: AddressError) -> Self {
        PullError::from(error).into()
    }
}

/// The requests of one pull.
pub(crate) struct Pull<'a> {
    egress: &'a Egress,
    limits: SendLimits,
    reference: &'a ComponentReference,
    /// Credentials that weren't tried yet, the best last.
    untried: Vec<ImageAuth>,
    /// Whether any credentials were sent.
    tried: bool,
    credential: Option<Credential>,
}

impl<'a> Pull<'a> {
    pub(crate) fn new(
        egress: &'a Egress,
        limits: SendLimits,
        reference: &'a ComponentReference,
        mut credentials: Vec<ImageAuth>,
    ) -> Self {
        credentials.truncate(CREDENTIALS_MAX);
        credentials.reverse();
        Self { egress, limits, reference, untried: credentials, tried: false, credential: None }
    }

    /// The bytes with this digest. `progress` hears of every further [`PROGRESS_BYTES`].
    pub(crate) async fn get(
        &mut self,
        wanted: &Wanted<'_>,
        progress: &(dyn Fn(u64) + Send + Sync),
    ) -> Result<Vec<u8>, PullError> {
        let mut attempts = 0;
        loop {
            attempts += 1;
            let Failed { error, attempt } = match self.attempt(wanted, progress).await {
                Ok(bytes) => return Ok(bytes),
                Err(failed) => failed,
            };
            let Some(wait) = attempt.and_then(|attempt| retry::wait(attempts, attempt)) else {
                return Err(error);
            };
            let reference = self.reference.to_string();
            tracing::info!(reference, attempts, ?wait, %error, "the pull is tried again");
            tokio::time::sleep(wait).await;
        }
    }

    fn registry(&self) -> String {
        self.reference.registry().to_owned()
    }

    fn uri(&self, wanted: &Wanted<'_>) -> Result<Uri, AddressError> {
        let kind = match wanted.what {
            What::Manifest => "manifests",
            What::Component | What::Token => "blobs",
        };
        let path = format!("/v2/{}/{kind}/{}", self.reference.repository(), wanted.digest);
        address::of_registry(self.reference.registry(), &path)
    }

    async fn attempt(
        &mut self,
        wanted: &Wanted<'_>,
        progress: &(dyn Fn(u64) + Send + Sync),
    ) -> Result<Vec<u8>, Failed> {
        let (response, host) = self.open(wanted).await?;
        let mut body = response.into_body();
        let limit = wanted.size.unwrap_or(wanted.bytes_max).min(wanted.bytes_max);
        let (mut bytes, mut hash, mut told) = (Vec::new(), Sha256::new(), 0);
        while let Some(frame) = body.frame().await {
            let frame = frame.map_err(|cause| Failed {
                error: PullError::Body { registry: host.clone(), what: wanted.what, cause },
                attempt: Some(Attempt::Broken),
            })?;
            let Some(part) = frame.data_ref() else { continue };
            if bytes.len() as u64 + part.len() as u64 > limit {
                return Err(PullError::TooLarge { registry: host, what: wanted.what, limit }.into());
            }
            hash.update(part);
            bytes.extend_from_slice(part);
            let now = bytes.len() as u64 / PROGRESS_BYTES;
            if now > told {
                told = now;
                progress(bytes.len() as u64);
            }
        }
        let found = bytes.len() as u64;
        if let Some(expected) = wanted.size.filter(|expected| *expected != found) {
            return Err(PullError::Size { registry: host, what: wanted.what, expected, found }.into());
        }
        let found = text_of(&hash.finalize());
        if found != wanted.digest {
            let expected = wanted.digest.to_owned();
            return Err(PullError::Digest { registry: host, what: wanted.what, expected, found }.into());
        }
        Ok(bytes)
    }

    /// The answer that has the thing itself, and who gave it.
    async fn open(&mut self, wanted: &Wanted<'_>) -> Result<(Response<ResponseBody>, String), Failed> {
        let home = self.uri(wanted)?;
        loop {
            let (response, host) = self.follow(&home, wanted).await?;
            let status = response.status().as_u16();
            let (registry, what) = (self.registry(), wanted.what);
            match status {
                200 => return Ok((response, host)),
                // Only the registry may say whom its credentials go to, not where it sent us on to.
                401 if host == host_of(&home) => self.authenticate(response.headers(), &home).await?,
                403 if self.tried => return Err(PullError::Refused { registry, status }.into()),
                404 => return Err(PullError::NotFound { registry, what }.into()),
                _ => {
                    let attempt = Attempt::Answered { status, retry_after: retry_after(response.headers()) };
                    let error = PullError::Status { registry: host, what, status };
                    return Err(Failed { error, attempt: Some(attempt) });
                }
            }
        }
    }

    /// Sends the request where redirects lead it. Credentials go to the registry alone.
    async fn follow(
        &self,
        home: &Uri,
        wanted: &Wanted<'_>,
    ) -> Result<(Response<ResponseBody>, String), Failed> {
        let mut uri = home.clone();
        for _ in 0..=REDIRECTS_MAX {
            let mut request = Request::builder()
                .method(Method::GET)
                .uri(uri.clone())
                .header(USER_AGENT, AGENT)
                .header(ACCEPT, if wanted.what == What::Manifest { MANIFEST_TYPE } else { "*/*" });
            if let Some(credential) = self.credential.as_ref().filter(|_| address::same_host(&uri, home)) {
                request = request.header(AUTHORIZATION, credential.header());
            }
            // Digests, names and tokens have no letter that a header or a URL can't have.
            let request =
                request.body(Full::<Bytes>::default()).map_err(|_invalid| malformed("the registry"))?;
            let host = host_of(&uri);
            let response = self.send(request, home, wanted.what).await?;
            if !matches!(response.status().as_u16(), 301 | 302 | 303 | 307 | 308) {
                return Ok((response, host));
            }
            let location = response.headers().get(LOCATION).and_then(|value| value.to_str().ok());
            let location = location.ok_or(malformed("a redirect"))?;
            uri = address::follow(&uri, location, home, "a redirect")?;
        }
        Err(PullError::Redirects { registry: self.registry(), what: wanted.what }.into())
    }

    async fn send(
        &self,
        request: Request<Full<Bytes>>,
        home: &Uri,
        what: What,
    ) -> Result<Response<ResponseBody>, Failed> {
        let (reach, host) = (reach(request.uri(), home)?, host_of(request.uri()));
        self.egress.send(&reach, TlsPolicy::Verify, request, self.limits).await.map_err(|cause| Failed {
            error: PullError::Send { registry: host, what, cause },
            attempt: Some(Attempt::Broken),
        })
    }

    /// Makes the credential that the next request has. Fails when all were tried.
    async fn authenticate(&mut self, headers: &HeaderMap, home: &Uri) -> Result<(), Failed> {
        let registry = self.registry();
        let header = headers.get_all(WWW_AUTHENTICATE).iter().filter_map(|value| value.to_str().ok());
        let header = header.collect::<Vec<_>>().join(", ");
        let challenge = challenge::parse(&header).ok_or_else(|| PullError::Challenge {
            registry: registry.clone(),
            challenge: header.chars().take(256).collect(),
        })?;
        loop {
            let auth = match self.untried.pop() {
                Some(auth) => Some(auth),
                // Nobody in particular may have a token; once that was tried, that's all.
                None if self.tried => return Err(PullError::Refused { registry, status: 401 }.into()),
                None if self.credential.is_none() => None,
                None => return Err(PullError::NoCredentials { registry }.into()),
            };
            self.tried |= auth.is_some();
            let credential = match challenge::answer(&challenge, auth.as_ref(), self.reference.repository()) {
                Step::Use(credential) => credential,
                Step::NoCredentials => return Err(PullError::NoCredentials { registry }.into()),
                Step::Token(request) => match self.token(request, home).await {
                    Ok(token) => Credential::Bearer(token),
                    Err(Failed { error: PullError::Refused { .. }, .. }) if !self.untried.is_empty() => {
                        continue;
                    }
                    Err(failed) => return Err(failed),
                },
            };
            self.credential = Some(credential);
            return Ok(());
        }
    }

    async fn token(&self, request: TokenRequest, home: &Uri) -> Result<String, Failed> {
        let TokenRequest { realm, parameters, basic, form } = request;
        let mut uri = address::follow(home, &realm, home, "the place for tokens")?;
        let encoded = challenge::encode(&parameters);
        if !form {
            let joint = if uri.query().is_some() { '&' } else { '?' };
            uri = format!("{uri}{joint}{encoded}")
                .parse()
                .map_err(|_invalid| malformed("the place for tokens"))?;
        }
        let host = host_of(&uri);
        let mut request = Request::builder().uri(uri).header(USER_AGENT, AGENT);
        if let Some(basic) = basic {
            request = request.header(AUTHORIZATION, Credential::Basic(basic).header());
        }
        let request = if form {
            let form = request.method(Method::POST).header(CONTENT_TYPE, "application/x-www-form-urlencoded");
            form.body(Full::from(encoded))
        } else {
            request.method(Method::GET).body(Full::default())
        };
        let request = request.map_err(|_invalid| malformed("the place for tokens"))?;
        let response = self.send(request, home, What::Token).await?;
        let status = response.status().as_u16();
        let refused = PullError::Token { registry: self.registry(), realm: host.clone(), status };
        if status != 200 {
            let attempt = Attempt::Answered { status, retry_after: retry_after(response.headers()) };
            let error = if self.tried && matches!(status, 401 | 403) {
                PullError::Refused { registry: self.registry(), status }
            } else {
                refused
            };
            return Err(Failed { error, attempt: Some(attempt) });
        }
        let mut body = response.into_body();
        let mut answer = Vec::new();
        while let Some(frame) = body.frame().await {
            let frame = frame.map_err(|cause| Failed {
                error: PullError::Body { registry: host.clone(), what: What::Token, cause },
                attempt: Some(Attempt::Broken),
            })?;
            let Some(part) = frame.data_ref() else { continue };
            if answer.len() + part.len() > TOKEN_BYTES_MAX {
                let limit = TOKEN_BYTES_MAX as u64;
                return Err(PullError::TooLarge { registry: host, what: What::Token, limit }.into());
            }
            answer.extend_from_slice(part);
        }
        challenge::token(&answer).ok_or_else(|| refused.into())
    }
}

fn malformed(place: &'static str) -> PullError {
    AddressError::Malformed { place }.into()
}

fn host_of(uri: &Uri) -> String {
    uri.authority().map(ToString::to_string).unwrap_or_default()
}

fn retry_after(headers: &HeaderMap) -> Option<u64> {
    headers.get(RETRY_AFTER)?.to_str().ok()?.trim().parse().ok()
}

/// What one request may connect to. The registry is the operator's choice; where it sends us on to isn't, so that a name
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

/// How large a manifest may be, as this pull counts.
pub(crate) const MANIFEST_LIMIT: u64 = MANIFEST_BYTES_MAX as u64;
