//! What plugins are asked beyond their author's cases: the questions of the cases once more, and ordinary ones.

use std::fmt::Write as _;

use jiff::Timestamp;
use serde_json::{Value, json};
use witlet_core::admission::{AdmissionRequest, Operation, Shortage, Verdict};
use witlet_core::config::source::{PollAnswer, Snapshot, SourceFault};
use witlet_core::pod::SourceName;
use witlet_core::probe::ProbeOutcome;
use witlet_wasm::plugin::CallError;
use witlet_wasm::role::Role;

use super::pods::pod;
use crate::cases::{AdmissionExpect, node_default, now_default};
use crate::{Ctx, Setup};

/// How many questions are asked again in each layer: enough for every branch of a policy, and soon done.
const QUESTIONS_MAX: usize = 24;

/// Questions to a handler that is loaded in one way.
#[derive(Clone, Debug)]
pub(crate) struct Group {
    /// How.
    pub(crate) setup: Setup,
    /// With their names for people.
    pub(crate) questions: Vec<Named>,
}

/// A question with its name for people.
#[derive(Clone, Debug)]
pub(crate) struct Named {
    pub(crate) name: String,
    pub(crate) request: AdmissionRequest,
}

/// The questions of all cases, by their configurations, and ordinary ones to the plugin as the plan has it. The error says
/// why it can't be loaded so.
pub(crate) fn groups(ctx: &Ctx<'_>) -> Result<Vec<Group>, String> {
    let setup = ctx.setup(Role::Admission).map_err(|error| error.to_string())?;
    let mut groups = vec![Group { setup, questions: ordinary() }];
    let mut left = QUESTIONS_MAX;
    for (file, case) in ctx.admission_cases() {
        if left == 0 || matches!(case.expect, AdmissionExpect::Validate(_)) {
            continue;
        }
        left -= 1;
        let setup = ctx.setup_of(file, case.config.as_ref()).map_err(|error| error.to_string())?;
        let named = Named { name: format!("case {:?}", case.name), request: case.request.clone() };
        let same = |group: &&mut Group| {
            group.setup.config == setup.config
                && group.setup.grants == setup.grants
                && group.setup.timeout == setup.timeout
        };
        match groups.iter_mut().find(same) {
            Some(group) => group.questions.push(named),
            None => groups.push(Group { setup, questions: vec![named] }),
        }
    }
    Ok(groups)
}

/// About a plain pod, one with much of everything, and one that is resized.
fn ordinary() -> Vec<Named> {
    let plain = json!({"containers": [{"name": "app", "image": "nginx:1.27"}]});
    let full = json!({
        "priority": 1000,
        "initContainers": [{"name": "setup", "image": "busybox"}, {"name": "proxy", "image": "envoy:v1", "restartPolicy": "Always"}],
        "containers": [{
            "name": "app",
            "image": "registry.example.com/shop/web:v2",
            "ports": [{"containerPort": 8080, "hostPort": 8080}],
            "resources": {"requests": {"cpu": "500m", "memory": "1Gi"}, "limits": {"cpu": "500m", "memory": "1Gi"}},
        }],
    });
    let metadata =
        json!({"labels": {"app": "web", "team": "shop"}, "annotations": {"example.com/owner": "shop"}});
    let asks = |name: &str, operation, metadata: Value, spec: &Value| Named {
        name: name.to_owned(),
        request: request(operation, named_pod(metadata, spec)),
    };
    vec![
        asks("a plain pod", Operation::Add, json!({}), &plain),
        asks("a pod with much of everything", Operation::Add, metadata.clone(), &full),
        asks("a pod that is resized", Operation::Resize, metadata, &full),
    ]
}

fn named_pod(metadata: Value, spec: &Value) -> Value {
    let mut pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec});
    pod["metadata"]["name"] = "web".into();
    pod["metadata"]["namespace"] = "shop".into();
    pod["metadata"]["uid"] = "uid-of-shop-web".into();
    pod
}

/// A question about a pod on the node that has everything, at the time that all questions have.
pub(crate) fn request(operation: Operation, json: Value) -> AdmissionRequest {
    of_pod(operation, pod(&json))
}

/// As [`request`].
pub(crate) fn of_pod(operation: Operation, pod: k8s_openapi::api::core::v1::Pod) -> AdmissionRequest {
    AdmissionRequest {
        operation,
        now: now_default(),
        pod: pod.into(),
        source: SourceName::from("file"),
        node: node_default(),
        other_pods: [].into(),
    }
}

