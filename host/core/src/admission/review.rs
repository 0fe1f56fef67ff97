//! `AdmissionReview` of `admission.k8s.io/v1`: what an API server asks a validating webhook, as a question to admission handlers, and
//! their decision as its answer.
//!
//! A webhook asks what the node asks: about new pods, resizes, other images, and ephemeral containers. Where a decision depends on the node,
//! which isn't known when a pod is made, or can only wait, the request is allowed with a warning: the node asks again.

use std::sync::Arc;

use k8s_openapi::api::core::v1::Pod;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use thiserror::Error;

use super::chain::{is_shortage, signed};
use super::verdicts::HandlerVerdict;
use super::{Decision, Operation};
use crate::pod::edit::AcceptedContainers;
use crate::pod::static_pod::is_mirror;
use crate::status::EditKind;

#[cfg(test)]
mod tests;

/// The only version that is understood and answered.
pub const API_VERSION: &str = "admission.k8s.io/v1";
const KIND: &str = "AdmissionReview";

/// Bytes of the longest `request.uid`; an API server's has 36.
const UID_BYTES_MAX: usize = 128;
/// Characters of a warning that API servers promise to hand on.
const WARNING_CHARS_MAX: usize = 256;
/// Characters of all warnings of an answer together that they promise to hand on.
const WARNINGS_CHARS_MAX: usize = 4096;
/// How much of a foreign word an error shows.
const SHOWN_CHARS_MAX: usize = 64;

