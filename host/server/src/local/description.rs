//! What is known of a pod beyond its object, as the local API shows it.

use std::time::Duration;

use serde_json::{Value, json};
use witlet_core::admission::Operation;
use witlet_core::admission::verdicts::HandlerVerdict;
use witlet_core::probe::ProbeResult;
use witlet_ports::{PodDescription, ProbeReport};

#[cfg(test)]
mod tests;

pub(super) fn json(description: &PodDescription) -> Value {
    let PodDescription { verdicts, probes } = description;
    let admission: Vec<Value> = verdicts.iter().map(verdict).collect();
    let probes: Vec<Value> = probes.iter().map(probe).collect();
    json!({"admission": admission, "probes": probes})
}

fn verdict(verdict: &HandlerVerdict) -> Value {
    json!({
        "handler": &*verdict.handler,
        "digest": verdict.digest.as_deref(),
        "operation": match verdict.operation {
            Operation::Add => "Add",
            Operation::Resize => "Resize",
            Operation::Update => "Update",
            Operation::Ephemeral => "Ephemeral",
            Operation::ImageResolved => "ImageResolved",
            Operation::Readmit => "Readmit",
            Operation::Recheck => "Recheck",
        },
        "outcome": verdict.outcome,
        "reason": verdict.reason,
        "message": verdict.message,
        "failurePolicy": verdict.policy,
        "time": verdict.asked_at.to_string(),
        "durationSeconds": seconds(verdict.took),
        "warnings": verdict.remarks().warnings,
        "annotations": verdict.remarks().annotations,
    })
}

fn probe(probe: &ProbeReport) -> Value {
    let settings = &probe.settings;
    let last = probe.last.as_ref().map(|last| {
        json!({
            "outcome": last.outcome.as_str(),
            "message": last.message,
            "time": last.at.to_string(),
            "durationSeconds": seconds(last.took),
        })
    });
    json!({
        "container": probe.container,
        "kind": probe.kind.as_str(),
        "type": probe.probe_type,
        "periodSeconds": seconds(settings.period),
        "timeoutSeconds": seconds(settings.timeout),
        "initialDelaySeconds": seconds(settings.initial_delay),
        "successThreshold": settings.success_threshold,
        "failureThreshold": settings.failure_threshold,
        "result": probe.result.map(|result| match result {
            ProbeResult::Unknown => "Unknown",
            ProbeResult::Success => "Success",
            ProbeResult::Failure => "Failure",
        }),
        "last": last,
        "successes": probe.counts.successful,
        "failures": probe.counts.failed,
        "unknowns": probe.counts.unknown,
    })
}

fn seconds(duration: Duration) -> f64 {
    duration.as_secs_f64()
}
