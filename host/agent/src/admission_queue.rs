//! Which pod is put to the admission handlers next, and whether their answer still holds.
//!
//! Pods are judged one at a time in the order of their creation, each together with all that were admitted before. But
//! a handler that is slow with one pod must not hold up pods that it has nothing to say about: when the pod
//! that was asked for last gets no answer within a short time, the next one is asked for meanwhile. An `admit`
//! only counts if no pod was admitted since it was asked for; otherwise it is asked for again, and this time
//! no pod is admitted before it. That others are ended for a pod counts only if nothing has changed at all meanwhile. A
//! refusal changes nothing for the other pods, so it stands as if it had been given at once.
//!
//! Pods that run and are asked about again come last. What they are admitted for changes nothing, so it always counts; a rejection by
//! handlers that were replaced meanwhile is dropped, because they are all asked about again then.
//!
//! A rejection that is published later (`witlet_core::admission::rejections`) waits here until then. It is final as any other, so
//! that a change of the node or its pods doesn't matter to it; but when the handlers change meanwhile, the pod is asked for again.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::time::Duration;

use jiff::Timestamp;
use tokio::time::Instant;
use witlet_core::admission::{Decision, Operation};
use witlet_core::pod::PodUid;
use witlet_core::pod::allocation::Precedence;

use crate::settings::ADMISSIONS_MAX;

#[cfg(test)]
mod tests;

/// A deferred pod isn't asked for again before this, whatever changes.
const ASK_AGAIN_AFTER_MIN: Duration = Duration::from_secs(1);

/// A pod that others are ended for is asked for again after this, though nothing changed.
const PREEMPTION_ASK_AGAIN_AFTER: Duration = Duration::from_secs(10);

/// Tells an answer to a question that was dropped from one that is waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct AskId(u64);

/// What the handlers are asked. A pod has at most one question of each operation, and one that is new to the node no other.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct AdmissionQuestion {
    pub(crate) uid: PodUid,
    pub(crate) operation: Operation,
}

impl AdmissionQuestion {
    pub(crate) fn new(uid: &PodUid, operation: Operation) -> Self {
        Self { uid: uid.clone(), operation }
    }

    /// Whether it is about an edit of a running pod.
    fn is_of_edit(&self) -> bool {
        match self.operation {
            Operation::Update | Operation::Ephemeral => true,
            Operation::Add
            | Operation::Resize
            | Operation::ImageResolved
            | Operation::Readmit
            | Operation::Recheck => false,
        }
    }
}

/// What is to be done now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// Put this to the handlers.
    Ask(AskId, AdmissionQuestion),
    /// The time of this pod's rejection has come.
    Publish(PodUid, HeldRejection),
    /// Come back at this time, or when anything changes.
    Wait(Instant),
    /// Come back when anything changes.
    Idle,
}

/// What an answer means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Judged {
    Stands(AdmissionQuestion, Decision),
    /// The pod has gone, or it has to be asked for again.
    Dropped,
}

/// A rejection that is published later.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct HeldRejection {
    pub(crate) reason: String,
    pub(crate) message: String,
}

/// Questions about pods that wait for their verdict.
#[derive(Debug, Default)]
pub(crate) struct AdmissionQueue {
    /// By turn; pods without a creation time are older than all others. Ties go by arrival.
    waiting: BTreeMap<QueuePosition, AdmissionQuestion>,
    positions: HashMap<AdmissionQuestion, QueuePosition>,
    /// Places of pods whose `admit` came too late: they are asked for again before all others.
    overtaken: BTreeSet<QueuePosition>,
    asked: BTreeMap<AskId, InFlightRequest>,
    deferred: HashMap<AdmissionQuestion, Deferred>,
    held: HashMap<PodUid, QueuedRejection>,
    next_ask: u64,
    next_arrival: u64,
    /// How often the world changed.
    changes: u64,
    /// How often the handlers did.
    handler_changes: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct QueuePosition {
    priority: QueuePriority,
    arrival: u64,
}

/// Pods that run and are judged again come first, because the others are judged together with them. Then come edits of those that
/// run, which want nothing of the node, then those that wish for other resources, then those that are new, and last those that run
/// and are asked about again, for which nothing waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum QueuePriority {
    Again(Option<Timestamp>),
    Edit,
    Resize(Precedence),
    Add(Option<Timestamp>),
    Recheck,
}

#[derive(Debug)]
struct InFlightRequest {
    question: AdmissionQuestion,
    position: QueuePosition,
    /// How many admissions there had been.
    admissions: u64,
    /// How often the world had changed.
    changes: u64,
    /// How often the handlers had.
    handler_changes: u64,
    at: Instant,
    exclusive: bool,
}

#[derive(Debug)]
struct Deferred {
    position: QueuePosition,
    not_before: Instant,
    due: Instant,
}

#[derive(Debug)]
struct QueuedRejection {
    position: QueuePosition,
    not_before: Instant,
    due: Instant,
    rejection: HeldRejection,
}

