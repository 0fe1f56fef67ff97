//! The server: requests in, answers out, whatever carries them.

use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};

use bytes::Bytes;
use http::{Method, Request as HttpRequest, Response};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full, StreamBody};
use jiff::Timestamp;
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::sleep;

use crate::aggregated::Aggregated;
use crate::authority::Authority;
use crate::dispatch::{self, ApiResponse};
use crate::error::ApiError;
use crate::faults::{Effect, Fault, Faults};
use crate::identity::Identity;
use crate::link::{self, Hold, Link, Moment};
use crate::path::{self, Path, Target};
use crate::proxy;
use crate::requests::{Log, Request};
use crate::reviews::Rule;
use crate::store::Store;
use crate::tokens::Tokens;
use crate::watches::Watch;
use crate::write::Cx;

/// What is sent of a watch's answer where half of it is.
const HALF_EVENT: &[u8] = br#"{"type":"ADDED","object":{"metad"#;

/// Changes of each resource that a watch can be resumed over, unless the options say otherwise.
const HISTORY_MAX: usize = 10_000;

/// An error of the transport.
pub(crate) type BoxError = Box<dyn std::error::Error + Send + Sync>;
/// The body of an answer.
pub(crate) type Body = UnsyncBoxBody<Bytes, BoxError>;

/// Tells the time.
pub type Clock = Arc<dyn Fn() -> Timestamp + Send + Sync>;

/// What a server is like.
#[derive(Clone)]
pub struct Options {
    /// The server's clock; [`ApiServer::skew`] moves it.
    pub clock: Clock,
    /// Changes of each resource that a watch can be resumed over.
    pub history_max: usize,
    /// Where UIDs come from: the same seed, the same UIDs.
    pub seed: u64,
    /// What it checks and adds.
    pub admission: Admission,
}

impl Options {
    /// The usual server with this clock: no admission beyond what a server without plugins does.
    pub fn new(clock: Clock) -> Self {
        Self { clock, history_max: HISTORY_MAX, seed: 0, admission: Admission::default() }
    }
}

/// What a server checks and adds.
#[derive(Clone, Copy, Debug, Default)]
pub struct Admission {
    /// The ServiceAccount admission: pods get an account, its token volume and mounts; each namespace has a `default` account and
    /// `kube-root-ca.crt`.
    pub service_accounts: bool,
    /// The Node authorizer and NodeRestriction for users `system:node:…`.
    pub node_rules: bool,
    /// The controllers of signing requests: those of node agents' client certificates are approved and signed at once, others are
    /// signed when they are approved.
    pub sign_requests: bool,
}

/// An API server in memory.
pub struct ApiServer {
    pub(crate) store: Store,
    pub(crate) admission: Admission,
    pub(crate) tokens: Mutex<Tokens>,
    pub(crate) rules: Mutex<Vec<Rule>>,
    pub(crate) tunnels: Mutex<JoinSet<()>>,
    pub(crate) aggregated: Mutex<Aggregated>,
    authority: OnceLock<Authority>,
    clock: Clock,
    skew: Mutex<jiff::SignedDuration>,
    log: Mutex<Log>,
    faults: Mutex<Faults>,
    hold: Mutex<Option<Hold>>,
    link: watch::Sender<Link>,
    me: Weak<Self>,
}

/// The lock of a mutex, poisoned or not.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The error of a connection that broke.
pub(crate) fn broken(why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::ConnectionReset, why)
}

impl ApiServer {
    /// A server with the namespaces `default`, `kube-system`, `kube-public` and `kube-node-lease`.
    pub fn new(options: Options) -> Arc<Self> {
        let Options { clock, history_max, seed, admission } = options;
        let server = Arc::new_cyclic(|me| Self {
            store: Store::new(history_max, seed),
            admission,
            tokens: Mutex::default(),
            rules: Mutex::default(),
            tunnels: Mutex::default(),
            aggregated: Mutex::default(),
            authority: OnceLock::new(),
            clock,
            skew: Mutex::default(),
            log: Mutex::default(),
            faults: Mutex::default(),
            hold: Mutex::default(),
            link: watch::Sender::new(Link::default()),
            me: me.clone(),
        });
        for namespace in ["default", "kube-system", "kube-public", "kube-node-lease"] {
            server.ensure_namespace(namespace);
        }
        server
    }

