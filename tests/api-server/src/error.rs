//! Errors as an API server tells them: objects of kind `Status`.

use serde_json::{Value, json};
use thiserror::Error;

use crate::resources::Resource;

/// A request that was refused, in the words of upstream's `StatusError`.
#[derive(Clone, Debug, Error, PartialEq)]
#[error("{message}")]
pub struct ApiError {
    /// HTTP status code.
    pub code: u16,
    /// Machine-readable reason, such as `NotFound`.
    pub reason: String,
    /// One sentence for people, as upstream writes it.
    pub message: String,
    /// `details` of the Status; null if it has none.
    pub details: Value,
    /// Seconds of the header `Retry-After`.
    pub retry_after: Option<u64>,
    /// `metadata` of the Status: the continue token of an expired list.
    pub metadata: Box<Value>,
}

/// One field that is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cause {
    /// `FieldValueInvalid`, `FieldValueRequired`, `FieldValueForbidden`, `FieldValueNotSupported`, ...
    pub reason: &'static str,
    /// Path of the field.
    pub field: String,
    /// What is wrong, without the field.
    pub message: String,
}

impl Cause {
    /// A value that can't be.
    pub fn invalid(field: impl Into<String>, value: &Value, why: &str) -> Self {
        let message = format!("Invalid value: {value}: {why}");
        Self { reason: "FieldValueInvalid", field: field.into(), message }
    }

    /// A value that is missing.
    pub fn required(field: impl Into<String>, why: &str) -> Self {
        let message =
            if why.is_empty() { "Required value".to_owned() } else { format!("Required value: {why}") };
        Self { reason: "FieldValueRequired", field: field.into(), message }
    }

    /// A value that this request may not give.
    pub fn forbidden(field: impl Into<String>, why: &str) -> Self {
        Self { reason: "FieldValueForbidden", field: field.into(), message: format!("Forbidden: {why}") }
    }

    /// A field that never changes.
    pub fn immutable(field: impl Into<String>, value: &Value) -> Self {
        Self::invalid(field, value, "field is immutable")
    }
}

impl ApiError {
    /// An error without details.
    pub fn new(code: u16, reason: &str, message: impl Into<String>) -> Self {
        let (reason, message) = (reason.to_owned(), message.into());
        Self { code, reason, message, details: Value::Null, retry_after: None, metadata: Box::new(json!({})) }
    }

    fn about(mut self, resource: &Resource, name: &str) -> Self {
        self.details = json!({ "name": name, "group": resource.group, "kind": resource.name });
        self
    }

    /// 404 on an object.
    pub(crate) fn not_found(resource: &Resource, name: &str) -> Self {
        Self::new(404, "NotFound", format!("{} \"{name}\" not found", resource.qualified()))
            .about(resource, name)
    }

    /// 404 on a path that nothing serves.
    pub(crate) fn no_such_path() -> Self {
        let mut error = Self::new(404, "NotFound", "the server could not find the requested resource");
        error.details = json!({});
        error
    }

    /// 409 on creation.
    pub(crate) fn already_exists(resource: &Resource, name: &str) -> Self {
        let message = format!("{} \"{name}\" already exists", resource.qualified());
        Self::new(409, "AlreadyExists", message).about(resource, name)
    }

    /// 409 with a reason of its own.
    pub(crate) fn conflict(resource: &Resource, name: &str, why: &str) -> Self {
        let message = format!("Operation cannot be fulfilled on {} \"{name}\": {why}", resource.qualified());
        Self::new(409, "Conflict", message).about(resource, name)
    }

    /// 409 on another resource version.
    pub(crate) fn modified(resource: &Resource, name: &str) -> Self {
        let why =
            "the object has been modified; please apply your changes to the latest version and try again";
        Self::conflict(resource, name, why)
    }

