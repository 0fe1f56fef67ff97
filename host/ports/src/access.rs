//! The port that says who may use this node's endpoints.

use std::collections::BTreeMap;

use async_trait::async_trait;
use thiserror::Error;

/// Who asks, as Kubernetes knows users.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Identity {
    /// Name, such as `system:node:worker1` or `kube-apiserver-kubelet-client`.
    pub user: String,
    /// UID; empty if it has none.
    pub uid: String,
    /// Groups, `system:authenticated` among them.
    pub groups: Vec<String>,
    /// What else the authenticator knows.
    pub extra: BTreeMap<String, Vec<String>>,
}

/// What is asked for, as upstream's `NodeAuthorizerAttributesGetter` (`server/auth.go`) tells it to the authorizer.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct NodeAction {
    /// `get`, `create`, `update`, `patch` or `delete`, from the method.
    pub verb: &'static str,
    /// Subresources of the node to be asked about in this order, until one is allowed: the fine-grained one first (`healthz`,
    /// `configz`, `pods`), then `proxy`; or `stats`, `metrics`, `log`, `checkpoint`, `proxy` alone.
    pub subresources: Vec<&'static str>,
    pub path: String,
}

/// No authorizer could be asked, so that the answer is no.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("{message}")]
pub struct AccessError {
    pub message: String,
}

/// Whose word counts on who may use this node's endpoints. Answers are remembered as long as upstream remembers them.
#[async_trait]
pub trait NodeAccess: Send + Sync {
    /// Whose bearer token that is; none if it is unknown.
    async fn review_token(&self, token: &str) -> Result<Option<Identity>, AccessError>;

    /// Whether this user may do that with this node; the reason if not.
    async fn may(&self, who: &Identity, action: &NodeAction) -> Result<Result<(), String>, AccessError>;
}
