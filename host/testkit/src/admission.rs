//! Admission handlers that answer as a test wants.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use jiff::SignedDuration;
use k8s_openapi::api::core::v1::Node;
use tokio::sync::watch;
use witlet_core::admission::chain::{Chain, HandlerResponse, Next};
use witlet_core::admission::readmit::HandlerNames;
use witlet_core::admission::recheck::RecheckIntervals;
use witlet_core::admission::verdicts::HandlerVerdict;
use witlet_core::admission::{AdmissionRequest, Decision, Operation, Shortage, Verdict};
use witlet_core::container::plan::containers;
use witlet_core::pod::resources::{host_ports, requests};
use witlet_core::pod::static_pod::first_seen;
use witlet_ports::{Admission, AdmissionResult};

/// Annotation: the pod is put off until this many seconds after it was first seen. The example handler `not-before`
/// has the same.
pub const NOT_BEFORE_SECONDS: &str = "example.witlet.dev/not-before-seconds";

/// Label: the handlers never answer for such a pod before their deadline, and then defer it.
const HANGS: &str = "fake/admission-hangs";

/// Label: the pod is rejected, with reason `NotNeeded`. Its value is the name of the configured handler that does; empty for a shipped
/// one.
pub const REJECTED_BY: &str = "fake/rejected-by";

/// What the handlers are called.
const HANDLER: &str = "fake";

/// How long handlers have.
const DEADLINE: Duration = Duration::from_millis(100);

/// Handlers that know CPU (with the chain's own consequences: `OutOfcpu`, or others end for a critical pod), host ports (`NodePorts`),
/// the annotation [`NOT_BEFORE_SECONDS`], and what a test scripts. Of new pods and resizes; they answer questions about edits of running
/// pods and about images of containers only if a test says what.
#[derive(Debug)]
pub struct FakeAdmission {
    generation: watch::Sender<u64>,
    asked: Mutex<Vec<String>>,
    node: Mutex<Option<Arc<Node>>>,
    defers: AtomicBool,
    refuses: Mutex<Option<String>>,
    admits_all: AtomicBool,
    delay: Mutex<Duration>,
    answers: Mutex<HashMap<Operation, Decision>>,
    images: Mutex<HashMap<String, Decision>>,
    recheck: Mutex<Option<Duration>>,
    about: Mutex<Vec<AdmissionRequest>>,
    resizes: Mutex<Vec<AdmissionRequest>>,
}

impl Default for FakeAdmission {
    fn default() -> Self {
        let generation = watch::Sender::new(0);
        let defers = AtomicBool::new(false);
        Self {
            generation,
            asked: Mutex::default(),
            node: Mutex::default(),
            defers,
            refuses: Mutex::default(),
            admits_all: AtomicBool::default(),
            delay: Mutex::default(),
            answers: Mutex::default(),
            images: Mutex::default(),
            recheck: Mutex::default(),
            about: Mutex::default(),
            resizes: Mutex::default(),
        }
    }
}

impl FakeAdmission {
    /// The label that makes handlers hang on a pod.
    pub fn hangs_label() -> (&'static str, &'static str) {
        (HANGS, "true")
    }

    /// Each verdict takes so long from now on.
    pub fn set_delay(&self, delay: Duration) {
        *self.delay.lock().unwrap_or_else(PoisonError::into_inner) = delay;
    }

    /// Whether the handlers put off whatever pod they are asked about, as while a plugin is loaded.
    pub fn set_defers(&self, defers: bool) {
        self.defers.store(defers, Ordering::Relaxed);
        self.change();
    }

    /// The handlers refuse the pod of this name from now on.
    pub fn set_refuses(&self, pod: &str) {
        *self.refuses.lock().unwrap_or_else(PoisonError::into_inner) = Some(pod.to_owned());
        self.change();
    }

    /// Whether the handlers take pods that the label [`REJECTED_BY`] says they reject.
    pub fn set_admits_all(&self, admits: bool) {
        self.admits_all.store(admits, Ordering::Relaxed);
        self.change();
    }

    /// What the handlers answer to questions about edits of this kind, or about pods that run, from now on; none if they are asked no more.
    pub fn set_answer(&self, operation: Operation, decision: Option<Decision>) {
        let mut answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        match decision {
            Some(decision) => _ = answers.insert(operation, decision),
            None => _ = answers.remove(&operation),
        }
        drop(answers);
        self.change();
    }

    /// What the handlers answer from now on when a container is to start from the image that its pod names so. While they answer so to no
    /// image, they are asked about none; they admit all others.
    pub fn set_image_answer(&self, image: &str, decision: Option<Decision>) {
        match decision {
            Some(decision) => _ = self.images().insert(image.to_owned(), decision),
            None => _ = self.images().remove(image),
        }
        self.change();
    }

