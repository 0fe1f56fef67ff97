//! From a request to what it does.

use bytes::Bytes;
use http::{Method, Request as HttpRequest};
use serde_json::{Value, json};

use crate::delete::{self, Deleted};
use crate::error::ApiError;
use crate::identity::Identity;
use crate::lists::{self, ListOptions};
use crate::patch::{self, PatchType};
use crate::path::Target;
use crate::resources::{self, Resource};
use crate::server::{ApiServer, success};
use crate::store::Key;
use crate::value::text;
use crate::write::{self, Change};
use crate::{canonical, discovery, events, node_authorizer, signing, subresources};

/// Bytes of the largest request.
const BODY_MAX: usize = 3 << 20;

/// What is answered.
pub(crate) enum ApiResponse {
    /// A code and JSON.
    Whole(u16, Vec<u8>),
    /// A watch is to be started.
    Watch(&'static Resource, Box<ListOptions>),
}

impl ApiResponse {
    /// An object with this code.
    pub(crate) fn object(code: u16, object: &Value) -> Self {
        Self::Whole(code, object.to_string().into_bytes())
    }
}

/// Paths that are about no object.
pub(crate) fn other(request: &HttpRequest<Bytes>) -> Result<ApiResponse, ApiError> {
    if request.method() != Method::GET {
        return Err(ApiError::method_not_allowed());
    }
    match request.uri().path() {
        "/healthz" | "/livez" | "/readyz" => Ok(ApiResponse::Whole(200, b"ok".to_vec())),
        path => discovery::document(path)
            .map(|document| ApiResponse::object(200, &document))
            .ok_or_else(ApiError::no_such_path),
    }
}

/// Paths of objects.
pub(crate) fn objects(
    server: &ApiServer,
    who: &Identity,
    target: &Target,
    verb: &str,
    query: &[(String, String)],
    request: &HttpRequest<Bytes>,
) -> Result<ApiResponse, ApiError> {
    if request.body().len() > BODY_MAX {
        let message = format!("Request entity too large: limit is {BODY_MAX}");
        return Err(ApiError::new(413, "RequestEntityTooLarge", message));
    }
    node_authorizer::authorize(server, who, target, verb, query)?;
    if let Some(answer) = subresources::answer(server, who, target, verb, request)? {
        return Ok(answer);
    }
    let is_status = target.subresource == "status" && target.resource.has_status;
    let is_own = matches!(
        (target.resource.name, target.subresource.as_str()),
        ("pods", "ephemeralcontainers" | "resize") | ("certificatesigningrequests", "approval")
    );
    if !(target.subresource.is_empty() || is_status || is_own) {
        return Err(ApiError::no_such_path());
    }
    match verb {
        "list" | "watch" => {
            let options = ListOptions::read(target.resource, &target.namespace, &target.name, query)?;
            if verb == "watch" {
                return Ok(ApiResponse::Watch(target.resource, Box::new(options)));
            }
            let state = server.store.lock();
            let bytes = lists::list(&state, target.resource, &options, |object| {
                events::shown(target.resource, object)
            })?;
            Ok(ApiResponse::Whole(200, bytes))
        }
        "deletecollection" => delete_collection(server, who, target, query, request),
        "create" if target.name.is_empty() => {
            let given = body(request)?;
            let resource = kept_as(target.resource);
            let object = as_kept(target.resource, given)?;
            let made = server.write(who, |cx| write::create(cx, resource, &target.namespace, object))?;
            match resource.name {
                "namespaces" => server.furnish(text(&made, "/metadata/name")),
                "certificatesigningrequests" => signing::attend(server, text(&made, "/metadata/name"))?,
                _ => {}
            }
            Ok(ApiResponse::object(201, &events::shown(target.resource, &made)))
        }
        _ if target.name.is_empty() => Err(ApiError::method_not_allowed()),
        _ => one(server, who, target, verb, query, request),
    }
}

fn one(
    server: &ApiServer,
    who: &Identity,
    target: &Target,
    verb: &str,
    query: &[(String, String)],
    request: &HttpRequest<Bytes>,
) -> Result<ApiResponse, ApiError> {
    let resource = kept_as(target.resource);
    let key = Key::new(&target.namespace, &target.name);
    let mut change = Change { key: &key, subresource: &target.subresource, is_whole: true };
    match verb {
        "get" => {
            let found = server.store.lock().get(resource, &key).cloned();
            let found = found.ok_or_else(|| ApiError::not_found(target.resource, &key.name))?;
            Ok(ApiResponse::object(200, &events::shown(target.resource, &found)))
        }
        "update" => {
            let object = as_kept(target.resource, body(request)?)?;
            let (written, is_new) = server.write(who, |cx| write::replace(cx, resource, &change, object))?;
            if target.subresource == "approval" {
                signing::attend(server, &key.name)?;
            }
            Ok(ApiResponse::object(if is_new { 201 } else { 200 }, &events::shown(target.resource, &written)))
        }
        "patch" => {
            let content_type = request.headers().get(http::header::CONTENT_TYPE);
            let kind = PatchType::of(content_type.and_then(|v| v.to_str().ok()).unwrap_or_default())?;
            let patch = body(request)?;
            change.is_whole = false;
            let patched = |current: &Value| {
                let shown = events::shown(target.resource, current);
                as_kept(target.resource, patch::apply(kind, &shown, patch)?)
            };
            let written = server.write(who, |cx| write::update(cx, resource, &change, patched))?;
            Ok(ApiResponse::object(200, &events::shown(target.resource, &written)))
        }
        "delete" if target.subresource.is_empty() => {
            let options = delete::Options::read(request.body(), query)?;
            let deleted = server.write(who, |cx| delete::delete(cx, resource, &key, &options))?;
            Ok(ApiResponse::object(200, &deletion_answer(target.resource, &key, deleted)))
        }
        _ => Err(ApiError::method_not_allowed()),
    }
}

fn deletion_answer(resource: &Resource, key: &Key, deleted: Deleted) -> Value {
    match deleted {
        Deleted::Gone(object) if !resource.deletion_shows_object => {
            let uid = text(&object, "/metadata/uid");
            success(json!({ "name": key.name, "group": resource.group, "kind": resource.name, "uid": uid }))
        }
        Deleted::Gone(object) | Deleted::Marked(object) => events::shown(resource, &object),
    }
}

fn delete_collection(
    server: &ApiServer,
    who: &Identity,
    target: &Target,
    query: &[(String, String)],
    request: &HttpRequest<Bytes>,
) -> Result<ApiResponse, ApiError> {
    let options = ListOptions::read(target.resource, &target.namespace, "", query)?;
    let how = delete::Options::read(request.body(), query)?;
    let resource = kept_as(target.resource);
    server.write(who, |cx| {
        let objects = cx.state.table(resource).objects.iter();
        let chosen = objects.filter(|(_, object)| options.selector.matches(object));
        let keys: Vec<Key> = chosen.map(|(key, _)| key.clone()).collect();
        keys.iter().try_for_each(|key| delete::delete(cx, resource, key, &how).map(|_| ()))
    })?;
    Ok(ApiResponse::object(200, &success(json!({}))))
}

/// The body as JSON; 400 if it isn't.
pub(crate) fn body(request: &HttpRequest<Bytes>) -> Result<Value, ApiError> {
    let content_type =
        request.headers().get(http::header::CONTENT_TYPE).and_then(|v| v.to_str().ok()).unwrap_or_default();
    if content_type.starts_with("application/vnd.kubernetes.protobuf")
        || content_type.starts_with("application/cbor")
    {
        let message = "the body of the request was in an unknown format - accepted media types include: application/json";
        return Err(ApiError::new(415, "UnsupportedMediaType", message));
    }
    serde_json::from_slice(request.body())
        .map_err(|cause| ApiError::bad_request(format!("the object provided is unrecognized: {cause}")))
}

/// The resource whose form is kept.
fn kept_as(resource: &'static Resource) -> &'static Resource {
    if events::is_new(resource) { resources::named("events") } else { resource }
}

/// What was given, in the form that is kept.
fn as_kept(resource: &Resource, object: Value) -> Result<Value, ApiError> {
    if events::is_new(resource) {
        return Ok(events::kept(resource, canonical::decode(resource, object)?));
    }
    Ok(object)
}
