//! Writes about pods as HTTP requests, and answers as what follows from them.

use std::time::Duration;

use http::{Method, Request, Response, header};
use http_body_util::{BodyExt, Limited};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Pod, PodStatus};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Status;
use kube::Client;
use kube::client::Body;
use serde::Deserialize;
use serde_json::json;
use witlet_core::error::one_line;
use witlet_core::network;
use witlet_core::pod::PodFullName;
use witlet_core::status::write::{AtServer, Next, judge};

use crate::client::OneTry;

/// A write that isn't answered in this time has failed.
const WRITE_MAX: Duration = Duration::from_secs(30);
/// Answers beyond this size aren't read; the API server's objects are smaller.
const ANSWER_BYTES_MAX: usize = 4 << 20;

/// Why a write failed, and what is to be done about it.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) next: Next,
    /// The server's code, if there was an answer.
    pub(crate) code: Option<u16>,
    pub(crate) message: String,
}

impl Failure {
    fn unreachable(message: String) -> Self {
        Self { next: judge(None, None, None), code: None, message }
    }

    /// The fault is the request's own or lies in what was answered, not in whether there is an answer.
    pub(crate) fn odd(message: String) -> Self {
        Self { next: Next::Retry, code: None, message }
    }
}

/// What the server said that it has now, without all that no one here asks for.
#[derive(Debug, Deserialize)]
pub(crate) struct ServerPod {
    metadata: ServerPodMetadata,
    #[serde(default)]
    status: PodStatus,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ServerPodMetadata {
    uid: String,
    resource_version: String,
    deletion_timestamp: Option<Timestamp>,
}

impl ServerPod {
    /// Returns the fields by which the next write is decided.
    pub(crate) fn at_server(&self) -> AtServer<'_> {
        let ServerPodMetadata { uid, resource_version, deletion_timestamp } = &self.metadata;
        AtServer { uid, resource_version, is_deleted: deletion_timestamp.is_some(), status: &self.status }
    }
}

/// Patches the pod's status.
pub(crate) async fn patch_status(
    client: &Client,
    name: &PodFullName,
    body: &serde_json::Value,
) -> Result<ServerPod, Failure> {
    let path = format!("{}/{}/status", pods_of(name), name.name);
    let answer =
        send(client, Method::PATCH, &path, "application/strategic-merge-patch+json", body.to_string())
            .await?;
    serde_json::from_slice(&answer).map_err(|error| Failure::odd(format!("invalid response: {error}")))
}

/// Deletes the pod at once, if it still has this UID.
pub(crate) async fn delete(client: &Client, name: &PodFullName, uid: &str) -> Result<(), Failure> {
    let path = format!("{}/{}", pods_of(name), name.name);
    let options = json!({
        "apiVersion": "v1",
        "kind": "DeleteOptions",
        "gracePeriodSeconds": 0,
        "preconditions": { "uid": uid },
    });
    send(client, Method::DELETE, &path, "application/json", options.to_string()).await.map(drop)
}

/// Makes a pod.
pub(crate) async fn create(client: &Client, pod: &Pod) -> Result<(), Failure> {
    let body = serde_json::to_string(pod).map_err(|error| Failure::odd(error.to_string()))?;
    send(client, Method::POST, &pods_of(&PodFullName::of(pod)), "application/json", body).await.map(drop)
}

fn pods_of(name: &PodFullName) -> String {
    format!("/api/v1/namespaces/{}/pods", name.namespace)
}

async fn send(
    client: &Client,
    method: Method,
    path: &str,
    content_type: &str,
    body: String,
) -> Result<bytes::Bytes, Failure> {
    let request = Request::builder()
        .method(method)
        .uri(path)
        .header(header::CONTENT_TYPE, content_type)
        .header(header::ACCEPT, "application/json")
        // The queue waits for all pods at once, and longer than a write may take.
        .extension(OneTry)
        .body(Body::from(body.into_bytes()))
        .map_err(|error| Failure::odd(error.to_string()))?;
    let exchange = async {
        let response = client.send(request).await.map_err(|error| Failure::unreachable(one_line(&error)))?;
        read(response).await
    };
    match tokio::time::timeout(WRITE_MAX, exchange).await {
        Ok(answer) => answer,
        Err(_) => Err(Failure::unreachable(format!("no response within {}s", WRITE_MAX.as_secs()))),
    }
}

async fn read(response: Response<Body>) -> Result<bytes::Bytes, Failure> {
    let code = response.status();
    let retry_after = retry_after(&response);
    let body = Limited::new(response.into_body(), ANSWER_BYTES_MAX).collect().await;
    let body = match body {
        Ok(body) => body.to_bytes(),
        Err(error) => return Err(Failure::unreachable(format!("the response ended early: {error}"))),
    };
    if code.is_success() {
        return Ok(body);
    }
    let words: Option<Status> = serde_json::from_slice(&body).ok().filter(is_status);
    let said = words.as_ref().and_then(|words| words.message.clone());
    Err(Failure {
        next: judge(Some(code.as_u16()), words.as_ref(), retry_after),
        code: Some(code.as_u16()),
        message: said.unwrap_or_else(|| code.to_string()),
    })
}

/// Every field of a status may be absent, so that any object can be read as one.
fn is_status(words: &Status) -> bool {
    words.status.as_deref() == Some("Failure")
}

fn retry_after(response: &Response<Body>) -> Option<Duration> {
    network::retry_after(response.headers().get(header::RETRY_AFTER)?.to_str().ok()?)
}
