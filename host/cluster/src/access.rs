//! Who may do what on this node's own endpoints: TokenReview and SubjectAccessReview, remembered for a while.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use k8s_openapi::api::authentication::v1::{TokenReview, TokenReviewSpec, TokenReviewStatus};
use k8s_openapi::api::authorization::v1::{
    ResourceAttributes, SubjectAccessReview, SubjectAccessReviewSpec, SubjectAccessReviewStatus,
};
use kube::api::PostParams;
use kube::{Api, Client};
use serde::Serialize;
use serde::de::DeserializeOwned;
use sha2::{Digest as _, Sha256};
use tokio::time::Instant;
use tokio::time::error::Elapsed;
use witlet_core::stats::exposition::Exposition;
use witlet_ports::{AccessError, Identity, MetricsSource, NodeAccess, NodeAction};

use memory::Memory;
use metrics::{AccessMetrics, ReviewMetrics};

mod memory;
mod metrics;

#[cfg(test)]
mod tests;

/// How long a token's owner is known, as the kubelet's `authentication.webhook.cacheTTL` has it.
const OWNER_KNOWN: Duration = Duration::from_secs(2 * 60);
/// How long a token is known as no one's. The kubelet asks again each time that the server gives a reason.
const NO_OWNER_KNOWN: Duration = Duration::from_secs(10);
/// How long a permission holds: `authorization.webhook.cacheAuthorizedTTL`.
const ALLOWED_KNOWN: Duration = Duration::from_secs(5 * 60);
/// How long a refusal holds: `authorization.webhook.cacheUnauthorizedTTL`.
const DENIED_KNOWN: Duration = Duration::from_secs(30);
/// How many answers of each kind are remembered.
const ANSWERS_MAX: usize = 4096;
/// The longest token that is asked about, in bytes: no header is longer.
const TOKEN_MAX: usize = 64 * 1024;
/// How long one try may take.
const TRY_MAX: Duration = Duration::from_secs(10);
/// How often is asked before there is no answer.
const TRIES: u32 = 5;
/// The pause after the first try; each one is half as long again as the one before.
const PAUSE_FIRST: Duration = Duration::from_millis(500);
/// By how much a pause is longer than the one before.
const PAUSE_GROWTH: f64 = 1.5;
/// What the API server answers to a review that it took.
const CREATED: u16 = 201;
/// The group of every authenticated user.
const AUTHENTICATED: &str = "system:authenticated";

/// Asks the API server who someone is and what they may do here.
#[derive(Debug)]
pub struct Access {
    tokens: Api<TokenReview>,
    reviews: Api<SubjectAccessReview>,
    node_name: String,
    owners: Memory<Option<Identity>>,
    permissions: Memory<Result<(), String>>,
    metrics: AccessMetrics,
}

impl Access {
    /// Creates the access of this node's endpoints. The node's user must be allowed to create both kinds of review, as `system:node` is.
    pub fn new(client: Client, node_name: &str) -> Self {
        Self {
            tokens: Api::all(client.clone()),
            reviews: Api::all(client),
            node_name: node_name.to_owned(),
            owners: Memory::new(ANSWERS_MAX),
            permissions: Memory::new(ANSWERS_MAX),
            metrics: AccessMetrics::default(),
        }
    }

    async fn ask_owner(&self, token: &str) -> Result<Option<Identity>, AccessError> {
        let review = TokenReview {
            spec: TokenReviewSpec { token: token.to_owned(), audiences: None },
            ..TokenReview::default()
        };
        let _fetching = self.metrics.cache.fetching();
        let review = create(&self.tokens, &review, "TokenReview", &self.metrics.reviews).await;
        self.metrics.cache.fetched(review.is_ok());
        Ok(owner_of(review?.status))
    }

    async fn ask_permission(&self, review: &SubjectAccessReview) -> Result<Result<(), String>, AccessError> {
        let review = create(&self.reviews, review, "SubjectAccessReview", &self.metrics.permissions).await?;
        Ok(permission_of(review.status))
    }
}

impl MetricsSource for Access {
    fn write(&self, to: &mut Exposition) {
        self.metrics.write(to);
    }
}

#[async_trait]
impl NodeAccess for Access {
    async fn review_token(&self, token: &str) -> Result<Option<Identity>, AccessError> {
        if token.is_empty() || token.len() > TOKEN_MAX {
            return Ok(None);
        }
        let key = Sha256::digest(token.as_bytes()).into();
        let known = |owner: &Option<Identity>| if owner.is_some() { OWNER_KNOWN } else { NO_OWNER_KNOWN };
        let was_known = AtomicBool::new(true);
        let ask = async {
            was_known.store(false, Ordering::Relaxed);
            self.ask_owner(token).await
        };
        let (begun, _waiting) = (Instant::now(), self.metrics.cache.waiting());
        let answer = self.owners.ask(key, ask, known).await;
        self.metrics.cache.requested(was_known.load(Ordering::Relaxed), begun.elapsed());
        answer
    }

