//! Creation and change of objects: one function for every resource, in upstream's order of checks.

use std::sync::Arc;

use jiff::Timestamp;
use serde_json::Value;

use crate::error::{ApiError, Cause};
use crate::identity::Identity;
use crate::resources::{self, Resource};
use crate::store::{Key, State};
use crate::value::{as_map, default_to, list, metadata, number, take_over, text};
use crate::{Admission, canonical, defaults, prepare, validate};

/// Tries for a name that is still free.
const NAME_TRIES: usize = 8;

/// What a write happens in.
pub(crate) struct Cx<'a> {
    /// The objects.
    pub(crate) state: &'a mut State,
    /// The server's clock.
    pub(crate) now: Timestamp,
    /// Who writes.
    pub(crate) who: &'a Identity,
    /// What this server checks and adds.
    pub(crate) admission: &'a Admission,
}

/// A time as objects have it: whole seconds.
pub(crate) fn seconds(time: Timestamp) -> String {
    time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// Creates an object.
pub(crate) fn create(
    cx: &mut Cx<'_>,
    resource: &Resource,
    namespace: &str,
    object: Value,
) -> Result<Arc<Value>, ApiError> {
    let mut object = canonical::decode(resource, object)?;
    let given = text(&object, "/metadata/namespace").to_owned();
    if !given.is_empty() && given != namespace {
        let message = "the namespace of the provided object does not match the namespace sent on the request";
        return Err(ApiError::bad_request(message));
    }
    if resource.namespaced {
        namespace_exists(cx.state, namespace)?;
        metadata(&mut object).insert("namespace".to_owned(), namespace.into());
    }
    if !text(&object, "/metadata/resourceVersion").is_empty() {
        let message = "resourceVersion should not be set on objects to be created";
        return Err(ApiError::new(500, "InternalError", message));
    }
    give_name(cx.state, resource, namespace, &mut object)?;
    let name = text(&object, "/metadata/name").to_owned();
    let uid = cx.state.next_uid();
    let now = seconds(cx.now);
    let meta = metadata(&mut object);
    for key in ["deletionTimestamp", "deletionGracePeriodSeconds", "generation", "selfLink"] {
        meta.remove(key);
    }
    meta.insert("uid".to_owned(), uid.into());
    meta.insert("creationTimestamp".to_owned(), now.into());
    if resource.has_generation {
        meta.insert("generation".to_owned(), 1.into());
    }
    defaults::fill(resource, &mut object);
    prepare::for_create(cx, resource, &mut object)?;
    let key = Key { namespace: namespace.to_owned(), name };
    refuse_if(resource, &key.name, validate::created(resource, &object))?;
    if cx.state.get(resource, &key).is_some() {
        return Err(ApiError::already_exists(resource, &key.name));
    }
    Ok(cx.state.put(resource, key, object))
}

fn give_name(
    state: &mut State,
    resource: &Resource,
    namespace: &str,
    object: &mut Value,
) -> Result<(), ApiError> {
    if !text(object, "/metadata/name").is_empty() {
        return Ok(());
    }
    let stem = text(object, "/metadata/generateName").to_owned();
    if stem.is_empty() {
        let causes = [Cause::required("metadata.name", "name or generateName is required")];
        return Err(ApiError::invalid(resource.group, resource.kind, "", &causes));
    }
    for _ in 0..NAME_TRIES {
        let name = format!("{stem}{}", state.next_suffix());
        if state.get(resource, &Key::new(namespace, &name)).is_none() {
            metadata(object).insert("name".to_owned(), name.into());
            return Ok(());
        }
    }
    Err(ApiError::already_exists(resource, &stem))
}

fn namespace_exists(state: &State, namespace: &str) -> Result<(), ApiError> {
    let namespaces = resources::named("namespaces");
    match state.get(namespaces, &Key::new("", namespace)) {
        Some(_) => Ok(()),
        None => Err(ApiError::not_found(namespaces, namespace)),
    }
}

fn refuse_if(resource: &Resource, name: &str, causes: Vec<Cause>) -> Result<(), ApiError> {
    if causes.is_empty() {
        return Ok(());
    }
    Err(ApiError::invalid(resource.group, resource.kind, name, &causes))
}

/// How an object is changed.
pub(crate) struct Change<'a> {
    pub(crate) key: &'a Key,
    /// Through which subresource; empty for the object itself.
    pub(crate) subresource: &'a str,
    /// Whether the request gives the whole object (PUT), so that its UID is a precondition and its version may be needed.
    pub(crate) is_whole: bool,
}