impl AdmissionQueue {
    /// A pod wants to be judged, in place of any wish before.
    pub(crate) fn add(&mut self, uid: &PodUid, created: Option<Timestamp>) {
        self.add_pod(uid, QueuePriority::Add(created));
    }

    /// A pod that runs wants to be judged: it was admitted by an agent that left no record of it, or is another one than was admitted.
    pub(crate) fn add_running(&mut self, uid: &PodUid, created: Option<Timestamp>) {
        self.add_pod(uid, QueuePriority::Again(created));
    }

    /// A pod that runs wishes for other resources, in place of any wish before.
    pub(crate) fn add_resize(&mut self, uid: &PodUid, precedence: Precedence) {
        self.add_at(AdmissionQuestion::new(uid, Operation::Resize), QueuePriority::Resize(precedence));
    }

    /// A pod that runs was edited, in place of any edit before that is asked about as this operation.
    pub(crate) fn add_edit(&mut self, uid: &PodUid, operation: Operation) {
        self.add_at(AdmissionQuestion::new(uid, operation), QueuePriority::Edit);
    }

    /// A pod that runs is asked about again, in place of any such question before.
    pub(crate) fn add_recheck(&mut self, uid: &PodUid) {
        self.add_at(AdmissionQuestion::new(uid, Operation::Recheck), QueuePriority::Recheck);
    }

    /// A pod that ran before the agent's start is asked about, in place of any such question before.
    pub(crate) fn add_readmit(&mut self, uid: &PodUid) {
        self.add_at(AdmissionQuestion::new(uid, Operation::Readmit), QueuePriority::Recheck);
    }

    fn add_pod(&mut self, uid: &PodUid, priority: QueuePriority) {
        self.remove(uid);
        self.add_at(AdmissionQuestion::new(uid, Operation::Add), priority);
    }

    fn add_at(&mut self, question: AdmissionQuestion, priority: QueuePriority) {
        self.withdraw(&question);
        let position = QueuePosition { priority, arrival: self.next_arrival };
        self.next_arrival += 1;
        self.enqueue(question, position);
    }

    /// Returns what was asked, unless it needn't be any more.
    pub(crate) fn asked(&self, id: AskId) -> Option<&AdmissionQuestion> {
        self.asked.get(&id).map(|asked| &asked.question)
    }

    /// Removes the pod: nothing about it needs to be asked any more.
    pub(crate) fn remove(&mut self, uid: &PodUid) {
        for operation in Operation::ALL {
            self.withdraw(&AdmissionQuestion::new(uid, operation));
        }
    }

    /// A question needn't be asked any more.
    pub(crate) fn withdraw(&mut self, question: &AdmissionQuestion) {
        if let Some(position) = self.positions.remove(question) {
            self.waiting.remove(&position);
            self.overtaken.remove(&position);
        }
        self.asked.retain(|_, asked| asked.question != *question);
        self.deferred.remove(question);
        if question.operation == Operation::Add {
            self.held.remove(&question.uid);
        }
    }

    /// The pod to judge now. `admissions` counts the changes to what is admitted; `timeout` is how long the
    /// pod that was asked for last holds up the next.
    pub(crate) fn next(&mut self, now: Instant, admissions: u64, timeout: Duration) -> Next {
        if let Some((uid, rejection)) = self.take_due_rejection(now) {
            return Next::Publish(uid, rejection);
        }
        self.wake_deferred(now);
        let deferred = self.deferred.values().map(|deferred| deferred.due);
        let first_due = deferred.chain(self.held.values().map(|held| held.due)).min();
        let idle = first_due.map_or(Next::Idle, Next::Wait);
        if self.is_exclusive() || self.asked.len() >= ADMISSIONS_MAX {
            return idle;
        }
        if let Some(position) = self.overtaken.pop_first()
            && let Some(question) = self.waiting.remove(&position)
        {
            return self.ask(question, position, now, admissions, true);
        }
        let timeout_at = self.asked.last_key_value().map(|(_, last)| last.at + timeout);
        if let Some(at) = timeout_at.filter(|at| now < *at && !self.waiting.is_empty()) {
            return Next::Wait(first_due.map_or(at, |due| due.min(at)));
        }
        match self.waiting.pop_first() {
            Some((position, question)) => self.ask(question, position, now, admissions, false),
            None => idle,
        }
    }

    /// The handlers answered.
    pub(crate) fn answer(&mut self, id: AskId, decision: Decision, now: Instant, admissions: u64) -> Judged {
        let Some(asked) = self.asked.remove(&id) else { return Judged::Dropped };
        if asked.question.operation.is_of_running_pod() {
            let is_outdated = asked.handler_changes != self.handler_changes;
            return if is_outdated { Judged::Dropped } else { Judged::Stands(asked.question, decision) };
        }
        // A pod that is asked for exclusively was overtaken once, and isn't again.
        let is_overtaken = asked.admissions != admissions || self.is_exclusive();
        let is_outdated = match &decision {
            Decision::Admit => is_overtaken,
            Decision::Preempt { .. } => is_overtaken || asked.changes != self.changes,
            // An edit waits for no time to be asked about again after this, but for other handlers: they may have come already.
            Decision::Reject { .. } => {
                asked.question.is_of_edit() && asked.handler_changes != self.handler_changes
            }
            Decision::Defer { .. } => false,
        };
        if is_outdated {
            self.overtaken.insert(asked.position);
            self.enqueue(asked.question, asked.position);
            return Judged::Dropped;
        }
        match decision {
            Decision::Admit | Decision::Reject { .. } => Judged::Stands(asked.question, decision),
            Decision::Preempt { .. } => {
                self.defer(&asked, now, PREEMPTION_ASK_AGAIN_AFTER);
                Judged::Stands(asked.question, decision)
            }
            Decision::Defer { retry_after, .. } => {
                self.defer(&asked, now, retry_after);
                Judged::Stands(asked.question, decision)
            }
        }
    }

