//! The admission port: one handler after the other, each under its own limits and failure policy.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use tokio::sync::watch;
use tokio::time::Instant;
use tracing::Instrument as _;
use witlet_core::admission::chain::{Chain, FailurePolicy, HandlerResponse, Next, signed};
use witlet_core::admission::readmit::HandlerNames;
use witlet_core::admission::recheck::RecheckIntervals;
use witlet_core::admission::verdicts::{self, HandlerVerdict};
use witlet_core::admission::{AdmissionRequest, Decision, Operation, Verdict};
use witlet_core::event::{Event, EventObject, EventType};
use witlet_core::node::NodeFacts;
use witlet_core::node::for_handlers::for_handlers;
use witlet_core::pod::PodUid;
use witlet_ports::{Admission, AdmissionResult};

use super::Shared;
use super::decision_log::DecisionLine;
use super::explanation::{Answers, MeasuredCall};
use super::shadow_queue::{ComparedHandler, DecidedRequest};
use crate::metrics::{Call, CallOutcome};
use crate::plugin::{CallError, Called, MatchSubject, Plugin, SyncPlugin, end_span};
use crate::role::Role;
use crate::worlds::admission::answer::Remarks;
use crate::worlds::admission::facts::{PodFacts, RequestFacts};

/// How long reading the node again may hold a rejection up.
const READ_AGAIN_MAX: Duration = Duration::from_secs(5);

pub(super) struct HostAdmission {
    shared: Arc<Shared>,
}

impl HostAdmission {
    pub(super) fn new(shared: Arc<Shared>) -> Self {
        Self { shared }
    }

    async fn decided(&self, request: AdmissionRequest, subject: MatchSubject) -> AdmissionResult {
        let shared = &self.shared;
        let plugins = shared.plugins();
        let deciding = InFlightGuard::begin(&shared.deciding);
        let chain = Chain::new(&request);
        let mut asking = ChainRun::new(request, shared.node.is_none());
        let started = Instant::now();
        let (decision, decider) = shared.decide(&plugins, &subject, chain, &mut asking).await;
        drop(deciding);
        if let Some(log) = &shared.decision_log {
            let annotations = asking.annotations;
            let line =
                || DecisionLine::new(&asking.request, &decision, decider, annotations, started.elapsed());
            log.push(line);
        }
        let has_shadows =
            plugins.iter().any(|plugin| plugin.spec.is_compared_with_node() && plugin.is_asked(&subject));
        let ChainRun { facts, verdicts, compared, .. } = asking;
        if has_shadows || !compared.is_empty() {
            let decision = decision.clone();
            shared.shadows.push(DecidedRequest { facts, subject, decision, plugins, compared });
        }
        AdmissionResult { decision, verdicts }
    }
}

/// Counts a request as being decided until it is dropped.
struct InFlightGuard<'a>(&'a AtomicUsize);

impl<'a> InFlightGuard<'a> {
    fn begin(count: &'a AtomicUsize) -> Self {
        count.fetch_add(1, Ordering::Relaxed);
        Self(count)
    }
}

impl Drop for InFlightGuard<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A request on its way through the handlers.
pub(super) struct ChainRun {
    pub(super) request: AdmissionRequest,
    pub(super) facts: Arc<RequestFacts>,
    /// Whether the node is as new as it can be.
    read_again: bool,
    /// Keeps what handlers answer, where that is to be explained.
    pub(super) answers: Option<Answers>,
    /// What the handlers answered so far.
    verdicts: Vec<HandlerVerdict>,
    /// What they noted for the decision log, under `<plugin>/<key>`.
    annotations: BTreeMap<String, String>,
    /// Handlers that are to be compared with the ones that judged in their places.
    compared: Vec<ComparedHandler>,
}

impl ChainRun {
    /// No one was asked yet. `read_again` says that the request's node is the newest.
    pub(super) fn new(request: AdmissionRequest, read_again: bool) -> Self {
        let facts = Arc::new(RequestFacts::new(request.clone()));
        let (verdicts, annotations, compared) = (Vec::new(), BTreeMap::new(), Vec::new());
        Self { request, facts, read_again, answers: None, verdicts, annotations, compared }
    }

    /// Notes who is to be compared with an answer.
    fn compare<'a>(&mut self, with: impl Iterator<Item = &'a Arc<Plugin>>, answer: &HandlerResponse) {
        for plugin in with {
            match answer {
                HandlerResponse::Verdict(verdict) => {
                    let (plugin, verdict) = (plugin.clone(), verdict.clone());
                    self.compared.push(ComparedHandler { plugin, verdict });
                }
                HandlerResponse::Failure { .. } => plugin.shadow_skipped(),
            }
        }
    }

    fn note(
        &mut self,
        plugin: &Plugin,
        answer: &HandlerResponse,
        took: Duration,
        remarks: verdicts::Remarks,
    ) {
        let digest = plugin.code.ready().map(|loaded| loaded.digest.clone());
        let asked = (self.request.operation, self.request.now);
        let verdict = HandlerVerdict::new(plugin.spec.name.clone(), digest, asked, answer, took);
        self.verdicts.push(verdict.with_remarks(remarks));
    }
}