/// The same question at another time.
pub(crate) fn at(request: &AdmissionRequest, now: Timestamp) -> AdmissionRequest {
    AdmissionRequest { now, ..request.clone() }
}

/// An answer in one line, by which answers are compared. None where the host has no answer that says anything about the
/// plugin: it was too busy.
pub(crate) fn verdict_told(result: &Result<Verdict, CallError>) -> Option<String> {
    match result {
        Ok(Verdict::Admit) => Some("admit".to_owned()),
        Ok(Verdict::Reject { reason, message }) => Some(format!("reject {reason}: {message}")),
        Ok(Verdict::Defer { reason, message, retry_after }) => {
            Some(format!("defer {reason} for {}ms: {message}", retry_after.as_millis()))
        }
        Ok(Verdict::Shortage(shortages)) => Some(format!("shortage of {}", shortages_told(shortages))),
        Err(error) => error_told(error),
    }
}

/// The same without what is said to people, who may be shown a pod's own words.
pub(crate) fn decision_told(result: &Result<Verdict, CallError>) -> Option<String> {
    match result {
        Ok(Verdict::Reject { reason, .. }) => Some(format!("reject {reason}")),
        Ok(Verdict::Defer { reason, .. }) => Some(format!("defer {reason}")),
        Ok(Verdict::Admit | Verdict::Shortage(_)) => verdict_told(result),
        Err(CallError::Refused { .. }) => Some("an error".to_owned()),
        Err(error) => error_told(error),
    }
}

fn shortages_told(shortages: &[Shortage]) -> String {
    let mut told = String::new();
    for Shortage { resource, requested, used, capacity } in shortages {
        let comma = if told.is_empty() { "" } else { "; " };
        // Text takes all that is written to it.
        let _ = write!(told, "{comma}{resource}: requested {requested}, used {used}, capacity {capacity}");
    }
    told
}

/// How a call failed; none where only the machine's load may be the reason.
pub(crate) fn error_told(error: &CallError) -> Option<String> {
    match error {
        CallError::Busy | CallError::Host | CallError::Timeout { .. } => None,
        CallError::Refused { words } => Some(format!("an error: {words}")),
        CallError::Trap { .. }
        | CallError::StackOverflow
        | CallError::OutOfMemory { .. }
        | CallError::OutOfTable { .. }
        | CallError::WouldBlock(_)
        | CallError::TooMuchData { .. }
        | CallError::State(_)
        | CallError::Mismatch { .. }
        | CallError::Exited { .. }
        | CallError::BadAnswer { .. }
        | CallError::NotLoaded { .. }
        | CallError::Loading
        | CallError::Quarantined { .. } => Some(format!("no answer: {}", error.sentence())),
    }
}

/// An outcome in one line.
pub(crate) fn outcome_told(result: &Result<ProbeOutcome, CallError>) -> String {
    match result {
        Ok(ProbeOutcome::Success(detail)) => format!("success: {detail}"),
        Ok(ProbeOutcome::Warning(detail)) => format!("warning: {detail}"),
        Ok(ProbeOutcome::Failure(detail)) => format!("failure: {detail}"),
        Err(error) => format!("no outcome: {}", error.sentence()),
    }
}

/// Whether a probe passes.
pub(crate) fn passes(result: &Result<ProbeOutcome, CallError>) -> bool {
    matches!(result, Ok(ProbeOutcome::Success(_) | ProbeOutcome::Warning(_)))
}

/// What a source has, in one line.
pub(crate) fn poll_told(result: &Result<Result<PollAnswer, SourceFault>, CallError>) -> String {
    match result {
        Ok(Ok(answer)) => match &answer.snapshot {
            Snapshot::Unchanged => "unchanged".to_owned(),
            Snapshot::Empty => "empty".to_owned(),
            Snapshot::Pods(manifests) => format!("{} pods", manifests.len()),
        },
        Ok(Err(fault)) => format!("the error {}: {}", fault.reason, fault.message),
        Err(error) => format!("no answer: {}", error.sentence()),
    }
}

/// The pod that asks, as a finding shows it.
pub(crate) fn shown(name: &str, request: &AdmissionRequest) -> String {
    // What the host has of pods is JSON.
    let pod = serde_json::to_string(&*request.pod).unwrap_or_default();
    format!("{name}: {pod}")
}
