//! Deletion: at once, or with a grace period and a mark.

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use crate::error::ApiError;
use crate::node_rules;
use crate::prepare::mark_deleted;
use crate::resources::Resource;
use crate::store::Key;
use crate::value::{list, metadata, number, text};
use crate::write::{Cx, seconds};

/// What a deletion asks for.
#[derive(Clone, Debug, Default)]
pub(crate) struct Options {
    /// Seconds of grace; none for the object's own.
    pub(crate) grace: Option<i64>,
    /// The object must have this UID.
    pub(crate) uid: Option<String>,
    /// The object must be of this version.
    pub(crate) version: Option<String>,
}

impl Options {
    /// From the body of the request, or its query; 400 for what can't be read, 422 for a negative grace.
    pub(crate) fn read(body: &[u8], query: &[(String, String)]) -> Result<Self, ApiError> {
        let body: Value = if body.is_empty() {
            Value::Null
        } else {
            serde_json::from_slice(body).map_err(|cause| ApiError::bad_request(cause.to_string()))?
        };
        let from_query = query.iter().find(|(key, _)| key == "gracePeriodSeconds");
        let grace =
            number(&body, "/gracePeriodSeconds").or_else(|| from_query.and_then(|(_, v)| v.parse().ok()));
        let own = |pointer: &str| body.pointer(pointer).and_then(Value::as_str).map(str::to_owned);
        Ok(Self { grace, uid: own("/preconditions/uid"), version: own("/preconditions/resourceVersion") })
    }
}

/// What became of the object.
pub(crate) enum Deleted {
    /// It is gone; as it was.
    Gone(Value),
    /// It is marked, and waits for its grace period or its finalizers.
    Marked(Value),
}

/// Deletes an object.
pub(crate) fn delete(
    cx: &mut Cx<'_>,
    resource: &Resource,
    key: &Key,
    options: &Options,
) -> Result<Deleted, ApiError> {
    let Some(current) = cx.state.get(resource, key).cloned() else {
        return Err(ApiError::not_found(resource, &key.name));
    };
    node_rules::admit_deletion(cx, resource, &current)?;
    check_preconditions(resource, key, &current, options)?;
    let grace = if resource.is_pods() { pod_grace(&current, options.grace) } else { 0 };
    let is_marked = !text(&current, "/metadata/deletionTimestamp").is_empty();
    let before = number(&current, "/metadata/deletionGracePeriodSeconds");
    let mut object = current.as_ref().clone();
    if is_marked {
        // A grace period only ever gets shorter; without a wish, what runs goes on.
        match (before.unwrap_or_default(), options.grace) {
            (had, Some(_)) if grace < had => {
                mark_deleted(
                    &mut object,
                    moved(text(&current, "/metadata/deletionTimestamp"), had, grace),
                    grace,
                );
            }
            (0, _) => {}
            _ => return Ok(Deleted::Marked(object)),
        }
    } else {
        let end = cx.now.checked_add(SignedDuration::from_secs(grace)).unwrap_or(cx.now);
        mark_deleted(&mut object, seconds(end), grace);
        if let Some(generation) = number(&current, "/metadata/generation") {
            metadata(&mut object).insert("generation".to_owned(), (generation + 1).into());
        }
    }
    let left = number(&object, "/metadata/deletionGracePeriodSeconds").unwrap_or_default();
    if left > 0 || !list(&object, "/metadata/finalizers").is_empty() {
        if object == *current {
            return Ok(Deleted::Marked(object));
        }
        let kept = cx.state.put(resource, key.clone(), object);
        return Ok(Deleted::Marked(kept.as_ref().clone()));
    }
    let mut last = cx.state.remove(resource, key).unwrap_or_default();
    if resource.is_pods() {
        last["metadata"]["deletionGracePeriodSeconds"] = json!(0);
        last["metadata"]["deletionTimestamp"] = object["metadata"]["deletionTimestamp"].clone();
    }
    Ok(Deleted::Gone(last))
}

/// Upstream's `CheckGracefulDelete` of pods.
fn pod_grace(pod: &Value, wish: Option<i64>) -> i64 {
    let own = number(pod, "/spec/terminationGracePeriodSeconds").unwrap_or_default();
    let is_over = matches!(text(pod, "/status/phase"), "Succeeded" | "Failed");
    if text(pod, "/spec/nodeName").is_empty() || is_over {
        return 0;
    }
    match wish.unwrap_or(own) {
        negative if negative < 0 => 1,
        grace => grace,
    }
}

/// The end of the grace period, with another length.
fn moved(end: &str, had: i64, grace: i64) -> String {
    let end: Timestamp = end.parse().unwrap_or(Timestamp::UNIX_EPOCH);
    seconds(end.checked_add(SignedDuration::from_secs(grace - had)).unwrap_or(end))
}

fn check_preconditions(
    resource: &Resource,
    key: &Key,
    current: &Value,
    options: &Options,
) -> Result<(), ApiError> {
    let uid = text(current, "/metadata/uid");
    if let Some(expected) = options.uid.as_deref().filter(|expected| *expected != uid) {
        let why = format!(
            "the UID in the precondition ({expected}) does not match the UID in record ({uid}). The object might have \
             been deleted and then recreated"
        );
        return Err(ApiError::conflict(resource, &key.name, &why));
    }
    let version = text(current, "/metadata/resourceVersion");
    if let Some(expected) = options.version.as_deref().filter(|expected| *expected != version) {
        let why = format!(
            "the ResourceVersion in the precondition ({expected}) does not match the ResourceVersion in record \
             ({version}). The object might have been modified"
        );
        return Err(ApiError::conflict(resource, &key.name, &why));
    }
    Ok(())
}
