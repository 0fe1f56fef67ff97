//! Authentication and authorization of requests.

use std::sync::Arc;
use std::time::Duration;

use axum::http::StatusCode;
use hyper::body::Incoming;
use hyper::{Request, header};
use jiff::Timestamp;
use witlet_core::access;
use witlet_ports::{Clock, Identity, NodeAccess, NodeAction};

use super::answers::{self, Refused};
use super::headers::{is_websocket, protocols};
use super::log_limit::LogLimit;
use super::route::Route;

/// Timeout of a token review or a subject access review.
const ACCESS_DEADLINE: Duration = Duration::from_secs(30);

/// How clients are authenticated. Client certificates count where [`TlsOptions::client_ca`] names who signs them.
#[derive(Clone, Default)]
pub struct Authentication {
    /// Whether requests without credentials are `system:anonymous`; if not, they are refused (401).
    pub anonymous: bool,
    /// Who is asked about bearer tokens; none if they don't count.
    pub tokens: Option<Arc<dyn NodeAccess>>,
}

/// Who may do what.
#[derive(Clone)]
pub enum Authorization {
    /// An authenticated client may do everything.
    AlwaysAllow,
    Webhook(Arc<dyn NodeAccess>),
}

/// The client certificate of a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Certificate {
    /// None was shown.
    None,
    /// A valid one, until then.
    Of(Identity, Timestamp),
    /// An invalid one: of another CA, expired, or without a name.
    Refused,
}

/// The port that a request came in at.
#[derive(Clone, Debug)]
pub(super) enum ServerPort {
    /// TLS; requests are authenticated and authorized.
    Guarded(Certificate),
    /// `healthzPort`: plain HTTP, health only.
    Healthz,
    /// `readOnlyPort`: plain HTTP, reading only.
    ReadOnly,
}

impl ServerPort {
    /// Whether the port serves this endpoint.
    pub(super) fn serves(&self, route: &Route<'_>) -> bool {
        match self {
            Self::Guarded(_) => true,
            Self::Healthz => matches!(route, Route::Healthz(_)),
            Self::ReadOnly => matches!(
                route,
                Route::Healthz(_)
                    | Route::Pods
                    | Route::Metrics
                    | Route::ProbeMetrics
                    | Route::Slis
                    | Route::ResourceMetrics
                    | Route::CadvisorMetrics
                    | Route::StatsSummary
            ),
        }
    }
}

/// Authenticates and authorizes requests.
pub(super) struct AccessControl {
    authentication: Authentication,
    authorization: Authorization,
    clock: Arc<dyn Clock>,
    /// Limits messages about failed token reviews.
    failed_reviews: LogLimit,
}

impl AccessControl {
    pub(super) fn new(
        authentication: Authentication,
        authorization: Authorization,
        clock: Arc<dyn Clock>,
    ) -> Self {
        Self { authentication, authorization, clock, failed_reviews: LogLimit::default() }
    }

    /// Authenticates and authorizes a request, or returns the answer that refuses it.
    pub(super) async fn authorize(
        &self,
        request: &Request<Incoming>,
        port: &ServerPort,
    ) -> Result<(), Refused> {
        let ServerPort::Guarded(certificate) = port else { return Ok(()) };
        let unauthorized = || Refused::new(answers::text(StatusCode::UNAUTHORIZED, access::UNAUTHORIZED));
        let who = self.who(request, certificate).await.ok_or_else(unauthorized)?;
        let Authorization::Webhook(rights) = &self.authorization else { return Ok(()) };
        let action = NodeAction {
            verb: access::verb(request.method().as_str()),
            subresources: access::subresources(request.uri().path()).to_vec(),
            path: request.uri().path().to_owned(),
        };
        let asked = tokio::time::timeout(ACCESS_DEADLINE, rights.may(&who, &action)).await;
        match asked {
            Ok(Ok(Ok(()))) => Ok(()),
            Ok(Ok(Err(reason))) => {
                tracing::debug!(user = who.user, verb = action.verb, path = action.path, reason, "Forbidden");
                let words = access::forbidden(&who.user, action.verb, &action.subresources);
                Err(answers::text(StatusCode::FORBIDDEN, words).into())
            }
            failed @ (Ok(Err(_)) | Err(_)) => {
                let reason = failed.map_or_else(|late| late.to_string(), |asked| format!("{asked:?}"));
                tracing::warn!(user = who.user, path = action.path, reason, "Failed to authorize a request");
                let words = access::undecided(&who.user, action.verb, &action.subresources);
                Err(answers::text(StatusCode::INTERNAL_SERVER_ERROR, words).into())
            }
        }
    }

    /// The identity of the client; none if it can't be authenticated. A certificate counts before a token. A client with invalid
    /// credentials isn't anonymous, even where anonymous requests are allowed.
    async fn who(&self, request: &Request<Incoming>, certificate: &Certificate) -> Option<Identity> {
        if let Certificate::Of(identity, until) = certificate
            && self.clock.now() <= *until
        {
            return Some(known(identity.clone()));
        }
        let authentication = &self.authentication;
        let header = request.headers().get(header::AUTHORIZATION);
        let token = header.and_then(|value| value.to_str().ok()).and_then(access::bearer_token);
        if let Some(tokens) = &authentication.tokens {
            let token = match token {
                Some(token) => Some(token.to_owned()),
                None if is_websocket(request.headers()) => {
                    access::websocket_token(protocols(request.headers())).ok()?
                }
                None => None,
            };
            if let Some(token) = token {
                return self.owner(tokens.as_ref(), &token).await.map(known);
            }
        }
        let shows_nothing = *certificate == Certificate::None;
        (authentication.anonymous && shows_nothing).then(|| Identity {
            user: access::ANONYMOUS.to_owned(),
            groups: vec![access::UNAUTHENTICATED.to_owned()],
            ..Identity::default()
        })
    }

    /// The identity that a token belongs to. Failures are logged at a limited rate, because any client can send any token.
    async fn owner(&self, tokens: &dyn NodeAccess, token: &str) -> Option<Identity> {
        let error = match tokio::time::timeout(ACCESS_DEADLINE, tokens.review_token(token)).await {
            Ok(Ok(owner)) => return owner,
            Ok(Err(error)) => error.to_string(),
            Err(late) => late.to_string(),
        };
        if let Some(left_out) = self.failed_reviews.next() {
            tracing::warn!(error, left_out, "Failed to review a token");
        }
        None
    }
}

fn known(identity: Identity) -> Identity {
    Identity { groups: access::with_authenticated(identity.groups), ..identity }
}
