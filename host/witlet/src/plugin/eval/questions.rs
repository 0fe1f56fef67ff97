//! What is asked: a question for each pod of the manifests, or those of recorded calls.

mod operation;

use std::path::Path;
use std::sync::Arc;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::Pod;
use serde_json::Value;
use witlet_conformance::cases::node;
use witlet_core::admission::outcome::{Outcome, before_resize};
use witlet_core::admission::{AdmissionRequest, AdmittedPod, Decision, Operation};
use witlet_core::error::{one_line, yaml_fault};
use witlet_core::node::NodeFacts;
use witlet_core::pod::allocation::NodePolicy;
use witlet_core::pod::static_pod::{Origin, source_of};
use witlet_core::pod::{PodFullName, PodUid, SourceName};
use witlet_core::sources::manifest::workload::{self, Arrival, WorkloadPod};
use witlet_core::status::Phase;
use witlet_wasm::record::{RecordedRequest, read};

use super::files::{Files, shown};
use super::report::QuestionPlace;
use crate::cli::{EvalArgs, ImageArgs};
use operation::AskedPod;
pub(super) use operation::usage_problem;

#[cfg(test)]
mod tests;

/// The source of pods that an API server brings.
const API_SOURCE: &str = "api";
/// The label that names a node.
const HOSTNAME_LABEL: &str = "kubernetes.io/hostname";

/// A pod to judge.
#[derive(Clone, Debug)]
pub(in crate::plugin) struct PodQuestion {
    pub(in crate::plugin) place: QuestionPlace,
    /// The object that it comes from, or the plugin whose call was recorded.
    pub(in crate::plugin) object: Option<String>,
    pub(in crate::plugin) request: AdmissionRequest,
    /// What became of it before any handler is asked.
    pub(in crate::plugin) decided: Option<Outcome>,
}

/// All that the command line names.
#[derive(Debug, Default)]
pub(super) struct Questions {
    pub(super) asked: Vec<PodQuestion>,
    /// The node that handlers are configured for.
    pub(super) node: Option<Arc<NodeFacts>>,
    /// What makes no pod, a line each.
    pub(super) skipped: Vec<String>,
    /// What is wrong with the input, a line each.
    pub(super) problems: Vec<String>,
}

/// Reads everything. What is wrong is noted, and costs nothing else.
pub(super) fn gather(args: &EvalArgs, files: &mut Files, now: Timestamp) -> Questions {
    let mut questions = Questions::default();
    for path in &args.recording {
        questions.add_recording(path);
    }
    if !args.files.is_empty() {
        match given_node(args.node.as_deref(), files) {
            Ok(node) => {
                let reader = Reader::new(args, node, now);
                questions.node = Some(reader.node.clone());
                reader.read_all(args, files, &mut questions);
            }
            // Judged on another node, the pods' verdicts would mean something else.
            Err(problem) => questions.problems.push(problem),
        }
    }
    if questions.asked.is_empty() && questions.problems.is_empty() {
        questions.problems.push("no pods found in the files".to_owned());
    }
    questions
}

impl Questions {
    fn add_recording(&mut self, path: &Path) {
        let call = match read(path) {
            Ok(call) => call,
            Err(error) => return self.problems.push(one_line(&error)),
        };
        match &call.question {
            RecordedRequest::Admission(record) => {
                let request = record.request();
                self.node.get_or_insert_with(|| request.node.clone());
                self.asked.push(PodQuestion {
                    place: QuestionPlace::of_file(path),
                    object: Some(format!("recorded call of {}", call.plugin)),
                    request,
                    decided: None,
                });
            }
            other @ (RecordedRequest::Probe(_) | RecordedRequest::PodSource(_)) => self.problems.push(format!(
                "{}: a call in the role {} was recorded, and only questions to admission handlers can be judged",
                path.display(),
                other.role()
            )),
        }
    }
}

/// The node of `--node`, if there is one.
fn given_node(path: Option<&Path>, files: &mut Files) -> Result<Option<NodeFacts>, String> {
    let Some(path) = path else { return Ok(None) };
    let bytes = files.read(path).map_err(|error| one_line(&error))?;
    let at = |problem: String| format!("{}: {problem}", shown(path));
    let value: Value =
        serde_saphyr::from_str(&String::from_utf8_lossy(&bytes)).map_err(|error| at(yaml_fault(&error)))?;
    node(Some(value)).map(Some).map_err(|error| at(error.to_string()))
}

/// Makes questions of what files have.
struct Reader {
    /// The node of `--node`; otherwise the one that has capacity.
    node: Arc<NodeFacts>,
    is_given: bool,
    now: Timestamp,
    source: SourceName,
    operation: Operation,
    others: Vec<AdmittedPod>,
    /// Pods with what they have, if that is known.
    old: Option<Vec<Pod>>,
    image: ImageArgs,
}

impl Reader {
    fn new(args: &EvalArgs, given: Option<NodeFacts>, now: Timestamp) -> Self {
        let is_given = given.is_some();
        // The one without a file always is a node.
        let node = given.or_else(|| node(None).ok()).unwrap_or_default();
        let source = args.source.as_deref().unwrap_or(if args.standalone { "file" } else { API_SOURCE });
        Self {
            node: Arc::new(node),
            is_given,
            now: args.now.unwrap_or(now),
            source: SourceName::from(source),
            operation: args.operation.into(),
            others: Vec::new(),
            old: None,
            image: args.image.clone(),
        }
    }

