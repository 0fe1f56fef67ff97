//! The report for people.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::PodStatus;
use witlet_core::admission::Operation;

use super::report::{HandlerLine, PodReport, Report, ShortageLine};
use crate::get::table;
use crate::plugin::list::{bytes, fields, seconds};

#[cfg(test)]
mod tests;

/// How much of a digest a table shows.
const DIGEST_CHARS: usize = 12;
/// What stands in a cell without a value.
const NONE: &str = "-";

/// A table for each pod, then how many came to what, what was passed over, and what is wrong. `wide` adds columns.
pub(super) fn for_people(report: &Report, wide: bool) -> String {
    let mut lines: Vec<String> = Vec::new();
    for pod in &report.pods {
        lines.extend(head(pod));
        lines.extend(handlers(pod, wide));
        lines.extend(status(pod));
        lines.push(String::new());
    }
    lines.extend(summary(report));
    lines.extend(remarks(report));
    let mut text = String::new();
    for line in lines {
        text.push_str(&table::one_line(&line));
        text.push('\n');
    }
    text
}

/// What was passed over, and what is wrong, a line each. A plugin that finds several things wrong with its configuration says each on a
/// line of its own.
pub(in crate::plugin) fn remarks(report: &Report) -> impl Iterator<Item = String> + '_ {
    let skipped = report.skipped.iter().map(|line| format!("skipped: {line}"));
    let problems = report.problems.iter().flat_map(|problem| {
        let heads = std::iter::once("error: ").chain(std::iter::repeat("  "));
        heads.zip(problem.lines()).map(|(head, line)| format!("{head}{line}"))
    });
    skipped.chain(problems)
}

fn head(pod: &PodReport) -> [String; 2] {
    let PodReport { place, object, namespace, name, outcome, decided_by, .. } = pod;
    let place = match object {
        Some(object) => format!("{place}: {object}"),
        None => place.to_string(),
    };
    let by = match (decided_by, pod.handlers.is_empty()) {
        (Some(handler), _) => format!(" by {handler}"),
        (None, true) => ", and no handler was asked".to_owned(),
        (None, false) => String::new(),
    };
    [place, format!("{namespace}/{name}: {outcome}{by}")]
}

fn handlers(pod: &PodReport, wide: bool) -> Vec<String> {
    if pod.handlers.is_empty() {
        return Vec::new();
    }
    let mut header = vec!["HANDLER", "OUTCOME", "TIME", "MEMORY"];
    if wide {
        header.extend(["CPU", "DIGEST"]);
    }
    header.push("MESSAGE");
    let rows: Vec<Vec<String>> = pod.handlers.iter().map(|handler| row(handler, wide)).collect();
    let mut lines: Vec<String> =
        table::render(&header, &rows).lines().map(|line| format!("  {line}")).collect();
    for handler in &pod.handlers {
        let name = &handler.name;
        lines.extend(handler.warnings.iter().map(|warning| format!("  warning of {name}: {warning}")));
        lines.extend(handler.log.iter().map(|line| {
            let fields = fields(&line.fields);
            format!("  log of {name}: {} {}{fields}", line.level, line.message)
        }));
    }
    lines
}

fn row(handler: &HandlerLine, wide: bool) -> Vec<String> {
    let none = || NONE.to_owned();
    let time = |time: Option<f64>| time.map_or_else(none, seconds);
    let word = match handler.outcome {
        "notMatched" => "not matched",
        "notAsked" => "not asked",
        word => word,
    };
    let is_answer = handler.took_seconds.is_some();
    let word = match (handler.shadow, is_answer && !handler.counts) {
        (true, _) => format!("{word} (shadow)"),
        (false, true) => format!("{word} (not counted)"),
        (false, false) => word.to_owned(),
    };
    let memory = handler.memory_bytes_peak.filter(|bytes| *bytes > 0);
    let mut row =
        vec![handler.name.clone(), word, time(handler.took_seconds), memory.map_or_else(none, bytes)];
    if wide {
        let digest = handler.digest.as_deref().map(|digest| digest.chars().take(DIGEST_CHARS).collect());
        row.extend([time(handler.cpu_seconds), digest.unwrap_or_else(none)]);
    }
    row.push(message(handler));
    row
}