    /// The handlers rejected the pod, which is published at this time. If they changed while it was asked for, it is asked for
    /// again. Says whether the question was waited for.
    pub(crate) fn hold(&mut self, id: AskId, rejection: HeldRejection, now: Instant, due: Instant) -> bool {
        let Some(asked) = self.asked.remove(&id) else { return false };
        let InFlightRequest { question, position, handler_changes, .. } = asked;
        let not_before = now + ASK_AGAIN_AFTER_MIN;
        if handler_changes == self.handler_changes {
            self.held.insert(question.uid, QueuedRejection { position, not_before, due, rejection });
        } else {
            self.deferred.insert(question, Deferred { position, not_before, due: not_before });
        }
        true
    }

    /// Has the pod asked for again after this; sooner if the world changed while it was asked for.
    fn defer(&mut self, asked: &InFlightRequest, now: Instant, retry_after: Duration) {
        let not_before = now + ASK_AGAIN_AFTER_MIN;
        let is_outdated = asked.changes != self.changes;
        let due = if is_outdated { not_before } else { now + retry_after.max(ASK_AGAIN_AFTER_MIN) };
        self.deferred.insert(asked.question.clone(), Deferred { position: asked.position, not_before, due });
    }

    /// The node, the admitted pods or the handlers changed: deferred pods are asked for as soon as may be.
    pub(crate) fn world_changed(&mut self) {
        self.changes += 1;
        for deferred in self.deferred.values_mut() {
            deferred.due = deferred.due.min(deferred.not_before);
        }
    }

    /// The handlers changed: what the world's change means, and whose rejection waits is asked for as soon as may be.
    pub(crate) fn handlers_changed(&mut self) {
        self.handler_changes += 1;
        for (uid, QueuedRejection { position, not_before, .. }) in self.held.drain() {
            let question = AdmissionQuestion { uid, operation: Operation::Add };
            self.deferred.insert(question, Deferred { position, not_before, due: not_before });
        }
        self.world_changed();
    }

    /// How many pods wait or are asked for; deferred ones don't count, and those whose rejection waits.
    pub(crate) fn len(&self) -> usize {
        self.waiting.len() + self.asked.len()
    }

    /// How many questions of this operation wait or are asked.
    pub(crate) fn asked_of(&self, operation: Operation) -> usize {
        let asked = self.asked.values().map(|asked| &asked.question);
        self.waiting.values().chain(asked).filter(|question| question.operation == operation).count()
    }

    /// How many pods are deferred.
    pub(crate) fn deferred(&self) -> usize {
        self.deferred.len()
    }

    /// How many rejections wait for their time.
    pub(crate) fn held(&self) -> usize {
        self.held.len()
    }

    fn is_exclusive(&self) -> bool {
        self.asked.values().any(|asked| asked.exclusive)
    }

    fn enqueue(&mut self, question: AdmissionQuestion, position: QueuePosition) {
        self.positions.insert(question.clone(), position);
        self.waiting.insert(position, question);
    }

    fn ask(
        &mut self,
        question: AdmissionQuestion,
        position: QueuePosition,
        at: Instant,
        admissions: u64,
        exclusive: bool,
    ) -> Next {
        self.positions.remove(&question);
        let id = AskId(self.next_ask);
        self.next_ask += 1;
        let (changes, handler_changes) = (self.changes, self.handler_changes);
        let asked = InFlightRequest {
            question: question.clone(),
            position,
            admissions,
            changes,
            handler_changes,
            at,
            exclusive,
        };
        self.asked.insert(id, asked);
        Next::Ask(id, question)
    }

    /// The rejection that is due for longest.
    fn take_due_rejection(&mut self, now: Instant) -> Option<(PodUid, HeldRejection)> {
        let due = self.held.iter().filter(|(_, held)| held.due <= now);
        let (uid, _) = due.min_by_key(|(_, held)| (held.due, held.position))?;
        let uid = uid.clone();
        let held = self.held.remove(&uid)?;
        Some((uid, held.rejection))
    }

    fn wake_deferred(&mut self, now: Instant) {
        let due = self.deferred.iter().filter(|(_, deferred)| deferred.due <= now);
        let due: Vec<AdmissionQuestion> = due.map(|(question, _)| question.clone()).collect();
        for question in due {
            if let Some(deferred) = self.deferred.remove(&question) {
                self.enqueue(question, deferred.position);
            }
        }
    }
}