    /// How often the handlers want to be asked about running pods from now on; what they answer is scripted by [`Self::set_answer`].
    pub fn set_recheck(&self, every: Option<Duration>) {
        *self.recheck.lock().unwrap_or_else(PoisonError::into_inner) = every;
        self.change();
    }

    fn images(&self) -> MutexGuard<'_, HashMap<String, Decision>> {
        self.images.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The questions about running pods and about images so far, in their order, but for resizes.
    pub fn scripted_questions(&self) -> Vec<AdmissionRequest> {
        self.about.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The questions about resizes so far, in their order.
    pub fn resizes(&self) -> Vec<AdmissionRequest> {
        self.resizes.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The answer that a test has given.
    fn scripted(&self, request: &AdmissionRequest) -> Option<Decision> {
        let answer = match request.operation {
            Operation::Add | Operation::Resize => return None,
            Operation::Update | Operation::Ephemeral | Operation::Readmit | Operation::Recheck => {
                self.answer(request.operation)
            }
            Operation::ImageResolved => self.images().get(&image_of(request)).cloned(),
        };
        Some(answer.unwrap_or(Decision::Admit))
    }

    fn answer(&self, operation: Operation) -> Option<Decision> {
        self.answers.lock().unwrap_or_else(PoisonError::into_inner).get(&operation).cloned()
    }

    /// The handlers changed.
    pub fn change(&self) {
        self.generation.send_modify(|generation| *generation += 1);
    }

    /// Names of the pods that were asked for, in that order, each with the number of pods admitted before; `resized` those that
    /// wish for other resources, `updated` those with another image, `debugged` those with ephemeral containers; those of which a
    /// container is to start are named with its image, `readmitted` are those that ran before the agent's start, and `rechecked` those that run.
    pub fn asked(&self) -> Vec<String> {
        self.lock().clone()
    }

    /// The node that the last question was about.
    pub fn last_node(&self) -> Option<Arc<Node>> {
        self.node.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn lock(&self) -> MutexGuard<'_, Vec<String>> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl Admission for FakeAdmission {
    async fn admit(&self, request: AdmissionRequest) -> Decision {
        let meta = &request.pod.metadata;
        let name = meta.name.clone().unwrap_or_default();
        let asked = match request.operation {
            Operation::Add => name,
            Operation::Resize => format!("{name} resized"),
            Operation::Update => format!("{name} updated"),
            Operation::Ephemeral => format!("{name} debugged"),
            Operation::Readmit => format!("{name} readmitted"),
            Operation::Recheck => format!("{name} rechecked"),
            Operation::ImageResolved => format!("{name} image {}", image_of(&request)),
        };
        self.lock().push(format!("{asked} with {}", request.other_pods.len()));
        *self.node.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::new(request.node.node.clone()));
        if request.operation == Operation::Resize {
            self.resizes.lock().unwrap_or_else(PoisonError::into_inner).push(request.clone());
        }
        let is_refused =
            meta.name.is_some() && *self.refuses.lock().unwrap_or_else(PoisonError::into_inner) == meta.name;
        let delay = *self.delay.lock().unwrap_or_else(PoisonError::into_inner);
        if !delay.is_zero() {
            tokio::time::sleep(delay).await;
        }
        if let Some(answer) = self.scripted(&request) {
            self.about.lock().unwrap_or_else(PoisonError::into_inner).push(request);
            return answer;
        }
        let hangs = meta.labels.as_ref().is_some_and(|labels| labels.contains_key(HANGS));
        if hangs {
            tokio::time::sleep(DEADLINE).await;
        }
        if hangs {
            return Decision::Defer {
                reason: "PluginTimeout".to_owned(),
                message: "handler fake took longer than 100ms".to_owned(),
                retry_after: Duration::from_secs(10),
            };
        }
        if self.defers.load(Ordering::Relaxed) {
            return Decision::Defer {
                reason: "PluginLoading".to_owned(),
                message: "handler fake is still being loaded".to_owned(),
                retry_after: Duration::from_secs(10),
            };
        }
        if is_refused {
            let (reason, message) = ("AsScripted".to_owned(), "the test wants it so".to_owned());
            return Decision::Reject { reason, message, handler: None };
        }
        let rejected_by = meta.labels.as_ref().and_then(|labels| labels.get(REJECTED_BY));
        if let Some(handler) = rejected_by.filter(|_| !self.admits_all.load(Ordering::Relaxed)) {
            return Decision::Reject {
                reason: "NotNeeded".to_owned(),
                message: "this pod isn't needed".to_owned(),
                handler: Some(handler.clone()).filter(|name| !name.is_empty()),
            };
        }
        if let Some(decision) = not_before(&request) {
            return decision;
        }
        node_ports(&request).or_else(|| out_of_cpu(&request)).unwrap_or(Decision::Admit)
    }

    async fn admit_with_verdicts(&self, request: AdmissionRequest) -> AdmissionResult {
        let asked = (request.operation, request.now);
        let decision = self.admit(request).await;
        let verdict = match decision.clone() {
            Decision::Admit => Verdict::Admit,
            Decision::Reject { reason, message, .. } => Verdict::Reject { reason, message },
            Decision::Defer { reason, message, retry_after } => {
                Verdict::Defer { reason, message, retry_after }
            }
            Decision::Preempt { .. } => Verdict::Shortage(Vec::new()),
        };
        let answer = HandlerResponse::Verdict(verdict);
        let verdict = HandlerVerdict::new(HANDLER.into(), None, asked, &answer, Duration::ZERO);
        AdmissionResult { decision, verdicts: vec![verdict] }
    }

    fn answers(&self, operation: Operation) -> bool {
        match operation {
            Operation::Add | Operation::Resize => true,
            Operation::Update | Operation::Ephemeral | Operation::Readmit => self.answer(operation).is_some(),
            Operation::ImageResolved => !self.images().is_empty(),
            Operation::Recheck => !self.recheck_intervals().is_empty(),
        }
    }

    fn recheck_intervals(&self) -> RecheckIntervals {
        let every = *self.recheck.lock().unwrap_or_else(PoisonError::into_inner);
        every.map(|every| (HANDLER.into(), every)).into_iter().collect()
    }

    fn readmit_handlers(&self) -> HandlerNames {
        self.answer(Operation::Readmit).map(|_| HANDLER.into()).into_iter().collect()
    }

    fn generation(&self) -> watch::Receiver<u64> {
        self.generation.subscribe()
    }
}

/// The image that a container is to start from, as its pod names it.
fn image_of(request: &AdmissionRequest) -> String {
    let container = request.image.as_ref().map(|image| image.container.as_str()).unwrap_or_default();
    let mut all = containers(&request.pod);
    let found = all.find(|found| found.container.name == container);
    found.and_then(|found| found.container.image.clone()).unwrap_or_default()
}

fn not_before(request: &AdmissionRequest) -> Option<Decision> {
    let annotations = request.pod.metadata.annotations.as_ref()?;
    let seconds: i64 = annotations.get(NOT_BEFORE_SECONDS)?.parse().ok()?;
    let seen: jiff::Timestamp = first_seen(&request.pod)?.parse().ok()?;
    let until = seen.checked_add(SignedDuration::from_secs(seconds)).ok()?;
    let left = Duration::try_from(until.duration_since(request.now)).ok().filter(|left| !left.is_zero())?;
    Some(Decision::Defer {
        reason: "TooEarly".to_owned(),
        message: format!("not before {until}"),
        retry_after: left,
    })
}

fn out_of_cpu(request: &AdmissionRequest) -> Option<Decision> {
    let milli = |pod: &_| requests(pod).get("cpu").copied().unwrap_or_default();
    let allocatable = request.node.node.status.as_ref()?.allocatable.as_ref()?;
    let capacity = witlet_core::pod::quantity::milli(allocatable.get("cpu")?).ok()?;
    let requested = milli(&request.pod);
    let used: i64 = request.other_pods.iter().map(|other| milli(&other.pod)).sum();
    if requested + used <= capacity {
        return None;
    }
    let shortage = Shortage { resource: "cpu".to_owned(), requested, used, capacity };
    let answer = HandlerResponse::Verdict(Verdict::Shortage(vec![shortage]));
    Some(match Chain::new(request).answer("cpu", None, answer) {
        Next::Continue(chain) => chain.finish(),
        Next::Decided(decision) => decision,
    })
}

/// Host ports on one address only are as good as taken on all: pods of tests name no addresses.
fn node_ports(request: &AdmissionRequest) -> Option<Decision> {
    let taken: Vec<_> = request.other_pods.iter().flat_map(|other| host_ports(&other.pod)).collect();
    let requested_ports = host_ports(&request.pod);
    let clash = requested_ports
        .iter()
        .any(|port| taken.iter().any(|t| (t.protocol, t.port) == (port.protocol, port.port)));
    clash.then(|| Decision::Reject {
        reason: "NodePorts".to_owned(),
        message: "node(s) didn't have free ports for the requested pod ports".to_owned(),
        handler: None,
    })
}
