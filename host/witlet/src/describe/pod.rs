//! A pod: spec and status as kubectl describes them, then what only the node knows.

use std::sync::Arc;

use jiff::Timestamp;
use k8s_openapi::List;
use k8s_openapi::api::core::v1::{Pod, PodSpec, PodStatus, Toleration};
use serde::Serialize;
use serde_json::Value;
use witlet_core::pod::PodUid;
use witlet_server::LocalClient;

use super::answer::{events_about, show};
use super::containers::containers;
use super::sections::{ago, conditions_table, events, map, string, time};
use super::text::{NONE, Text};
use super::volumes::volumes;
use crate::cli::DescribePodArgs;
use crate::get::error::GetError;
use crate::get::table::render;
use crate::names;
use crate::plugin::list::seconds;

#[cfg(test)]
mod tests;

/// How much of a digest is shown.
const DIGEST_CHARS: usize = 12;

const ADMISSION: [&str; 7] = ["HANDLER", "OUTCOME", "ASKED", "TOOK", "FOR", "DIGEST", "MESSAGE"];
const PROBES: [&str; 9] =
    ["CONTAINER", "PROBE", "TYPE", "RESULT", "LAST", "WHEN", "TOOK", "OK/FAILED/UNKNOWN", "MESSAGE"];

/// All that is known of a pod.
#[derive(Debug, Serialize)]
pub(crate) struct DescribedPod {
    /// With its newest status.
    pub(crate) pod: Arc<Pod>,
    /// The newest verdict of each handler.
    pub(crate) admission: Value,
    /// Its probes with their last results.
    pub(crate) probes: Value,
    /// The oldest first.
    pub(crate) events: Vec<Value>,
}

/// Prints it.
pub(super) async fn run(args: &DescribePodArgs, now: Timestamp) -> Result<(), GetError> {
    let client = LocalClient::new(&args.describe.api_socket);
    let described = describe(&client, &args.namespace, &args.name).await?;
    Ok(show(&described, args.describe.output, |described| text(described, now))?)
}

/// Returns what the agent knows of the pod that a name means.
pub(crate) async fn describe(
    client: &LocalClient,
    namespace: &str,
    name: &str,
) -> Result<DescribedPod, GetError> {
    let list: List<Pod> = client.get("/pods").await?;
    let pods: Vec<Arc<Pod>> = list.items.into_iter().map(Arc::new).collect();
    let pod = names::pod(&pods, namespace, name)?.clone();
    let uid = PodUid::of(&pod);
    let mut description: Value = client.get(&format!("/pods/{uid}/description")).await?;
    let events = events_about(client, |object| object["uid"] == *uid.as_str()).await?;
    let (admission, probes) = (description["admission"].take(), description["probes"].take());
    Ok(DescribedPod { pod, admission, probes, events })
}

/// The description for people.
fn text(described: &DescribedPod, now: Timestamp) -> String {
    let DescribedPod { pod, admission, probes, events: recorded } = described;
    let (spec, status) = (pod.spec.clone().unwrap_or_default(), pod.status.clone().unwrap_or_default());
    let mut text = Text::default();
    head(&mut text, pod, &spec, &status);
    containers(&mut text, &spec, &status);
    conditions(&mut text, &status);
    volumes(&mut text, spec.volumes.as_deref().unwrap_or_default());
    text.field(0, "QoS Class", status.qos_class.as_deref().unwrap_or(NONE));
    map(&mut text, 0, "Node-Selectors", spec.node_selector.as_ref(), "=");
    text.list(0, "Tolerations", spec.tolerations.iter().flatten().map(toleration));
    admission_table(&mut text, admission, now);
    probe_table(&mut text, probes, now);
    events(&mut text, recorded, now);
    text.render()
}

fn head(text: &mut Text, pod: &Pod, spec: &PodSpec, status: &PodStatus) {
    let metadata = &pod.metadata;
    text.field(0, "Name", names::name_of(pod));
    text.field(0, "Namespace", names::namespace_of(pod));
    text.field(0, "UID", metadata.uid.as_deref().unwrap_or(NONE));
    text.field(0, "Priority", spec.priority.unwrap_or_default().to_string());
    text.some(0, "Priority Class Name", spec.priority_class_name.as_ref());
    text.some(0, "Runtime Class Name", spec.runtime_class_name.as_ref());
    text.some(0, "Service Account", spec.service_account_name.as_ref());
    let node = spec.node_name.as_deref().unwrap_or(NONE);
    let host = status.host_ip.as_ref().map(|ip| format!("/{ip}")).unwrap_or_default();
    text.field(0, "Node", format!("{node}{host}"));
    text.some(0, "Start Time", status.start_time.as_ref().map(|at| time(at.0)));
    map(text, 0, "Labels", metadata.labels.as_ref(), "=");
    map(text, 0, "Annotations", metadata.annotations.as_ref(), ": ");
    match &metadata.deletion_timestamp {
        Some(at) => {
            text.field(0, "Status", format!("Terminating (since {})", time(at.0)));
            let grace = metadata.deletion_grace_period_seconds;
            text.some(0, "Termination Grace Period", grace.map(|seconds| format!("{seconds}s")));
        }
        None => text.field(0, "Status", status.phase.as_deref().unwrap_or("Unknown")),
    }
    text.some(0, "Reason", status.reason.as_ref());
    text.some(0, "Message", status.message.as_ref());
    text.field(0, "IP", status.pod_ip.as_deref().unwrap_or_default());
    text.list(0, "IPs", status.pod_ips.iter().flatten().map(|ip| ip.ip.clone()));
    let owners = metadata.owner_references.iter().flatten().filter(|owner| owner.controller == Some(true));
    for owner in owners {
        text.field(0, "Controlled By", format!("{}/{}", owner.kind, owner.name));
    }
    text.some(0, "Restart Policy", spec.restart_policy.as_ref());
    text.some(0, "DNS Policy", spec.dns_policy.as_ref());
    if spec.host_network == Some(true) {
        text.field(0, "Host Network", "true");
    }
}