/// Changes an object to what `make` makes of the current one. A change that changes nothing writes nothing.
pub(crate) fn update(
    cx: &mut Cx<'_>,
    resource: &Resource,
    change: &Change<'_>,
    make: impl FnOnce(&Value) -> Result<Value, ApiError>,
) -> Result<Arc<Value>, ApiError> {
    let Change { key, subresource, is_whole } = *change;
    let Some(current) = cx.state.get(resource, key).cloned() else {
        return Err(ApiError::not_found(resource, &key.name));
    };
    let mut proposed = canonical::decode(resource, make(&current)?)?;
    check_names(key, &proposed)?;
    let uid = text(&current, "/metadata/uid");
    let given_uid = text(&proposed, "/metadata/uid").to_owned();
    if is_whole && !given_uid.is_empty() && given_uid != uid {
        let why = format!("Precondition failed: UID in precondition: {given_uid}, UID in object meta: {uid}");
        return Err(ApiError::conflict(resource, &key.name, &why));
    }
    let version = text(&proposed, "/metadata/resourceVersion");
    if version.is_empty() {
        if is_whole && resource.put.needs_version() {
            let why = "must be specified for an update";
            let causes = [Cause::invalid("metadata.resourceVersion", &0.into(), why)];
            return Err(ApiError::invalid(resource.group, resource.kind, &key.name, &causes));
        }
    } else if version != text(&current, "/metadata/resourceVersion") {
        return Err(ApiError::modified(resource, &key.name));
    }
    refuse_if(resource, &key.name, keep_system_fields(&mut proposed, &current))?;
    defaults::fill(resource, &mut proposed);
    prepare::for_update(cx, resource, subresource, &mut proposed, &current)?;
    refuse_if(resource, &key.name, validate::changed(resource, subresource, &proposed, &current))?;
    if proposed == *current {
        return Ok(current);
    }
    if resource.has_generation && spec_differs(&proposed, &current) {
        let generation = number(&current, "/metadata/generation").unwrap_or_default() + 1;
        metadata(&mut proposed).insert("generation".to_owned(), generation.into());
    }
    if is_gone(&proposed) {
        cx.state.remove(resource, key);
        return Ok(Arc::new(proposed));
    }
    Ok(cx.state.put(resource, key.clone(), proposed))
}

/// Creates or changes, as a PUT of a resource that may create does.
pub(crate) fn replace(
    cx: &mut Cx<'_>,
    resource: &Resource,
    change: &Change<'_>,
    object: Value,
) -> Result<(Arc<Value>, bool), ApiError> {
    let exists = cx.state.get(resource, change.key).is_some();
    if !exists && resource.put.creates() && change.subresource.is_empty() {
        let object = canonical::decode(resource, object)?;
        check_names(change.key, &object)?;
        if !text(&object, "/metadata/resourceVersion").is_empty()
            || !text(&object, "/metadata/uid").is_empty()
        {
            return Err(ApiError::not_found(resource, &change.key.name));
        }
        return Ok((create(cx, resource, &change.key.namespace, object)?, true));
    }
    Ok((update(cx, resource, change, |_| Ok(object))?, false))
}

fn check_names(key: &Key, object: &Value) -> Result<(), ApiError> {
    let (name, namespace) = (text(object, "/metadata/name"), text(object, "/metadata/namespace"));
    if name != key.name {
        let message =
            format!("the name of the object ({name}) does not match the name on the URL ({})", key.name);
        return Err(ApiError::bad_request(message));
    }
    if !namespace.is_empty() && namespace != key.namespace {
        let message = format!(
            "the namespace of the object ({namespace}) does not match the namespace on the request ({})",
            key.namespace
        );
        return Err(ApiError::bad_request(message));
    }
    Ok(())
}

/// What only the server writes stays as it is; a UID that is another one is refused.
fn keep_system_fields(proposed: &mut Value, current: &Value) -> Vec<Cause> {
    let uid = text(proposed, "/metadata/uid").to_owned();
    let mut causes = Vec::new();
    if !uid.is_empty() && uid != text(current, "/metadata/uid") {
        causes.push(Cause::immutable("metadata.uid", &uid.into()));
    }
    let kept = &current["metadata"];
    if proposed.get("metadata").is_none() {
        as_map(proposed).insert("metadata".to_owned(), kept.clone());
    }
    let meta = as_map(&mut proposed["metadata"]);
    for key in ["uid", "namespace", "resourceVersion", "generateName"] {
        default_to(meta, key, kept.get(key).cloned().unwrap_or_default());
    }
    meta.retain(|_, value| !value.is_null());
    let meta = &mut proposed["metadata"];
    for key in ["creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "generation"] {
        take_over(meta, kept, key);
    }
    causes
}

fn spec_differs(proposed: &Value, current: &Value) -> bool {
    proposed.get("spec") != current.get("spec")
}

/// Whether the last finalizer of an object that waits for nothing else is gone.
fn is_gone(object: &Value) -> bool {
    let is_deleted = !text(object, "/metadata/deletionTimestamp").is_empty();
    is_deleted
        && list(object, "/metadata/finalizers").is_empty()
        && number(object, "/metadata/deletionGracePeriodSeconds").unwrap_or_default() == 0
}
