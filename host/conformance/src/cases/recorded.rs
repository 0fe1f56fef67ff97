//! A recorded call as a case: what a node has seen becomes what a component is tested with.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};
use thiserror::Error;
use witlet_core::admission::AdmissionRequest;
use witlet_wasm::record::replay::{GivenData, ReplayError, check_data};
use witlet_wasm::record::{RecordedCall, RecordedRequest, RecordedResponse};
use witlet_wasm::role::Role;

use super::model::{API_VERSION, CaseFile, CasesError, KIND};
use crate::plugin_request::PluginRequest;

/// Why a recorded call is no case.
#[derive(Debug, Error)]
pub enum NoCaseError {
    /// What a call of this role was answered from isn't in the recording.
    #[error(
        "a call of the role {role} can't be a case: only calls of admission handlers are recorded in full"
    )]
    Role {
        /// Whom it was put to.
        role: Role,
    },
    /// It could use what isn't recorded.
    #[error("it was granted {grant}, and what that gave it isn't recorded")]
    Granted {
        /// The field of `grants`.
        grant: String,
    },
    /// There was no answer that a case could expect.
    #[error("the call failed ({outcome}): a case needs an answer to expect")]
    Failed {
        /// As metrics name it.
        outcome: String,
    },
    /// The data that it had aren't given.
    #[error(transparent)]
    Data(#[from] ReplayError),
    /// What came of it isn't a case file.
    #[error("the call can't be written as a case")]
    Invalid(#[from] CasesError),
    /// A case can't say what was asked.
    #[error("a case would ask something else: its {field} can't be as the recorded one")]
    AsksOther {
        /// The field of `request`.
        field: &'static str,
    },
}

/// A case file with one case: the recorded question of an admission handler, with the recorded answer as what is expected. `data` are
/// those that the plugin had, whose digests must be the recorded ones.
///
/// # Errors
/// When a case can't ask the very same, or nothing was answered.
pub fn of_recording(call: &RecordedCall, data: &GivenData) -> Result<Value, NoCaseError> {
    let RecordedRequest::Admission(question) = &call.question else {
        return Err(NoCaseError::Role { role: call.question.role() });
    };
    if let Some(grant) = call.grants.first() {
        return Err(NoCaseError::Granted { grant: grant.clone() });
    }
    check_data(call, data)?;
    let (asked, expected) = (question.request(), expected(&call.answer)?);
    let metadata = &asked.pod.metadata;
    let part = |part: &Option<String>| part.clone().unwrap_or_default();
    let name = format!(
        "{} {}/{}, recorded at {}",
        asked.operation.as_str(),
        part(&metadata.namespace),
        part(&metadata.name),
        call.recorded_at
    );
    let mut file = Map::new();
    let mut say = |field: &str, value: Value| drop(file.insert(field.to_owned(), value));
    say("apiVersion", json!(API_VERSION));
    say("kind", json!(KIND));
    say("role", json!(Role::Admission));
    say("config", call.config.clone());
    say(
        "limits",
        json!({
            "timeout": format!("{}ms", call.limits.timeout_milliseconds),
            "memory": call.limits.memory_bytes.to_string(),
        }),
    );
    if !data.is_empty() {
        let coded =
            data.iter().map(|(name, bytes)| (name.clone(), json!({"base64": STANDARD.encode(bytes)})));
        say("data", Value::Object(coded.collect()));
    }
    say("cases", json!([{"name": name, "request": request(&asked), "expect": expected}]));
    let file = Value::Object(file);
    check(&file, &asked)?;
    Ok(file)
}

/// `request:`
fn request(asked: &AdmissionRequest) -> Value {
    let node = &asked.node;
    let others = asked.other_pods.iter();
    let mut request = json!({
        "operation": asked.operation.as_str(),
        "now": asked.now,
        "source": asked.source.to_string(),
        "pod": &*asked.pod,
        "node": {
            "name": node.name, "node": node.node, "addresses": node.addresses, "facts": node.facts,
            "devices": node.devices, "used": &*node.observed.used,
            "runtimeClasses": &*node.observed.runtime_classes,
        },
        "otherPods": others
            .map(|other| json!({"source": other.source.to_string(), "pod": &*other.pod}))
            .collect::<Vec<_>>(),
    });
    if let Some(old) = &asked.old_pod {
        request["old"] = json!(&**old);
    }
    if let Some(image) = &asked.image {
        request["image"] = json!(&**image);
    }
    request
}

/// `expect:`
fn expected(answer: &RecordedResponse) -> Result<Value, NoCaseError> {
    Ok(match answer {
        RecordedResponse::Admit => json!({"verdict": "admit"}),
        RecordedResponse::Reject { reason, message } => {
            json!({"verdict": "reject", "reason": reason, "message": message})
        }
        RecordedResponse::Defer { reason, message, retry_after_milliseconds } => json!({
            "verdict": "defer", "reason": reason, "message": message,
            "retryAfterMilliseconds": retry_after_milliseconds,
        }),
        RecordedResponse::Shortage { resources } => {
            let resources: Vec<Value> = resources.iter().map(|text| shortage(text)).collect();
            json!({"verdict": "shortage", "resources": resources})
        }
        RecordedResponse::Failed { outcome, .. } => {
            return Err(NoCaseError::Failed { outcome: outcome.clone() });
        }
        // Of other roles.
        other => return Err(NoCaseError::Failed { outcome: format!("{other:?}") }),
    })
}

/// One resource as a recording has it: `cpu: requested 2, used 1, capacity 2`.
fn shortage(text: &str) -> Value {
    let (resource, amounts) = text.split_once(": ").unwrap_or((text, ""));
    let mut shortage = json!({"resource": resource});
    for (name, amount) in amounts.split(", ").filter_map(|part| part.split_once(' ')) {
        if let Ok(amount) = amount.parse::<i64>() {
            shortage[name] = json!(amount);
        }
    }
    shortage
}

/// Whether the file is one, and asks what was asked.
fn check(file: &Value, asked: &AdmissionRequest) -> Result<(), NoCaseError> {
    let read = CaseFile::parse("the case", &file.to_string())?;
    let question = read.cases.first().and_then(|case| case.steps.first()).map(|step| &step.question);
    let Some(PluginRequest::Admit(asks, _)) = question else {
        return Err(NoCaseError::AsksOther { field: "request" });
    };
    let other_pods = |request: &AdmissionRequest| {
        let others = request.other_pods.iter();
        others.map(|other| (other.pod.clone(), other.source.clone())).collect::<Vec<_>>()
    };
    let fields = [
        ("operation", asks.operation == asked.operation),
        ("now", asks.now == asked.now),
        ("source", asks.source == asked.source),
        ("pod", asks.pod == asked.pod),
        ("old", asks.old_pod == asked.old_pod),
        ("image", asks.image == asked.image),
        ("node", asks.node == asked.node),
        ("otherPods", other_pods(asks) == other_pods(asked)),
    ];
    match fields.into_iter().find(|(_, same)| !same) {
        Some((field, _)) => Err(NoCaseError::AsksOther { field }),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests;