#[async_trait]
impl Admission for HostAdmission {
    async fn admit(&self, request: AdmissionRequest) -> Decision {
        self.admit_with_verdicts(request).await.decision
    }

    async fn admit_with_verdicts(&self, request: AdmissionRequest) -> AdmissionResult {
        let subject = MatchSubject::new(&request, self.shared.in_cluster);
        self.decided(request, subject).await
    }

    async fn recheck(&self, request: AdmissionRequest, handlers: BTreeSet<Arc<str>>) -> AdmissionResult {
        let subject = MatchSubject::new(&request, self.shared.in_cluster).only_for(handlers);
        self.decided(request, subject).await
    }
    fn answers(&self, operation: Operation) -> bool {
        self.shared
            .plugins()
            .iter()
            .any(|plugin| plugin.spec.admission.is_some() && plugin.answers(operation))
    }

    fn recheck_intervals(&self) -> RecheckIntervals {
        let plugins = self.shared.plugins();
        let wanting = plugins.iter().filter(|plugin| plugin.answers(Operation::Recheck));
        wanting.filter_map(|plugin| Some((plugin.spec.name.clone(), plugin.spec.recheck()?))).collect()
    }

    fn readmit_handlers(&self) -> HandlerNames {
        let plugins = self.shared.plugins();
        let wanting = plugins.iter().filter(|plugin| plugin.spec.admission.is_some());
        let wanting = wanting.filter(|plugin| plugin.answers(Operation::Readmit));
        wanting.map(|plugin| plugin.spec.name.clone()).collect()
    }

    fn generation(&self) -> watch::Receiver<u64> {
        self.shared.generation.subscribe()
    }
}