fn message(handler: &HandlerLine) -> String {
    let HandlerLine { reason, message, rule, effect, retry_after_seconds, shortages, .. } = handler;
    let message = message.as_deref().unwrap_or_default();
    let mut text = match (rule, reason) {
        (Some(rule), _) => format!("{rule}: {message}"),
        (None, Some(reason)) => format!("{reason}: {message}"),
        (None, None) => message.to_owned(),
    };
    let short = shortages.iter().map(|shortage| {
        let ShortageLine { resource, requested, used, capacity } = shortage;
        format!("{resource}: requested {requested}, used {used}, capacity {capacity}")
    });
    text.push_str(&short.collect::<Vec<_>>().join("; "));
    if let Some(after) = retry_after_seconds {
        text.push_str(&format!(" (again after {})", seconds(*after)));
    }
    if let Some(effect) = effect {
        text.push_str(&format!("; {effect}"));
    }
    text
}

fn status(pod: &PodReport) -> Vec<String> {
    let mut lines = Vec::new();
    match &pod.status {
        None => lines.push(format!("  status: {}", without_status(pod))),
        Some(status) => {
            lines.extend(of_pod(status));
            lines.extend(of_conditions(status));
        }
    }
    if !pod.preempts.is_empty() {
        lines.push(format!("  ends for it: {}", pod.preempts.join(", ")));
    }
    lines
}

/// What becomes of the pod where its status wouldn't say it.
fn without_status(pod: &PodReport) -> &'static str {
    match (Operation::parse(pod.operation), pod.outcome) {
        (Some(Operation::ImageResolved), "admitted") => "the container starts",
        (Some(Operation::ImageResolved), "deferred") => "the container waits as ImageDeferred",
        (Some(Operation::ImageResolved), _) => "the container waits as ImageRejected",
        (Some(Operation::Readmit | Operation::Recheck), "rejected") => {
            "the pod ends as Failed, within its grace"
        }
        (Some(Operation::Readmit | Operation::Recheck), _) => "the pod goes on",
        (Some(Operation::Add), _) => "the pod starts",
        (Some(Operation::Resize | Operation::Update | Operation::Ephemeral) | None, _) => {
            "the pod gets what it asks for"
        }
    }
}

fn text(text: &Option<String>) -> &str {
    text.as_deref().unwrap_or(NONE)
}

fn of_pod(status: &PodStatus) -> Vec<String> {
    let Some(phase) = &status.phase else { return Vec::new() };
    let (reason, message) = (text(&status.reason), text(&status.message));
    let mut lines = vec![format!("  status: phase {phase}, reason {reason}, message {message:?}")];
    let containers = status.container_statuses.iter().flatten();
    let mut waiting = containers.filter_map(|container| container.state.as_ref()?.waiting.as_ref());
    if let Some(waiting) = waiting.next() {
        let (reason, message) = (text(&waiting.reason), text(&waiting.message));
        lines.push(format!("  containers: waiting, reason {reason}, message {message:?}"));
    }
    lines
}

/// Of a resize, whose status is one condition.
fn of_conditions(status: &PodStatus) -> Vec<String> {
    if status.phase.is_some() {
        return Vec::new();
    }
    let conditions = status.conditions.iter().flatten();
    let line = conditions.map(|condition| {
        let (reason, message) = (text(&condition.reason), text(&condition.message));
        format!("  condition: {}, reason {reason}, message {message:?}", condition.type_)
    });
    line.collect()
}

/// How many pods came to what.
fn summary(report: &Report) -> Option<String> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for pod in &report.pods {
        *counts.entry(pod.outcome).or_default() += 1;
    }
    let total = report.pods.len();
    let parts: Vec<String> = counts.iter().map(|(outcome, count)| format!("{count} {outcome}")).collect();
    (total > 0).then(|| format!("{total} pod{}: {}", if total == 1 { "" } else { "s" }, parts.join(", ")))
}