    async fn may(&self, who: &Identity, action: &NodeAction) -> Result<Result<(), String>, AccessError> {
        let mut reason = "no attributes to authorize".to_owned();
        for subresource in &action.subresources {
            let review = review_of(who, action.verb, subresource, &self.node_name);
            let key = key_of(&review)?;
            let known =
                |answer: &Result<(), String>| if answer.is_ok() { ALLOWED_KNOWN } else { DENIED_KNOWN };
            match self.permissions.ask(key, self.ask_permission(&review), known).await? {
                Ok(()) => return Ok(Ok(())),
                Err(words) => reason = words,
            }
        }
        Ok(Err(reason))
    }
}

fn key_of(review: &SubjectAccessReview) -> Result<[u8; 32], AccessError> {
    let text = serde_json::to_vec(&review.spec)
        .map_err(|error| AccessError { message: format!("SubjectAccessReview: {error}") })?;
    Ok(Sha256::digest(text).into())
}

/// The question, as upstream's authorizer puts it.
fn review_of(who: &Identity, verb: &str, subresource: &str, node_name: &str) -> SubjectAccessReview {
    let some = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
    let spec = SubjectAccessReviewSpec {
        user: some(&who.user),
        uid: some(&who.uid),
        groups: Some(who.groups.clone()).filter(|groups| !groups.is_empty()),
        extra: Some(who.extra.clone()).filter(|extra| !extra.is_empty()),
        resource_attributes: Some(ResourceAttributes {
            verb: some(verb),
            version: some("v1"),
            resource: some("nodes"),
            subresource: some(subresource),
            name: some(node_name),
            ..ResourceAttributes::default()
        }),
        non_resource_attributes: None,
    };
    SubjectAccessReview { spec, ..SubjectAccessReview::default() }
}

/// Whose token it is: only an authenticated answer with a user counts.
fn owner_of(status: Option<TokenReviewStatus>) -> Option<Identity> {
    let status = status.filter(|status| status.authenticated == Some(true))?;
    let user = status.user?;
    let name = user.username.filter(|name| !name.is_empty())?;
    let mut groups = user.groups.unwrap_or_default();
    if !groups.iter().any(|group| group == AUTHENTICATED) {
        groups.push(AUTHENTICATED.to_owned());
    }
    let extra: BTreeMap<String, Vec<String>> = user.extra.unwrap_or_default();
    Some(Identity { user: name, uid: user.uid.unwrap_or_default(), groups, extra })
}

/// An answer that says yes and no is no, and so is none.
fn permission_of(status: Option<SubjectAccessReviewStatus>) -> Result<(), String> {
    let Some(status) = status else { return Err("the API server gave no answer".to_owned()) };
    if status.allowed && !status.denied.unwrap_or(false) {
        return Ok(());
    }
    let some = |text: Option<String>| text.filter(|text| !text.is_empty());
    Err(some(status.reason)
        .or_else(|| some(status.evaluation_error))
        .unwrap_or_else(|| "not allowed".to_owned()))
}

/// The code of a try's answer; none without one.
fn code_of<K>(answer: &Result<Result<K, kube::Error>, Elapsed>) -> Option<u16> {
    match answer {
        Ok(Ok(_)) => Some(CREATED),
        Ok(Err(kube::Error::Api(status))) => Some(status.code),
        Ok(Err(_)) | Err(_) => None,
    }
}

/// Whether another try may help.
fn is_passing(error: &kube::Error) -> bool {
    match error {
        kube::Error::Api(status) => status.code == 429 || status.code >= 500,
        kube::Error::Service(_) | kube::Error::HyperError(_) => true,
        // What can't be built or read now can't be built or read later; the list is the library's, which says that it grows.
        _ => false,
    }
}

async fn create<K>(api: &Api<K>, review: &K, what: &str, metrics: &ReviewMetrics) -> Result<K, AccessError>
where
    K: Clone + std::fmt::Debug + Serialize + DeserializeOwned,
{
    let mut pause = PAUSE_FIRST;
    for left in (0..TRIES).rev() {
        let begun = Instant::now();
        let answer = tokio::time::timeout(TRY_MAX, api.create(&PostParams::default(), review)).await;
        metrics.tried(code_of(&answer), begun.elapsed());
        let error = match answer {
            Ok(Ok(review)) => return Ok(review),
            Ok(Err(error)) if left > 0 && is_passing(&error) => error,
            Ok(Err(error)) => return Err(AccessError { message: format!("{what}: {error}") }),
            Err(_) => return Err(AccessError { message: format!("{what}: no response within {TRY_MAX:?}") }),
        };
        tracing::debug!(%error, what, "Retrying");
        tokio::time::sleep(pause).await;
        pause = pause.mul_f64(PAUSE_GROWTH);
    }
    Err(AccessError { message: format!("{what}: no answer in {TRIES} tries") })
}