    /// The server's time.
    pub fn now(&self) -> Timestamp {
        let now = (self.clock)();
        now.checked_add(*lock(&self.skew)).unwrap_or(now)
    }

    /// Moves the server's clock against the one it was given.
    pub fn skew(&self, skew: jiff::SignedDuration) {
        *lock(&self.skew) = skew;
    }

    pub(crate) fn weak(&self) -> Weak<Self> {
        self.me.clone()
    }

    /// The cluster's certificate authority, made when it is first needed.
    pub(crate) fn authority(&self) -> &Authority {
        self.authority
            .get_or_init(|| Authority::new().expect("a key and a certificate from constants can be made"))
    }

    pub(crate) fn link(&self) -> watch::Receiver<Link> {
        self.link.subscribe()
    }

    /// Does something to the objects, as this user.
    pub(crate) fn write<R>(&self, who: &Identity, action: impl FnOnce(&mut Cx<'_>) -> R) -> R {
        let now = self.now();
        let mut state = self.store.lock();
        action(&mut Cx { state: &mut state, now, who, admission: &self.admission })
    }

    /// The requests so far; at most the last 20,000.
    pub fn requests(&self) -> Vec<Request> {
        lock(&self.log).all()
    }

    /// How many requests there were by action (`patch pods/status`).
    pub fn counts(&self) -> BTreeMap<String, u64> {
        lock(&self.log).counts()
    }

    /// How many requests of this action there were.
    pub fn count(&self, action: &str) -> u64 {
        lock(&self.log).counts().get(action).copied().unwrap_or_default()
    }

    /// Number of the last request.
    pub fn last_request(&self) -> u64 {
        lock(&self.log).last()
    }

    /// Forgets the requests so far; their numbers go on.
    pub fn clear_requests(&self) {
        lock(&self.log).clear();
    }

    /// Adds a rule of faults; the number to remove it by.
    pub fn fault(&self, fault: Fault) -> u64 {
        lock(&self.faults).add(fault)
    }

    /// Takes a rule away.
    pub fn remove_fault(&self, number: u64) {
        lock(&self.faults).remove(number);
    }

    /// Takes all rules away.
    pub fn clear_faults(&self) {
        lock(&self.faults).clear();
    }

    /// The server is unreachable: streams break, and no request connects.
    pub fn down(&self) {
        self.link.send_modify(|link| link.is_down = true);
    }

    /// The server can be reached again.
    pub fn up(&self) {
        self.link.send_modify(|link| link.is_down = false);
    }

    /// Whether the server can't be reached.
    pub fn is_down(&self) -> bool {
        self.link.borrow().is_down
    }

    /// Ends every watch, as a server that restarts does.
    pub fn end_watches(&self) {
        self.link.send_modify(|link| link.round += 1);
    }

    /// Forgets the past: watches that resume get 410. Running watches do too.
    pub fn expire_history(&self) {
        self.store.lock().forget_history();
    }

    /// From the `n`th request on (as [`Self::last_request`] counts) everything hangs, streams too, until [`Self::release`].
    pub fn hold_from(&self, n: u64, moment: Moment) {
        *lock(&self.hold) = Some(Hold { n, moment });
    }

    /// Waits until the request that [`Self::hold_from`] named is there and hangs.
    pub async fn held(&self) {
        let mut link = self.link();
        // The sender lives in `self`.
        let _ = link.wait_for(|link| link.is_held).await;
    }

    /// Whether everything hangs.
    pub fn is_held(&self) -> bool {
        self.link.borrow().is_held
    }

    /// Ends the hold: new requests are answered. Those that hung hang on; their clients are dead.
    pub fn release(&self) {
        *lock(&self.hold) = None;
        self.link.send_modify(|link| link.is_held = false);
    }

    fn hangs(&self, n: u64, moment: Moment) -> bool {
        let hangs = lock(&self.hold).is_some_and(|hold| match moment {
            // Whatever comes later hangs before it does anything.
            Moment::Before => n > hold.n || (n == hold.n && hold.moment == Moment::Before),
            Moment::After => n == hold.n && hold.moment == Moment::After,
        });
        if hangs {
            self.link.send_modify(|link| link.is_held = true);
        }
        hangs
    }

    /// Answers a request, unless the connection breaks.
    pub(crate) async fn handle(
        &self,
        caller: &Identity,
        request: HttpRequest<Bytes>,
    ) -> Result<Response<Body>, io::Error> {
        if self.is_down() {
            return Err(io::Error::new(io::ErrorKind::ConnectionRefused, "connection refused"));
        }
        tokio::select! {
            () = link::down(self.link()) => Err(broken("the connection was reset")),
            response = self.answer(caller, request) => response,
        }
    }

    async fn answer(
        &self,
        caller: &Identity,
        mut request: HttpRequest<Bytes>,
    ) -> Result<Response<Body>, io::Error> {
        let path = path::parse(request.uri().path());
        let query = path::query(request.uri().query().unwrap_or_default());
        let mut entry = describe(&request, path.as_ref(), &query);
        let who = self.authenticate(caller, &request);
        entry.user = who.as_ref().map(|who| who.user.clone()).unwrap_or_default();
        let n = lock(&self.log).arrived(entry.clone());
        if self.hangs(n, Moment::Before) {
            std::future::pending::<()>().await;
        }
        let effect = lock(&self.faults).strike(&entry);
        match &effect {
            Some(Effect::DropBefore) => return Err(broken("the connection was reset by a fault")),
            Some(Effect::Respond(error)) => return Ok(self.refuse(n, error)),
            Some(Effect::Says { code, content_type, body }) => {
                lock(&self.log).answered(n, *code, body.len());
                return Ok(typed_response(*code, content_type, full(body.as_bytes().to_vec())));
            }
            Some(Effect::Slow(time)) => sleep(*time).await,
            Some(Effect::Stall) => std::future::pending::<()>().await,
            _ => {}
        }
        if let (Ok(_), Some(Path::Objects(target))) = (&who, &path)
            && proxy::is_forwarded(target)
        {
            return Ok(self.forward(n, target, &query, &mut request).await);
        }
        let aggregated = self.aggregated(&request);
        let answer = who.and_then(|who| match (aggregated, path) {
            (Some(answer), _) => Ok(answer),
            (None, None) => Err(ApiError::no_such_path()),
            (None, Some(Path::Other)) => dispatch::other(&request),
            (None, Some(Path::Objects(target))) => {
                dispatch::objects(self, &who, &target, &entry.verb, &query, &request)
            }
        });
        if self.hangs(n, Moment::After) {
            std::future::pending::<()>().await;
        }
        match &effect {
            Some(Effect::DropAfter) => return Err(broken("the connection was reset by a fault")),
            Some(Effect::StallAfter) => std::future::pending::<()>().await,
            _ => {}
        }
        let is_half = matches!(effect, Some(Effect::Half));
        match answer {
            Ok(ApiResponse::Whole(code, mut bytes)) if is_half => {
                bytes.truncate(bytes.len() / 2);
                Ok(self.whole(n, code, bytes))
            }
            Ok(ApiResponse::Watch(..)) if is_half => Ok(self.whole(n, 200, HALF_EVENT.to_vec())),
            Ok(ApiResponse::Whole(code, bytes)) => Ok(self.whole(n, code, bytes)),
            Ok(ApiResponse::Watch(resource, options)) => {
                let server = self.me.upgrade().ok_or_else(|| broken("the server is gone"))?;
                let mut watch = match Watch::start(server, resource, *options) {
                    Ok(watch) => watch,
                    Err(error) => return Ok(self.refuse(n, &error)),
                };
                if matches!(effect, Some(Effect::MalformedEvent)) {
                    watch.begin_malformed();
                }
                lock(&self.log).answered(n, 200, 0);
                Ok(json_response(200, StreamBody::new(watch.stream()).boxed_unsync()))
            }
            Err(error) => Ok(self.refuse(n, &error)),
        }
    }

    async fn forward(
        &self,
        n: u64,
        target: &Target,
        query: &[(String, String)],
        request: &mut HttpRequest<Bytes>,
    ) -> Response<Body> {
        match proxy::forward(self, target, query, request).await {
            Ok(response) => {
                lock(&self.log).answered(n, response.status().as_u16(), 0);
                response
            }
            Err(error) => self.refuse(n, &error),
        }
    }

    fn whole(&self, n: u64, code: u16, bytes: Vec<u8>) -> Response<Body> {
        lock(&self.log).answered(n, code, bytes.len());
        json_response(code, full(bytes))
    }

    fn refuse(&self, n: u64, error: &ApiError) -> Response<Body> {
        let mut response = self.whole(n, error.code, error.status().to_string().into_bytes());
        if let Some(seconds) = error.retry_after {
            response.headers_mut().insert(http::header::RETRY_AFTER, seconds.into());
        }
        response
    }

    /// Who sends this: the bearer token's owner if there is one, and who the connection is of otherwise.
    fn authenticate(&self, caller: &Identity, request: &HttpRequest<Bytes>) -> Result<Identity, ApiError> {
        let header = request.headers().get(http::header::AUTHORIZATION).and_then(|value| value.to_str().ok());
        let who = match header.and_then(|value| value.strip_prefix("Bearer ")) {
            Some(token) => {
                let owner = lock(&self.tokens).owner(token.trim(), &[], self.now());
                owner.ok_or_else(ApiError::unauthorized)?.0
            }
            None => caller.clone(),
        };
        let is_open = matches!(request.uri().path(), "/healthz" | "/livez" | "/readyz" | "/version");
        if who.is_anonymous() && !is_open {
            return Err(ApiError::unauthorized());
        }
        Ok(who)
    }
}

pub(crate) fn full(bytes: Vec<u8>) -> Body {
    Full::new(Bytes::from(bytes)).map_err(|never| match never {}).boxed_unsync()
}

fn json_response(code: u16, body: Body) -> Response<Body> {
    typed_response(code, "application/json", body)
}

fn typed_response(code: u16, content_type: &'static str, body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    *response.status_mut() =
        http::StatusCode::from_u16(code).unwrap_or(http::StatusCode::INTERNAL_SERVER_ERROR);
    let kind = http::HeaderValue::from_static(content_type);
    response.headers_mut().insert(http::header::CONTENT_TYPE, kind);
    response
}

/// The log's entry of a request.
fn describe(request: &HttpRequest<Bytes>, path: Option<&Path>, query: &[(String, String)]) -> Request {
    let uri = request.uri().to_string();
    let mut entry = Request { uri, body: request.body().clone(), ..Request::default() };
    let Some(Path::Objects(target)) = path else {
        entry.verb = request.method().as_str().to_ascii_lowercase();
        entry.resource = request.uri().path().to_owned();
        return entry;
    };
    let is_watch = query.iter().any(|(key, value)| key == "watch" && matches!(value.as_str(), "true" | "1"));
    let is_collection = target.name.is_empty();
    let verb = match *request.method() {
        Method::GET if is_watch => "watch",
        Method::GET if is_collection => "list",
        Method::GET => "get",
        Method::POST => "create",
        Method::PUT => "update",
        Method::PATCH => "patch",
        Method::DELETE if is_collection => "deletecollection",
        Method::DELETE => "delete",
        _ => "other",
    };
    entry.verb = verb.to_owned();
    entry.resource = target.resource.name.to_owned();
    entry.subresource = target.subresource.clone();
    entry.namespace = target.namespace.clone();
    entry.name = target.name.clone();
    entry
}

/// A Status that says that all went well.
pub(crate) fn success(details: Value) -> Value {
    json!({ "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details })
}
