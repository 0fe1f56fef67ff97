//! `witlet plugin audit`: asks admission handlers about the pods that a daemon has, and prints which of them wouldn't be admitted.

use std::sync::Arc;

use jiff::Timestamp;
use k8s_openapi::List;
use k8s_openapi::api::core::v1::{Node, Pod};
use thiserror::Error;
use witlet_core::admission::{AdmissionRequest, AdmittedPod, Operation};
use witlet_core::node::NodeFacts;
use witlet_core::pod::SourceName;
use witlet_core::pod::static_pod::{is_mirror, source_of};
use witlet_core::status::{Phase, is_blocked};
use witlet_node::{NodeInfo, NodeOptions, SystemClock};
use witlet_ports::Clock;
use witlet_server::{ClientError, LocalClient};

use super::eval::handlers::{self, HandlersError};
use super::eval::questions::PodQuestion;
use super::eval::report::{EvalResult, PodReport, QuestionPlace, Report};
use super::eval::{ask, text};
use crate::cli::{AuditArgs, OutputFormat};
use crate::get::table;
use crate::output::{OutputError, print, remark, structured};

#[cfg(test)]
mod tests;

/// `kind` of the report.
const AUDIT: &str = "PluginAudit";
/// The source of pods that an API server brings.
const API_SOURCE: &str = "api";
const HEADER: [&str; 6] = ["NAMESPACE", "NAME", "OUTCOME", "HANDLER", "REASON", "MESSAGE"];
/// What stands in a cell without a value.
const NONE: &str = "-";

/// Why nothing could be judged.
#[derive(Debug, Error)]
pub(crate) enum Error {
    #[error(transparent)]
    Client(#[from] ClientError),
    /// There is no space for compiled plugins.
    #[error("failed to create a temporary folder for compiled plugins")]
    Scratch(#[source] std::io::Error),
    /// No handler can be asked.
    #[error(transparent)]
    Handlers(#[from] HandlersError),
    /// The report can't be written.
    #[error(transparent)]
    Output(#[from] OutputError),
}

/// Judges the daemon's pods, and prints the report.
pub(crate) async fn run(args: &AuditArgs) -> Result<EvalResult, Error> {
    let client = LocalClient::new(&args.api_socket);
    let pods: List<Pod> = client.get("/pods").await?;
    let node: Node = client.get("/node").await?;
    let scratch = tempfile::tempdir().map_err(Error::Scratch)?;
    let mut report = Report::new(AUDIT);
    // Only an API server gives the node a UID.
    let in_cluster = node.metadata.uid.is_some();
    let node = Arc::new(facts(node));
    match handlers::start(&args.handlers, None, in_cluster, Some(node.clone()), scratch.path()).await {
        Ok(host) => {
            report.problems = host.problems();
            report.skipped = handlers::skipped(&host);
            handlers::warnings(&host).iter().for_each(|warning| remark(warning));
            let place = QuestionPlace::of_file(&args.api_socket);
            let now = SystemClock.now();
            for request in questions(pods.items, node, now) {
                let question = PodQuestion { place: place.clone(), object: None, request, decided: None };
                report.pods.push(ask(&host, question, false).await);
            }
        }
        Err(error) => report.problems.push(handlers::as_problem(error)?),
    }
    let output = match args.output {
        OutputFormat::Table | OutputFormat::Wide => for_people(&report, args.all),
        OutputFormat::Json | OutputFormat::Yaml => structured(&report, args.output)?,
    };
    print(&output)?;
    Ok(report.result())
}

/// The node as the daemon's handlers see it: its object, and what this machine says of itself.
fn facts(node: Node) -> NodeFacts {
    let machine = NodeInfo::new(NodeOptions::default(), &SystemClock);
    // Without it some keys are unknown, which handlers have to live with.
    let machine = machine.map(|info| NodeFacts::clone(&info.current())).unwrap_or_default();
    let of_object = NodeFacts::of(node);
    let mut facts = machine.facts;
    facts.extend(of_object.facts.clone());
    NodeFacts { facts, devices: machine.devices, ..of_object }
}

/// A question for each pod that hasn't ended, next to the others of them.
fn questions(pods: Vec<Pod>, node: Arc<NodeFacts>, now: Timestamp) -> Vec<AdmissionRequest> {
    let is_alive = |pod: &Pod| {
        let phase = pod.status.as_ref().and_then(Phase::of);
        !is_mirror(pod) && !phase.is_some_and(Phase::is_terminal)
    };
    let alive = pods.into_iter().filter(is_alive).map(|pod| AdmittedPod {
        source: SourceName::from(source_of(&pod).unwrap_or(API_SOURCE)),
        pod: Arc::new(pod),
    });
    let alive: Vec<AdmittedPod> = alive.collect();
    // A pod that admission put off has no place on the node yet.
    let is_put_off = |other: &&AdmittedPod| other.pod.status.as_ref().is_some_and(is_blocked);
    let admitted: Vec<&AdmittedPod> = alive.iter().filter(|other| !is_put_off(other)).collect();
    let question = |asked: &AdmittedPod| AdmissionRequest {
        operation: Operation::Add,
        now,
        pod: asked.pod.clone(),
        old_pod: None,
        image: None,
        source: asked.source.clone(),
        node: node.clone(),
        other_pods: admitted
            .iter()
            .filter(|other| !Arc::ptr_eq(&other.pod, &asked.pod))
            .map(|other| AdmittedPod::clone(other))
            .collect(),
    };
    alive.iter().map(question).collect()
}

/// A row for each pod that wouldn't be admitted, or for each.
fn for_people(report: &Report, all: bool) -> String {
    let shown = report.pods.iter().filter(|pod| all || !pod.is_admitted());
    let rows: Vec<Vec<String>> = shown.map(row).collect();
    let mut output = if rows.is_empty() { String::new() } else { table::render(&HEADER, &rows) };
    let refused = report.pods.iter().filter(|pod| !pod.is_admitted()).count();
    let total = report.pods.len();
    let pods = if total == 1 { "pod" } else { "pods" };
    let summary = format!("{total} {pods}, {refused} would not be admitted");
    for line in std::iter::once(summary).chain(text::remarks(report)) {
        output.push_str(&table::one_line(&line));
        output.push('\n');
    }
    output
}

fn row(pod: &PodReport) -> Vec<String> {
    let of = |text: Option<&String>| text.cloned().unwrap_or_else(|| NONE.to_owned());
    let status = pod.status.as_ref();
    vec![
        pod.namespace.clone(),
        pod.name.clone(),
        pod.outcome.to_owned(),
        of(pod.decided_by.as_ref()),
        of(status.and_then(|status| status.reason.as_ref())),
        of(status.and_then(|status| status.message.as_ref())),
    ]
}