    /// 422 with the fields that are wrong.
    pub(crate) fn invalid(group: &str, kind: &str, name: &str, causes: &[Cause]) -> Self {
        let texts: Vec<String> = causes.iter().map(|c| format!("{}: {}", c.field, c.message)).collect();
        let text = if texts.len() == 1 { texts.concat() } else { format!("[{}]", texts.join(", ")) };
        let qualified = if group.is_empty() { kind.to_owned() } else { format!("{kind}.{group}") };
        let mut error = Self::new(422, "Invalid", format!("{qualified} \"{name}\" is invalid: {text}"));
        let causes: Vec<Value> = causes
            .iter()
            .map(|c| json!({ "reason": c.reason, "message": c.message, "field": c.field }))
            .collect();
        error.details = json!({ "name": name, "group": group, "kind": kind, "causes": causes });
        error
    }

    /// 400.
    pub(crate) fn bad_request(message: impl Into<String>) -> Self {
        Self::new(400, "BadRequest", message)
    }

    /// 401.
    pub fn unauthorized() -> Self {
        Self::new(401, "Unauthorized", "Unauthorized")
    }

    /// 403 on an object or a list.
    pub(crate) fn forbidden(resource: &Resource, name: &str, why: &str) -> Self {
        let message = if name.is_empty() {
            format!("{} is forbidden: {why}", resource.qualified())
        } else {
            format!("{} \"{name}\" is forbidden: {why}", resource.qualified())
        };
        Self::new(403, "Forbidden", message).about(resource, name)
    }

    /// 405.
    pub(crate) fn method_not_allowed() -> Self {
        let message = "the server does not allow this method on the requested resource";
        Self::new(405, "MethodNotAllowed", message)
    }

    /// A node's refusal of a log, in the words of upstream's generic answers.
    pub(crate) fn of_node(code: u16, pod: &str, text: String) -> Self {
        let (reason, message) = match code {
            400 => return Self::bad_request(text),
            500 => {
                let mut error = Self::new(500, "InternalError", format!("Internal error occurred: {text}"));
                error.details = json!({ "causes": [{ "message": text }] });
                return error;
            }
            401 => ("Unauthorized", "the server has asked for the client to provide credentials".to_owned()),
            403 => ("Forbidden", text),
            404 => ("NotFound", "the server could not find the requested resource".to_owned()),
            503 => ("ServiceUnavailable", "the server is currently unable to handle the request".to_owned()),
            _ => (
                "Unknown",
                "the server responded with the status code but did not return more information".to_owned(),
            ),
        };
        let mut error = Self::new(code, reason, format!("{message} ( pods/log {pod})"));
        error.details = json!({ "name": pod, "kind": "pods/log" });
        error
    }

    /// 410: versions that are forgotten.
    pub fn expired(message: impl Into<String>) -> Self {
        Self::new(410, "Expired", message)
    }

    /// 429 with the seconds to wait.
    pub fn too_many_requests(message: &str, seconds: u64) -> Self {
        let mut error = Self::new(429, "TooManyRequests", message);
        error.details = json!({ "retryAfterSeconds": seconds });
        error.retry_after = Some(seconds);
        error
    }

    /// 504 for a version that lies ahead.
    pub(crate) fn too_large_version(expected: u64, current: u64) -> Self {
        let message = format!("Timeout: Too large resource version: {expected}, current: {current}");
        let mut error = Self::new(504, "Timeout", message);
        error.details = json!({
            "retryAfterSeconds": 1,
            "causes": [{ "reason": "ResourceVersionTooLarge", "message": "Too large resource version" }],
        });
        error.retry_after = Some(1);
        error
    }

    /// The object of kind Status.
    pub fn status(&self) -> Value {
        let mut status = json!({
            "kind": "Status", "apiVersion": "v1", "metadata": self.metadata, "status": "Failure",
            "message": self.message, "reason": self.reason, "code": self.code,
        });
        if !self.details.is_null() {
            status["details"] = self.details.clone();
        }
        status
    }
}