fn conditions(text: &mut Text, status: &PodStatus) {
    let rows = status.conditions.iter().flatten().map(|condition| {
        let since = condition.last_transition_time.as_ref().map(|at| time(at.0));
        let (name, status) = (condition.type_.clone(), condition.status.clone());
        [Some(name), Some(status), since, condition.reason.clone(), condition.message.clone()]
    });
    conditions_table(text, rows);
}

/// Returns the text as kubectl has it: `key=value:effect op=Exists for 300s`.
fn toleration(toleration: &Toleration) -> String {
    let mut text = toleration.key.clone().unwrap_or_default();
    if let Some(value) = toleration.value.as_ref().filter(|value| !value.is_empty()) {
        text.push_str(&format!("={value}"));
    }
    if let Some(effect) = toleration.effect.as_ref().filter(|effect| !effect.is_empty()) {
        text.push_str(&format!(":{effect}"));
    }
    if toleration.operator.as_deref() == Some("Exists")
        && toleration.value.as_deref().unwrap_or_default().is_empty()
    {
        let gap = if text.is_empty() { "" } else { " " };
        text.push_str(&format!("{gap}op=Exists"));
    }
    if let Some(seconds) = toleration.toleration_seconds {
        text.push_str(&format!(" for {seconds}s"));
    }
    text
}

/// What handlers made of the pod, each when it was asked last.
fn admission_table(text: &mut Text, admission: &Value, now: Timestamp) {
    let row = |verdict: &Value| {
        let digest: String = string(&verdict["digest"]).chars().take(DIGEST_CHARS).collect();
        let words = [&verdict["reason"], &verdict["message"]].map(string);
        let words: Vec<String> = words.into_iter().filter(|word| !word.is_empty()).collect();
        let warnings = verdict["warnings"].as_array().into_iter().flatten().map(string);
        let warnings: String = warnings.map(|warning| format!(" (warning: {warning})")).collect();
        let annotations = verdict["annotations"].as_object().into_iter().flatten();
        let annotations: String =
            annotations.map(|(key, value)| format!(" [{key}={}]", string(value))).collect();
        let policy = verdict["failurePolicy"].as_str().map(|policy| format!(" (failurePolicy {policy})"));
        vec![
            string(&verdict["handler"]),
            string(&verdict["outcome"]),
            ago(&verdict["time"], now),
            verdict["durationSeconds"].as_f64().map(seconds).unwrap_or_default(),
            string(&verdict["operation"]),
            if digest.is_empty() { "-".to_owned() } else { digest },
            [words.join(": "), policy.unwrap_or_default(), warnings, annotations]
                .concat()
                .trim_start()
                .to_owned(),
        ]
    };
    let rows: Vec<Vec<String>> = admission.as_array().into_iter().flatten().map(row).collect();
    let without = "<not asked since the agent started>";
    text.table("Admission", rows.len(), &render(&ADMISSION, &rows), without);
}

/// What probes found last, and what counts.
fn probe_table(text: &mut Text, probes: &Value, now: Timestamp) {
    let row = |probe: &Value| {
        let last = &probe["last"];
        let or_dash = |text: String| if text.is_empty() { "-".to_owned() } else { text };
        let when = if last.is_null() { "-".to_owned() } else { ago(&last["time"], now) };
        vec![
            string(&probe["container"]),
            string(&probe["kind"]),
            or_dash(string(&probe["type"])),
            or_dash(string(&probe["result"])),
            or_dash(string(&last["outcome"])),
            when,
            last["durationSeconds"].as_f64().map_or_else(|| "-".to_owned(), seconds),
            format!("{}/{}/{}", probe["successes"], probe["failures"], probe["unknowns"]),
            string(&last["message"]),
        ]
    };
    let rows: Vec<Vec<String>> = probes.as_array().into_iter().flatten().map(row).collect();
    text.table("Probes", rows.len(), &render(&PROBES, &rows), NONE);
}