/// Why a body is no question.
#[derive(Debug, Error)]
pub enum ReviewError {
    /// It isn't an AdmissionReview in JSON.
    #[error("the body must be an AdmissionReview in JSON")]
    Json(#[source] serde_json::Error),
    /// A field has another value than it must have.
    #[error("{field} must be {expected}, found {found:?}")]
    Field {
        field: &'static str,
        /// What it must be.
        expected: &'static str,
        /// What it is, cut short.
        found: String,
    },
    /// The request has no object, or one that isn't a pod.
    #[error("request.object must be a Pod")]
    Object(#[source] serde_json::Error),
    /// What the object was before isn't a pod.
    #[error("request.oldObject must be a Pod")]
    OldObject(#[source] serde_json::Error),
}

/// What is asked.
#[derive(Clone, Debug, PartialEq)]
pub struct Review {
    /// Goes back with the answer.
    pub uid: String,
    /// What it comes to.
    pub question: ReviewQuestion,
}

/// What a review comes to.
#[derive(Clone, Debug, PartialEq)]
pub enum ReviewQuestion {
    /// Nothing that handlers are asked about.
    None(ReviewAnswer),
    /// About a pod, with namespace, name and UID.
    Pod {
        /// Add, resize, update or ephemeral.
        operation: Operation,
        /// As it is to be.
        pod: Arc<Pod>,
        /// As it is; none if it is new, or the API server doesn't say.
        old_pod: Option<Arc<Pod>>,
    },
}

/// What the API server gets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReviewAnswer {
    /// Reason and message of a denial; none if the request is allowed.
    pub denial: Option<(String, String)>,
    /// What the user is shown all the same.
    pub warnings: Vec<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ReviewDocument {
    #[serde(default)]
    api_version: String,
    #[serde(default)]
    kind: String,
    request: Option<RequestDocument>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RequestDocument {
    #[serde(default)]
    uid: String,
    resource: ResourceDocument,
    #[serde(default)]
    sub_resource: String,
    #[serde(default)]
    name: String,
    #[serde(default)]
    namespace: String,
    #[serde(default)]
    operation: String,
    #[serde(default)]
    object: Value,
    #[serde(default)]
    old_object: Option<Value>,
}

#[derive(Deserialize)]
struct ResourceDocument {
    #[serde(default)]
    group: String,
    #[serde(default)]
    resource: String,
}

/// Reads a request's body.
///
/// # Errors
/// When it isn't an AdmissionReview of [`API_VERSION`] with a request.
pub fn read(body: &[u8]) -> Result<Review, ReviewError> {
    let review: ReviewDocument = serde_json::from_slice(body).map_err(ReviewError::Json)?;
    expect("apiVersion", API_VERSION, &review.api_version)?;
    expect("kind", KIND, &review.kind)?;
    let Some(request) = review.request else {
        return Err(ReviewError::Field { field: "request", expected: "a request", found: String::new() });
    };
    if request.uid.is_empty() || request.uid.len() > UID_BYTES_MAX {
        let expected = "a word of at most 128 bytes";
        return Err(ReviewError::Field {
            field: "request.uid",
            expected,
            found: shortened(&request.uid, SHOWN_CHARS_MAX),
        });
    }
    let uid = request.uid.clone();
    Ok(Review { uid, question: question(request)? })
}

fn expect(field: &'static str, expected: &'static str, found: &str) -> Result<(), ReviewError> {
    if found == expected {
        return Ok(());
    }
    Err(ReviewError::Field { field, expected, found: shortened(found, SHOWN_CHARS_MAX) })
}

fn question(request: RequestDocument) -> Result<ReviewQuestion, ReviewError> {
    let ResourceDocument { group, resource } = &request.resource;
    let is_pod = group.is_empty() && resource == "pods";
    let operation = match (is_pod, request.sub_resource.as_str(), request.operation.as_str()) {
        (true, "", "CREATE") => Operation::Add,
        (true, "resize", "UPDATE") => Operation::Resize,
        (true, "ephemeralcontainers", "UPDATE") => Operation::Ephemeral,
        (true, "", "UPDATE") => Operation::Update,
        _ => return Ok(ReviewQuestion::None(ReviewAnswer::default())),
    };
    let mut pod: Pod = serde_json::from_value(request.object).map_err(ReviewError::Object)?;
    // The API server's image of a pod that the node has from elsewhere: to deny it would hide the pod, not stop it.
    if is_mirror(&pod) {
        return Ok(ReviewQuestion::None(ReviewAnswer::default()));
    }
    let old_pod: Option<Pod> = match request.old_object {
        Some(Value::Null) | None => None,
        Some(old) => Some(serde_json::from_value(old).map_err(ReviewError::OldObject)?),
    };
    if !is_asked(operation, &pod, old_pod.as_ref()) {
        return Ok(ReviewQuestion::None(ReviewAnswer::default()));
    }
    let or = |own: Option<String>, other: &str| {
        own.filter(|own| !own.is_empty()).or_else(|| Some(other.to_owned()))
    };
    let metadata = &mut pod.metadata;
    metadata.namespace = or(metadata.namespace.take(), &request.namespace);
    metadata.name = or(metadata.name.take(), &request.name);
    metadata.uid = or(metadata.uid.take(), &request.uid);
    Ok(ReviewQuestion::Pod { operation, pod: Arc::new(pod), old_pod: old_pod.map(Arc::new) })
}

/// Whether there is anything that handlers are asked about: of most updates there isn't.
fn is_asked(operation: Operation, pod: &Pod, old: Option<&Pod>) -> bool {
    let accepted = || old.map(AcceptedContainers::of);
    match operation {
        Operation::Update => accepted().is_some_and(|old| old.is_edited(EditKind::Images, pod)),
        Operation::Ephemeral => accepted().unwrap_or_default().is_edited(EditKind::EphemeralContainers, pod),
        Operation::Add
        | Operation::Resize
        | Operation::ImageResolved
        | Operation::Readmit
        | Operation::Recheck => true,
    }
}

/// Returns what a decision comes to where the node hasn't been asked yet.
pub fn answer(operation: Operation, decision: Decision) -> ReviewAnswer {
    let what = match operation {
        Operation::Update => "the new images wait",
        Operation::Ephemeral => "the ephemeral containers wait",
        Operation::Add
        | Operation::Resize
        | Operation::ImageResolved
        | Operation::Readmit
        | Operation::Recheck => "the pod waits",
    };
    let warn =
        |text: String| ReviewAnswer { denial: None, warnings: vec![shortened(&text, WARNING_CHARS_MAX)] };
    match decision {
        Decision::Admit => ReviewAnswer::default(),
        Decision::Reject { reason, message, .. } if is_shortage(&reason, &message) => {
            warn(format!("witlet: only the node can say whether it has the resources: {reason}: {message}"))
        }
        Decision::Reject { reason, message, .. } => {
            ReviewAnswer { denial: Some((reason, message)), warnings: Vec::new() }
        }
        Decision::Preempt { message, .. } => {
            warn(format!("witlet: only the node can say whether it has the resources: {message}"))
        }
        Decision::Defer { reason, message, .. } => {
            warn(format!("witlet: {what} on its node while this is so: {reason}: {message}"))
        }
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct AnswerDocument<'a> {
    api_version: &'a str,
    kind: &'a str,
    response: ResponseDocument<'a>,
}

#[derive(Serialize)]
struct ResponseDocument<'a> {
    uid: &'a str,
    allowed: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<StatusDocument<'a>>,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    warnings: &'a [String],
}

#[derive(Serialize)]
struct StatusDocument<'a> {
    status: &'a str,
    code: u16,
    reason: &'a str,
    message: String,
}

impl ReviewAnswer {
    /// The same, with what handlers warn the pod's owner of, each sentence signed; those that API servers might drop are left out.
    pub fn with_warnings_of(mut self, verdicts: &[HandlerVerdict]) -> Self {
        let mut chars: usize = self.warnings.iter().map(|warning| warning.chars().count()).sum();
        for verdict in verdicts {
            let by = verdict.attribution();
            let sign_chars = by.as_ref().map_or(0, |by| by.chars().count() + " ()".len());
            for warning in &verdict.remarks().warnings {
                let own = shortened(warning, WARNING_CHARS_MAX.saturating_sub(sign_chars));
                let warning = signed(own, by.as_deref());
                chars += warning.chars().count();
                if chars > WARNINGS_CHARS_MAX {
                    return self;
                }
                self.warnings.push(warning);
            }
        }
        self
    }

    /// The answer's body for the review with this UID.
    ///
    /// # Errors
    /// Never in practice: nothing in it can't be written as JSON.
    pub fn to_json(&self, uid: &str) -> Result<Vec<u8>, serde_json::Error> {
        // API servers show the message alone.
        let status = self.denial.as_ref().map(|(reason, message)| StatusDocument {
            status: "Failure",
            code: 403,
            reason,
            message: format!("{reason}: {message}"),
        });
        let response = ResponseDocument { uid, allowed: status.is_none(), status, warnings: &self.warnings };
        serde_json::to_vec(&AnswerDocument { api_version: API_VERSION, kind: KIND, response })
    }
}

/// Cuts a text to so many characters on one line.
fn shortened(text: &str, chars_max: usize) -> String {
    let plain = |char: char| if char.is_control() { ' ' } else { char };
    let mut chars = text.chars().map(plain);
    let mut short: String = chars.by_ref().take(chars_max).collect();
    if chars.next().is_some() {
        short.pop();
        short.push('…');
    }
    short
}