    fn read_all(mut self, args: &EvalArgs, files: &mut Files, questions: &mut Questions) {
        if let Some(path) = &args.others {
            let found = self.pods(path, &SourceName::from(API_SOURCE), files, questions);
            self.others = self.others_here(found, path, questions);
        }
        if let Some(path) = &args.old {
            let source = self.source.clone();
            let old = self.pods(path, &source, files, questions);
            self.old = Some(old.into_iter().map(|found| found.pod).collect());
        }
        for path in &args.files {
            let source = self.source.clone();
            for found in self.pods(path, &source, files, questions) {
                match self.question(path, found) {
                    Ok(question) => questions.asked.push(question),
                    Err(problem) => questions.problems.push(problem),
                }
            }
        }
    }

    /// The pods of a file; what else there is of it goes to the questions.
    fn pods(
        &self,
        path: &Path,
        source: &SourceName,
        files: &mut Files,
        questions: &mut Questions,
    ) -> Vec<WorkloadPod> {
        let bytes = match files.read(path) {
            Ok(bytes) => bytes,
            Err(error) => {
                questions.problems.push(one_line(&error));
                return Vec::new();
            }
        };
        let file = shown(path);
        let arrival = if source.as_str() == API_SOURCE {
            Arrival::ApiServer { node_name: Some(&self.node.name), now: self.now }
        } else {
            Arrival::Static(Origin { source, place: &file, node_name: &self.node.name })
        };
        let found = workload::pods(&bytes, arrival);
        questions.problems.extend(found.problems.iter().map(|problem| format!("{file}: {problem}")));
        let skipped = found.skipped.iter().map(|skipped| {
            format!(
                "{file}: document {} (line {}): {} has no pod",
                skipped.document.number, skipped.document.line, skipped.object
            )
        });
        questions.skipped.extend(skipped);
        found.pods
    }

    /// Pods count that are on the node and haven't ended.
    fn others_here(
        &self,
        found: Vec<WorkloadPod>,
        path: &Path,
        questions: &mut Questions,
    ) -> Vec<AdmittedPod> {
        let before = found.len();
        let has_ended = |found: &WorkloadPod| {
            let phase = found.phase.as_deref();
            [Phase::Succeeded, Phase::Failed].iter().any(|ended| phase == Some(ended.as_str()))
        };
        let is_elsewhere =
            |found: &WorkloadPod| self.is_given && node_name(&found.pod) != Some(&self.node.name);
        let (here, out): (Vec<_>, Vec<_>) =
            found.into_iter().partition(|found| !has_ended(found) && !is_elsewhere(found));
        if !out.is_empty() {
            let count = out.len();
            let line = format!("{}: {count} of {before} pods have ended or are on other nodes", shown(path));
            questions.skipped.push(line);
        }
        let admitted = here.into_iter().map(|found| AdmittedPod {
            source: SourceName::from(source_of(&found.pod).unwrap_or(API_SOURCE)),
            pod: Arc::new(found.pod),
        });
        admitted.collect()
    }

    fn question(&self, path: &Path, found: WorkloadPod) -> Result<PodQuestion, String> {
        let place = QuestionPlace::of_document(path, found.document, &found.item);
        let object = found.object.to_string();
        let node = self.node_of(&found.pod);
        let old = self.old.as_ref().map(|all| {
            let name = PodFullName::of(&found.pod);
            let old = all.iter().find(|old| PodFullName::of(old) == name);
            old.ok_or_else(|| format!("{place}: --old has no pod {name}"))
        });
        let asked = operation::asked(self.operation, found.pod, old.transpose()?, &self.image);
        let AskedPod { pod, old_pod, image, is_unchanged } =
            asked.map_err(|problem| format!("{place}: {problem}"))?;
        let decided = match (self.operation, &old_pod) {
            (Operation::Resize, Some(old)) => before_resize(&pod, old, NodePolicy::of(&node.node), self.now),
            _ if is_unchanged => Some(Outcome::of(&pod, self.operation, Decision::Admit, self.now)),
            _ => None,
        };
        let is_same = |other: &Pod| {
            PodUid::of(other) == PodUid::of(&pod) || PodFullName::of(other) == PodFullName::of(&pod)
        };
        let others = self.others.iter().filter(|other| !is_same(&other.pod)).cloned();
        let request = AdmissionRequest {
            operation: self.operation,
            now: self.now,
            source: self.source.clone(),
            node,
            other_pods: others.collect(),
            pod,
            old_pod,
            image: image.map(Arc::new),
        };
        Ok(PodQuestion { place, object: Some(object), request, decided })
    }

    /// The node that the pod is on. One that no file describes is called as the pod calls it.
    fn node_of(&self, pod: &Pod) -> Arc<NodeFacts> {
        match node_name(pod) {
            Some(name) if !self.is_given && name != self.node.name => {
                let mut node = NodeFacts::clone(&self.node);
                node.name = name.to_owned();
                node.node.metadata.name = Some(name.to_owned());
                let labels = node.node.metadata.labels.get_or_insert_default();
                labels.insert(HOSTNAME_LABEL.to_owned(), name.to_owned());
                Arc::new(node)
            }
            Some(_) | None => self.node.clone(),
        }
    }
}

fn node_name(pod: &Pod) -> Option<&str> {
    pod.spec.as_ref()?.node_name.as_deref()
}
