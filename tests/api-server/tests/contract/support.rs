//! What the cases share: objects to write, and short words for what servers answer.

use std::fmt::Debug;
use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Pod};
use kube::Client;
use kube::api::{Api, DeleteParams, Patch, PatchParams, PostParams, Preconditions};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

/// The node that [`Clients::node`] is.
pub(crate) const NODE: &str = "contract-node";
/// The group of users that may ask for a node's first certificate, as kubeadm names it.
pub(crate) const BOOTSTRAPPERS: &str = "system:bootstrappers:kubeadm:default-node-token";
/// How long a server may take to know what was just written: its authorizer follows the objects.
const SETTLING: Duration = Duration::from_secs(120);
/// Between checks.
const PAUSE: Duration = Duration::from_millis(100);

/// Who the cases are to a server.
#[derive(Clone)]
pub(crate) struct Clients {
    /// May do everything.
    pub(crate) admin: Client,
    /// `system:node:contract-node` in `system:nodes`, under the Node authorizer and NodeRestriction.
    pub(crate) node: Client,
    /// In [`BOOTSTRAPPERS`].
    pub(crate) bootstrap: Client,
    /// Whether the server's controllers approve and sign requests for certificates.
    pub(crate) signs: bool,
}

/// One case of the contract. It gets a namespace of its own.
pub(crate) struct Case {
    /// What is promised.
    pub(crate) name: &'static str,
    /// Minor version of the first server that promises it; 0 for all that are checked.
    pub(crate) since: u32,
    /// Panics where the promise is broken.
    pub(crate) run: fn(Clients, String) -> Run,
}

/// A case that runs.
pub(crate) type Run = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Makes cases of functions, by their names; `since 27` behind one that servers before 1.27 don't know. Functions get the
/// administrator's client; after `clients:` they get all.
macro_rules! cases {
    (clients: $($name:ident $(since $minor:literal)?),* $(,)?) => {
        pub(crate) const CASES: &[crate::support::Case] = &[$(crate::support::Case {
            name: stringify!($name),
            since: 0 $(+ $minor)?,
            run: |clients, namespace| Box::pin($name(clients, namespace)),
        }),*];
    };
    ($($name:ident $(since $minor:literal)?),* $(,)?) => {
        pub(crate) const CASES: &[crate::support::Case] = &[$(crate::support::Case {
            name: stringify!($name),
            since: 0 $(+ $minor)?,
            run: |clients, namespace| Box::pin($name(clients.admin, namespace)),
        }),*];
    };
}
pub(crate) use cases;

/// Tries again until it is so: a server's authorizer and controllers follow what is written.
pub(crate) async fn until<T, F: Future<Output = Option<T>>>(what: &str, mut check: impl FnMut() -> F) -> T {
    let end = Instant::now() + SETTLING;
    loop {
        if let Some(found) = check().await {
            return found;
        }
        assert!(Instant::now() < end, "never: {what}");
        sleep(PAUSE).await;
    }
}

/// A new namespace.
pub(crate) async fn namespace(client: &Client) -> String {
    let namespaces: Api<Namespace> = Api::all(client.clone());
    let wish: Namespace = of(json!({ "metadata": { "generateName": "contract-" } }));
    let made = namespaces.create(&PostParams::default(), &wish).await.expect("a namespace");
    made.metadata.name.expect("a server names it")
}

/// An object from JSON.
pub(crate) fn of<T: DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).expect("a case gives well-formed objects")
}

/// A pod of one container, on this node; on none if the name is empty.
pub(crate) fn pod(name: &str, node: &str) -> Pod {
    of(json!({
        "metadata": { "name": name, "labels": { "app": name } },
        "spec": { "nodeName": node, "containers": [{ "name": "c", "image": "example.com/i:1" }] },
    }))
}

/// A config map of one key.
pub(crate) fn config(name: &str, value: &str) -> ConfigMap {
    of(json!({ "metadata": { "name": name }, "data": { "k": value } }))
}

/// The pods of the case's namespace.
pub(crate) fn pods(client: &Client, namespace: &str) -> Api<Pod> {
    Api::namespaced(client.clone(), namespace)
}

/// The config maps of the case's namespace.
pub(crate) fn configs(client: &Client, namespace: &str) -> Api<ConfigMap> {
    Api::namespaced(client.clone(), namespace)
}

/// Creates a pod.
pub(crate) async fn created(api: &Api<Pod>, pod: &Pod) -> Pod {
    api.create(&PostParams::default(), pod).await.expect("a pod that can be created")
}

/// Patches a pod's status.
pub(crate) async fn patched(api: &Api<Pod>, name: &str, patch: Value) -> Result<Pod, kube::Error> {
    api.patch_status(name, &PatchParams::default(), &Patch::Strategic(&patch)).await
}

/// Deletes a pod with this grace; preconditions by UID where one is given.
pub(crate) async fn deleted(
    api: &Api<Pod>,
    name: &str,
    grace: Option<u32>,
    uid: Option<&str>,
) -> Result<Option<Pod>, kube::Error> {
    let mut params = DeleteParams { grace_period_seconds: grace, ..DeleteParams::default() };
    if let Some(uid) = uid {
        params.preconditions = Some(Preconditions { uid: Some(uid.to_owned()), ..Preconditions::default() });
    }
    Ok(api.delete(name, &params).await?.left())
}

/// Code and reason of a refusal.
pub(crate) fn refused<T: Debug>(result: Result<T, kube::Error>) -> (u16, String) {
    match result {
        Err(kube::Error::Api(status)) => (status.code, status.reason.clone()),
        other => unexpected(&other),
    }
}

/// The fields that a refusal names.
pub(crate) fn fields<T: Debug>(result: Result<T, kube::Error>) -> Vec<String> {
    match result {
        Err(kube::Error::Api(status)) => {
            let causes = status.details.as_ref().map(|details| details.causes.clone()).unwrap_or_default();
            causes.into_iter().map(|cause| cause.field).collect()
        }
        other => unexpected(&other),
    }
}

#[allow(clippy::panic, reason = "what breaks a case ends it")]
fn unexpected(result: &dyn Debug) -> ! {
    panic!("the server should have refused, and there was {result:?}")
}
