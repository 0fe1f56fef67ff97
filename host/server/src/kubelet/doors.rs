//! Who comes in, and whether they may do what they ask for.

use std::time::Duration;

use axum::http::StatusCode;
use hyper::body::Incoming;
use hyper::{Request, header};
use jiff::Timestamp;
use witlet_core::access;
use witlet_ports::{Identity, NodeAccess, NodeAction};

use super::answers::Refused;
use super::route::Route;
use super::{Authorization, KubeletServer, answers};

/// How long others may take to say who somebody is, or what they may do.
const ACCESS_DEADLINE: Duration = Duration::from_secs(30);

/// What a connection's certificate says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Certificate {
    /// There is none.
    None,
    /// One that counts, until then.
    Of(Identity, Timestamp),
    /// One that doesn't count: another's CA, too old, or without a name.
    Refused,
}

/// Where a request came in.
#[derive(Clone, Debug)]
pub(super) enum Door {
    /// Over TLS; who asks must be known and allowed to.
    Guarded(Certificate),
    /// In the clear, to see whether the process is there.
    Healthz,
    /// In the clear, to read.
    ReadOnly,
}

impl Door {
    /// Whether there is such an endpoint behind it.
    pub(super) fn opens(&self, route: &Route<'_>) -> bool {
        match self {
            Self::Guarded(_) => true,
            Self::Healthz => matches!(route, Route::Healthz(_)),
            Self::ReadOnly => matches!(route, Route::Healthz(_) | Route::Pods | Route::Metrics),
        }
    }
}

impl KubeletServer {
    /// Lets a request in, or says why not.
    pub(super) async fn admit(&self, request: &Request<Incoming>, door: &Door) -> Result<(), Refused> {
        let Door::Guarded(certificate) = door else { return Ok(()) };
        let unauthorized = || Refused::new(answers::text(StatusCode::UNAUTHORIZED, access::UNAUTHORIZED));
        let who = self.who(request, certificate).await.ok_or_else(unauthorized)?;
        let Authorization::Webhook(rights) = &self.parts.authorization else { return Ok(()) };
        let action = NodeAction {
            verb: access::verb(request.method().as_str()),
            subresources: access::subresources(request.uri().path()).to_vec(),
            path: request.uri().path().to_owned(),
        };
        let asked = tokio::time::timeout(ACCESS_DEADLINE, rights.may(&who, &action)).await;
        match asked {
            Ok(Ok(Ok(()))) => Ok(()),
            Ok(Ok(Err(reason))) => {
                tracing::debug!(user = who.user, verb = action.verb, path = action.path, reason, "forbidden");
                let words = access::forbidden(&who.user, action.verb, &action.subresources);
                Err(answers::text(StatusCode::FORBIDDEN, words).into())
            }
            failed @ (Ok(Err(_)) | Err(_)) => {
                let reason = failed.map_or_else(|late| late.to_string(), |asked| format!("{asked:?}"));
                tracing::warn!(
                    user = who.user,
                    path = action.path,
                    reason,
                    "nobody says whether this is allowed"
                );
                let words = access::undecided(&who.user, action.verb, &action.subresources);
                Err(answers::text(StatusCode::INTERNAL_SERVER_ERROR, words).into())
            }
        }
    }

    /// Who asks; none if that isn't known. A certificate counts before a token. Who shows something that doesn't count is nobody,
    /// also where senders may be anonymous.
    async fn who(&self, request: &Request<Incoming>, certificate: &Certificate) -> Option<Identity> {
        if let Certificate::Of(identity, until) = certificate
            && self.parts.clock.now() <= *until
        {
            return Some(known(identity.clone()));
        }
        let authentication = &self.parts.authentication;
        let header = request.headers().get(header::AUTHORIZATION);
        let token = header.and_then(|value| value.to_str().ok()).and_then(access::bearer_token);
        if let (Some(token), Some(tokens)) = (token, &authentication.tokens) {
            return self.owner(tokens.as_ref(), token).await.map(known);
        }
        let shows_nothing = *certificate == Certificate::None;
        (authentication.anonymous && shows_nothing).then(|| Identity {
            user: access::ANONYMOUS.to_owned(),
            groups: vec![access::UNAUTHENTICATED.to_owned()],
            ..Identity::default()
        })
    }

    /// Whose token that is; none if nobody says so. Anybody may send any token, as often as they like.
    async fn owner(&self, tokens: &dyn NodeAccess, token: &str) -> Option<Identity> {
        let error = match tokio::time::timeout(ACCESS_DEADLINE, tokens.review_token(token)).await {
            Ok(Ok(owner)) => return owner,
            Ok(Err(error)) => error.to_string(),
            Err(late) => late.to_string(),
        };
        if let Some(left_out) = self.unreviewed.next() {
            tracing::warn!(error, left_out, "nobody says whose token that is");
        }
        None
    }
}

fn known(identity: Identity) -> Identity {
    Identity { groups: access::with_authenticated(identity.groups), ..identity }
}
