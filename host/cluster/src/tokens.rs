//! Tokens of service accounts, bound to pods (upstream: `token_manager.go`).

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::authentication::v1::{BoundObjectReference, TokenRequest, TokenRequestSpec};
use k8s_openapi::api::core::v1::{Pod, ServiceAccount};
use kube::Resource;
use kube::api::PostParams;
use thiserror::Error;
use witlet_core::error::one_line;
use witlet_core::pod::{PodFullName, PodUid};
use witlet_core::volume::token::refresh_at;
use witlet_ports::{Clock, Jitter, ObjectError, Token, TokenWish};

#[cfg(test)]
mod tests;

/// The server answers within this time.
const ANSWER_WITHIN: Duration = Duration::from_secs(10);
/// A token is asked for again after this long at the earliest; one that couldn't be replaced is used on meanwhile.
const RETRY_AFTER: SignedDuration = SignedDuration::from_secs(30);

/// Why a token can't be had.
#[derive(Debug, Error)]
enum TokenError {
    /// In the server's words.
    #[error("{message}")]
    Refused { code: u16, message: String },
    #[error(transparent)]
    Request(kube::Error),
    #[error("failed to build the request")]
    Build(#[source] kube::core::request::Error),
    #[error("failed to encode the request")]
    Write(#[from] serde_json::Error),
    #[error("the response has no token")]
    Empty,
    #[error("no response within {}s", ANSWER_WITHIN.as_secs())]
    TimedOut,
}

impl TokenError {
    fn of(error: kube::Error) -> Self {
        match error {
            kube::Error::Api(status) => Self::Refused { code: status.code, message: status.message },
            other => Self::Request(other),
        }
    }

    /// The server has said no, and means it.
    fn is_refusal(&self) -> bool {
        match self {
            Self::Refused { code, .. } => matches!(code, 400..=404 | 409 | 422),
            Self::Request(_) | Self::TimedOut | Self::Empty => false,
            Self::Build(_) | Self::Write(_) => true,
        }
    }
}

struct CachedToken {
    token: Token,
    refresh_at: Timestamp,
    /// Its pod knows that it is due.
    is_reported: bool,
}

/// Most pods have one token: a list of one is a tenth of a map of one.
type KeptTokens = BTreeMap<PodUid, Vec<(TokenWish, CachedToken)>>;

/// Tokens that pods have, by pod and wish.
pub(crate) struct Tokens {
    client: kube::Client,
    clock: Arc<dyn Clock>,
    jitter: Arc<dyn Jitter>,
    kept: Mutex<KeptTokens>,
}

impl Tokens {
    pub(crate) fn new(client: kube::Client, clock: Arc<dyn Clock>, jitter: Arc<dyn Jitter>) -> Self {
        Self { client, clock, jitter, kept: Mutex::default() }
    }

    fn kept(&self) -> MutexGuard<'_, KeptTokens> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The token that is kept, or a new one if that is due. One that can't be replaced is used as long as it is good.
    pub(crate) async fn token(&self, pod: &Pod, wish: &TokenWish) -> Result<Token, ObjectError> {
        let uid = PodUid::of(pod);
        let old = {
            let kept = self.kept();
            let of_wish = kept.get(&uid).and_then(|of_pod| of_pod.iter().find(|(of, _)| of == wish));
            of_wish.map(|(_, kept)| (kept.token.clone(), kept.refresh_at))
        };
        if let Some((token, refresh_at)) = &old
            && self.clock.now() < *refresh_at
        {
            return Ok(token.clone());
        }
        let asked = tokio::time::timeout(ANSWER_WITHIN, self.ask(pod, wish)).await;
        let error = match asked.unwrap_or(Err(TokenError::TimedOut)) {
            Ok((token, lifetime_seconds)) => {
                let refresh_at = refresh_at(token.expires_at, lifetime_seconds, self.jitter.unit());
                // A clock that is ahead of the server's by most of a token's life would have each new one replaced at once.
                let refresh_at = refresh_at.max(later(self.clock.now(), RETRY_AFTER));
                let kept = CachedToken { token: token.clone(), refresh_at, is_reported: false };
                self.keep(uid, wish, kept);
                return Ok(token);
            }
            Err(error) => error,
        };
        let now = self.clock.now();
        match old {
            Some((token, _)) if now < token.expires_at => {
                let error = one_line(&error);
                tracing::warn!(pod = %PodFullName::of(pod), pod_uid = %uid, error, "Couldn't update token");
                self.put_off(&uid, wish, now);
                Ok(token)
            }
            old => Err(as_object_error(&error, old.is_some())),
        }
    }

    /// Asks the API server. Gives the token, and for how many seconds it was given.
    async fn ask(&self, pod: &Pod, wish: &TokenWish) -> Result<(Token, i64), TokenError> {
        let namespace = pod.metadata.namespace.as_deref().unwrap_or_default();
        let account = pod.spec.as_ref().and_then(|spec| spec.service_account_name.as_deref());
        let account = account.filter(|name| !name.is_empty()).unwrap_or("default");
        let body = TokenRequest {
            spec: Some(TokenRequestSpec {
                audiences: wish.audience.clone().map(|audience| vec![audience]),
                expiration_seconds: Some(wish.expiration_seconds),
                bound_object_ref: Some(BoundObjectReference {
                    api_version: Some("v1".to_owned()),
                    kind: Some("Pod".to_owned()),
                    name: pod.metadata.name.clone(),
                    uid: pod.metadata.uid.clone(),
                }),
            }),
            ..TokenRequest::default()
        };
        let path = ServiceAccount::url_path(&(), Some(namespace));
        let request = kube::core::Request::new(path).create_subresource(
            "token",
            account,
            &PostParams::default(),
            serde_json::to_vec(&body)?,
        );
        let answer: TokenRequest =
            self.client.request(request.map_err(TokenError::Build)?).await.map_err(TokenError::of)?;
        let given = answer.spec.and_then(|spec| spec.expiration_seconds);
        let status = answer.status.ok_or(TokenError::Empty)?;
        let token = status.token.filter(|token| !token.is_empty()).ok_or(TokenError::Empty)?;
        let expires_at = status.expiration_timestamp.ok_or(TokenError::Empty)?.0;
        Ok((Token { token, expires_at }, given.unwrap_or(wish.expiration_seconds)))
    }

    fn keep(&self, uid: PodUid, wish: &TokenWish, token: CachedToken) {
        let mut kept = self.kept();
        let of_pod = kept.entry(uid).or_default();
        match of_pod.iter_mut().find(|(of, _)| of == wish) {
            Some((_, before)) => *before = token,
            None => {
                of_pod.reserve_exact(1);
                of_pod.push((wish.clone(), token));
            }
        }
    }

    fn put_off(&self, uid: &PodUid, wish: &TokenWish, now: Timestamp) {
        let mut kept = self.kept();
        let of_pod = kept.get_mut(uid).into_iter().flatten();
        for (_, kept) in of_pod.filter(|(of, _)| of == wish) {
            kept.refresh_at = later(now, RETRY_AFTER);
            kept.is_reported = false;
        }
    }

    /// The pod is gone.
    pub(crate) fn forget(&self, uid: &PodUid) {
        self.kept().remove(uid);
    }

    /// Pods with tokens that are due, each token once.
    pub(crate) fn due(&self, now: Timestamp) -> Vec<PodUid> {
        let mut due = Vec::new();
        for (uid, of_pod) in self.kept().iter_mut() {
            let mut is_due = false;
            let of_pod = of_pod.iter_mut().map(|(_, kept)| kept);
            for kept in of_pod.filter(|kept| !kept.is_reported && kept.refresh_at <= now) {
                kept.is_reported = true;
                is_due = true;
            }
            if is_due {
                due.push(uid.clone());
            }
        }
        due
    }

    /// When the next token is due; none if no pod is to be reported any more.
    pub(crate) fn next_due(&self) -> Option<Timestamp> {
        let kept = self.kept();
        let unreported = kept.values().flatten().map(|(_, kept)| kept).filter(|kept| !kept.is_reported);
        unreported.map(|kept| kept.refresh_at).min()
    }
}

fn later(at: Timestamp, by: SignedDuration) -> Timestamp {
    at.saturating_add(by).unwrap_or(Timestamp::MAX)
}

fn as_object_error(error: &TokenError, has_expired: bool) -> ObjectError {
    let object = if has_expired { "token expired and refresh failed" } else { "failed to fetch token" };
    let (object, message) = (object.to_owned(), one_line(error));
    if error.is_refusal() {
        ObjectError::Refused { object, message }
    } else {
        ObjectError::Unavailable { object, message }
    }
}
