//! Subresources that are no part of their object, and objects that are only asked: binding, eviction, tokens, reviews.

use bytes::Bytes;
use http::Request as HttpRequest;
use serde_json::{Value, json};

use crate::dispatch::{ApiResponse, body};
use crate::error::ApiError;
use crate::identity::Identity;
use crate::path::Target;
use crate::resources;
use crate::server::{ApiServer, success};
use crate::store::Key;
use crate::value::{number, object, text};
use crate::write::{Cx, seconds};
use crate::{canonical, delete, reviews};

/// The answer, if this is such a request.
pub(crate) fn answer(
    server: &ApiServer,
    who: &Identity,
    target: &Target,
    verb: &str,
    request: &HttpRequest<Bytes>,
) -> Result<Option<ApiResponse>, ApiError> {
    let key = Key::new(&target.namespace, &target.name);
    let answer = match (target.resource.name, target.subresource.as_str(), verb) {
        ("pods", "binding", "create") => {
            let binding = body(request)?;
            server.write(who, |cx| bind(cx, &key, text(&binding, "/target/name")))?;
            ApiResponse::object(201, &success(Value::Null))
        }
        ("pods", "eviction", "create") => {
            let eviction = body(request)?;
            let options = eviction.get("deleteOptions").map(|options| options.to_string().into_bytes());
            let options = delete::Options::read(&options.unwrap_or_default(), &[])?;
            server.write(who, |cx| evict(cx, &key, &options))?;
            ApiResponse::object(201, &success(Value::Null))
        }
        ("serviceaccounts", "token", "create") => {
            ApiResponse::object(201, &reviews::token(server, who, &key, body(request)?)?)
        }
        (_, "", "create") if target.resource.is_review => {
            let asked = canonical::decode(target.resource, body(request)?)?;
            ApiResponse::object(201, &reviews::review(server, who, target.resource.kind, asked))
        }
        _ if target.resource.is_review => return Err(ApiError::method_not_allowed()),
        _ => return Ok(None),
    };
    Ok(Some(answer))
}

/// Gives a pod its node.
pub(crate) fn bind(cx: &mut Cx<'_>, key: &Key, node: &str) -> Result<(), ApiError> {
    let pods = resources::named("pods");
    let pod = cx.state.get(pods, key).cloned().ok_or_else(|| ApiError::not_found(pods, &key.name))?;
    let bound = text(&pod, "/spec/nodeName");
    if !bound.is_empty() {
        let why = format!("pod {} is already assigned to node \"{bound}\"", key.name);
        return Err(ApiError::conflict(pods, &key.name, &why));
    }
    if !text(&pod, "/metadata/deletionTimestamp").is_empty() {
        let why = format!("pod {} is being deleted, cannot be assigned to a host", key.name);
        return Err(ApiError::conflict(pods, &key.name, &why));
    }
    let mut pod = pod.as_ref().clone();
    object(&mut pod, "spec").insert("nodeName".to_owned(), node.into());
    let now = seconds(cx.now);
    set_condition(
        &mut pod,
        json!({ "type": "PodScheduled", "status": "True", "lastProbeTime": null, "lastTransitionTime": now }),
    );
    cx.state.put(pods, key.clone(), pod);
    Ok(())
}

fn set_condition(pod: &mut Value, condition: Value) {
    let status = object(pod, "status");
    let conditions = status.entry("conditions").or_insert_with(|| json!([]));
    if let Some(conditions) = conditions.as_array_mut() {
        conditions.retain(|c| c["type"] != condition["type"]);
        conditions.push(condition);
    }
}

/// Deletes a pod if its disruption budgets allow it; 429 if they don't.
pub(crate) fn evict(cx: &mut Cx<'_>, key: &Key, options: &delete::Options) -> Result<(), ApiError> {
    let pods = resources::named("pods");
    let pod = cx.state.get(pods, key).cloned().ok_or_else(|| ApiError::not_found(pods, &key.name))?;
    let is_over = matches!(text(&pod, "/status/phase"), "Succeeded" | "Failed" | "Pending");
    if !is_over {
        use_budget(cx, key, &pod)?;
        let mut pod = pod.as_ref().clone();
        let now = seconds(cx.now);
        set_condition(
            &mut pod,
            json!({
                "type": "DisruptionTarget", "status": "True", "reason": "EvictionByEvictionAPI",
                "message": "Eviction API: evicting", "lastProbeTime": null, "lastTransitionTime": now,
            }),
        );
        cx.state.put(pods, key.clone(), pod);
    }
    delete::delete(cx, pods, key, options).map(|_| ())
}

fn use_budget(cx: &mut Cx<'_>, key: &Key, pod: &Value) -> Result<(), ApiError> {
    let budgets = resources::named("poddisruptionbudgets");
    let found = cx.state.table(budgets).objects.iter().find(|(budget_key, budget)| {
        let expected = budget.pointer("/spec/selector/matchLabels").and_then(Value::as_object);
        budget_key.namespace == key.namespace
            && expected.is_some_and(|expected| {
                expected
                    .iter()
                    .all(|(k, v)| pod.pointer("/metadata/labels").and_then(|l| l.get(k)) == Some(v))
            })
    });
    let Some((budget_key, budget)) = found.map(|(k, b)| (k.clone(), b.as_ref().clone())) else {
        return Ok(());
    };
    let allowed = number(&budget, "/status/disruptionsAllowed").unwrap_or_default();
    if allowed > 0 {
        let mut budget = budget;
        object(&mut budget, "status").insert("disruptionsAllowed".to_owned(), (allowed - 1).into());
        cx.state.put(budgets, budget_key, budget);
        return Ok(());
    }
    let message = "Cannot evict pod as it would violate the pod's disruption budget.";
    let mut error = ApiError::new(429, "TooManyRequests", message);
    let needs = number(&budget, "/status/desiredHealthy").unwrap_or_default();
    let has = number(&budget, "/status/currentHealthy").unwrap_or_default();
    let why = format!(
        "The disruption budget {} needs {needs} healthy pods and has {has} currently",
        budget_key.name
    );
    error.details = json!({ "causes": [{ "reason": "DisruptionBudget", "message": why }] });
    Err(error)
}
