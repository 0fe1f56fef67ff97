//! Requests about the node's own object, each with a deadline.

use std::future::Future;
use std::time::Duration;

use k8s_openapi::api::core::v1::Node;
use kube::api::{Api, Patch, PatchParams, PostParams};
use serde_json::Value;
use thiserror::Error;
use tokio::time::timeout;

/// A request takes at most this long (upstream: the heartbeat client's time-out).
pub(crate) const REQUEST_WITHIN: Duration = Duration::from_secs(10);

/// Why a request failed.
#[derive(Debug, Error)]
pub(crate) enum ApiError {
    /// The object isn't there.
    #[error("not found")]
    Missing,
    #[error("{code} {reason}: {message}")]
    Refused {
        code: u16,
        /// The CamelCase word.
        reason: String,
        message: String,
    },
    /// No answer could be had or read.
    #[error("request failed: {}", with_causes(.0))]
    Unavailable(kube::Error),
    /// No answer came in time.
    #[error("no response within {}s", REQUEST_WITHIN.as_secs())]
    TimedOut,
}

/// The error and what led to it, from the outermost to the innermost: a cause that stands in the text already isn't repeated.
fn with_causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    for cause in std::iter::successors(error.source(), |cause| (*cause).source()) {
        let cause = cause.to_string();
        if !text.contains(&cause) {
            text.push_str(": ");
            text.push_str(&cause);
        }
    }
    text
}

impl ApiError {
    fn of(error: kube::Error) -> Self {
        match error {
            kube::Error::Api(status) if status.code == 404 => Self::Missing,
            kube::Error::Api(status) => {
                let status = *status;
                Self::Refused { code: status.code, reason: status.reason, message: status.message }
            }
            other => Self::Unavailable(other),
        }
    }

    /// Whether someone else was first: the object is there already, or is another one now.
    pub(crate) fn is_conflict(&self) -> bool {
        matches!(self, Self::Refused { code: 409, .. })
    }

    /// Whether the server understood and said no.
    pub(crate) fn is_refusal(&self) -> bool {
        matches!(self, Self::Refused { code: 400..=499, .. })
    }
}

/// Carries one request out.
pub(crate) async fn within<T>(request: impl Future<Output = kube::Result<T>>) -> Result<T, ApiError> {
    match timeout(REQUEST_WITHIN, request).await {
        Ok(answer) => answer.map_err(ApiError::of),
        Err(_) => Err(ApiError::TimedOut),
    }
}

/// The node's own object.
#[derive(Clone)]
pub(super) struct NodeApi {
    api: Api<Node>,
    name: String,
}

impl NodeApi {
    pub(super) fn new(client: &kube::Client, name: &str) -> Self {
        Self { api: Api::all(client.clone()), name: name.to_owned() }
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    pub(super) async fn create(&self, node: &Node) -> Result<Node, ApiError> {
        within(self.api.create(&PostParams::default(), node)).await
    }

    pub(super) async fn get(&self) -> Result<Node, ApiError> {
        within(self.api.get(&self.name)).await
    }

    pub(super) async fn patch_status(&self, patch: &Value) -> Result<Node, ApiError> {
        let (params, patch) = (PatchParams::default(), Patch::Strategic(patch));
        within(self.api.patch_status(&self.name, &params, &patch)).await
    }
}

#[cfg(test)]
mod tests;