impl Shared {
    /// Asks one handler after the other. Returns the decision and whose answer it is, if it is one's.
    pub(super) async fn decide<'a>(
        &self,
        plugins: &'a [Arc<Plugin>],
        subject: &MatchSubject,
        mut chain: Chain,
        asking: &mut ChainRun,
    ) -> (Decision, Option<&'a Plugin>) {
        let places = self.places(plugins, subject);
        let handlers = plugins.iter().filter_map(|plugin| Some((plugin, plugin.spec.failure_policy()?)));
        for (plugin, policy) in handlers {
            let is_passed_over = plugin.spec.is_shadow() || places.judged_by(plugin).is_some();
            if is_passed_over || !plugin.is_asked(subject) {
                continue;
            }
            let started = Instant::now();
            let (answer, remarks) = self.answer(plugin, policy, asking).await;
            asking.note(plugin, &answer, started.elapsed(), remarks);
            let successor = places.compared_with(plugin).filter(|successor| successor.is_asked(subject));
            asking.compare(successor.into_iter().chain(shadows_of(plugin, plugins, subject)), &answer);
            match chain.answer(&plugin.spec.name, plugin.attribution().as_deref(), answer) {
                Next::Continue(next) => chain = next,
                Next::Decided(decision) => return (named(decision, plugin), Some(&**plugin)),
            }
        }
        (chain.finish(), None)
    }

    /// The answer of one plugin to the chain. A rejection on a node that has changed since is asked for again, once for
    /// the request: upstream reads its node again before it takes such a failure for final (`lifecycle/predicate.go`).
    async fn answer(
        &self,
        plugin: &Plugin,
        policy: FailurePolicy,
        asking: &mut ChainRun,
    ) -> (HandlerResponse, verdicts::Remarks) {
        let mut called = self.verdict(plugin, &asking.facts, Purpose::Decide).await;
        if let Ok(Verdict::Reject { .. }) = &called.result
            && !asking.read_again
        {
            asking.read_again = true;
            if let Some(newer) = self.newer_node(&asking.request.node).await {
                tracing::info!(
                    plugin = &*plugin.spec.name,
                    pod = %asking.facts.pod().full_name(),
                    pod_uid = asking.facts.pod().uid(),
                    "Node changed, asking admission handlers again"
                );
                asking.request.node = newer;
                asking.facts = Arc::new(RequestFacts::new(asking.request.clone()));
                called = self.verdict(plugin, &asking.facts, Purpose::Decide).await;
            }
        }
        let (response, measured) = called.response(plugin, policy);
        let remarks = verdicts::Remarks {
            warnings: measured.warnings.clone(),
            annotations: measured.annotations.clone(),
        };
        match &mut asking.answers {
            Some(answers) => answers.keep(&plugin.spec.name, &response, measured),
            None => {
                let MeasuredCall { warnings, annotations, .. } = measured;
                self.report_warnings(plugin, asking.facts.pod(), &warnings);
                let annotations = annotations.into_iter();
                let name = &plugin.spec.name;
                asking.annotations.extend(annotations.map(|(key, value)| (format!("{name}/{key}"), value)));
            }
        }
        (response, remarks)
    }

    /// Tells the pod's owner what a handler warned of.
    fn report_warnings(&self, plugin: &Plugin, pod: &PodFacts, warnings: &[String]) {
        for warning in warnings {
            tracing::warn!(
                plugin = &*plugin.spec.name,
                pod = %pod.full_name(),
                pod_uid = pod.uid(),
                warning,
                "Plugin warned of a pod"
            );
            let (full_name, uid) = (pod.full_name(), PodUid::from(pod.uid()));
            let object = EventObject::Pod { full_name, uid, field_path: None };
            let message = signed(warning.clone(), plugin.attribution().as_deref());
            self.events.record(Event::warning(object, "AdmissionWarning", message));
        }
    }

    /// The node, if it isn't as the request has it.
    async fn newer_node(&self, known: &Arc<NodeFacts>) -> Option<Arc<NodeFacts>> {
        let read = self.node.as_ref()?.read_again();
        let newer = tokio::time::timeout(READ_AGAIN_MAX, read).await.ok()?;
        // The machine doesn't know what the agent decides on and measures.
        let newer = for_handlers(&newer, &known.node, known.observed.clone());
        (newer != *known).then_some(newer)
    }

    /// Asks one plugin, and notes how it went.
    pub(super) async fn verdict(
        &self,
        plugin: &Plugin,
        facts: &Arc<RequestFacts>,
        purpose: Purpose,
    ) -> MeasuredVerdict {
        let (name, pod) = (&*plugin.spec.name, facts.pod());
        let span = tracing::error_span!(
            "plugin_call",
            plugin = name,
            role = %Role::Admission,
            pod = %pod.full_name(),
            pod_uid = pod.uid()
        );
        let mut traced = self.tracer.span(|| plugin.span_of(Role::Admission, "admit", Some(pod.uid())));
        async {
            let started = Instant::now();
            let called = match plugin.gate(Role::Admission, started) {
                Ok(code) => match &code.admission {
                    Some(guests) => traced.scope(self.ask(plugin, guests, facts, purpose)).await,
                    None => Err(CallError::Host),
                },
                Err(error) => Err(error),
            };
            let now = Instant::now();
            let took = now.saturating_duration_since(started);
            let called = called.unwrap_or_else(Called::without_call);
            let Called { result, fault, remarks, memory_bytes_peak, cpu, waited } = called;
            let memory_bytes_peak = memory_bytes_peak as u64;
            let outcome = match &result {
                Ok(verdict) => CallOutcome::from(verdict),
                Err(error) => CallOutcome::from(error.kind()),
            };
            end_span(&mut traced, waited, outcome, result.as_ref().err());
            let call = Call { outcome, took, memory_bytes_peak, cpu };
            // What is tried out is asked about each pod as if there were no other.
            let change = match &self.trial_log {
                None => plugin.record(Role::Admission, call, result.as_ref().err(), now),
                Some(_) => None,
            };
            match &result {
                Ok(verdict) => tracing::debug!(plugin = name, ?took, ?verdict, "Called plugin"),
                // Its state shows it: what isn't asked for its verdict to count would fill the log.
                Err(error) if purpose == Purpose::Compare && !outcome.was_called() => {
                    tracing::debug!(plugin = name, error = error.sentence(), "Shadow was not called")
                }
                Err(error) => report_failed(name, pod, took, error),
            }
            if let Some(change) = change {
                self.report_change(name, change, result.as_ref().err());
            }
            if self.trial_log.is_none() {
                self.note_rollout_call(plugin, outcome, fault.is_some(), change);
            }
            if let Some(fault) = &fault {
                self.report_sanitized(plugin, pod, fault);
            }
            if let Some(recorder) = &plugin.recorder
                && outcome.was_called()
            {
                recorder.admission(facts, &result, took);
            }
            let Remarks { warnings, annotations, left_out, retry_after } = remarks;
            report_left_out(name, pod, left_out);
            let measured = MeasuredCall { fault, warnings, annotations, took, memory_bytes_peak, cpu };
            MeasuredVerdict { result, retry_after, measured }
        }
        .instrument(span)
        .await
    }

    /// Notes a verdict of which the host changed a text. Each is logged, the first of the plugin's code is an event.
    fn report_sanitized(&self, plugin: &Plugin, pod: &PodFacts, fault: &str) {
        let name = &*plugin.spec.name;
        tracing::warn!(
            plugin = name,
            pod = %pod.full_name(),
            pod_uid = pod.uid(),
            fault,
            "Sanitized the reason of a verdict"
        );
        if plugin.record_fault(fault) {
            let message = format!("Plugin returned an invalid verdict, counted with another reason: {fault}");
            self.record_event(name, EventType::Warning, "PluginVerdictSanitized", message);
        }
    }

    async fn ask(
        &self,
        plugin: &Plugin,
        guests: &Arc<SyncPlugin>,
        facts: &Arc<RequestFacts>,
        purpose: Purpose,
    ) -> Result<Called<Verdict>, CallError> {
        let _busy = plugin.metrics().role(Role::Admission).begin();
        match purpose {
            Purpose::Decide => self.caller.admit(guests, facts).await,
            Purpose::Compare => self.caller.admit_shadow(guests, facts).await,
        }
    }
}

/// Notes that a call gave no verdict.
fn report_failed(plugin: &str, pod: &PodFacts, took: Duration, error: &CallError) {
    tracing::warn!(
        plugin,
        pod = %pod.full_name(),
        pod_uid = pod.uid(),
        ?took,
        error = error.sentence(),
        "Plugin call failed"
    );
}

/// Notes what didn't fit in an answer.
fn report_left_out(plugin: &str, pod: &PodFacts, left_out: usize) {
    if left_out > 0 {
        tracing::warn!(
            plugin,
            pod = %pod.full_name(),
            pod_uid = pod.uid(),
            left_out,
            "Left out warnings and annotations of an answer"
        );
    }
}

/// What a handler says, and what that took.
pub(super) struct MeasuredVerdict {
    pub(super) result: Result<Verdict, CallError>,
    /// Of an error: when the handler thinks that another try makes sense.
    retry_after: Option<Duration>,
    pub(super) measured: MeasuredCall,
}

impl MeasuredVerdict {
    /// The answer to the chain, under the plugin's failure policy.
    pub(super) fn response(self, plugin: &Plugin, policy: FailurePolicy) -> (HandlerResponse, MeasuredCall) {
        let response = match self.result {
            Ok(verdict) => HandlerResponse::Verdict(attributed(verdict, plugin.attribution())),
            Err(error) => {
                // At a node's start its pods are asked for before its plugins are there: none is to end for that, or to
                // pass unseen, while the load takes no longer than its entry allows.
                let waits = matches!(error, CallError::Loading) && plugin.holds_pods(Instant::now());
                let policy = if waits { FailurePolicy::Defer } else { policy };
                let (message, retry_after) = (error.sentence(), self.retry_after);
                HandlerResponse::Failure { kind: error.kind(), message, policy, retry_after }
            }
        };
        (response, self.measured)
    }
}

/// The verdict with who refuses the pod behind the message, which ends up in the pod's status and in an event.
fn attributed(verdict: Verdict, by: Option<String>) -> Verdict {
    let signed = |message: String| signed(message, by.as_deref());
    match verdict {
        Verdict::Reject { reason, message } => Verdict::Reject { reason, message: signed(message) },
        Verdict::Defer { reason, message, retry_after } => {
            Verdict::Defer { reason, message: signed(message), retry_after }
        }
        // The chain says in a kubelet's words what lacks, and signs it.
        Verdict::Admit | Verdict::Shortage(_) => verdict,
    }
}

/// The shadows that are compared with this handler, and that the request is for.
fn shadows_of<'a>(
    plugin: &'a Plugin,
    plugins: &'a [Arc<Plugin>],
    subject: &'a MatchSubject,
) -> impl Iterator<Item = &'a Arc<Plugin>> {
    plugins.iter().filter(move |shadow| {
        shadow.spec.shadow_of(Role::Admission) == Some(&*plugin.spec.name) && shadow.is_asked(subject)
    })
}

/// A rejection with the handler whose answer decided, if it is a configured one.
fn named(decision: Decision, plugin: &Plugin) -> Decision {
    match decision {
        Decision::Reject { reason, message, .. } => {
            let handler = (!plugin.spec.builtin).then(|| plugin.spec.name.to_string());
            Decision::Reject { reason, message, handler }
        }
        other @ (Decision::Admit | Decision::Preempt { .. } | Decision::Defer { .. }) => other,
    }
}

/// What a plugin is asked for, and so on whose threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    /// A verdict that counts.
    Decide,
    Compare,
}

#[cfg(test)]
mod tests;
